"""An epidemic in a town, after Williams and others, arXiv 2307.04986.

The disease spreads by mechanics; whether people stay at home is their own decision. What they know depends on the
arm: nothing, how they feel, or how they feel and the news.
"""

from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from populace.engine.scenario import Field, ReportTable, Scenario, metric
from populace.people import People, draw_column
from populace.questions import Choice
from populace.runs.reader import RunReader
from populace.runs.settings_text import decider_text

TRAITS = {
    "openness": ("imaginative", "conventional"),
    "conscientiousness": ("careful", "careless"),
    "extraversion": ("outgoing", "reserved"),
    "agreeableness": ("kind", "critical"),
    "neuroticism": ("anxious", "calm"),
}

HEALTH = ("You feel normal.", "You have a light cough.", "You have a fever and a cough.")
"""How a person feels: normal, at the beginning and end of the illness, and in its middle."""
FEELING_BY_DAY = (0, 0, 0, 1, 2, 2, 1)
"""The index into `HEALTH` by the day of infection; day 0 is not infected."""
REPORTED_ON_DAY = 4
"""On this day of infection a case enters the news."""

TOWN = "You live in the town of Dewberry Hollow. You like the town, and you have to work for your living."
NEWS = " The news says that {news:.1f} % of the people in town caught a new disease yesterday."

REFERENCE = pl.read_csv(Path(__file__).with_name("published_runs.csv"))
"""Means of the published runs: 100 people, R0 about 3, gpt-3.5-turbo-0301 at temperature 0."""


