"""The prisoner's dilemma on a lattice, after Nowak and May 1992: everybody plays all neighbours and sees the result.

The rule twin copies the most successful of oneself and the neighbours. Nobody remembers more than the last round;
whether cooperation lasts depends on the geometry.
"""

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.engine.scenario import Field, ReportTable, Scenario, metric
from populace.people import People
from populace.questions import Choice
from populace.runs.charts import PALETTE
from populace.runs.reader import RunReader
from populace.scenarios.axelrod.wordings import MOVES, WORDINGS, Words, move_words, moves
from populace.scenarios.pictures import draw_cells
from populace.scenarios.wordings import WordingName
from populace.worlds.grid import Grid

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

KALEIDOSCOPE = 12 * np.log(2) - 8
"""The share of cooperators, about 0.318, that Nowak and May found in the long run for a temptation of 1.8 to 2."""


class AxelrodLattice(Scenario):
    """Everybody on a lattice plays the prisoner's dilemma with all neighbours and sees how the best of them fared."""

    width: int = Field(30, ge=3, description="Cells in a row.")
    height: int = Field(30, ge=3, description="Rows.")
    torus: bool = Field(True, description="Whether the edges of the lattice touch.")
    temptation: float = Field(1.85, gt=0, description="Points for a single defector; two cooperators get 1 each.")
    itself: bool = Field(True, description="Whether everybody also plays against themselves, as in the source.")
    begin: Literal["random", "single"] = Field(
        "random", description="Random cooperators, or a single defector in the middle."
    )
    cooperators: float = Field(0.9, ge=0, le=1, description="The chance of each person to cooperate at the beginning.")
    rounds: int = Field(30, ge=1, description="How many rounds there are; one step each.")
    words: Words = Field("neutral", description="The words for the two moves.")
    wording: WordingName = Field("plain", description="Which of several wordings the prompts have.")
    swap: bool = Field(False, description="Exchange the words of the two moves everywhere in the prompt.")
    order: Literal["fixed", "random", "rotate"] = Field("fixed", description="The order of the two options.")
    reason: bool = Field(False, description="Let people think aloud before they answer.")

    chart: ClassVar[tuple[str, ...]] = ("cooperation", "changed")

    def setup(self) -> People:
        """A person in every cell, with a first move."""
        self.grid = Grid(self.width, self.height, torus=self.torus)
        cooperates = self.rng.random(len(self.grid)) < self.cooperators
        if self.begin == "single":
            cooperates = np.ones(len(self.grid), bool)
            cooperates[self.height // 2 * self.width + self.width // 2] = False
        self.turned = 0
        return People(
            pl.DataFrame(
                {"id": np.arange(len(self.grid)), "move": moves(cooperates), "score": self._scores(cooperates)}
            )
        )

    def _scores(self, cooperates: Truths) -> Floats:
        """The points of everybody in a round: for each cooperating neighbour 1, or the temptation for a defector."""
        around = self.grid.around(cooperates, False).sum(axis=1) + (self.itself & cooperates)
        return np.asarray(np.where(cooperates, 1.0, self.temptation) * around)

    def length(self) -> int:
        """One step is one round."""
        return self.rounds

    async def step(self) -> None:
        """Everybody sees what the best neighbour did and got, chooses, and plays."""
        people = self.people
        before = (people["move"] == MOVES[0]).to_numpy()
        best_with, best_without = self._best(before, people["score"].to_numpy())
        words, wording = move_words(self.words, self.swap), WORDINGS[self.wording]
        word = pl.Series([words["defect"], words["cooperate"]])
        self.people["move"] = await self.ask(
            people,
            Choice(wording["question"], options=MOVES, wordings=words, order=self.order, reason=self.reason),
            given=wording["neighbours"] + wording["result"],
            rule=self.copy_the_best,
            c=words["cooperate"],
            d=words["defect"],
            reward=1,
            sucker=0,
            temptation=self.temptation,
            punishment=0,
            own=word.gather(before.astype(int)),
            theirs=word.gather((best_with >= best_without).astype(int)),
            best=np.maximum(best_with, best_without),
        )
        after = (self.people["move"] == MOVES[0]).to_numpy()
        self.turned = int((before != after).sum())
        self.people["score"] = self._scores(after)

    def _best(self, cooperates: Truths, score: Floats) -> tuple[Floats, Floats]:
        """The highest score among neighbours who cooperated, and among those who did not."""
        beyond = -np.inf
        kind, points = self.grid.around(cooperates, False), self.grid.around(score, beyond)
        with_, without = np.where(kind, points, beyond), np.where(kind, beyond, points)
        return with_.max(axis=1), without.max(axis=1)

    def copy_the_best(self, people: People) -> pl.Series:
        """The rule twin: do what the most successful neighbour did, unless one did as well oneself."""
        cooperates = (self.people["move"] == MOVES[0]).to_numpy()
        score = self.people["score"].to_numpy()
        best_with, best_without = self._best(cooperates, score)
        copies = np.where(score >= np.maximum(best_with, best_without), cooperates, best_with >= best_without)
        return moves(copies[people.ids.to_numpy()])

    @metric
    def cooperation(self) -> float:
        """The share that cooperates."""
        return self.people.share(move=MOVES[0])

    @metric
    def changed(self) -> float:
        """The share that changed its move in this round."""
        return self.turned / len(self.people)

    @metric
    def mean_score(self) -> float:
        """The mean points of this round."""
        return float(self.people["score"].to_numpy().mean())

    def view(self) -> list[str]:
        """The lattice after this step."""
        far = f"{self.cooperation():.0%} cooperate"
        marks = np.where((self.people["move"] == MOVES[0]).to_numpy(), "●", "·")
        lines = self.grid.text_lines(marks)
        return [far, "", *lines] if lines else [far]

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """Cooperation in the second half of the run, beside the share that is known for the rule."""
        second = run.metrics.filter(pl.col("step") > run.steps[-1] // 2)["cooperation"]
        table = pl.DataFrame(
            {
                "cooperation": ["at the beginning", "mean of the second half", "at the end", "known of the rule"],
                "share": [run.metrics["cooperation"][0], second.mean(), second[-1], float(KALEIDOSCOPE)],
            }
        )
        note = "The known share is that of the rule, with itself, for a temptation between 1.8 and 2 on a big lattice."
        return [ReportTable("Cooperation on the lattice", table, note)]

    @classmethod
    def pictures(cls, run: RunReader, folder: Path) -> list[Path]:
        """The lattice at the beginning, in the middle and at the end, with those who have just changed."""
        panels = []
        for at in (0, run.steps[-1] // 2, run.steps[-1]):
            now, before = ((run.people(step)["move"] == MOVES[0]).to_numpy() for step in (at, max(at - 1, 0)))
            kind = np.where(now, 0, 1) + np.where(now != before, 2, 0)
            panels.append((f"round {at}: {now.mean():.0%} cooperate", kind))
        colours = [PALETTE[0], PALETTE[1], PALETTE[5], PALETTE[4]]
        labels = ("cooperates", "defects", "now cooperates", "now defects")
        return [draw_cells(run, folder / "lattice.png", panels, colours, size=(10, 4.1), labels=labels)]
