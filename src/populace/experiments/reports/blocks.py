"""The parts of a report, as data. The templates beside this module turn them into HTML and Markdown."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.base.foreign import for_file_name
from populace.base.formatting import plural
from populace.experiments.validation.card import ValidityCard

_MAX_ROWS = 400


@dataclass(frozen=True)
class Block:
    """A part of a report."""

    @property
    def template(self) -> str:
        """The macro that renders it, of the same name for every format."""
        return type(self).__name__.lower()


@dataclass(frozen=True)
class Heading(Block):
    """A heading."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Prose(Block):
    """Paragraphs, or a list with bullets."""

    texts: Sequence[str]
    bullets: bool = False
    kind: str = ""


@dataclass(frozen=True)
class Facts(Block):
    """Names and values."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table(Block):
    """A table; a long one may be folded away in HTML."""

    frame: pl.DataFrame
    caption: str = ""
    folded: bool = False

    @property
    def header(self) -> list[tuple[str, bool]]:
        """The title of each column, and whether it holds numbers."""
        names = [name.replace("_", " ") for name in self.frame.columns]
        return list(zip(names, self._numeric(), strict=True))

    def cells(self) -> Iterator[list[tuple[str, bool]]]:
        """Row by row the text of each cell, and whether its column holds numbers; at most 400 rows."""
        numeric = self._numeric()
        for row in self.frame.head(_MAX_ROWS).iter_rows():
            yield list(zip(map(cell, row), numeric, strict=True))

    @property
    def full_caption(self) -> str:
        """The caption, with the number of rows that are not shown."""
        omitted = self.frame.height - _MAX_ROWS
        return f"{self.caption} ({plural(omitted, 'row')} left out)" if omitted > 0 else self.caption

    def _numeric(self) -> list[bool]:
        return [dtype.is_numeric() for dtype in self.frame.dtypes]


@dataclass(frozen=True)
class Figure(Block):
    """An SVG image with its caption. In Markdown it is a file of its own."""

    name: str
    svg: str
    caption: str

    @property
    def file_name(self) -> str:
        """The name of its file."""
        return f"{for_file_name(self.name)}.svg"


@dataclass(frozen=True)
class Code(Block):
    """Text in a fixed-width font; folded away in HTML if it has a caption."""

    text: str
    caption: str = ""

    @property
    def fence(self) -> str:
        """A Markdown fence longer than any run of backticks in the text."""
        return "`" * max([3, *(len(run) + 1 for run in re.findall("`+", self.text))])


@dataclass(frozen=True)
class Card(Block):
    """A validity card."""

    card: ValidityCard


def cell(value: Any) -> str:
    """The text of a table cell; a missing value is a dash.

    Example:
        >>> cell(None), cell(True), cell(2.0), cell(0.12345)
        ('–', 'yes', '2', '0.123')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value == int(value) and abs(value) < 1e6 else f"{value:.3g}"
    return str(value)
