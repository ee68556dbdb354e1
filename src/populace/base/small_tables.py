"""Small tables as Parquet files, encoded in Python.

A step of a small run writes a handful of tables with a few rows each. For such a table, polars spends more than 0.3 ms
of the processor on waking its threads, whatever the table holds; encoding it here takes a fifth of that. The file has
one row group, with one page for each column, and before it a page with the distinct values of a text that repeats
itself. Nothing is compressed, so that the bytes depend on the table alone and not on a library of the system. The
schema is copied from a file that polars writes once for each schema, so that every reader gets the same types from
both.
"""

import functools
import io
import itertools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

MAX_VALUES = 2048
"""How many values a small table holds at most; for larger ones polars is quicker."""

MAX_BYTES = 32_000
"""How many bytes a small table takes at most; larger ones are worth compressing."""

_MAGIC = b"PAR1"
_CREATOR = b"Populace"
_INT32, _INT64, _DOUBLE, _BYTE_ARRAY, _BOOLEAN = 1, 2, 5, 6, 0

Values = Sequence[Any]


def encode_small(table: pl.DataFrame) -> bytes | None:
    """A table as the bytes of a Parquet file; None where it is too large or has a type that only polars writes."""
    if not table.height or table.height * table.width > MAX_VALUES:
        return None
    schema = _schema(tuple(table.schema.items()))
    if schema is None:
        return None
    parts, chunks, offset = [_MAGIC], [], len(_MAGIC)
    for column, series in zip(schema.columns, table.iter_columns(), strict=True):
        levels, count, values = column.shape(series.to_list())
        distinct = dict.fromkeys(values) if column.physical == _BYTE_ARRAY else ()
        dictionary = b""
        if 0 < len(distinct) <= count // 4:
            page = levels + _places(values, list(distinct))
            dictionary = _dictionary_page(column.encode(list(distinct)), len(distinct))
        else:
            page = levels + column.encode(values)
        size = _number(len(page))
        head = b"\x15\x00\x15%b\x15%b\x2c\x15%b\x15%b\x15\x06\x15\x06\x00\x00" % (
            size, size, _number(count), b"\x10" if dictionary else b"\x00"
        )  # fmt: skip
        length = len(dictionary) + len(head) + len(page)
        chunks.append(_chunk(column, count, length, offset, len(dictionary)))
        parts += dictionary, head, page
        offset += length
        if offset > MAX_BYTES:
            return None
    rows, total = _number(table.height), _number(offset - len(_MAGIC))
    footer = b"%b\x16%b\x19\x1c\x19%b%b\x16%b\x16%b\x00%b" % (
        schema.head, rows, _list_header(len(chunks), 12), b"".join(chunks), total, rows, schema.tail
    )  # fmt: skip
    return b"".join((*parts, footer, len(footer).to_bytes(4, "little"), _MAGIC))


@dataclass(frozen=True)
class _Column:
    """How the values of a column are written, and what the footer says of it."""

    physical: int
    path: bytes
    shape: Callable[[Values], tuple[bytes, int, Values]]
    encode: Callable[[Values], bytes]


@dataclass(frozen=True)
class _Schema:
    """The parts of a footer that depend on the types alone."""

    head: bytes
    columns: tuple[_Column, ...]
    tail: bytes


def _chunk(column: _Column, count: int, length: int, offset: int, dictionary: int) -> bytes:
    """What the footer says of a column: its encodings, how many values and bytes it has, and where it begins.

    Args:
        column: The column.
        count: How many values it has, those that are null included.
        length: How many bytes its pages take.
        offset: Where its first page begins.
        dictionary: How many of the bytes are the page of distinct values.
    """
    encodings, place = b"\x25\x00\x06", b""
    if dictionary:
        encodings, place = b"\x35\x00\x06\x10", b"\x26" + _number(offset)
    size = _number(length)
    return b"\x26\x00\x1c\x15%b\x19%b%b\x15\x00\x16%b\x16%b\x16%b\x26%b%b\x00\x00" % (
        _number(column.physical), encodings, column.path, _number(count), size, size, _number(offset + dictionary),
        place,
    )  # fmt: skip


