"""One person of a run: who they are, what became of them, what they did, said, remembered and decided.

Of a population only the person's own rows are read, once for all steps; a step is then chosen among them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.base.errors import UnknownNameError
from populace.journal import collected
from populace.people import Id
from populace.runs.biography import SCORES, Life, in_words, life_of
from populace.runs.reader import RunReader
from populace.studio.shell.clock import time_text

_FIXED = ("id", "name")
DECISIONS = {
    "step": pl.Int64,
    "path": pl.String,
    "question": pl.String,
    "kind": pl.String,
    "purpose": pl.String,
    "value": pl.String,
    "status": pl.String,
}
STREAM = ("memory", "step", "when", "kind", "importance", "last_used", "used", "text")
"""The columns of a memory stream, besides the scores."""


@dataclass(frozen=True)
class Portrait:
    """Everything that a run holds of one person.

    Attributes:
        id: The id.
        name: How they are called; the id where nobody has a name.
        states: A row for each step in which they are there: the step and every column.
        decisions: A row for each decision: step, path, question, kind, purpose, value, status.
        life: What happened to them, what they said and heard, and what they remember.
        recalled: What came to their mind, with step and scores.
        interviews: What they were asked on the side, the latest last.
    """

    id: Id
    name: str
    states: pl.DataFrame
    decisions: pl.DataFrame
    life: Life
    recalled: pl.DataFrame
    interviews: list[dict[str, Any]]

    @property
    def steps(self) -> list[int]:
        """The steps in which they are there."""
        return self.states["step"].to_list()

    def at(self, step: int) -> dict[str, Any]:
        """Every column as it was after a step, or after the nearest step in which they are there."""
        steps = self.steps
        near = min(steps, key=lambda each: (abs(each - step), each))
        return {name: value for name, value in self.states.row(steps.index(near), named=True).items() if name != "step"}


def portrait(run: RunReader, who: str) -> Portrait:
    """Read one person by id or name.

    Args:
        run: The run.
        who: Whom; somebody unknown is an error that names the nearest.
    """
    person = found(run, who)
    states = trajectory(run, person)
    mine = pl.col("person") == person
    life = life_of(run, person, at=int(states["step"][-1]))
    return Portrait(
        person,
        str(states["name"][-1]) if "name" in states.columns else str(person),
        states,
        decided(run, person),
        life,
        run.rows("tables/recalled", mine),
        interviews_with(run, person),
    )


def found(run: RunReader, who: str) -> Id:
    """The id of a person who is there at the end or was before.

    A name of digits is taken for an id first, as the command line does.
    """
    last = run.steps[-1] if run.steps else None
    try:
        return run.people(last).person(who).id
    except UnknownNameError:
        # Somebody may have left before the end.
        for step in reversed(run.steps[:-1]):
            if run.record.facts(step + 1)["people"]["rows"]:
                there = run.people(step)
                named = "name" in there and who in there["name"]
                if named or who in there.ids.cast(pl.String):
                    return there.person(who).id
        raise


def trajectory(run: RunReader, who: Id) -> pl.DataFrame:
    """A row for each step in which a person is there, with every column as it was after it."""
    steps = run.steps
    parts = {step: run.record.scan(step, "people") for step in steps if run.record.facts(step)["people"]["written"]}
    asked = [step for step, part in parts.items() if part is not None]
    rows = collected([part.filter(pl.col("id") == who) for part in parts.values() if part is not None])
    changed = dict(zip(asked, rows, strict=True))
    state: dict[str, Any] | None = None
    made: list[dict[str, Any]] = []
    for step in steps:
        facts, part = run.record.facts(step)["people"], changed.get(step)
        if part is not None and part.height:
            state = (state or {}) | part.row(0, named=True)
        elif part is not None and facts["rows"]:
            state = None
        if state is not None:
            made.append({"step": step, **{name: state.get(name) for name in facts["columns"]}})
    return pl.DataFrame(made, infer_schema_length=None)


def changing(states: pl.DataFrame) -> tuple[list[str], list[str]]:
    """The columns that changed over the steps: numbers, and all others."""
    moving = [name for name in states.columns if name not in ("step", *_FIXED) and _texts(states[name]).n_unique() > 1]
    numbers = [name for name in moving if states[name].dtype.is_numeric() or states[name].dtype == pl.Boolean]
    return numbers, [name for name in moving if name not in numbers]


def spells(states: pl.DataFrame, column: str) -> pl.DataFrame:
    """A column of words over the steps as spells of one value: from, to, value."""
    texts = _texts(states[column])
    told = pl.DataFrame({"step": states["step"], "value": texts, "spell": texts.rle_id()})
    return told.group_by("spell", maintain_order=True).agg(
        pl.col("step").first().alias("from"), pl.col("step").last().alias("to"), pl.col("value").first()
    )


def _texts(column: pl.Series) -> pl.Series:
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return pl.Series(column.name, [None if value is None else str(value) for value in column.to_list()], pl.String)
    return column


def decided(run: RunReader, who: Id) -> pl.DataFrame:
    """Every decision of a person in the order made: step, path, question, kind, purpose, value, status."""
    answers = run.rows("answers", pl.col("person") == who)
    if not answers.height:
        return pl.DataFrame(schema=DECISIONS)
    asks = run.rows("asks").select(
        "step",
        "ask",
        "path",
        "purpose",
        pl.col("question").str.json_path_match("$.kind").alias("kind"),
        pl.col("question").str.json_path_match("$.text").alias("question"),
    )
    told = answers.join(asks, on=["step", "ask"], how="left", maintain_order="left")
    return told.select(pl.col(name).cast(dtype) for name, dtype in DECISIONS.items())


def stream(run: RunReader, person: Portrait, step: int) -> pl.DataFrame:
    """What a person remembers after a step, newest first, with the scores of what came to mind in it.

    Returns:
        The columns of `STREAM`, where `last_used` is the last step in which the memory came to mind and `used` how
        often it did; then recency, relevance and score of the last time in the very step, empty where it did not.
    """
    memories = person.life.memories
    if not memories.height:
        return pl.DataFrame()
    known = memories.filter(pl.col("step") <= step).sort("memory", descending=True)
    clocks = {each: time_text(run.record.facts(each)["now"]) for each in known["step"].unique().to_list()}
    known = known.with_columns(when=pl.col("step").replace_strict(clocks, return_dtype=pl.String))
    scores = ("recency", "relevance", "score")
    recalled = person.recalled
    if not recalled.height:
        return known.with_columns(
            pl.lit(None, pl.Int64).alias("last_used"),
            pl.lit(0).alias("used"),
            *(pl.lit(None, pl.Float64).alias(s) for s in scores),
        ).select(*STREAM, *scores)
    before = recalled.filter(pl.col("step") <= step)
    uses = before.group_by("memory").agg(pl.max("step").alias("last_used"), pl.len().cast(pl.Int64).alias("used"))
    now = before.filter(pl.col("step") == step).group_by("memory").agg(pl.col(scores).last())
    joined = known.join(uses, on="memory", how="left", maintain_order="left").join(
        now, on="memory", how="left", maintain_order="left"
    )
    return joined.with_columns(pl.col("used").fill_null(0)).select(*STREAM, *scores)


def happenings(person: Portrait, step: int) -> pl.DataFrame:
    """What happened to a person up to a step, the latest first: step, what, detail."""
    events = person.life.events.filter(pl.col("step") <= step)
    details = [_detail(data, person.life) for data in events["data"]]
    return pl.DataFrame(
        {"step": events["step"], "what": events["kind"], "detail": pl.Series(details, dtype=pl.String)}
    ).reverse()


def _detail(data: str | None, life: Life) -> str:
    told = json.loads(data) if data else {}
    return in_words(told, life.names) if isinstance(told, dict) else str(told)


def talk(person: Portrait, step: int) -> list[tuple[int, list[tuple[str, str]]]]:
    """What a person said and heard up to a step, the latest first: for each step the lines, in order."""
    said = person.life.said.filter(pl.col("step") <= step)
    parts = said.partition_by("step", maintain_order=True)
    return [(int(part["step"][0]), list(part.select("who", "said").iter_rows())) for part in reversed(parts)]


def interviews_with(run: RunReader, who: Id) -> list[dict[str, Any]]:
    """What a person was asked on the side, in the order held."""
    held = []
    for entry in run.interviews():
        mine = next((answer for answer in entry["answers"] if answer["person"] == who), None)
        if mine is not None:
            kept = {name: entry.get(name) for name in ("step", "given", "model", "held")}
            held.append(
                {**kept, "question": entry["question"]["text"], "value": mine["value"], "status": mine["status"]}
            )
    return held


def described(person: Portrait, step: int, *, memories: pl.DataFrame, columns: Sequence[str] = ()) -> dict[str, Any]:
    """A portrait as plain data, at a step."""
    numbers, words = changing(person.states)
    kept = columns or [*numbers, *words]
    return {
        "id": person.id,
        "name": person.name,
        "step": step,
        "profile": person.at(step),
        "states": person.states.select("step", *kept).to_dicts(),
        "decisions": person.decisions.filter(pl.col("step") <= step).to_dicts(),
        "events": happenings(person, step).to_dicts(),
        "said": person.life.said.filter(pl.col("step") <= step).to_dicts(),
        "memories": memories.to_dicts(),
        "interviews": person.interviews,
    }


__all__ = [
    "DECISIONS",
    "SCORES",
    "STREAM",
    "Portrait",
    "changing",
    "decided",
    "described",
    "found",
    "happenings",
    "interviews_with",
    "portrait",
    "spells",
    "stream",
    "talk",
    "trajectory",
]
