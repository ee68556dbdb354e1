"""The parts of a report, each of which can be written as HTML and as Markdown."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import polars as pl

from populace.experiments.validation.card import MARKS, ValidityCard

_MOST_ROWS = 400
_LONG = 60


class Block(Protocol):
    """A part of a report."""

    def html(self) -> str:
        """As it stands in a page."""

    def markdown(self, figures: str) -> str:
        """As it stands in Markdown; `figures` is the folder of its pictures."""


@dataclass(frozen=True)
class Heading:
    """A heading."""

    text: str
    level: int = 2

    def html(self) -> str:
        """As it stands in a page."""
        return f"<h{self.level}>{html.escape(self.text)}</h{self.level}>"

    def markdown(self, figures: str) -> str:
        """As it stands in Markdown."""
        return f"{'#' * self.level} {escape_markdown(self.text)}"


@dataclass(frozen=True)
class Prose:
    """A paragraph, or a list of sentences."""

    texts: Sequence[str]
    listed: bool = False
    kind: str = ""

    def html(self) -> str:
        """As it stands in a page."""
        kind = f' class="{self.kind}"' if self.kind else ""
        if self.listed:
            return f"<ul{kind}>" + "".join(f"<li>{html.escape(text)}</li>" for text in self.texts) + "</ul>"
        return "".join(f"<p{kind}>{html.escape(text)}</p>" for text in self.texts)

    def markdown(self, figures: str) -> str:
        """As it stands in Markdown."""
        mark, gap = ("- ", "\n") if self.listed else ("", "\n\n")
        return gap.join(mark + escape_markdown(text) for text in self.texts)


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    rows: Sequence[tuple[str, str]]

    def html(self) -> str:
        """As it stands in a page."""
        rows = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in self.rows)
        return f"<dl>{rows}</dl>"

    def markdown(self, figures: str) -> str:
        """As it stands in Markdown."""
        return "\n".join(
            ["| | |", "|---|---|", *(f"| {escape_markdown(n)} | {escape_markdown(v)} |" for n, v in self.rows)]
        )


@dataclass(frozen=True)
class Table:
    """A table, folded away where it is long."""

    frame: pl.DataFrame
    caption: str = ""
    folded: bool = False

    def html(self) -> str:
        """As it stands in a page."""
        numeric = [dtype.is_numeric() for dtype in self.frame.dtypes]
        heads = zip(self.frame.columns, numeric, strict=True)
        head = "".join(f"<th{_right(right)}>{html.escape(name.replace('_', ' '))}</th>" for name, right in heads)
        body = "".join(f"<tr>{self._cells(row, numeric)}</tr>" for row in self.frame.head(_MOST_ROWS).iter_rows())
        caption = f"<caption>{html.escape(self._caption())}</caption>" if self.caption and not self.folded else ""
        made = (
            f'<div class="wide" tabindex="0"><table>{caption}<thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )
        if self.folded:
            return f"<details><summary>{html.escape(self._caption())}</summary>{made}</details>"
        return made

    def markdown(self, figures: str) -> str:
        """As it stands in Markdown."""
        lines = ["| " + " | ".join(escape_markdown(name.replace("_", " ")) for name in self.frame.columns) + " |"]
        lines.append("|" + "|".join("---:" if dtype.is_numeric() else "---" for dtype in self.frame.dtypes) + "|")
        for row in self.frame.head(_MOST_ROWS).iter_rows():
            lines.append("| " + " | ".join(escape_markdown(cell(value)) for value in row) + " |")
        return (f"{escape_markdown(self._caption())}\n\n" if self.caption else "") + "\n".join(lines)

    def _cells(self, row: tuple[Any, ...], numeric: list[bool]) -> str:
        cells = [(cell(value), right) for value, right in zip(row, numeric, strict=True)]
        return "".join(f"<td{_right(right, text)}>{html.escape(text)}</td>" for text, right in cells)

    def _caption(self) -> str:
        left = self.frame.height - _MOST_ROWS
        return f"{self.caption} ({left} more rows are left out)" if left > 0 else self.caption


@dataclass(frozen=True)
class Figure:
    """A picture with what it shows."""

    name: str
    svg: str
    caption: str

    def html(self) -> str:
        """As it stands in a page."""
        told = html.escape(self.caption)
        picture = f'<div class="wide" role="img" aria-label="{told}">{self.svg}</div>'
        return f"<figure>{picture}<figcaption>{told}</figcaption></figure>"

    def markdown(self, figures: str) -> str:
        """As it stands in Markdown."""
        return f"![{escape_markdown(self.caption)}]({figures}/{self.name}.svg)\n\n*{escape_markdown(self.caption)}*"


@dataclass(frozen=True)
class Code:
    """Text as it is typed, folded away where it has a caption."""

    text: str
    caption: str = ""

    def html(self) -> str:
        """As it stands in a page."""
        made = f'<pre tabindex="0"><code>{html.escape(self.text)}</code></pre>'
        return f"<details><summary>{html.escape(self.caption)}</summary>{made}</details>" if self.caption else made

    def markdown(self, figures: str) -> str:
        """As it stands in Markdown."""
        fence = "`" * max(3, _longest_run(self.text) + 1)
        return (
            f"{escape_markdown(self.caption)}\n\n" if self.caption else ""
        ) + f"{fence}text\n{self.text.rstrip()}\n{fence}"


@dataclass(frozen=True)
class Card:
    """A validity card."""

    card: ValidityCard

    def html(self) -> str:
        """As it stands in a page."""
        parts = []
        for check in self.card.checks:
            kind = check.verdict.replace(" ", "-")
            bar = f' <span class="bar">{html.escape(check.threshold)}</span>' if check.threshold else ""
            parts.append(
                f'<li class="{kind}"><span class="mark">{MARKS[check.verdict]} {check.verdict}</span>'
                f"<div><b>{html.escape(check.name)}</b> <span>{html.escape(check.shown)}</span>{bar}"
                f"<p>{html.escape(check.reason)}</p></div></li>"
            )
        told = Prose(self.card.warnings, listed=True, kind="warnings").html() if self.card.warnings else ""
        return f'<p>{html.escape(self.card.verdict)}</p><ul class="card">{"".join(parts)}</ul>{told}'

    def markdown(self, figures: str) -> str:
        """As it stands in Markdown."""
        lines = [escape_markdown(self.card.verdict), "", "| | check | found | bar | meaning |", "|---|---|---|---|---|"]
        for check in self.card.checks:
            cells = (check.name, check.shown, check.threshold, check.reason)
            mark = f"{MARKS[check.verdict]} {check.verdict}"
            lines.append(f"| {mark} | " + " | ".join(escape_markdown(text) for text in cells) + " |")
        warnings = [f"- **Warning:** {escape_markdown(text)}" for text in self.card.warnings]
        return "\n".join([*lines, *([""] if warnings else []), *warnings])


def cell(value: Any) -> str:
    """A value as a table shows it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value == int(value) and abs(value) < 1e6 else f"{value:.3g}"
    return str(value)


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, in a table too."""
    one_line = " ".join(text.split())
    one_line = re.sub(r"[\\`*\[\]|#]|(?<!\w)_|_(?!\w)", r"\\\g<0>", one_line)
    return one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _right(numeric: bool, text: str = "") -> str:
    kinds = ["number"] * numeric + ["long"] * (len(text) > _LONG)
    return f' class="{" ".join(kinds)}"' if kinds else ""


def _longest_run(text: str) -> int:
    runs, longest = 0, 0
    for sign in text:
        runs = runs + 1 if sign == "`" else 0
        longest = max(longest, runs)
    return longest
