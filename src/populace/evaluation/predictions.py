"""What an agent answers in place of each person: a distribution over the options of every item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import HumanDataError
from populace.base.formatting import shortened
from populace.base.table_files import to_numbers
from populace.evaluation.human_answers import EvaluationItem, HumanAnswers, read_answer_table

Matrix = npt.NDArray[np.float64]

_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Predictions:
    """Distributions over the options of items, for the people of a table of human answers.

    Attributes:
        name: Who predicts, such as `demographics agent` or `majority`.
        items: The items.
        distributions: For each item a row for each person and a column for each option; NaN where there is none.

    Example:
        >>> item = EvaluationItem("trust", "Can most people be trusted?", ("yes", "no"))
        >>> Predictions("coin", (item,), (np.full((3, 2), 0.5),)).distributions[0].shape
        (3, 2)
    """

    name: str
    items: tuple[EvaluationItem, ...]
    distributions: tuple[Matrix, ...]

    def __post_init__(self) -> None:
        if len(self.items) != len(self.distributions):
            raise HumanDataError(f"{self.name}: {len(self.distributions)} distributions for {len(self.items)} items.")
        for item, rows in zip(self.items, self.distributions, strict=True):
            if rows.ndim != 2 or rows.shape[1] != len(item.options):
                raise HumanDataError(
                    f"{self.name}: item {item.id!r} has {len(item.options)} options, not {rows.shape}."
                )
            known = rows[~np.isnan(rows).any(1)]
            if known.size and ((known < -_TOLERANCE).any() or (np.abs(known.sum(1) - 1) > _TOLERANCE).any()):
                raise HumanDataError(f"{self.name}: the probabilities of item {item.id!r} do not add up to 1.")

    @classmethod
    def from_answers(cls, name: str, items: Sequence[EvaluationItem], codes: npt.NDArray[np.int64]) -> Predictions:
        """Predictions that are sure of one answer each, from codes as in `HumanAnswers.answers`."""
        distributions = []
        for column, item in zip(codes.T, items, strict=True):
            rows = np.full((len(column), len(item.options)), np.nan)
            known = np.flatnonzero(column >= 0)
            rows[known] = 0.0
            rows[known, column[known]] = 1.0
            distributions.append(rows)
        return cls(name, tuple(items), tuple(distributions))

    @classmethod
    def from_table(cls, name: str, table: pl.DataFrame, human: HumanAnswers) -> Predictions:
        """Predictions from a table with the columns `person`, `item` and `probabilities` (a list over the options)."""
        places = {person: row for row, person in enumerate(human.people)}
        distributions = []
        for item in human.items:
            rows = np.full((len(human.people), len(item.options)), np.nan)
            mine = table.filter((pl.col("item") == item.id) & pl.col("person").cast(pl.String).is_in(list(places)))
            mine = mine.filter(pl.col("probabilities").is_not_null())
            if mine.height:
                if (mine["probabilities"].list.len() != len(item.options)).any():
                    raise HumanDataError(
                        f"{name}: item {item.id!r} has {len(item.options)} options, and not so many chances."
                    )
                who = mine["person"].cast(pl.String).replace_strict(places, return_dtype=pl.Int64).to_numpy()
                rows[who] = np.stack(mine["probabilities"].to_list())
            distributions.append(rows)
        return cls(name, human.items, tuple(distributions))

    def table(self, people: Sequence[str]) -> pl.DataFrame:
        """A row for each person and item that has a prediction, in the form that `from_table` takes."""
        tables = []
        for item, rows in zip(self.items, self.distributions, strict=True):
            known = np.flatnonzero(~np.isnan(rows).any(1))
            tables.append(
                pl.DataFrame(
                    {
                        "person": [people[row] for row in known.tolist()],
                        "item": [item.id] * len(known),
                        "probabilities": rows[known].tolist(),
                    },
                    schema={"person": pl.String, "item": pl.String, "probabilities": pl.List(pl.Float64)},
                )
            )
        return pl.concat(tables)

    @classmethod
    def read(cls, path: str | Path, human: HumanAnswers) -> Predictions:
        """Predictions from a CSV or Parquet file; its name without the ending is that of the agent.

        The columns are `person`, `item` and `answer` for one answer each, or `person`, `item`, `option` and
        `probability` with a row for each option; an option without a row has probability 0. Other people and items
        are left out.

        Raises:
            HumanDataError: If a column is missing, an option is unknown or stands twice, or probabilities do not add
                up to 1.
        """
        path = Path(path)
        table = read_answer_table(path)
        name = path.name.split(".")[0]
        if "answer" in table.columns:
            table = table.rename({"answer": "option"}).with_columns(probability=pl.lit(1.0))
        missing = [column for column in ("person", "item", "option", "probability") if column not in table.columns]
        if missing:
            raise HumanDataError(
                f"{path} has no column {missing[0]!r}.", "It needs person, item and answer, or option and probability."
            )
        return cls(name, human.items, tuple(_long_distributions(table, human, str(path))))

    @classmethod
    def majority(cls, others: HumanAnswers, people: int) -> Predictions:
        """The floor: everybody is given the answers of other people, in the shares in which these gave them."""
        rows = [np.tile(shares, (people, 1)) for shares in others.shares()]
        return cls("majority", others.items, tuple(rows))

    def tempered(self, temperature: float) -> Predictions:
        """The predictions with probabilities raised to 1 / temperature and scaled again."""
        if not temperature > 0:
            raise HumanDataError(f"a temperature of {temperature} cannot be used.", "It must be above 0.")
        rows = []
        for each in self.distributions:
            with np.errstate(divide="ignore"):
                logs = np.log(each) / temperature
            weights = np.exp(logs - np.nanmax(logs, axis=1, keepdims=True, initial=-np.inf))
            rows.append(weights / weights.sum(1, keepdims=True))
        return Predictions(self.name, self.items, tuple(rows))


def _long_distributions(table: pl.DataFrame, human: HumanAnswers, where: str) -> list[Matrix]:
    """The distributions in a table with a row for each person, item and option."""
    places = {person: row for row, person in enumerate(human.people)}
    table = table.with_columns(pl.col("person", "item", "option").cast(pl.String))
    table = table.with_columns(to_numbers(table["probability"]))
    table = table.filter(pl.col("person").is_in(list(places)) & pl.col("option").is_not_null())
    table = table.with_columns(who=pl.col("person").replace_strict(places, return_dtype=pl.Int64))
    distributions = []
    for item in human.items:
        mine = table.filter(pl.col("item") == item.id)
        codes = {option: place for place, option in enumerate(item.options)}
        problems = (
            (mine.filter(~pl.col("option").is_in(list(codes))), "names an option that is not one of the item's"),
            (mine.filter(mine.select("person", "option").is_duplicated()), "stands twice with the same option"),
            (mine.filter(~pl.col("probability").is_between(0, 1).fill_null(False)), "has a probability outside 0 to 1"),
        )
        for rows, problem in problems:
            if rows.height:
                row = rows.row(0, named=True)
                raise HumanDataError(
                    f"{where}: person {shortened(row['person'])!r}, item {item.id!r}: {problem}: "
                    f"{shortened(row['option'])!r}."
                )
        rows_of_item = np.full((len(places), len(item.options)), np.nan)
        people = mine["who"].to_numpy()
        rows_of_item[people] = 0.0
        rows_of_item[people, mine["option"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()] = mine[
            "probability"
        ]
        distributions.append(rows_of_item)
    return distributions
