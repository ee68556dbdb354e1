"""The products of the demand study: 40 everyday goods with their regular prices, and average price elasticities."""

import functools
import tomllib
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.documents import DocumentError, read_text
from populace.base.errors import ParameterError, nearest
from populace.base.formatting import shortened
from populace.base.table_files import UNREADABLE, read_plain_table, reading_problem

COLUMNS = ("name", "description", "category", "unit", "price")
"""What a table of products holds."""
PRICE_POINTS = tuple(round(step * 0.2, 1) for step in range(11))
"""The levels of the study as multiples of the regular price: 0 to 200 % in 11 points."""
MAX_BYTES = 4_000_000
"""The largest table of products that is read."""
_OTHER = "other goods"
_HERE = Path(__file__).parent


def read_products(path: Path | None = None) -> pl.DataFrame:
    """A table of products: the 40 that ship, or those of a TOML or CSV file with the same columns.

    Example:
        >>> read_products().height
        40
    """
    source = path or _HERE / "products.toml"
    try:
        if source.suffix == ".toml":
            table = _table(tomllib.loads(read_text(source, most=MAX_BYTES)).get("product", []))
        else:
            table = read_plain_table(source, most=MAX_BYTES, flat=True, infer_schema_length=None)
    except (RecursionError, ValueError, *UNREADABLE) as error:
        raise ParameterError(
            f"{source} could not be read: {reading_problem(error)}.", "Write it as TOML or CSV in UTF-8."
        ) from error
    return check_products(table, str(source))


def _table(rows: Any) -> pl.DataFrame:
    """The products of a TOML file, as columns of texts; the price of each is read from its digits."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DocumentError("`product` is no list of products; each begins with [[product]]")
    for number, row in enumerate(rows, 1):
        wrong = next((name for name in COLUMNS if not isinstance(row.get(name, ""), str | int | float)), None)
        if wrong is not None:
            raise DocumentError(f"product {number}: `{wrong}` is neither a text nor a number")
    texts = [{name: str(row[name]) if name in row else None for name in COLUMNS} for row in rows]
    table = pl.DataFrame(texts, schema=dict.fromkeys(COLUMNS, pl.String))
    return table.select(name for name in COLUMNS if any(name in row for row in rows))


def check_products(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """The table with its columns in order; raises ParameterError where a product cannot be sold."""
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing or not table.height:
        what = f"has no column {missing[0]!r}" if table.height else "holds no products"
        raise ParameterError(f"{source} {what}.", f"A product has {', '.join(COLUMNS)}.")
    table = table.select(
        pl.col(name).cast(pl.Float64 if name == "price" else pl.String, strict=False) for name in COLUMNS
    )
    bad = table.filter(pl.col("price").is_null() | ~pl.col("price").is_finite() | (pl.col("price") <= 0))
    if bad.height:
        raise ParameterError(
            f"{source}: the regular price of {shortened(bad['name'][0])!r} is {bad['price'][0]}.",
            "It must be a number above zero: price points are shares of it.",
        )
    unnamed = table.filter(pl.any_horizontal(pl.col(c).is_null() | (pl.col(c) == "") for c in ("name", "unit")))
    if unnamed.height:
        raise ParameterError(f"{source}: a product has no name or no unit.", f"A product has {', '.join(COLUMNS)}.")
    twice = table.filter(pl.col("name").is_duplicated())
    if twice.height:
        raise ParameterError(
            f"{source}: the product {shortened(twice['name'][0])!r} is there twice.", "Names must differ."
        )
    return table


def choose_products(table: pl.DataFrame, names: tuple[str, ...]) -> pl.DataFrame:
    """Some of the products, by name; all where no name stands."""
    for name in names:
        if name not in table["name"]:
            guess = nearest(name, table["name"].to_list())
            raise ParameterError(
                f"there is no product {name!r}.", f"Did you mean {guess!r}?" if guess else "See the table of products."
            )
    return table.filter(pl.col("name").is_in(names)) if names else table


@functools.cache
def _elasticities() -> dict[str, Any]:
    return tomllib.loads((_HERE / "elasticities.toml").read_text("utf-8"))


def elasticity_of(category: str) -> float:
    """The published average price elasticity of a category; that of goods of all kinds where it is not listed.

    Example:
        >>> elasticity_of("fruit")
        -0.7
    """
    values: dict[str, float] = _elasticities()["food"]["values"] | _elasticities()["other"]["values"]
    return values.get(category, values[_OTHER])


def elasticity_source(category: str) -> str:
    """Where the elasticity of a category was published."""
    known = _elasticities()
    part: dict[str, Any] = known["food"] if category in known["food"]["values"] else known["other"]
    return str(part["source"])
