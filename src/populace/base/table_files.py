"""Tables in CSV or Parquet files: reading them, what that may raise, and how it is put into words."""

import io
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.documents import DocumentError, read_bytes

UNREADABLE = (OSError, DocumentError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What reading raises where a file is damaged; on some damaged Parquet files Polars panics."""


def read_plain_table(path: Path, **settings: Any) -> pl.DataFrame:
    """The table in a CSV or a Parquet file that somebody else may have written; raises one of `UNREADABLE`.

    What is no plain file is refused: Polars would wait for ever for what comes out of a pipe.

    Args:
        path: The file; one whose name ends in `.parquet` is read as Parquet.
        settings: Settings of `polars.read_csv` or `polars.read_parquet`.
    """
    content = io.BytesIO(read_bytes(path))
    return pl.read_parquet(content, **settings) if path.suffix == ".parquet" else pl.read_csv(content, **settings)


def reading_problem(error: BaseException) -> str:
    """Why a table could not be read, without the words of a panic, which say nothing to a reader.

    Example:
        >>> reading_problem(pl.exceptions.ComputeError("not a Parquet file"))
        'not a Parquet file'
    """
    return "it is damaged" if isinstance(error, pl.exceptions.PanicException) else str(error)
