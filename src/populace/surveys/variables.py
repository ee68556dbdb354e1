"""Variables: the columns that the items of a questionnaire fill."""

from dataclasses import dataclass

import polars as pl

STATE = "survey_state"
"""The column that says how far a respondent came: `open`, `complete` or `screened out`."""

PROFILE_TEXT = "profile_text"
"""The column that holds the listed profile of a respondent."""


@dataclass(frozen=True)
class Variable:
    """A column of survey data.

    Attributes:
        name: The name of the column.
        label: What it holds, in words; statistical packages show it beside the name.
        item: The id of the item that fills it.
        dtype: The type of its values.
        categories: The possible values in their order, where they are words; they are coded 1, 2, 3 … in SPSS and
            Stata files.
        part: The option or row that it is about, where an item fills several columns.

    Example:
        >>> Variable("trust", "Can most people be trusted?", "trust", pl.String(), ("yes", "no")).categories
        ('yes', 'no')
    """

    name: str
    label: str
    item: str
    dtype: pl.DataType
    categories: tuple[str, ...] = ()
    part: str = ""

    @property
    def title(self) -> str:
        """Its name in a table that is read: the item, with the option or row where there are several."""
        return f"{self.item}: {self.part}" if self.part else self.name

    def empty(self, count: int) -> pl.Series:
        """The column before anybody has answered."""
        return pl.Series(self.name, [None], self.dtype).new_from_index(0, count)
