"""One decision, opened: the situation, what came to mind, the prompt, the distribution, the draw and the call."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import polars as pl

from populace.base.errors import UnknownNameError
from populace.broker import price_of
from populace.engine.workspace import Workspace
from populace.models import Reply
from populace.people import Id
from populace.questions import VALID, Utterance
from populace.runs.biography import SCORES, UNRECORDED, behind, recalled, unrecorded
from populace.runs.reader import Decision, RunReader


@dataclass(frozen=True)
class Call:
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
class Opened:
    """A decision with all that lies behind it.

    Attributes:
        decision: As recorded.
        who: How the person is called.
        given: What was told, as a template.
        fields: What stood in the fields of what was told and asked, read back from the prompt.
        memories: What was recalled for it and stands in the prompt, with scores, the best first.
        memories_note: What is said where there are no memories.
        calls: The replies behind it.
        cleaning: What was done by rule to each reply, for utterances: the rules, or why nothing was left.
    """

    decision: Decision
    who: str
    given: str
    fields: dict[str, str]
    memories: pl.DataFrame
    memories_note: str
    calls: list[Call]
    cleaning: list[dict[str, Any]]


def opened(
    run: RunReader, step: int, person: Id, path: str | None, workspace: Workspace | None = None
) -> Opened | None:
    """Open a decision; the first of the step where no path is named, None where the person decided nothing in it."""
    decisions = {decision.path: decision for decision in run.decisions(step, person)}
    if path and path not in decisions:
        raise UnknownNameError("decision", path, decisions)
    if not decisions:
        return None
    decision = decisions[path] if path else next(iter(decisions.values()))
    asks = run.rows("asks", pl.col("path") == decision.path).filter(pl.col("step") == step)
    given = asks["given"][0] if asks.height else ""
    mine = recalled(run, step, decision.person["id"])
    found = behind(mine, decision)
    return Opened(
        decision,
        str(decision.person.get("name", decision.person["id"])),
        given,
        fields_of(given, decision.question["text"], decision.prompts[0]["user"] if decision.prompts else ""),
        found.select("memory", "about", "kind", "text", *SCORES).sort("score", descending=True)
        if found.height
        else found,
        UNRECORDED if unrecorded(mine, decision) else "No memory was recalled for this decision.",
        _calls(run, decision, workspace),
        _cleaning(decision),
    )


def fields_of(given: str, wording: str, text: str) -> dict[str, str]:
    """What stood in the fields of two templates, read back from the text that they became.

    Only what can be told for sure is told: reading ends where the words behind a field stand more than once.

    Example:
        >>> fields_of("{blue} wore blue.", "And you, {name}?", "12 wore blue.\\n\\nAnd you, Ann?\\nOptions: …")
        {'blue': '12', 'name': 'Ann'}
    """
    opening = next(iter(string.Formatter().parse(wording)))[0]
    asked = text.find(f"\n\n{opening}") if given and opening else -1
    if asked < 0:
        return _read_back(f"{given}\n\n{wording}\n" if given else f"{wording}\n", text)
    told = _read_back(f"{given}\n\n", text[: asked + 2])
    return told | {n: v for n, v in _read_back(f"{wording}\n", text[asked + 2 :]).items() if n not in told}


def _read_back(template: str, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    place, waiting = 0, None
    for literal, name, _, _ in string.Formatter().parse(template):
        at = text.find(literal, place)
        if at < 0:
            return {}
        if waiting is not None:
            sure = (literal == "\n" and name is None) or text.count(literal, place) == 1
            if not literal or not sure or found.setdefault(waiting, text[place:at]) != text[place:at]:
                return found
        place, waiting = at + len(literal), name
    return found


def cumulative(decision: Decision) -> list[tuple[str, float, float]]:
    """For each option, from where to where on the line from 0 to 1 a draw falls on it."""
    edges: list[tuple[str, float, float]] = []
    low = 0.0
    for option, share in (decision.tempered or {}).items():
        edges.append((option, low, low + share))
        low += share
    return edges


def distribution(decision: Decision) -> pl.DataFrame:
    """For each option its probability before temperature and as drawn from; empty where there is none."""
    before, after = decision.distribution, decision.tempered
    if before is None or after is None:
        return pl.DataFrame(schema={"option": pl.String, "before": pl.Float64, "after": pl.Float64})
    return pl.DataFrame({"option": list(before), "before": list(before.values()), "after": list(after.values())})


def usable(decision: Decision) -> bool:
    """Whether there is a distribution that a draw could be made from."""
    return decision.distribution is not None and decision.status in VALID


def beside(decisions: pl.DataFrame, step: int, path: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The decisions before and after one, from a table of all decisions of a person."""
    rows = decisions.select("step", "path").to_dicts()
    here = next((at for at, row in enumerate(rows) if (row["step"], row["path"]) == (step, path)), None)
    if here is None:
        return None, None
    return rows[here - 1] if here else None, rows[here + 1] if here + 1 < len(rows) else None


