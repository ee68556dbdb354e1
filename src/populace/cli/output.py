"""How a command reports: text for a person, or one JSON document for a program."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from populace.base.errors import PopulaceError
from populace.base.formatting import json_data
from populace.journal import READ_ERRORS

AS_JSON = "populace.as_json"
"""The key in the meta data of click's context under which `--json` is kept."""
_WIDTH_OF_A_FILE = 120


def _console(*, stderr: bool) -> Console:
    """A console that leaves sentences whole; tables are as wide as the terminal, and of a fixed width in a file."""
    terminal = Console(stderr=stderr).is_terminal
    return Console(stderr=stderr, highlight=False, soft_wrap=True, width=None if terminal else _WIDTH_OF_A_FILE)


out = _console(stderr=False)
err = _console(stderr=True)


def as_json() -> bool:
    """Whether the command was called with `--json`."""
    return bool(click.get_current_context().meta.get(AS_JSON))


def report_json(data: Any, warnings: Sequence[str] = (), *, code: int = 0) -> None:
    """With `--json`, write the one document of a command and end it with an exit code; else do nothing."""
    if as_json():
        document = {"status": "ok", "data": json_data(data), "warnings": list(warnings)}
        click.echo(json.dumps(document, ensure_ascii=False))
        click.get_current_context().exit(code)


def warn(*texts: str) -> None:
    """Warnings that stand out."""
    if texts:
        facts([("warning", text) for text in texts], style="bold yellow")


def facts(rows: Sequence[tuple[str, str]], style: str = "dim") -> None:
    """Names and values, one pair on a line, with long values kept in their column."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style=style, no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(f"  {name}", Text(value))
    out.print(grid, soft_wrap=False)


def table(frame: pl.DataFrame, title: str = "", limit: int = 40) -> None:
    """A table, with its middle left out where it is long."""
    table_view = Table(title=title or None, title_justify="left", box=None, pad_edge=True, header_style="bold")
    for name, dtype in frame.schema.items():
        table_view.add_column(
            name.replace("_", " "), justify="right" if dtype.is_numeric() else "left", overflow="fold"
        )
    rows = list(frame.iter_rows()) if frame.height <= limit else [*frame.head(limit // 2).iter_rows(), None]
    rows += [] if frame.height <= limit else list(frame.tail(limit // 2).iter_rows())
    for row in rows:
        if row is None:
            table_view.add_row(*["…" for _ in frame.columns])
        else:
            table_view.add_row(*[Text(cell_text(value)) for value in row])
    out.print(table_view, soft_wrap=False)


def row_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "", limit: int = 40) -> None:
    """A table from its rows."""
    table(pl.DataFrame(rows, schema=list(columns), orient="row"), title, limit)


def report_rows(names: Sequence[str], row: Callable[[str], dict[str, Any]], empty: str, newest: str = "") -> None:
    """Report a row for each name as a document or a table; what cannot be read is listed and hides no other.

    Args:
        names: The names.
        row: Makes the row of a name.
        empty: What is said where there is nothing.
        newest: The column by which rows are sorted, the latest first; the table does not show it.
    """
    rows, damaged = [], []
    for name in names:
        try:
            rows.append(row(name))
        except PopulaceError as error:
            damaged.append(f"{name}: {error.what}")
        except READ_ERRORS as error:
            # Whatever is wrong with one folder must not hide the others.
            damaged.append(f"{name}: it cannot be read ({type(error).__name__}: {error}).")
    if newest:
        rows.sort(key=lambda each: each[newest], reverse=True)
    report_json(rows, damaged)
    if rows:
        texts = [{column: _table_value(value) for column, value in each.items() if column != newest} for each in rows]
        table(pl.DataFrame(texts, infer_schema_length=None, strict=False), limit=200)
    elif not damaged:
        out.print(empty)
    for text in damaged:
        out.print(f"  [yellow]not readable[/yellow]  {text}")


def _table_value(value: Any) -> Any:
    """A value that a column of a table can hold: a number beyond 64 bits becomes text."""
    return str(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def show_changes(lines: Iterable[str]) -> None:
    """Lines of a difference that begin with + or -, in colours; other lines are left out."""
    for line in lines:
        if line[0] in "+-":
            out.print(Text(f"    {line}", style="green" if line[0] == "+" else "red"))


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    Example:
        >>> plural(1, "replicate"), plural(1200, "run")
        ('1 replicate', '1,200 runs')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def cell_text(value: Any) -> str:
    """A value of a table in words; floats are rounded to four digits."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.0f}" if math.isfinite(value) and value == int(value) and abs(value) < 1e6 else f"{value:.4g}"
    return str(value)
