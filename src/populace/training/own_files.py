"""Files that training wrote into its folder, read with care: a folder may come from somebody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import pydantic

from populace.base.documents import DocumentError, parse_json_object, read_text
from populace.base.errors import TrainingError
from populace.base.formatting import shortened
from populace.base.plain_data import plain_message

Kind = TypeVar("Kind")


def read_own_text(path: Path) -> str:
    """The text of a file; empty where there is none.

    Raises:
        TrainingError: If it cannot be read.
    """
    try:
        return read_text(path) if path.exists() else ""
    except (OSError, DocumentError) as error:
        raise damaged(path, str(error)) from error


def parse_own_json(text: str, path: Path, line: int | None = None) -> dict[str, Any]:
    """An object in a file, which may hold NaN.

    Args:
        text: The text of the object.
        path: The file.
        line: Its line there, where each line holds an object.

    Raises:
        TrainingError: If it is none.
    """
    try:
        return parse_json_object(text, nan=True)
    except DocumentError as error:
        raise damaged(path, str(error), line) from error


def check_own_values(kind: type[Kind], values: Any, path: Path, line: int | None = None) -> Kind:
    """An object of a class with fields.

    Args:
        kind: The class.
        values: What a file holds: values by the names of the fields.
        path: The file.
        line: Their line there.

    Raises:
        TrainingError: If a value is missing or is not what the class takes.
    """
    try:
        return pydantic.TypeAdapter(kind).validate_python(values)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"][-1:]))
        raise damaged(path, f"{name}: {plain_message(first)}" if name else plain_message(first), line) from error


def damaged(path: Path, problem: str, line: int | None = None) -> TrainingError:
    """The error for a file that is not as training wrote it."""
    where = path if line is None else f"{path}, line {line}"
    return TrainingError(f"{where}: {shortened(problem, 200)}.", "Put the file back as it was, or name another folder.")
