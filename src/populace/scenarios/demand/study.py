"""The demand study as a causal study: products, shoppers and price points, in every design."""

from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import ParameterError
from populace.causal.study import CausalStudy
from populace.causal.study_file import read_study_file
from populace.scenarios.demand.personas import TABLE
from populace.scenarios.demand.products import PRICE_POINTS, read_products

APPLE_STUDY = Path(__file__).with_name("apple.yaml")
"""The study of the apple data, without its people: they are those of the human table."""

PROFILE = (
    "You are a {gender} of {age} and live in {area}. Education: {education}. Work: {work}. "
    "There are {household} people in your household. Its income is ${income:,} a year."
)
"""The profile of the shoppers that ship; a table of one's own is listed column by column."""


def demand_study(
    products: pl.DataFrame | None = None,
    shoppers: pl.DataFrame | None = None,
    *,
    points: tuple[float, ...] = PRICE_POINTS,
    profile: str = "",
) -> CausalStudy:
    """The declaration of the demand study.

    Args:
        products: What is sold; the 40 products that ship by default.
        shoppers: Who is asked, a row each; the 500 personas that ship by default.
        points: The prices as multiples of the regular price.
        profile: Who a shopper is, as a template over their columns; by default all columns are listed.

    Example:
        >>> study = demand_study(read_products().head(2), points=(0.5, 1.0, 1.5))
        >>> [item["product"] for item in study.items], len(study.personas)
        (['orange juice', 'apple juice'], 500)
    """
    if any(point < 0 for point in points):
        raise ParameterError(f"a price of {100 * min(points):g} % of the regular price is below zero.")
    if shoppers is None:
        shoppers, profile = default_shoppers(), profile or PROFILE
    table = read_products() if products is None else products
    content: dict[str, Any] = read_study_file(Path(__file__).with_name("study.yaml"))
    content["treatment"] = content["treatment"] | {"levels": list(points)}
    content["items"] = (
        table.rename({"name": "product", "price": "regular"}).with_columns(item=pl.col("product")).to_dicts()
    )
    content["personas"] = shoppers.to_dicts()
    return CausalStudy.read(content | {"profile": profile})


def default_shoppers(count: int | None = None) -> pl.DataFrame:
    """The personas that ship, or the first of them."""
    table = pl.read_csv(TABLE)
    return table if count is None else table.head(count)
