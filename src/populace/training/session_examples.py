"""Web sessions as training examples: the questions of the scenario `shop`, answered as people acted.

An example is the prompt that a run would send, and only the answer is learned: the type of action, the element, the
text, and, with reasoning, the thought before them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import polars as pl

from populace.base.errors import TrainingError
from populace.base.randomness import stream
from populace.evaluation.next_action.answered_questions import answered_questions, shuffle_reasoning
from populace.evaluation.next_action.cases import NextActionCases
from populace.prompting import Inquiry
from populace.questions import Answers, Finite
from populace.training.examples import SCHEMA, TrainingExamples
from populace.training.rendering import Vocabulary, render_shares, render_texts
from populace.worlds.web.sessions import WebSessions

SessionReasoning = Literal["none", "hidden", "recorded", "shuffled"]
"""Whether reasoning is learned: not at all, not but for the same actions as with it, as recorded, or others' own."""


class SessionSource:
    """Training examples from web sessions, in parts that can be rendered apart from each other.

    Args:
        sessions: The sessions that may be learned from.
        vocabulary: The tokens of the model that is trained.
        reasoning: `none` leaves reasoning out. `recorded` also teaches what was thought before each action, and tells
            it before the action; actions without a recorded thought are left out. `hidden` learns the same actions as
            `recorded` without the thoughts, so that the two differ in reasoning alone. `shuffled` teaches the thoughts
            of other people, as a control.
        licence: What may be done with the sessions.
        size: How many actions a part has, about.
        seed: The seed of order and shuffle.

    Attributes:
        parts: How many parts there are.
        left_out: How many actions are not learned, because they have no recorded thought or too large a page.
    """

    origin = "web sessions"

    def __init__(
        self,
        sessions: WebSessions,
        vocabulary: Vocabulary,
        *,
        reasoning: SessionReasoning = "none",
        licence: str = "CC0-1.0",
        size: int = 500,
        seed: int = 0,
    ) -> None:
        if reasoning not in get_args(SessionReasoning):
            raise TrainingError(f"reasoning is none, hidden, recorded or shuffled, not {reasoning!r}.")
        shuffled = shuffle_reasoning(sessions, seed) if reasoning == "shuffled" else sessions
        cases = NextActionCases.from_sessions(shuffled, first=True)
        table = cases.table
        if reasoning != "none":
            table = table.filter(pl.col("reasoning").is_not_null())
        if not table.height:
            raise TrainingError(
                "none of the sessions has recorded reasoning.", "Add it: populace sessions LOG --reason MODEL --to FILE"
            )
        self.reasoning, self.licence, self.vocabulary, self._seed = reasoning, licence, vocabulary, seed
        self.left_out = sessions.table.height - table.height
        self._cases = replace(cases, table=table)
        self.parts = max(1, round(table.height / size))
        self._part = (table["session"].hash(seed=seed) % self.parts).to_numpy()

    def __len__(self) -> int:
        return len(self._cases)

    def examples(self, part: int, pass_number: int = 0) -> TrainingExamples:
        """The examples of a part: for each action its type, its element and its text, and the thought before it."""
        cases = replace(self._cases, table=self._cases.table.filter(pl.Series(self._part == part)))
        pairs = answered_questions(cases, thinking=self.reasoning in ("recorded", "shuffled"))
        if not pairs:
            return TrainingExamples.concat([])
        table = pl.concat([self._rendered(inquiry, answers) for inquiry, answers in pairs])
        rng = stream(self._seed, f"sessions/{pass_number}/{part}")
        return TrainingExamples(table[pl.Series(rng.permutation(table.height))])

    def _rendered(self, inquiry: Inquiry, answers: Answers) -> pl.DataFrame:
        question, values = inquiry.question, answers.values.cast(pl.String)
        if isinstance(question, Finite):
            places = {str(value): place for place, value in enumerate(question.values)}
            codes = values.replace_strict(places, return_dtype=pl.Int64).to_numpy()
            rendered = render_shares(inquiry, np.eye(len(places))[codes], self.vocabulary)
        else:
            rendered = render_texts(inquiry, values.to_list())
        return rendered.with_columns(
            weight=pl.lit(1.0),
            person=inquiry.people["person"][rendered["row"].cast(pl.UInt32)],
            task=pl.lit(f"web sessions: {inquiry.purpose}"),
            origin=pl.lit(self.origin),
            licence=pl.lit(self.licence),
        ).select(*SCHEMA)
