"""The targets of a calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UnknownNameError, UsageError
from populace.base.randomness import stream
from populace.engine.scenario import Scenario
from populace.experiments.outcomes import Outcome

OUTCOME, VALUE, SCALE, HELD_OUT = "outcome", "value", "scale", "held_out"
CONDITION = "target condition"


@dataclass(frozen=True)
class Targets:
    """Validated targets: the value of each outcome under each condition, and which are held out.

    Attributes:
        table: One row for each target.
        conditions: The parameters of the scenario that make the conditions.
    """

    table: pl.DataFrame
    conditions: tuple[str, ...]

    @classmethod
    def read(
        cls,
        targets: pl.DataFrame | Sequence[Mapping[str, Any]] | Mapping[str, float],
        scenario: type[Scenario],
        knobs: Sequence[str],
        held_out: float | None,
        seed: int,
    ) -> Targets:
        """Targets from a table, rows, or a mapping from outcomes to values."""
        if isinstance(targets, Mapping):
            targets = [{OUTCOME: name, VALUE: value} for name, value in targets.items()]
        table = targets if isinstance(targets, pl.DataFrame) else pl.DataFrame(list(targets))
        if not table.height:
            raise UsageError("there are no targets.", "Give a table with the columns outcome and value.")
        known = scenario.parameter_model().model_fields
        for name in (OUTCOME, VALUE):
            if name not in table.columns:
                raise UsageError(f"the targets lack the column {name!r}.", "They need outcome and value.")
        conditions = tuple(name for name in table.columns if name not in (OUTCOME, VALUE, SCALE, HELD_OUT))
        for name in conditions:
            if name not in known:
                raise UnknownNameError(
                    "column of targets", name, [*known, OUTCOME, VALUE, SCALE, HELD_OUT], "Others are parameters."
                )
            if name in knobs:
                raise UsageError(f"{name} is both a knob and a condition of the targets.")
        for outcome in dict.fromkeys(table[OUTCOME]):
            Outcome.read(outcome).check(scenario)
        names = pl.Series(OUTCOME, [Outcome.read(outcome).name for outcome in table[OUTCOME]])
        table = table.with_columns(names, pl.col(VALUE).cast(pl.Float64))
        if table[VALUE].null_count() or not table[VALUE].is_finite().all():
            raise UsageError("a target has no value.")
        scale = pl.col(SCALE).cast(pl.Float64).fill_null(1.0) if SCALE in table.columns else pl.lit(1.0)
        table = table.with_columns(scale.alias(SCALE))
        if not (table[SCALE] > 0).all():
            raise UsageError("a scale of the targets is not above 0.")
        table = table.with_columns(_held_out_column(table, held_out, seed).alias(HELD_OUT))
        if table[HELD_OUT].all():
            raise UsageError("every target is held out, so there is nothing to fit to.")
        parts = [pl.format(f"{name}={{}}", name) for name in conditions]
        condition = pl.concat_str(parts, separator=", ") if parts else pl.lit("all")
        return cls(table.with_columns(condition.alias(CONDITION)), conditions)

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column of the table: the values, scales, or which targets are held out."""
        return self.table[name].to_numpy()

    def bundles(self) -> dict[str, dict[str, Any]]:
        """The conditions by name, each with its parameters."""
        rows = self.table.unique(CONDITION, maintain_order=True).iter_rows(named=True)
        return {row[CONDITION]: {name: row[name] for name in self.conditions} for row in rows}


def _held_out_column(table: pl.DataFrame, share: float | None, seed: int) -> pl.Series:
    if HELD_OUT in table.columns:
        return table[HELD_OUT].cast(pl.Boolean).fill_null(value=False)
    if share is None:
        return pl.Series([False] * table.height, dtype=pl.Boolean)
    if not 0 < share < 1:
        raise UsageError(f"the share of targets held out is {share:g}; it lies between 0 and 1.")
    if table.height < 2:
        raise UsageError("there is one target, so none can be held out.", "Give more targets, or leave held_out.")
    count = min(max(1, round(table.height * share)), table.height - 1)
    held_out = stream(seed, "calibration/held out").permutation(table.height)[:count]
    return pl.Series(np.isin(np.arange(table.height), held_out))
