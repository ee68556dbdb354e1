"""The rows of one table over many steps, read at once.

Every step has its own small file. Thousands of files as thousands of queries would start hundreds of threads, so all
files are one query where their columns agree, and a few at a time where they do not.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from populace.base.errors import DamagedRunError
from populace.base.table_files import UNREADABLE, reading_problem

_FILE = "\0file"
_WHOLE_BYTES = 32_000_000
"""Up to this size, files are read whole and filtered afterwards: a filter in the query takes longer than reading."""
_AT_ONCE = 64


def file_rows(
    files: Mapping[int, str], where: Sequence[pl.Expr], columns: Sequence[str] = (), *, size: int
) -> pl.DataFrame:
    """The rows of some files that meet every condition: the step, then the columns of all files.

    Args:
        files: The file of each step.
        where: The conditions.
        columns: The only columns to read; all by default.
        size: The size of all files together, in bytes.

    Raises:
        DamagedRunError: A file cannot be read.
    """
    if not files:
        return pl.DataFrame()
    try:
        return _one_query(files, where, columns, size <= _WHOLE_BYTES)
    except UNREADABLE:
        # The columns differ between the steps; or a file is damaged, which is told when they are read one by one.
        return _few_at_a_time(files, where, columns)


def joined_rows(
    tables: Mapping[int, pl.DataFrame], where: Sequence[pl.Expr], columns: Sequence[str] = ()
) -> pl.DataFrame:
    """The rows of tables in memory that meet every condition: the step, then the columns of all tables."""
    chosen = list[str | pl.Expr](columns) or [pl.exclude("step")]
    parts = [table.filter(*where).select(_step(step), *chosen) for step, table in tables.items()]
    return pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()


def _one_query(files: Mapping[int, str], where: Sequence[pl.Expr], columns: Sequence[str], whole: bool) -> pl.DataFrame:
    steps = {path: step for step, path in files.items()}
    scan = pl.scan_parquet(list(steps), include_file_paths=_FILE, glob=False, hive_partitioning=False)
    step = pl.col(_FILE).replace_strict(steps, return_dtype=pl.Int64).alias("step")
    chosen = [step, *(list[str | pl.Expr](columns) or [pl.exclude("step", _FILE)])]
    # What is collected has a chunk for each file, and every operation on thousands of chunks takes long.
    if whole and not columns:
        return scan.collect().rechunk().filter(*where).select(chosen)
    return scan.filter(*where).select(chosen).collect().rechunk()


def _few_at_a_time(files: Mapping[int, str], where: Sequence[pl.Expr], columns: Sequence[str]) -> pl.DataFrame:
    steps, tables = list(files), list[pl.DataFrame]()
    for first in range(0, len(steps), _AT_ONCE):
        scans = [pl.scan_parquet(files[step], glob=False).filter(*where) for step in steps[first : first + _AT_ONCE]]
        try:
            tables += pl.collect_all(scans)
        except UNREADABLE as error:
            hint = "Restore it from a copy, or fork the run before this step."
            raise DamagedRunError(f"a table of the run cannot be read ({reading_problem(error)}).", hint) from error
    return joined_rows({step: table for step, table in zip(steps, tables, strict=True) if table.width}, [], columns)


def _step(step: int) -> pl.Expr:
    return pl.lit(step, pl.Int64).alias("step")
