"""Norm diffusion in an office, after Ghaffarzadegan and others, arXiv 2309.11456.

Nobody follows a rule: every morning each worker is told what was worn yesterday and chooses.
"""

from typing import ClassVar, Literal

import numpy as np
import polars as pl

from populace.engine.scenario import Field, Scenario, metric
from populace.people import People, draw_column
from populace.questions import Choice

CONFORMITY = {
    "an extremely conformist": 2,
    "a highly conformist": 4,
    "a conformist": 8,
    "a low conformist": 4,
    "a non-conformist": 2,
}
"""Graded traits and their weights among twenty people."""

THRESHOLDS = {
    "an extremely conformist": 0.5,
    "a highly conformist": 0.6,
    "a conformist": 0.7,
    "a low conformist": 0.85,
    "a non-conformist": 1.1,
}
"""The rule twin: the share of others in the other colour from which a person changes; above 1 means never."""

BIG_FIVE = {
    "openness": ("curious and fond of new things", "fond of what is familiar"),
    "conscientiousness": ("orderly and careful", "easygoing about order"),
    "extraversion": ("outgoing and talkative", "quiet and reserved"),
    "agreeableness": ("warm and accommodating", "blunt and competitive"),
    "neuroticism": ("easily worried", "calm under pressure"),
}

SHIRTS = pl.Series(["blue", "green"], dtype=pl.Enum(["blue", "green"]))

OFFICE = (
    "You work in an office with {others} other people. You want to succeed and to earn money. Every morning you choose "
    "between a {first} and a {second} shirt. The weather suits both, and you like to be comfortable."
)
OWN = " Yesterday you wore {worn}."
COUNTS = " Yesterday {firsts} of the {workers} people in the office wore {first} and {seconds} wore {second}."


class Norms(Scenario):
    """Office workers choose a blue or a green shirt each morning, knowing what was worn yesterday."""

    workers: int = Field(20, ge=2, description="How many people work in the office.")
    days: int = Field(7, ge=1, description="The number of mornings after the first day.")
    initial_share: float = Field(0.5, ge=0, le=1, description="The share in blue on the first day.")
    exact_start: bool = Field(False, description="Make the initial share exact rather than a chance for each person.")
    personas: Literal["graded", "none", "extended"] = Field(
        "graded", description="Conformity traits, no traits, or traits with Big Five."
    )
    names: bool = Field(True, description="Whether people are addressed by name.")
    own: bool = Field(True, description="Whether people are told what they wore yesterday.")
    counts: bool = Field(True, description="Whether people are told how many wore what yesterday.")
    others_first: bool = Field(False, description="Tell what others wore before what one wore oneself.")
    swap: bool = Field(False, description="Exchange the words blue and green everywhere in the prompt.")
    order: Literal["fixed", "random", "rotate"] = Field("fixed", description="The order of the two options.")
    reason: bool = Field(False, description="Let people think aloud before they answer.")
    threshold: float = Field(0.5, ge=0, le=1.5, description="The rule twin's threshold where there are no traits.")

    chart: ClassVar[tuple[str, ...]] = ("share_blue",)

    def setup(self) -> People:
        """Everybody gets a name, traits and a first shirt."""
        people = People.named(self.workers, seed=self.rng)
        people = people.with_columns(trait=draw_column(self.workers, CONFORMITY, seed=self.rng))
        for factor, (high, low) in BIG_FIVE.items():
            people = people.with_columns(**{factor: draw_column(self.workers, {high: 1, low: 1}, seed=self.rng)})
        blue = self.rng.random(self.workers) < self.initial_share
        if self.exact_start:
            blue = self.rng.permutation(np.arange(self.workers) < round(self.workers * self.initial_share))
        self.history: list[float] = [float(blue.mean())]
        return people.with_columns(shirt=SHIRTS[pl.Series(np.where(blue, 0, 1).astype(np.uint32))])

    def profile(self) -> str:
        """Who one is."""
        who = "You are {name}, {trait} person." if self.names else "You are {trait} person."
        if self.personas == "none":
            return "You are {name}." if self.names else ""
        if self.personas == "graded":
            return who
        return who + " You are " + ", ".join(f"{{{factor}}}" for factor in BIG_FIVE) + "."

    async def step(self) -> None:
        """One morning."""
        first, second = ("green", "blue") if self.swap else ("blue", "green")
        blue = self.people.count(shirt="blue")
        parts = [OWN if self.own else "", COUNTS if self.counts else ""]
        self.people["shirt"] = await self.ask(
            self.people,
            Choice(
                "Which shirt do you wear to work today?",
                options=("blue", "green"),
                wordings={"blue": first, "green": second},
                order=self.order,
                reason=self.reason,
            ),
            given=OFFICE + "".join(reversed(parts) if self.others_first else parts),
            rule=self.follow_threshold,
            first=first,
            second=second,
            others=self.workers - 1,
            workers=self.workers,
            firsts=blue,
            seconds=self.workers - blue,
            worn=self.people["shirt"].replace({"blue": first, "green": second}) if self.swap else self.people["shirt"],
        )
        self.history.append(self.share_blue())

    def length(self) -> int:
        """One step is one morning."""
        return self.days

    def follow_threshold(self, people: People) -> pl.Series:
        """The rule twin: change when the share of others in the other colour reaches one's threshold.

        Like a model, it knows only what people are told: without the counts, everybody wears what they wore yesterday.
        """
        if not self.counts:
            return people["shirt"]
        blue = (people["shirt"] == "blue").to_numpy()
        in_blue = (people["firsts"].to_numpy() - blue) / (self.workers - 1)
        threshold = np.full(len(people), self.threshold)
        if self.personas != "none":
            threshold = people["trait"].cast(pl.String).replace_strict(THRESHOLDS, return_dtype=pl.Float64).to_numpy()
        changes = np.where(blue, 1 - in_blue, in_blue) >= threshold
        return pl.Series(np.where(blue ^ changes, "blue", "green"))

    @metric
    def share_blue(self) -> float:
        """The share in blue."""
        return self.people.share(shirt="blue")

    @metric
    def consensus(self) -> bool:
        """Whether everybody wears the same."""
        # Unlike n_unique, this wakes no threads, which take longer than twenty people.
        shirts = self.people["shirt"]
        return bool(shirts.min() == shirts.max() and shirts.null_count() in (0, shirts.len()))

    @metric
    def days_to_consensus(self) -> int | None:
        """The first day on which everybody wore the same, once there was one."""
        return next((day for day, share in enumerate(self.history) if share in (0.0, 1.0)), None)

    @metric
    def alternation(self) -> float | None:
        """How far days repeat with period two: 1 when every second day is the same and neighbours differ, 0 at rest."""
        if len(self.history) < 3:
            return None
        path = np.array(self.history)
        one, two = np.abs(np.diff(path)).mean(), np.abs(path[2:] - path[:-2]).mean()
        return round(float(max(0.0, 1 - two / one)), 9) if one else 0.0
