"""What people answered: the human side of every comparison.

The form is one table with a row for each person and item: `person`, `item`, `answer`, and `retest`, the same person's
answer at another time, where there is one. A second table describes the items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError, UnknownNameError
from populace.base.formatting import shortened
from populace.base.table_files import UNREADABLE, flat_table, read_plain_table, reading_problem

Matrix = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

NOBODY = -1
"""The code of a missing answer."""


@dataclass(frozen=True)
class EvaluationItem:
    """One item that people and agents answer.

    Attributes:
        id: Its name.
        text: The question.
        options: The possible answers, in their order.
        ordered: Whether the order of the options means more or less of something.
        topic: What it is about, for splits by topic.
        title: A few words for it, where an answer to it is reported; the question by default.

    Example:
        >>> EvaluationItem("trust", "Can most people be trusted?", ("yes", "no")).options
        ('yes', 'no')
    """

    id: str
    text: str
    options: tuple[str, ...]
    ordered: bool = False
    topic: str = ""
    title: str = ""


@dataclass(frozen=True)
class HumanAnswers:
    """The answers of people to items, as codes.

    Attributes:
        people: The ids of the people.
        items: The items.
        answers: The place of each answer among the options of its item, a row for each person and a column for each
            item; -1 where it is missing.
        retest: The same person's answer at another time; -1 where it is missing.
        profiles: What is known of each person, a row for each in the order of `people`.
        source: Where the data come from.
        licence: What may be done with them.

    Example:
        >>> item = EvaluationItem("trust", "Can most people be trusted?", ("yes", "no"))
        >>> table = pl.DataFrame({"person": ["a", "b"], "item": ["trust"] * 2, "answer": ["no", "yes"]})
        >>> HumanAnswers.from_table(table, [item]).answers.tolist()
        [[1], [0]]
    """

    people: tuple[str, ...]
    items: tuple[EvaluationItem, ...]
    answers: Codes
    retest: Codes
    profiles: pl.DataFrame = field(default_factory=pl.DataFrame)
    source: str = ""
    licence: str = ""

    @classmethod
    def from_table(
        cls,
        table: pl.DataFrame,
        items: Sequence[EvaluationItem],
        *,
        profiles: pl.DataFrame | None = None,
        source: str = "",
        licence: str = "",
    ) -> HumanAnswers:
        """The answers in a table with the columns `person`, `item`, `answer` and, if there is one, `retest`.

        Args:
            table: The table; answers are the words of options.
            items: The items; other items in the table are left out.
            profiles: A table with a column `person` and what is known of each.
            source: Where the data come from.
            licence: What may be done with them.

        Raises:
            HumanDataError: If a column is missing, a person answers an item twice, an answer is not an option, or a
                person has no profile.
        """
        missing = [name for name in ("person", "item", "answer") if name not in table.columns]
        if missing:
            raise HumanDataError(
                f"the table of answers has no column {missing[0]!r}.", "It needs person, item, answer."
            )
        if not items:
            raise HumanDataError("there are no items to compare.")
        table = table.with_columns(pl.col("person", "item", "answer").cast(pl.String))
        table = table.filter(pl.col("item").is_in([item.id for item in items]))
        twice = table.group_by("person", "item").len().filter(pl.col("len") > 1).sort("person", "item")
        if twice.height:
            person, item, _ = twice.row(0)
            raise HumanDataError(
                f"person {shortened(person)!r} answers item {item!r} twice.", "Keep one answer, or give waves."
            )
        people = tuple(table["person"].unique().sort().to_list())
        if not people:
            raise HumanDataError("nobody answers any of the items.")
        answers = _codes(table, items, people, "answer")
        retest = _codes(table, items, people, "retest") if "retest" in table.columns else np.full_like(answers, NOBODY)
        return cls(people, tuple(items), answers, retest, _profiles(profiles, people), source, licence)

    @classmethod
    def from_waves(
        cls,
        table: pl.DataFrame,
        items: Sequence[EvaluationItem],
        *,
        first: str | int,
        second: str | int,
        profiles: pl.DataFrame | None = None,
        source: str = "",
        licence: str = "",
    ) -> HumanAnswers:
        """The answers of a panel: a table with the columns `person`, `wave`, `item` and `answer`.

        Args:
            table: The table.
            items: The items.
            first: The wave that is predicted.
            second: The wave that serves as the retest.
            profiles: A table with a column `person` and what is known of each.
            source: Where the data come from.
            licence: What may be done with them.
        """
        if "wave" not in table.columns:
            raise HumanDataError("the table has no column 'wave'.", "Without waves, use HumanAnswers.from_table.")
        waves = table.with_columns(pl.col("wave").cast(pl.String))
        known = waves["wave"].unique().sort().to_list()
        for wave in (first, second):
            if str(wave) not in known:
                raise HumanDataError(f"there is no wave {wave!r}.", f"There are: {shortened(', '.join(known), 300)}.")
        if str(first) == str(second):
            raise HumanDataError(
                f"wave {first!r} cannot be its own retest.", "Name another wave in which the same people were asked."
            )
        keys = ["person", "item"]
        now = waves.filter(pl.col("wave") == str(first)).select(*keys, "answer")
        later = waves.filter(pl.col("wave") == str(second)).select(*keys, pl.col("answer").alias("retest"))
        pairs = now.join(later, on=keys, how="left", maintain_order="left")
        both = pl.col("answer").is_not_null() & pl.col("retest").is_not_null()
        if pairs.filter(both & pl.col("item").is_in([item.id for item in items])).is_empty():
            raise HumanDataError(
                f"nobody answered an item both in wave {first!r} and in wave {second!r}.",
                "A ceiling needs people who were asked twice; name other waves.",
            )
        return cls.from_table(pairs, items, profiles=profiles, source=source, licence=licence)

    @classmethod
    def read(
        cls, path: str | Path, items: Sequence[EvaluationItem], *, profiles: str | Path | None = None
    ) -> HumanAnswers:
        """The answers in a CSV or Parquet file with the columns of `from_table`."""
        people = None if profiles is None else read_answer_table(Path(profiles))
        return cls.from_table(read_answer_table(Path(path)), items, profiles=people, source=Path(path).name)

    def take(self, rows: npt.NDArray[np.int64] | Sequence[int]) -> HumanAnswers:
        """The answers of some of the people, by row."""
        rows = np.asarray(rows, np.int64)
        profiles = self.profiles[rows] if self.profiles.height else self.profiles
        people = tuple(self.people[row] for row in rows.tolist())
        return HumanAnswers(
            people, self.items, self.answers[rows], self.retest[rows], profiles, self.source, self.licence
        )

    def select(self, items: Iterable[str]) -> HumanAnswers:
        """The answers to some of the items, by id, in the order of the ids."""
        places = {item.id: place for place, item in enumerate(self.items)}
        chosen = []
        for name in items:
            if name not in places:
                raise UnknownNameError("item", name, places)
            chosen.append(places[name])
        columns = [self.items[place] for place in chosen]
        return HumanAnswers(
            self.people, tuple(columns), self.answers[:, chosen], self.retest[:, chosen], self.profiles, self.source,
            self.licence,
        )  # fmt: skip

    def hold_out(self, people: Iterable[str]) -> tuple[HumanAnswers, HumanAnswers]:
        """The others, to fit floors and models on, and the named people, who are held out for the test.

        Raises:
            UnknownNameError: If somebody named is not there.
            HumanDataError: If nobody is named, or nobody would be left.
        """
        names = set(people)
        for name in sorted(names - set(self.people))[:1]:
            raise UnknownNameError("person", name, self.people)
        held_out = np.array([person in names for person in self.people], np.bool_)
        if not held_out.any() or held_out.all():
            raise HumanDataError("both the held-out people and the others need somebody.")
        return self.take(np.flatnonzero(~held_out)), self.take(np.flatnonzero(held_out))

    def split(self, test_share: float = 0.1, *, seed: int = 0) -> tuple[HumanAnswers, HumanAnswers]:
        """Other people, to fit floors and models on, and the people who are held out for the test."""
        if not 0 < test_share < 1:
            raise HumanDataError(f"a share of {test_share} of the people cannot be held out.", "Choose one in (0, 1).")
        order = np.random.default_rng(seed).permutation(len(self.people))
        count = max(1, round(test_share * len(order)))
        return self.take(np.sort(order[count:])), self.take(np.sort(order[:count]))

    def shares(self) -> list[Matrix]:
        """The share of each option of each item; even where nobody answered."""
        shares = []
        for column, item in zip(self.answers.T, self.items, strict=True):
            counts = np.bincount(column[column >= 0], minlength=len(item.options)).astype(np.float64)
            total = counts.sum()
            shares.append(counts / total if total else np.full(len(item.options), 1 / len(item.options)))
        return shares


def _codes(table: pl.DataFrame, items: Sequence[EvaluationItem], people: Sequence[str], column: str) -> Codes:
    places = {person: row for row, person in enumerate(people)}
    codes = np.full((len(people), len(items)), NOBODY)
    for number, item in enumerate(items):
        rows = table.filter((pl.col("item") == item.id) & pl.col(column).is_not_null())
        options = {option: place for place, option in enumerate(item.options)}
        unknown = sorted(set(rows[column].cast(pl.String)) - set(options))
        if unknown:
            raise HumanDataError(
                f"the {column} {shortened(unknown[0])!r} to item {item.id!r} is not one of its options.",
                f"The options are: {', '.join(item.options)}.",
            )
        who = rows["person"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
        codes[who, number] = rows[column].cast(pl.String).replace_strict(options, return_dtype=pl.Int64).to_numpy()
    return codes


def _profiles(profiles: pl.DataFrame | None, people: Sequence[str]) -> pl.DataFrame:
    if profiles is None:
        return pl.DataFrame()
    if "person" not in profiles.columns:
        raise HumanDataError("the table of profiles has no column 'person'.")
    profiles = profiles.with_columns(pl.col("person").cast(pl.String)).unique(
        "person", keep="first", maintain_order=True
    )
    table = pl.DataFrame({"person": list(people)}).join(profiles, on="person", how="left", maintain_order="left")
    lacking = set(people) - set(profiles["person"])
    if lacking:
        raise HumanDataError(
            f"person {shortened(min(lacking))!r} has no profile.", "Every person needs a row in the profiles."
        )
    return table.drop("person")


def read_answer_table(path: Path) -> pl.DataFrame:
    """A CSV file, with all values as words, or a Parquet file."""
    if path.suffix.lower() not in (".csv", ".gz", ".parquet") or not path.is_file():
        raise HumanDataError(f"{path} is not a CSV or Parquet file.", "Name one with person, item and answer.")
    try:
        table = read_plain_table(path, infer_schema_length=0, null_values=["", "NA"])
        # Answers that Populace wrote have lists of probabilities beside them.
        lists = [name for name, kind in table.schema.items() if (name, kind) == ("probabilities", pl.List(pl.Float64))]
        return flat_table(table.drop(lists)).with_columns(table.select(lists))
    except UNREADABLE as error:
        raise HumanDataError(f"{path} could not be read: {reading_problem(error)}.") from error
