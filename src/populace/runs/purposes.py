"""What questions were asked for, and how many answers to them were invalid."""

import polars as pl

from populace.questions import VALID
from populace.runs.reader import RunReader


def invalid_by_purpose(run: RunReader) -> pl.DataFrame:
    """The purposes with invalid answers: `purpose`, `invalid` and `answers`, most invalid ones first.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=3, days=1), decider="rule", keep="nothing")
        >>> invalid_by_purpose(run).height
        0
    """
    empty = pl.DataFrame(schema={"purpose": pl.String, "invalid": pl.Int64, "answers": pl.Int64})
    if not any(count for status, count in run.statuses.items() if status not in VALID):
        return empty
    invalid = run.rows("answers", ~pl.col("status").cast(pl.String).is_in(list(VALID)))
    asks = run.rows("asks")
    if not invalid.height:
        return empty
    counts = invalid.join(asks.select("step", "ask", "purpose"), on=["step", "ask"], how="left")
    totals = asks.group_by("purpose").agg(answers=pl.col("people").sum().cast(pl.Int64))
    table = counts.group_by("purpose").agg(invalid=pl.len().cast(pl.Int64)).join(totals, on="purpose", how="left")
    return table.select(empty.columns).sort("invalid", "purpose", descending=[True, False])


def invalid_text(run: RunReader) -> str:
    """Which answers were invalid, by purpose, in words; empty where none was."""
    rows = invalid_by_purpose(run).iter_rows()
    return ", ".join(f"{purpose or 'no purpose'} {invalid:,} of {answers:,}" for purpose, invalid, answers in rows)
