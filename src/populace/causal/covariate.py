"""A covariate of a causal study: what matters for the answer and is left open by a blind prompt."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Any

import polars as pl
import pydantic
from pydantic import Field

from populace.base.errors import CausalStudyError
from populace.base.plain_data import PlainData
from populace.causal.study_checks import check_covariate
from populace.questions import Choice, Number

Value = float | str


def _check_name(name: str) -> str:
    if re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,31}", name) is None:
        raise ValueError("a name begins with a letter and has at most 32 letters, digits and _")
    return name


Name = Annotated[str, pydantic.AfterValidator(_check_name)]


class CausalPart(PlainData):
    """A part of a declaration: no unknown keys, and no changes after it was read."""

    refusal = CausalStudyError
    refusal_hint = "See the keys of a causal study in docs/concepts/causal-designs.md."

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Covariate(CausalPart):
    """Something that matters for the answer and that a blind prompt leaves open.

    Attributes:
        name: Its name, which is its field in the sentence: `{past_price}`.
        statement: The sentence that states its value, for the design in which covariates are stated.
        values: The values of its population, each equally likely; one value holds it fixed.
        question: How its unstated value is asked for, in prompts that state the treatment and nothing else.
        unit: The unit of the answer.
        bounds: The smallest and the largest answer that makes sense.
        choices: Numbers to choose from, where its unstated value is asked for as a choice and not as a number: for
            models that seldom answer with a number. A model that gives probabilities needs one call then.
        scale: A column of the items with which values are multiplied and by which answers are divided.
        comparable: Whether it is on the scale of the treatment, so that a level lies above or below it: another price
            beside a price. Only such covariates can turn the response into a step (focalism).
        sd: Its standard deviation in the population, where it is known; taken from the answers otherwise.

    Example:
        >>> Covariate(name="past_price", statement="It was {past_price} dollars.", values=[1.0]).fixed
        True
    """

    name: Name
    statement: str = ""
    values: tuple[float, ...] | tuple[str, ...] = ()
    question: str = ""
    unit: str = ""
    bounds: tuple[float, float] = (0.0, math.inf)
    choices: tuple[float, ...] = ()
    scale: str = ""
    comparable: bool = False
    sd: float | None = Field(None, gt=0, allow_inf_nan=False)

    def __init__(self, **data: Any) -> None:
        super().__init__(**data)
        check_covariate(self)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @pydantic.field_validator("bounds", mode="before")
    @classmethod
    def _open_bounds(cls, value: Any) -> Any:
        """Bounds as they were recorded: JSON has no word for a side that is open."""
        if isinstance(value, (list, tuple)) and len(value) == 2:
            return tuple(
                end if bound is None else bound for bound, end in zip(value, (-math.inf, math.inf), strict=True)
            )
        return value

    @property
    def fixed(self) -> bool:
        """Whether it has one value for everybody."""
        return len(self.values) == 1

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return bool(self.values) and all(isinstance(value, float) for value in self.values)

    @property
    def words(self) -> str:
        """What it is called in a text."""
        return self.name.replace("_", " ")

    @pydantic.model_serializer(mode="wrap")
    def _plain_data(self, handler: Callable[[Covariate], dict[str, Any]]) -> dict[str, Any]:
        """The data without empty choices, as they were recorded before there were any."""
        data = handler(self)
        return data if self.choices else {key: value for key, value in data.items() if key != "choices"}

    @property
    def choice_texts(self) -> tuple[str, ...]:
        """How the numbers to choose from are written."""
        return tuple(f"{number:g} {self.unit}".strip() for number in self.choices)

    def elicitation(self) -> Number | Choice:
        """The question for its unstated value."""
        if self.choices:
            return Choice(self.question, options=self.choice_texts)
        low, high = self.bounds
        return Number(self.question, low=low, high=high, unit=self.unit)

    def elicited_values(self, answers: pl.Series) -> pl.Series:
        """Answers to the question for its unstated value as numbers; null where an answer is invalid."""
        if not self.choices:
            return answers.cast(pl.Float64)
        return answers.replace_strict(dict(zip(self.choice_texts, self.choices, strict=True)), return_dtype=pl.Float64)

    def value_for(self, choices: pl.Series, items: pl.DataFrame) -> pl.Series:
        """What fills its field, by the number of its value, for each row of a table of items."""
        column = pl.Series(self.name, self.values)[choices]
        if self.scale and self.numeric:
            column = (column * items[self.scale].cast(pl.Float64)).round(10)
        return column.alias(self.name)
