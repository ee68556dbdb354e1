"""A population is a table; a person is a row.

Ids are unique, never empty and never change; everything else refers to a person by id. Columns are replaced as a whole
and never edited in place, so an older view of the table keeps its values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import PeopleError, UnknownNameError
from populace.base.foreign import for_line
from populace.base.formatting import plural
from populace.base.table_files import UNREADABLE, read_plain_table, reading_problem
from populace.base.templates import FEW
from populace.base.values import kind_of
from populace.people.columns import to_column
from populace.people.names import draw_names
from populace.people.person import Person, no_attribute, unknown_column
from populace.people.selection import explain_nobody, filter_expression, rows_of_ids
from populace.people.tables import to_frame, with_id_column, with_valid_ids

Id = int | str

_TABLES = 'Write pc.People.named(10), pc.People.read("file.csv"), or pc.People({"name": ["Ann", "Bo"], "age": [9, 8]}).'

HEARD = "heard"
"""The column with what people were told by an announcement; prompts begin the situation with it."""


class ValuesByPerson(Protocol):
    """Values with the ids of the people to whom they belong, such as Answers."""

    @property
    def ids(self) -> pl.Series:
        """The ids of the people to whom the values belong."""

    @property
    def values(self) -> pl.Series:
        """A value for each of them; null where there is none."""


class People:
    """The people of a run, as columns.

    Args:
        frame: A table of polars or pandas, columns by name, or a list of rows as dicts. A column `id` of whole numbers
            or strings identifies people. Without one, the index of a pandas table does; otherwise people are numbered
            from 0.
        id: The column that identifies people, where it has another name.

    Example:
        >>> people = People.named(4, seed=1).with_columns(age=[30, 41, 52, 63])
        >>> people.where(age={"ge": 50}).count()
        2
        >>> people.share(age=41)
        0.25
    """

    def __init__(self, frame: Any, *, id: str = "id") -> None:
        index = "id" if id == "id" else ""
        frame = frame.frame if isinstance(frame, People) else to_frame(frame, "the table", index=index, hint=_TABLES)
        if id != "id":
            frame = with_id_column(frame, id, "the table")
        if "id" not in frame.columns:
            frame = frame.clone().insert_column(0, pl.Series("id", np.arange(frame.height)))
        self._frame = with_valid_ids(frame)
        self._selected = False
        self._read_only = ""
        self._changed_columns: set[str] = set(self._frame.columns)
        self._rows_changed = True
        self._highest: int | None = None

    @classmethod
    def named(cls, count: int, *, seed: int | np.random.Generator = 0) -> Self:
        """`count` people with distinct names and the sex that each name suggests."""
        if not isinstance(count, int | np.integer):
            raise PeopleError(f"the number of people is {count!r}, not a whole number.", "Write: People.named(10)")
        if count < 1:
            raise PeopleError(f"a population needs at least one person, not {count}.", "Write: People.named(10)")
        rng = np.random.default_rng(seed)
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
                f"{path} is neither .csv nor .parquet.",
                "Convert it, or read it with pandas: pc.People(table).",
            )
        if not path.is_file():
            raise PeopleError(f"there is no file {path}.", f"The current folder is {Path.cwd()}.")
        try:
            frame = read_plain_table(path)
        except UNREADABLE as error:
            raise PeopleError(f"{path} could not be read: {reading_problem(error)}.") from error
        frame = with_id_column(frame, id, str(path))
        try:
            return cls(frame)
        except PeopleError as error:
            raise PeopleError(f"{path}: {error.what}", error.hint) from error

    @property
    def frame(self) -> pl.DataFrame:
        """The whole table. It is never changed in place: changing people replaces it."""
        return self._frame

    @property
    def ids(self) -> pl.Series:
        """The ids, in table order."""
        return self._frame["id"]

    @property
    def is_selection(self) -> bool:
        """Whether these are some people of a population, which can be read and asked but not changed."""
        return self._selected

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
        return for_line(f"<{kind}{plural(len(self), 'person', 'people')}: {', '.join(self.columns)}>")

    def _repr_html_(self) -> str:
        return self._frame._repr_html_()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            raise no_attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise PeopleError(f"people.{name} = … would not change a column.", f'Write: self.people["{name}"] = …')
        object.__setattr__(self, name, value)

    def __getitem__(self, column: str) -> pl.Series:
        if not isinstance(column, str) or column not in self._frame.columns:
            raise unknown_column(column, self.columns)
        return self._frame[column]

    def __setitem__(
        self, column: str, values: ValuesByPerson | pl.Series | Sequence[Any] | np.ndarray[Any, Any] | Any
    ) -> None:
        """Set a column for everybody, or for the people to whom answers belong.

        Answers are matched by id. A person whose answer is null keeps the old value.
        """
        if self._selected:
            raise PeopleError(
                f"column {column!r} was assigned to a selection, which would not reach the population.",
                f'Assign to the whole population, where answers are matched by id: self.people["{column}"] = answers.',
            )
        self._refuse_outside_step()
        if column == "id":
            raise PeopleError("ids never change.", "Put the new value into another column.")
        if not hasattr(values, "__await__") and hasattr(values, "ids") and hasattr(values, "values"):
            series = self._update(column, values.ids, values.values)
        else:
            series = self._series(column, values)
        self._frame = _with(self._frame, [series])
        self._changed_columns.add(column)

    def with_columns(self, **columns: Any) -> Self:
        """The same people with more columns, each one value for all or a value for each person."""
        frame = _with(self._frame, [self._series(name, values) for name, values in columns.items()])
        copy = self._copy(with_valid_ids(frame) if "id" in columns else frame)
        copy._changed_columns |= set(columns)
        return copy

    def where(self, *expressions: pl.Expr, **conditions: Any) -> Self:
        """Select the people who meet every condition: `where(shirt="blue", age={"ge": 30})`, or polars expressions.

        Returns:
            A selection, which can be read and asked, but not changed.
        """
        if not expressions and not conditions:
            return self._select(self._frame)
        wrong = next((each for each in expressions if not isinstance(each, pl.Expr)), None)
        if wrong is not None:
            raise PeopleError(
                f"where takes conditions on columns, not an object of type {kind_of(type(wrong))}.",
                'Write: people.where(age={"ge": 30}, shirt="blue"), or people.where(pl.col("age") >= 30).',
            )
        try:
            selection = self._select(self._frame.filter(filter_expression(conditions, self.columns), *expressions))
            if not len(selection):
                for name, value in conditions.items():
                    explain_nobody(self[name], value)
            return selection
        except (pl.exceptions.ComputeError, pl.exceptions.InvalidOperationError, pl.exceptions.SchemaError) as error:
            reason = str(error).splitlines()[0]
            raise PeopleError(f"the conditions {conditions} do not fit their columns: {reason}.") from error

    def take(self, ids: Iterable[Id] | pl.Series) -> Self:
        """The people with these ids, in this order."""
        dtype = self.ids.dtype
        values = ids if isinstance(ids, pl.Series) else list(ids)
        for who in values if isinstance(values, list) else ():
            if not _fits(who, dtype):
                raise PeopleError(f"there is no person with id {who!r}.")
        rows = rows_of_ids(self.ids, pl.Series("id", values, dtype=dtype))
        return self._select(self._frame.slice(int(rows[0]), 1) if len(rows) == 1 else self._frame[rows])

    def sample(self, count: int, *, seed: int | np.random.Generator) -> Self:
        """`count` different people, drawn at random, in table order."""
        if not 0 <= count <= len(self):
            raise PeopleError(f"{count} people cannot be drawn from {len(self)}.")
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.choice(len(self), count, replace=False))
        return self._select(self._frame[rows])

    def rows(self, rows: npt.NDArray[np.int64]) -> Self:
        """The people in these rows of the table."""
        return self._select(self._frame[rows])

    def person(self, who: Id) -> Person:
        """One person, by id or by name."""
        frame = self._frame
        matches = frame.filter(pl.col("id") == who) if _fits(who, self.ids.dtype) else frame.clear()
        if not matches.height and isinstance(who, str):
            if "name" in frame.columns:
                matches = frame.filter(pl.col("name") == who)
            # An id has at most 18 digits: a longer number fits no column of whole numbers.
            if not matches.height and who.isdecimal() and len(who) <= 18 and self.ids.dtype.is_integer():
                matches = frame.filter(pl.col("id") == int(who))
        if not matches.height:
            known = frame["name"].to_list()[:500] if "name" in frame.columns else []
            raise UnknownNameError("person", str(who), known)
        if matches.height > 1:
            ids = matches["id"].to_list()
            few = f"{', '.join(map(repr, ids[:5]))}{', …' if len(ids) > 5 else ''}"
            raise PeopleError(f"{len(ids)} people are named {who!r}.", f"Name one by id: {few}.")
        return Person(matches.row(0, named=True))

    def count(self, **conditions: Any) -> int:
        """How many people meet the conditions; everybody without conditions."""
        if not conditions:
            return len(self)
        if len(conditions) == 1:
            (name, value) = next(iter(conditions.items()))
            if isinstance(value, str) and len(self) <= FEW and (count := self[name].to_list().count(value)):
                return count
            if isinstance(value, str | int | float):
                count = int((self[name] == value).sum() or 0)
                if not count:
                    explain_nobody(self[name], value)
                return count
        return int(self._frame.select(filter_expression(conditions, self.columns).sum()).item() or 0)

    def share(self, **conditions: Any) -> float:
        """The share of people who meet the conditions; 0 for an empty selection."""
        return self.count(**conditions) / len(self) if len(self) else 0.0

    def add(self, people: People) -> None:
        """Add people with ids of their own; columns that they do not have are null for them."""
        self._refuse_selection("added to")
        if people.ids.dtype != self.ids.dtype:
            raise PeopleError(f"ids here are of type {self.ids.dtype}, those of the new people {people.ids.dtype}.")
        self._frame = with_valid_ids(pl.concat([self._frame, people.frame], how="diagonal_relaxed"))
        self._rows_changed = True

    def remove(self, people: People) -> None:
        """Remove people. `next_id` never reuses their ids."""
        self._refuse_selection("removed from")
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

    def copy(self) -> Self:
        """The same people; changes of one do not reach the other."""
        return self._copy(self._frame)

    @contextlib.contextmanager
    def read_only(self, reason: str) -> Iterator[None]:
        """Refuse changes for a while, with the reason."""
        before, self._read_only = self._read_only, reason
        try:
            yield
        finally:
            self._read_only = before

    def take_changes(self) -> tuple[bool, list[str]]:
        """Return whether rows came or went and which columns were set since the last call, and reset both."""
        changes = self._rows_changed, [name for name in self.columns if name in self._changed_columns]
        self._rows_changed, self._changed_columns = False, set()
        return changes

    def _refuse_selection(self, verb: str) -> None:
        self._refuse_outside_step()
        if self._selected:
            raise PeopleError(f"people were {verb} a selection.", "Do it on the whole population, self.people.")

    def _refuse_outside_step(self) -> None:
        if self._read_only:
            raise PeopleError(f"people were changed in {self._read_only}.", "Change them in step.")

    def _copy(self, frame: pl.DataFrame) -> Self:
        copy = object.__new__(type(self))
        copy._frame, copy._selected, copy._read_only = frame, self._selected, ""
        copy._highest = self._highest
        copy._changed_columns, copy._rows_changed = set(self._changed_columns), self._rows_changed
        return copy

    def _select(self, frame: pl.DataFrame) -> Self:
        selection = self._copy(frame)
        selection._selected = True
        return selection

    def _series(self, name: str, values: Any) -> pl.Series:
        column = to_column(name, values, self.ids, f"column {name!r}", PeopleError)
        return column if isinstance(column, pl.Series) else pl.repeat(column, len(self), eager=True).alias(name)

    def _update(self, column: str, ids: pl.Series, values: pl.Series) -> pl.Series:
        """The column with new values for some people; where a new value is null the old one stays."""
        everybody = ids.len() == len(self) and ids.equals(self.ids)
        if everybody and not values.null_count():
            return values.alias(column)
        new = (
            values
            if everybody
            else self.ids.to_frame().join(
                pl.DataFrame({"id": ids, "new": values}), on="id", how="left", maintain_order="left"
            )["new"]
        )
        if column not in self._frame.columns:
            return new.alias(column)
        old = self._frame[column]
        if old.dtype != new.dtype:
            try:
                old, new = _common_dtype(old, new)
            except pl.exceptions.SchemaError as error:
                raise PeopleError(
                    f"column {column!r} holds {old.dtype}, and the answers are {new.dtype}.",
                    "Put the answers into a column of their own.",
                ) from error
        return old.zip_with(new.is_null(), new).alias(column)


def _with(frame: pl.DataFrame, columns: Iterable[pl.Series]) -> pl.DataFrame:
    """The table with columns replaced or added; faster than a polars query."""
    copy = frame.clone()
    for column in columns:
        if column.name in copy.columns:
            copy.replace_column(copy.get_column_index(column.name), column)
        else:
            copy.insert_column(copy.width, column)
    return copy


def _common_dtype(old: pl.Series, new: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Cast two columns to a common type, so that one column can hold values of both."""
    text = (pl.Enum, pl.Categorical, pl.String)
    if isinstance(old.dtype, text) and isinstance(new.dtype, text):
        return old.cast(pl.String), new.cast(pl.String)
    both = pl.concat([old.head(0).to_frame("x"), new.head(0).to_frame("x")], how="vertical_relaxed")["x"].dtype
    return old.cast(both), new.cast(both)


def _fits(who: Id, dtype: pl.DataType) -> bool:
    return isinstance(who, str) != dtype.is_integer()
