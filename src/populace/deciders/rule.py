"""Deciding by rule: a Python function over the columns of the people takes the place of a model."""

from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import QuestionError
from populace.base.randomness import uniforms
from populace.deciders.decision import InquiryResult, draw_options, status_column
from populace.deciders.scored import option_values
from populace.prompting import Inquiry
from populace.questions import Answers, Choice, Finite


def decide_by_rule(inquiry: Inquiry) -> InquiryResult:
    """Answer by the rule, which receives the people with the fields of the prompt as further columns.

    A rule returns a value for each person, or for a finite question a table of probabilities with
    a row for each person; these are drawn from with the same random numbers as a model's.
    """
    if inquiry.rule is None:
        raise QuestionError(
            f"{inquiry.question.text!r} is to be decided by rule, and it has none.",
            "Pass rule=… to ask, a function from people to a value for each.",
        )
    situation = inquiry.situation
    fields: dict[str, Any] = {**situation.constants, **situation.columns}
    output = inquiry.rule(inquiry.people.with_columns(**fields) if fields else inquiry.people)
    is_table = isinstance(output, np.ndarray) and output.ndim == 2
    values = _values_by_draw(inquiry, output) if is_table else _values_of_column(inquiry, output)
    count = len(inquiry.people)
    codes = np.zeros(count, np.uint8)
    return InquiryResult(
        Answers(inquiry.question, inquiry.people.ids, values, status_column(codes), np.full(count, -1, np.int32))
    )


def _values_of_column(inquiry: Inquiry, output: Any) -> pl.Series:
    question, count = inquiry.question, len(inquiry.people)
    if not hasattr(output, "__len__") or len(output) != count:
        size = len(output) if hasattr(output, "__len__") else "no"
        raise QuestionError(f"the rule for {question.text!r} gave {size} values for {count} people.")
    values = pl.Series("value", output)
    if isinstance(question, Finite):
        allowed = pl.Series(question.values)
        plain = values.cast(pl.String) if isinstance(question, Choice) else values
        invalid = plain.filter(~plain.is_in(allowed.implode()) | plain.is_null())
        if invalid.len():
            raise QuestionError(
                f"the rule for {question.text!r} gave {invalid[0]!r}, which is not an option.",
                f"The options are {', '.join(map(str, question.values))}.",
            )
        values = plain
    try:
        return values.cast(question.dtype)
    except pl.exceptions.PolarsError as error:
        raise QuestionError(f"the rule for {question.text!r} gave values of type {values.dtype}: {error}.") from error


def _values_by_draw(inquiry: Inquiry, probabilities: np.ndarray[Any, Any]) -> pl.Series:
    question, count = inquiry.question, len(inquiry.people)
    if not isinstance(question, Finite) or probabilities.shape != (count, len(question.words)):
        raise QuestionError(
            f"the rule for {question.text!r} gave a table of {probabilities.shape}.",
            "Probabilities need a row for each person and a column for each option.",
        )
    table = probabilities.astype(np.float64)
    if (table < 0).any() or not np.allclose(table.sum(axis=1), 1.0, atol=1e-6):
        row = int(np.argmax((table < 0).any(axis=1) | ~np.isclose(table.sum(axis=1), 1.0, atol=1e-6)))
        raise QuestionError(
            f"the rule for {question.text!r} gave person {inquiry.people.ids[row]!r} {table[row].tolist()}."
        )
    rows = np.arange(count, dtype=np.int32)
    return option_values(question, draw_options(table, rows, uniforms(inquiry.key, inquiry.person_keys())))
