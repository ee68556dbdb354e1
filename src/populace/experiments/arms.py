"""An arm of an experiment: one combination of levels, as plain data."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pydantic

from populace.base.randomness import path_key
from populace.engine.discovery import find_scenario
from populace.engine.scenario import Scenario
from populace.journal import RunSettings
from populace.models.labels import model_label

Level = bool | int | float | str | None
"""A level as it stands in tables: a plain value, or the name of one that is not plain."""

SETTINGS = (*(name for name in RunSettings.model_fields if name != "seed"), "interventions")
"""What a factor may change besides parameters of the scenario; the seed belongs to the replicate."""


_SHORT = 40
"""Names up to this length are readable beside a chart."""


class Arm(RunSettings):
    """One combination of levels, ready to run.

    Attributes:
        number: Its place in the design.
        title: Its name, if the levels would make a long one, as for points sampled from ranges.
        levels: The level of each factor, as tables show it.
        scenario: The name, file or class path of the scenario.
        parameters: All parameters of the scenario.
        interventions: Interventions in its runs.
        seed: Not used: every replicate has a seed of its own.
    """

    model_config = pydantic.ConfigDict(frozen=True)

    number: int
    title: str = ""
    levels: dict[str, Any]
    scenario: str
    parameters: dict[str, Any]
    interventions: list[dict[str, Any]] = pydantic.Field(default=[])
    seed: int = pydantic.Field(default=0, exclude=True)

    @property
    def name(self) -> str:
        """Its title, or else its levels in one line."""
        return (
            self.title or ", ".join(f"{factor}={level_text(level)}" for factor, level in self.levels.items()) or "all"
        )

    def build(self) -> Scenario:
        """The scenario with the parameters of this arm."""
        return find_scenario(self.scenario)(**self.parameters)

    def settings(self) -> dict[str, Any]:
        """The arguments of `simulate` besides the scenario and the seed."""
        return {name: getattr(self, name) for name in SETTINGS}

    def substance(self) -> str:
        """Everything that affects a run, as JSON; two arms with equal substance give equal runs."""
        return json.dumps(self.model_dump(mode="json", exclude={"number", "title", "levels"}), sort_keys=True)


def level_text(level: Any) -> str:
    """A level as text; truth values are yes and no."""
    if isinstance(level, bool):
        return "yes" if level else "no"
    return str(level)


def arm_labels(arms: Sequence[Arm]) -> dict[str, str]:
    """A short label for each arm, by its name, for a chart: the levels that differ between arms, without the factors.

    Names that are short stay as they are.
    """
    names = [arm.name for arm in arms]
    if max(map(len, names), default=0) <= _SHORT or any(arm.title for arm in arms):
        return dict(zip(names, names, strict=True))
    differing = [factor for factor in arms[0].levels if len({level_text(arm.levels.get(factor)) for arm in arms}) > 1]
    labels = [" · ".join(model_label(level_text(arm.levels.get(factor))) for factor in differing) for arm in arms]
    return dict(zip(names, labels if len(set(labels)) == len(names) else names, strict=True))


def seed_of(seed: int, replicate: int, levels: Mapping[str, Any] | None = None) -> int:
    """The seed of a replicate: the same in all arms, or, with `levels`, one for the arms that have these levels.

    It depends only on the number of the replicate, so that a longer experiment repeats the runs of a shorter one.
    """
    path = f"replicate/{replicate}" if levels is None else f"replicate/{replicate}/{_digest(levels)}"
    return path_key(seed, path) >> 12


def _digest(levels: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(levels, sort_keys=True).encode(), digest_size=8).hexdigest()
