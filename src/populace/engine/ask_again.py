"""A recorded decision asked again with something changed: other words, another order, another model.

The run is replayed up to the decision, so the question is put as the scenario's own code put it then, and only what
is named differs. The run never changes; replies come from the call store where they are known.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import ScenarioError, UnknownNameError, UsageError
from populace.base.randomness import uniforms
from populace.base.templates import Template
from populace.engine.observer import Observer
from populace.engine.replay import replay_to
from populace.engine.session import Session
from populace.engine.simulation import Simulation
from populace.people import Id
from populace.prompting import Inquiry
from populace.prompting.variation import Variation
from populace.questions import Arrangement, Choice, Finite
from populace.runs.decision import Decision
from populace.runs.decision_details import no_decision
from populace.runs.reader import RunReader


@dataclass(frozen=True)
class DecisionChanges:
    """What is to be different; None leaves a thing as it was.

    Attributes:
        wording: The question, with fields.
        given: What is told before it, with fields.
        order: The options: `reversed`, `given` as the scenario declares them, or all of them by name.
        model: The model that is asked.
        temperature: Applied to the distribution, and to sampling.
        system: The whole system text, word for word.
        text: The whole user text, word for word.

    Example:
        >>> DecisionChanges(order="reversed").order
        'reversed'
    """

    wording: str | None = None
    given: str | None = None
    order: str | Sequence[str] | None = None
    model: str | None = None
    temperature: float | None = None
    system: str | None = None
    text: str | None = None

    def __post_init__(self) -> None:
        if self.temperature is not None and self.temperature < 0:
            raise UsageError(f"the temperature is {self.temperature}; it cannot be below 0.")
        for name in ("wording", "text"):
            if getattr(self, name) is not None and not getattr(self, name).strip():
                raise UsageError(f"the {name} is empty, so there is nothing to ask.")
        inside = [name for name in ("wording", "given", "order") if getattr(self, name) is not None]
        if self.text is not None and inside:
            raise UsageError(
                f"the whole text and the {inside[0]} cannot both be changed.", f"The text holds the {inside[0]} itself."
            )


@dataclass(frozen=True)
class RepeatedDecision:
    """A decision beside the same one asked again.

    Attributes:
        recorded: As it stands in the run.
        repeated: As it was asked now; its value is what the recorded draw chooses.
        calls: How many calls to a model it took; none where the replies were known.
        reused: How many replies were known.
        cost: Money for the calls, where a price is known.
    """

    recorded: Decision
    repeated: Decision
    calls: int
    reused: int
    cost: float

    @property
    def differences(self) -> dict[str, float]:
        """For each option, how much its probability as drawn from grew; empty where one of both has none."""
        before, after = self.recorded.draw_distribution, self.repeated.draw_distribution
        if before is None or after is None:
            return {}
        return {option: after[option] - share for option, share in before.items()}

    @property
    def lines(self) -> list[str]:
        """The lines of the first prompt that differ, `-` for what was put then and `+` for what is put now."""
        then, now = (_lines(decision) for decision in (self.recorded, self.repeated))
        return [line for line in difflib.ndiff(then, now) if line[0] in "+-"]

    @property
    def same_answer(self) -> bool:
        """Whether the person would have answered the same."""
        return (self.recorded.value, self.recorded.status) == (self.repeated.value, self.repeated.status)


async def ask_again(
    run: RunReader,
    session: Session,
    *,
    step: int,
    person: Id,
    path: str | None = None,
    changes: DecisionChanges | None = None,
) -> RepeatedDecision:
    """Put the question of a recorded decision once more, with something changed; see `Society.ask_again`."""
    changes = changes or DecisionChanges()
    recorded = _decision(run, step, person, path)
    original = await _inquiry(run, recorded, session)
    variation = Variation.read(run.manifest.regime_at(step).variation)
    inquiry = _change(original, recorded, changes, variation)
    usage = session.usage
    calls, reused, cost = usage.calls, usage.reused, usage.cost
    result = await session.decide(inquiry)
    answers = variation.restore(result.answers)
    has_distribution = answers.probabilities is not None
    repeated = replace(
        recorded,
        question=inquiry.question.describe(),
        value=answers.values.cast(pl.String)[0],
        status=answers.status[0],
        prompts=result.prompts.to_dicts(),
        temperature=inquiry.temperature,
        draw=float(uniforms(inquiry.key, inquiry.person_keys())[0]) if has_distribution else None,
    )
    return RepeatedDecision(recorded, repeated, usage.calls - calls, usage.reused - reused, usage.cost - cost)


def _decision(run: RunReader, step: int, person: Id, path: str | None) -> Decision:
    """The recorded decision, which must be the only one of the step where no path names it."""
    decisions = {decision.path: decision for decision in run.decisions(step, person)}
    if not decisions:
        raise UsageError(*no_decision(run, step, person))
    if path is not None and path not in decisions:
        raise UnknownNameError("decision", path, decisions)
    if path is None and len(decisions) > 1:
        raise UsageError(
            f"{person} decided {len(decisions)} times in step {step}.", f"Name one by path: {', '.join(decisions)}."
        )
    return decisions[path] if path is not None else next(iter(decisions.values()))


@dataclass
class _QuestionFinder(Observer):
    """Finds one question to one person, as it is put."""

    path: str
    person: Id
    inquiry: Inquiry | None = field(default=None, init=False)

    def on_question(self, simulation: Simulation, inquiry: Inquiry) -> None:
        """Take the person's part now, because the people of a scenario change after they have answered."""
        if inquiry.path == self.path:
            row = inquiry.people.ids.index_of(self.person)
            self.inquiry = None if row is None else inquiry.for_rows(np.array([row], np.int64))


