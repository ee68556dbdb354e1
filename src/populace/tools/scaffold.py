"""The scenario that `populace new` writes: small, complete, and ready to be changed."""

from __future__ import annotations

import string

_STARTER = string.Template('''\
"""$title: people decide every day whether to bring an umbrella.

Change the people, the question and what happens in a step; keep the shape.
Run it with:  populace run $file
"""

from populace import Choice, Field, People, Scenario, metric, draw_column


class $name(Scenario):
    """People decide whether to carry an umbrella, knowing the forecast and what others did yesterday."""

    residents: int = Field(12, ge=2, description="How many people there are.")
    days: int = Field(5, ge=1, description="How many days to simulate.")

    def setup(self) -> People:
        temper = draw_column(self.residents, {"cautious": 1, "carefree": 1}, seed=self.rng)
        return People.named(self.residents, seed=self.rng).with_columns(temper=temper, umbrella="no")

    def profile(self) -> str:
        return "You are {name}, a {temper} person."

    def length(self) -> int:
        return self.days

    async def step(self) -> None:
        rain = int(self.rng.integers(10, 91))
        self.people["umbrella"] = await self.ask(
            self.people,
            Choice("Do you take an umbrella today?", options=("yes", "no")),
            given="The forecast says {rain} % chance of rain. Yesterday {carried} of {residents} people carried one.",
            rain=rain,
            carried=self.people.count(umbrella="yes"),
            residents=self.residents,
        )
        self.event("forecast", rain=rain)

    @metric
    def share_carrying(self) -> float:
        return self.people.share(umbrella="yes")
''')


def scenario_file(stem: str) -> str:
    """The text of a new scenario file.

    Example:
        >>> "class MyTown(Scenario):" in scenario_file("my_town")
        True
    """
    words = stem.replace("-", "_").split("_")
    name = "".join(word[:1].upper() + word[1:] for word in words if word)
    return _STARTER.substitute(title=" ".join(words).capitalize(), file=f"{stem}.py", name=name)
