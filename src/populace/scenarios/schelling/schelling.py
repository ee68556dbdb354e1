"""Segregation on a grid, after Schelling 1971: people with too few like neighbours move to a free cell.

The threshold is a parameter, or everybody is asked for theirs once, or there is none and everybody chooses in each
step between staying and moving.
"""

from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.engine.scenario import Field, ReportTable, Scenario, metric
from populace.people import People
from populace.questions import Choice, Rating
from populace.runs.charts import PALETTE
from populace.runs.reader import RunReader
from populace.scenarios.pictures import draw_cells
from populace.scenarios.wordings import WordingName, read_wording_texts
from populace.worlds.grid import Grid

Whole = npt.NDArray[np.int64]
Words = Literal["neutral", "colour", "team", "ethnic"]

WORDINGS = read_wording_texts(__file__)
GROUPS: dict[Words, tuple[str, ...]] = {
    "neutral": ("group K", "group M", "group P", "group R"),
    "colour": ("the blue people", "the orange people", "the green people", "the yellow people"),
    "team": ("the Rovers supporters", "the United supporters", "the City supporters", "the Town supporters"),
    "ethnic": ("the Black residents", "the white residents", "the Asian residents", "the Latino residents"),
}
"""The words for the groups. The structure is the same; what a model has read about the words differs."""

OTHERS = "other groups"

MARKS = np.array(["○", "●", "△", "▲", "·"])
"""The marks of the groups in the terminal; the last is a free cell."""


