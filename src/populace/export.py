"""A run as one set of files for other tools: Parquet, CSV, or one SQLite file."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Literal

import polars as pl

from populace.errors import StorageError, UnknownNameError, UsageError
from populace.reading import Reading

Format = Literal["parquet", "csv", "sqlite"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "sqlite")


def export(run: Reading, target: str | Path, form: Format = "parquet") -> list[Path]:
    """Write the whole run as tables, one row set over all steps; returns the files.

    Parquet and CSV give a folder with a file for each table, which DuckDB reads as it is;
    SQLite gives one file with a table for each.

    Args:
        run: The run.
        target: A folder, or for SQLite a file; it must not exist yet.
        form: `parquet`, `csv` or `sqlite`.
    """
    if form not in FORMATS:
        raise UnknownNameError("export format", form, FORMATS)
    target = Path(target)
    if target.exists():
        raise UsageError(f"{target} exists already.", "Name another place, or remove it first.")
    try:
        if form == "sqlite":
            target.parent.mkdir(parents=True, exist_ok=True)
            return [_to_sqlite(tables(run), target)]
        target.mkdir(parents=True)
        return [_to_file(table, target / f"{name}.{form}", form) for name, table in tables(run).items()]
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror or error}.") from error


def tables(run: Reading) -> dict[str, pl.DataFrame]:
    """Every table of a run over all steps, by name, each with a `step` column."""
    people = [run.record.people(step).select(pl.lit(step).alias("step"), pl.all()) for step in run.steps]
    found = {
        "answers": run.answers(),
        "prompts": run.prompts(),
        "people": pl.concat(people, how="diagonal_relaxed"),
        "events": run.events,
        "metrics": run.metrics,
    }
    for name in sorted(_world_tables(run)):
        parts = [(step, run.record.table(step, f"tables/{name}")) for step in run.steps]
        stacked = [part.select(pl.lit(step).alias("step"), pl.all()) for step, part in parts if part is not None]
        found[name if name not in found else f"table_{name}"] = pl.concat(stacked, how="diagonal_relaxed")
    return {name: table for name, table in found.items() if table.width}


def _world_tables(run: Reading) -> set[str]:
    names = {name for step in run.steps for name in run.record.table_names(step)}
    return {name.removeprefix("tables/") for name in names if name.startswith("tables/")}


def _to_file(table: pl.DataFrame, path: Path, form: Format) -> Path:
    if form == "csv":
        _flat(table).write_csv(path)
    else:
        table.write_parquet(path, compression="zstd")
    return path


def _to_sqlite(found: dict[str, pl.DataFrame], path: Path) -> Path:
    kinds = {True: "REAL", False: "TEXT"}
    with sqlite3.connect(path) as database:
        for name, table in found.items():
            flat = _flat(table)
            columns = ", ".join(
                f'"{column}" {"INTEGER" if dtype.is_integer() else kinds[dtype.is_numeric()]}'
                for column, dtype in flat.schema.items()
            )
            database.execute(f'CREATE TABLE "{name}" ({columns})')
            marks = ", ".join("?" * flat.width)
            database.executemany(f'INSERT INTO "{name}" VALUES ({marks})', flat.iter_rows())
    database.close()
    return path


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """Lists and categories as text, for formats that have no better."""
    columns = []
    for name, dtype in table.schema.items():
        column = pl.col(name)
        if isinstance(dtype, pl.List):
            column = column.cast(pl.List(pl.String)).list.join(" | ")
        elif isinstance(dtype, pl.Enum | pl.Categorical):
            column = column.cast(pl.String)
        columns.append(column)
    return table.select(columns)
