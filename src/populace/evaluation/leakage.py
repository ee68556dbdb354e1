"""Leaks: ways in which an agent may know the answer that it is asked for.

There are three kinds. `answer`: the answer stands in the prompt, as an item among those that are known or as a column
of the profile that holds it. `training`: an adapter was trained on the item or on a held-out person, by its manifest.
`near-copy`: an item that is known is nearly the same as the one that is asked, by its words or by its answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.arms import Arm
from populace.evaluation.human_answers import EvaluationItem, HumanAnswers

LeakKind = Literal["answer", "training", "near-copy"]

LIKENESS = 0.8
"""Two questions that share this part of their words are near-copies."""
CERTAINTY = 0.98
"""A column that tells the answers of this share of people holds them."""
_FEWEST = 20
_MOST_VALUES = 60
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Leak:
    """A way in which agents may know an answer.

    Attributes:
        kind: What kind of leak it is.
        item: The item whose answers may be known.
        arm: The arm that may know them; empty where all do.
        where: Where they are: an item, a column, or a data set.
        detail: How it was found, in words.

    Example:
        >>> str(Leak("near-copy", "tea", "answers", "tea_2", "they share 0.95 of their words"))
        "near-copy: arm answers knows item 'tea' from 'tea_2': they share 0.95 of their words"
    """

    kind: LeakKind
    item: str
    arm: str
    where: str
    detail: str

    def __str__(self) -> str:
        who = f"arm {self.arm}" if self.arm else "the model"
        return f"{self.kind}: {who} knows item {self.item!r} from {self.where!r}: {self.detail}"


def find_leaks(
    human: HumanAnswers,
    others: HumanAnswers,
    arms: Sequence[Arm],
    targets: Sequence[str],
    *,
    manifests: Sequence[Mapping[str, Any]] = (),
) -> list[Leak]:
    """All leaks of an evaluation, before a model is asked.

    Args:
        human: The held-out people, with the answers to all items.
        others: The other people; columns and items that tell answers are looked for among all of them.
        arms: What agents know.
        targets: The items that are predicted.
        manifests: What adapters of the model were trained on, as their manifests say it.
    """
    leaks = []
    items = {item.id: item for item in human.items}
    answers = np.vstack([human.answers, others.answers])
    place_of = {name: place for place, name in enumerate(items)}
    columns = _columns(human, others)
    telling: dict[tuple[str, str], float] = {}
    for arm in arms:
        for target in targets:
            codes = answers[:, place_of[target]]
            if target in arm.context:
                leaks.append(Leak("answer", target, arm.name, target, "the item itself is among those that are known"))
            for name in arm.profile:
                share = telling.setdefault((name, target), _told_share(columns[name], codes))
                if share >= CERTAINTY and name not in arm.changes:
                    leaks.append(Leak("answer", target, arm.name, name, f"the column tells {share:.0%} of the answers"))
            for name in arm.context:
                if name != target:
                    likeness = question_likeness(items[target], items[name])
                    share = telling.setdefault((name, target), _told_share(answers[:, place_of[name]], codes))
                    leaks += _near_copies(arm.name, target, name, likeness, share)
    for manifest in manifests:
        leaks += _training_leaks(manifest, human.people, targets)
    return leaks


def refuse_answers(leaks: Sequence[Leak]) -> list[Leak]:
    """The leaks that are only reported; HumanDataError where an answer stands in the prompt."""
    first = next((leak for leak in leaks if leak.kind == "answer"), None)
    if first is not None:
        count = sum(leak.kind == "answer" for leak in leaks)
        more = f" There are {count} such leaks." if count > 1 else ""
        raise HumanDataError(f"the answer stands in the prompt: {first}.{more}", "Leave the column or the item out.")
    return list(leaks)


def prompt_leaks(human: HumanAnswers, prompts: pl.DataFrame) -> list[Leak]:
    """Leaks in texts that agents see besides the question, such as transcripts of interviews.

    A text leaks where it holds the words of the question, or nearly so, and the answer of the person after them.

    Args:
        human: The people, with their answers.
        prompts: A row for each person and item: `person`, `item`, and `context`, the text without the question.
    """
    rows = {person: row for row, person in enumerate(human.people)}
    places = {item.id: place for place, item in enumerate(human.items)}
    found: dict[str, list[str]] = {}
    for person, name, context in prompts.select("person", "item", "context").iter_rows():
        item = human.items[places[name]]
        code = int(human.answers[rows[person], places[name]])
        if code >= 0 and _holds_answer(context, item, item.options[code]):
            found.setdefault(name, []).append(person)
    return [
        Leak("answer", name, "", "prompt", f"question and answer stand in the prompts of {len(who)} people")
        for name, who in found.items()
    ]


def question_likeness(first: EvaluationItem, second: EvaluationItem) -> float:
    """The share of words that two questions, or their titles, have in common: 1 for the same words."""
    pairs = [(first.text, second.text)]
    if first.title and second.title:
        pairs.append((first.title, second.title))
    return max(_likeness(one, other) for one, other in pairs)


def _likeness(one: str, other: str) -> float:
    words = [set(_WORD.findall(text.lower())) for text in (one, other)]
    union = words[0] | words[1]
    return len(words[0] & words[1]) / len(union) if union else 0.0


def _near_copies(arm: str, target: str, name: str, likeness: float, share: float) -> list[Leak]:
    if likeness >= LIKENESS:
        return [Leak("near-copy", target, arm, name, f"they share {likeness:.2f} of their words")]
    if share >= CERTAINTY:
        return [Leak("near-copy", target, arm, name, f"its answers tell {share:.0%} of the answers")]
    return []


def _columns(human: HumanAnswers, others: HumanAnswers) -> dict[str, Codes]:
    """The columns of the profiles as codes, -1 where a value is missing."""
    columns = {}
    for name in human.profiles.columns:
        parts = [side.profiles[name].cast(pl.String) for side in (human, others) if name in side.profiles.columns]
        ranks = pl.concat(parts).rank("dense").cast(pl.Int64) - 1
        codes = ranks.fill_null(-1).to_numpy()
        missing = len(human.people) + len(others.people) - len(codes)
        columns[name] = np.append(codes, np.full(missing, -1))
    return columns


def _told_share(known: Codes, answers: Codes) -> float:
    """How many answers follow from a column, at best; 0 where too few people, too many values or one answer."""
    both = (known >= 0) & (answers >= 0)
    values, codes = known[both], answers[both]
    distinct, place = np.unique(values, return_inverse=True)
    if len(codes) < _FEWEST or not 2 <= len(distinct) <= min(_MOST_VALUES, len(codes) // 2):
        return 0.0
    table = np.zeros((len(distinct), int(codes.max()) + 1))
    np.add.at(table, (place, codes), 1)
    if table.sum(0).max() / len(codes) >= 1 - (1 - CERTAINTY) * 2.5:
        return 0.0  # Nearly everybody answers the same, so every column tells it.
    return float(table.max(1).sum() / len(codes))


def _training_leaks(manifest: Mapping[str, Any], people: Sequence[str], targets: Sequence[str]) -> list[Leak]:
    listed = manifest.get("data", [])
    leaks = []
    for entry in listed if isinstance(listed, list) else []:
        if not isinstance(entry, Mapping):
            continue
        source = str(entry.get("name", "training data"))
        names = entry.get("tasks", entry.get("items", []))
        tasks = {str(each) for each in names} if isinstance(names, (list, tuple)) else set()
        for target in targets:
            same = next((task for task in sorted(tasks) if task == target or task.endswith(f"_{target}")), None)
            if same is not None:
                leaks.append(Leak("training", target, "", source, f"the adapter was trained on the item {same!r}"))
        who = entry.get("people", [])
        seen = set(people) & {str(each) for each in who} if isinstance(who, (list, tuple)) else set()
        if seen:
            leaks.append(Leak("training", "*", "", source, f"the adapter was trained on {len(seen)} held-out people"))
    return leaks


def _holds_answer(context: str, item: EvaluationItem, answer: str) -> bool:
    """Whether a passage with the words of the question is followed by the answer."""
    words = _WORD.findall(item.text.lower())
    text = context.lower()
    if not words or not text:
        return False
    target = set(words)
    for sentence in re.finditer(r"[^.!?\n]+[.!?\n]?", text):
        found = set(_WORD.findall(sentence[0]))
        if found and len(found & target) / len(found | target) >= LIKENESS:
            after = text[sentence.start() : sentence.end() + 200]
            return re.search(rf"\b{re.escape(answer.lower())}\b", after[len(sentence[0]) - 1 :]) is not None
    passage = " ".join(_WORD.findall(text))
    place = passage.find(" ".join(words))
    return place >= 0 and answer.lower() in passage[place + len(" ".join(words)) :][:200]
