"""Tables in CSV or Parquet files: reading them, what that may raise, and how it is put into words.

A small file may hold a large table: compressed text unpacks to a thousand times its size, and a column that repeats
one value takes a few bytes in Parquet. What a file holds is therefore counted before it is read.
"""

import gzip
import io
import os
import re
import zlib
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.documents import DocumentError, read_bytes
from populace.base.formatting import shortened
from populace.base.parquet_footer import Buffer, ParquetSize

MAX_TABLE_BYTES = 1_000_000_000
"""The most bytes of a table that are read, also once they are unpacked."""
MAX_ROWS = 20_000_000
"""The most rows of a table that are read."""
MAX_CELLS = 200_000_000
"""The most cells of a table that are read: rows times columns."""

UNREADABLE = (OSError, DocumentError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What reading raises where a file is damaged; on some damaged Parquet files Polars panics."""

_PACKED = {b"\x1f\x8b": "gzip", b"x\x01": "zlib", b"x\x9c": "zlib", b"x\xda": "zlib", b"\x28\xb5\x2f\xfd": "zstd"}
"""How the bytes begin that Polars would unpack, whatever the name of the file."""
_FIRST_LINE = re.compile(rb'(?:[^"\n]++|"[^"]*+"?)*+')


def read_plain_table(path: Path, *, most: int | None = None, flat: bool = False, **settings: Any) -> pl.DataFrame:
    """The table in a CSV or a Parquet file that somebody else may have written; raises one of `UNREADABLE`.

    What is no plain file is refused: Polars would wait for ever for what comes out of a pipe. So is what holds more
    than `MAX_TABLE_BYTES`, `MAX_ROWS` or `MAX_CELLS`.

    Args:
        path: The file; one whose name ends in `.parquet` is read as Parquet, and one in `.gz` is unpacked.
        most: The most bytes that are read, also once they are unpacked; `MAX_TABLE_BYTES` by default.
        flat: Whether each cell must be a text or a number: lists and durations are refused, and bytes become text.
        settings: Settings of `polars.read_csv`; for Parquet they are of no use.
    """
    most = MAX_TABLE_BYTES if most is None else most
    content = read_bytes(path, most=most)
    if path.suffix.lower() == ".gz":
        content = _unpacked(content, most)
    if path.suffix.lower() == ".parquet":
        _check_parquet(content, most)
        table = pl.read_parquet(io.BytesIO(content))
    else:
        _check_csv(content)
        table = pl.read_csv(io.BytesIO(content), **settings)
    return flat_table(table) if flat else table


def check_plain_table(path: Path, *, most: int | None = None) -> None:
    """Raise one of `UNREADABLE` where `read_plain_table` would, before a file is read piece by piece.

    Args:
        path: A plain file.
        most: The most bytes that are read, also once they are unpacked; `MAX_TABLE_BYTES` by default.
    """
    most = MAX_TABLE_BYTES if most is None else most
    if path.suffix.lower() == ".parquet":
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise DocumentError("it is empty")
            with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                _check_parquet(content, most)
    else:
        _check_csv(read_bytes(path, most=most))


def flat_table(table: pl.DataFrame, *, words: bool = False) -> pl.DataFrame:
    """A table whose cells are texts, numbers and times, with text in place of bytes.

    Args:
        table: The table.
        words: Whether categories become text too.

    Raises:
        DocumentError: If a column holds lists, durations, or bytes that are not UTF-8.
    """
    for name, kind in table.schema.items():
        if kind.is_nested() or kind.is_object() or kind == pl.Duration:
            raise DocumentError(f"its column {shortened(name)!r} holds {kind.base_type()}; write texts or numbers")
        if kind == pl.Binary or (words and isinstance(kind, pl.Categorical | pl.Enum)):
            try:
                table = table.with_columns(pl.col(name).cast(pl.String))
            except pl.exceptions.PolarsError as error:
                raise DocumentError(f"its column {shortened(name)!r} holds bytes that are not UTF-8") from error
    return table


def to_numbers(column: pl.Series) -> pl.Series:
    """A column as numbers; null where a cell is none.

    Example:
        >>> to_numbers(pl.Series(["1.5", "x"])).to_list()
        [1.5, None]
    """
    # Polars casts no categories to numbers.
    words = isinstance(column.dtype, pl.Categorical | pl.Enum)
    return (column.cast(pl.String) if words else column).cast(pl.Float64, strict=False)


def reading_problem(error: BaseException) -> str:
    """Why a table could not be read, without the words of a panic, which say nothing to a reader.

    Example:
        >>> reading_problem(pl.exceptions.ComputeError("not a Parquet file"))
        'not a Parquet file'
    """
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    return "it is damaged" if isinstance(error, pl.exceptions.PanicException) else shortened(str(error), 300)


def _unpacked(content: bytes, most: int) -> bytes:
    try:
        with gzip.open(io.BytesIO(content)) as file:
            content = file.read(most + 1)
    except (EOFError, zlib.error) as error:
        raise DocumentError(f"it cannot be unpacked: {error}") from error
    if len(content) > most:
        raise DocumentError(f"unpacked it has more than {most:,} bytes; divide it")
    return content


def _check_parquet(content: Buffer, most: int) -> None:
    size = ParquetSize.of(content)
    if size.unpacked_bytes > most:
        raise DocumentError(f"unpacked it has {size.unpacked_bytes:,} bytes; at most {most:,} are read: divide it")
    _check_size(size.rows, size.cells)


def _check_csv(content: bytes) -> None:
    kind = next((kind for first, kind in _PACKED.items() if content.startswith(first)), None)
    if kind is not None:
        raise DocumentError(f"it is packed by {kind}, which its name does not say; unpack it")
    first = _FIRST_LINE.match(content)
    columns = content.count(b",", 0, first.end() if first else 0) + 1
    rows = content.count(b"\n")
    # Polars fills short rows up, so that a row has all columns, however few commas stand in it.
    _check_size(rows, rows * columns)


def _check_size(rows: int, cells: int) -> None:
    if rows > MAX_ROWS:
        raise DocumentError(f"it has {rows:,} rows; at most {MAX_ROWS:,} are read: divide it")
    if cells > MAX_CELLS:
        raise DocumentError(f"it has {cells:,} cells; at most {MAX_CELLS:,} are read: divide it, or leave columns out")
