"""Small tables as Parquet files, encoded in Python.

A step of a small run writes a handful of tables with a few rows each. For such a table, polars spends more than 0.3 ms
of the processor on waking its threads, whatever the table holds; encoding it here takes about a sixth of that. The
file has one row group, with one page for each column, and before it a page with the distinct values of a text that
repeats itself. Nothing is compressed, so that the bytes depend on the table alone and not on a library of the system.
The schema is copied from a file that polars writes once for each schema, so that every reader gets the same types from
both.
"""

from __future__ import annotations

import functools
import io
import itertools
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.base.parquet_footer import StructureReader
from populace.base.plain_tables import PlainTable, Table, TableTypes

MAX_VALUES = 2048
"""How many values a small table holds at most; for larger ones polars is quicker."""

MAX_BYTES = 32_000
"""How many bytes a small table takes at most; larger ones are worth compressing."""

_MAGIC = b"PAR1"
_CREATOR = b"Populace"
_INT32, _INT64, _DOUBLE, _BYTE_ARRAY, _BOOLEAN = 1, 2, 5, 6, 0

Values = Sequence[Any]
_Type = pl.DataType | type[pl.DataType]
_Key = _Type | tuple[str, ...]


def encode_small(table: Table) -> bytes | None:
    """A table as the bytes of a Parquet file; None where it is too large or has a type that only polars writes."""
    height = table.height
    if not height or height * len(table.columns) > MAX_VALUES:
        return None
    columns: Iterable[Values]
    if isinstance(table, PlainTable):
        schema, columns = _plain_schema(table.types), table.columns
    else:
        schema, columns = _schema(_keys(table.schema.items())), zip(*table.rows(), strict=True)
    if schema is None:
        return None
    parts, chunks, offset = [_MAGIC], [], len(_MAGIC)
    for column, cells in zip(schema.columns, columns, strict=True):
        begin, content, data = _encode_again(column, cells) if column.is_exact else _encode(column, cells)
        place, end = _NUMBERS[offset + data], b"\x26%b\x00\x00" % _NUMBERS[offset] if data else b"\x00\x00"
        chunks.append(b"%b\x26%b%b" % (begin, place, end))
        parts.append(content)
        offset += len(content)
        if offset > MAX_BYTES:
            return None
    rows, total = _NUMBERS[height], _NUMBERS[offset - len(_MAGIC)]
    footer = b"%b\x16%b\x19\x1c\x19%b%b\x16%b\x16%b\x00%b" % (
        schema.head, rows, schema.width, b"".join(chunks), total, rows, schema.tail
    )  # fmt: skip
    return b"".join((*parts, footer, len(footer).to_bytes(4, "little"), _MAGIC))


_Chunk = tuple[bytes, bytes, int]
"""How the footer begins what it says of a column, its pages, and where among them the one with its data begins."""


def _encode(column: _Column, cells: Values) -> _Chunk:
    """The values of a column as pages."""
    levels, count, values = column.shape(cells)
    distinct = dict.fromkeys(values) if column.is_text else ()
    begin, dictionary, encoding = column.plain, b"", b"\x00"
    if 0 < len(distinct) <= len(values) // 2 and len(distinct) <= 256:
        texts, begin, encoding = column.encode([*distinct]), column.repeated, b"\x10"
        size = _NUMBERS[len(texts)]
        dictionary = b"\x15\x04\x15%b\x15%b\x4c\x15%b\x15\x00\x00\x00%b" % (
            size, size, _NUMBERS[len(distinct)], texts
        )  # fmt: skip
        page = levels + _places(values, distinct)
    else:
        page = levels + column.encode(values)
    size, number = _NUMBERS[len(page)], _NUMBERS[count]
    head = b"\x15\x00\x15%b\x15%b\x2c\x15%b\x15%b\x15\x06\x15\x06\x00\x00" % (size, size, number, encoding)
    content = b"".join((dictionary, head, page))
    size = _NUMBERS[len(content)]
    return b"%b\x16%b\x16%b\x16%b" % (begin, number, size, size), content, len(dictionary)


def _encode_again(column: _Column, cells: Values) -> _Chunk:
    """The same for a column that may have been encoded before: half of the columns of a step are those of the step
    before, such as ids, the text of a question and who answered it."""
    key = (column, tuple(cells))
    chunk = _CHUNKS.get(key)
    if chunk is None:
        chunk = _encode(column, cells)
        if len(chunk[1]) <= _MAX_CHUNK:
            if len(_CHUNKS) >= _MOST_CHUNKS:
                _CHUNKS.clear()
            _CHUNKS[key] = chunk
    return chunk


