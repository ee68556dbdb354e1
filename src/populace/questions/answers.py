"""Decisions as data: the answers of many people to one question."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import QuestionError, UnknownNameError
from populace.base.templates import FEW
from populace.people import Id
from populace.questions.base import STATUSES, VALID, Question
from populace.questions.finite import Finite
from populace.questions.form import Form


@dataclass(frozen=True)
class Answers:
    """What people answered, aligned with the people asked.

    An answer that failed, was refused or could not be read is empty in `values` and says why in
    `status`. Assigned to a column, an empty answer leaves the person's old value in place.

    Attributes:
        question: What was asked.
        ids: Who was asked.
        values: A value for each, empty where there is none.
        status: `ok`, `repaired`, `refused`, `unparseable`, `timeout`, `over_budget` or `unanswered`.
        prompt: For each person, the row of the distinct prompt that was put; -1 where there was none.
        probabilities: For each distinct prompt, the distribution over options, before temperature.
        mass: For each distinct prompt, the share of probability that fell on any option.

    Example:
        >>> from populace import Choice, Scripted, simulate
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=2, days=1), model="scripted:uniform", seed=1, keep="nothing")
        >>> model = Scripted(lambda request: {"yes": 1.0, "no": 0.0})
        >>> answers = run.interview(Choice("Are you content?", options=("yes", "no")), model=model)
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

    def __repr__(self) -> str:
        return f"<{len(self)} answers to {self.question.text!r}: {self.valid.sum()} valid>"

    def _repr_html_(self) -> str:
        return self.frame._repr_html_()

    @property
    def frame(self) -> pl.DataFrame:
        """A table of id, value and status."""
        return pl.DataFrame({"id": self.ids, "value": self.values, "status": self.status})

    @property
    def valid(self) -> pl.Series:
        """True where there is an answer."""
        return self.status.is_in(list(VALID)).alias("valid")

    @property
    def one(self) -> Any:
        """The value, when one person was asked; None where it is invalid."""
        if len(self) != 1:
            raise QuestionError(f"{len(self)} people were asked, so there is not one answer.")
        return self.values[0]

    def of(self, who: Id) -> Any:
        """The value of one person; None where it is invalid."""
        row = self.ids.index_of(who) if isinstance(who, str) != self.ids.dtype.is_integer() else None
        if row is None:
            raise UnknownNameError("person asked", str(who), [])
        return self.values[row]

    def count(self, value: Any) -> int:
        """How many gave this value."""
        return int((self.values == value).sum() or 0)

    def share(self, value: Any) -> float:
        """The share of valid answers with this value; 0 where none is valid."""
        answered = len(self) - self.values.null_count()
        return self.count(value) / answered if answered else 0.0

    def statuses(self) -> dict[str, int]:
        """How many answers had each status that occurred."""
        return dict(self._counts)

    @functools.cached_property
    def _counts(self) -> dict[str, int]:
        if len(self) <= FEW:
            held = self.status.to_list()
            counts = [held.count(status) for status in STATUSES]
        else:
            counts = np.bincount(self.status.to_physical().to_numpy(), minlength=len(STATUSES)).tolist()
        return {status: count for status, count in zip(STATUSES, counts, strict=True) if count}

    def rates(self) -> dict[str, float]:
        """The share of each status that occurred."""
        return {status: count / len(self) for status, count in self.statuses().items()}

    def field(self, name: str) -> pl.Series:
        """One field of a form, for each person; empty where the form is invalid."""
        if not isinstance(self.question, Form):
            raise QuestionError(f"{self.question.text!r} is no form, so it has no fields.")
        if name not in self.question.schema()["properties"]:
            raise UnknownNameError("field", name, self.question.schema()["properties"])
        rows = [None if text is None else json.loads(text).get(name) for text in self.values]
        return pl.Series(name, rows)

    @property
    def distribution(self) -> pl.DataFrame:
        """For each person, the probability of every option before temperature; empty where there is none."""
        if not isinstance(self.question, Finite) or self.probabilities is None:
            raise QuestionError(f"{self.question.text!r} was not answered with a distribution.")
        known = self.prompt >= 0
        rows = np.where(known[:, None], self.probabilities[np.where(known, self.prompt, 0)], np.nan)
        columns = {str(value): rows[:, i] for i, value in enumerate(self.question.values)}
        return pl.DataFrame({"id": self.ids, **columns}).with_columns(pl.exclude("id").fill_nan(None))
