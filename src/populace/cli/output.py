"""How a command reports: text for a person, or one JSON document for a program.

All that a command prints passes through here, and here through `populace.base.foreign`. There is no markup: a part of a
line that is to stand out is a text with a style, so brackets in a name or an answer are only brackets.
"""

import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any

import click
import polars as pl
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from populace.base.errors import PopulaceError
from populace.base.foreign import for_json, for_line, for_terminal
from populace.base.formatting import json_data
from populace.cli import is_unicode
from populace.journal import READ_ERRORS

AS_JSON = "populace.as_json"
"""The key in the meta data of click's context under which `--json` is kept."""
_WIDTH_OF_A_FILE = 120
_WIDTH_OF_TEXT = 20
"""A longer text may be broken in a table that is divided."""
_GAP = 2
"""The space around a column."""
_LEADING_LINES = re.compile(r"\n*")

Part = str | tuple[str, str]
"""A part of a line: a text, or a text and its style."""


def bold(text: object) -> Part:
    """A name or a heading within a line."""
    return str(text), "bold"


def dim(text: object) -> Part:
    """A label within a line."""
    return str(text), "dim"


def yellow(text: object) -> Part:
    """A label that warns, within a line."""
    return str(text), "yellow"


class Terminal(Console):
    """A console for text that others wrote: it knows no markup, and prints nothing that acts on a terminal.

    Sentences stay whole; tables are as wide as the terminal, and of a fixed width in a file.

    Args:
        stderr: Whether it writes to standard error.
        file: Where it writes otherwise, for tests.
        **settings: Further settings of the console.
    """

    def __init__(self, *, stderr: bool = False, file: IO[str] | None = None, **settings: Any) -> None:
        width = None if Console(stderr=stderr, file=file, **settings).is_terminal else _WIDTH_OF_A_FILE
        settings = {"width": width, **settings}
        super().__init__(
            stderr=stderr, file=file, highlight=False, soft_wrap=True, markup=False, emoji=False, **settings
        )

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of anything that is printed; this is what makes every text of them safe."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(for_terminal(text), style)

    def print_line(self, *parts: Part, end: str = "\n") -> None:
        """Print one line; line feeds at its beginning give empty lines before it, others become spaces."""
        line = Text()
        for part in parts:
            text, style = (part, "") if isinstance(part, str) else part
            start = "" if line else _LEADING_LINES.match(text).group()  # type: ignore[union-attr]
            line.append(start + for_terminal(text[len(start) :]).replace("\n", " "), style)
        self.print(line, end=end)

    def print_text(self, text: object, style: str = "") -> None:
        """Print a text in its own lines."""
        self.print(Text(for_terminal(text), style))


out = Terminal()
err = Terminal(stderr=True)


def as_json() -> bool:
    """Whether the command was called with `--json`."""
    return bool(click.get_current_context().meta.get(AS_JSON))


def report_json(data: Any, warnings: Sequence[str] = (), *, code: int = 0) -> None:
    """With `--json`, write the one document of a command and end it with an exit code; else do nothing."""
    if as_json():
        document = {"status": "ok", "data": json_data(data), "warnings": list(warnings)}
        click.echo(for_json(document, ascii_only=not is_unicode(sys.stdout)))
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
        grid.add_row(Text(f"  {for_line(name)}"), Text(for_terminal(value)))
    out.print(grid, soft_wrap=False)


def table(frame: pl.DataFrame, title: str = "", limit: int = 40, keys: int = 1) -> None:
    """A table, with its middle left out where it is long.

    One with more columns than fit without breaking words is divided into several, one below the other.

    Args:
        frame: The table.
        title: Stands above it.
        limit: The most rows that are shown.
        keys: How many of the first columns say what a row is, and so stand in each of several tables.
    """
    names = [for_line(name.replace("_", " ")) for name in frame.columns]
    few = frame if frame.height <= limit else pl.concat([frame.head(limit // 2), frame.tail(limit // 2)])
    rows = [[for_terminal(cell_text(value)) for value in row] for row in few.iter_rows()]
    if frame.height > limit:
        rows.insert(limit // 2, ["…"] * frame.width)
    cells = [[row[column] for row in rows] for column in range(frame.width)]
    columns = list(zip(names, frame.dtypes, cells, strict=True))
    least, whole = ([_width(*column, most) for column in columns] for most in (0, _WIDTH_OF_TEXT))
    fits = sum(least) + _GAP * frame.width <= out.width
    parts = [[*range(frame.width)]] if fits else _parts_of_width(whole, keys, out.width)
    for number, part in enumerate(parts):
        if number:
            out.print_line()
        table_view = Table(
            title=Text(for_line(title)) if title and not number else None,
            title_justify="left",
            box=None,
            pad_edge=True,
            header_style="bold",
        )
        for column in part:
            header = names[column] if len(parts) == 1 else textwrap.fill(names[column], whole[column])
            table_view.add_column(
                Text(header),
                justify="right" if frame.dtypes[column].is_numeric() else "left",
                overflow="fold",
                # The name of a run is copied into the next command, so it stays in one piece.
                no_wrap=frame.columns[column] == "run",
            )
        for row in rows:
            table_view.add_row(*[Text(row[column]) for column in part])
        out.print(table_view, soft_wrap=False)


def _width(name: str, dtype: pl.DataType, cells: Sequence[str], most: int) -> int:
    """The width in which neither a word of the name nor a number of a column breaks, nor a text of at most so much."""
    words = max(map(cell_len, name.split()), default=1)
    longest = max(map(cell_len, cells), default=1)
    return max(words, longest if dtype.is_numeric() or name == "run" else min(longest, most))


def _parts_of_width(widths: Sequence[int], keys: int, width: int) -> list[list[int]]:
    """The columns of a table in groups that fit into a width, each with the key columns."""
    first = list(range(keys))
    parts = [first]
    for column in range(keys, len(widths)):
        if parts[-1] != first and sum(widths[each] + _GAP for each in (*parts[-1], column)) > width:
            parts.append(first)
        parts[-1] = [*parts[-1], column]
    return parts


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
        out.print_line(empty)
    for text in damaged:
        out.print_line("  ", yellow("not readable"), f"  {text}")


def _table_value(value: Any) -> Any:
    """A value that a column of a table can hold: a number beyond 64 bits becomes text."""
    return str(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def show_changes(lines: Iterable[str]) -> None:
    """Lines of a difference that begin with + or -, in colours; other lines are left out."""
    for line in lines:
        if line[0] in "+-":
            out.print_line((f"    {line}", "green" if line[0] == "+" else "red"))


def cell_text(value: Any) -> str:
    """A value of a table in words; floats are rounded to four digits, and what is no number is a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        if math.isinf(value):
            return "∞" if value > 0 else "-∞"
        return f"{value:.0f}" if value == int(value) and abs(value) < 1e6 else f"{value:.4g}"
    return str(value)