class Schelling(Scenario):
    """People of several groups live on a grid; who has too few like neighbours, or chooses to, moves to a free cell."""

    width: int = Field(20, ge=2, description="Cells in a row.")
    height: int = Field(20, ge=2, description="Rows.")
    torus: bool = Field(False, description="Whether the edges of the grid touch.")
    radius: int = Field(1, ge=1, le=5, description="How far the neighbourhood reaches, diagonals included.")
    density: float = Field(0.8, gt=0, le=1, description="The chance that a cell is occupied at the beginning.")
    groups: int = Field(2, ge=2, le=4, description="How many groups there are.")
    minority: float = Field(0.5, ge=0, le=1, description="The chance to be of the last group; others share the rest.")
    threshold: float = Field(0.4, ge=0, le=1, description="The share of like neighbours below which one moves.")
    decide_by: Literal["threshold", "asked", "choice"] = Field(
        "choice",
        description="By the threshold; by a threshold that everybody is asked for once; or by a choice in every step.",
    )
    days: int = Field(30, ge=1, description="The most steps.")
    words: Words = Field("neutral", description="The words for the groups.")
    wording: WordingName = Field("plain", description="Which of several wordings the prompts have.")
    swap: bool = Field(False, description="Exchange the words for the groups: the first group gets that of the last.")
    order: Literal["fixed", "random", "rotate"] = Field("fixed", description="The order of the options.")
    names: bool = Field(False, description="Address people by name; without, equal neighbourhoods are asked once.")
    reason: bool = Field(False, description="Let people think aloud before they answer.")

    chart: ClassVar[tuple[str, ...]] = ("similarity", "unhappy", "moves")

    async def setup(self) -> People:
        """People in random cells, each with a group and a threshold."""
        self.grid = Grid(self.width, self.height, torus=self.torus, radius=self.radius)
        cells = np.flatnonzero(self.rng.random(len(self.grid)) < self.density)
        others = (1 - self.minority) / (self.groups - 1)
        chances = np.array([others] * (self.groups - 1) + [self.minority])
        group = self.rng.choice(self.groups, len(cells), p=chances / chances.sum())
        names = GROUPS[self.words][: self.groups]
        self.group_names = tuple(reversed(names)) if self.swap else names
        self.moved = 0
        people = People.named(len(cells), seed=self.rng).with_columns(
            group=group.astype(np.int64), cell=cells.astype(np.int64), threshold=self.threshold
        )
        if self.decide_by == "asked":
            people["threshold"] = await self._ask_thresholds(people)
        return self._count_neighbours(people)

    async def _ask_thresholds(self, people: People) -> pl.Series:
        """The threshold of each person; the parameter where the answer is invalid."""
        wording = WORDINGS[self.wording]
        answers = await self.ask(
            people,
            Rating(wording["threshold"], low=0, high=10, order=self.order, reason=self.reason),
            given=wording["setting"],
            rule=lambda people: np.full(len(people), round(self.threshold * 10)),
            purpose="threshold",
            profile=self.profile(),
            **self._belonging(people),
        )
        return (answers.values.cast(pl.Float64) / 10).fill_null(self.threshold)

    def profile(self) -> str:
        """The name of the person, or nothing."""
        return "You are {name}." if self.names else ""

    def length(self) -> int:
        """How many steps there are at most."""
        return self.days

    async def step(self) -> None:
        """People decide whether to leave, and those who leave get random free cells."""
        people = self.people
        leaves = self._unhappy(people)
        if self.decide_by == "choice":
            wording = WORDINGS[self.wording]
            answers = await self.ask(
                people,
                Choice(wording["choice"], options=("stay", "move"), order=self.order, reason=self.reason),
                given=wording["setting"] + wording["neighbourhood"],
                rule=self.follow_threshold,
                unlike=people["neighbours"] - people["like"],
                **self._belonging(people),
            )
            leaves = (answers.values == "move").fill_null(False).to_numpy()
        self.people["cell"] = self._move(people["cell"].to_numpy(), np.flatnonzero(leaves))
        self._count_neighbours(self.people)

    def _belonging(self, people: People) -> dict[str, Any]:
        group = people["group"].to_numpy()
        two = self.groups == 2
        others = self.group_names[::-1] if two else (OTHERS,) * self.groups
        return {"own": pl.Series(self.group_names).gather(group), "other": pl.Series(others).gather(group)}

    def _move(self, cell: Whole, movers: Whole) -> Whole:
        """The new cells of everybody: movers get random cells, of the free ones and those that movers leave.

        Every mover gets a cell; somebody may get the cell just left, which does not count as a move.
        """
        free = np.setdiff1d(np.arange(len(self.grid)), cell)
        new_cells = self.rng.permutation(np.concatenate([free, cell[movers]]))[: len(movers)]
        self.moved = int((new_cells != cell[movers]).sum())
        cells = cell.copy()
        cells[movers] = new_cells
        return cells

    def _count_neighbours(self, people: People) -> People:
        """Set the columns `like` and `neighbours`, and return the people."""
        group, cell = people["group"].to_numpy(), people["cell"].to_numpy()
        lived_in = np.full(len(self.grid), -1)
        lived_in[cell] = group
        around = self.grid.around(lived_in, -1)[cell]
        people["like"] = (around == group[:, None]).sum(axis=1)
        people["neighbours"] = (around >= 0).sum(axis=1)
        return people

    def _unhappy(self, people: People) -> npt.NDArray[np.bool_]:
        """Whose share of like neighbours is below their threshold; without neighbours the share is 0."""
        like, neighbours = people["like"].to_numpy(), people["neighbours"].to_numpy()
        return np.asarray(like / np.maximum(neighbours, 1) < people["threshold"].to_numpy())

    def follow_threshold(self, people: People) -> pl.Series:
        """The rule twin: move when the share of like neighbours is below the threshold."""
        return pl.Series(np.where(self._unhappy(people), "move", "stay"))

    def stop(self) -> str | None:
        """Under a rule the run ends once everybody is content; a model may still change its mind."""
        by_rule = self.decide_by != "choice" or self.stage.settings.decider == "rule"
        return "everybody is content" if by_rule and self.unhappy() == 0 else None

    @metric
    def similarity(self) -> float | None:
        """The mean share of like neighbours, over all who have neighbours."""
        return _similarity(self.people.frame)

    @metric
    def segregation(self) -> float | None:
        """How far similarity lies above that of a random mix: 0 there, 1 where all neighbours are alike."""
        similar, mixed = self.similarity(), _mixed_similarity(self.people.frame)
        return None if similar is None or mixed >= 1 else (similar - mixed) / (1 - mixed)

    @metric
    def unhappy(self) -> float:
        """The share of people with fewer like neighbours than their threshold."""
        return float(self._unhappy(self.people).mean())

    @metric
    def moves(self) -> int:
        """How many moved in this step."""
        return self.moved

    @metric
    def mean_threshold(self) -> float:
        """The mean threshold: the parameter, or what people said."""
        return float(self.people["threshold"].to_numpy().mean())

    def view(self) -> list[str]:
        """The grid after this step."""
        similar = self.similarity()
        far = f"{self.moved} moved · similarity {similar:.2f}" if similar is not None else f"{self.moved} moved"
        marks = np.full(len(self.grid), MARKS[-1])
        marks[self.people["cell"].to_numpy()] = MARKS[self.people["group"].to_numpy()]
        lines = self.grid.text_lines(marks)
        return [far, "", *lines] if lines else [far]

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """Who lives among whom, and at which share of like neighbours people left."""
        tables = [_before_and_after(run)]
        decide_by = run.manifest.regimes[0].parameters["decide_by"]
        if decide_by == "asked":
            tables.append(_threshold_table(run))
        if decide_by == "choice":
            tables.append(_leaving_by_likeness(run))
        return tables

    @classmethod
    def pictures(cls, run: RunReader, folder: Path) -> list[Path]:
        """The grid at the beginning and at the end."""
        parameters = run.manifest.regimes[0].parameters
        panels = []
        for at in (0, run.steps[-1]):
            people, cells = run.people(at), np.zeros(parameters["width"] * parameters["height"])
            cells[people["cell"].to_numpy()] = people["group"].to_numpy() + 1
            panels.append((f"step {at}", cells))
        colours = ["#f2f2f2", *PALETTE[: parameters["groups"]]]
        return [draw_cells(run, folder / "grid.png", panels, colours, size=(8, 4.4))]


