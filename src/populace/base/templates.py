"""Text with named fields, filled for many people at once.

A template may hold plain names and format specifications only: no attribute, index or call
can be written in it, so a template read from a file is as harmless as its text.
"""

import functools
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import TemplateError, nearest
from populace.base.formatting import shortened
from populace.base.values import is_nan, plain_value

FEW = 64
"""Up to so many rows, plain Python is quicker than setting a column engine to work."""

MAX_WIDTH = 1_000
"""The largest number in a format specification: a width or a precision."""

NONE = "none"
"""How a list without items is written."""

_DIGITS = re.compile(r"\d+")
_QUOTED = 200
"""How many characters of a text an error quotes."""

Piece = str | pl.Series | list[str]
"""A text for all rows, or one for each."""


class Template:
    """Text with `{name}` and `{name:format}` fields; `{{` and `}}` stand for braces.

    A list is written with commas, its format applied to each item, and an empty list as `none`.

    Example:
        >>> names = pl.Series(["Ann", "Bo"])
        >>> Template("{name} has {money:.2f}.").render({"money": 3}, {"name": names}, 2).to_list()
        ['Ann has 3.00.', 'Bo has 3.00.']
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = _parse(text)
        self.fields: tuple[str, ...] = tuple(dict.fromkeys(name for _, name, _ in self._parts if name is not None))

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    def require(self, known: Mapping[str, Any] | Sequence[str], where: str) -> None:
        """Raise TemplateError where a field is not among the known names."""
        names = list(known)
        for field in self.fields:
            if field not in names:
                guess = nearest(field, names)
                raise TemplateError(
                    f"{where}: the template names {{{field}}}, and no column or value has that name.",
                    (f"Did you mean {{{guess}}}? " if guess else "")
                    + f"There are: {', '.join(sorted(names)) or 'none'}.",
                )

    def longest(self, lengths: Mapping[str, int]) -> int:
        """The most characters of the filled template.

        Args:
            lengths: The most characters of the values of each field; a field that is not there counts as empty.

        Example:
            >>> Template("{name} has {money:9.2f}.").longest({"name": 20, "money": 4})
            37
        """
        return sum(
            len(literal) + (max(lengths.get(name, 0), sum(_numbers(spec))) if name is not None else 0)
            for literal, name, spec in self._parts
        )

    def render(self, constants: Mapping[str, Any], columns: Mapping[str, pl.Series], count: int = 1) -> pl.Series:
        """Fill the template once for each row of the columns.

        Args:
            constants: Values that are the same in every row.
            columns: Columns of equal length, a value for each row; they win over constants.
            count: The number of rows.
        """
        pieces: list[Piece] = [""]
        for literal, name, spec in self._parts:
            pieces[-1] = str(pieces[-1]) + literal
            if name is None:
                continue
            if name in columns:
                pieces += [_format_column(name, columns[name], spec), ""]
            else:
                pieces[-1] = str(pieces[-1]) + _format(name, constants[name], spec)
        if len(pieces) == 1:
            return _single(str(pieces[0])).new_from_index(0, count)
        return concat_texts(pieces, count)


@functools.lru_cache(maxsize=256)
def _single(text: str) -> pl.Series:
    """A column of one text, to be repeated."""
    return pl.Series([text], dtype=pl.String)


_FEW_TEXTS = 512
"""Up to so many rows, Python puts texts together in less time than polars needs to begin."""


def concat_texts(pieces: Sequence[Piece], count: int) -> pl.Series:
    """Texts and columns of text put together, row by row."""
    if count <= _FEW_TEXTS:
        rows = zip(*[[piece] * count if isinstance(piece, str) else _to_list(piece) for piece in pieces], strict=True)
        return pl.Series(["".join(row) for row in rows], dtype=pl.String)
    columns = [pl.Series(piece, dtype=pl.String) if isinstance(piece, list) else piece for piece in pieces]
    parts = [pl.lit(piece) for piece in columns if isinstance(piece, pl.Series) or piece]
    return pl.select(pl.concat_str(parts)).to_series()


def _format_column(name: str, column: pl.Series, spec: str) -> pl.Series | list[str]:
    """A column as text: by Python's own formatting wherever polars might write a value in another way."""
    if not spec and column.len() > FEW:
        dtype = column.dtype
        if dtype.is_integer() or isinstance(dtype, pl.String | pl.Enum | pl.Categorical):
            if column.null_count():
                _format(name, None, spec)
            return column.cast(pl.String)
    if column.len() > FEW and (column.dtype.is_float() or column.dtype.is_integer()) and not column.null_count():
        return _format_numbers(name, column, spec)
    values = column.to_list()
    if not spec and _PLAIN.issuperset(map(type, values)):
        return list(map(str, values))
    return [_format(name, value, spec) for value in values]


