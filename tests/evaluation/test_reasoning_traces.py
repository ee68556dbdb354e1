"""Reasoning traces: what a model writes is checked against the action, and what does not fit is counted and dropped."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from populace.evaluation.next_action import NextActionCases, synthesise_reasoning
from populace.evaluation.next_action.reasoning import OTHERS, candidate_lists, trace_status
from populace.models import Request, Scripted
from populace.worlds.web.page import WebPage
from populace.worlds.web.session_generator import generate_sessions

SESSIONS = generate_sessions(12, shops=2, visits=1, seed=5)
PAGE = WebPage.read(
    '<input name="header.search"><a name="results.tea_pot.view">v</a><a name="results.iron_pan.view">v</a>'
    '<button name="checkout.place_order">o</button>'
)


@pytest.mark.parametrize(
    ("trace", "action", "element", "status"),
    [
        ("The tea pot is cheap, let me look at it.", "click", "results.tea_pot.view", "consistent"),
        ("Both the tea pot and the iron pan are nice, I start with the pot.", "click", "results.tea_pot.view", "consistent"),
        ("The Iron Pan, of course!", "click", "results.tea_pot.view", "contradicts"),
        ("I had better leave now.", "click", "results.tea_pot.view", "contradicts"),
        ("I do not want to give up yet.", "click", "results.tea_pot.view", "consistent"),
        ("I will order it and be done.", "terminate", None, "contradicts"),
        ("I do not want to order it any more.", "terminate", None, "consistent"),
        ("Too expensive, I leave.", "terminate", None, "consistent"),
        ("I click results.tea_pot.view.", "click", "results.tea_pot.view", "names an element"),
        ("I use type_and_submit.", "type_and_submit", "header.search", "names an element"),
        ('<a name="x">', "click", "results.tea_pot.view", "names an element"),
        ("word " * 80, "click", "results.tea_pot.view", "too long"),
        ("  ", "click", "results.tea_pot.view", "invalid"),
        (None, "terminate", None, "invalid"),
    ],
)  # fmt: skip
def test_the_words_of_a_trace_are_compared_with_the_action(
    trace: str | None, action: str, element: str | None, status: str
) -> None:
    assert trace_status(trace, PAGE, action, element) == status


def writer(share: float) -> Scripted:
    """A model that writes a fitting trace, or for a share of the prompts one that says the opposite."""

    def reply(request: Request) -> Any:
        user = request.messages[-1][1]
        deed = user.split("What you did then: ")[1].split("\n")[0]
        leaves = deed == "You left."
        wrong = sum(map(ord, user)) % 100 < 100 * share
        return (
            "I order it now." if leaves and wrong else "I leave, this is enough." if leaves != wrong else "It suits me."
        )

    return Scripted(reply, spec=f"scripted:writer-{share}")


def test_traces_that_do_not_fit_are_counted_and_leave_no_reasoning() -> None:
    traces = synthesise_reasoning(SESSIONS, writer(0.3))
    wrong = traces.table.filter(pl.col("status") == "contradicts")
    assert 0.15 < wrong.height / traces.table.height < 0.45
    assert traces.consistent_share == pytest.approx(1 - wrong.height / traces.table.height)
    assert traces.counts()["number"].sum() == SESSIONS.table.height
    kept = traces.sessions.table["reasoning"]
    assert kept.null_count() == wrong.height and kept.len() == SESSIONS.table.height
    assert synthesise_reasoning(SESSIONS, writer(0.0)).consistent_share == 1


def test_a_judge_must_find_the_action_from_the_trace_alone() -> None:
    cases = NextActionCases.from_sessions(SESSIONS, first=True)
    lists, places = candidate_lists(cases, seed=0)
    assert set(places.tolist()) == set(range(OTHERS + 1))
    truth = {text: str(place + 1) for text, place in zip(lists.to_list(), places.tolist(), strict=True)}

    def judge(right: bool) -> Scripted:
        def reply(request: Request) -> Any:
            user = request.messages[-1][1]
            best = next(place for text, place in truth.items() if text in user)
            return {option: float((option == best) == right) / (1 if right else OTHERS) for option in request.options}

        return Scripted(reply, spec=f"scripted:judge-{right}")

    assert synthesise_reasoning(SESSIONS, writer(0.0), judge=judge(True)).consistent_share > 0.95
    doubted = synthesise_reasoning(SESSIONS, writer(0.0), judge=judge(False))
    assert (doubted.table["status"] == "not recognised").sum() > 0.95 * SESSIONS.table.height
    assert doubted.sessions.table["reasoning"].count() == (doubted.table["status"] == "consistent").sum()


def test_the_reasoning_of_earlier_actions_is_told_and_that_of_the_action_is_not() -> None:
    sessions = synthesise_reasoning(SESSIONS, writer(0.0)).sessions
    marked = sessions.table.with_columns(
        reasoning=pl.concat_str(pl.lit("thought "), pl.col("step").cast(pl.String), pl.lit("."))
    )
    cases = NextActionCases.from_sessions(type(sessions).from_table(marked))
    row = cases.table.filter(pl.col("step") == 3).row(0, named=True)
    assert "You thought: thought 2." in row["deeds_with_thoughts"] and "thought 3" not in row["deeds_with_thoughts"]
    assert "thought" not in row["deeds"]
