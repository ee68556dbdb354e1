"""Tables from files of others: CSV, JSONL or Parquet, with limits on size and the line of every row."""

from pathlib import Path
from typing import Any

import polars as pl

from populace.base.documents import DocumentError, parse_json_object, read_text
from populace.base.errors import WorldError
from populace.base.table_files import UNREADABLE, check_plain_table, flat_table, reading_problem

LINE = "line"
"""The column with the line of a row in its file; in a Parquet file, the number of the row."""

ENDINGS = (".csv", ".jsonl", ".parquet")


def read_web_table(path: Path, *, most: int, rows: int) -> pl.DataFrame:
    """The rows of a file, all values of a CSV file as words, with a column `line`.

    Args:
        path: A CSV, JSONL or Parquet file.
        most: The most bytes that it may have.
        rows: The most rows that it may have.

    Raises:
        WorldError: If it cannot be read, is too large, or a line is no JSON object.
    """
    ending = path.suffix.lower()
    if not path.exists():
        raise WorldError(f"there is no file {path}.", "Name a CSV, JSONL or Parquet file.")
    if ending not in ENDINGS or not path.is_file():
        raise WorldError(f"{path} is not a CSV, JSONL or Parquet file.", f"Its name ends with {', '.join(ENDINGS)}.")
    size = path.stat().st_size
    if size > most:
        raise WorldError(f"{path} has {size:,} bytes; at most {most:,} are read.", "Divide it.")
    try:
        table = _jsonl(path, most) if ending == ".jsonl" else flat_table(_columns(path, rows), words=True)
    except (DocumentError, *UNREADABLE) as error:
        raise WorldError(f"{path} could not be read: {reading_problem(error)}.") from error
    if table.height > rows:
        raise WorldError(f"{path} has {table.height:,} rows; at most {rows:,} are read.", "Divide it.")
    return table


def _columns(path: Path, rows: int) -> pl.DataFrame:
    check_plain_table(path)
    if path.suffix.lower() == ".parquet":
        scan, offset = pl.scan_parquet(path), 1
    else:
        scan, offset = pl.scan_csv(path, infer_schema_length=0, null_values=[""]), 2
    if LINE in scan.collect_schema().names():
        scan = scan.drop(LINE)
    return scan.with_row_index(LINE, offset=offset).head(rows + 1).collect()


def _jsonl(path: Path, most: int) -> pl.DataFrame:
    values: dict[str, list[Any]] = {LINE: []}
    for number, line in enumerate(read_text(path, most=most).splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = parse_json_object(line)
        except DocumentError as error:
            raise DocumentError(f"line {number}: {error}") from error
        row.pop(LINE, None)
        for name, value in row.items():
            if isinstance(value, (list, dict)):
                raise DocumentError(f"line {number}: {name!r} holds more than one value")
            if name not in values:
                values[name] = [None] * len(values[LINE])
            values[name].append(value)
        values[LINE].append(number)
        for name, column in values.items():
            if len(column) < len(values[LINE]) and name != LINE:
                column.append(None)
    return pl.DataFrame({name: pl.Series(name, column, strict=False) for name, column in values.items()})
