"""What a run in a shop shows: how far people got, and what they did. And its sessions, as a log has them."""

import polars as pl

from populace.base.errors import WorldError
from populace.engine.report_table import ReportTable
from populace.runs.reader import RunReader
from populace.scenarios.shop.wording import MOST_DEEDS
from populace.worlds.web.sessions import WebSessions
from populace.worlds.web.shoppers import SHOPPER_PROFILE, shopper_profiles

_STAGES = {
    "searched or chose a category": "<h1>Results for ",
    "opened a product": 'name="product.add_to_cart"',
    "had something in the cart": 'name="cart.check_out"',
    "went to the checkout": 'name="checkout.place_order"',
}


def shop_report(run: RunReader) -> list[ReportTable]:
    """How far people got, and what they did."""
    actions = run.history("actions")
    if not actions.height:
        return []
    people = run.people().frame
    count = people.height
    reached = [
        actions.filter(pl.col("page").str.contains(mark, literal=True))["person"].n_unique()
        for mark in _STAGES.values()
    ]
    outcomes = people["outcome"].cast(pl.String)
    rows = {
        "visited": count,
        **dict(zip(_STAGES, reached, strict=True)),
        "bought": int((outcomes == "purchase").sum()),
        "left without buying": int((outcomes == "terminate").sum()),
    }
    funnel = pl.DataFrame({"people who": list(rows), "number": list(rows.values())})
    funnel = funnel.with_columns(share=(pl.col("number") / count).round(3))
    kinds = actions.with_columns(pl.col("action").fill_null("(none)"))
    table = kinds.group_by("action", "status").agg(pl.len().alias("number")).sort("action", "status")
    note = f"People are told their last {MOST_DEEDS} actions. A refused or invalid action changes nothing."
    return [
        ReportTable("How far people got", funnel, "Each line counts people who saw such a page."),
        ReportTable("What people did", table, note),
    ]


def run_sessions(run: RunReader, *, shop: str = "") -> WebSessions:
    """The sessions of a run of the scenario `shop`, in the form of a log; only what was done counts.

    Args:
        run: The run.
        shop: The name of the shop in the table; the name of the run by default.

    Raises:
        WorldError: If the run has no sessions.
    """
    actions = run.history("actions")
    if "page" not in actions.columns:
        raise WorldError(f"{run.name} is no run of the scenario shop.")
    done = actions.filter(pl.col("status") == "done").with_columns(pl.col("person").cast(pl.String))
    if not done.height:
        raise WorldError(f"nobody did anything in {run.name}.")
    people = run.people().frame
    profiles = people.select(
        pl.col("id").cast(pl.String).alias("person"),
        pl.col("outcome").cast(pl.String),
        shopper_profiles(people.drop("outcome"), f"You are {{name}}. {SHOPPER_PROFILE}"),
    )
    rows = done.rename({"step": "run step"}).join(profiles, on="person", how="left", maintain_order="left")
    rows = rows.sort("person", "run step", maintain_order=True)
    table = rows.select(
        "person",
        pl.col("person").alias("session"),
        pl.int_range(1, pl.len() + 1).over("person").cast(pl.Int64).alias("step"),
        "page", "action", "element", "text", "reasoning", "profile", "outcome",
        pl.lit(shop or run.name).alias("shop"),
    )  # fmt: skip
    return WebSessions.from_table(table, where=run.name)
