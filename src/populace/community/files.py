"""Text files and JSONL files of a community."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.documents import DocumentError, parse_json, read_text
from populace.base.errors import StorageError, UsageError


def write_new_file(path: str | Path, text: str) -> Path:
    """Write text to a file that must not exist yet, with its folder where needed; returns its path."""
    path = Path(path)
    if path.exists():
        raise UsageError(f"{path} exists already.", "Name another place, or remove it first.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}.") from error
    return path


def read_csv(path: str | Path) -> pl.DataFrame:
    """A CSV file as a table of texts."""
    try:
        text = read_text(Path(path))
        return pl.read_csv(io.StringIO(text), infer_schema=False)
    except (OSError, DocumentError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error


def read_json_lines(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a JSONL file with its place, such as `threads.jsonl, line 3`; empty lines are skipped."""
    try:
        text = read_text(Path(path))
    except (OSError, DocumentError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    for number, line in enumerate(text.split("\n"), 1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            entry = parse_json(line, nan=True)
        except DocumentError as error:
            raise UsageError(f"{where}: {error}.", "Write one thread on each line.") from error
        if not isinstance(entry, dict):
            raise UsageError(f"{where}: this is not a JSON object.", "Write one thread on each line, in braces.")
        yield where, entry