def _similarity(people: pl.DataFrame) -> float | None:
    """The mean share of like neighbours, over all who have neighbours."""
    mean = people.filter(pl.col("neighbours") > 0).select((pl.col("like") / pl.col("neighbours")).mean()).item()
    return None if mean is None else float(mean)


def _mixed_similarity(people: pl.DataFrame) -> float:
    """The expected similarity if people of these groups are placed at random."""
    sizes = people["group"].value_counts()["count"].to_numpy()
    total = sizes.sum()
    return float((sizes * (sizes - 1)).sum() / (total * (total - 1))) if total > 1 else 1.0


def _before_and_after(run: RunReader) -> ReportTable:
    """Similarity at the beginning and at the end, beside that of a random mix."""
    rows = []
    for when, at in (("beginning", 0), ("end", run.steps[-1])):
        people = run.people(at).frame
        rows.append(
            {
                "when": when,
                "step": at,
                "people": people.height,
                "similarity": _similarity(people),
                "of a random mix": _mixed_similarity(people),
                "alone": people.filter(pl.col("neighbours") == 0).height,
            }
        )
    note = "Similarity is the mean share of like neighbours. One run; other seeds differ by a few hundredths."
    return ReportTable("Who lives among whom", pl.DataFrame(rows), note)


def _threshold_table(run: RunReader) -> ReportTable:
    """How many people named which threshold."""
    counts = run.people(0)["threshold"].value_counts(name="people").sort("threshold")
    return ReportTable("The thresholds that people said", counts, "Who gave no readable answer has the parameter's.")


def _leaving_by_likeness(run: RunReader) -> ReportTable:
    """How often people chose to leave, by the share of like neighbours that they were told."""
    parts = []
    for step in run.steps[1:]:
        before = run.people(step - 1).frame.select(pl.col("id").alias("person"), "like", "neighbours")
        parts.append(run.answers(step).select("person", "value").join(before, on="person"))
    share = (pl.col("like") / pl.col("neighbours") * 5).floor().clip(0, 4)
    table = (
        pl.concat(parts)
        .filter(pl.col("neighbours") > 0, pl.col("value").is_not_null())
        .group_by(share.cast(pl.Int64).alias("fifth"))
        .agg(pl.len().alias("answers"), (pl.col("value") == "move").mean().alias("left"))
        .sort("fifth")
        .select(
            pl.format("{} to {} %", pl.col("fifth") * 20, pl.col("fifth") * 20 + 20).alias("like neighbours"),
            "answers",
            "left",
        )
    )
    note = "A threshold shows as a step; a line that is flat says that the neighbourhood does not matter."
    return ReportTable("Leaving, by the share of like neighbours", table, note)
