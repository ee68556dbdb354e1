"""Instruments: questionnaires with keys, scoring and estimands, as files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import polars as pl
import pydantic
from pydantic import Field

from populace.base.document_lines import add_line, at_entry
from populace.base.documents import DocumentError, read_yaml
from populace.base.errors import QuestionnaireError, UnknownNameError, UsageError
from populace.engine.report_table import ReportTable
from populace.statistics import Effect, difference
from populace.surveys.items import Item, NumberItem, Part, RatingItem, SingleItem
from populace.surveys.questionnaire import Questionnaire, first_problem
from populace.surveys.results import SurveyResults

FOLDER = Path(__file__).parent / "instruments"
"""The folder of the instruments that are part of Populace."""

_FEWEST = 2
"""An effect needs so many answers to each of its two items."""
ScaleStatistic = Literal["mean", "sum", "share"]
"""The mean or the sum of the values of items, or the mean of their places between the lowest and highest value."""


class Scale(Part):
    """A figure about a person, from the answers to some items.

    Attributes:
        keys: The items, each with 1, or -1 where a high answer counts as low.
        statistic: How the values are put together.
    """

    keys: Mapping[str, Literal[1, -1]] = Field(min_length=1)
    statistic: ScaleStatistic = "mean"


class Estimand(Part):
    """What an experiment with two conditions estimates: the mean of one item less that of another.

    Attributes:
        about: What it says, in a sentence.
        treatment: The item that people in one condition answer.
        control: The item that people in the other condition answer.
        statistic: `mean` of the values, or `share`, their place between the lowest and highest value.
    """

    about: str = Field(min_length=1)
    treatment: str
    control: str
    statistic: Literal["mean", "share"] = "mean"


class Instrument(Part):
    """A questionnaire with what its answers mean.

    Attributes:
        title: Its title.
        source: Where the items come from.
        licence: What may be done with them.
        questionnaire: The items.
        scales: Figures about each person.
        estimands: What its experiments estimate.

    Example:
        >>> games = Instrument.read("games")
        >>> games.score(pl.DataFrame({"dictator": [0, 50], "trust_first": [10, 5], "trust_second": [15, None],
        ...     "public_goods": [20, 5], "dilemma": ["defect", "cooperate"]})).row(1)
        (0.5, 0.5, None, 0.25, 1.0)
    """

    title: str = Field(min_length=1)
    source: str = Field(min_length=1)
    licence: str = Field(min_length=1)
    questionnaire: Questionnaire
    scales: Mapping[str, Scale] = Field(default_factory=dict)
    estimands: Mapping[str, Estimand] = Field(default_factory=dict)

    @pydantic.model_validator(mode="after")
    def _check(self) -> Self:
        items = {item.id: item for item in self.questionnaire.items}
        uses: list[tuple[str, str, tuple[str, ...]]] = [
            (name, f"scale {scale!r}", ("scales", scale, "keys", name))
            for scale, entry in self.scales.items()
            for name in entry.keys
        ]
        for estimand, entry in self.estimands.items():
            if entry.treatment == entry.control:
                with at_entry("estimands", estimand):
                    raise QuestionnaireError(f"estimand {estimand!r} compares the item {entry.control!r} with itself.")
            uses += [
                (getattr(entry, side), f"estimand {estimand!r}", ("estimands", estimand, side))
                for side in ("treatment", "control")
            ]
        for name, use, place in uses:
            with at_entry(*place):
                if name not in items:
                    raise QuestionnaireError(f"{use} names the item {name!r}, which is not in the questionnaire.")
                if _bounds(items[name]) is None:
                    raise QuestionnaireError(f"{use}: the item {name!r} has no lowest and highest value to score.")
        for number, name in enumerate(items):
            if name not in {used for used, _, _ in uses}:
                with at_entry("questionnaire", "items", number):
                    raise QuestionnaireError(f"the item {name!r} has no key in any scale or estimand.")
        return self

    @classmethod
    def read(cls, source: str | Path | Mapping[str, Any]) -> Instrument:
        """An instrument by its name (see `instrument_names`), from a YAML file, or from a mapping.

        Raises:
            QuestionnaireError: If it cannot be read, or an item has no key; the text names the file and the item.
        """
        path: Path | None = None
        content: Any = source
        if not isinstance(source, Mapping):
            path = instrument_path(source) or Path(source)
            if not path.is_file():
                raise UnknownNameError("instrument", str(source), instrument_names(), "There is no such file either.")
            try:
                content = read_yaml(path, words=True)
            except (OSError, DocumentError) as error:
                raise QuestionnaireError(f"{path} could not be read: {error}.", "Save it as UTF-8 YAML.") from error
        try:
            return cls.model_validate(content)
        except pydantic.ValidationError as error:
            problem = QuestionnaireError(first_problem(error))
            problem.entry, problem.__cause__ = tuple(error.errors()[0]["loc"]), error
        except UsageError as error:
            problem = QuestionnaireError(error.what, error.hint)
            problem.entry, problem.__cause__ = error.entry, error
        if path is None:
            problem.what = f"the instrument: {problem.what}"
            problem.args = (problem.what,)
        else:
            add_line(problem, path)
        raise problem

    def score(self, answers: pl.DataFrame) -> pl.DataFrame:
        """The scales of each person, in the order of the rows.

        A mean or share is that of the items that a person answered, and missing where that is fewer than half of
        them. A sum is missing where an answer is.

        Args:
            answers: A row for each person and a column for each item, as `SurveyResults.table` has them.

        Raises:
            QuestionnaireError: If the column of an item is missing, or an answer cannot be.
        """
        columns = []
        for name, scale in self.scales.items():
            values = [self._values(answers, item, scale.statistic == "share", key) for item, key in scale.keys.items()]
            table = pl.DataFrame({str(place): column for place, column in enumerate(values)})
            known = table.select(pl.sum_horizontal(pl.all().is_not_null().cast(pl.Int64))).to_series()
            if scale.statistic == "sum":
                figure, enough = table.select(pl.sum_horizontal(pl.all())).to_series(), known == len(values)
            else:
                figure, enough = table.select(pl.mean_horizontal(pl.all())).to_series(), known * 2 >= len(values)
            columns.append(pl.select(pl.when(enough & (known > 0)).then(figure).alias(name)).to_series())
        return pl.DataFrame(columns)

    def effect(self, estimand: str, answers: pl.DataFrame) -> Effect:
        """The difference that an estimand declares, with its interval.

        Args:
            estimand: Its name.
            answers: A row for each person and a column for each item.
        """
        if estimand not in self.estimands:
            raise UnknownNameError("estimand", estimand, self.estimands)
        entry = self.estimands[estimand]
        share = entry.statistic == "share"
        treatment, control = (
            self._values(answers, item, share, 1).drop_nulls() for item in (entry.treatment, entry.control)
        )
        return difference(treatment, control, paired=False)

    def findings(self, results: SurveyResults) -> list[ReportTable]:
        """The means of the scales and the effects of the estimands in a survey, each with its interval."""
        tables = []
        if self.scales:
            note = "Means over people with 95 % intervals; how each scale is made of its items is in the instrument."
            tables.append(ReportTable("Scales", results.means(self.score(results.table)), note))
        rows = []
        for name, entry in self.estimands.items():
            if min(results.table[item].count() for item in (entry.treatment, entry.control)) >= _FEWEST:
                effect = self.effect(name, results.table).estimate
                rows.append((name, effect.value, effect.low, effect.high, effect.n, entry.about))
        if rows:
            names = ["estimand", "effect", "low", "high", "n", "about"]
            note = "Treatment less control with 95 % intervals; everybody counts the same."
            tables.append(ReportTable("Estimands", pl.DataFrame(rows, schema=names, orient="row"), note))
        return tables

    def _values(self, answers: pl.DataFrame, name: str, share: bool, key: int) -> pl.Series:
        """The values of an item: numbers as they are, options by their place from 1; reversed where the key says so."""
        if name not in answers.columns:
            raise QuestionnaireError(f"the answers have no column {name!r}.", "Every item with a key needs one.")
        item = next(item for item in self.questionnaire.items if item.id == name)
        low, high = _bounds(item) or (0.0, 0.0)
        column = answers[name]
        if isinstance(item, SingleItem):
            codes = {option: float(place) for place, option in enumerate(item.options, 1)}
            values = column.cast(pl.String).replace_strict(codes, default=None, return_dtype=pl.Float64)
        else:
            values = column.cast(pl.Float64, strict=False)
        wrong = column.is_not_null() & ~values.is_between(low, high).fill_null(False)
        if wrong.any():
            answer = column.filter(wrong)[0]
            raise QuestionnaireError(f"the answer {answer!r} to item {name!r} is not one of its answers.")
        values = low + high - values if key < 0 else values
        return (values - low) / (high - low) if share else values


def instrument_names() -> list[str]:
    """The names of the instruments that are part of Populace.

    Example:
        >>> instrument_names()
        ['attitudes', 'big-five', 'games', 'vignettes']
    """
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def instrument_path(source: str | Path) -> Path | None:
    """The file of an instrument of Populace; None where the text names none."""
    return FOLDER / f"{source}.yaml" if str(source) in instrument_names() else None


def is_instrument(source: str | Path) -> bool:
    """Whether a text names an instrument of Populace, or a YAML file that holds one."""
    path = Path(source)
    if not path.is_file():
        return instrument_path(source) is not None
    if path.suffix.lower() not in (".yaml", ".yml"):
        return False
    try:
        content = read_yaml(path, words=True)
    except (OSError, DocumentError):
        return False  # Reading it as a questionnaire says what is wrong with it.
    return isinstance(content, Mapping) and "questionnaire" in content


def _bounds(item: Item) -> tuple[float, float] | None:
    """The lowest and highest value of an item; None where it has none."""
    if isinstance(item, SingleItem):
        return 1.0, float(len(item.options))
    if isinstance(item, (RatingItem, NumberItem)) and float("-inf") < item.low < item.high < float("inf"):
        return float(item.low), float(item.high)
    return None
