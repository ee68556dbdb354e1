"""People who shop, with preferences that are known: what they want, what they can spend, and how they go about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from populace.worlds.web.catalogue import ProductCatalogue

SHOPPER_PROFILE = (
    "You are shopping online for {wishes}. You want to spend at most ${budget} in all, shipping included, and you buy "
    "nothing rated below {least_rating} stars. {sorting_habit} {starting_habit} You look at no more than {patience} "
    "products for one purpose. {ending_habit}"
)
"""Who a shopper is, over the columns of `shopper_columns`."""

SORTING_HABITS = {
    "relevance": "You take results as they come.",
    "price": "You sort results by price first.",
    "rating": "You sort results by rating first.",
}
STARTING_HABITS = {True: "You start from the list of categories.", False: "You start with a search."}
ENDING_HABITS = {
    True: "You often change your mind shortly before you pay.",
    False: "You finish what you have begun.",
}


def draw_preferences(count: int, rng: np.random.Generator) -> pl.DataFrame:
    """What stays the same for a person from session to session.

    Returns:
        The columns `thrift` (their budget as a multiple of usual prices), `least_rating`, `sorting`, `browses`,
        `patience` and `hesitant`.
    """
    return pl.DataFrame(
        {
            "thrift": np.round(rng.uniform(0.8, 1.8, count), 2),
            "least_rating": np.round(rng.choice([3.0, 3.5, 4.0, 4.2], count), 1),
            "sorting": rng.choice(["relevance", "price", "rating"], count, p=[0.4, 0.35, 0.25]),
            "browses": rng.random(count) < 0.3,
            "patience": rng.integers(2, 6, count),
            "hesitant": rng.random(count) < 0.3,
        }
    )


def draw_wishes(preferences: pl.DataFrame, catalogue: ProductCatalogue, rng: np.random.Generator) -> pl.DataFrame:
    """What people come to a shop for: the preferences with `wish`, `second_wish` (empty for none) and `budget`."""
    count, categories = preferences.height, list(catalogue.categories)
    order = rng.random((count, len(categories))).argsort(axis=1)
    usual = catalogue.table.group_by("category", maintain_order=True).agg(pl.col("price").median())["price"].to_numpy()
    second = (rng.random(count) < 0.4) & (len(categories) > 1)
    other = order[:, 1 % len(categories)]
    amount = usual[order[:, 0]] + np.where(second, usual[other], 0.0)
    names = pl.Series(categories, dtype=pl.String)
    return preferences.with_columns(
        wish=names[pl.Series(order[:, 0])],
        second_wish=pl.Series(np.where(second, names[pl.Series(other)].to_numpy(), "").astype(str)),
        budget=pl.Series(np.maximum(np.round(amount * preferences["thrift"].to_numpy() + 5, -1), 10).astype(np.int64)),
    )


def shopper_columns(shoppers: pl.DataFrame) -> pl.DataFrame:
    """The preferences with the words for them that a profile needs: `wishes` and the three habits.

    Example:
        >>> from populace.worlds.web.shop_generator import generate_catalogue
        >>> rng = np.random.default_rng(1)
        >>> people = draw_wishes(draw_preferences(2, rng), generate_catalogue(rng), rng)
        >>> shopper_columns(people)["sorting_habit"][0]
        'You sort results by rating first.'
    """
    second = pl.when(pl.col("second_wish") == "").then(pl.lit("")).otherwise(" and then for " + pl.col("second_wish"))
    return shoppers.with_columns(
        wishes=pl.col("wish") + second,
        sorting_habit=pl.col("sorting").replace_strict(SORTING_HABITS, return_dtype=pl.String),
        starting_habit=pl.col("browses").replace_strict(STARTING_HABITS, return_dtype=pl.String),
        ending_habit=pl.col("hesitant").replace_strict(ENDING_HABITS, return_dtype=pl.String),
    )


def shopper_profiles(shoppers: pl.DataFrame, template: str = SHOPPER_PROFILE) -> pl.Series:
    """The profile of each shopper in words."""
    columns = shopper_columns(shoppers)
    pieces = template.replace("{", "\0").replace("}", "\0").split("\0")
    parts = [pl.col(piece).cast(pl.String) if place % 2 else pl.lit(piece) for place, piece in enumerate(pieces)]
    return columns.select(pl.concat_str(parts).alias("profile"))["profile"]


def wish_numbers(names: Sequence[str] | pl.Series, catalogue: ProductCatalogue) -> pl.Series:
    """The number of each category in a catalogue; -1 for one that it does not have."""
    known = {name: number for number, name in enumerate(catalogue.categories)}
    return pl.Series(names, dtype=pl.String).replace_strict(known, default=-1, return_dtype=pl.Int64)
