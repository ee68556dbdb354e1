"""The declaration of a causal study: a treatment in a question, who is asked, and what is to be estimated.

A treatment is declared once. Every design of the study is rendered from this declaration (`causal/wording.py`), so
designs differ in how they ask and in nothing else. The sentence that holds the treatment is written apart from the
rest of the text: nothing else in a prompt may name it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import polars as pl
import pydantic
from pydantic import Field

from populace.base.document_lines import add_line
from populace.base.errors import CausalStudyError, nearest
from populace.base.plain_data import refusal_of
from populace.causal.covariate import CausalPart, Covariate, Name, Value
from populace.causal.study_checks import check_study, check_treatment
from populace.causal.study_file import read_study_file
from populace.questions import Choice

ITEM, PERSONA = "item", "persona"
"""The columns that name an item and a persona."""
MAX_ROWS = 20_000

Row = Mapping[str, Any]


class Treatment(CausalPart):
    """What is varied: its levels, the population that they were drawn from, and the sentence that states one.

    Attributes:
        name: Its name, which is its field in the sentence: `{price}`.
        levels: Numbers; or words; or words with the sentence of each, where an empty sentence is a control.
        statement: The sentence that states one level, such as `The price is ${price:.2f}.`. Levels that bring their
            own sentences need none.
        label: How a level is written in a list of levels, as a template such as `${price:.2f}`.
        noun: What it is called in a text; its name by default.
        scale: A column of the items with which levels are multiplied, such as a regular price.
        base: A column of the items to which levels are added, such as the price of another product.
        drawn_from: The population of levels that these were drawn from, in words.
        probabilities: How likely each level is in the experiment; all equally likely by default.
        low: The smallest value that makes sense in a prompt, after `scale` and `base`. It is 0, so a price below 0 is
            an error; temperatures need another.

    Example:
        >>> price = Treatment(name="price", levels=[1, 2], statement="It costs {price} dollars.")
        >>> price.values, price.numeric
        ((1.0, 2.0), True)
    """

    name: Name
    levels: tuple[Value, ...] | dict[str, str]
    statement: str = ""
    label: str = ""
    noun: str = ""
    scale: str = ""
    base: str = ""
    drawn_from: str = ""
    probabilities: tuple[float, ...] = ()
    low: float = 0.0

    def __init__(self, **data: Any) -> None:
        super().__init__(**data)
        check_treatment(self)

    # As a part of a study it is checked there, where errors name its entry.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @pydantic.field_validator("levels", mode="before")
    @classmethod
    def _plain_levels(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): "" if text is None else text for key, text in value.items()}
        return value

    @property
    def values(self) -> tuple[Value, ...]:
        """The levels in the order of the declaration."""
        return tuple(self.levels)

    @property
    def numeric(self) -> bool:
        """Whether the levels are numbers."""
        return all(isinstance(value, float) for value in self.values)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The levels on the scale of the slope; words are numbered from 0."""
        return tuple(float(v) for v in self.values) if self.numeric else tuple(map(float, range(len(self.values))))

    @property
    def words(self) -> str:
        """What the treatment is called in a text."""
        return self.noun or self.name.replace("_", " ")

    @property
    def shares(self) -> tuple[float, ...]:
        """How likely each level is; they add up to 1."""
        weights = self.probabilities or (1.0,) * len(self.values)
        return tuple(weight / sum(weights) for weight in weights)

    @property
    def equally_likely(self) -> bool:
        """Whether all levels are equally likely."""
        return len({round(share, 12) for share in self.shares}) == 1

    def sentence(self, level: int) -> str:
        """The sentence that states a level, as a template with the field of the treatment; empty for a control."""
        return self.levels[str(self.values[level])] if isinstance(self.levels, dict) else self.statement

    def list_entry(self, level: int) -> str:
        """How a level is written in a list of levels, as a template."""
        if isinstance(self.levels, dict):
            return self.sentence(level).strip() or f"(nothing is said about the {self.words})"
        return self.label or f"{{{self.name}}}"

    def situation(self, level: int) -> str:
        """A level as an entry of a numbered list of situations, as a template."""
        return self.list_entry(level) if isinstance(self.levels, dict) else self.statement

    def value_at(self, level: int, items: pl.DataFrame) -> pl.Series:
        """What fills the field of the treatment at a level, for each row of a table of items."""
        value = self.values[level]
        if (self.scale or self.base) and isinstance(value, float):
            zeros = pl.Series(self.name, [0.0]).new_from_index(0, items.height)
            unit = items[self.scale].cast(pl.Float64) if self.scale else zeros + 1.0
            start = items[self.base].cast(pl.Float64) if self.base else zeros
            return (unit * value + start).round(10).alias(self.name)
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        return pl.Series(self.name, [whole]).new_from_index(0, items.height)

    def subset(self, rows: Sequence[int]) -> Treatment:
        """The same treatment with some of its levels, such as the lower half of a range."""
        beyond = next((row for row in rows if not 0 <= row < len(self.values)), None)
        if beyond is not None:
            raise CausalStudyError(
                f"the treatment {self.name!r} has no level {beyond}.",
                f"Levels have the numbers 0 to {len(self.values) - 1}.",
            )
        levels: Any = tuple(self.values[row] for row in rows)
        if isinstance(self.levels, dict):
            levels = {str(name): self.levels[str(name)] for name in levels}
        kept = tuple(self.probabilities[row] for row in rows) if self.probabilities else ()
        return self.model_copy(update={"levels": levels, "probabilities": kept})

    def require_levels(self, levels: Sequence[Value], source: str) -> None:
        """Raise CausalStudyError where another table, such as one of human answers, has other levels.

        Example:
            >>> Treatment(name="price", levels=[1, 2], statement="{price}").require_levels([1, 2], "humans.csv")
        """
        here: list[Value] = [v if isinstance(v, str) else round(v, 9) for v in self.values]
        if None in levels:
            raise CausalStudyError(f"a level of {source} is missing.", "Fill it in, or leave out the row.")
        there: list[Value] = [v if isinstance(v, str) else round(float(v), 9) for v in levels]
        extra = [f"{v}" for v in dict.fromkeys(there) if v not in here]
        missing = [f"{v}" for v in here if v not in there]
        if extra or missing:
            parts = [f"it has {', '.join(extra)}"] * bool(extra) + [f"it lacks {', '.join(missing)}"] * bool(missing)
            raise CausalStudyError(
                f"the levels of {source} are not those of {self.name!r}: {' and '.join(parts)}.",
                "A curve is compared at equal levels: use the levels of the table, or bring it to these.",
            )


