"""Made-up shops and catalogues, each from a seed and its number alone."""

import functools
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import WorldError
from populace.base.randomness import stream
from populace.worlds.web.catalogue import ProductCatalogue
from populace.worlds.web.shop import ShopDesign, WebShop


@functools.cache
def shop_words() -> dict[str, Any]:
    """The words that shops and products are made of."""
    return tomllib.loads((Path(__file__).parent / "shop_words.toml").read_text(encoding="utf-8"))


def generate_catalogue(rng: np.random.Generator, categories: int = 4, products: int = 8) -> ProductCatalogue:
    """A catalogue of made-up products.

    Args:
        rng: Draws categories, names, prices and ratings.
        categories: How many categories.
        products: How many products in each.

    Example:
        >>> len(generate_catalogue(np.random.default_rng(1), categories=2, products=3))
        6
    """
    words = shop_words()
    known = list(words["categories"])
    pairs = len(words["brands"]) * len(words["adjectives"])
    if not 1 <= categories <= len(known) or not 1 <= products <= pairs:
        raise WorldError(
            f"a catalogue of {categories} categories with {products} products each cannot be made.",
            f"Take 1 to {len(known)} categories with 1 to {pairs} products.",
        )
    chosen = [known[number] for number in rng.choice(len(known), categories, replace=False).tolist()]
    category = np.repeat(np.arange(categories), products)
    names = np.concatenate([rng.choice(pairs, products, replace=False) for _ in chosen])
    brand, adjective = np.divmod(names, len(words["adjectives"]))
    count = categories * products
    base = np.array([words["categories"][name][1] for name in chosen], np.float64)[category]
    table = pl.DataFrame(
        {
            "name": pl.Series(words["brands"])[pl.Series(brand)]
            + " "
            + pl.Series(words["adjectives"])[pl.Series(adjective)]
            + " "
            + pl.Series([words["categories"][name][0] for name in chosen])[pl.Series(category)],
            "category": pl.Series(chosen)[pl.Series(category)],
            "price": np.round(base * np.exp(0.35 * rng.standard_normal(count)), 1) + 0.09,
            "rating": np.round(np.clip(2.6 + 2.4 * rng.beta(3, 2, count), 1, 5), 1),
            "reviews": np.round(np.exp(rng.normal(4, 1.2, count))),
        }
    )
    return ProductCatalogue.from_table(table[pl.Series(rng.permutation(count))])


def generate_shop(
    number: int, seed: int, *, categories: int = 4, products: int = 8, design: ShopDesign | None = None
) -> WebShop:
    """The made-up shop of a number; the same for the same seed, whatever other shops there are.

    Example:
        >>> generate_shop(3, seed=1).name == generate_shop(3, seed=1).name
        True
    """
    rng = stream(seed, f"web/shop/{number}")
    names = shop_words()["shops"]
    order = stream(seed, "web/shops").permutation(len(names))
    turn, place = divmod(number, len(names))
    name = names[int(order[place])] + (f" {turn + 1}" if turn else "")
    return WebShop(name, generate_catalogue(rng, categories, products), design or ShopDesign())