class Epidemic(Scenario):
    """People in a town under an epidemic decide each day whether to stay at home."""

    residents: int = Field(100, ge=3, description="How many people live in the town.")
    days: int = Field(50, ge=1, description="The most days.")
    arm: Literal["none", "health", "news"] = Field(
        "news", description="What people know: nothing, how they feel, or how they feel and the news."
    )
    infected: int = Field(2, ge=1, description="How many are infected at the beginning.")
    contacts: int = Field(5, ge=1, description="How many others each person who is out meets in a day.")
    infection: float = Field(0.1, ge=0, le=1, description="The chance that a contact infects.")
    illness: int = Field(6, ge=1, le=6, description="How many days a person is infectious.")
    personas: bool = Field(True, description="Whether the prompt has name, age and character.")
    order: Literal["fixed", "random", "rotate"] = Field("fixed", description="The order of yes and no.")
    reason: bool = Field(False, description="Let people think aloud before they answer.")
    stays_with_fever: float = Field(0.8, ge=0, le=1, description="Rule twin: chance to stay at home with a fever.")
    stays_with_cough: float = Field(0.2, ge=0, le=1, description="Rule twin: chance to stay at home with a cough.")
    stays_for_news: float = Field(0.7, ge=0, le=1, description="Rule twin: chance to stay at home for bad news.")
    alarm: float = Field(
        3.0, ge=0, description="Rule twin: how strongly news works; with 1, news of 1 % has 63 % of its full effect."
    )

    chart: ClassVar[tuple[str, ...]] = ("infectious", "at_home", "ever_infected")

    def setup(self) -> People:
        """Everybody gets a name, an age and a character; a few are infected."""
        people = People.named(self.residents, seed=self.rng)
        people = people.with_columns(age=self.rng.integers(18, 65, self.residents))
        for factor, words in TRAITS.items():
            people = people.with_columns(
                **{factor: draw_column(self.residents, dict.fromkeys(words, 1), seed=self.rng)}
            )
        day = np.zeros(self.residents, np.int64)
        day[self.rng.choice(self.residents, min(self.infected, self.residents), replace=False)] = 1
        self.reports: list[int] = [0]
        self.peak, self.peak_day, self.most_home, self.quiet = int((day > 0).sum()), 0, 0, 0
        return people.with_columns(day=day, recovered=False, home="no")

    def profile(self) -> str:
        """Who one is."""
        if not self.personas:
            return ""
        return "You are {name}, {age} years old. You are " + ", ".join(f"{{{factor}}}" for factor in TRAITS) + "."

    async def step(self) -> None:
        """One day: everybody decides, those who are out meet, and the illness goes on."""
        feeling = pl.Series(HEALTH).gather(np.array(FEELING_BY_DAY)[self.people["day"].to_numpy()])
        given = TOWN + (" {health}" if self.arm != "none" else "") + (NEWS if self.arm == "news" else "")
        self.people["home"] = await self.ask(
            self.people,
            Choice("Do you stay at home all day today?", options=("yes", "no"), order=self.order, reason=self.reason),
            given=given,
            rule=self.stay_by_rule,
            health=feeling,
            news=self.reports[-1] / self.residents * 100,
        )
        self.people["day"] = self._spread(self.people["day"].to_numpy())
        self._update_records()

    def _spread(self, day: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The day of illness of everybody after the contacts of this day."""
        out = np.flatnonzero((self.people["home"] != "yes").to_numpy())
        one = np.repeat(out, self.contacts)
        two = self.rng.choice(out, len(one)) if len(out) else one
        infects = self.rng.random(len(one)) < self.infection
        caught = np.concatenate([two[infects & (day[one] > 0)], one[infects & (day[two] > 0)]])
        recovered = self.people["recovered"].to_numpy()
        new = np.unique(caught[(day[caught] == 0) & ~recovered[caught]])
        over = day >= self.illness
        self.people["recovered"] = recovered | over
        later = np.where(over, 0, np.where(day > 0, day + 1, 0))
        later[new] = 1
        self.events("infected", self.people.ids.gather(new))
        return later

    def _update_records(self) -> None:
        day = self.people["day"].to_numpy()
        self.reports.append(int((day == REPORTED_ON_DAY).sum()))
        if (day > 0).sum() > self.peak:
            self.peak, self.peak_day = int((day > 0).sum()), self.t
        self.most_home = max(self.most_home, self.people.count(home="yes"))
        self.quiet = 0 if (day > 0).any() else self.quiet + 1

    def length(self) -> int:
        """One step is one day."""
        return self.days

    def stop(self) -> str | None:
        """The run ends two days after the last infection is over."""
        return "nobody has been infected for two days" if self.quiet >= 2 else None

    def stay_by_rule(self, people: People) -> np.ndarray[Any, Any]:
        """The rule twin: fever, cough and news each give a chance to stay at home."""
        stay = np.zeros(len(people))
        if self.arm != "none":
            feeling = people["health"].replace_strict(dict(zip(HEALTH, (0, 1, 2), strict=True))).to_numpy()
            stay = np.array([0.0, self.stays_with_cough, self.stays_with_fever])[feeling]
        if self.arm == "news":
            stay_for_news = self.stays_for_news * (1 - np.exp(-self.alarm * people["news"].to_numpy()))
            stay = 1 - (1 - stay) * (1 - stay_for_news)
        return np.column_stack([stay, 1 - stay])

    @metric
    def susceptible(self) -> int:
        """How many were never infected."""
        return self.people.count(day=0, recovered=False)

    @metric
    def infectious(self) -> int:
        """How many are infected now."""
        return self.people.count(day={"gt": 0})

    @metric
    def recovered(self) -> int:
        """How many were infected and no longer are."""
        return self.people.count(recovered=True, day=0)

    @metric
    def at_home(self) -> int:
        """How many stayed at home today."""
        return self.people.count(home="yes")

    @metric
    def ever_infected(self) -> int:
        """How many were infected at any time."""
        return len(self.people) - self.susceptible()

    @metric
    def peak_infected(self) -> int:
        """The most who were infected on one day so far."""
        return self.peak

    @metric
    def day_of_peak(self) -> int:
        """The day of that peak."""
        return self.peak_day

    @metric
    def most_at_home(self) -> int:
        """The most who stayed at home on one day so far."""
        return self.most_home

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """This run beside the published runs, and who produced each."""
        regime = run.manifest.regime
        parameters = run.manifest.regimes[0].parameters
        last = run.metrics.tail(1).to_dicts()[0]
        who = decider_text(regime.decider, regime.model)
        scale = 100 / parameters["residents"]
        mine = {
            "arm": parameters["arm"],
            "runs": 1,
            "ever_infected": last["ever_infected"] * scale,
            "range": "",
            "peak_infected": last["peak_infected"] * scale,
            "peak_day": last["day_of_peak"],
            "most_at_home": last["most_at_home"] * scale,
            "produced_by": f"this run: {who}",
        }
        published = REFERENCE.with_columns(produced_by=pl.lit("published: gpt-3.5-turbo-0301"))
        table = pl.concat([published, pl.DataFrame([mine], schema=published.schema)])
        note = "For a hundred people. The published runs are other people's, of another model; this is one run."
        return [ReportTable("Beside the published runs", table, note)]
