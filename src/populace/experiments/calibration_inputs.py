"""What a calibration adjusts and what it aims at: knobs and targets."""

from __future__ import annotations

import math
import re
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

TEMPERATURE, RULE_SHARE = "temperature", "rule_share"
_SHARE = re.compile(r"share\((?P<column>\w+)=(?P<value>.+)\)")
OUTCOME, VALUE, SCALE, HELD_OUT = "outcome", "value", "scale", "held_out"
CONDITION = "target condition"


@dataclass(frozen=True)
class Knob:
    """A quantity to adjust within bounds.

    Attributes:
        name: A numeric parameter of the scenario; `temperature`; `rule_share`, the share of people for whom the rule
            decides in place of the model; or `share(column=value)`, the share of people whose column is set to a value.
            Shares are of people drawn by the seed, and hold from the first step on; what `setup` asks comes before.
        low: The lower bound.
        high: The upper bound.
        whole: Whether it takes whole numbers only.

    Example:
        >>> Knob("share(trait=a non-conformist)", 0.0, 0.5).change(0.25)["interventions"][0]["to"]
        {'share': 0.25}
    """

    name: str
    low: float
    high: float
    whole: bool = False

    @classmethod
    def read(cls, name: str, bounds: Any, scenario: type[Scenario], parameters: Mapping[str, Any]) -> Knob:
        """A knob, checked against the scenario."""
        known = scenario.parameter_model().model_fields
        if name not in known and name not in (TEMPERATURE, RULE_SHARE) and not _SHARE.fullmatch(name):
            raise UnknownNameError(
                "knob", name, [*known, TEMPERATURE, RULE_SHARE], "Shares of personas are written share(column=value)."
            )
        try:
            low, high = (float(end) for end in bounds)
        except (TypeError, ValueError):
            raise UsageError(f"the bounds of {name} are {bounds!r}.", "Give a lower and an upper number.") from None
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise UsageError(f"the bounds of {name} are {low:g} and {high:g}.", "Give a lower and a higher number.")
        if name in known:
            if known[name].annotation not in (int, float):
                raise UsageError(
                    f"{name} is not a number, so it cannot be fitted.", "Fit it once for each of its values."
                )
            whole = known[name].annotation is int
            for end in (low, high):
                scenario(**{**parameters, name: round(end) if whole else end})
            return cls(name, low, high, whole)
        if low < 0 or (name != TEMPERATURE and high > 1):
            what = "0 or above" if name == TEMPERATURE else "between 0 and 1"
            raise UsageError(f"{name} is {what}, and its bounds are {low:g} and {high:g}.")
        return cls(name, low, high)

    def at(self, place: float) -> float:
        """The value at a place from 0 (low) to 1 (high)."""
        value = self.low + (self.high - self.low) * place
        return float(round(value)) if self.whole else round(value, 6)

    def change(self, value: float) -> dict[str, Any]:
        """The value as settings of a run."""
        share = _SHARE.fullmatch("share(decider=rule)" if self.name == RULE_SHARE else self.name)
        if not share:
            return {self.name: int(value) if self.whole else value}
        change = {"kind": "set", "at": 1, "values": {share["column"]: share["value"]}, "to": {"share": value}}
        return {"interventions": [change] if value > 0 else []}

    @staticmethod
    def settings(knobs: tuple[Knob, ...], values: Mapping[str, float]) -> dict[str, Any]:
        """The values of several knobs as settings of a run."""
        settings: dict[str, Any] = {}
        for knob in knobs:
            for name, value in knob.change(values[knob.name]).items():
                settings[name] = [*settings.get(name, []), *value] if name == "interventions" else value
        return settings


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