class CausalStudy(CausalPart):
    """A study of what a treatment does to an answer.

    The estimand is E[Y(do level)]: the mean answer if everybody in the population were given a level, over the stated
    population of covariates; as a slope in log-odds and as the area between two curves.

    Attributes:
        title: Its title.
        treatment: What is varied.
        setting: What people are told besides; it must not name the treatment.
        question: What they are asked; it must not name the treatment either.
        options: The possible answers.
        success: The answer that counts.
        order: The order in which options are shown where one level is stated: `fixed`, `reversed`, `random` for each
            person, or `rotate`, the average over all rotations.
        covariates: What matters besides, and is left open by a blind prompt.
        items: What the question is about, a row each, with the same columns: products, messages … One unnamed item by
            default.
        personas: Who is asked, a row each, with the same columns. One person without a profile by default.
        profile: Who a persona is, as a template over their columns; by default all columns are listed.
        held: What the lot leaves as it is, in the words in which an unblinded prompt tells it.
        population: The population of people and covariates that the estimand is about, in words.
        expected: What the answers should do as the treatment rises, if they respond to it at all.
        unit: The change of the treatment that the slope is given for.
        forecasts: How many independent forecasts each item gets in the aggregate design.

    Example:
        >>> study = CausalStudy.read({
        ...     "treatment": {"name": "price", "levels": [1, 2], "statement": "It costs {price} dollars."},
        ...     "setting": "You see apples.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes"})
        >>> study.estimand
        "E[Y(do price)]: the share of 'yes' if everybody were given a level of price"
    """

    metavar: ClassVar[str] = "FILE"

    title: str = "Causal study"
    treatment: Treatment
    setting: str = Field(min_length=1)
    question: str = Field(min_length=1)
    options: tuple[str, ...] = Field(min_length=2, max_length=26)
    success: str
    order: Literal["fixed", "reversed", "random", "rotate"] = "fixed"
    covariates: tuple[Covariate, ...] = ()
    items: tuple[Row, ...] = Field(({},), min_length=1, max_length=MAX_ROWS)
    personas: tuple[Row, ...] = Field(({},), min_length=1, max_length=MAX_ROWS)
    profile: str = ""
    held: str = "the rest of the situation, all that happened before, and the people who take part"
    population: str = ""
    expected: Literal["falls", "rises", "either"] = "either"
    unit: float = Field(1.0, gt=0, allow_inf_nan=False)
    forecasts: int = Field(20, ge=1, le=1000)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _parse(cls, value: Any) -> Any:
        return read_study_file(Path(value)) if isinstance(value, (str, Path)) else value

    @pydantic.model_validator(mode="after")
    def _check(self) -> Self:
        check_study(self)
        return self

    @classmethod
    def read(cls, source: str | Path | Mapping[str, Any] | CausalStudy) -> CausalStudy:
        """A study from a YAML file or from a mapping.

        Raises:
            CausalStudyError: If the file cannot be read or the declaration is wrong; the text names file and line.
        """
        if isinstance(source, CausalStudy):
            return source
        try:
            return cls.model_validate(source)
        except pydantic.ValidationError as error:
            problem = refusal_of(cls, error, "the study")
            problem.__cause__ = error
        except CausalStudyError as error:
            problem = error
        if isinstance(source, (str, Path)):
            add_line(problem, Path(source))
        raise problem

    @property
    def answer_question(self) -> Choice:
        """The question as it is put where one level is stated."""
        return Choice(self.question, options=self.options, order=self.order)

    @property
    def estimand(self) -> str:
        """What is estimated, in words."""
        text = f"E[Y(do {self.treatment.name})]: the share of {self.success!r} if everybody were given a level of "
        text += self.treatment.words
        return f"{text}, over {self.population}" if self.population else text

    @property
    def item_table(self) -> pl.DataFrame:
        """The items as a table, with a column `item` that names each."""
        return _table(self.items, ITEM)

    @property
    def persona_table(self) -> pl.DataFrame:
        """The personas as a table, with a column `persona` that names each."""
        return _table(self.personas, PERSONA)

    @property
    def digest(self) -> str:
        """A hash of the whole declaration: another one for every change."""
        return hashlib.blake2b(self.model_dump_json().encode(), digest_size=8).hexdigest()

    def covariate(self, name: str) -> Covariate:
        """A covariate by its name."""
        for covariate in self.covariates:
            if covariate.name == name:
                return covariate
        guess = nearest(name, [covariate.name for covariate in self.covariates])
        raise CausalStudyError(
            f"the study has no covariate {name!r}.", f"Did you mean {guess!r}?" if guess else "Declare it."
        )

    def with_levels(self, rows: Sequence[int]) -> CausalStudy:
        """The same study with some of the levels of its treatment."""
        return self.model_copy(update={"treatment": self.treatment.subset(rows)})


def _table(rows: Sequence[Row], key: str) -> pl.DataFrame:
    """Rows as a table with a column of names, numbered from 1 where there are none."""
    columns = {name: pl.Series(name, [row[name] for row in rows], strict=False) for name in rows[0]}
    names = columns.pop(key, pl.Series([str(place) for place in range(1, len(rows) + 1)])).cast(pl.String)
    return pl.DataFrame({key: names, **columns})
