"""A plan from a YAML file, with errors that name the file and the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import pydantic

from populace.base.document_lines import add_line
from populace.base.documents import DocumentError, read_yaml
from populace.base.errors import PopulaceError, TrainingError
from populace.base.plain_data import plain_message


class Plan(Protocol):
    """A plan whose files may be relative to the file that it was read from."""

    def __init__(self, **document: Any) -> None: ...

    def located(self, folder: Path) -> Self:
        """The plan with its files taken from a folder, where they are relative."""


PlanType = TypeVar("PlanType", bound=Plan)


def read_plan(plan: type[PlanType], path: str | Path, *, name: str, needs: str) -> PlanType:
    """A plan from a YAML file; files that it names are relative to it.

    Args:
        plan: The kind of plan.
        path: The file.
        name: What such a plan is called.
        needs: The keys that it needs.

    Raises:
        TrainingError: If the file cannot be read or a value is wrong; the text names the file and the line.
    """
    path = Path(path)
    try:
        document = read_yaml(path)
    except (OSError, DocumentError) as error:
        raise TrainingError(f"{path} could not be read: {error}.") from error
    if not isinstance(document, dict):
        raise TrainingError(f"{path} is not {name}.", f"It needs {needs}.")
    try:
        return plan(**document).located(path.parent)
    except (pydantic.ValidationError, TypeError, PopulaceError) as error:
        problem = TrainingError(f"{_first_problem(error)}.")
        problem.__cause__ = error
        problem.entry = error.entry if isinstance(error, PopulaceError) else ()
        add_line(problem, path)
        raise problem from error


def _first_problem(error: Exception) -> str:
    if not isinstance(error, pydantic.ValidationError):
        return str(error).rstrip(".")
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    message = plain_message(dict(first))
    return f"{where}: {message}" if where else message