_PLAIN = frozenset((str, int))
"""Types whose values are written in only one way, if no format is named."""


def _format_numbers(name: str, column: pl.Series, spec: str) -> pl.Series:
    """Numbers as text, each distinct one formatted once: many people share a price or an income."""
    values = column.to_numpy()
    # Compared by their bits, 0.0 and -0.0 stay apart, which are written differently.
    bits = values.view(f"i{values.itemsize}") if values.dtype.kind == "f" else values
    _, first, places = np.unique(bits, return_index=True, return_inverse=True)
    texts = [_format(name, value, spec) for value in column.gather(first).to_list()]
    return pl.Series(texts, dtype=pl.String).gather(places)


def _to_list(piece: pl.Series | list[str]) -> list[str]:
    return piece if isinstance(piece, list) else piece.to_list()


def _format(name: str, value: Any, spec: str) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join([_format(name, item, spec) for item in value if item is not None]) or NONE
    value = plain_value(value, f"the value for {{{name}}}", TemplateError)
    if value is None or is_nan(value):
        what = "empty" if value is None else "nan, which marks a missing value"
        raise TemplateError(f"the value for {{{name}}} is {what}.", "Give it a value, or leave the field out.")
    try:
        return format(value, spec)
    except (ValueError, TypeError) as error:
        raise TemplateError(f"{{{name}:{spec}}} does not fit the value {value!r}: {error}.") from error


@functools.lru_cache(maxsize=512)
def _parse(text: str) -> tuple[tuple[str, str | None, str], ...]:
    try:
        elements = list(string.Formatter().parse(text))
    except ValueError as error:
        raise TemplateError(
            f"the template {text!r} is not well formed: {error}.", "Write {{ and }} for braces."
        ) from error
    parts = []
    for literal, name, spec, conversion in elements:
        if name is not None and not name.isidentifier():
            raise TemplateError(
                f"the template {text!r} holds the field {{{name}}}; a field is one plain name, without "
                "spaces, dots or brackets.",
                _field_advice(name),
            )
        if conversion or (spec and "{" in spec):
            raise TemplateError(
                f"the template {text!r} uses a conversion or a nested field, which templates do not have.",
                f"Write {{{name}}}, or a fixed format such as {{{name}:.2f}}.",
            )
        spec = spec or ""
        if max(_numbers(spec), default=0) > MAX_WIDTH:
            raise TemplateError(
                f"the template {shortened(text, _QUOTED)!r} holds the field {{{name}:{shortened(spec, _QUOTED)}}}, "
                "whose width or precision is too large.",
                f"Each is at most {MAX_WIDTH:,}.",
            )
        parts.append((literal, name, spec))
    return tuple(parts)


def _numbers(spec: str) -> list[int]:
    """The width and the precision in a format specification; one that is too long to be read is a large one."""
    return [int(digits[-9:]) if len(digits.lstrip("0")) < 9 else MAX_WIDTH + 1 for digits in _DIGITS.findall(spec)]


def _field_advice(name: str) -> str:
    """What to write in place of a field that is no plain name."""
    plain = "_".join(re.findall(r"\w+", name))
    if not plain or set(name) & set("'\""):
        return "Write {name} for the value of a column, and {{ and }} for braces in the text."
    if not plain.isidentifier():
        return "Give the value a name, and write that: {price}, with price=… in ask."
    return f"Name the column or the value {plain!r} and write {{{plain}}}."
