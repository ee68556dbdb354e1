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
from populace.journal import Journal
from populace.people import Id
from populace.runs.clock import time_text
from populace.runs.reader import RunReader
from populace.runs.step_events import event_text
from populace.runs.wording import question_text

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
        until: The last step of the run that was read.
        digest: The digest of that step; empty for a run in memory.
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
    until: int
    digest: str

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


def biography(run: RunReader, who: Id, earlier: Biography | None = None) -> Biography:
    """Everything that a run holds of one person.

    Args:
        run: The run.
        who: Whom, by id or name; somebody unknown is an error that names the nearest.
        earlier: The biography of the same person when the run had fewer steps: only what is new is read.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=3, days=2), decider="rule", keep="nothing")
        >>> biography(run, 1).steps
        [0, 1, 2]
    """
    steps = run.steps
    if earlier is not None and (earlier.until not in steps or _digest(run, earlier.until) != earlier.digest):
        # The run was written anew: what was read before does not count.
        earlier = None
    person = person_id(run, who) if earlier is None else earlier.id
    since = 0 if earlier is None else earlier.until + 1
    states = states_of(run, person, earlier.states if earlier else None, since=since)
    last = int(states["step"][-1])
    mine, spoken = pl.col("person") == person, pl.col("kind") == "said"
    events = run.rows("events", mine | spoken, since=since, until=last)
    if not events.width:
        schema = {"step": pl.Int64(), "kind": pl.String(), "person": states["id"].dtype, "data": pl.String()}
        events = pl.DataFrame(schema=schema)
    names = dict(earlier.names) if earlier else {}
    if events.height:
        people = run.people(last)
        ids = people.ids.to_list()
        names |= zip(ids, people["name"].to_list() if "name" in people else map(str, ids), strict=True)

    def longer(part: str, new: pl.DataFrame) -> pl.DataFrame:
        parts = [new] if earlier is None else [getattr(earlier, part), new]
        filled = [each for each in parts if each.width]
        return pl.concat(filled, how="diagonal_relaxed") if filled else new

    return Biography(
        person,
        str(states["name"][-1]) if "name" in states.columns else str(person),
        states,
        longer("decisions", decisions_of(run, person, since=since)),
        longer("events", events.filter(~spoken)),
        longer("talk", _talk(events.filter(spoken), person, names)),
        longer("memories", run.rows("tables/memories", mine, since=since, until=last)),
        longer("recalled", run.rows("tables/recalled", mine, since=since)),
        interviews_with(run, person),
        names,
        steps[-1],
        _digest(run, steps[-1]),
    )


def _digest(run: RunReader, step: int) -> str:
    return run.record.commit_of(step).digest if isinstance(run.record, Journal) else ""


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


def states_of(run: RunReader, who: Id, earlier: pl.DataFrame | None = None, *, since: int = 0) -> pl.DataFrame:
    """A row for each step in which a person is there, with every column as it was after it.

    Args:
        run: The run.
        who: The id of the person.
        earlier: The states before the step `since`, which are put in front.
        since: The first step that is read.
    """
    before = earlier if earlier is not None and earlier.height else None
    steps = [step for step in run.steps if step >= since]
    # Steps that wrote the same columns are read together.
    by_columns: dict[tuple[str, ...], list[int]] = {}
    for step in steps:
        by_columns.setdefault(tuple(run.record.facts(step)["people"]["written"]), []).append(step)
    changes: dict[int, dict[str, Any]] = {}
    for columns, written in by_columns.items():
        if columns:
            rows = run.record.rows("people", written, pl.col("id") == who)
            changes |= {row.pop("step"): row for row in rows.iter_rows(named=True)}
    state: dict[str, Any] | None = None
    if before is not None and before["step"][-1] == since - 1:
        state = before.row(-1, named=True)
    states: list[dict[str, Any]] = []
    for step in steps:
        facts, change = run.record.facts(step)["people"], changes.get(step)
        if change is not None:
            state = (state or {}) | change
        elif facts["rows"] and facts["written"]:
            state = None
        if state is not None:
            states.append({"step": step, **{name: state.get(name) for name in facts["columns"]}})
    new = pl.DataFrame(states, infer_schema_length=None)
    if before is None:
        return new
    return pl.concat([before, new], how="diagonal_relaxed") if new.height else before


