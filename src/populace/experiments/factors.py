"""Factors of an experiment and their levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pydantic

from populace.base.errors import InterventionError, UnknownNameError, UsageError
from populace.engine.scenario import Scenario
from populace.experiments.arms import SETTINGS, Level
from populace.journal import DECIDERS, Intervention, read_interventions
from populace.models import open_model
from populace.prompting.variation import Variation


class Factor(pydantic.BaseModel):
    """A parameter or setting that is varied.

    Attributes:
        name: A parameter, a setting, or a name for several changes made together.
        names: Its levels as tables show them.
        values: Its levels as runs use them.
        low: The lower end of a range; None for levels.
        high: The upper end of a range; None for levels.

    Example:
        >>> Factor.read("workers", [10, 20]).count
        2
        >>> Factor.read("initial_share", {"low": 0.2, "high": 0.8}).level(0.5)
        (0.5, 0.5)
    """

    model_config = pydantic.ConfigDict(frozen=True)

    name: str
    names: list[Level] = []
    values: list[Any] = []
    low: float | None = None
    high: float | None = None

    @classmethod
    def read(cls, name: str, levels: Any) -> Factor:
        """A factor from a list of levels, a mapping from names to levels, or a range `{low, high}`."""
        if isinstance(levels, Factor):
            return levels
        if isinstance(levels, Mapping):
            if set(levels) == {"low", "high"} and all(_number(end) for end in levels.values()):
                return cls._range(name, float(levels["low"]), float(levels["high"]))
            names: list[Level] = [str(each) for each in levels]
            values = list(levels.values())
        elif isinstance(levels, Sequence) and not isinstance(levels, str):
            names, values = [_level_name(each) for each in levels], list(levels)
        else:
            raise UsageError(f"the levels of {name} are {levels!r}.", "Write a list, named levels, or {low, high}.")
        if name == "interventions":
            values = [plain_interventions(each) for each in values]
        if len(values) < 2:
            raise UsageError(
                f"the factor {name} has {'one level' if values else 'no level'}, so nothing varies.",
                "Give it two or more, or make it a fixed parameter.",
            )
        twice = next((each for each in names if names.count(each) > 1), None)
        if twice is not None:
            raise UsageError(f"the factor {name} has the level {twice!r} twice.")
        if len({type(each) for each in names}) > 1 and not all(_number(each) for each in names):
            names = [str(each) for each in names]
        return cls(name=name, names=names, values=values)

    @classmethod
    def _range(cls, name: str, low: float, high: float) -> Factor:
        if not low < high:
            raise UsageError(f"the factor {name} goes from {low:g} to {high:g}, so there is nothing between them.")
        return cls(name=name, low=low, high=high)

    @property
    def count(self) -> int | None:
        """The number of levels; None for a range."""
        return None if self.low is not None else len(self.values)

    def level(self, place: float) -> tuple[Level, Any]:
        """The level at an index, for tables and for runs; in a range `place` goes from 0 (low) to 1 (high)."""
        if self.low is not None and self.high is not None:
            value = self.low + (self.high - self.low) * place
            return value, value
        return self.names[int(place)], self.values[int(place)]

    def data(self) -> Any:
        """The factor as plain data, as `read` takes it."""
        if self.low is not None:
            return {"low": self.low, "high": self.high}
        if all(_level_name(value) == name for name, value in zip(self.names, self.values, strict=True)):
            return self.values
        return {str(name): value for name, value in zip(self.names, self.values, strict=True)}

    def check(self, scenario: type[Scenario]) -> None:
        """Raise an error if it is neither a parameter nor a setting, or has an invalid level."""
        known = scenario.parameter_model().model_fields
        bundles = [dict(value) for value in self.values if isinstance(value, Mapping)]
        if self.name in known:
            return
        kind, names = f"parameter of {scenario.title()}, or setting,", [*known, *SETTINGS]
        if self.name in SETTINGS:
            bundles = [{self.name: value} for value in self.values]
        elif not bundles or len(bundles) < len(self.values):
            hint = "A factor of another name has levels that are named and each map parameters to values."
            raise UnknownNameError(kind, self.name, names, hint)
        for name, value in (change for bundle in bundles for change in bundle.items()):
            if name not in names:
                raise UnknownNameError(kind, name, names)
            _check_setting(name, value)


def arm_settings(
    base: Mapping[str, Any], factors: Sequence[Factor], point: Sequence[float], scenario: type[Scenario]
) -> tuple[dict[str, Any], dict[str, Level]]:
    """The settings of an arm and its levels as tables show them."""
    known = scenario.parameter_model().model_fields
    settings = {**base, "parameters": dict(base["parameters"])}
    levels: dict[str, Level] = {}
    for factor, place in zip(factors, point, strict=True):
        level, value = factor.level(place)
        if factor.low is not None and factor.name in known and known[factor.name].annotation is int:
            level = value = round(value)
        levels[factor.name] = level
        bundle = {factor.name: value} if factor.name in known or factor.name in SETTINGS else dict(value)
        for name, each in bundle.items():
            if name in known:
                settings["parameters"][name] = each
            elif name == "interventions":
                settings[name] = [*settings[name], *plain_interventions(each)]
            elif name == "variation":
                settings[name] = {**settings[name], **Variation.read(each).data()}
            else:
                settings[name] = each
    return settings, levels


def _check_setting(name: str, value: Any) -> None:
    if name == "model":
        open_model(str(value))
    if name == "variation":
        Variation.read(value)
    if name == "decider" and value not in DECIDERS:
        raise UnknownNameError("decider", str(value), DECIDERS)
    if name == "temperature" and not (_number(value) and value >= 0):
        raise UsageError(f"the temperature {value!r} is not a number of at least 0.")


def plain_interventions(interventions: Any) -> list[dict[str, Any]]:
    """Interventions as validated plain data; an empty list for None."""
    if interventions is None:
        return []
    items = interventions if isinstance(interventions, list | tuple) else [interventions]
    wrong = next((each for each in items if not isinstance(each, Mapping | Intervention)), None)
    if wrong is not None:
        raise InterventionError(
            f"{wrong!r} is not an intervention.",
            'Write it as data, such as {kind: announce, at: 2, text: "News."}.',
        )
    plain = [each if isinstance(each, Mapping) else each.model_dump(mode="json") for each in items]
    return [each.model_dump(mode="json") for each in read_interventions(plain)]


def _level_name(value: Any) -> Level:
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
