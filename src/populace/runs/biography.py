"""One person of a run: who they are, what became of them, what they did, said, heard, remembered and decided.

Of a population only the person's own rows are read, once for all steps; a step is then chosen among them. Nothing
here needs a name, a memory or a plan: what a run does not have is empty.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.base.errors import UnknownNameError
from populace.journal import collect_tables
from populace.people import Id
from populace.runs.clock import time_text
from populace.runs.reader import RunReader
from populace.runs.step_events import event_text

_FIXED = ("id", "name")
_DECISIONS = {
    "step": pl.Int64(),
    **dict.fromkeys(("path", "question", "kind", "purpose", "value", "status"), pl.String()),
}
STREAM = ("memory", "step", "when", "kind", "importance", "last_used", "used", "text")
"""The columns of a memory stream, besides the scores."""
_TALK = {"step": pl.Int64, "who": pl.String, "said": pl.String}


@dataclass(frozen=True)
class Biography:
    """Everything that a run holds of one person.

    Attributes:
        id: The id.
        name: How they are called; the id where nobody has a name.
        states: A row for each step in which they are there: the step and every column.
        decisions: A row for each decision: step, path, question, kind, purpose, value, status.
        events: What happened to them, besides talk.
        talk: What they said and what was said to them: step, who, said.
        memories: What they remember: memory, step, kind, time, importance, text, evidence.
        recalled: The memories that were recalled for them, with step and scores.
        interviews: What they were asked on the side, the latest last.
        names: How everybody is called, by id; empty where nothing happened to the person.
    """

    id: Id
    name: str
    states: pl.DataFrame
    decisions: pl.DataFrame
    events: pl.DataFrame
    talk: pl.DataFrame
    memories: pl.DataFrame
    recalled: pl.DataFrame
    interviews: list[dict[str, Any]]
    names: Mapping[Id, str]

    @property
    def steps(self) -> list[int]:
        """The steps in which they are there."""
        return self.states["step"].to_list()

    def at(self, step: int) -> dict[str, Any]:
        """Every column as it was after a step, or after the nearest step in which they are there."""
        steps = self.steps
        near = min(steps, key=lambda each: (abs(each - step), each))
        return {name: value for name, value in self.states.row(steps.index(near), named=True).items() if name != "step"}

    def events_until(self, step: int) -> pl.DataFrame:
        """What happened to them up to a step, the latest first: step, what, detail."""
        events = self.events.filter(pl.col("step") <= step)
        details = pl.Series([event_text(data, self.names) for data in events["data"]], dtype=pl.String)
        return pl.DataFrame({"step": events["step"], "what": events["kind"], "detail": details}).reverse()

    def talk_until(self, step: int) -> list[tuple[int, list[tuple[str, str]]]]:
        """What they said and heard up to a step, the latest first: for each step the lines, in order."""
        parts = self.talk.filter(pl.col("step") <= step).partition_by("step", maintain_order=True)
        return [(int(part["step"][0]), list(part.select("who", "said").iter_rows())) for part in reversed(parts)]


def biography(run: RunReader, who: Id) -> Biography:
    """Everything that a run holds of one person.

    Args:
        run: The run.
        who: Whom, by id or name; somebody unknown is an error that names the nearest.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=3, days=2), decider="rule", keep="nothing")
        >>> biography(run, 1).steps
        [0, 1, 2]
    """
    person = person_id(run, who)
    states = states_of(run, person)
    last = int(states["step"][-1])
    people = run.people(last)
    mine, spoken = pl.col("person") == person, pl.col("kind") == "said"
    events = run.rows("events", mine | spoken, until=last)
    if not events.width:
        events = run.events.clear()
    names: dict[Id, str] = {}
    if events.height:
        ids = people.ids.to_list()
        names = dict(zip(ids, people["name"].to_list() if "name" in people else map(str, ids), strict=True))
    return Biography(
        person,
        str(states["name"][-1]) if "name" in states.columns else str(person),
        states,
        decisions_of(run, person),
        events.filter(~spoken),
        _talk(events.filter(spoken), person, names),
        run.rows("tables/memories", mine, until=last),
        run.rows("tables/recalled", mine),
        interviews_with(run, person),
        names,
    )


def person_id(run: RunReader, who: Id) -> Id:
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
                people = run.people(step)
                if ("name" in people and who in people["name"]) or str(who) in people.ids.cast(pl.String):
                    return people.person(who).id
        raise


def has_memories(run: RunReader) -> bool:
    """Whether anybody in the run keeps memories."""
    return any("tables/memories" in run.record.table_names(step) for step in run.steps)


def _talk(spoken: pl.DataFrame, me: Id, names: Mapping[Id, str]) -> pl.DataFrame:
    """What one person said, and what was said to them."""
    rows: list[tuple[int, str, str]] = []
    for step, speaker, data in spoken.select("step", "person", "data").iter_rows():
        line = json.loads(data)
        hearers = line.get("to", []) if isinstance(line.get("to", []), list) else [line["to"]]
        if speaker == me or me in hearers:
            to = " and ".join(names.get(hearer, str(hearer)) for hearer in hearers)
            name = names.get(speaker, str(speaker))
            rows.append((step, f"{name} to {to}" if to else name, str(line.get("text", ""))))
    return pl.DataFrame(rows, schema=_TALK, orient="row")


def states_of(run: RunReader, who: Id) -> pl.DataFrame:
    """A row for each step in which a person is there, with every column as it was after it."""
    steps = run.steps
    parts = {step: run.record.scan(step, "people") for step in steps if run.record.facts(step)["people"]["written"]}
    changed_steps = [step for step, part in parts.items() if part is not None]
    rows = collect_tables([part.filter(pl.col("id") == who) for part in parts.values() if part is not None])
    changed = dict(zip(changed_steps, rows, strict=True))
    state: dict[str, Any] | None = None
    states: list[dict[str, Any]] = []
    for step in steps:
        facts, part = run.record.facts(step)["people"], changed.get(step)
        if part is not None and part.height:
            state = (state or {}) | part.row(0, named=True)
        elif part is not None and facts["rows"]:
            state = None
        if state is not None:
            states.append({"step": step, **{name: state.get(name) for name in facts["columns"]}})
    return pl.DataFrame(states, infer_schema_length=None)


def changing_columns(states: pl.DataFrame) -> tuple[list[str], list[str]]:
    """The columns that changed over the steps: numbers, and all others."""
    moving = [name for name in states.columns if name not in ("step", *_FIXED) and _texts(states[name]).n_unique() > 1]
    numbers = [name for name in moving if states[name].dtype.is_numeric() or states[name].dtype == pl.Boolean]
    return numbers, [name for name in moving if name not in numbers]


def _texts(column: pl.Series) -> pl.Series:
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return pl.Series(column.name, [None if value is None else str(value) for value in column.to_list()], pl.String)
    return column


def decisions_of(run: RunReader, who: Id) -> pl.DataFrame:
    """Every decision of a person in the order made: step, path, question, kind, purpose, value, status."""
    answers = run.rows("answers", pl.col("person") == who)
    if not answers.height:
        return pl.DataFrame(schema=_DECISIONS)
    fields = {"kind": "$.kind", "question": "$.text"}
    texts = {name: pl.col("question").str.json_path_match(path) for name, path in fields.items()}
    asks = run.rows("asks").select("step", "ask", "path", "purpose", **texts)
    decisions = answers.join(asks, on=["step", "ask"], how="left", maintain_order="left")
    return decisions.select(pl.col(name).cast(dtype) for name, dtype in _DECISIONS.items())


def interviews_with(run: RunReader, who: Id) -> list[dict[str, Any]]:
    """The side interviews with a person, in order."""
    return [
        {name: entry.get(name) for name in ("step", "given", "model", "held")}
        | {"question": entry["question"]["text"], "value": answer["value"], "status": answer["status"]}
        for entry in run.interviews()
        for answer in entry["answers"]
        if answer["person"] == who
    ]


def memory_stream(run: RunReader, person: Biography, step: int) -> pl.DataFrame:
    """What a person remembers after a step, newest first, with the scores of what came to mind in it.

    Returns:
        The columns of `STREAM`, where `last_used` is the last step in which the memory came to mind and `used` how
        often it did; then recency, relevance and score of the last time in the very step, empty where it did not.
    """
    memories = person.memories
    if not memories.height:
        return pl.DataFrame()
    known = memories.filter(pl.col("step") <= step).sort("memory", descending=True)
    clocks = {each: time_text(run.record.facts(each)["now"]) for each in known["step"].unique().to_list()}
    known = known.with_columns(when=pl.col("step").replace_strict(clocks, return_dtype=pl.String))
    scores = ("recency", "relevance", "score")
    recalled = person.recalled
    if not recalled.height:
        recalled = memories.clear().select("memory", "step", *(pl.lit(None, pl.Float64).alias(name) for name in scores))
    before = recalled.filter(pl.col("step") <= step)
    uses = before.group_by("memory").agg(pl.max("step").alias("last_used"), pl.len().cast(pl.Int64).alias("used"))
    now = before.filter(pl.col("step") == step).group_by("memory").agg(pl.col(scores).last())
    joined = known
    for part in (uses, now):
        joined = joined.join(part, on="memory", how="left", maintain_order="left")
    return joined.with_columns(pl.col("used").fill_null(0)).select(*STREAM, *scores)


def biography_document(person: Biography, step: int, memories: pl.DataFrame) -> dict[str, Any]:
    """A biography at a step as the data of a JSON document, with the memory stream of the step."""
    numbers, words = changing_columns(person.states)
    return {
        "id": person.id,
        "name": person.name,
        "step": step,
        "profile": person.at(step),
        "states": person.states.select("step", *numbers, *words).to_dicts(),
        "decisions": person.decisions.filter(pl.col("step") <= step).to_dicts(),
        "events": person.events_until(step).to_dicts(),
        "said": person.talk.filter(pl.col("step") <= step).to_dicts(),
        "memories": memories.to_dicts(),
        "interviews": person.interviews,
    }
