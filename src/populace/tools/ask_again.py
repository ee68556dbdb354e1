"""A recorded decision asked again with something changed: other words, another order, another model.

The run is replayed up to the decision, so the question is put as the scenario's own code put it then, and only what
is named differs. The run never changes; replies come from the call store where they are known.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import ScenarioError, UnknownNameError, UsageError
from populace.base.randomness import uniforms
from populace.base.templates import Template
from populace.broker import Broker
from populace.deciders import decide
from populace.engine.discovery import find_scenario
from populace.engine.simulation import Observer, Simulation
from populace.journal import MemoryRecord
from populace.people import Id
from populace.prompting import Inquiry
from populace.prompting.variation import Variation
from populace.questions import Arrangement, Choice, Finite
from populace.runs.decision import Decision
from populace.runs.reader import RunReader


@dataclass(frozen=True)
class Changes:
    """What is to be different; None leaves a thing as it was.

    Attributes:
        wording: The question, with fields.
        given: What is told before it, with fields.
        order: The options: `reversed`, `given` as the scenario declares them, or all of them by name.
        model: Who is asked.
        temperature: Applied to the distribution, and to sampling.
        system: The whole system text, word for word.
        text: The whole user text, word for word.
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
class Again:
    """A decision beside the same one asked again.

    Attributes:
        recorded: As it stands in the run.
        asked: As it was asked now; its value is what the recorded draw chooses.
        calls: How many calls to a model it took; none where the replies were known.
        reused: How many replies were known.
        cost: Money for the calls, where a price is known.
    """

    recorded: Decision
    asked: Decision
    calls: int
    reused: int
    cost: float

    @property
    def differences(self) -> dict[str, float]:
        """For each option, how much its probability as drawn from grew; empty where one of both has none."""
        before, after = self.recorded.draw_distribution, self.asked.draw_distribution
        if before is None or after is None:
            return {}
        return {option: after[option] - share for option, share in before.items()}

    @property
    def lines(self) -> list[str]:
        """The lines of the first prompt that differ, `-` for what was put then and `+` for what is put now."""
        then, now = (_lines(decision) for decision in (self.recorded, self.asked))
        return [line for line in difflib.ndiff(then, now) if line[0] in "+-"]

    @property
    def same_answer(self) -> bool:
        """Whether the person would have answered the same."""
        return (self.recorded.value, self.recorded.status) == (self.asked.value, self.asked.status)


async def again(
    run: RunReader, broker: Broker, *, step: int, person: Id, path: str | None = None, changes: Changes | None = None
) -> Again:
    """Put the question of a recorded decision once more, with something changed.

    Args:
        run: The run; it does not change.
        broker: The way to the models.
        step: When the decision was made.
        person: Who made it, by id or name.
        path: Which decision, where the person made several in the step.
        changes: What is different; nothing by default, which repeats the decision.

    Example:
        >>> import asyncio
        >>> from populace import simulate
        >>> from populace.broker import MemoryCallStore
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=3, days=1), model="scripted:first", keep="nothing")
        >>> turned = Changes(order="reversed")
        >>> made = asyncio.run(again(run, Broker(MemoryCallStore()), step=1, person=0, changes=turned))
        >>> made.recorded.value, made.asked.value
        ('blue', 'green')
    """
    wanted = changes or Changes()
    recorded = _decision(run, step, person, path)
    caught = await _caught(run, recorded, broker)
    regime = next(r for r in reversed(run.manifest.regimes) if r.since <= step)
    variation = Variation.read(regime.variation)
    inquiry = _changed(caught, recorded, wanted, variation)
    calls, reused, cost = broker.usage.calls, broker.usage.reused, broker.usage.cost
    decided = await decide(inquiry, broker)
    answers = variation.restore(decided.answers)
    scored = answers.probabilities is not None
    value = answers.values.cast(pl.String)[0]
    asked = replace(
        recorded,
        question=inquiry.question.describe(),
        value=value,
        status=answers.status[0],
        prompts=decided.prompts.to_dicts(),
        temperature=inquiry.temperature,
        draw=float(uniforms(inquiry.key, inquiry.person_keys())[0]) if scored else None,
    )
    used = broker.usage
    return Again(recorded, asked, used.calls - calls, used.reused - reused, used.cost - cost)


def _decision(run: RunReader, step: int, person: Id, path: str | None) -> Decision:
    """The recorded decision that is meant."""
    found = {decision.path: decision for decision in run.decisions(step, person)}
    if not found:
        raise UsageError(f"{person} decided nothing in step {step} of {run.name}.", "Name another step.")
    if path is not None and path not in found:
        raise UnknownNameError("decision", path, found)
    if path is None and len(found) > 1:
        raise UsageError(
            f"{person} decided {len(found)} times in step {step}.", f"Name one by path: {', '.join(found)}."
        )
    return found[path] if path is not None else next(iter(found.values()))