def form_fields(value: str | None) -> dict[str, str] | None:
    """The fields of a form's answer as texts, or None where the answer is no form."""
    try:
        told = json.loads(value) if value else None
    except ValueError:
        return None
    return {str(name): _text(each) for name, each in told.items()} if isinstance(told, dict) else None


def _text(value: Any) -> str:
    """A value in lines: one for each entry of a list, with the parts of an entry beside one another."""
    if isinstance(value, list):
        return "\n".join(_text(each) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _calls(run: RunReader, decision: Decision, workspace: Workspace | None) -> list[Call]:
    rows = [row for row in decision.prompts if row["call"]]
    shared = _shared(run, decision)
    stored: dict[str, dict[str, Any]] = {}
    if workspace is not None and rows and workspace.has_store():
        store = workspace.store()
        try:
            stored = {row["call"]: call for row in rows if (call := store.open_call(row["call"]))}
        finally:
            store.close()
    known = _known_before(run, decision.step)
    calls = []
    for row in rows:
        price, call = price_of(row["model"]), stored.get(row["call"])
        tokens = row["prompt_tokens"] or 0, row["completion_tokens"] or 0
        calls.append(
            Call(
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
    began = datetime.fromisoformat(run.manifest.created)
    began = began if began.tzinfo else began.replace(tzinfo=UTC)
    free = any(line["step"] == step and not line["calls"] for line in run.record.usage())
    return lambda created: free or datetime.fromtimestamp(created, UTC) < began


def _shared(run: RunReader, decision: Decision) -> int:
    """How many people of the step got the very prompt."""
    if not decision.prompts:
        return 0
    part = run.record.scan(decision.step, "answers")
    if part is None:
        return 0
    ask, prompt = decision.prompts[0]["ask"], decision.prompts[0]["prompt"]
    return int(part.filter(pl.col("ask") == ask, pl.col("prompt") == prompt).select(pl.len()).collect().item())


def _cleaning(decision: Decision) -> list[dict[str, Any]]:
    if decision.question.get("kind") != Utterance.kind:
        return []
    question = Utterance.from_description(decision.question)
    made = []
    for prompt in decision.prompts:
        for reply in prompt["replies"] or []:
            cleaned = question.examine(reply, f"{prompt['system']}\n{prompt['user']}")
            made.append({"rules": list(cleaned.rules), "reason": cleaned.reason, "left": cleaned.text})
    return made


def described(found: Opened) -> dict[str, Any]:
    """An opened decision as plain data."""
    decision = found.decision
    kept = ("step", "path", "purpose", "person", "question", "value", "status", "temperature", "draw", "prompts")
    return {
        **{name: getattr(decision, name) for name in kept},
        "distribution": decision.distribution,
        "tempered": decision.tempered,
        "given": found.given,
        "fields": found.fields,
        "recalled": found.memories.to_dicts(),
        "calls": [call.__dict__ for call in found.calls],
        "cleaning": found.cleaning,
    }


def again_beside(recorded: Decision, asked: Mapping[str, Any]) -> Decision:
    """What `populace again` reports as asked, in the form of a decision."""
    kept = ("question", "value", "status", "prompts", "temperature", "draw")
    return replace(recorded, **{name: asked[name] for name in kept})


def settings_changed(recorded: Decision, asked: Decision) -> list[tuple[str, str, str]]:
    """What differs besides the words of the prompt: its name, as it was and as it is."""
    then, now = (_settings(decision) for decision in (recorded, asked))
    return [(name, then[name], now[name]) for name in then if then[name] != now[name]]


def _settings(decision: Decision) -> dict[str, str]:
    first = decision.prompts[0] if decision.prompts else {}
    return {
        "model": str(first.get("model") or "none"),
        "answer": {"scored": "read as a distribution", "sampled": "written"}.get(first.get("method", ""), "by rule"),
        "orders shown": str(len(decision.prompts)),
        "temperature": f"{decision.temperature:g}",
    }
