from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from populace import People, Scenario, Scripted, simulate
from populace.base.errors import TrainingError
from populace.minds import Mind
from populace.models import Request
from populace.prompting import Inquiry, Situation, Variation
from populace.questions import Allocation, Choice, Finite, Form, Number, Question, Rating, Text
from populace.training.rendering import render_shares, render_texts
from support.models import varied

GIVEN, TOWNS = "It rains in {town}.", ["Ulm", "Bonn", "Jena"]
QUESTIONS = (
    Choice("Tea or coffee?", options=("tea", "coffee")),
    Choice("How do you feel?", options=("very good", "very bad", "neither")),
    Choice("Which?", options=("north", "south", "west"), order="random"),
    Choice("Which?", options=("north", "south"), order="rotate"),
    Rating("How sure are you?", low=1, high=5),
    Number("How many cups?", low=0, high=20, whole=True),
    Text("What do you say?"),
    Form("Your tea?", questions={"cups": Number("How many?", low=0, high=9, whole=True)}),
    Allocation("How much for each?", options=("food", "rent")),
)


class Asking(Scenario):
    """Three people are asked one question."""

    question: object = None

    def setup(self) -> People:
        return People(pl.DataFrame({"name": ["Ann", "Bo", "Cleo"], "age": [40, 50, 60]}))

    def profile(self) -> str:
        return "You are {name}, {age} years old."

    def length(self) -> int:
        return 1

    async def step(self) -> None:
        assert isinstance(self.question, Question)
        await self.ask(self.people, self.question, given=GIVEN, town=TOWNS)


class Vocabulary:
    """A model whose tokens are not known."""

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        return None


def sent(question: Question, **settings: object) -> set[tuple[tuple[str, str], ...]]:
    """The first messages that a run sends about a question."""
    requests: list[Request] = []

    def script(request: Request) -> object:
        requests.append(request)
        return varied(request)

    scenario = Asking()
    scenario.question = question
    simulate(scenario, model=Scripted(script), keep="nothing", **settings)  # type: ignore[arg-type]
    return {request.messages for request in requests if len(request.messages) == 2}


def inquiry(question: Question) -> Inquiry:
    people = Asking().setup()
    situation = Situation.from_fields(question, GIVEN, {"town": TOWNS}, people.ids)
    return Inquiry("1/0", people, Mind("You are {name}, {age} years old."), situation, 0)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{type(question).__name__}-{question.text[:12]}")
def test_an_example_has_exactly_the_words_that_a_run_sends(question: Question) -> None:
    if isinstance(question, Finite):
        shares = np.full((3, len(question.words)), 1 / len(question.words))
        table = render_shares(inquiry(question), shares, Vocabulary())
    else:
        table = render_texts(inquiry(question), ["x", "y", "z"])
    messages = {(("system", system), ("user", user)) for system, user in table.select("system", "user").iter_rows()}
    assert messages == sent(question)


def test_a_variation_of_the_run_is_a_variation_of_the_example() -> None:
    question = QUESTIONS[0]
    variation = Variation(wording="headed", order="reversed")
    table = render_shares(variation.apply(inquiry(question)), np.full((3, 2), 0.5), Vocabulary())
    messages = {(("system", system), ("user", user)) for system, user in table.select("system", "user").iter_rows()}
    assert messages == sent(question, variation=variation)


def test_answers_stand_in_declared_order_whatever_order_is_shown() -> None:
    question = Choice("Tea or coffee?", options=("tea", "coffee"), scoring="labels", order="reversed")
    table = render_shares(inquiry(question), np.tile([1.0, 0.0], (3, 1)), Vocabulary())
    assert table["answers"].to_list() == [[" B", " A"]] * 3


def test_averaged_orders_give_an_example_each() -> None:
    table = render_shares(inquiry(QUESTIONS[3]), np.tile([1.0, 0.0], (3, 1)), Vocabulary())
    assert table["row"].to_list() == [0, 0, 1, 1, 2, 2]


def test_shares_of_another_shape_are_refused() -> None:
    with pytest.raises(TrainingError, match="3 people × 2"):
        render_shares(inquiry(QUESTIONS[0]), np.ones((2, 2)), Vocabulary())


def test_a_question_without_options_has_no_shares() -> None:
    with pytest.raises(TrainingError, match="no options"):
        render_shares(inquiry(QUESTIONS[6]), np.ones((3, 2)), Vocabulary())