@dataclass
class _Catch(Observer):
    """Keeps one question to one person, as it is put."""

    path: str
    person: Id
    inquiry: Inquiry | None = field(default=None, init=False)

    def asked(self, simulation: Simulation, inquiry: Inquiry) -> None:
        """Keep it where it is the one: the people of a scenario change after they have answered."""
        if inquiry.path == self.path:
            row = inquiry.people.ids.index_of(self.person)
            self.inquiry = None if row is None else inquiry.about(np.array([row], np.int64))


async def _caught(run: RunReader, decision: Decision, broker: Broker) -> Inquiry:
    """The question to the person as the scenario put it, found by replaying the run."""
    manifest = run.manifest.model_copy(deep=True)
    scenario = find_scenario(manifest.scenario)(**manifest.regimes[0].parameters)
    observer = _Catch(decision.path, decision.person["id"])
    simulation = Simulation(
        scenario, MemoryRecord(manifest), broker, source=run.record, replay_until=decision.step + 1, observer=observer
    )
    await simulation.run(until=decision.step)
    if observer.inquiry is None:
        raise ScenarioError(f"the scenario no longer asks the question at {decision.path}.")
    return observer.inquiry


def _changed(inquiry: Inquiry, recorded: Decision, wanted: Changes, variation: Variation) -> Inquiry:
    """The question as it is put now."""
    situation, question, people = inquiry.situation, inquiry.question, inquiry.people
    shown = _arrangement(question, recorded, wanted)
    if wanted.wording is not None:
        question = replace(question, text=wanted.wording)
    if shown is not None and isinstance(question, Finite):
        question, variation = _arranged(question, shown), variation.model_copy(update={"order": ""})
    given = situation.given if wanted.given is None else Template(wanted.given)
    if wanted.model is not None:
        people = people.with_columns(**{name: one for name, one in _asked(wanted.model).items() if name in people})
    elif not recorded.prompts:
        raise UsageError(
            f"{recorded.path} was decided by a rule or a recording: there is no prompt to put again.",
            "Name a model to ask one.",
        )
    whole = {"system": wanted.system, "user": wanted.text}
    asked = replace(
        inquiry,
        people=people,
        situation=replace(situation, question=question, given=given),
        temperature=inquiry.temperature if wanted.temperature is None else wanted.temperature,
        model=inquiry.model if wanted.model is None else wanted.model,
        decider=inquiry.decider if wanted.model is None else "model",
        invalid="keep" if inquiry.invalid == "raise" else inquiry.invalid,
        purpose="again",
    )
    return replace(variation.apply(asked), verbatim={part: text for part, text in whole.items() if text is not None})


def _asked(model: str) -> dict[str, str]:
    """The columns by which a person has a model or a decider of their own."""
    return {"model": model, "decider": "model"}


@dataclass(frozen=True)
class _InOrder(Choice):
    """A choice whose options are shown in one order, and counted as declared."""

    shown: Arrangement = field(default=(), kw_only=True)

    def arrangements(self) -> tuple[Arrangement, ...]:
        return (self.shown,)


def _arranged(question: Finite, shown: Arrangement) -> Finite:
    if isinstance(question, Choice):
        kept = {name: getattr(question, name) for name in ("text", "reason", "scoring", "options", "wordings")}
        return _InOrder(**kept, shown=shown)
    return replace(question, order="fixed" if shown == question.declared_order else "reversed")


def _arrangement(question: Any, recorded: Decision, wanted: Changes) -> Arrangement | None:
    """The order in which options are to be shown; None where every order is, or where there are no options."""
    if not isinstance(question, Finite):
        if wanted.order is not None:
            raise UsageError(f"{question.text!r} has no fixed options, so they have no order.")
        return None
    seen = [tuple(map(int, row["arrangement"].split())) for row in recorded.prompts]
    if wanted.order is None:
        return seen[0] if len(seen) == 1 or (seen and wanted.text is not None) else None
    if wanted.order == "given":
        return question.declared_order
    if wanted.order == "reversed":
        return (seen[0] if len(seen) == 1 else question.declared_order)[::-1]
    shown = _named(question, [wanted.order] if isinstance(wanted.order, str) else wanted.order)
    if not isinstance(question, Choice) and shown not in question.arrangements():
        raise UsageError(f"{question.text!r} has a scale, which runs upwards or downwards.", "Use `reversed`.")
    return shown


def _named(question: Finite, names: Sequence[str]) -> Arrangement:
    known = {str(value): index for index, value in enumerate(question.values)}
    known |= {word: index for index, word in enumerate(question.words) if word not in known}
    for name in names:
        if name not in known:
            raise UnknownNameError("option", name, known)
    shown = tuple(known[name] for name in names)
    if sorted(shown) != sorted(question.declared_order):
        options = ", ".join(map(str, question.values))
        raise UsageError("an order names every option once.", f"The options are {options}.")
    return shown


def _lines(decision: Decision) -> list[str]:
    if not decision.prompts:
        return []
    first = decision.prompts[0]
    return [*first["system"].splitlines(), *first["user"].splitlines()]
