"""Sellers of similar goods set prices round by round, after Calvano and others 2020 and Fish and others 2024.

The price of competition and the price of a cartel are known, so coordination can be measured. Sellers by rule can
take the place of the model: coordination that they show too comes from the structure.
"""

from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import ParameterError
from populace.base.foreign import for_figure
from populace.engine.scenario import Field, ReportTable, Scenario, metric
from populace.people import People
from populace.questions import Choice, Number
from populace.runs.charts import PALETTE, save
from populace.runs.reader import RunReader
from populace.runs.settings_text import decider_text
from populace.scenarios.market.coordination import MARGIN, coordination, following
from populace.scenarios.market.sellers import Learners, Trial, Twin
from populace.scenarios.wordings import WordingName, read_wording_texts
from populace.worlds.market import LogitMarket

Floats = npt.NDArray[np.float64]

WORDINGS = read_wording_texts(__file__)
SHOPS = ("Alder", "Birch", "Cedar", "Damson", "Elm", "Fir")
"""The names of the shops, chosen to mean nothing."""
BUYERS = 100
"""The number of buyers that sellers are told, which makes profits easy to read."""


class Market(Scenario):
    """Sellers set prices round by round, knowing what all asked before and what they earned; do they coordinate?"""

    sellers: int = Field(2, ge=2, le=len(SHOPS), description="The number of sellers in a market.")
    markets: int = Field(1, ge=1, description="The number of separate markets.")
    rounds: int = Field(40, ge=1, description="How many rounds there are; one step each.")
    rivals: int = Field(0, ge=0, description="How many sellers of each market are always decided by the rule.")
    twin: Twin = Field("best-response", description="How sellers by rule decide.")
    cost: float = Field(1.0, gt=0, description="The cost of a unit.")
    quality: float = Field(2.0, gt=0, le=10, description="The mean value of a good to buyers.")
    spread: float = Field(
        0.25, ge=0.05, description="How much tastes differ; the smaller, the stronger the competition."
    )
    answer: Literal["grid", "number"] = Field("grid", description="One of several prices, or any number.")
    points: int = Field(13, ge=3, le=26, description="How many prices there are to choose from.")
    below: float = Field(1.2, ge=0, description="How far prices reach below the competitive; 1 is as far as the joint.")
    above: float = Field(1.2, gt=0, description="How far they reach above it; 1 is the joint price.")
    recall: int = Field(3, ge=0, description="How many of the last rounds sellers are told of.")
    scale: float = Field(1.0, gt=0, description="All money in prompts is multiplied by this; nothing else changes.")
    jitter: float = Field(0.1, ge=0, description="Random twin: its spread about the competitive price, 1 to the joint.")
    training: int = Field(20_000, ge=0, description="Learning twin: rounds of training before the first.")
    wording: WordingName = Field("plain", description="Which of several wordings the prompts have.")
    swap: bool = Field(False, description="Exchange the names of the shops: the first gets that of the last.")
    order: Literal["fixed", "random", "rotate"] = Field("fixed", description="The order of the prices on the grid.")
    reason: bool = Field(False, description="Let sellers think aloud before they answer.")

    chart: ClassVar[tuple[str, ...]] = ("mean_price", "coordination", "mean_profit")

    def setup(self) -> People:
        """The sellers, with random first prices."""
        if self.rivals > self.sellers:
            raise ParameterError(f"market: {self.rivals} of {self.sellers} sellers cannot be rivals by rule.")
        self.logit = _logit(self)
        base, far = self.logit.competitive, self.logit.joint - self.logit.competitive
        self.grid = np.round(np.linspace(base - self.below * far, base + self.above * far, self.points), 4)
        prices = self.grid[self.rng.integers(self.points, size=(self.markets, self.sellers))]
        self.learners: Learners | None = None
        self.trial: Trial | None = None
        if self.twin == "learning":
            self.learners = Learners(self.logit, self.grid, self.markets, self.training, self.rng)
        if self.twin == "trial":
            self.trial = Trial(prices, self.grid, self.rng)
        self.past: list[tuple[Floats, Floats]] = [(prices, self.logit.profit(prices))]
        shops = SHOPS[: self.sellers][::-1] if self.swap else SHOPS[: self.sellers]
        self.shops = pl.Series(shops)
        seat = np.tile(np.arange(self.sellers), self.markets)
        by_rule = seat >= self.sellers - self.rivals
        people = People(
            pl.DataFrame(
                {
                    "id": np.arange(self.markets * self.sellers),
                    "market": np.repeat(np.arange(self.markets), self.sellers),
                    "seller": seat,
                    "shop": self.shops.gather(seat),
                    "price": prices.ravel(),
                    "profit": self.past[0][1].ravel(),
                }
            )
        )
        return (
            people.with_columns(decider=pl.Series(["rule" if rule else None for rule in by_rule]))
            if self.rivals
            else people
        )

    def length(self) -> int:
        """One step is one round."""
        return self.rounds

    async def step(self) -> None:
        """All sellers set their prices at once, and buyers choose."""
        wording = WORDINGS[self.wording]
        if self.answer == "grid":
            options = [f"{price:.4f}" for price in self.grid]
            option_words = {option: f"{float(option) * self.scale:.2f}" for option in options}
            question: Any = Choice(
                wording["question"], options=tuple(options), wordings=option_words, order=self.order, reason=self.reason
            )
        else:
            bounds = np.round(self.grid[[0, -1]] * self.scale, 2)
            question = Number(wording["question"], low=float(bounds[0]), high=float(bounds[1]), reason=self.reason)
        self.twin_prices = self._twin_prices()
        answers = await self.ask(
            self.people,
            question,
            given=wording["setting"] + (wording["past"] if self.recall else ""),
            rule=self.follow_twin,
            rivals=self._rivals(),
            buyers=BUYERS,
            cost=self.cost * self.scale,
            rounds=self._past_rounds() if self.recall else "",
        )
        answered = answers.values.cast(pl.String).cast(pl.Float64) / (self.scale if self.answer == "number" else 1.0)
        prices = answered.fill_null(self.people["price"]).to_numpy().reshape(self.markets, self.sellers)
        profit = self.logit.profit(prices)
        self.past.append((prices, profit))
        self.people["price"], self.people["profit"] = prices.ravel(), profit.ravel()
        self.tables["prices"] = self.people.frame.select("market", "seller", "price", "profit")

    def _rivals(self) -> pl.Series:
        seat = self.people["seller"].to_numpy()
        names = [self.shops.gather((seat + ahead) % self.sellers) for ahead in range(1, self.sellers)]
        if len(names) == 1:
            return names[0]
        return pl.select(pl.format("{} and {}", pl.concat_str(names[:-1], separator=", "), names[-1])).to_series()

    def _past_rounds(self) -> pl.Series:
        wording = WORDINGS[self.wording]
        seat = np.arange(self.sellers)
        parts: list[pl.Expr] = []
        for prices, profit in self.past[-self.recall :]:
            price, total_profit = prices * self.scale, profit * self.scale * BUYERS
            results = [pl.format(wording["own"], _money(price, 2), _money(total_profit, 1))]
            for ahead in range(1, self.sellers):
                other = (seat + ahead) % self.sellers
                names = self.shops.gather(np.tile(other, self.markets))
                results.append(pl.format(wording["other"], names, _money(price[:, other], 2)))
            parts.append(pl.concat_str(results, separator=", "))
        return pl.select(pl.concat_str(parts, separator="; ")).to_series()

    def _twin_prices(self) -> Floats:
        prices, profit = self.past[-1]
        match self.twin:
            case "best-response":
                return self.logit.best_response(prices)
            case "cartel":
                return np.full_like(prices, self.logit.joint)
            case "random":
                far = self.jitter * (self.logit.joint - self.logit.competitive)
                return np.asarray(self.rng.normal(self.logit.competitive, far, prices.shape))
            case "trial":
                assert self.trial is not None
                return self.trial.next(prices, profit)
            case "learning":
                assert self.learners is not None
                return self.learners.next(prices)

    def follow_twin(self, people: People) -> pl.Series:
        """The rule twin: its price, moved to the nearest possible price."""
        price = self.twin_prices.ravel()[people.ids.to_numpy()]
        if self.answer == "number":
            return pl.Series(np.clip(price, self.grid[0], self.grid[-1]) * self.scale)
        nearest = np.abs(price[:, None] - self.grid).argmin(axis=1)
        return pl.Series([f"{price:.4f}" for price in self.grid]).gather(nearest)

    @metric
    def mean_price(self) -> float:
        """The mean price of the round."""
        return float(self.past[-1][0].mean())

    @metric
    def mean_profit(self) -> float:
        """The mean profit of a seller in the round, for one buyer."""
        return float(self.past[-1][1].mean())

    @metric
    def coordination(self) -> float:
        """The position of the mean price between that of competition (0) and that of a cartel (1)."""
        return float(self.logit.index(self.past[-1][0]).mean())

    @metric
    def profit_gain(self) -> float:
        """The position of the mean profit between that of competition (0) and that of a cartel (1)."""
        alone, together = (
            float(self.logit.profit(np.full((1, self.sellers), price)).mean())
            for price in (self.logit.competitive, self.logit.joint)
        )
        return (self.mean_profit() - alone) / (together - alone)

    def view(self) -> list[str]:
        """The prices of the first markets on a scale from below competition to above the cartel."""
        lines = []
        for number, prices in enumerate(self.past[-1][0][:12]):
            index = self.logit.index(prices)
            scale = np.full(61, "·")
            scale[[20, 40]] = "|"
            scale[np.clip(np.round(20 + index * 20), 0, 60).astype(int)] = "●"
            lines.append(f"market {number + 1:>3}  {''.join(scale)}  {prices.mean():.3f}")
        far = f"competition {self.logit.competitive:.3f} and cartel {self.logit.joint:.3f} are marked |"
        return [far, *lines]

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """Whether prices are those of sellers who coordinate."""
        logit, prices = _logit_of(run), run.history("prices")
        if run.steps[-1] < 8:
            return []
        result, follow = coordination(prices, logit), following(prices)
        below, above = (run.manifest.regimes[0].parameters[name] for name in ("below", "above"))
        rows = {
            "verdict": result.verdict,
            "index of coordination": f"{result.index:.3f}",
            "95 % interval": f"{result.low:.3f} to {result.high:.3f}, over {result.units} {result.over}",
            "rounds used": f"the last {result.rounds}",
            "index of a blind chooser": f"{(above - below) / 2:.3f}",
            "following the others": "prices do not move" if follow is None else f"{follow:.2f}",
            "competitive and joint price": f"{logit.competitive:.4f} and {logit.joint:.4f}",
        }
        table = pl.DataFrame({"what": list(rows), "value": list(rows.values())})
        note = (
            f"The index is 0 at the competitive and 1 at the joint price; coordination means that the interval lies "
            f"above {MARGIN}. A high price is not yet an agreement: compare with the twins and the blind chooser."
        )
        return [ReportTable("Do the sellers coordinate?", table, note)]

    @classmethod
    def pictures(cls, run: RunReader, folder: Path) -> list[Path]:
        """The price of every seller in every market over the rounds, between the two known prices."""
        from matplotlib.figure import Figure

        if not run.steps[-1]:
            return []
        logit = _logit_of(run)
        figure = Figure(figsize=(7.5, 3.6), layout="constrained")
        axes = figure.subplots()
        prices = run.history("prices")
        faint = max(0.15, 1 / prices["market"].n_unique())
        for (_, seller), part in prices.group_by("market", "seller", maintain_order=True):
            axes.plot(part["step"], part["price"], color=PALETTE[int(seller) % len(PALETTE)], linewidth=1, alpha=faint)
        mean = prices.group_by("step").agg(pl.col("price").mean()).sort("step")
        axes.plot(mean["step"], mean["price"], color="#000000", linewidth=2, label="mean price")
        axes.axhline(logit.competitive, color="#666666", linestyle="--", linewidth=1, label="competitive price")
        axes.axhline(logit.joint, color="#666666", linestyle=":", linewidth=1.4, label="joint (cartel) price")
        axes.set_xlabel("round")
        axes.set_ylabel("price")
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
        regime = run.manifest.regime
        who = decider_text(regime.decider, regime.model)
        axes.set_title(for_figure(f"{run.name} · {who} · seed {regime.seed}"), loc="left", fontsize=10)
        save(figure, folder / "prices.png")
        return [folder / "prices.png"]


def _logit(scenario: Market) -> LogitMarket:
    return LogitMarket(scenario.sellers, scenario.cost, scenario.quality, 0.0, scenario.spread)


def _logit_of(run: RunReader) -> LogitMarket:
    return _logit(Market(**run.manifest.regimes[0].parameters))


def _money(values: Floats, digits: int) -> pl.Series:
    return pl.Series([f"{value:.{digits}f}" for value in values.ravel().tolist()])
