"""Sessions of shoppers with known preferences in made-up shops: the truth behind every action is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import WorldError
from populace.base.randomness import path_key, person_keys, stream, uniforms
from populace.worlds.web.sessions import WebSessions
from populace.worlds.web.shop import SEARCH, PageEffect, ShopDesign, WebShop
from populace.worlds.web.shop_generator import generate_shop
from populace.worlds.web.shopper_rule import LEAVE, Intentions, ShopperRule
from populace.worlds.web.shoppers import draw_preferences, draw_wishes, shopper_profiles
from populace.worlds.web.storefront import Storefront

Ints = npt.NDArray[np.int64]

LONGEST_SESSION = 40
"""After so many actions a session is cut off; its outcome is then unknown."""


def generate_sessions(
    people: int,
    *,
    shops: int = 5,
    visits: int = 2,
    seed: int = 0,
    categories: int = 4,
    products: int = 8,
    design: ShopDesign | None = None,
) -> WebSessions:
    """Sessions of people with known preferences in made-up shops.

    Args:
        people: How many people.
        shops: How many shops; everybody visits as many of them as `visits` says.
        visits: How many shops each person visits, once each.
        seed: The seed of everything that is drawn.
        categories: How many categories each shop has.
        products: How many products each category has.
        design: How the shops present what they sell.

    Returns:
        The sessions. Beside the columns that every log has, `likely_action`, `likely_element` and `likely_text` are the
        action that the person's preferences make likeliest, and `chance` is the probability of the one that was taken.

    Example:
        >>> sessions = generate_sessions(20, shops=3, seed=1)
        >>> sessions.table["session"].n_unique()
        40
    """
    if people < 1 or not 1 <= visits <= shops:
        raise WorldError(
            f"{people} people with {visits} visits each in {shops} shops make no sessions.",
            "Take 1 person or more, and at most as many visits as shops.",
        )
    preferences = draw_preferences(people, stream(seed, "web/preferences"))
    chosen = stream(seed, "web/visits").random((people, shops)).argsort(axis=1)[:, :visits]
    tables = []
    for number in range(shops):
        who = np.flatnonzero((chosen == number).any(1))
        if len(who):
            shop = generate_shop(number, seed, categories=categories, products=products, design=design)
            tables.append(_shop_sessions(shop, number, who, preferences[pl.Series(who)], seed))
    return WebSessions.from_table(pl.concat(tables))


def _shop_sessions(shop: WebShop, number: int, who: Ints, preferences: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The sessions of some people in one shop."""
    shoppers = draw_wishes(preferences, shop.catalogue, stream(seed, f"web/wishes/{number}"))
    sessions = pl.Series([f"{number}-{person}" for person in who.tolist()])
    front = Storefront(shop, sessions)
    rule = ShopperRule(front, shoppers)
    keys = person_keys(sessions)
    names = pl.DataFrame(
        {
            "person": pl.Series([f"person {person}" for person in who.tolist()]),
            "shop": shop.name,
            "session": sessions,
            "profile": shopper_profiles(shoppers),
        }
    )
    steps = []
    for step in range(1, LONGEST_SESSION + 1):
        rows = np.flatnonzero(~front.ended)
        if not len(rows):
            break
        plan = rule.intentions(rows)
        places = plan.pick(uniforms(path_key(seed, f"web/action/{number}/{step}"), keys[rows]))
        taken = action_columns(front, rows, plan, places)
        likely = action_columns(front, rows, plan, plan.likeliest()).drop("page")
        steps.append(
            names[pl.Series(rows)].with_columns(
                pl.lit(step).cast(pl.Int64).alias("step"),
                *taken,
                *(column.alias(f"likely_{column.name}") for column in likely),
                pl.Series("chance", plan.chances[np.arange(len(rows)), places]),
            )
        )
        every = np.arange(len(rows))
        effects, about = plan.effects[every, places], plan.about[every, places]
        front.terminated[rows[effects == LEAVE]] = True
        front.use(rows, effects, about)
        rule.note(rows, effects, about)
    ends = pl.DataFrame(
        {
            "session": sessions,
            "outcome": pl.Series(np.select([front.ordered, front.terminated], ["purchase", "terminate"], "")),
        }
    )
    table = pl.concat(steps).join(ends, on="session", how="left", maintain_order="left")
    return table.sort("session", "step", maintain_order=True)


def action_columns(front: Storefront, rows: Ints, plan: Intentions, places: Ints) -> pl.DataFrame:
    """The page that each visitor sees, and the action at a place of their plan: `action`, `element` and `text`."""
    pages, of_visitor = front.pages(rows)
    every = np.arange(len(rows))
    effects, about = plan.effects[every, places], plan.about[every, places]
    known = [
        (code, int(effect), thing, element.name)
        for code, page in enumerate(pages)
        for element, (effect, thing) in zip(page.page.elements, page.effects, strict=True)
        if element.name != SEARCH
    ]
    # Two elements of a page may do the same; the later one stands in its body rather than in its header.
    elements = pl.DataFrame(
        known, schema={"code": pl.Int64, "effect": pl.Int64, "about": pl.Int64, "element": pl.String}, orient="row"
    ).unique(["code", "effect", "about"], keep="last", maintain_order=True)
    wanted = pl.DataFrame({"code": of_visitor, "effect": effects, "about": about})
    searching = pl.col("effect") == int(PageEffect.SEARCH)
    steps = wanted.join(elements, on=["code", "effect", "about"], how="left", maintain_order="left")
    queries = pl.Series([*front.shop.queries, ""], dtype=pl.String)
    asked = np.where(effects == PageEffect.SEARCH, about, -1)
    texts = pl.Series("page", [page.page.html for page in pages], dtype=pl.String)
    kinds = pl.when(pl.col("effect") == LEAVE).then(pl.lit("terminate"))
    return steps.select(
        page=texts[pl.Series(of_visitor)],
        action=kinds.when(searching).then(pl.lit("type_and_submit")).otherwise(pl.lit("click")),
        element=pl.when(searching).then(pl.lit(SEARCH)).otherwise("element"),
        text=pl.when(searching).then(queries[pl.Series(asked % len(queries))]),
    )
