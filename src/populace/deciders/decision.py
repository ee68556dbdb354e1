"""What comes out of an inquiry, whoever decides: answers, and the prompts behind them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.prompting import Inquiry
from populace.questions import STATUS_DTYPE, STATUSES, Answers

PROMPT_SCHEMA: dict[str, pl.DataType] = {
    "prompt": pl.Int32(),
    "arrangement": pl.String(),
    "model": pl.String(),
    "method": pl.String(),
    "labels": pl.Boolean(),
    "system": pl.String(),
    "user": pl.String(),
    "fields": pl.String(),
    "lead": pl.String(),
    "reasoning": pl.String(),
    "replies": pl.List(pl.String()),
    "status": pl.String(),
    "mass": pl.Float64(),
    "probabilities": pl.List(pl.Float64()),
    "call": pl.String(),
    "prompt_tokens": pl.Int32(),
    "completion_tokens": pl.Int32(),
}
"""The columns of one distinct prompt in the journal."""


@dataclass(frozen=True)
class Decided:
    """The answers to an inquiry, and the prompts behind them as the journal keeps them."""

    answers: Answers
    prompts: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PROMPT_SCHEMA))


def merged(inquiry: Inquiry, parts: list[tuple[npt.NDArray[np.int64], Decided]]) -> Decided:
    """Put the answers of parts of the people together again, in the order in which all were asked."""
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
    offset, prompts, numbers, probabilities, masses = 0, [], [], [], []
    options = next((d.answers.probabilities.shape[1] for _, d in parts if d.answers.probabilities is not None), 0)
    for _, decided in parts:
        answers = decided.answers
        numbers.append(np.where(answers.prompt >= 0, answers.prompt + offset, -1).astype(np.int32))
        prompts.append(decided.prompts.with_columns(pl.col("prompt") + offset))
        count = int(decided.prompts["prompt"].max() or 0) + 1 if decided.prompts.height else 0  # type: ignore[arg-type]
        offset += count
        blank = np.full((count, options), np.nan)
        probabilities.append(blank if answers.probabilities is None else answers.probabilities)
        masses.append(np.full(count, np.nan) if answers.mass is None else answers.mass)
    values = pl.concat([decided.answers.values for _, decided in parts])[order]
    status = pl.concat([decided.answers.status for _, decided in parts])[order]
    answers = Answers(
        inquiry.question,
        inquiry.people.ids,
        values,
        status,
        np.concatenate(numbers)[order],
        np.concatenate(probabilities) if options else None,
        np.concatenate(masses) if options else None,
    )
    return Decided(answers, pl.concat(prompts))


def statuses(codes: npt.NDArray[np.uint8]) -> pl.Series:
    """Status codes as a column."""
    if len(codes) and (codes == codes[0]).all():
        return _STATUSES.new_from_index(int(codes[0]), len(codes))
    return _STATUSES[pl.Series(codes)]


_STATUSES = pl.Series("status", STATUSES, dtype=STATUS_DTYPE)