_MOST_CHUNKS, _MAX_CHUNK = 512, 4096
_CHUNKS: dict[tuple[_Column, tuple[Any, ...]], _Chunk] = {}


@dataclass(frozen=True, eq=False)
class _Column:
    """How the values of a column are written, and how the footer begins what it says of it.

    Attributes:
        is_text: Whether its values are texts.
        is_exact: Whether values that are equal are the same, which 0.0 and -0.0 are not, and can be looked up.
        shape: Takes a column apart: the levels that say what is missing, how many there are, and what is there.
        encode: The values as bytes.
        plain: The beginning of its part of the footer: type, encodings and path.
        repeated: The same for a column with a page for its distinct values.
    """

    is_text: bool
    is_exact: bool
    shape: Callable[[Values], tuple[bytes, int, Values]]
    encode: Callable[[Values], bytes]
    plain: bytes
    repeated: bytes


@dataclass(frozen=True)
class _Schema:
    """The parts of a footer that depend on the types alone."""

    head: bytes
    columns: tuple[_Column, ...]
    width: bytes
    tail: bytes


def _keys(types: Iterable[tuple[str, pl.DataType]]) -> tuple[tuple[str, _Key], ...]:
    """Types as something that is compared much quicker: a class, or the texts of an Enum."""
    return tuple([(name, _key(dtype)) for name, dtype in types])


def _key(dtype: pl.DataType) -> _Key:
    if isinstance(dtype, pl.Enum):
        return tuple(dtype.categories.to_list())
    return dtype if isinstance(dtype, pl.List) else type(dtype)


@functools.lru_cache(maxsize=256)
def _plain_schema(types: TableTypes) -> _Schema | None:
    return _schema(_keys(types.types))


@functools.lru_cache(maxsize=256)
def _schema(keys: tuple[tuple[str, _Key], ...]) -> _Schema | None:
    """What all tables with the same columns share; None where a type is not known here."""
    types: dict[str, _Type] = {name: pl.Enum(key) if isinstance(key, tuple) else key for name, key in keys}
    columns = [column for name, dtype in types.items() if (column := _column(name, dtype))]
    if not columns or len(columns) < len(types):
        return None
    file = io.BytesIO()
    pl.DataFrame(schema=types).write_parquet(file, compression="uncompressed", statistics=False)
    content = file.getvalue()
    footer = content[-8 - int.from_bytes(content[-8:-4], "little") : -8]
    fields = StructureReader(footer).fields()
    schema, pairs, orders = (footer[fields[number].begin : fields[number].end] for number in (2, 5, 7))
    creator = b"\x18" + _varint(len(_CREATOR)) + _CREATOR
    width = _list_header(len(columns), 12)
    return _Schema(b"\x15\x02" + schema, tuple(columns), width, pairs + creator + orders + b"\x00")


def _column(name: str, dtype: _Type) -> _Column | None:
    """How a column of a type is written."""
    nested = isinstance(dtype, pl.List)
    encoder = _ENCODERS.get(str((dtype.inner if isinstance(dtype, pl.List) else dtype).base_type()))
    if encoder is None:
        return None
    physical, encode = encoder
    path = [name, "list", "element"] if nested else [name]
    texts = b"".join(_varint(len(text)) + text for text in (part.encode() for part in path))
    ends = b"\x19" + _list_header(len(path), 8) + texts + b"\x15\x00"
    begins = b"\x26\x00\x1c\x15" + _NUMBERS[physical] + b"\x19"
    return _Column(
        physical == _BYTE_ARRAY,
        not nested and physical != _DOUBLE,
        _list_shape if nested else _flat_shape,
        encode,
        begins + b"\x25\x00\x06" + ends,
        begins + b"\x35\x00\x06\x10" + ends,
    )


def _places(values: Values, distinct: Iterable[Any]) -> bytes:
    """For each value its place among the distinct ones: a byte each, in groups of eight."""
    place = {value: number for number, value in enumerate(distinct)}
    groups = (len(values) + 7) // 8
    numbers = bytes([place[value] for value in values])
    return b"\x08%b%b" % (_varint(groups << 1 | 1), numbers.ljust(groups * 8, b"\x00"))


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


class _Numbers(dict[int, bytes]):
    """Numbers from 0 with their sign in the lowest bit, as Thrift writes them."""

    def __missing__(self, number: int) -> bytes:
        content = _varint(number << 1)
        if number <= MAX_BYTES:
            self[number] = content
        return content


_NUMBERS = _Numbers()


def _list_header(count: int, kind: int) -> bytes:
    """The beginning of a list in Thrift: how many, and of what."""
    return bytes((count << 4 | kind,)) if count < 15 else bytes((0xF0 | kind,)) + _varint(count)
