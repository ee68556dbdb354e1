"""The questions of web sessions with the answers that people's actions are: what a run would ask, answered by the log.

The part of a mind that acts in a simulation puts its questions here as well, and what people did answers them. So they
have exactly the words of a run; training examples are made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from populace.deciders.rule import decide_by_rule
from populace.engine.session import run_to_end
from populace.evaluation.next_action.asking import NO_THOUGHT, RecordedPages, shuffled_thoughts
from populace.evaluation.next_action.cases import NextActionCases
from populace.minds import WEB_ACTIONS, Actions, Mind
from populace.people import People
from populace.prompting import Inquiry, Situation
from populace.questions import Answers, Question
from populace.scenarios.shop.wording import SITUATION, THINKING, THOUGHT
from populace.worlds.web.sessions import WebSessions


def answered_questions(cases: NextActionCases, *, thinking: bool = False) -> list[tuple[Inquiry, Answers]]:
    """Every question that a run would put in some cases, with what people did as the answers.

    Args:
        cases: The cases.
        thinking: Whether people think before they act: then the recorded thought is asked for, and told before the
            action; where there is none, it is not asked for.

    Returns:
        Pairs of an inquiry, whose people have the columns `id` (the case), `person` and `profile`, and the answers.

    Example:
        >>> from populace.worlds.web.session_generator import generate_sessions
        >>> cases = NextActionCases.from_sessions(generate_sessions(2, seed=1))
        >>> inquiry, answers = answered_questions(cases)[0]
        >>> inquiry.question.text, len(answers) == len(cases)
        ('What do you do now?', True)
    """
    recorder = _Recorder(cases)
    if len(cases):
        run_to_end(recorder.put_questions(thinking))
    return recorder.answered


def shuffle_reasoning(sessions: WebSessions, seed: int = 0) -> WebSessions:
    """The sessions with every recorded thought given to an action of another person; a control for reasoning."""
    table = sessions.table
    there = table["reasoning"].is_not_null()
    mixed = shuffled_thoughts(table["reasoning"].filter(there), table["person"].filter(there), seed)
    rows = np.flatnonzero(there.to_numpy()).tolist()
    column = pl.Series("reasoning", [None] * table.height, dtype=pl.String)
    return replace(sessions, table=table.with_columns(reasoning=column.scatter(rows, mixed) if rows else column))


@dataclass
class _Recorder:
    """Puts the questions of sessions, answers them as people acted, and keeps both."""

    cases: NextActionCases
    answered: list[tuple[Inquiry, Answers]] = field(default_factory=list)

    def __post_init__(self) -> None:
        truth = [pl.col(name).alias(f"true_{name}") for name in ("element", "text", "reasoning")]
        action = pl.col("action").str.replace_all("_", " ").alias("true_action")
        self.people = People(self.cases.table.select(pl.col("case").alias("id"), "profile", "person", action, *truth))

    async def put_questions(self, thinking: bool) -> None:
        """Ask everything that a run would ask."""
        table = self.cases.table
        fields: dict[str, Any] = {"page": table["page"], "deeds": table["deeds"]}
        given = SITUATION
        if thinking:
            fields["deeds"] = table["deeds_with_thoughts"]
            thoughtful = np.flatnonzero(table["reasoning"].is_not_null().to_numpy())
            if len(thoughtful):
                mine = {name: column[pl.Series(thoughtful)] for name, column in fields.items()}
                await self.ask(
                    self.people.rows(thoughtful), THINKING, given=SITUATION, purpose="reasoning",
                    rule=lambda people: people["true_reasoning"], **mine,
                )  # fmt: skip
            given, fields["thought"] = SITUATION + THOUGHT, table["reasoning"].fill_null(NO_THOUGHT)
        pages = {case: self.cases.pages[html] for case, html in table.select("case", "page").iter_rows()}
        actions = Actions(WEB_ACTIONS, RecordedPages(pages), waiting=False)
        await actions.choose(self, self.people, given=given, rule=_deed, **fields)

    async def ask(
        self,
        people: Any,
        question: Question,
        *,
        given: str = "",
        purpose: str = "",
        profile: str | None = None,
        about: object = "",
        rule: Callable[[People], Any] | None = None,
        **fields: Any,
    ) -> Answers:
        """Answer a question by what people did."""
        situation = Situation.from_fields(question, given, fields, people.ids)
        inquiry = Inquiry("log", people, Mind("{profile}"), situation, 0, decider="rule", rule=rule, purpose=purpose)
        answers = decide_by_rule(inquiry).answers
        self.answered.append((inquiry, answers))
        return answers

    async def each(self, items: Iterable[Any], body: Callable[[Any], Coroutine[Any, Any, Any]]) -> list[Any]:
        """Run a coroutine for each item, one after the other."""
        return [await body(item) for item in items]


def _deed(people: People, argument: str) -> pl.Series:
    return people[f"true_{argument or 'action'}"]
