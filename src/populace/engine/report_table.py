"""A table in the report of a scenario."""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class ReportTable:
    """A table that a scenario shows at the end of a run, with a sentence about how to read it.

    Example:
        >>> ReportTable("Days in blue", pl.DataFrame({"person": [0], "days": [3]}), "Out of seven days.").title
        'Days in blue'
    """

    title: str
    table: pl.DataFrame
    note: str = ""
