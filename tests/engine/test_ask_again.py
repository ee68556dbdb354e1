from __future__ import annotations

import json
from typing import Any

import pytest

from populace import Choice, Field, People, Rating, Run, Scenario, simulate
from populace.base.errors import PopulaceError, TemplateError, UnknownNameError, UsageError
from populace.engine.ask_again import DecisionChanges, RepeatedDecision, ask_again
from populace.engine.session import Session
from populace.engine.workspace import Workspace
from populace.models import Model, Scripted
from populace.scenarios.norms import Norms
from support.commands import populace
from support.models import Counting, leaning, varied
from support.scenarios import Forms, Shirts


def ask(
    run: Run,
    model_object: Model | None = None,
    *,
    step: int = 2,
    person: int | str = 1,
    path: str | None = None,
    **changes: Any,
) -> RepeatedDecision:
    """Ask again, with a model by its string where one is given."""
    session = Session(Workspace().store(), model=model_object or Counting())
    return session.finish(
        ask_again(run, session, step=step, person=person, path=path, changes=DecisionChanges(**changes))
    )


def test_unchanged_it_gives_the_recorded_decision_without_a_call(shirts_run: Run) -> None:
    repeated_decision = ask(shirts_run)
    assert (repeated_decision.calls, repeated_decision.reused, repeated_decision.lines) == (0, 1, [])
    assert repeated_decision.same_answer
    assert repeated_decision.repeated.distribution == repeated_decision.recorded.distribution
    assert repeated_decision.repeated.draw == repeated_decision.recorded.draw
    assert set(repeated_decision.differences.values()) == {0.0}


@pytest.mark.parametrize("path", ["1/0", "1/1", "1/2", "1/3", "1/4"])
def test_every_kind_of_question_repeats_without_a_call(path: str) -> None:
    run = simulate(Forms(), model=Counting(), seed=1)
    repeated_decision = ask(run, step=1, path=path)
    assert repeated_decision.calls == 0
    assert repeated_decision.same_answer
    assert repeated_decision.repeated.prompts == [
        {k: v for k, v in row.items() if k != "ask"} | {"prompt": 0} for row in repeated_decision.recorded.prompts
    ]


def test_the_run_stays_as_it_is(shirts_run: Run) -> None:
    before = shirts_run.digest
    files = sorted(path for path in shirts_run.folder.rglob("*") if path.name != ".lock")
    ask(shirts_run, wording="Which shirt, please?", order="reversed", temperature=0.5)
    assert Run.open(shirts_run.folder).digest == before
    assert sorted(path for path in shirts_run.folder.rglob("*") if path.name != ".lock") == files
    assert not shirts_run.interviews()


def test_reversed_options_are_shown_the_other_way_round_and_counted_as_declared() -> None:
    run = simulate(Shirts(), model="scripted:first", seed=1)
    repeated_decision = ask(run, order="reversed")
    assert "Options: blue, green." in repeated_decision.recorded.prompts[0]["user"]
    assert "Options: green, blue." in repeated_decision.repeated.prompts[0]["user"]
    assert repeated_decision.recorded.distribution == {"blue": pytest.approx(1), "green": pytest.approx(0)}
    assert repeated_decision.repeated.distribution == {"blue": pytest.approx(0), "green": pytest.approx(1)}
    assert (repeated_decision.recorded.value, repeated_decision.repeated.value) == ("blue", "green")
    assert repeated_decision.differences == {"blue": pytest.approx(-1), "green": pytest.approx(1)}


def test_options_can_be_put_in_any_order_by_name() -> None:
    class Fruit(Scenario):
        """One choice of three, in an order of one's own."""

        days: int = Field(1)

        def setup(self) -> People:
            return People.named(4, seed=self.rng)

        def length(self) -> int:
            return self.days

        async def step(self) -> None:
            await self.ask(self.people, Choice("Which?", options=("apple", "banana", "cherry"), order="random"))
            await self.ask(self.people, Rating("How ripe?", low=1, high=3))

    from support import scenarios

    scenarios.Fruit = Fruit  # type: ignore[attr-defined]
    Fruit.__module__, Fruit.__qualname__ = "support.scenarios", "Fruit"
    run = simulate(Fruit(), model="scripted:first", seed=3)
    for person in range(4):
        assert ask(run, step=1, person=person, path="1/0").lines == []
        assert (
            ask(run, step=1, person=person, path="1/0", wording="What?").repeated.prompts[0]["arrangement"]
            == (ask(run, step=1, person=person, path="1/0").recorded.prompts[0]["arrangement"])
        ), "other words leave the order alone, also where it is random"
    repeated_decision = ask(run, step=1, path="1/0", order=["cherry", "apple", "banana"])
    assert "cherry, apple, banana" in repeated_decision.repeated.prompts[0]["user"]
    assert repeated_decision.repeated.value == "cherry"
    assert ask(run, step=1, path="1/1", order="reversed").repeated.value == "3"
    with pytest.raises(UsageError, match="upwards or downwards"):
        ask(run, step=1, path="1/1", order=["2", "1", "3"])


