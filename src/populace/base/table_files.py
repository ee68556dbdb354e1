"""What reading a table from a CSV or Parquet file may raise, and how that is put into words."""

import polars as pl

UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What Polars raises where a file is damaged; on some damaged Parquet files it panics."""


def reading_problem(error: BaseException) -> str:
    """Why a table could not be read, without the words of a panic, which say nothing to a reader.

    Example:
        >>> reading_problem(pl.exceptions.ComputeError("not a Parquet file"))
        'not a Parquet file'
    """
    return "it is damaged" if isinstance(error, pl.exceptions.PanicException) else str(error)