def changing_columns(states: pl.DataFrame) -> tuple[list[str], list[str]]:
    """The columns that changed over the steps: numbers, and all others."""
    moving = [name for name in states.columns if name not in ("step", *_FIXED) and _texts(states[name]).n_unique() > 1]
    numbers = [name for name in moving if states[name].dtype.is_numeric() or states[name].dtype == pl.Boolean]
    return numbers, [name for name in moving if name not in numbers]


def _texts(column: pl.Series) -> pl.Series:
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return pl.Series(column.name, [None if value is None else str(value) for value in column.to_list()], pl.String)
    return column


def decisions_of(run: RunReader, who: Id, *, since: int = 0) -> pl.DataFrame:
    """Every decision of a person in the order made: step, path, question, kind, purpose, value, status.

    Args:
        run: The run.
        who: The id of the person.
        since: The first step that counts.
    """
    answers = run.rows("answers", pl.col("person") == who, since=since)
    if not answers.height:
        return pl.DataFrame(schema=_DECISIONS)
    fields = {"kind": "$.kind", "question": "$.text"}
    texts = {name: pl.col("question").str.json_path_match(path) for name, path in fields.items()}
    steps = answers["step"].unique(maintain_order=True).to_list()
    asks = run.record.rows("asks", steps, columns=("ask", "path", "purpose", "question"))
    asks = asks.select("step", "ask", "path", "purpose", **texts)
    decisions = answers.join(asks, on=["step", "ask"], how="left", maintain_order="left")
    decisions = decisions.with_columns(_questions(run, decisions))
    return decisions.select(pl.col(name).cast(dtype) for name, dtype in _DECISIONS.items())


def _questions(run: RunReader, decisions: pl.DataFrame) -> pl.Series:
    """The questions of decisions with the values of their fields."""
    texts = decisions["question"].to_list()
    with_fields = decisions.filter(pl.col("question").str.contains("{", literal=True))
    if not with_fields.height:
        return decisions["question"]
    steps = with_fields["step"].unique(maintain_order=True).to_list()
    values: dict[tuple[int, int, int | None], dict[str, Any]] = {}
    for name, prompt in (("asks", pl.lit(None)), ("prompts", pl.col("prompt"))):
        scan = run.record.scan(steps[0], name)
        # Earlier versions did not record the values.
        if scan is None or "fields" not in scan.collect_schema():
            continue
        columns = ("ask", "fields") if name == "asks" else ("ask", "prompt", "fields")
        rows = run.record.rows(name, steps, columns=columns)
        for step, ask, which, fields in rows.select("step", "ask", prompt.alias("prompt"), "fields").iter_rows():
            values[step, ask, which] = json.loads(fields) if fields else {}
    keys = decisions.select("step", "ask", "prompt").iter_rows()
    filled = [
        text
        if text is None or "{" not in text
        else question_text(text, values.get((step, ask, None), {}) | values.get((step, ask, prompt), {}))
        for text, (step, ask, prompt) in zip(texts, keys, strict=True)
    ]
    return pl.Series("question", filled, pl.String)


def interviews_with(run: RunReader, who: Id) -> list[dict[str, Any]]:
    """The side interviews with a person, in order."""
    return [
        {name: entry.get(name) for name in ("step", "given", "model", "held", "conversation")}
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
    table = known
    for part in (uses, now):
        table = table.join(part, on="memory", how="left", maintain_order="left")
    return table.with_columns(pl.col("used").fill_null(0)).select(*STREAM, *scores)


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
