"""Columns of foreign text on their way to a model or a spreadsheet; see `populace.base.foreign`."""

from collections.abc import Callable

import numpy as np
import polars as pl

from populace.base.control_tokens import POLARS_PATTERN
from populace.base.foreign import FORMULA, for_cell, for_prompt, unique_names

_FEW = 64
"""Up to so many texts, plain Python is quicker than a column."""


def csv_table(table: pl.DataFrame) -> pl.DataFrame:
    """A table as a CSV file may hold it: each text, and each name of a column, as `for_cell` gives it.

    Columns that are equal then get a number behind their name.

    Example:
        >>> csv_table(pl.DataFrame({"=a": ["=1", "-2"], "b": [-1, 2]})).rows()
        [("'=1", -1), ('-2', 2)]
    """
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
    suspect = rf"[^\x20-\x7e]|{FORMULA}"
    safe = table.with_columns(_map_where(table[name], suspect, for_cell) for name in texts)
    safe.columns = unique_names([for_cell(name) for name in table.columns])
    return safe


def prompt_column(texts: pl.Series) -> pl.Series:
    """`for_prompt` for every text of a column; a column without anything to replace is returned as it is."""
    if texts.len() > _FEW or texts.null_count():
        if texts.eq_missing(texts[0]).all():  # A profile that everybody shares is looked at once.
            same = prompt_column(texts.head(1)) if texts[0] is not None else texts
            return texts if same.item(0) == texts[0] else same.new_from_index(0, texts.len())
        return texts if _is_plain(texts) else _map_where(texts, _PROMPT_SUSPECTS, for_prompt)
    before = texts.to_list()
    whole = "\n".join(before)
    if whole.isascii() and not any(bracket in whole for bracket in "<[]") and for_prompt(whole) == whole:
        return texts
    after = [for_prompt(text) for text in before]
    return texts if after == before else pl.Series(texts.name, after, dtype=pl.String)


_PROMPT_SUSPECTS = rf"[\x00-\x08\x0b-\x1f\x7f-\x{{9f}}\x{{e0000}}-\x{{e00ff}}]|{POLARS_PATTERN}"
_LOT = 2000
"""Texts that are looked at together: few enough to stay in the cache of a processor."""
_TAB, _SPACE, _LAST = 0x09, 0x20, 0x7E


def _is_plain(texts: pl.Series) -> bool:
    """Whether a column is ASCII without control characters and without the brackets of tokens; this is far quicker
    than to look for tokens."""
    if texts.null_count() or texts.str.contains_any(["<", "[", "]"]).any():
        return False
    for first in range(0, texts.len(), _LOT):
        codes = np.frombuffer("".join(texts.slice(first, _LOT).to_list()).encode(), np.uint8)
        # Tabs and line feeds, the two that are allowed, become the largest numbers.
        turned = codes - np.uint8(_TAB + 2)
        if codes.size and (codes.max() > _LAST or codes.min() < _TAB or turned.min() < _SPACE - _TAB - 2):
            return False
    return True


def _map_where(texts: pl.Series, pattern: str, change: Callable[[str], str]) -> pl.Series:
    """The column with a change of the texts in which a pattern is found."""
    suspects = texts.str.contains(pattern).fill_null(False)
    if not suspects.any():
        return texts
    rows = suspects.arg_true()
    return texts.scatter(rows, [change(text) for text in texts.gather(rows)])
