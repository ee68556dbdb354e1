"""Interviews of residents: every question, under every condition, in the society as it was after a step.

Each condition begins with a replay of the run, and all memories of a condition come to mind before the first
question is asked. So no answer depends on the order of questions or of conditions, and the run does not change.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from populace.broker import CallSettings
from populace.engine.replay import replay_to
from populace.engine.run import Run
from populace.engine.session import Session
from populace.engine.workspace import Workspace
from populace.evaluation.believability.conditions import Condition
from populace.evaluation.believability.interview_questions import InterviewQuestion
from populace.journal import Journal
from populace.minds import Mind
from populace.models import Model
from populace.people import Id, People
from populace.prompting import Inquiry, Situation
from populace.prompting.composition import compose
from populace.questions import Text

_LIFE = 20
"""How many memories tell a judge what a resident lived through."""
_INNER = ("reflection", "plan", "thought")
"""Kinds of memories that are no events of a life."""

Progress = Callable[[int, int], None]
"""Gets how many questions are answered, and how many there are."""


@dataclass(frozen=True)
class Interviews:
    """The interviews of the residents of one run under one condition.

    Attributes:
        answers: A row for each resident and question: run, resident, name, area, question, condition, answer, status,
            recalled (how many memories came to mind).
        lives: A row for each resident: run, resident, name, life.
    """

    answers: pl.DataFrame
    lives: pl.DataFrame


def hold_interviews(
    run: Run,
    condition: Condition,
    questions: Sequence[InterviewQuestion],
    *,
    step: int | None = None,
    residents: Sequence[Id] | None = None,
    model: str | Model | None = None,
    words: int = 60,
    calls: CallSettings | None = None,
    on_progress: Progress | None = None,
) -> Interviews:
    """Put every question to every resident of a run under one condition.

    Args:
        run: The run; it does not change.
        condition: What of their mind they may use.
        questions: The questions.
        step: After which step; the end by default.
        residents: Whom, by id or name; everybody by default.
        model: Who answers; the model of the run by default.
        words: About how long an answer may be.
        calls: How models are called, and what may be spent.
        on_progress: Gets the progress.
    """
    step = run.steps[-1] if step is None else step
    regime = run.manifest.regime_at(step)
    spec = regime.model if model is None else model if isinstance(model, str) else model.spec
    store = Workspace.of(run.record).store() if isinstance(run.record, Journal) else None
    session = Session(store, calls=calls, model=model, run=run.record)
    done = 0

    async def hold() -> Interviews:
        simulation = await replay_to(run, step, session)
        everybody = simulation.scenario.people
        some = everybody
        if residents is not None:
            some = everybody.take([everybody.person(who).id for who in residents])
        mind, now = simulation.scenario.mind, simulation.scenario.seconds
        lives = _lives(mind, some)
        situations = _situations(mind, some, condition, questions, words, now)

        async def put(question: InterviewQuestion, situation: Situation) -> pl.DataFrame:
            nonlocal done
            path = f"believability/{step}/{question.id}"
            inquiry = Inquiry(
                path, some, mind, situation, regime.seed, regime.temperature, spec, purpose="believability interview"
            )
            answers = (await session.decide(inquiry)).answers
            done += 1
            if on_progress is not None:
                on_progress(done, len(questions))
            recalled = situation.memories.ids.list.len() if situation.memories is not None else pl.lit(0)
            return _identity(run, some).with_columns(
                area=pl.lit(question.area),
                question=pl.lit(question.id),
                condition=pl.lit(condition.name),
                answer=answers.values.cast(pl.String),
                status=answers.status.cast(pl.String),
                recalled=recalled,
            )

        tables = await asyncio.gather(*(put(*pair) for pair in zip(questions, situations, strict=True)))
        everything = _identity(run, some).with_columns(life=pl.Series(lives, dtype=pl.String))
        return Interviews(pl.concat(tables).with_columns(pl.col("recalled").cast(pl.Int64)), everything)

    return session.finish(hold())


def _identity(run: Run, people: People) -> pl.DataFrame:
    names = people["name" if "name" in people else "id"]
    return pl.DataFrame(
        [
            pl.Series("run", [run.name] * len(people), dtype=pl.String),
            people.ids.cast(pl.String).alias("resident"),
            names.cast(pl.String).alias("name"),
        ]
    )


def _situations(
    mind: Mind, people: People, condition: Condition, questions: Sequence[InterviewQuestion], words: int, now: int
) -> list[Situation]:
    """What is asked, with what comes to mind; all of it is recalled at once, from the same state of the memory."""
    plain = [
        Situation.from_fields(Text(_literal(question.text), max_words=words), "", {}, people.ids)
        for question in questions
    ]
    if mind.memory is None or not condition.memory:
        return plain
    ids = people.ids.to_list()
    queries = [question.text for question in questions for _ in ids]
    memories = mind.recollect(
        ids * len(questions), queries, now=now, purpose="believability interview", kinds=condition.kinds
    )
    if memories is None:
        return plain
    rows = np.arange(len(ids))
    return [
        replace(situation, memories=memories.rows(rows + place * len(ids)), memories_first=True)
        for place, situation in enumerate(plain)
    ]


def _literal(text: str) -> str:
    """A text whose braces are no fields."""
    return text.replace("{", "{{").replace("}", "}}")


def _lives(mind: Mind, people: People) -> list[str]:
    """What a judge is told of each resident: who they are, and the most important events of their life in order."""
    prompts = compose(mind.profile, people, Situation.from_fields(Text("?"), "", {}, people.ids))
    profiles = prompts.system.gather(prompts.of_person).to_list()
    events_of: Any = getattr(mind.memory, "of", None)
    if events_of is None:
        return profiles
    lives = []
    for who, profile in zip(people.ids.to_list(), profiles, strict=True):
        events = events_of(who).filter(~pl.col("kind").cast(pl.String).is_in(_INNER))
        events = events.unique("text", keep="first", maintain_order=True)
        top = events.sort("importance", descending=True, nulls_last=True, maintain_order=True).head(_LIFE)
        lines = [f"- {text}" for text in top.sort("time", maintain_order=True)["text"]]
        lives.append(
            "\n".join([profile, "What happened to them, told to them as “you”:", *lines]) if lines else profile
        )
    return lives
