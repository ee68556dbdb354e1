"""A tournament of the iterated prisoner's dilemma, after Axelrod 1984: everybody plays everybody else, round by round.

A person here is a seat in a match: a player against ten others has ten seats, and knows in each only what happened
there. All matches are played at the same time, so a round is one question.
"""

from collections import Counter
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import ParameterError
from populace.engine.scenario import Field, ReportTable, Scenario, metric
from populace.people import People
from populace.questions import Choice
from populace.runs.reader import RunReader
from populace.scenarios.axelrod.players import cooperates, player, remember
from populace.scenarios.axelrod.wordings import MOVES, WORDINGS, Words, move_words, moves
from populace.scenarios.wordings import WordingName

Whole = npt.NDArray[np.int64]

MODEL = "Model"
FIELD = [
    "Tit For Tat",
    "Cooperator",
    "Defector",
    "Grudger",
    "Alternator",
    "Suspicious Tit For Tat",
    "Tit For 2 Tats",
    "Win-Stay Lose-Shift",
]
"""The strategies that take part by default; all of them are deterministic."""


class Axelrod(Scenario):
    """A tournament of the iterated prisoner's dilemma, with the model as one more player among known strategies."""

    strategies: list[str] = Field(FIELD, min_length=1, description="Strategies of the axelrod package, by name.")
    model_players: int = Field(1, ge=0, le=10, description="How many players are decided by the model.")
    twin: str = Field("Tit For Tat", description="The strategy that plays for the model where a rule decides.")
    turns: int = Field(20, ge=1, description="How many rounds a match has; one step each.")
    repetitions: int = Field(1, ge=1, description="How often every match is played.")
    recall: int = Field(3, ge=0, description="How many of the last rounds players are told of.")
    reward: float = Field(3.0, description="Points for each when both cooperate.")
    sucker: float = Field(0.0, description="Points for a single cooperator.")
    temptation: float = Field(5.0, description="Points for a single defector.")
    punishment: float = Field(1.0, description="Points for each when both defect.")
    words: Words = Field("neutral", description="The words for the two moves.")
    wording: WordingName = Field("plain", description="Which of several wordings the prompts have.")
    swap: bool = Field(False, description="Exchange the words of the two moves everywhere in the prompt.")
    order: Literal["fixed", "random", "rotate"] = Field("fixed", description="The order of the two options.")
    reason: bool = Field(False, description="Let players think aloud before they answer.")

    chart: ClassVar[tuple[str, ...]] = ("cooperation", "model_cooperation", "model_score")

    def setup(self) -> People:
        """Seats for everybody against everybody else; the move before the first round is random."""
        if not self.sucker < self.punishment < self.reward < self.temptation:
            raise ParameterError(
                "axelrod: these payoffs are not a prisoner's dilemma.",
                "It must be: sucker < punishment < reward < temptation.",
            )
        players = _distinct([MODEL] * self.model_players + list(self.strategies))
        strategies = [self.twin] * self.model_players + list(self.strategies)
        if len(players) < 2:
            raise ParameterError("axelrod: a tournament needs two players.", "Add a strategy or a model player.")
        pairs = np.array(list(combinations(range(len(players)), 2)))
        one = np.tile(pairs, (self.repetitions, 1))
        who, whom = one.ravel(), one[:, ::-1].ravel()
        count = len(who)
        self.match = np.arange(count) // 2
        self.partner = np.arange(count) ^ 1
        self.by_model = np.flatnonzero(who < self.model_players)
        self.by_strategy = np.flatnonzero(who >= self.model_players)
        payoffs = (self.reward, self.sucker, self.temptation, self.punishment)
        seeds = self.rng.integers(0, 2**31 - 1, count).tolist()
        self.players = [
            player(strategies[index], turns=self.turns, payoffs=payoffs, seed=seed)
            for index, seed in zip(who.tolist(), seeds, strict=True)
        ]
        self.history: list[npt.NDArray[np.bool_]] = []
        repetition = np.repeat(np.arange(self.repetitions), 2 * len(pairs))
        names = pl.Series(players)
        return People(
            pl.DataFrame(
                {
                    "id": np.arange(count),
                    "player": names.gather(who),
                    "opponent": names.gather(whom),
                    "model_seat": who < self.model_players,
                    "repetition": repetition,
                    "move": moves(self.rng.random(count) < 0.5),
                    "score": np.zeros(count),
                    "cooperated": np.zeros(count, np.int64),
                }
            )
        )

    def length(self) -> int:
        """One step is one round."""
        return self.turns

    async def step(self) -> None:
        """One round of every match."""
        if len(self.by_model):
            await self._ask()
        cooperated = (self.people["move"] == MOVES[0]).to_numpy().copy()
        cooperated[self.by_strategy] = [
            cooperates(self.players[seat], self.players[self.partner[seat]]) for seat in self.by_strategy.tolist()
        ]
        other = cooperated[self.partner]
        for seat, (own, theirs) in enumerate(zip(cooperated.tolist(), other.tolist(), strict=True)):
            remember(self.players[seat], own, theirs)
        self.history.append(cooperated)
        points = np.array([[self.punishment, self.temptation], [self.sucker, self.reward]])
        self.people["move"] = moves(cooperated)
        self.people["score"] = self.people["score"].to_numpy() + points[cooperated.astype(int), other.astype(int)]
        self.people["cooperated"] = self.people["cooperated"].to_numpy() + cooperated
        self.tables["round"] = pl.DataFrame({"seat": self.people.ids, "own": cooperated, "other": other})

    async def _ask(self) -> None:
        """Ask all seats of the model at once; a seat with an invalid answer repeats its last move."""
        words, wording = move_words(self.words, self.swap), WORDINGS[self.wording]
        past = self._past(words)
        self.people["move"] = await self.ask(
            self.people.rows(self.by_model),
            Choice(wording["question"], options=MOVES, wordings=words, order=self.order, reason=self.reason),
            given=wording["game"] + ("" if past is None else wording["past"] if self.history else wording["first"]),
            rule=self.play_twin,
            c=words["cooperate"],
            d=words["defect"],
            reward=self.reward,
            sucker=self.sucker,
            temptation=self.temptation,
            punishment=self.punishment,
            rounds=past if past is not None else "",
        )

    def _past(self, words: dict[str, str]) -> pl.Series | str | None:
        """The last rounds of each seat of the model in words; None where players are not told of them."""
        if not self.recall:
            return None
        rounds = self.history[-self.recall :]
        if not rounds:
            return ""
        word = pl.Series([words["defect"], words["cooperate"]])
        parts = [
            pl.format("you {}, the other {}", word.gather(own), word.gather(other))
            for own, other in (
                (cooperated[self.by_model].astype(int), cooperated[self.partner[self.by_model]].astype(int))
                for cooperated in rounds
            )
        ]
        return pl.select(pl.concat_str(parts, separator="; ")).to_series()

    def play_twin(self, people: People) -> pl.Series:
        """The rule twin: a strategy of the package in the seats of the model."""
        seats = people.ids.to_list()
        return moves(np.array([cooperates(self.players[seat], self.players[self.partner[seat]]) for seat in seats]))

    @metric
    def cooperation(self) -> float | None:
        """The share of all moves in this round that cooperated."""
        return self.people.share(move=MOVES[0]) if self.history else None

    @metric
    def model_cooperation(self) -> float | None:
        """The share of the model's moves in this round that cooperated."""
        return self.people.where(model_seat=True).share(move=MOVES[0]) if self.history and len(self.by_model) else None

    @metric
    def model_score(self) -> float | None:
        """The model's points a round so far, over all of its matches."""
        if not self.history or not len(self.by_model):
            return None
        return float(self.people["score"].to_numpy()[self.by_model].mean()) / len(self.history)

    @metric
    def best_score(self) -> float | None:
        """The points a round of the best strategy so far."""
        if not self.history or not len(self.by_strategy):
            return None
        best = self.people.where(model_seat=False).frame.group_by("player").agg(pl.col("score").mean())["score"].max()
        return float(best) / len(self.history)  # type: ignore[arg-type]

    @metric
    def model_rank(self) -> int | None:
        """How many players are ahead of the best model player, and one."""
        if not self.history or not len(self.by_model):
            return None
        table = self.people.frame.group_by("player", "model_seat").agg(pl.col("score").mean())
        mine = table.filter("model_seat")["score"].max()
        return 1 + int((table.filter(~pl.col("model_seat"))["score"] > mine).sum())

    def view(self) -> list[str]:
        """The table of the tournament so far."""
        if not self.history:
            return []
        table = _standings(self.people.frame, len(self.history)).head(12)
        return [f"{name:<28} {score:6.3f} a round  {share:4.0%} cooperated" for name, score, share in table.iter_rows()]

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """The table of the tournament, and how the model played."""
        people, rounds = run.people().frame, run.steps[-1]
        if not rounds:
            return []
        tables = [
            ReportTable(
                "The tournament",
                _standings(people, rounds),
                "Points a round over all matches; nobody plays against themselves.",
            )
        ]
        if people["model_seat"].any():
            tables += [_conduct(people, run.history("round")), _opponents(people, rounds)]
        return tables


