"""The interview questions of the protocol, in five areas."""

import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from populace.base.documents import MAX_YAML_BYTES, DocumentError, read_text
from populace.base.errors import UsageError

AREAS = ("self-knowledge", "memory", "plans", "reactions", "reflections")
"""The areas of the questions that ship."""


@dataclass(frozen=True)
class InterviewQuestion:
    """One question of an interview.

    Attributes:
        area: Its area.
        id: Its name in tables, unique among all questions.
        text: What is asked.
    """

    area: str
    id: str
    text: str


def interview_questions(path: str | Path | None = None) -> tuple[InterviewQuestion, ...]:
    """The questions of a TOML file with a table for each area, or those that ship.

    Args:
        path: The file; the questions that ship if left out.

    Example:
        >>> questions = interview_questions()
        >>> len(questions), len({question.area for question in questions})
        (25, 5)
    """
    file = Path(str(resources.files("populace.evaluation.believability"))) / "questions.toml" if path is None else path
    try:
        data = tomllib.loads(read_text(Path(file), most=MAX_YAML_BYTES))
    except OSError as error:
        raise UsageError(f"the questions {file} cannot be read: {error.strerror}.") from error
    except (DocumentError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{file} cannot be read: {error}.") from error
    questions = []
    for area, entries in data.items():
        if not isinstance(entries, dict):
            raise UsageError(
                f"{file}: {area!r} is not an area.", 'Write [area] and below it lines such as id = "text".'
            )
        for name, text in entries.items():
            if not isinstance(text, str) or not text.strip():
                raise UsageError(f"{file}: the question {name!r} in {area!r} has no text.")
            questions.append(InterviewQuestion(area, name, text.strip()))
    if not questions:
        raise UsageError(f"{file} holds no question.")
    ids = [question.id for question in questions]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{file} has two questions with the name {twice!r}.", "Give each a name of its own.")
    return tuple(questions)
