"""The footer of a Parquet file: where its fields stand, and how much the file holds before anything of it is read.

A footer is a structure of Thrift's compact protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from mmap import mmap
from typing import NamedTuple

from populace.base.documents import DocumentError

MAX_FOOTER_BYTES = 16_000_000
"""The largest footer that is read; it has some 200 bytes for each column of each group of rows."""

MAX_PAGES = 500_000
"""The most pages that are counted."""

Buffer = bytes | mmap
"""A file in memory, or as it lies on the disk."""

_MAGIC = b"PAR1"
_MOST_DEPTH = 16


@dataclass(frozen=True)
class ParquetSize:
    """How much a Parquet file holds.

    Attributes:
        rows: Its rows.
        cells: The values in all columns together; each element of a list counts.
        unpacked_bytes: The bytes of its columns, unpacked.
    """

    rows: int
    cells: int
    unpacked_bytes: int

    @classmethod
    def of(cls, content: Buffer) -> ParquetSize:
        """What a file says of itself in its footer, and, since a footer may lie, in the heads of its pages.

        Args:
            content: The file.

        Raises:
            DocumentError: If it cannot be read.
        """
        try:
            footer = _footer(content)
            whole = StructureReader(footer).fields()
            groups = [StructureReader(footer, group).fields() for group in _elements(footer, whole.get(4))]
            chunks = [chunk for group in groups for chunk in _elements(footer, group.get(1))]
            places = [StructureReader(footer, chunk).fields()[3].value for chunk in chunks]
            columns = [StructureReader(footer, place).fields() for place in places]
            rows = sum(_integer(footer, group.get(3)) for group in groups)
            cells = sum(_integer(footer, column.get(5)) for column in columns)
            unpacked = sum(_integer(footer, column.get(6)) for column in columns)
            pages = list(_page_sizes(content, footer, columns))
            return cls(
                rows,
                max(cells, sum(values for values, _ in pages)),
                max(unpacked, sum(length for _, length in pages)),
            )
        except (IndexError, KeyError, ValueError) as error:
            raise DocumentError("it is not a Parquet file, or is damaged") from error


class Field(NamedTuple):
    """The place of a field in a footer: where its header begins, where its value begins, and where it ends."""

    begin: int
    value: int
    end: int


class StructureReader:
    """Finds where the fields of a structure begin and end.

    Args:
        content: The footer.
        at: Where the structure begins in it.

    Attributes:
        at: Where reading has come to.
    """

    def __init__(self, content: Buffer, at: int = 0) -> None:
        self._content = content
        self.at = at
        self._depth = 0

    def fields(self) -> dict[int, Field]:
        """The places of the fields, by number."""
        places: dict[int, Field] = {}
        number = 0
        while head := self._content[self.at]:
            begin = self.at
            self.at += 1
            number = number + (head >> 4) if head >> 4 else self.number() >> 1
            value = self.at
            self._skip(head & 15)
            places[number] = Field(begin, value, self.at)
        self.at += 1
        return places

    def number(self) -> int:
        """The number that begins here, with its sign in the lowest bit."""
        number = shift = 0
        while True:
            byte = self._content[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise ValueError("a number has more than 64 bits")

    def elements(self) -> Iterator[int]:
        """Where each structure of the list that begins here begins."""
        for kind in self._list():
            yield self.at
            self._skip(kind)

    def _list(self) -> Iterator[int]:
        head = self._content[self.at]
        self.at += 1
        count = head >> 4 if head >> 4 < 15 else self.number()
        for _ in range(count):
            yield head & 15

    def _skip(self, kind: int) -> None:
        if kind in (1, 2):  # The value of a truth value is its kind.
            return
        if kind == 3:
            self.at += 1
        elif kind in (4, 5, 6):
            self.number()
        elif kind == 7:
            self.at += 8
        elif kind == 8:
            length = self.number()
            self.at += length
        elif kind in (9, 10, 12):
            self._depth += 1
            if self._depth > _MOST_DEPTH:
                raise ValueError("structures are nested too deep")
            if kind == 12:
                self.fields()
            else:
                for each in self._list():
                    self._skip(3 if each in (1, 2) else each)  # In a list, a truth value is a byte.
            self._depth -= 1
        else:
            raise ValueError(f"there is no kind {kind}")
        if self.at > len(self._content):
            raise ValueError("it ends within a field")


def _footer(content: Buffer) -> bytes:
    length = int.from_bytes(content[-8:-4], "little")
    if content[-4:] != _MAGIC or length > len(content) - 12:
        raise ValueError("it does not end with a footer")
    if length > MAX_FOOTER_BYTES:
        raise DocumentError(f"its footer has {length:,} bytes; at most {MAX_FOOTER_BYTES:,} are read")
    return content[-8 - length : -8]


def _page_sizes(content: Buffer, footer: bytes, columns: Sequence[Mapping[int, Field]]) -> Iterator[tuple[int, int]]:
    """The values and the unpacked bytes of each page."""
    pages = 0
    for column in columns:
        offsets = [_integer(footer, column[number]) for number in (9, 11) if number in column]
        at = min((offset for offset in offsets if offset), default=0)  # A chunk without values has no pages.
        end = at + _integer(footer, column.get(7))
        while at < end:
            head = StructureReader(content, at)
            fields = head.fields()
            data = fields.get(5) or fields.get(8)  # Else it is a dictionary, whose values are no cells.
            values = _integer(content, StructureReader(content, data.value).fields().get(1)) if data else 0
            yield values, _integer(content, fields.get(2))
            at = head.at + _integer(content, fields.get(3))
            pages += 1
            if pages > MAX_PAGES:
                raise DocumentError(f"it has more than {MAX_PAGES:,} pages; write it again with larger ones")


def _elements(footer: Buffer, field: Field | None) -> Iterator[int]:
    return iter(()) if field is None else StructureReader(footer, field.value).elements()


def _integer(footer: Buffer, field: Field | None) -> int:
    """A whole number; a negative one is no number of anything."""
    number = StructureReader(footer, field.value).number() if field is not None else 1
    if number & 1:
        raise ValueError("a number is missing or negative")
    return number >> 1
