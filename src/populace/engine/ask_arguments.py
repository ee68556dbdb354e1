"""The arguments of `ask`: who is asked, and what."""

import inspect
from collections.abc import Iterable
from typing import Any

from populace.base.errors import QuestionError, ScenarioError
from populace.base.values import kind_of, refusal
from populace.people import People, Person
from populace.questions import Question


def people_asked(people: Any, everybody: People | None) -> People:
    """The people whom a question is put to: people, one person, or several persons.

    Args:
        people: What was passed to `ask`.
        everybody: The population, to which persons belong; None before setup has returned it.
    """
    if isinstance(people, People):
        return people
    if isinstance(people, Question):
        raise ScenarioError(
            "the first argument of ask is a question, and people come first.", "Write: await self.ask(people, question)"
        )
    if inspect.isawaitable(people) or isinstance(people, type) or inspect.isroutine(people):
        raise refusal(people, "the first argument of ask", ScenarioError)
    if everybody is None:
        raise ScenarioError(
            "ask was called in setup with single persons.", "Pass the People that setup makes: self.ask(people, …)"
        )
    if isinstance(people, Person):
        return everybody.take([people.id])
    if isinstance(people, (str, int)):
        raise ScenarioError(
            f"the first argument of ask is {people!r}, not people.",
            f"Write: await self.ask(self.people.person({people!r}), …)",
        )
    persons = list(people) if isinstance(people, Iterable) and not hasattr(people, "columns") else [people]
    wrong = next((each for each in persons if not isinstance(each, Person)), None)
    if wrong is not None:
        kind = kind_of(type(wrong if wrong is not people else people))
        where = "is" if wrong is people else "holds"
        raise ScenarioError(
            f"the first argument of ask {where} an object of type {kind}, not people.",
            "Pass self.people, a selection such as self.people.where(…) or self.people.take(ids), or persons.",
        )
    return everybody.take([person.id for person in persons])


def check_question(question: Any, given: Any) -> None:
    """Raise QuestionError where what is asked is not a question, or what is told is not a text."""
    if isinstance(question, str):
        raise QuestionError(
            f"{question!r} is a text, not a question: it does not say which answers it takes.",
            f"Write pc.Choice({question!r}, options=(…)), pc.Rating, pc.Number or pc.Text({question!r}).",
        )
    if isinstance(question, People | Person):
        raise QuestionError("the second argument of ask is people, not a question.", "Write: await self.ask(people, …)")
    if isinstance(question, type):
        home = "pc." if question.__module__.startswith("populace.") else ""
        raise QuestionError(
            f"the second argument of ask is the class {question.__name__}, not a question.",
            f'Write {home}{question.__name__}("…").',
        )
    if not isinstance(question, Question):
        raise QuestionError(
            f"the second argument of ask is an object of type {kind_of(type(question))}, not a question.",
            'Pass a Choice, Rating, Number, Text or Form, such as pc.Choice("…", options=(…)).',
        )
    if not isinstance(given, str):
        raise QuestionError(
            f"given is an object of type {kind_of(type(given))}; it is one text for all, with fields in braces.",
            'Write given="… {news} …", news=values, with one value for each person.',
        )
