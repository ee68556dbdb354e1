"""A scenario whose metric is whatever a test wants of it."""

from __future__ import annotations

import math

from populace import Field, People, Scenario, metric

VALUES: dict[str, object] = {
    "zero": 0.0,
    "one": 1.0,
    "five": 5.0,
    "nan": math.nan,
    "infinite": math.inf,
    "nothing": None,
    "text": "yes",
    "true": True,
}


class Odd(Scenario):
    """Ends at once, with an outcome of the given kind."""

    kind: str = Field("any")
    size: int = Field(2, ge=0)

    def setup(self) -> People:
        self.chance = float(self.rng.random())
        return People.named(self.size, seed=self.rng)

    def length(self) -> int:
        return 1

    async def step(self) -> None:
        pass

    @metric
    def value(self) -> object:
        mixtures = {
            "any": self.chance,
            "huge": 1e308 * self.chance,
            "tiny": 1e-300 * self.chance,
            "sometimes nan": math.nan if self.chance < 0.5 else self.chance,
            "sometimes text": "x" if self.chance < 0.5 else self.chance,
            "rare": 0.02 * self.chance,
        }
        return {**VALUES, **mixtures}[self.kind]
