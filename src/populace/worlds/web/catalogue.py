"""What a shop sells: products with category, price, rating and number of reviews, as columns."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
import pydantic

from populace.base.errors import WorldError
from populace.worlds.web.page import element_word, element_words
from populace.worlds.web.tables import LINE, read_web_table

Floats = npt.NDArray[np.float64]

MAX_CATALOGUE_BYTES = 64_000_000
MAX_PRODUCTS = 100_000

_TEXTS = ("name", "category")
_NUMBERS = {"price": None, "rating": 0.0, "reviews": 0.0}
"""The numbers of a product, and what stands for one that the table does not have."""


@dataclass(frozen=True)
class ProductCatalogue:
    """The products of a shop.

    Attributes:
        table: A row for each product: `name`, `category`, `price`, `rating` (0 to 5) and `reviews`.

    Example:
        >>> products = pl.DataFrame({"name": ["Tea Pot", "Cup"], "category": "kitchen", "price": [20.0, 5.0]})
        >>> ProductCatalogue.from_table(products).words
        ('tea_pot', 'cup')
    """

    table: pl.DataFrame

    def __len__(self) -> int:
        return self.table.height

    @classmethod
    def from_table(cls, table: pl.DataFrame, *, where: str = "the catalogue") -> ProductCatalogue:
        """A catalogue from a table with `name`, `category` and `price`, and, where they are known, `rating`, `reviews`.

        Raises:
            WorldError: If a column is missing, there is no product, a value is missing or no number, a price is below
                zero, a rating is outside 0 to 5, or two products have one name; the text names the line.
        """
        for name in (*_TEXTS, "price"):
            if name not in table.columns:
                raise WorldError(f"{where} has no column {name!r}.", "It needs name, category and price.")
        if not table.height:
            raise WorldError(f"{where} holds no product.")
        if LINE not in table.columns:
            table = table.with_row_index(LINE, offset=1)
        numbers = [
            pl.col(name).cast(pl.Float64, strict=False) if name in table.columns else pl.lit(default).alias(name)
            for name, default in _NUMBERS.items()
        ]
        table = table.select(LINE, *(pl.col(name).cast(pl.String).str.strip_chars() for name in _TEXTS), *numbers)
        texts = pl.any_horizontal(pl.col(*_TEXTS).is_null() | (pl.col(*_TEXTS) == ""))
        finite = pl.all_horizontal(pl.col(*_NUMBERS).is_finite().fill_null(False))
        normal = pl.col("name").map_elements(element_word, return_dtype=pl.String)
        problems = (
            (texts, "a product needs a name and a category"),
            (~finite, "price, rating and reviews of {name!r} must be numbers"),
            (pl.col("price") < 0, "the price of {name!r} is {price:g}, below zero"),
            (~pl.col("rating").is_between(0, 5), "the rating of {name!r} is {rating:g}, not between 0 and 5"),
            (pl.col("reviews") < 0, "{name!r} has {reviews:g} reviews, below zero"),
            (normal.is_duplicated() & (normal != ""), "two products have the name {name!r}"),
        )
        for wrong, problem in problems:
            rows = table.filter(wrong)
            if rows.height:
                row = rows.row(rows.height - 1 if "two products" in problem else 0, named=True)
                raise WorldError(f"{where}, line {row[LINE]}: {problem.format(**row)}.")
        return cls(table.drop(LINE))

    @classmethod
    def read(cls, path: str | Path) -> ProductCatalogue:
        """The catalogue in a CSV, JSONL or Parquet file with the columns of `from_table`."""
        path = Path(path)
        table = read_web_table(path, most=MAX_CATALOGUE_BYTES, rows=MAX_PRODUCTS)
        return cls.from_table(table, where=path.name)

    @functools.cached_property
    def words(self) -> tuple[str, ...]:
        """The names of the products as parts of names of elements."""
        return tuple(element_words(self.table["name"].to_list(), "product"))

    @functools.cached_property
    def categories(self) -> tuple[str, ...]:
        """The categories, in the order in which they first appear."""
        return tuple(self.table["category"].unique(maintain_order=True).to_list())

    @functools.cached_property
    def prices(self) -> Floats:
        """The prices."""
        return self.table["price"].to_numpy().astype(np.float64)

    @functools.cached_property
    def ratings(self) -> Floats:
        """The ratings."""
        return self.table["rating"].to_numpy().astype(np.float64)

    def names(self, products: Iterable[int]) -> list[str]:
        """The names of some products, by row."""
        return [self.table["name"][product] for product in products]

    def matches(self, query: str) -> npt.NDArray[np.int64]:
        """The products with a word of a query in their name or category: most words first, then most reviews."""
        wanted = [word for word in element_word(query).split("_") if word]
        counts = self._word_counts(wanted)
        order = np.lexsort((np.arange(len(self)), -self.table["reviews"].to_numpy(), -counts))
        rows: npt.NDArray[np.int64] = order[counts[order] > 0]
        return rows

    def _word_counts(self, wanted: list[str]) -> npt.NDArray[np.int64]:
        counts = np.zeros(len(self), np.int64)
        for word in dict.fromkeys(wanted):
            counts += self._searchable.str.contains(f"_{word}_", literal=True).to_numpy()
        return counts

    @functools.cached_property
    def _searchable(self) -> pl.Series:
        texts = zip(self.table["name"].to_list(), self.table["category"].to_list(), strict=True)
        return pl.Series([f"_{element_word(name)}_{element_word(category)}_" for name, category in texts])


class CatalogueFile(pydantic.BaseModel):
    """The products of a file, read once: a run that has it among its parameters repeats without the file.

    It is made from the name of a CSV, JSONL or Parquet file, or from its fields.

    Attributes:
        name: The name of the file, for errors.
        products: The columns of the catalogue.

    Example:
        >>> columns = {"name": ["Cup"], "category": ["kitchen"], "price": [5.0], "rating": [4.0], "reviews": [2.0]}
        >>> len(CatalogueFile(name="cups.csv", products=columns).catalogue())
        1
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)
    metavar: ClassVar[str] = "FILE"

    name: str
    products: dict[str, list[str | float]]

    @pydantic.model_validator(mode="before")
    @classmethod
    def _open(cls, value: Any) -> Any:
        if not isinstance(value, (str, Path)):
            return value
        return {"name": Path(value).name, "products": ProductCatalogue.read(value).table.to_dict(as_series=False)}

    def catalogue(self) -> ProductCatalogue:
        """The catalogue."""
        lengths = {len(values) for values in self.products.values()}
        if len(lengths) != 1:
            raise WorldError(f"{self.name}: the columns of the catalogue have different lengths.")
        return ProductCatalogue.from_table(pl.DataFrame(self.products), where=self.name)
