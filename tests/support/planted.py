"""A scenario and scripted models whose answers depend on structure, model, wording and order by known amounts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from populace import Choice, Field, People, Scenario, metric
from populace.models import Request

STRUCTURE, MODEL, WORDING, ORDER = 0.15, 0.1, 0.08, 0.06
"""How far each moves the probability of left, up or down, from 0.5."""

SIDES = Choice("Which side do you take?", options=("left", "right"))


class Sides(Scenario):
    """People take a side, knowing how strong the wind is."""

    people_count: int = Field(60, ge=1)
    wind: float = Field(0.0, ge=-1, le=1)
    told: bool = Field(True)

    def setup(self) -> People:
        return People.named(self.people_count, seed=self.rng).with_columns(side="left")

    def length(self) -> int:
        return 1

    async def step(self) -> None:
        told = "The wind is {wind}." if self.told else ""
        self.people["side"] = await self.ask(self.people, SIDES, given=told, rule=self.blown, wind=self.wind)

    def blown(self, people: People) -> np.ndarray:
        left = np.full(len(people), 0.5 + 0.3 * self.wind)
        return np.column_stack([left, 1 - left])

    @metric
    def share_left(self) -> float:
        return self.people.share(side="left")


class Ruleless(Sides):
    """The same, without a rule twin."""

    async def step(self) -> None:
        self.people["side"] = await self.ask(self.people, SIDES, given="The wind is {wind}.", wind=self.wind)


def probability(wind: float, model: float, polite: bool, reversed_: bool, slope: float = STRUCTURE) -> float:
    """The probability of left: a sum of what was planted."""
    return 0.5 + slope * wind + model + (WORDING if polite else -WORDING) + (ORDER if reversed_ else -ORDER)


def _minded(model: float, slope: float = STRUCTURE) -> Callable[[Request], Mapping[str, float]]:
    def script(request: Request) -> Mapping[str, float]:
        asked = request.messages[-1][1]
        found = re.search(r"wind is (-?[\d.]+)", asked)
        wind = float(found.group(1).rstrip(".")) if found else 0.0
        left = probability(wind, model, "Please answer" in asked, request.options[0] == "right", slope)
        return {"left": left, "right": 1 - left}

    return script


low, high = _minded(-MODEL), _minded(MODEL)
alike = _minded(-MODEL + 0.001)
contrary = _minded(0.0, -STRUCTURE)


def tempered(request: Request) -> Mapping[str, float]:
    """Left with a probability of 0.8 at temperature 1, whatever is asked."""
    return {"left": 0.8, "right": 0.2}


def fickle(request: Request) -> Mapping[str, float]:
    """Goes with the wind, but only while it is asked without politeness."""
    asked = request.messages[-1][1]
    left = 0.8 if "wind is 1" in asked and "Please" not in asked else 0.3
    return {"left": left, "right": 1 - left}
