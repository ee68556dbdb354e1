"""Analyses: what is asked of all runs of an experiment together, declared before anything runs.

An outcome belongs to one run, an analysis to all. Write it as `path_dependence(share_blue, initial_share)` (how far
the end of a run depends on its start) or `fluctuation(share_blue, workers)` (how the spread between seeds falls with
the number of agents).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Any, Literal, get_args

import polars as pl
import pydantic

from populace.base.errors import UnknownNameError, UsageError
from populace.statistics import Estimate, fluctuation, p_text, path_dependence

AnalysisKind = Literal["path_dependence", "fluctuation"]

_PATTERN = re.compile(r"^(?P<kind>\w+)\((?P<outcome>.+),\s*(?P<factor>[^,()]+)\)$")


class Analysis(pydantic.BaseModel):
    """One analysis of all runs of an experiment.

    Attributes:
        kind: `path_dependence` or `fluctuation`.
        outcome: The outcome, by its name.
        factor: The factor that sets the start, or the number of agents.

    Example:
        >>> Analysis.read("path_dependence(mean(share_blue), initial_share)").outcome
        'mean(share_blue)'
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    kind: AnalysisKind
    outcome: str
    factor: str

    @classmethod
    def read(cls, text: str) -> Analysis:
        """An analysis from its one-line form."""
        match = _PATTERN.match(text.strip())
        if match is None:
            raise UsageError(
                f"the analysis {text!r} cannot be read.",
                "Write path_dependence(OUTCOME, FACTOR) or fluctuation(OUTCOME, FACTOR).",
            )
        if match["kind"] not in get_args(AnalysisKind):
            raise UnknownNameError("analysis", match["kind"], get_args(AnalysisKind))
        return cls.model_validate({name: text.strip() for name, text in match.groupdict().items()})

    @property
    def name(self) -> str:
        """Its one-line form."""
        return f"{self.kind}({self.outcome}, {self.factor})"

    def check(self, outcomes: Collection[str], factors: Collection[str]) -> None:
        """Raise an error if the experiment has no such outcome or factor."""
        if self.outcome not in outcomes:
            raise UnknownNameError("outcome", self.outcome, outcomes, "An analysis names an outcome of the experiment.")
        if self.factor not in factors:
            raise UnknownNameError("factor", self.factor, factors, "An analysis names a factor of the experiment.")

    def of(
        self, runs: pl.DataFrame, factors: Collection[str], *, seed: int, paired: bool = False, level: float = 0.95
    ) -> pl.DataFrame:
        """One row for each combination of the other factors: the estimate with its interval, p and n.

        Args:
            runs: The table of runs of the experiment.
            factors: The factors of the experiment.
            seed: Fixes the draws of the bootstrap.
            paired: Whether runs of one replicate share their seed; they are then drawn and exchanged together.
            level: The confidence level.

        A combination that does not allow the analysis has a row that says why, under `note`. Otherwise `note` says
        where the interval may be worse than it claims.
        """
        others = [name for name in factors if name != self.factor]
        complete = runs.filter(pl.col("status") == "complete")
        parts = complete.partition_by(others, as_dict=True, maintain_order=True) if others else {(): complete}
        rows = []
        for levels, part in parts.items():
            rows.append(
                dict(zip(others, levels, strict=True)) | self._row(part, seed, "replicate" if paired else None, level)
            )
        return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=_COLUMNS)

    def _row(self, runs: pl.DataFrame, seed: int, cluster: str | None, level: float) -> dict[str, Any]:
        try:
            if self.kind == "path_dependence":
                dependence = path_dependence(runs, self.factor, self.outcome, seed=seed, cluster=cluster, level=level)
                return _cells(dependence.strength, dependence.p, dependence.measure)
            spread = fluctuation(runs, self.outcome, self.factor, seed=seed, cluster=cluster, level=level)
            return _cells(spread.exponent, None, "exponent")
        except UsageError as error:
            return {"value": None, "low": None, "high": None, "p": None, "n": runs.height, "note": error.what}

    def sentence(self, row: dict[str, Any]) -> str:
        """A row of the table in words."""
        if row["value"] is None:
            return f"{self.outcome} by {self.factor}: {row['note']}"
        ends = "(no interval)" if row["low"] is None else f"[{row['low']:.3g}, {row['high']:.3g}]"
        interval = f"{row['value']:.3g} {ends}, n = {row['n']}"
        caution = f" Caution: {row['note']}." if row["note"] else ""
        if self.kind == "fluctuation":
            return (
                f"The spread of {self.outcome} between seeds changes with the number of agents ({self.factor}) to the "
                f"power {interval}; people who act independently give −0.5.{caution}"
            )
        if row["p"] > _CHANCE:
            verdict = f"No dependence of {self.outcome} on {self.factor} that can be told from chance"
        else:
            verdict = f"{self.outcome} depends on {self.factor} {_strength(row['value'])}"
        return f"{verdict}: {row['measure']} {interval}, p {p_text(row['p'], equals='= ')}.{caution}"


_COLUMNS: Any = dict.fromkeys(("value", "low", "high", "p"), pl.Float64) | dict.fromkeys(("measure", "note"), pl.String)
_CHANCE = 0.05


def _cells(estimate: Estimate, p: float | None, measure: str) -> dict[str, Any]:
    values = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    figures = {name: None if math.isnan(value) else value for name, value in values.items()}
    return figures | {"p": p, "n": estimate.n, "measure": measure, "note": estimate.warning or None}


def _strength(value: float) -> str:
    """The size of a dependence from 0 to 1 in words."""
    return next(word for least, word in ((0.5, "strongly"), (0.14, "clearly"), (-1.0, "weakly")) if value >= least)