def test_another_model_answers_the_same_prompt(shirts_run: Run) -> None:
    repeated_decision = ask(shirts_run, leaning(0.9), model="scripted:leaning-0.9")
    assert repeated_decision.calls == 1
    assert repeated_decision.lines == []
    assert repeated_decision.repeated.prompts[0]["model"] == "scripted:leaning-0.9"
    assert repeated_decision.repeated.distribution == {"blue": pytest.approx(0.9), "green": pytest.approx(0.1)}
    assert repeated_decision.repeated.value == (
        "blue" if repeated_decision.recorded.draw is not None and repeated_decision.recorded.draw < 0.9 else "green"
    )


def test_another_temperature_costs_nothing_and_uses_the_same_draw(shirts_run: Run) -> None:
    repeated_decision = ask(shirts_run, temperature=0.0)
    assert repeated_decision.calls == 0
    assert repeated_decision.repeated.distribution == repeated_decision.recorded.distribution
    assert sorted((repeated_decision.repeated.draw_distribution or {}).values()) == [0.0, 1.0]
    assert repeated_decision.repeated.draw == repeated_decision.recorded.draw


def test_other_words_are_put_in_place_of_the_question_and_of_what_is_told(shirts_run: Run) -> None:
    repeated_decision = ask(shirts_run, wording="What do you put on, {name}?", given="Nobody knows what was worn.")
    user = repeated_decision.repeated.prompts[0]["user"]
    assert repeated_decision.recorded.person["name"] in user
    assert "Nobody knows" in user
    assert "Yesterday" not in user
    assert repeated_decision.calls == 1
    assert any(line.startswith("- Yesterday") for line in repeated_decision.lines)


def test_whole_texts_are_put_word_for_word(shirts_run: Run) -> None:
    repeated_decision = ask(shirts_run, system="You are {nobody}.", text="Blue or green?")
    assert (repeated_decision.repeated.prompts[0]["system"], repeated_decision.repeated.prompts[0]["user"]) == (
        "You are {nobody}.",
        "Blue or green?",
    )
    assert repeated_decision.repeated.status == "ok"


def test_a_rule_has_no_prompt_and_a_model_can_take_its_place() -> None:
    run = simulate(Shirts(), decider="rule", seed=1)
    with pytest.raises(UsageError, match="no prompt"):
        ask(run)
    repeated_decision = ask(run, model="scripted:first")
    assert repeated_decision.repeated.value == "blue"
    assert repeated_decision.repeated.distribution is not None and repeated_decision.recorded.distribution is None
    assert repeated_decision.differences == {}


def test_a_run_that_was_asked_in_another_way_is_asked_again_in_that_way() -> None:
    run = simulate(Shirts(), model=Counting(), seed=1, variation={"order": "reversed", "wording": "polite"})
    assert ask(run).calls == 0
    repeated_decision = ask(run, order="reversed")
    assert "Please answer" in repeated_decision.repeated.prompts[0]["user"]
    assert "Options: blue, green." in repeated_decision.repeated.prompts[0]["user"]


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"path": "2/7"}, UnknownNameError, "no decision named '2/7'"),
        ({"person": "Nobody"}, UnknownNameError, "no person named 'Nobody'"),
        ({"step": 77}, UsageError, "no step 77"),
        ({"step": 0}, UsageError, "decided nothing in step 0. The nearest decisions are in step 1."),
        ({"order": ["blue", "gren"]}, UnknownNameError, "no option named 'gren'"),
        ({"order": ["blue", "blue"]}, UsageError, "every option once"),
        ({"temperature": -1}, UsageError, "below 0"),
        ({"wording": " "}, UsageError, "nothing to ask"),
        ({"wording": "Which {shrt}?"}, TemplateError, "shirt"),
        ({"text": "Go.", "order": "reversed"}, UsageError, "cannot both be changed"),
    ],
)
def test_what_cannot_be_asked_is_said_in_words(
    shirts_run: Run, changes: dict[str, Any], kind: type[PopulaceError], text: str
) -> None:
    with pytest.raises(kind, match=text):
        ask(shirts_run, **changes)


def test_a_text_has_no_order_and_several_decisions_need_a_path() -> None:
    run = simulate(Forms(), model=Counting(), seed=1)
    with pytest.raises(UsageError, match="no order"):
        ask(run, step=1, path="1/3", order="reversed")
    with pytest.raises(UsageError, match="decided 5 times"):
        ask(run, step=1)


def test_words_are_asked_anew_where_they_are_sampled() -> None:
    run = simulate(Forms(), model=Scripted(varied, spec="scripted:counting"), seed=1)
    repeated_decision = ask(run, Scripted(varied, spec="scripted:counting"), step=1, path="1/3", wording="Why not?")
    assert repeated_decision.calls == 1
    assert repeated_decision.repeated.value != repeated_decision.recorded.value
    assert repeated_decision.differences == {}


def test_the_command_reports_both_decisions() -> None:
    run = simulate(Norms(workers=4, days=2), model="scripted:first", seed=1)
    command = ["ask-again", run.name, "--step", "2", "--person", "1", "--order", "green,blue"]
    document = json.loads(populace(*command, "--json").stdout)
    data = document["data"]
    assert data["asked"]["tempered"]["green"] == pytest.approx(1)
    assert data["recorded"]["value"] == "blue"
    assert not data["same_answer"]
    assert "blue  →  green" in populace(*command).stdout