def _dictionary_page(content: bytes, count: int) -> bytes:
    """A page with distinct values."""
    size = _number(len(content))
    return b"\x15\x04\x15%b\x15%b\x4c\x15%b\x15\x00\x00\x00%b" % (size, size, _number(count), content)


def _places(values: Values, distinct: list[Any]) -> bytes:
    """For each value its place among the distinct ones, of which there are at most as many as a small table holds."""
    if len(distinct) == 1:
        return b"\x01%b\x00" % _varint(len(values) << 1)
    place = {value: number for number, value in enumerate(distinct)}
    width = (len(distinct) - 1).bit_length()
    runs = _grouped([place[value] for value in values])
    return bytes((width,)) + b"".join(
        _varint(n << 1) + number.to_bytes((width + 7) // 8, "little") for number, n in runs
    )


@functools.lru_cache(maxsize=256)
def _schema(types: tuple[tuple[str, pl.DataType], ...]) -> _Schema | None:
    """What all tables with the same columns share; None where a type is not known here."""
    columns = [_column(name, dtype) for name, dtype in types]
    if not columns or None in columns:
        return None
    file = io.BytesIO()
    pl.DataFrame(schema=dict(types)).write_parquet(file, compression="uncompressed", statistics=False)
    content = file.getvalue()
    footer = content[-8 - int.from_bytes(content[-8:-4], "little") : -8]
    fields = _Footer(footer).fields()
    schema, pairs, orders = (footer[slice(*fields[name])] for name in (2, 5, 7))
    creator = b"\x18" + _varint(len(_CREATOR)) + _CREATOR
    known = [column for column in columns if column is not None]
    return _Schema(b"\x15\x02" + schema, tuple(known), pairs + creator + orders + b"\x00")


def _column(name: str, dtype: pl.DataType) -> _Column | None:
    """How a column of a type is written."""
    nested = isinstance(dtype, pl.List)
    found = _ENCODERS.get(str((dtype.inner if isinstance(dtype, pl.List) else dtype).base_type()))
    if found is None:
        return None
    physical, encode = found
    path = [name, "list", "element"] if nested else [name]
    texts = b"".join(_varint(len(text)) + text for text in (part.encode() for part in path))
    header = b"\x19" + _list_header(len(path), 8)
    return _Column(physical, header + texts, _list_shape if nested else _flat_shape, encode)


def _flat_shape(values: Values) -> tuple[bytes, int, Values]:
    """The levels that say which values are null, how many there are, and those that are not."""
    if None not in values:
        return _runs(((1, len(values)),)), len(values), values
    levels = _grouped([0 if value is None else 1 for value in values])
    return _runs(levels), len(values), [value for value in values if value is not None]


def _list_shape(values: Values) -> tuple[bytes, int, Values]:
    """The same for lists: where each begins, and whether a list, its content or an element is missing."""
    if None not in values:
        elements = list(itertools.chain.from_iterable(values))
        if None not in elements:
            levels, count = _full_lists(tuple(map(len, values)))
            return levels, count, elements
    begins: list[int] = []
    filled: list[int] = []
    for value in values:
        begins += [0] + [1] * (len(value or ()) - 1)
        filled += [2 if element is None else 3 for element in value] if value else [0 if value is None else 1]
    present = [element for value in values for element in value or () if element is not None]
    return _runs(_grouped(begins)) + _runs(_grouped(filled)), len(begins), present


@functools.lru_cache(maxsize=256)
def _full_lists(lengths: tuple[int, ...]) -> tuple[bytes, int]:
    """The levels of lists with nothing missing, and how many there are. Often all lists of a run are equally long."""
    begins = [int(place > 0) for length in lengths for place in range(length or 1)]
    filled = [3 if length else 1 for length in lengths for _ in range(length or 1)]
    return _runs(_grouped(begins)) + _runs(_grouped(filled)), len(begins)


def _grouped(levels: list[int]) -> tuple[tuple[int, int], ...]:
    return tuple((level, len(list(group))) for level, group in itertools.groupby(levels))


@functools.lru_cache(maxsize=256)
def _runs(runs: tuple[tuple[int, int], ...]) -> bytes:
    """Levels as runs of equal ones, with their length in bytes before them."""
    content = b"".join(_varint(count << 1) + bytes((level,)) for level, count in runs)
    return len(content).to_bytes(4, "little") + content


def _texts(values: Values) -> bytes:
    encoded = list(map(str.encode, values))
    lengths = map(_LENGTH, map(len, encoded))
    return b"".join(itertools.chain.from_iterable(zip(lengths, encoded, strict=True)))


_LENGTH = struct.Struct("<I").pack


def _bits(values: Values) -> bytes:
    whole: int = sum(value << place for place, value in enumerate(values))
    return whole.to_bytes((len(values) + 7) // 8, "little")


def _packed(letter: str) -> Callable[[Values], bytes]:
    return lambda values: struct.pack(f"<{len(values)}{letter}", *values)


_ENCODERS: dict[str, tuple[int, Callable[[Values], bytes]]] = {
    "Int8": (_INT32, _packed("i")),
    "Int16": (_INT32, _packed("i")),
    "Int32": (_INT32, _packed("i")),
    "Int64": (_INT64, _packed("q")),
    "UInt8": (_INT32, _packed("i")),
    "UInt16": (_INT32, _packed("i")),
    "UInt32": (_INT32, _packed("I")),
    "UInt64": (_INT64, _packed("Q")),
    "Float64": (_DOUBLE, _packed("d")),
    "Boolean": (_BOOLEAN, _bits),
    "String": (_BYTE_ARRAY, _texts),
    "Enum": (_BYTE_ARRAY, _texts),
}


def _varint(number: int) -> bytes:
    """A number as Thrift and Parquet write it: seven bits in a byte, the lowest first."""
    if number < 128:
        return _BYTES[number]
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    parts.append(number)
    return bytes(parts)


_BYTES = [bytes((number,)) for number in range(128)]


def _number(number: int) -> bytes:
    """A number from 0 with its sign in the lowest bit, as Thrift writes them."""
    return _varint(number << 1)


def _list_header(count: int, kind: int) -> bytes:
    """The beginning of a list in Thrift: how many, and of what."""
    return bytes((count << 4 | kind,)) if count < 15 else bytes((0xF0 | kind,)) + _varint(count)


class _Footer:
    """Finds where the fields of a footer begin and end. It is a structure of Thrift's compact protocol."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def fields(self) -> dict[int, tuple[int, int]]:
        """The places of the fields, by number; each begins with its header."""
        places: dict[int, tuple[int, int]] = {}
        number = 0
        while head := self._content[self._at]:
            begin = self._at
            self._at += 1
            number = number + (head >> 4) if head >> 4 else self._read() >> 1
            self._skip(head & 15)
            places[number] = (begin, self._at)
        self._at += 1
        return places

    def _read(self) -> int:
        number = shift = 0
        while True:
            byte = self._content[self._at]
            self._at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def _skip(self, kind: int) -> None:
        if kind in (1, 2):  # The value of a truth value is its kind.
            return
        if kind == 3:
            self._at += 1
        elif kind in (4, 5, 6):
            self._read()
        elif kind == 7:
            self._at += 8
        elif kind == 8:
            length = self._read()
            self._at += length
        elif kind in (9, 10):
            head = self._content[self._at]
            self._at += 1
            for _ in range(head >> 4 if head >> 4 < 15 else self._read()):
                self._skip(head & 15)
        else:
            self.fields()
