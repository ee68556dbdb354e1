"""Training examples in columns: what is said to the model, what is to be learned, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from populace.base.errors import TrainingError

SCHEMA: Mapping[str, pl.DataType] = {
    "system": pl.String(),
    "user": pl.String(),
    "lead": pl.String(),
    "answers": pl.List(pl.String),
    "shares": pl.List(pl.Float64),
    "weight": pl.Float64(),
    "person": pl.String(),
    "task": pl.String(),
    "origin": pl.String(),
    "licence": pl.String(),
}
"""The columns of training examples."""


@dataclass(frozen=True)
class TrainingExamples:
    """Training examples, a row for each.

    The columns are `system` and `user` (the messages), `lead` (how the reply begins), `answers` and `shares` (the
    possible replies after the lead and the share that each should have; a single 1 for one reply), `weight`, `person`,
    `task`, `origin` (where the example comes from) and `licence`.

    Attributes:
        table: The examples.

    Example:
        >>> examples = TrainingExamples.of(
        ...     [{"user": "Tea or coffee?", "lead": "Answer:", "answers": [" tea", " coffee"], "shares": [0.75, 0.25]}]
        ... )
        >>> len(examples), examples.table["weight"].to_list()
        (1, [1.0])
    """

    table: pl.DataFrame

    def __post_init__(self) -> None:
        missing = [name for name in SCHEMA if name not in self.table.columns]
        if missing:
            raise TrainingError(f"training examples need the column {missing[0]!r}.", f"All: {', '.join(SCHEMA)}.")
        shares = self.table["shares"]
        numbers = shares.list.len() == self.table["answers"].list.len()
        totals = shares.list.sum()
        good = (numbers & totals.is_between(1 - 1e-6, 1 + 1e-6) & (shares.list.min() >= 0)).fill_null(value=False)
        if not good.all():
            row = self.table.row(int((~good).arg_max() or 0), named=True)
            raise TrainingError(
                f"task {row['task']!r}, person {row['person']!r}: the shares {row['shares']} do not belong to the "
                f"answers {row['answers']}.",
                "Each answer needs a share, none below 0, that add up to 1.",
            )
        if not (self.table["weight"].is_finite() & (self.table["weight"] > 0)).fill_null(value=False).all():
            raise TrainingError("a training example has a weight that is not above 0.", "Leave it out.")

    def __len__(self) -> int:
        return self.table.height

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, object]]) -> TrainingExamples:
        """Examples from rows; what is left out is empty, and the weight is 1."""
        blank = {"system": "", "lead": "", "weight": 1.0, "person": "", "task": "", "origin": "", "licence": ""}
        return cls(pl.DataFrame([blank | dict(row) for row in rows], schema=dict(SCHEMA)))

    @classmethod
    def concat(cls, parts: Iterable[TrainingExamples]) -> TrainingExamples:
        """The examples of several parts, one after the other."""
        tables = [part.table.select(*SCHEMA) for part in parts]
        return cls(pl.concat(tables) if tables else pl.DataFrame(schema=dict(SCHEMA)))

    def write(self, path: str) -> None:
        """Write the examples to a Parquet file."""
        self.table.write_parquet(path)