async def _inquiry(run: RunReader, decision: Decision, session: Session) -> Inquiry:
    """The question to the person as the scenario put it, which a replay of the run shows."""
    observer = _QuestionFinder(decision.path, decision.person["id"])
    await replay_to(run, decision.step, session, observer)
    if observer.inquiry is None:
        raise ScenarioError(f"the scenario no longer asks the question at {decision.path}.")
    return observer.inquiry


def _change(inquiry: Inquiry, recorded: Decision, changes: DecisionChanges, variation: Variation) -> Inquiry:
    """The question as it is put now."""
    situation, question, people = inquiry.situation, inquiry.question, inquiry.people
    order = _arrangement(question, recorded, changes)
    if changes.wording is not None:
        question = replace(question, text=changes.wording)
    if order is not None and isinstance(question, Finite):
        question, variation = _in_order(question, order), variation.model_copy(update={"order": ""})
    given = situation.given if changes.given is None else Template(changes.given)
    if changes.model is not None:
        own_columns = {"model": changes.model, "decider": "model"}
        people = people.with_columns(**{name: value for name, value in own_columns.items() if name in people})
    elif not recorded.prompts:
        raise UsageError(
            f"{recorded.path} was decided by a rule or a recording: there is no prompt to put again.",
            "Name a model to ask one.",
        )
    whole = {"system": changes.system, "user": changes.text}
    new_inquiry = replace(
        inquiry,
        people=people,
        situation=replace(situation, question=question, given=given),
        temperature=inquiry.temperature if changes.temperature is None else changes.temperature,
        model=inquiry.model if changes.model is None else changes.model,
        decider=inquiry.decider if changes.model is None else "model",
        invalid="keep" if inquiry.invalid == "raise" else inquiry.invalid,
        purpose="again",
    )
    return replace(
        variation.apply(new_inquiry), verbatim={part: text for part, text in whole.items() if text is not None}
    )


@dataclass(frozen=True)
class _InOrder(Choice):
    """A choice whose options are shown in one order, and counted as declared."""

    arrangement: Arrangement = field(default=(), kw_only=True)

    def arrangements(self) -> tuple[Arrangement, ...]:
        return (self.arrangement,)


def _in_order(question: Finite, order: Arrangement) -> Finite:
    if isinstance(question, Choice):
        settings = {name: getattr(question, name) for name in ("text", "reason", "scoring", "options", "wordings")}
        return _InOrder(**settings, arrangement=order)
    return replace(question, order="fixed" if order == question.declared_order else "reversed")


def _arrangement(question: Any, recorded: Decision, changes: DecisionChanges) -> Arrangement | None:
    """The order in which options are to be shown; None where every order is, or where there are no options."""
    if not isinstance(question, Finite):
        if changes.order is not None:
            raise UsageError(f"{question.text!r} has no fixed options, so they have no order.")
        return None
    recorded_orders = [tuple(map(int, row["arrangement"].split())) for row in recorded.prompts]
    if changes.order is None:
        return (
            recorded_orders[0] if len(recorded_orders) == 1 or (recorded_orders and changes.text is not None) else None
        )
    if changes.order == "given":
        return question.declared_order
    if changes.order == "reversed":
        return (recorded_orders[0] if len(recorded_orders) == 1 else question.declared_order)[::-1]
    order = _order_of_names(question, [changes.order] if isinstance(changes.order, str) else changes.order)
    if not isinstance(question, Choice) and order not in question.arrangements():
        raise UsageError(f"{question.text!r} has a scale, which runs upwards or downwards.", "Use `reversed`.")
    return order


def _order_of_names(question: Finite, names: Sequence[str]) -> Arrangement:
    known = {str(value): index for index, value in enumerate(question.values)}
    known |= {word: index for index, word in enumerate(question.words) if word not in known}
    for name in names:
        if name not in known:
            raise UnknownNameError("option", name, known)
    order = tuple(known[name] for name in names)
    if sorted(order) != sorted(question.declared_order):
        options = ", ".join(map(str, question.values))
        raise UsageError("an order names every option once.", f"The options are {options}.")
    return order


def _lines(decision: Decision) -> list[str]:
    if not decision.prompts:
        return []
    first = decision.prompts[0]
    return [*first["system"].splitlines(), *first["user"].splitlines()]