def _distinct(names: list[str]) -> list[str]:
    counts: Counter[str] = Counter()
    distinct = []
    for name in names:
        counts[name] += 1
        distinct.append(name if counts[name] == 1 else f"{name} {counts[name]}")
    return distinct


def _standings(people: pl.DataFrame, rounds: int) -> pl.DataFrame:
    """Points a round and the share of cooperation of every player, the best first."""
    return _means(people, "player", rounds).sort("score", descending=True, maintain_order=True)


def _conduct(people: pl.DataFrame, rounds: pl.DataFrame) -> ReportTable:
    """How often the model cooperated after each outcome of the round before."""
    seats = people.filter("model_seat")["id"]
    model_rounds = rounds.filter(pl.col("seat").is_in(seats.implode())).sort("seat", "step")
    after = model_rounds.with_columns(
        before=pl.format(
            "{} {}",
            pl.when(pl.col("own")).then(pl.lit("C")).otherwise(pl.lit("D")),
            pl.when(pl.col("other")).then(pl.lit("C")).otherwise(pl.lit("D")),
        )
        .shift(1)
        .over("seat")
    )
    table = (
        after.with_columns(pl.col("before").fill_null("first round"))
        .group_by("before")
        .agg(pl.len().alias("rounds"), pl.col("own").mean().alias("cooperated"))
        .sort("before")
    )
    note = "C C: both cooperated; C D: the model did and the other did not. Tit for tat is 1, 0, 1, 0."
    return ReportTable("How the model played, by the round before", table, note)


def _opponents(people: pl.DataFrame, rounds: int) -> ReportTable:
    """What the model earned and did against each opponent."""
    table = _means(people.filter("model_seat"), "opponent", rounds)
    return ReportTable("The model against each opponent", table)


def _means(people: pl.DataFrame, by: str, rounds: int) -> pl.DataFrame:
    return people.group_by(by, maintain_order=True).agg(
        score=pl.col("score").mean() / rounds, cooperation=pl.col("cooperated").mean() / rounds
    )
