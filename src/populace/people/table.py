"""A population is a table; a person is a row.

Ids are unique, never empty and never change; everything that speaks of a person does so by id.
Columns are replaced whole and never edited in place, so an older view stays what it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import PeopleError, UnknownNameError
from populace.base.templates import FEW
from populace.people.names import draw_names
from populace.people.person import Person
from populace.people.selection import filter_expression

Id = int | str


class ValuesByPerson(Protocol):
    """Values that know whose they are, such as Answers."""

    @property
    def ids(self) -> pl.Series:
        """The people the values belong to."""

    @property
    def values(self) -> pl.Series:
        """A value for each of them; empty where there is none."""


class People:
    """The people of a run, as columns.

    Args:
        frame: A table with an `id` column of whole numbers or strings. Without one, people are
            numbered from 0.

    Example:
        >>> people = People.named(4, seed=1).with_columns(age=[30, 41, 52, 63])
        >>> people.where(age={"ge": 50}).count()
        2
        >>> people.share(age=41)
        0.25
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        if "id" not in frame.columns:
            frame = frame.clone().insert_column(0, pl.Series("id", np.arange(frame.height)))
        self._frame = _checked(frame)
        self._selected = False
        self._touched: set[str] = set(self._frame.columns)
        self._rows_changed = True
        self._highest: int | None = None

    @classmethod
    def named(cls, count: int, *, seed: int | np.random.Generator = 0) -> Self:
        """`count` people with distinct names and the sex that each name suggests."""
        if count < 1:
            raise PeopleError(f"a population needs at least one person, not {count}.")
        rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
        return cls(draw_names(count, rng))

    @classmethod
    def read(cls, path: str | Path, *, id: str = "id") -> Self:
        """People from a CSV or Parquet file.

        Args:
            path: The file; its ending says which.
            id: The column that identifies a person.
        """
        path = Path(path)
        if path.suffix.lower() not in (".csv", ".parquet"):
            raise PeopleError(
                f"{path} is neither .csv nor .parquet.", "Convert it, or pass a polars DataFrame to People."
            )
        if not path.is_file():
            raise PeopleError(f"there is no file {path}.")
        try:
            frame = pl.read_csv(path) if path.suffix.lower() == ".csv" else pl.read_parquet(path)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise PeopleError(f"{path} could not be read: {error}.") from error
        if id not in frame.columns:
            raise PeopleError(
                f"{path} has no column {id!r}; its columns are {', '.join(frame.columns)}.",
                "Name the column that identifies a person with id=…",
            )
        try:
            if id != "id" and "id" in frame.columns:
                raise PeopleError(f"both {id!r} and 'id' would be the id.", "Rename or drop one of them.")
            return cls(frame.rename({id: "id"}) if id != "id" else frame)
        except PeopleError as error:
            raise PeopleError(f"{path}: {error.what}", error.hint) from error

    @property
    def frame(self) -> pl.DataFrame:
        """The whole table. It is a value: changing people makes a new one."""
        return self._frame

    @property
    def ids(self) -> pl.Series:
        """The ids, in table order."""
        return self._frame["id"]

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._frame.columns

    def __len__(self) -> int:
        return self._frame.height

    def __contains__(self, column: object) -> bool:
        return column in self._frame.columns

    def __iter__(self) -> Iterator[Person]:
        return (Person(row) for row in self._frame.iter_rows(named=True))

    def __repr__(self) -> str:
        kind = "selection of " if self._selected else ""
        return f"<{kind}{len(self)} people: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return self._frame._repr_html_()

    def __getitem__(self, column: str) -> pl.Series:
        if column not in self._frame.columns:
            raise UnknownNameError("column", column, self.columns)
        return self._frame[column]

    def __setitem__(
        self, column: str, values: ValuesByPerson | pl.Series | Sequence[Any] | np.ndarray[Any, Any] | Any
    ) -> None:
        """Set a column for everybody, or for those whom the answers belong to.

        Answers are matched by id; where an answer is empty the person keeps the old value.
        """
        if self._selected:
            raise PeopleError(
                f"column {column!r} was assigned to a selection, which would not reach the population.",
                "Assign to the whole population; answers are matched by id: self.people[column] = answers.",
            )
        if column == "id":
            raise PeopleError("ids never change.", "Put the new value into another column.")
        if hasattr(values, "ids") and hasattr(values, "values"):
            series = self._merged(column, values.ids, values.values)
        else:
            series = self._series(column, values)
        self._frame = _with(self._frame, [series])
        self._touched.add(column)

    def with_columns(self, **columns: Any) -> Self:
        """The same people with more columns, each a value for all or one for each person."""
        frame = _with(self._frame, [self._series(name, values) for name, values in columns.items()])
        made = self._copy(_checked(frame) if "id" in columns else frame)
        made._touched |= set(columns)
        return made

    def where(self, *expressions: pl.Expr, **conditions: Any) -> Self:
        """Those who meet every condition: `where(shirt="blue", age={"ge": 30})` or polars expressions."""
        if not expressions and not conditions:
            return self._select(self._frame)
        try:
            return self._select(self._frame.filter(filter_expression(conditions, self.columns), *expressions))
        except (pl.exceptions.ComputeError, pl.exceptions.InvalidOperationError, pl.exceptions.SchemaError) as error:
            said = str(error).splitlines()[0]
            raise PeopleError(f"the conditions {conditions} do not fit their columns: {said}.") from error

    def take(self, ids: Iterable[Id] | pl.Series) -> Self:
        """The people with these ids, in this order."""
        listed = ids if isinstance(ids, pl.Series) else list(ids)
        stray = [who for who in listed if not _fits(who, self.ids.dtype)] if isinstance(listed, list) else []
        if stray:
            raise PeopleError(f"there is no person with id {stray[0]!r}.")
        wanted = pl.Series("id", listed, dtype=self.ids.dtype)
        if wanted.n_unique() != wanted.len():
            raise PeopleError(f"id {wanted.filter(wanted.is_duplicated())[0]!r} was taken twice.")
        missing = wanted.filter(~wanted.is_in(self.ids.implode()))
        if missing.len():
            raise PeopleError(f"there is no person with id {missing[0]!r}.")
        return self._select(wanted.to_frame().join(self._frame, on="id", how="left", maintain_order="left"))

    def sample(self, count: int, *, seed: int | np.random.Generator) -> Self:
        """`count` different people, drawn at random and kept in table order."""
        if not 0 <= count <= len(self):
            raise PeopleError(f"{count} people cannot be drawn from {len(self)}.")
        rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
        rows = np.sort(rng.choice(len(self), count, replace=False))
        return self._select(self._frame[rows])

    def rows(self, rows: npt.NDArray[np.int64]) -> Self:
        """The people in these rows of the table."""
        return self._select(self._frame[rows])

    def person(self, who: Id) -> Person:
        """One person, by id or by name."""
        frame = self._frame
        found = frame.filter(pl.col("id") == who) if _fits(who, self.ids.dtype) else frame.clear()
        if not found.height and isinstance(who, str):
            if "name" in frame.columns:
                found = frame.filter(pl.col("name") == who)
            if not found.height and who.isdecimal() and self.ids.dtype.is_integer():
                found = frame.filter(pl.col("id") == int(who))
        if not found.height:
            known = frame["name"].to_list()[:500] if "name" in frame.columns else []
            raise UnknownNameError("person", str(who), known)
        if found.height > 1:
            raise PeopleError(f"{found.height} people are named {who!r}.", "Name one by id.")
        return Person(found.row(0, named=True))

    def count(self, **conditions: Any) -> int:
        """How many meet the conditions; all of them without one."""
        if not conditions:
            return len(self)
        if len(conditions) == 1:
            (name, wanted) = next(iter(conditions.items()))
            if isinstance(wanted, str) and len(self) <= FEW and (found := self[name].to_list().count(wanted)):
                return found
            if isinstance(wanted, str | int | float):
                return int((self[name] == wanted).sum() or 0)
        return int(self._frame.select(filter_expression(conditions, self.columns).sum()).item() or 0)

    def share(self, **conditions: Any) -> float:
        """The share that meets the conditions."""
        return self.count(**conditions) / len(self) if len(self) else 0.0

    def add(self, people: People) -> None:
        """More people join, with ids of their own; columns they do not have are empty for them."""
        self._whole("added to")
        if people.ids.dtype != self.ids.dtype:
            raise PeopleError(f"column 'id' holds {self.ids.dtype}, the newcomers' {people.ids.dtype}.")
        joined = pl.concat([self._frame, people.frame], how="diagonal_relaxed")
        self._frame = _checked(joined)
        self._rows_changed = True

    def remove(self, people: People) -> None:
        """These people leave; their ids are not given to others by the platform."""
        self._whole("removed from")
        if self.ids.dtype.is_integer():
            self._highest = self.next_id() - 1
        self._frame = self._frame.filter(~pl.col("id").is_in(people.ids.implode()))
        self._rows_changed = True

    def next_id(self) -> int:
        """The first whole number above every id."""
        if not self.ids.dtype.is_integer():
            raise PeopleError("ids are strings here, so there is no next one.", "Give new people ids of their own.")
        present = int(self.ids.max()) if len(self) else -1  # type: ignore[arg-type]
        return (present if self._highest is None else max(present, self._highest)) + 1

    def changes(self) -> tuple[bool, list[str]]:
        """What changed since the last call: whether rows came or went, and which columns were set."""
        changed = self._rows_changed, [name for name in self.columns if name in self._touched]
        self._rows_changed, self._touched = False, set()
        return changed

    def _whole(self, verb: str) -> None:
        if self._selected:
            raise PeopleError(f"people were {verb} a selection.", "Do it on the whole population, self.people.")

    def _copy(self, frame: pl.DataFrame) -> Self:
        made = object.__new__(type(self))
        made._frame, made._selected = frame, self._selected
        made._highest = self._highest
        made._touched, made._rows_changed = set(self._touched), self._rows_changed
        return made

    def _select(self, frame: pl.DataFrame) -> Self:
        made = self._copy(frame)
        made._selected = True
        return made

    def _series(self, name: str, values: Any) -> pl.Series:
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            return pl.repeat(values, len(self), eager=True).alias(name)
        if len(values) != len(self):
            raise PeopleError(f"column {name!r} got {len(values)} values for {len(self)} people.")
        return pl.Series(name, values, strict=False)

    def _merged(self, column: str, ids: pl.Series, values: pl.Series) -> pl.Series:
        """The column with the given people's values put in; where a value is empty the old one stays."""
        whole = ids.len() == len(self) and ids.equals(self.ids)
        if whole and not values.null_count():
            return values.alias(column)
        found = (
            values
            if whole
            else self.ids.to_frame().join(
                pl.DataFrame({"id": ids, "new": values}), on="id", how="left", maintain_order="left"
            )["new"]
        )
        if column not in self._frame.columns:
            return found.alias(column)
        old = self._frame[column]
        if old.dtype != found.dtype:
            try:
                old, found = _one_dtype(old, found)
            except pl.exceptions.SchemaError as error:
                raise PeopleError(f"column {column!r} holds {old.dtype}, the answers {found.dtype}.") from error
        return old.zip_with(found.is_null(), found).alias(column)


