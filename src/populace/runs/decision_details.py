"""What led to a decision: the situation, recalled memories, the prompts, the calls and the cleaning of replies."""

import json
import string
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import UnknownNameError
from populace.broker import CallStore, price_of
from populace.journal import Journal
from populace.models import Reply
from populace.people import Id
from populace.questions import Utterance
from populace.runs.decision import Decision
from populace.runs.reader import RunReader

SCORES = ("recency", "importance", "relevance", "score")
"""What a recalled memory was ranked by."""
UNRECORDED = (
    "Which memories the prompt showed is not recorded: the run is of an earlier version of Populace or scenario."
)
"""What is said in the place of the memories behind a decision where they are not recorded."""


_STEPS_SEARCHED = 300


def no_decision(run: RunReader, step: int, person: Id) -> tuple[str, str]:
    """That a person decided nothing in a step, and the nearest steps in which they did."""
    who = run.people(step).person(person)
    name = dict(who).get("name", who.id)

    def decides(other: int) -> bool:
        answers = run.record.table(other, "answers")
        return answers is not None and bool((answers["person"] == who.id).any())

    steps = run.steps
    before = next((each for each in reversed(range(max(0, step - _STEPS_SEARCHED), step)) if decides(each)), None)
    after = next((each for each in range(step + 1, min(steps[-1], step + _STEPS_SEARCHED) + 1) if decides(each)), None)
    near = " and ".join(str(each) for each in (before, after) if each is not None)
    return f"{name} decided nothing in step {step}.", f"The nearest decisions are in step {near}." if near else ""


@dataclass(frozen=True)
class ModelCall:
    """One reply of a model behind a decision.

    Attributes:
        key: Its address in the call store.
        model: Who replied.
        prompt_tokens: Tokens read.
        completion_tokens: Tokens written.
        cost: Money, where a price is known.
        seconds: How long it took, where the store still holds it.
        reused: Whether it was known before the run began; None where the store does not hold it.
        shared: How many people of the step share it.
    """

    key: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    seconds: float | None
    reused: bool | None
    shared: int


@dataclass(frozen=True)
class DecisionDetails:
    """A decision with everything that led to it.

    Attributes:
        decision: As recorded.
        who: The name of the person, or the id.
        given: The text before the question, as a template.
        fields: The values of the fields of that text and of the question.
        memories: What was recalled for it and stands in the prompt, with scores, the best first.
        memories_note: What to say where there are no memories.
        calls: The calls of models behind it.
        cleaning: For utterances, what the cleaning rules did to each reply: the rules, or why nothing was left.
    """

    decision: Decision
    who: str
    given: str
    fields: dict[str, str]
    memories: pl.DataFrame
    memories_note: str
    calls: list[ModelCall]
    cleaning: list[dict[str, Any]]


def decision_details(
    run: RunReader, step: int, person: Id, path: str | None = None, *, calls: Path | None = None
) -> DecisionDetails | None:
    """A decision with everything that led to it; None where the person decided nothing in the step.

    Args:
        run: The run.
        step: The step.
        person: Who, by id or name.
        path: Which decision of the step; the first by default.
        calls: The file of the call store, for how long calls took and whether they were reused.
    """
    decisions = {decision.path: decision for decision in run.decisions(step, person)}
    if path and path not in decisions:
        raise UnknownNameError("decision", path, decisions)
    if not decisions:
        return None
    decision = decisions[path] if path else next(iter(decisions.values()))
    asks = run.rows("asks", pl.col("path") == decision.path, since=step, until=step)
    ask = asks.row(0, named=True) if asks.height else {}
    memories = recalled_memories(run, decision)
    if memories.height:
        memories = memories.select("memory", "about", "kind", "text", *SCORES).sort("score", descending=True)
    return DecisionDetails(
        decision,
        str(decision.person.get("name", decision.person["id"])),
        ask.get("given", ""),
        _fields(ask, decision),
        memories,
        memories_note(run, decision),
        _calls(run, decision, calls),
        _cleaning(decision),
    )


def recalled_memories(run: RunReader, decision: Decision) -> pl.DataFrame:
    """The memories that the prompt of a decision showed, with the scores by which they were recalled.

    Empty where no memories are recorded with the answer; `memories_note` says whether there should be some.
    """
    rows = _recalled(run, decision)
    if not rows.height:
        return rows
    ids = decision.memories or []
    # A person may recall several times in a step for the same purpose; the scores are those of the right time.
    batches = rows.partition_by("about", maintain_order=True)
    batch = next((batch for batch in batches if set(ids) <= set(batch["memory"])), rows)
    return batch.filter(pl.col("memory").is_in(ids)).unique("memory", keep="first", maintain_order=True)


def memories_note(run: RunReader, decision: Decision) -> str:
    """What is said of a decision without recalled memories.

    Runs of earlier versions do not record which memories a prompt showed, nor do scenarios that show memories without
    passing a `Recollection`.
    """
    unrecorded = decision.memories is None and _recalled(run, decision).height > 0
    return UNRECORDED if unrecorded else "No memory was recalled for this decision."


def _recalled(run: RunReader, decision: Decision) -> pl.DataFrame:
    """Everything that a person recalled in the step of a decision for its purpose."""
    table = run.record.table(decision.step, "tables/recalled")
    if table is None:
        return pl.DataFrame()
    return table.filter(pl.col("person") == decision.person["id"], pl.col("purpose") == decision.purpose)


