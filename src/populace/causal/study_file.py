"""The file of a causal study: YAML, with tables of items and personas in files beside it."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from populace.base.document_lines import at_entry
from populace.base.documents import MAX_YAML_BYTES, DocumentError, parse_yaml, read_text
from populace.base.errors import CausalStudyError

_TABLES = ("items", "personas")
_MAX_TABLE_BYTES = 16_000_000


def read_study_file(path: Path) -> dict[str, Any]:
    """The content of a study's file; `items` and `personas` may name CSV files beside it.

    Raises:
        CausalStudyError: If a file is missing or cannot be read.
    """
    try:
        content = parse_yaml(read_text(path, most=MAX_YAML_BYTES), words=True)
    except OSError as error:
        raise CausalStudyError(f"{path} cannot be read: {error.strerror}.", "Name a YAML file.") from error
    except DocumentError as error:
        raise CausalStudyError(f"it cannot be read: {error}.", "Save it as UTF-8 YAML.") from error
    if not isinstance(content, Mapping):
        raise CausalStudyError("it holds no causal study.", "Begin with `title:` and `treatment:`.")
    study = {str(key): value for key, value in content.items()}
    for name in _TABLES:
        if isinstance(study.get(name), str):
            with at_entry(name):
                study[name] = read_rows(path.parent / study[name])
    return study


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV file, with numbers as numbers."""
    try:
        text = read_text(path, most=_MAX_TABLE_BYTES)
    except OSError as error:
        raise CausalStudyError(f"{path} cannot be read: {error.strerror}.") from error
    except DocumentError as error:
        raise CausalStudyError(f"{path.name} cannot be read: {error}.") from error
    reader = csv.DictReader(text.splitlines())
    rows: list[dict[str, Any]] = []
    for row in reader:
        if None in row or None in row.values():
            raise CausalStudyError(f"{path.name}, line {reader.line_num}: it does not have as many cells as columns.")
        rows.append({key.strip(): cell.strip() for key, cell in row.items()})
    if not rows:
        raise CausalStudyError(f"{path.name} has no rows.", "The first line names the columns.")
    for name in rows[0]:
        for row, value in zip(rows, _numbers([row[name] for row in rows]), strict=True):
            row[name] = value
    return rows


def _numbers(cells: list[str]) -> list[Any]:
    """The cells of a column as whole numbers, else as numbers, else as they are."""
    for kind in (int, float):
        try:
            return [kind(cell) for cell in cells]
        except ValueError:
            continue
    return list(cells)
