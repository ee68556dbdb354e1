"""The line of an entry in a YAML file, for errors about what it says.

Checks know an entry by its path in the document: the names of keys and the numbers of list items that lead to it. An
error raised inside `at_entry` carries that path, and whoever reads the file puts the line before its text.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pydantic
import yaml

from populace.base.documents import MAX_YAML_BYTES, DocumentError, parse_yaml, read_text
from populace.base.errors import PopulaceError, UnknownNameError

Entry = Sequence[int | str]
"""The path of an entry in a document: keys of mappings and numbers of list items, from 0."""


class DocumentLines:
    """The lines on which the entries of a YAML text stand.

    Args:
        text: The text, which is valid YAML.

    Example:
        >>> lines = DocumentLines("name: shirts\\nfactors:\\n  days: [1, 2]\\n")
        >>> lines.at(("factors", "days")), lines.at(("factors", "dayz")), lines.at(("outcomes",))
        (3, 2, None)
    """

    def __init__(self, text: str) -> None:
        self._root = yaml.compose(text, Loader=yaml.SafeLoader)

    def at(self, entry: Entry) -> int | None:
        """The line of an entry, by those parts of its path that are there; None where no part is.

        A number names the item of a list, or the pair of a mapping that is read as a list.
        """
        return self._walk(entry)[0]

    def naming(self, name: str, entry: Entry = ()) -> int | None:
        """The line of the first key or value below an entry that is a name, or else of the first that holds it."""
        _, node = self._walk(entry)
        open_nodes, inside = [node], None
        while open_nodes:
            node = open_nodes.pop(0)
            if isinstance(node, yaml.ScalarNode):
                if node.value == name:
                    return int(node.start_mark.line) + 1
                if inside is None and name in node.value:
                    inside = int(node.start_mark.line) + 1
            elif isinstance(node, yaml.MappingNode):
                open_nodes = [part for pair in node.value for part in pair] + open_nodes
            elif isinstance(node, yaml.SequenceNode):
                open_nodes = [*node.value, *open_nodes]
        return inside

    def _walk(self, entry: Entry) -> tuple[int | None, Any]:
        """The line and the node to which those parts of a path lead that are there."""
        line, node, met = None, self._root, True
        for part in entry:
            # Validation also names parts that a file leaves out; a number after one of these is left out too.
            pair = _pair(node, part) if met or isinstance(part, str) else None
            met = pair is not None
            if pair is not None:
                line, node = pair[0].start_mark.line + 1, pair[1]
        return line, node


def _pair(node: Any, part: int | str) -> tuple[Any, Any] | None:
    """What begins an entry of a node, and its value."""
    if isinstance(node, yaml.MappingNode):
        named = next((pair for pair in node.value if pair[0].value == str(part)), None)
        if named is None and isinstance(part, int) and part < len(node.value):
            named = node.value[part]
        return named
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and 0 <= part < len(node.value):
        return node.value[part], node.value[part]
    return None


@contextlib.contextmanager
def at_entry(*parts: int | str) -> Iterator[None]:
    """Errors raised inside are about this entry of a document; the paths of nested entries are joined.

    Example:
        >>> from populace.base.errors import UsageError
        >>> try:
        ...     with at_entry("factors"), at_entry("days"):
        ...         raise UsageError("a factor needs two levels.")
        ... except UsageError as error:
        ...     error.entry
        ('factors', 'days')
    """
    try:
        yield
    except PopulaceError as error:
        error.entry = (*parts, *error.entry)
        raise


def entry_of(error: PopulaceError) -> tuple[int | str, ...]:
    """The entry that an error is about: the one it carries, or that of the validation error which caused it."""
    if not error.entry and isinstance(error.__cause__, pydantic.ValidationError):
        return tuple(error.__cause__.errors()[0]["loc"])
    return error.entry


def line_of(error: PopulaceError, lines: DocumentLines) -> int | None:
    """The line that an error is about: of its entry, or of the unknown name in it."""
    entry = entry_of(error)
    line = lines.naming(error.name, entry) if isinstance(error, UnknownNameError) and error.name else None
    return line or lines.at(entry)


def csv_line(path: Path, row: int, *, blank: bool = False, most: int = MAX_YAML_BYTES) -> int | None:
    """The last line of a row of a CSV file; None where it is not there.

    Args:
        path: The file.
        row: The row, from 0 without the names of the columns.
        blank: Whether blank lines count as rows, as they do for Polars but not for the module csv.
        most: The largest file that is read.
    """
    reader = csv.reader(read_text(path, most=most).splitlines())
    rows = (reader.line_num for cells in reader if cells or blank)
    return next((line for number, line in enumerate(rows, -1) if number == row), None)


def add_line(error: PopulaceError, path: Path, line: int | None = None) -> None:
    """Put the file, and the line where it can be found, before the text of an error about what a file says.

    Args:
        error: The error.
        path: The file.
        line: The line, where it is known; else it is looked up in the file, which then is YAML.
    """
    try:
        if line is None:
            text = read_text(path, most=MAX_YAML_BYTES)
            parse_yaml(text)
            line = line_of(error, DocumentLines(text))
    except (OSError, DocumentError):  # The error at hand says what is wrong with the file.
        line = None
    error.what = f"{path.name}, line {line}: {error.what}" if line else f"{path.name}: {error.what}"
    error.args = (error.what,)