def _fields(ask: Mapping[str, Any], decision: Decision) -> dict[str, str]:
    """The recorded values of the fields of the question and of the text before it; earlier versions recorded none."""
    records = [ask.get("fields"), *(prompt.get("fields") for prompt in decision.prompts[:1])]
    values = {name: value for text in records if text for name, value in json.loads(text).items()}
    templates = f"{ask.get('given', '')} {decision.question['text']}"
    names = dict.fromkeys(name for _, name, _, _ in string.Formatter().parse(templates) if name in values)
    return {name: str(values[name]) for name in names if name}


def neighbours(decisions: pl.DataFrame, step: int, path: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The decisions before and after one, from a table of all decisions of a person."""
    rows = decisions.select("step", "path").to_dicts()
    here = next((at for at, row in enumerate(rows) if (row["step"], row["path"]) == (step, path)), None)
    if here is None:
        return None, None
    return rows[here - 1] if here else None, rows[here + 1] if here + 1 < len(rows) else None


def form_fields(value: str | None) -> dict[str, str] | None:
    """The fields of a form's answer as texts, or None where the answer is not a form."""
    try:
        fields = json.loads(value) if value else None
    except ValueError:
        return None
    return {str(name): _text(each) for name, each in fields.items()} if isinstance(fields, dict) else None


def _text(value: Any) -> str:
    """A value in lines: one for each entry of a list, with the parts of an entry beside one another."""
    if isinstance(value, list):
        return "\n".join(_text(each) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _calls(run: RunReader, decision: Decision, file: Path | None) -> list[ModelCall]:
    rows = [row for row in decision.prompts if row["call"]]
    shared = _shared(run, decision)
    stored: dict[str, dict[str, Any]] = {}
    if rows and file is not None and file.is_file():
        with closing(CallStore(file)) as store:
            stored = {row["call"]: call for row in rows if (call := store.open_call(row["call"]))}
    known = _known_before(run, decision.step)
    calls = []
    for row in rows:
        price, call = price_of(row["model"]), stored.get(row["call"])
        tokens = row["prompt_tokens"] or 0, row["completion_tokens"] or 0
        calls.append(
            ModelCall(
                row["call"],
                row["model"],
                *tokens,
                None if price is None else price.of([Reply("", (), "stop", *tokens)]),
                call["seconds"] if call else None,
                known(call["created"]) if call else None,
                shared,
            )
        )
    return calls


def _known_before(run: RunReader, step: int) -> Callable[[float], bool]:
    """Whether a reply of a moment was known: it is older than the run, or the step made no call at all."""
    # A fork shares the first steps of its parent, and with them the calls that its parent made.
    manifest = run.record.holder(step).manifest if isinstance(run.record, Journal) else run.manifest
    began = datetime.fromisoformat(manifest.created)
    began = began if began.tzinfo else began.replace(tzinfo=UTC)
    free = any(line["step"] == step and not line["calls"] for line in run.record.usage())
    return lambda created: free or datetime.fromtimestamp(created, UTC) < began


def _shared(run: RunReader, decision: Decision) -> int:
    """How many people of the step got the very prompt."""
    part = run.record.scan(decision.step, "answers")
    if not decision.prompts or part is None:
        return 0
    ask, prompt = decision.prompts[0]["ask"], decision.prompts[0]["prompt"]
    return int(part.filter(pl.col("ask") == ask, pl.col("prompt") == prompt).select(pl.len()).collect().item())


def _cleaning(decision: Decision) -> list[dict[str, Any]]:
    if decision.question.get("kind") != Utterance.kind:
        return []
    question = Utterance.from_description(decision.question)
    cleanings = [
        question.examine(reply, f"{prompt['system']}\n{prompt['user']}")
        for prompt in decision.prompts
        for reply in prompt["replies"] or []
    ]
    return [{"rules": list(each.rules), "reason": each.reason, "left": each.text} for each in cleanings]


def details_document(details: DecisionDetails) -> dict[str, Any]:
    """A decision with everything that led to it, as the data of a JSON document."""
    return {
        **asdict(details.decision),
        "distribution": details.decision.distribution,
        "tempered": details.decision.draw_distribution,
        "given": details.given,
        "fields": details.fields,
        "recalled": details.memories.to_dicts(),
        "calls": [asdict(call) for call in details.calls],
        "cleaning": details.cleaning,
    }


def replaced_decision(recorded: Decision, answer: Mapping[str, Any]) -> Decision:
    """A recorded decision with what `populace ask-again` reports in its place."""
    names = ("question", "value", "status", "prompts", "temperature", "draw")
    return replace(recorded, **{name: answer[name] for name in names})


def setting_differences(recorded: Decision, other: Decision) -> list[tuple[str, str, str]]:
    """What differs besides the words of the prompt: its name, the recorded value and the other one."""
    then, now = (_settings(decision) for decision in (recorded, other))
    return [(name, then[name], now[name]) for name in then if then[name] != now[name]]


def _settings(decision: Decision) -> dict[str, str]:
    first = decision.prompts[0] if decision.prompts else {}
    return {
        "model": str(first.get("model") or "none"),
        "answer": {"scored": "read as a distribution", "sampled": "written"}.get(first.get("method", ""), "by rule"),
        "orders shown": str(len(decision.prompts)),
        "temperature": f"{decision.temperature:g}",
    }
