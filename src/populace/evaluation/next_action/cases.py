"""The cases of next-action prediction: a page, what the person did before, and what they did then."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from populace.base.errors import HumanDataError
from populace.minds.action_questions import MOST_OPTIONS
from populace.scenarios.shop.wording import deed_lines, deed_texts
from populace.worlds.web.page import WebPage
from populace.worlds.web.sessions import WebSessions

SOMEBODY = "You are a visitor of a web shop."
"""The profile of a person of whom nothing is known."""

KINDS = ("click", "type_and_submit", "terminate")


@dataclass(frozen=True)
class NextActionCases:
    """What people did on a page, to be predicted from what they saw and did before.

    Attributes:
        table: A row for each case: `case`, `person`, `session`, `step`, `profile`, `page`, `deeds` (what the person did
            before, in words), `deeds_with_thoughts` (the same with their recorded reasoning), `action`, `element`,
            `text`, `is_last` (whether the session ended with it) and `outcome` (of the session).
        pages: The distinct pages, read.
        purchase_elements: The elements whose click ends a session as a purchase.
        left_out: How many actions are no case because their page has more elements than one can choose from.

    Example:
        >>> from populace.worlds.web.session_generator import generate_sessions
        >>> cases = NextActionCases.from_sessions(generate_sessions(10, seed=1))
        >>> cases.table["step"].min(), cases.table["deeds"][0]
        (2, 'You typed "backpacks" into header.search.')
    """

    table: pl.DataFrame
    pages: dict[str, WebPage]
    purchase_elements: tuple[str, ...]
    left_out: int = 0

    def __len__(self) -> int:
        return self.table.height

    @classmethod
    def from_sessions(
        cls, sessions: WebSessions, *, purchase_elements: tuple[str, ...] | None = None, first: bool = False
    ) -> NextActionCases:
        """The cases of some sessions: every action but the first of each session, as in the published protocol.

        Args:
            sessions: The sessions.
            purchase_elements: The elements whose click is a purchase; by default those of these sessions.
            first: Whether the first action of a session is a case as well.
        """
        pages = sessions.pages()
        table = sessions.table.join(
            sessions.outcomes.select("session", "length", ended=pl.col("outcome")), on="session", maintain_order="left"
        )
        parts = (pl.col("action"), pl.col("element"), pl.col("text"))
        every = {"plain": deed_lines(*parts), "thoughtful": deed_lines(*parts, pl.col("reasoning"))}
        table = table.with_columns(**every)
        before = {
            name: deed_texts(pl.col(name).over("session", mapping_strategy="join").list.head(pl.col("step") - 1))
            for name in every
        }
        table = table.with_columns(deeds=before["plain"], deeds_with_thoughts=before["thoughtful"])
        if not first:
            table = table.filter(pl.col("step") > 1)
        count = table.height
        small = [html for html, page in pages.items() if max(len(page.clickable), len(page.inputs)) <= MOST_OPTIONS]
        table = table.filter(pl.col("page").is_in(small))
        if not table.height:
            raise HumanDataError("there is no action to predict.", "A session needs a second action.")
        truth = [name for name in table.columns if name.startswith("likely_")]
        table = table.select(
            pl.int_range(pl.len()).cast(pl.Int64).alias("case"),
            "person", "session", "step", pl.col("profile").fill_null(SOMEBODY), "page", "deeds", "deeds_with_thoughts",
            "action", "element", "text", (pl.col("step") == pl.col("length")).alias("is_last"),
            pl.col("ended").alias("outcome"), "reasoning", *truth,
        )  # fmt: skip
        bought = sessions.purchase_elements if purchase_elements is None else purchase_elements
        return cls(table, pages, bought, count - table.height)

    def take(self, most: int, *, seed: int = 0) -> NextActionCases:
        """At most so many cases, of people who are drawn at random: whole people where at least two fit."""
        people = self.table["person"].unique(maintain_order=True).sample(fraction=1.0, shuffle=True, seed=seed)
        sizes = self.table["person"].value_counts()
        counts = pl.DataFrame({"person": people}).join(sizes, on="person", how="left", maintain_order="left")["count"]
        enough = people.filter(counts.cum_sum() <= most)
        chosen = enough if enough.len() > 1 else people.head(2)
        rows = self.table.filter(pl.col("person").is_in(chosen.to_list())).head(most)
        return replace(self, table=rows)


def ending(table: pl.DataFrame, purchase_elements: tuple[str, ...], prefix: str = "") -> pl.Series:
    """What an action makes of a session: `purchase`, `terminate`, or null where it goes on."""
    action, element = pl.col(f"{prefix}action"), pl.col(f"{prefix}element")
    bought = (action == "click") & element.is_in(list(purchase_elements))
    expression = pl.when(action == "terminate").then(pl.lit("terminate")).when(bought).then(pl.lit("purchase"))
    return table.select(expression.alias("ending"))["ending"]


def action_category(table: pl.DataFrame, prefix: str = "") -> pl.Series:
    """What kind of action it is: for a click the last part of the element's name, such as `view`; else the action."""
    action, element = pl.col(f"{prefix}action"), pl.col(f"{prefix}element")
    last = element.str.split(".").list.last()
    expression = pl.when(action == "click").then(pl.concat_str(pl.lit("click "), last)).otherwise(action)
    return table.select(expression.fill_null("(none)").alias("category"))["category"]
