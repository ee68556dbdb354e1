"""An arm: everything that makes its runs differ from those of another arm, as plain data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pydantic

from populace.base.randomness import path_key
from populace.engine.discovery import find_scenario
from populace.engine.scenario import Scenario

Level = bool | int | float | str | None
"""A level as it stands in tables: a plain value, or the name of one that is not plain."""

SETTINGS = ("model", "temperature", "decider", "interventions", "variation")
"""What a factor may change besides parameters of the scenario."""


class Arm(pydantic.BaseModel):
    """One combination of levels, ready to run.

    Attributes:
        number: Its place in the design.
        title: Its name where levels would make a long one, as for points drawn from ranges.
        levels: From factors to levels, as tables show them.
        scenario: How the scenario is found.
        parameters: All parameters of the scenario.
        model: Who decides.
        temperature: Applied to the distributions.
        decider: `model`, `rule` or `replay`.
        interventions: What is done from outside.
        variation: Another way to ask the same.
    """

    model_config = pydantic.ConfigDict(frozen=True)

    number: int
    title: str = ""
    levels: dict[str, Any]
    scenario: str
    parameters: dict[str, Any]
    model: str
    temperature: float = 1.0
    decider: str = "model"
    interventions: list[dict[str, Any]] = []
    variation: dict[str, Any] = pydantic.Field(default={}, exclude_if=lambda variation: not variation)

    @property
    def name(self) -> str:
        """Its title, or its levels in a line."""
        return (
            self.title or ", ".join(f"{factor}={level_text(level)}" for factor, level in self.levels.items()) or "all"
        )

    def build(self) -> Scenario:
        """The scenario with the parameters of this arm."""
        return find_scenario(self.scenario)(**self.parameters)

    def settings(self) -> dict[str, Any]:
        """What `simulate` takes besides the scenario and the seed."""
        return {name: getattr(self, name) for name in SETTINGS}

    def substance(self) -> str:
        """All that can matter to a run, as one text; equal arms have equal substance."""
        return json.dumps(self.model_dump(mode="json", exclude={"number", "title", "levels"}), sort_keys=True)


def level_text(level: Any) -> str:
    """A level in a name, with truth values as yes and no."""
    if isinstance(level, bool):
        return "yes" if level else "no"
    return str(level)


def seed_of(seed: int, replicate: int, levels: Mapping[str, Any] | None = None) -> int:
    """The seed of a replicate: the same in all arms, or one of its own for arms with these levels.

    It depends on the number of the replicate alone, so that a longer experiment begins with the runs of a shorter one.
    """
    path = f"replicate/{replicate}" if levels is None else f"replicate/{replicate}/{_digest(levels)}"
    return path_key(seed, path) >> 12


def _digest(levels: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(levels, sort_keys=True).encode(), digest_size=8).hexdigest()
