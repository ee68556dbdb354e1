"""Decisions as training examples: the prompt that a run would send, and the reply that is to be learned.

Prompts come from the same code that composes them for a run, so what is learned is what will be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import TrainingError
from populace.deciders.scored import LEAD
from populace.prompting import Conversations, Inquiry, conversations
from populace.questions import LABELS, Arrangement, Finite, Mode, Question, mode_of

Shares = npt.NDArray[np.float64]


class Vocabulary(Protocol):
    """What rendering must know of a model: the first token of a text as it is written after a lead."""

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        """The first token of each text."""
        ...


def render_shares(inquiry: Inquiry, shares: Shares, vocabulary: Vocabulary) -> pl.DataFrame:
    """The examples of a question with options.

    Args:
        inquiry: What is asked, of whom.
        shares: For each person a row with the share of each option, in declared order; 1 for what one person chose.
        vocabulary: The tokens of the model that is trained.

    Returns:
        A row for each person and order shown, with the columns `row` (of the person), `system`, `user`, `lead`,
        `answers` (each option as it is written after the lead) and `shares`.
    """
    question = inquiry.question
    if not isinstance(question, Finite):
        raise TrainingError(f"{question.text!r} has no options.", "Render what people wrote with render_texts().")
    if shares.shape != (len(inquiry.people), len(question.words)):
        raise TrainingError(
            f"the shares have the shape {shares.shape}, not {len(inquiry.people)} people × {len(question.words)}."
        )
    tokens = vocabulary.first_tokens(question.words) if question.scoring == "auto" else None
    mode = mode_of(question, tokens, True)
    rows = conversations(inquiry, mode=mode, scored=True)
    places = (rows.of_person[:, None] * rows.orders + np.arange(rows.orders)).ravel()
    people = np.repeat(np.arange(len(inquiry.people)), rows.orders)
    texts = {order: _option_texts(question, order, mode) for order in set(rows.arrangements)}
    return _table(rows, places, people).with_columns(
        lead=pl.lit(LEAD + (" " if mode == "digits" else "")),
        answers=pl.Series([texts[rows.arrangements[place]] for place in places.tolist()], dtype=pl.List(pl.String)),
        shares=pl.Series(shares[people].tolist(), dtype=pl.List(pl.Float64)),
    )


def render_texts(inquiry: Inquiry, replies: Sequence[str]) -> pl.DataFrame:
    """The examples of a question that is answered in words, as `render_shares` gives them.

    Args:
        inquiry: What is asked, of whom.
        replies: What each person wrote.
    """
    rows = conversations(inquiry, mode="words", scored=False)
    places = rows.of_person.astype(np.int64)
    question = inquiry.question
    table = _table(rows, places, np.arange(len(inquiry.people)))
    leads = [""] * table.height
    if type(question).lead is not Question.lead:
        texts = zip(table["system"], table["user"], strict=True)
        leads = [question.lead(f"{system}\n{user}") for system, user in texts]
    return table.with_columns(
        lead=pl.Series(leads, dtype=pl.String),
        answers=pl.Series([[reply] for reply in replies], dtype=pl.List(pl.String)),
        shares=pl.Series([[1.0]] * table.height, dtype=pl.List(pl.Float64)),
    )


def _table(rows: Conversations, places: npt.NDArray[Any], people: npt.NDArray[np.int64]) -> pl.DataFrame:
    chosen = pl.Series(places).cast(pl.UInt32)
    return pl.DataFrame({"row": people, "system": rows.system[chosen], "user": rows.user[chosen]})


def _option_texts(question: Finite, arrangement: Arrangement, mode: Mode) -> list[str]:
    """Each option in declared order as the model writes it after the lead."""
    if mode == "labels":
        return [f" {LABELS[arrangement.index(option)]}" for option in range(len(arrangement))]
    return [word if mode == "digits" else f" {word}" for word in question.words]
