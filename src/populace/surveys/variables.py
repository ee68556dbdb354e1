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

    Example:
        >>> Variable("trust", "Can most people be trusted?", "trust", pl.String(), ("yes", "no")).categories
        ('yes', 'no')
    """

    name: str
    label: str
    item: str
    dtype: pl.DataType
    categories: tuple[str, ...] = ()

    def empty(self, count: int) -> pl.Series:
        """The column before anybody has answered."""
        return pl.Series(self.name, [None], self.dtype).new_from_index(0, count)
