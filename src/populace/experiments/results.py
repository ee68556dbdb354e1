"""What an experiment found, read from its folder."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Self

import polars as pl

from populace.experiments.arms import Arm
from populace.experiments.experiment import Experiment
from populace.experiments.folder import Folder, find
from populace.workspace import Workspace


class Results:
    """The runs of an experiment, and what follows from them.

    Args:
        folder: The experiment's folder.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    @classmethod
    def open(cls, name: str | Path, workspace: str | Path | None = None) -> Self:
        """Results by the name of the experiment, the beginning of its name, or its path."""
        return cls(find(name, Workspace(workspace)))

    @property
    def name(self) -> str:
        """The name of the experiment's folder."""
        return self.folder.path.name

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment."""
        return self.folder.experiment

    @cached_property
    def _arms(self) -> list[Arm]:
        return self.folder.arms

    @cached_property
    def runs(self) -> pl.DataFrame:
        """Every run, by arm and replicate: levels, seed, status, outcomes, answers by status, calls, tokens, cost."""
        rows = [row for _, row in sorted(self.folder.rows().items())]
        return _table(rows, self._arms, self.experiment)

    @property
    def failures(self) -> pl.DataFrame:
        """The runs that failed, with why."""
        return self.runs.filter(pl.col("status") == "failed").select("arm", "replicate", "seed", "failure")

    @property
    def failure_rate(self) -> float:
        """The share of runs that failed."""
        return float((self.runs["status"] == "failed").mean() or 0.0) if self.runs.height else 0.0


def _table(rows: list[dict[str, Any]], arms: list[Arm], experiment: Experiment) -> pl.DataFrame:
    """Rows of the record as a table with a column for each level, outcome and status."""
    statuses = sorted({status for row in rows for status in row.get("answers", {})})
    names = [outcome.name for outcome in experiment.outcomes]
    columns: list[pl.Series] = [pl.Series("arm", [arms[row["arm"]].name for row in rows], dtype=pl.String)]
    for factor in experiment.factors:
        columns.append(pl.Series(factor, [arms[row["arm"]].levels[factor] for row in rows], strict=False))
    columns += [
        pl.Series("replicate", [row["replicate"] for row in rows], dtype=pl.Int64),
        pl.Series("seed", [row["seed"] for row in rows], dtype=pl.Int64),
        pl.Series("status", [row["status"] for row in rows], dtype=pl.String),
        pl.Series("failure", [row["failure"] or None for row in rows], dtype=pl.String),
    ]
    for name in names:
        values = [row.get("outcomes", {}).get(name) for row in rows]
        text = any(isinstance(value, str) for value in values)
        columns.append(pl.Series(name, values, dtype=pl.String if text else pl.Float64))
    for status in statuses:
        counts = [row.get("answers", {}).get(status, 0) for row in rows]
        columns.append(pl.Series(f"answers_{status}", counts, dtype=pl.Int64))
    for name in ("steps", "decisions", "calls", "reused", "tokens"):
        columns.append(pl.Series(name, [row.get(name) for row in rows], dtype=pl.Int64))
    columns.append(pl.Series("cost", [row.get("cost") for row in rows], dtype=pl.Float64))
    columns.append(pl.Series("run", [row.get("run") or None for row in rows], dtype=pl.String))
    return pl.DataFrame(columns)