def _with(frame: pl.DataFrame, columns: Iterable[pl.Series]) -> pl.DataFrame:
    """The table with these columns in place of those of the same names, or behind the others; no query is set up."""
    made = frame.clone()
    for column in columns:
        if column.name in made.columns:
            made.replace_column(made.get_column_index(column.name), column)
        else:
            made.insert_column(made.width, column)
    return made


def _one_dtype(old: pl.Series, new: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Bring two columns to one type, so that old and new values can stand together."""
    text = (pl.Enum, pl.Categorical, pl.String)
    if isinstance(old.dtype, text) and isinstance(new.dtype, text):
        return old.cast(pl.String), new.cast(pl.String)
    both = pl.concat([old.head(0).to_frame("x"), new.head(0).to_frame("x")], how="vertical_relaxed")["x"].dtype
    return old.cast(both), new.cast(both)


def _fits(who: Id, dtype: pl.DataType) -> bool:
    return isinstance(who, str) != dtype.is_integer()


def _checked(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame, once its ids are known to be whole, unique and of a usable type."""
    ids = frame["id"]
    if not frame.height:
        raise PeopleError("the population is empty.", "A run needs at least one person.")
    if ids.null_count():
        row = int(ids.is_null().arg_max() or 0)
        raise PeopleError(f"column 'id', row {row + 1}: the id is missing.", "Every person needs one.")
    if ids.dtype == pl.Int64:
        pass
    elif ids.dtype.is_integer():
        try:
            frame = frame.with_columns(pl.col("id").cast(pl.Int64))
        except pl.exceptions.InvalidOperationError as error:
            raise PeopleError("column 'id' holds a whole number beyond 64 bits.", "Use strings as ids.") from error
    elif ids.dtype != pl.String:
        raise PeopleError(f"column 'id' holds {ids.dtype}; ids are whole numbers or strings.")
    if ids.n_unique() != ids.len():
        row = int(ids.is_duplicated().arg_max() or 0)
        raise PeopleError(
            f"column 'id': {ids[row]!r} stands for more than one person (first in row {row + 1}).",
            "Ids must differ.",
        )
    return frame
