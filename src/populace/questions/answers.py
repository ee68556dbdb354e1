"""The answers of many people to one question, as columns."""

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import QuestionError, UnknownNameError
from populace.base.formatting import plural
from populace.base.templates import FEW
from populace.people import Id
from populace.questions.base import STATUSES, VALID, Question
from populace.questions.finite import Finite
from populace.questions.form import Form


class _NoAttributeError(QuestionError, AttributeError):
    """An attribute that answers do not have; also an AttributeError, so that `hasattr` works."""


@dataclass(frozen=True)
class Answers:
    """The answers of the people who were asked one question, in their order.

    An answer that failed, was refused or could not be read is null in `values`, and `status` says why. Assigned to a
    column of people, a null answer leaves the person's old value in place.

    Attributes:
        question: The question.
        ids: The ids of the people asked.
        values: A value for each person; null where the answer is invalid.
        status: `ok`, `repaired`, `refused`, `unparseable`, `timeout`, `over_budget` or `unanswered`, for each person.
        prompt: The row of each person's prompt in the table of distinct prompts; -1 for a person without one.
        probabilities: The distribution over options for each distinct prompt, before temperature.
        mass: The share of probability that fell on any option, for each distinct prompt.

    Example:
        >>> from populace import Choice, Scripted, simulate
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=2, days=1), model="scripted:uniform", seed=1, keep="nothing")
        >>> model = Scripted(lambda request: {"yes": 1.0, "no": 0.0})
        >>> answers = run.at().interview(Choice("Are you content?", options=("yes", "no")), model=model)
        >>> answers.values.to_list(), answers.share("yes")
        (['yes', 'yes'], 1.0)
    """

    question: Question
    ids: pl.Series
    values: pl.Series
    status: pl.Series
    prompt: npt.NDArray[np.int32]
    probabilities: npt.NDArray[np.float64] | None = None
    mass: npt.NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return self.ids.len()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.to_list())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Answers):
            return self is other or (self.question == other.question and self.frame.equals(other.frame))
        raise QuestionError(
            f"the answers of {len(self)} people were compared with {other!r}.",
            "Write answers.values == … for each of them, answers.one == … for one person, or answers.share(…).",
        )

    __hash__ = object.__hash__

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_") and hasattr(pl.Series, name):
                raise _NoAttributeError(
                    f"answers have no {name!r}; their values have.", f"Write: answers.values.{name}"
                )
            if name.startswith("_"):
                raise AttributeError(name)
            hint = "The values are answers.values, or answers.one if one person was asked."
            raise _NoAttributeError(f"answers have no {name!r}.", hint)

    def __repr__(self) -> str:
        return f"<{plural(len(self), 'answer')} to {self.question.text!r}: {self.valid.sum()} valid>"

    def _repr_html_(self) -> str:
        return self.frame._repr_html_()

    @property
    def frame(self) -> pl.DataFrame:
        """A table with the columns `id`, `value` and `status`."""
        return pl.DataFrame({"id": self.ids, "value": self.values, "status": self.status})

    @property
    def valid(self) -> pl.Series:
        """True for each valid answer."""
        return self.status.is_in(list(VALID)).alias("valid")

    @property
    def one(self) -> Any:
        """The value if one person was asked; None if it is invalid."""
        if len(self) != 1:
            raise QuestionError(
                f"{len(self)} people were asked, so there is not one answer.",
                "Write answers.values for all of them, or answers.of(id) for one.",
            )
        return self.values[0]

    def of(self, who: Id) -> Any:
        """The value of one person; None if it is invalid."""
        row = self.ids.index_of(who) if isinstance(who, str) != self.ids.dtype.is_integer() else None
        if row is None:
            raise QuestionError(f"the person {who!r} was not asked.", "Name the id of somebody who was: answers.ids.")
        return self.values[row]

    def count(self, value: Any) -> int:
        """How many people gave this value; a value that is not an option of the question is an error."""
        if isinstance(self.question, Finite) and value not in self.question.values:
            options = [str(option) for option in self.question.values]
            raise UnknownNameError(f"option of {self.question.text!r}", str(value), options)
        return int((self.values == value).sum() or 0)

    def share(self, value: Any) -> float:
        """The share of valid answers with this value; 0 if none is valid."""
        count, valid = self.count(value), len(self) - self.values.null_count()
        return count / valid if valid else 0.0

    def statuses(self) -> dict[str, int]:
        """How many answers had each status that occurred."""
        return dict(self._counts)

    @functools.cached_property
    def _counts(self) -> dict[str, int]:
        if len(self) <= FEW:
            statuses = self.status.to_list()
            counts = [statuses.count(status) for status in STATUSES]
        else:
            counts = np.bincount(self.status.to_physical().to_numpy(), minlength=len(STATUSES)).tolist()
        return {status: count for status, count in zip(STATUSES, counts, strict=True) if count}

    def rates(self) -> dict[str, float]:
        """The share of each status that occurred."""
        return {status: count / len(self) for status, count in self.statuses().items()}

    def field(self, name: str) -> pl.Series:
        """One field of a form for each person; null where the form is invalid."""
        if not isinstance(self.question, Form):
            raise QuestionError(f"{self.question.text!r} is not a form, so it has no fields.")
        if name not in self.question.schema()["properties"]:
            raise UnknownNameError("field", name, self.question.schema()["properties"])
        rows = [None if text is None else json.loads(text).get(name) for text in self.values]
        return pl.Series(name, rows)

    @property
    def distribution(self) -> pl.DataFrame:
        """The probability of every option for each person, before temperature; null where there is none."""
        if not isinstance(self.question, Finite) or self.probabilities is None:
            raise QuestionError(
                f"{self.question.text!r} was not answered with a distribution.",
                "Only a Choice or a Rating that a model with log-probabilities answers has one.",
            )
        known = self.prompt >= 0
        rows = np.where(known[:, None], self.probabilities[np.where(known, self.prompt, 0)], np.nan)
        columns = {str(value): rows[:, i] for i, value in enumerate(self.question.values)}
        return pl.DataFrame({"id": self.ids, **columns}).with_columns(pl.exclude("id").fill_nan(None))
