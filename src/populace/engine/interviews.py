"""Questions to people that are not part of the run, and conversations of several turns.

People are as they were after a step, with what they remember. The run does not change; what was asked and answered is
recorded beside it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import polars as pl

from populace.base.errors import UnknownNameError, UsageError
from populace.base.templates import Template
from populace.broker import CallSettings
from populace.engine.ask_arguments import check_question
from populace.engine.replay import replay_to
from populace.engine.session import Session
from populace.engine.simulation import Simulation
from populace.journal import Journal, append_line, now
from populace.journal.segments import writing
from populace.models import Model
from populace.people import Id, People
from populace.prompting import Inquiry, Situation
from populace.prompting.memories import with_memories
from populace.questions import Answers, Question, Text
from populace.runs.biography import person_id, states_of
from populace.runs.reader import RunReader

if TYPE_CHECKING:
    from populace.engine.society import Society

T = TypeVar("T")

_MOMENT = "moment_of_the_interview"
_TALK = "Somebody talks with you."
_SAID = _TALK + " What was said so far:\n{said}"
_MOST_TURNS = 20
"""The most earlier turns that a person is shown."""
_MOST_CHARACTERS = 4000


def people_interviewed(run: RunReader, step: int, people: People, who: Id | Sequence[Id] | None) -> People:
    """The people who are asked, as they were after a step; an error says when somebody left."""
    if who is None:
        selected = people
    else:
        who = [who] if isinstance(who, int | str) else who
        selected = people.take([_present(run, step, people, each) for each in who])
    # In an interview a model answers, whoever decides for the person in the run.
    return selected.with_columns(decider="model") if "decider" in people else selected


def _present(run: RunReader, step: int, people: People, who: Id) -> Id:
    try:
        return people.person(who).id
    except UnknownNameError as unknown:
        try:
            steps = states_of(run, person_id(run, str(who)))["step"].to_list()
        except UnknownNameError:
            raise unknown from None
        when = f"left after step {steps[-1]}" if steps[-1] < step else f"join at step {steps[0]}"
        raise UsageError(
            f"{who} is not there at step {step} of {run.name}: they {when}.",
            f"Ask them as of one of the steps {steps[0]} to {steps[-1]}.",
        ) from None


async def ask_on_the_side(
    simulation: Simulation,
    session: Session,
    inquiry: Inquiry,
    given: str,
    fields: dict[str, Any],
    *,
    about: str | Sequence[str] | None = "",
    kinds: Sequence[str] | None = None,
) -> Answers:
    """Put a question to people of a replayed simulation.

    Args:
        simulation: The simulation, which stays at its step.
        session: Gives access to models.
        inquiry: Who is asked what; its situation holds the question alone.
        given: What they are told before it.
        fields: Values for fields.
        about: What they think of; with None they recall nothing.
        kinds: The kinds of memories that may come to mind; all if left out.
    """
    scenario, people, question = simulation.scenario, inquiry.people, inquiry.question
    check_question(question, given)
    parameters = scenario.parameter_fields(inquiry.mind, people, question, given, fields)
    situation = Situation.from_fields(question, given, {**fields, **parameters}, people.ids)
    if inquiry.mind.memory is not None:
        moment, purpose = scenario.seconds, inquiry.purpose
        situation = with_memories(
            situation, inquiry.mind, people, about=about, now=moment, purpose=purpose, kinds=kinds
        )
    situation = _at_present(situation, scenario.present_moment(people))
    return (await session.decide(replace(inquiry, situation=situation))).answers


def _at_present(situation: Situation, moments: Sequence[str]) -> Situation:
    """The situation, after a sentence for each person that says when and where they are."""
    if not moments:
        return situation
    given = Template(f"{{{_MOMENT}}}\n{situation.given.text}".strip())
    return replace(situation, given=given, columns={**situation.columns, _MOMENT: pl.Series(list(moments))})


def record_interview(
    run: RunReader, step: int, question: Question, given: str, model: str, answers: Answers, **more: Any
) -> None:
    """Write an interview beside its run; a run in memory keeps none."""
    if not isinstance(run.record, Journal):
        return
    rows = answers.frame.to_dicts()
    entry = {
        "step": step,
        "question": question.describe(),
        "given": given,
        "model": model,
        "held": now(),
        "answers": [{"person": row["id"], "value": row["value"], "status": row["status"]} for row in rows],
        **more,
    }
    path = run.folder / "interviews.jsonl"
    with writing(path):
        append_line(path, json.dumps(entry, ensure_ascii=False))


@dataclass(frozen=True)
class InterviewTurn:
    """One question of a conversation and its answer, which is None where it is invalid; the status says why."""

    question: str
    answer: str | None
    status: str


class Interview:
    """A conversation of several turns with one person, as of a step; earlier turns stand in every prompt.

    The run is replayed once, at the first question. Close the conversation at the end, or use it in a `with` block.

    Args:
        society: The society at a step.
        person: Whom to talk with, by id or name.
        model: Who answers; the model of the run by default.
        calls: How models are called, and what may be spent.
        number: The number of a recorded conversation to go on with, or the next one; a new one by default.

    Attributes:
        number: The number of the conversation in the file of interviews.
        person: The id of the person.
        turns: What was said.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=3, days=2), model="scripted:uniform", keep="nothing")
        >>> with run.at(1).conversation(0) as talk:
        ...     turns = [talk.ask("How was your day?"), talk.ask("Why?")]
        >>> [turn.status for turn in turns], len(talk.turns)
        (['ok', 'ok'], 2)
    """

    def __init__(
        self,
        society: Society,
        person: Id,
        *,
        model: str | Model | None = None,
        calls: CallSettings | None = None,
        number: int | None = None,
    ) -> None:
        self._society, self._run, self._step = society, society.run, society.step
        regime = self._run.manifest.regime_at(self._step)
        self._regime = regime
        self._spec = regime.model if model is None else model if isinstance(model, str) else model.spec
        self.person = people_interviewed(self._run, self._step, society.people, [person]).ids[0]
        recorded = [entry for entry in self._run.interviews() if isinstance(entry.get("conversation"), int)]
        following = max([entry["conversation"] for entry in recorded], default=0) + 1
        self.number: int = following if number is None else number
        if self.number not in (following, *(entry["conversation"] for entry in recorded)):
            last = f"The last one is {following - 1}; " if recorded else ""
            raise UsageError(
                f"{self._run.name} has no conversation {self.number}.", f"{last}{following} begins a new one."
            )
        self.turns = [self._turn(entry) for entry in recorded if entry["conversation"] == self.number]
        self._session = society.session(model, calls)
        self._simulation: Simulation | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._runner: asyncio.Runner | None = None

    def _turn(self, entry: dict[str, Any]) -> InterviewTurn:
        (answer,) = entry["answers"]
        if answer["person"] != self.person or entry["step"] != self._step:
            raise UsageError(
                f"conversation {self.number} of {self._run.name} is with {answer['person']!r} as of step "
                f"{entry['step']}, not with {self.person!r} as of step {self._step}.",
                "Begin a new one.",
            )
        return InterviewTurn(entry["question"]["text"], answer["value"], answer["status"])

    def ask(self, text: str) -> InterviewTurn:
        """Say something to the person, and return the turn with their answer; it is recorded beside the run."""
        words = text.strip()
        if not words:
            raise UsageError("there is no question.", "Write one.")
        if len(words) > _MOST_CHARACTERS:
            raise UsageError(f"the question has {len(words):,} characters.", f"Write at most {_MOST_CHARACTERS:,}.")
        answers = self._finish(self._ask(words))
        turn = InterviewTurn(words, answers.values[0], answers.status[0])
        self.turns.append(turn)
        question = Text(words)
        more = {"conversation": self.number}
        record_interview(self._run, self._step, question, "", self._spec, answers, **more)
        return turn

    async def _ask(self, words: str) -> Answers:
        if self._simulation is None:
            self._simulation = await replay_to(self._run, self._step, self._session)
        scenario = self._simulation.scenario
        # What somebody types is no template.
        question = Text(words.replace("{", "{{").replace("}", "}}"))
        count = len(self._run.interviews()) if isinstance(self._run.record, Journal) else len(self.turns)
        inquiry = Inquiry(
            f"interview/{self._step}/{count}",
            people_interviewed(self._run, self._step, scenario.people, [self.person]),
            scenario.mind,
            Situation.from_fields(question, "", {}, scenario.people.ids[:1]),
            self._regime.seed,
            self._regime.temperature,
            self._spec,
            purpose="interview",
        )
        given, fields = (_SAID, {"said": self._transcript()}) if self.turns else (_TALK, {})
        return await ask_on_the_side(self._simulation, self._session, inquiry, given, fields, about=words)

    def _transcript(self) -> str:
        lines = [
            f"They: {turn.question}\nYou: {'(no answer)' if turn.answer is None else turn.answer}"
            for turn in self.turns[-_MOST_TURNS:]
        ]
        return "\n".join(lines)

    def _finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the one loop of this conversation, which open models belong to."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1)
            self._runner = self._thread.submit(asyncio.Runner).result()
        assert self._runner is not None
        return self._thread.submit(self._runner.run, coroutine).result()

    def close(self) -> None:
        """Close the models."""
        if self._thread is None or self._runner is None:
            return
        self._finish(self._session.close())
        self._thread.submit(self._runner.close).result()
        self._thread.shutdown()
        self._thread = self._runner = self._simulation = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
