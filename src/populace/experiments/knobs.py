"""Knobs of a calibration: parameters, temperature, the share of people who follow the rule, shares of personas."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from populace.base.errors import UnknownNameError, UsageError
from populace.engine.scenario import Scenario

TEMPERATURE, RULE_SHARE = "temperature", "rule_share"
_SHARE = re.compile(r"share\((?P<column>\w+)=(?P<value>.+)\)")


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


def knob_settings(knobs: tuple[Knob, ...], values: Mapping[str, float]) -> dict[str, Any]:
    """The values of several knobs as settings of a run."""
    settings: dict[str, Any] = {}
    for knob in knobs:
        for name, value in knob.change(values[knob.name]).items():
            settings[name] = [*settings.get(name, []), *value] if name == "interventions" else value
    return settings
