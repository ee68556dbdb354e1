"""Reasoning traces: why somebody did what they did, written by a model that knows it, and checked.

A trace must fit the action: rules look at its words, and a model that judges must find the action among others from
the trace alone. Only traces that pass are kept; all are counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from populace.base.randomness import stream
from populace.broker import CallSettings, CallStore
from populace.engine.session import Session
from populace.evaluation.next_action.asking import CaseAsker
from populace.evaluation.next_action.cases import NextActionCases
from populace.models import Model
from populace.people import People
from populace.questions import Choice, Text
from populace.scenarios.shop.wording import SITUATION, deed_lines
from populace.worlds.web.page import WebPage, element_word
from populace.worlds.web.sessions import WebSessions

TraceStatus = Literal["consistent", "invalid", "too long", "names an element", "contradicts", "not recognised"]

EXAMPLES = (
    "People think aloud like this:\n"
    "- I need something for the rain, so I look at what they have for under fifty.\n"
    "- Four and a half stars and cheaper than the other one, let me see the details.\n"
    "- That is more than I wanted to spend with shipping, I would rather leave it.\n"
)
"""Sentences written by hand, as examples for the model."""
WHY = Text(
    "What did you think just before you did that? Say it in one sentence in the first person, without the names of "
    "elements and without the words click, type or page.",
    max_words=40,
)
DONE = "\n\nWhat you did then: {deed}\n\n" + EXAMPLES
OTHERS = 3
"""How many other actions a judge sees beside the one that was taken."""
WHICH = Choice("Which of these did they do next?", options=tuple(str(n) for n in range(1, OTHERS + 2)), order="fixed")
THOUGHT_OF = 'Somebody uses a web shop. They think: "{thought}"\nThey could do one of these things:\n{candidates}'

_MOST_WORDS = 60
_MARKUP = re.compile(r"<\w|</|\btype_and_submit\b|\bname=")
_LEAVING = re.compile(r"\b(leave|leaving|give up|giving up|go elsewhere|look elsewhere|not buy)\b", re.IGNORECASE)
_BUYING = re.compile(
    r"\b(add it to|put it in|check out now|place the order|order it|buy it|search for|open it)\b", re.IGNORECASE
)
_NOT = re.compile(r"\b(not|never|no|without|rather than|instead of)\b|n't", re.IGNORECASE)


@dataclass(frozen=True)
class ReasoningTraces:
    """Traces for the actions of sessions.

    Attributes:
        sessions: The sessions, with `reasoning` where a trace is consistent with the action, and none elsewhere.
        table: A row for each action: `session`, `step`, `action`, `reasoning` (as it was written), `status`, and
            `agreement` (the probability that a judge gives the action; null without a judge).
    """

    sessions: WebSessions
    table: pl.DataFrame

    def counts(self) -> pl.DataFrame:
        """How many traces have which status, by action."""
        return self.table.group_by("action", "status").agg(pl.len().alias("number")).sort("action", "status")

    @property
    def consistent_share(self) -> float:
        """The share of traces that are consistent with the action."""
        return int((self.table["status"] == "consistent").sum()) / self.table.height


def synthesise_reasoning(
    sessions: WebSessions,
    model: str | Model,
    *,
    judge: str | Model | None = None,
    seed: int = 0,
    calls: CallSettings | None = None,
    store: Callable[[], CallStore] | None = None,
) -> ReasoningTraces:
    """Let a model write why people did what they did, and check every trace.

    Args:
        sessions: The sessions.
        model: Who writes; it is told the page, what the person did before, and the action.
        judge: Who must find the action among others from the trace alone; nobody if left out.
        seed: The seed of the other actions that a judge sees.
        calls: How models are called, and what may be spent.
        store: Opens the store in which replies are kept; they are kept in memory if left out.
    """
    cases = NextActionCases.from_sessions(sessions, first=True)
    table = cases.table
    people = People(table.select(pl.col("case").alias("id"), "profile"))
    deeds = table.select(deed_lines(pl.col("action"), pl.col("element"), pl.col("text"))).to_series()

    def session(who: str | Model) -> Session:
        return Session(None if store is None else store(), calls=calls, model=who)

    writing = session(model)
    answers = writing.finish(
        CaseAsker(writing, people, _spec(model), seed, 0.0).ask(
            people, WHY, given=SITUATION + DONE, purpose="reasoning trace",
            page=table["page"], deeds=table["deeds"], deed=deeds,
        )
    )  # fmt: skip
    traces = answers.values.cast(pl.String)
    agreement = None if judge is None else _agreement(cases, traces, session(judge), _spec(judge), seed)
    return _checked(sessions, cases, traces, agreement)


def _agreement(cases: NextActionCases, traces: pl.Series, session: Session, judge: str, seed: int) -> pl.Series:
    """The probability that a judge gives the action that was taken, from the trace alone; null without a trace."""
    candidates, places = candidate_lists(cases, seed)
    there = np.flatnonzero(traces.is_not_null().to_numpy())
    chances = np.full(len(cases), np.nan)
    if len(there):
        rows = pl.Series(there)
        people = People(
            cases.table.select(pl.col("case").alias("id"), pl.lit("You are a careful observer.").alias("profile"))[rows]
        )
        asker = CaseAsker(session, people, judge, seed, 0.0)
        found = session.finish(
            asker.ask(
                people, WHICH, given=THOUGHT_OF, purpose="check of a trace",
                thought=traces[rows], candidates=candidates[rows],
            )
        )  # fmt: skip
        picked = (found.values.cast(pl.String).cast(pl.Int64).fill_null(0).to_numpy() - 1 == places[there]).astype(
            np.float64
        )
        if found.probabilities is not None:
            known = found.prompt >= 0
            given = found.probabilities[np.where(known, found.prompt, 0), places[there]]
            picked = np.where(known, given, picked)
        chances[there] = picked
    return pl.Series(chances).fill_nan(None)


def trace_status(trace: str | None, page: WebPage, action: str, element: str | None) -> TraceStatus:
    """What the words of a trace say about whether it fits an action.

    Args:
        trace: The trace; None where there is no valid one.
        page: The page.
        action: The action.
        element: The element that was used.

    Example:
        >>> page = WebPage.read('<a name="results.tea_pot.view">View</a><a name="results.iron_pan.view">View</a>')
        >>> trace_status("The iron pan looks good.", page, "click", "results.tea_pot.view")
        'contradicts'
        >>> trace_status("The tea pot looks good.", page, "click", "results.tea_pot.view")
        'consistent'
    """
    if trace is None or not trace.strip():
        return "invalid"
    if len(trace.split()) > _MOST_WORDS:
        return "too long"
    names = [each.name for each in page.elements]
    if _MARKUP.search(trace) or any("." in name and name in trace for name in names):
        return "names an element"
    words = f"_{'_'.join(word for part in trace.split() if (word := element_word(part)))}_"
    items = {part[1] for name in names if len(part := name.split(".")) > 2}
    mine = element.split(".")[1] if element is not None and element.count(".") > 1 else None
    spoken = {item for item in items if f"_{item}_" in words}
    if mine is not None and spoken and mine not in spoken:
        return "contradicts"
    leaves = bool(_LEAVING.search(trace)) and not _NOT.search(trace.replace("not buy", ""))
    if action != "terminate" and leaves:
        return "contradicts"
    if action == "terminate" and _BUYING.search(trace) and not _NOT.search(trace) and not _LEAVING.search(trace):
        return "contradicts"
    return "consistent"


def candidate_lists(cases: NextActionCases, seed: int) -> tuple[pl.Series, Any]:
    """For each case the action that was taken among others that were possible, numbered, and its place from 0.

    Where a page offers too few others, the last numbers say that nothing was done.
    """
    rng = stream(seed, "next-action/candidates")
    lines, places = [], np.zeros(len(cases), np.int64)
    columns = cases.table.select("page", "action", "element", "text")
    for row, (html, action, element, text) in enumerate(columns.iter_rows()):
        page = cases.pages[html]
        others = [f"Click {name}." for name in page.clickable if name != element]
        others += ["Leave the shop."] if action != "terminate" else []
        others += [f"Type something into {name}." for name in page.inputs if name != element]
        mine = {
            "click": f"Click {element}.",
            "type_and_submit": f'Type "{text}" into {element}.',
            "terminate": "Leave the shop.",
        }[action]
        order = rng.permutation(len(others))[:OTHERS].tolist()
        chosen = [others[place] for place in order] + ["Wait."] * (OTHERS - len(order))
        places[row] = int(rng.integers(OTHERS + 1))
        chosen.insert(int(places[row]), mine)
        lines.append("\n".join(f"{number}: {line}" for number, line in enumerate(chosen, 1)))
    return pl.Series(lines, dtype=pl.String), places


def _checked(
    sessions: WebSessions, cases: NextActionCases, traces: pl.Series, agreement: pl.Series | None
) -> ReasoningTraces:
    columns = cases.table.select("page", "action", "element")
    status = [
        trace_status(trace, cases.pages[html], action, element)
        for trace, (html, action, element) in zip(traces.to_list(), columns.iter_rows(), strict=True)
    ]
    chances = pl.Series([None] * len(cases), dtype=pl.Float64) if agreement is None else agreement
    table = cases.table.select("session", "step", "action").with_columns(
        reasoning=traces, status=pl.Series(status, dtype=pl.String), agreement=chances
    )
    doubted = (pl.col("status") == "consistent") & (pl.col("agreement") <= 1 / (OTHERS + 1))
    table = table.with_columns(
        status=pl.when(doubted).then(pl.lit("not recognised")).otherwise("status").fill_null(pl.col("status"))
    )
    good = table.select(
        "session", "step", pl.when(pl.col("status") == "consistent").then("reasoning").alias("reasoning")
    )
    rows = sessions.table.drop("reasoning").join(good, on=["session", "step"], how="left", maintain_order="left")
    return ReasoningTraces(replace(sessions, table=rows), table)


def _spec(model: str | Model) -> str:
    return model if isinstance(model, str) else model.spec
