from __future__ import annotations

import json

import pytest

from populace import Run, Utterance, simulate
from populace.base.errors import UnknownNameError
from populace.engine.workspace import Workspace
from populace.runs.biography import decisions_of
from populace.runs.decision import Decision
from populace.runs.decision_details import (
    _cleaning,
    decision_details,
    details_document,
    form_fields,
    neighbours,
)
from populace.scenarios.discussion import Discussion
from support.models import Counting
from support.scenarios import Forms, Shirts
from support.society import debater


def test_a_decision_is_opened_with_its_call_and_who_shares_it(shirts_run: Run) -> None:
    found = decision_details(shirts_run, 2, 1, calls=Workspace().folder / "calls.sqlite")
    assert found is not None
    (call,) = found.calls
    assert call.key == found.decision.prompts[0]["call"]
    assert (call.shared, call.reused, call.cost) == (4, False, 0.0)
    assert call.seconds is not None
    assert found.fields == {"blue": str(shirts_run.people(1).count(shirt="blue"))}


def test_a_reply_that_an_earlier_run_paid_for_counts_as_reused(shirts_run: Run) -> None:
    again = simulate(Shirts(), model=Counting(), seed=1)
    found = decision_details(again, 2, 1, calls=Workspace().folder / "calls.sqlite")
    assert found is not None and found.calls[0].reused


def test_the_draw_falls_on_the_option_that_was_chosen(shirts_run: Run) -> None:
    for person in range(12):
        found = decision_details(shirts_run, 3, person)
        assert found is not None
        decision = found.decision
        on = [option for option, low, high in decision.draw_intervals if low <= (decision.draw or 0) < high]
        assert on == [decision.value]


def test_the_distribution_is_shown_before_and_after_temperature() -> None:
    run = simulate(Shirts(), model=Counting(), seed=1, temperature=0.5)
    found = decision_details(run, 1, 1)
    assert found is not None
    table = found.decision.distribution_table
    assert table["before"].sum() == pytest.approx(1) and table["after"].sum() == pytest.approx(1)
    assert table["after"].max() > table["before"].max()  # type: ignore[operator]


def test_what_came_to_mind_stands_beside_the_decision() -> None:
    run = simulate(Discussion(members=3, rounds=2, embedder="hashing"), model=debater(), seed=1)
    paths = decisions_of(run, 1).filter(step=2, purpose="position")["path"].to_list()
    found = decision_details(run, 2, 1, paths[0])
    assert found is not None
    assert found.memories.height > 0
    assert found.memories["score"].is_sorted(descending=True)
    assert all(text in found.decision.prompts[0]["user"] for text in found.memories["text"])


def test_forms_and_texts_have_no_distribution() -> None:
    run = simulate(Forms(), model=Counting(), seed=1)
    form, text = decision_details(run, 1, 1, "1/4"), decision_details(run, 1, 1, "1/3")
    assert form is not None and text is not None
    assert set(form_fields(form.decision.value) or ()) == {"cups", "sugar"}
    assert form_fields(text.decision.value) is None
    assert not text.decision.distribution_table.height
    assert text.decision.draw_intervals == []
    averaged = decision_details(run, 1, 1, "1/0")
    assert averaged is not None and len(averaged.decision.prompts) == 2


def test_neighbours_are_the_decisions_before_and_after() -> None:
    run = simulate(Forms(), model=Counting(), seed=1)
    table = decisions_of(run, 1)
    assert neighbours(table, 1, "1/0") == (None, {"step": 1, "path": "1/1"})
    assert neighbours(table, 1, "1/4") == ({"step": 1, "path": "1/3"}, {"step": 2, "path": "2/0"})
    assert neighbours(table, 9, "9/0") == (None, None)


def test_an_unknown_path_is_an_error_and_a_step_without_decisions_is_none(shirts_run: Run) -> None:
    with pytest.raises(UnknownNameError, match="no decision named '2/9'"):
        decision_details(shirts_run, 2, 1, "2/9")
    assert decision_details(shirts_run, 0, 1) is None


def test_what_was_done_to_an_utterance_is_told() -> None:
    question = Utterance("What do you write?", limit=80)
    prompt = {"system": "You are Ann.", "user": "So?", "replies": ["Ann: <b>Hello</b> to you all!"]}
    decision = Decision(1, "1/0", {"id": 1}, question.describe(), "Hello to you all!", "ok", [prompt], 1.0, None)
    (made,) = _cleaning(decision)
    assert made["left"] == "Hello to you all!" and made["rules"]


def test_a_decision_becomes_plain_data(shirts_run: Run) -> None:
    found = decision_details(shirts_run, 2, 1, calls=Workspace().folder / "calls.sqlite")
    assert found is not None
    assert json.loads(json.dumps(details_document(found)))["tempered"].keys() == {"blue", "green"}
