"""Deciding by rule: a Python function over the columns of the people takes the place of a model."""

from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import QuestionError, nearest
from populace.base.randomness import uniforms
from populace.base.values import plain_value
from populace.deciders.decision import InquiryResult, draw_options, status_column
from populace.deciders.scored import option_values
from populace.people.columns import to_column
from populace.prompting import Inquiry
from populace.questions import Answers, Choice, Finite

_RETURN = "Return one value for each person, such as a column or a list, in the order of the people."
_TABLE = "A table of probabilities has a row for each person and a column for each option."


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
    people = inquiry.people.with_columns(**fields) if fields else inquiry.people
    table = _table(output := inquiry.rule(people), inquiry)
    values = _values_of_column(inquiry, output) if table is None else _values_by_draw(inquiry, table)
    count = len(inquiry.people)
    codes = np.zeros(count, np.uint8)
    return InquiryResult(
        Answers(inquiry.question, inquiry.people.ids, values, status_column(codes), np.full(count, -1, np.int32))
    )


def _table(output: Any, inquiry: Inquiry) -> np.ndarray[Any, Any] | None:
    """The probabilities that a rule returned: an array, a table or a list of lists; None where it returned values."""
    if not isinstance(inquiry.question, Finite):
        return None
    if isinstance(output, np.ndarray):
        return output if output.ndim == 2 else None
    if len(getattr(output, "columns", ())) > 1:
        output = output.to_numpy()
    elif not (isinstance(output, (list, tuple)) and len(output) and isinstance(output[0], (list, tuple, np.ndarray))):
        return None
    try:
        return np.asarray(output, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise QuestionError(
            f"the rule for {inquiry.question.text!r} gave a table that does not hold numbers alone.", _TABLE
        ) from error


def _values_of_column(inquiry: Inquiry, output: Any) -> pl.Series:
    question, ids = inquiry.question, inquiry.people.ids
    if output is None:
        raise QuestionError(f"the rule for {question.text!r} returned nothing.", _RETURN)
    if isinstance(output, (str, int, float, bool, np.generic)):
        raise QuestionError(
            f"the rule for {question.text!r} gave {plain_value(output, 'a value', QuestionError)!r} for all people.",
            _RETURN,
        )
    values = to_column("value", output, ids, f"the result of the rule for {question.text!r}", QuestionError)
    if not isinstance(values, pl.Series):
        raise QuestionError(f"the rule for {question.text!r} gave one value for all people.", _RETURN)
    if isinstance(question, Finite):
        plain = values.cast(pl.String) if isinstance(question, Choice) else values
        _refuse_other_values(question, plain, ids)
        values = plain
    try:
        return values.cast(question.dtype)
    except pl.exceptions.PolarsError as error:
        raise QuestionError(f"the rule for {question.text!r} gave values of type {values.dtype}: {error}.") from error


def _refuse_other_values(question: Finite, values: pl.Series, ids: pl.Series) -> None:
    """Raise where a rule gave somebody a value that is not an option."""
    options = f"The options are {', '.join(map(str, question.values))}."
    try:
        invalid = ~values.is_in(pl.Series(question.values).implode()) | values.is_null()
    except pl.exceptions.PolarsError as error:
        raise QuestionError(f"the rule for {question.text!r} gave values of type {values.dtype}.", options) from error
    if invalid.any():
        row = int(invalid.arg_max() or 0)
        guess = nearest(str(values[row]), map(str, question.values))
        raise QuestionError(
            f"the rule for {question.text!r} gave {values[row]!r} to person {ids[row]!r}, which is not an option.",
            (f"Did you mean {guess!r}? " if guess else "") + options,
        )


def _values_by_draw(inquiry: Inquiry, probabilities: np.ndarray[Any, Any]) -> pl.Series:
    question, count = inquiry.question, len(inquiry.people)
    if not isinstance(question, Finite) or probabilities.shape != (count, len(question.words)):
        shape = " by ".join(map(str, probabilities.shape))
        raise QuestionError(f"the rule for {question.text!r} gave a table of {shape} for {count} people.", _TABLE)
    table = probabilities.astype(np.float64)
    if (table < 0).any() or not np.allclose(table.sum(axis=1), 1.0, atol=1e-6):
        row = int(np.argmax((table < 0).any(axis=1) | ~np.isclose(table.sum(axis=1), 1.0, atol=1e-6)))
        raise QuestionError(
            f"the rule for {question.text!r} gave person {inquiry.people.ids[row]!r} {table[row].tolist()}.",
            "Probabilities lie between 0 and 1, and each row adds up to 1.",
        )
    rows = np.arange(count, dtype=np.int32)
    return option_values(question, draw_options(table, rows, uniforms(inquiry.key, inquiry.person_keys())))
