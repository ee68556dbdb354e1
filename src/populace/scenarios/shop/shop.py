"""Shoppers use a web shop, page by page, until they buy or leave.

The world is that of Lu and others, arXiv 2503.20749: simplified pages, and the three actions of a browser. A step is
one action of everybody whose session is not over.
"""

import functools
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar

import numpy as np
import polars as pl

from populace.engine.scenario import Field, ReportTable, Scenario, metric
from populace.minds import WEB_ACTIONS, Actions, Acts, Mind
from populace.people import People
from populace.runs.reader import RunReader
from populace.scenarios.shop.report import shop_report
from populace.scenarios.shop.wording import SITUATION, THINKING, THOUGHT, deed_lines, deed_texts
from populace.worlds.web.catalogue import CatalogueFile
from populace.worlds.web.session_generator import action_columns
from populace.worlds.web.shop import NOTHING, PageEffect, ShopDesign, SortOrder, View, WebShop
from populace.worlds.web.shop_generator import generate_catalogue
from populace.worlds.web.shopper_rule import ShopperRule
from populace.worlds.web.shoppers import SHOPPER_PROFILE, draw_preferences, draw_wishes, shopper_columns
from populace.worlds.web.storefront import Storefront


class Shop(Scenario):
    """People with preferences of their own use a web shop until they buy or leave."""

    shoppers: int = Field(20, ge=1, description="How many people visit the shop.")
    actions: int = Field(25, ge=1, description="After how many actions the run ends at the latest.")
    categories: int = Field(4, ge=1, le=20, description="How many categories the made-up catalogue has.")
    products: int = Field(8, ge=1, le=100, description="How many products each category has.")
    catalogue: CatalogueFile | None = Field(
        None, description="A CSV, JSONL or Parquet file with the catalogue; otherwise it is made up."
    )
    results_per_page: int = Field(5, ge=1, le=10, description="How many products a page of results shows.")
    first_sort: SortOrder = Field("relevance", description="The order of results before anybody sorts them.")
    shipping: float = Field(4.9, ge=0, le=1000, description="What shipping costs.")
    shipping_early: bool = Field(False, description="Say what shipping costs on every page, not only at checkout.")
    ratings: bool = Field(True, description="Whether results show ratings; product pages always do.")
    notice: str = Field("", max_length=300, description="A line at the top of every page.")
    reasoning: bool = Field(False, description="Let people think in one sentence before each action.")

    tick: ClassVar[timedelta] = timedelta(seconds=20)
    chart: ClassVar[tuple[str, ...]] = ("bought", "left", "with_cart")

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        if self.catalogue is not None:
            self.catalogue.catalogue()  # What is wrong with it is said before a run begins.

    def setup(self) -> People:
        """The shop is stocked, and everybody comes with preferences and a wish."""
        design = ShopDesign(
            self.results_per_page, self.first_sort, self.shipping, self.shipping_early, self.ratings, self.notice
        )
        goods = generate_catalogue(self.rng, self.categories, self.products)
        if self.catalogue is not None:
            goods = self.catalogue.catalogue()
        people = People.named(self.shoppers, seed=self.rng)
        wishes = draw_wishes(draw_preferences(self.shoppers, self.rng), goods, self.rng)
        self.front = Storefront(WebShop("Harbour Goods", goods, design), people.ids)
        self.rule = ShopperRule(self.front, wishes)
        self.deeds = pl.Series([[]] * self.shoppers, dtype=pl.List(pl.String))
        self.counts = {"done": 0, "refused": 0, "invalid": 0}
        self.mind = Mind(
            f"You are {{name}}. {SHOPPER_PROFILE}", actions=Actions(WEB_ACTIONS, self.front, waiting=False)
        )
        return people.with_columns(**shopper_columns(wishes).to_dict(), outcome=pl.lit("", pl.String))

    async def step(self) -> None:
        """Everybody whose session is not over acts once."""
        rows = np.flatnonzero(~self.front.ended)
        some = self.people.rows(rows)
        fields: dict[str, Any] = {
            "page": self.front.page_texts(some.ids),
            "deeds": self.deeds[pl.Series(rows)].to_frame("lines").select(deed_texts(pl.col("lines"))).to_series(),
        }
        given, thoughts = SITUATION, pl.Series([None] * len(rows), dtype=pl.String)
        if self.reasoning:
            answers = await self.ask(some, THINKING, given=SITUATION, purpose="reasoning", rule=_no_thought, **fields)
            thoughts = answers.values.cast(pl.String)
            given, fields["thought"] = SITUATION + THOUGHT, thoughts.fill_null("(no thought)")
        before = self.front.view[rows]
        assert self.mind.actions is not None
        acts = await self.mind.actions.take(self, some, given=given, rule=self._rule(rows), **fields)
        self._record(rows, before, fields["page"], thoughts, acts)

    def length(self) -> int:
        """One step is one action of everybody."""
        return self.actions

    def stop(self) -> str | None:
        """The run ends when nobody is in the shop."""
        return "every session is over" if self.front.ended.all() else None

    def _rule(self, rows: np.ndarray[Any, np.dtype[np.int64]]) -> Callable[[People, str], pl.Series]:
        """The rule twin: everybody acts by their preferences, computed when somebody first needs it."""
        draws = self.rng.random(len(rows))

        @functools.cache
        def intended() -> pl.DataFrame:
            plan = self.rule.intentions(rows)
            columns = action_columns(self.front, rows, plan, plan.pick(draws))
            return columns.with_columns(pl.col("action").str.replace_all("_", " "), id=self.front.ids[pl.Series(rows)])

        def rule(people: People, argument: str) -> pl.Series:
            mine = pl.DataFrame({"id": people.ids}).join(intended(), on="id", how="left", maintain_order="left")
            return mine[argument or "action"]

        return rule

    def _record(
        self,
        rows: np.ndarray[Any, np.dtype[np.int64]],
        before: np.ndarray[Any, np.dtype[np.int64]],
        pages: pl.Series,
        thoughts: pl.Series,
        acts: Acts,
    ) -> None:
        """Put what everybody did into tables, and let them remember it."""
        fields = [{} if action is None else action.model_dump() for action in acts.actions]
        table = pl.DataFrame(
            {
                "person": acts.ids,
                "page": pages,
                "action": pl.Series(
                    [None if action is None else action.method() for action in acts.actions], dtype=pl.String
                ),
                "element": pl.Series([each.get("element") for each in fields], dtype=pl.String),
                "text": pl.Series([each.get("text") for each in fields], dtype=pl.String),
                "reasoning": thoughts,
                "status": pl.Series(acts.status, dtype=pl.String),
            }
        )
        for status, number in table["status"].value_counts().iter_rows():
            self.counts[status] += number
        done = (table["status"] == "done").to_numpy()
        line = table.select(deed_lines(*map(pl.col, ("action", "element", "text", "reasoning")))).to_series()
        lines = pl.Series([None] * self.shoppers, dtype=pl.String)
        lines = lines.scatter(rows[done].tolist(), line.filter(pl.Series(done)))
        both = pl.DataFrame({"old": self.deeds, "new": lines})
        more = pl.when(pl.col("new").is_null()).then("old").otherwise(pl.concat_list("old", "new"))
        self.deeds = both.select(more.alias("deeds")).to_series()
        self._note(rows[done], before[done], (table["action"] == "type_and_submit").to_numpy()[done])
        outcomes = np.select([self.front.ordered, self.front.terminated], ["purchase", "terminate"], "")
        self.people["outcome"] = pl.Series(outcomes.astype(str))
        self.tables["actions"] = table
        self.tables["visitors"] = self.front.table()

    def _note(
        self,
        rows: np.ndarray[Any, np.dtype[np.int64]],
        before: np.ndarray[Any, np.dtype[np.int64]],
        searched: np.ndarray[Any, np.dtype[np.bool_]],
    ) -> None:
        """Let the rule know which products were viewed and what was searched, whoever decided it."""
        viewing = (self.front.view[rows] == View.PRODUCT) & (before != View.PRODUCT)
        effects = np.where(viewing, PageEffect.VIEW, np.where(searched, PageEffect.SEARCH, PageEffect.GO_HOME)).astype(
            np.int64
        )
        about = np.where(viewing, self.front.product[rows], self.front.query[rows])
        self.rule.note(rows, effects, about)

    @metric
    def bought(self) -> float:
        """The share of people who bought something."""
        return float(self.front.ordered.mean())

    @metric
    def left(self) -> float:
        """The share of people who left without buying."""
        return float(self.front.terminated.mean())

    @metric
    def with_cart(self) -> float:
        """The share of people who ever put something into the cart and have it there now, buyers included."""
        return float((self.front.cart != NOTHING).any(1).mean())

    @metric
    def abandoned(self) -> float | None:
        """Of the people who left, the share who left something in the cart; none while nobody has left."""
        gone = self.front.terminated
        return float((self.front.cart[gone] != NOTHING).any(1).mean()) if gone.any() else None

    @metric
    def revenue(self) -> float:
        """What was sold so far, without shipping."""
        carts = self.front.cart[self.front.ordered]
        prices = self.front.shop.catalogue.prices
        return round(float(np.where(carts == NOTHING, 0.0, prices[carts]).sum()), 2)

    @metric
    def mean_length(self) -> float | None:
        """The mean number of actions in sessions that are over; none while there are none."""
        ended = pl.Series(self.front.ended)
        mean = self.deeds.list.len().filter(ended).mean()
        return float(mean) if isinstance(mean, (int, float)) else None

    @metric
    def refused(self) -> int:
        """How many actions the shop refused so far."""
        return self.counts["refused"]

    @metric
    def invalid_actions(self) -> int:
        """How often somebody chose no valid action so far."""
        return self.counts["invalid"]

    def view(self) -> list[str]:
        """How many people are on each page."""
        where = np.where(self.front.terminated, len(View), self.front.view)
        counts = np.bincount(where, minlength=len(View) + 1).tolist()
        names = [*(view.name.lower() for view in View), "left"]
        return [f"{name:<9} {count:>5}  {'█' * min(count, 60)}" for name, count in zip(names, counts, strict=True)]

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """How far people got, and what they did."""
        return shop_report(run)


def _no_thought(people: People) -> pl.Series:
    """The rule twin thinks nothing in words."""
    return pl.Series(["I do what suits me."] * len(people))
