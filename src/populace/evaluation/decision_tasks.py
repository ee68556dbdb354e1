"""The tasks of a corpus of human decisions: a card for each, as a line of a JSONL file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from populace.base.documents import DocumentError, parse_json_object, read_text
from populace.base.errors import HumanDataError
from populace.evaluation.human_answers import EvaluationItem

MAX_TASK_BYTES = 64_000_000
"""The largest file of task cards that is read."""

_FIELD = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class DecisionTask:
    """What people decided about, and what may be done with their decisions.

    Attributes:
        id: Its name.
        family: What kind of task it is, such as `attitude` or `game`.
        question: What was said; `{field}` stands for what a person saw.
        licence: What may be done with the decisions.
        options: The possible answers in their order; empty where the answer is a number.
        bounds: The smallest and the largest number; None where the answer is an option.
        topics: What it is about, for splits by topic; the family where the card names none.
        source: Where the decisions come from.
        people_are_known: Whether `person` names a person; False where it names one match or session, so that whole
            tasks have to be held out.

    Example:
        >>> task = DecisionTask("dictator", "game", "You have {amount}. What do you give?", "CC0", ("half", "nothing"))
        >>> task.fields
        ('amount',)
    """

    id: str
    family: str
    question: str
    licence: str
    options: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None
    topics: tuple[str, ...] = ()
    source: str = ""
    people_are_known: bool = True

    def __post_init__(self) -> None:
        if bool(self.options) == (self.bounds is not None):
            raise HumanDataError(f"task {self.id!r} needs either options or bounds of a number.")
        if self.options and (len(self.options) < 2 or len(set(self.options)) < len(self.options)):
            raise HumanDataError(f"task {self.id!r} needs at least two options, each of them once.")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise HumanDataError(f"task {self.id!r}: the bounds {self.bounds} hold no number.")

    @property
    def fields(self) -> tuple[str, ...]:
        """The names in braces in the question."""
        return tuple(dict.fromkeys(_FIELD.findall(self.question)))

    @property
    def pieces(self) -> list[str]:
        """The question in pieces: text, the name of a field, text, and so on."""
        return _FIELD.split(self.question)

    @property
    def template(self) -> str:
        """The question with a plain name for each field: `{field_0}` for the first, and so on."""
        names = {name: f"{{field_{place}}}" for place, name in enumerate(self.fields)}
        return "".join(names[piece] if place % 2 else piece for place, piece in enumerate(self.pieces))

    def item(self) -> EvaluationItem:
        """The task as an item that agents answer; only where the answer is an option."""
        if not self.options:
            raise HumanDataError(f"task {self.id!r} asks for a number, and an item needs options.")
        return EvaluationItem(self.id, self.question, self.options, topic=next(iter(self.topics), self.family))


def read_decision_tasks(path: str | Path) -> dict[str, DecisionTask]:
    """The cards in a JSONL file, by id.

    Each line is an object with `id`, `family`, `question`, `licence` and `options`: a list, or `min` and `max` of a
    number. It may have `topics`, `source` and `person_note` (what `person` names if not a person); other keys are not
    read.

    Raises:
        HumanDataError: If the file cannot be read or a card is wrong; the text names the line.
    """
    path = Path(path)
    try:
        lines = read_text(path, most=MAX_TASK_BYTES).splitlines()
    except (OSError, DocumentError) as error:
        raise HumanDataError(f"{path} could not be read: {error}.", "It holds a card for each task.") from error
    tasks: dict[str, DecisionTask] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            task = _task(parse_json_object(line))
        except (DocumentError, HumanDataError) as error:
            raise HumanDataError(f"{path}, line {number}: {str(error).rstrip('.')}.") from error
        if task.id in tasks:
            raise HumanDataError(f"{path}, line {number}: the task {task.id!r} stands twice.")
        tasks[task.id] = task
    if not tasks:
        raise HumanDataError(f"{path} holds no task.")
    return tasks


def write_decision_tasks(tasks: Iterable[DecisionTask], path: Path) -> None:
    """Write tasks to a file that `read_decision_tasks` reads.

    Args:
        tasks: The tasks.
        path: The file.
    """
    path.write_text("".join(f"{json.dumps(_card(task))}\n" for task in tasks), encoding="utf-8")


def _card(task: DecisionTask) -> dict[str, Any]:
    options = list(task.options) if task.bounds is None else dict(zip(("min", "max"), task.bounds, strict=True))
    card: dict[str, Any] = {"id": task.id, "family": task.family, "question": task.question, "licence": task.licence}
    card |= {"options": options, "topics": list(task.topics), "source": task.source}
    return card if task.people_are_known else card | {"person_note": "no person"}


def _task(card: Mapping[str, Any]) -> DecisionTask:
    for key in ("id", "family", "question", "licence"):
        if not isinstance(card.get(key), str) or not card[key].strip():
            raise DocumentError(f"the card has no {key!r}")
    options = card.get("options")
    topics = card.get("topics", [])
    if not isinstance(topics, list) or not all(isinstance(topic, str) for topic in topics):
        raise DocumentError("'topics' is not a list of words")
    words: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None
    if isinstance(options, list) and all(isinstance(option, str) for option in options):
        words = tuple(options)
    elif isinstance(options, dict) and all(_is_number(options.get(end)) for end in ("min", "max")):
        bounds = (float(options["min"]), float(options["max"]))
    else:
        raise DocumentError("'options' is neither a list of words nor min and max of a number")
    return DecisionTask(
        card["id"], card["family"], card["question"], card["licence"], words, bounds,
        tuple(topics), str(card.get("source", "")), "person_note" not in card,
    )  # fmt: skip


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
