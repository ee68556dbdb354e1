"""A run in a few numbers, and its metrics over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.broker import Usage, price_of
from populace.questions import VALID
from populace.runs.caveats import caveats
from populace.runs.overview import run_state
from populace.runs.reader import RunReader
from populace.statistics import Estimate, proportion


@dataclass(frozen=True)
class RunOverview:
    """A run in a few numbers.

    Attributes:
        name: Of the run.
        scenario: Of what.
        state: How it stands: `running`, `complete`, `stopped`, `failed` or `died`.
        reason: Why it ended.
        last: Its last committed step; None before the first.
        planned: How many steps there will be, where that is known.
        people: How many there are after the last step.
        model: Who decides: a model, or the rule.
        seed: Of the run.
        temperature: Of the run.
        parent: The run that it is a fork of, and the step at which it left it.
        usage: What it used.
        priced: Whether the cost is known.
        seconds: How long its steps took.
        statuses: How many answers had which status.
        failure: The share of answers that are none, with its interval; None where nothing was asked.
        interventions: What is done from outside, in words.
        notes: What a reader of the results must know.
        digest: One hash for everything committed.
        created: When it was begun.
        settings: Names and values of everything that was set.
        tables: The tables of its world.
    """

    name: str
    scenario: str
    state: str
    reason: str
    last: int | None
    planned: int | None
    people: int
    model: str
    seed: int
    temperature: float
    parent: tuple[str, int] | None
    usage: Usage
    priced: bool
    seconds: float
    statuses: dict[str, int]
    failure: Estimate | None
    interventions: list[str]
    notes: list[str]
    digest: str
    created: str
    settings: list[tuple[str, str]]
    tables: frozenset[str]

    @property
    def progress(self) -> float | None:
        """The share of the planned steps that is done; None where nobody knows how many there will be."""
        if self.state == "complete":
            return 1.0
        return None if not self.planned else min(1.0, (self.last or 0) / self.planned)

    @property
    def budget(self) -> str:
        """The limit at which the run stopped: calls, tokens, money or seconds; empty where it was none of them."""
        words = self.reason.split()
        if self.state != "stopped" or not self.reason.startswith("the budget of ") or len(words) < 5:
            return ""
        return words[4] if words[4] in ("calls", "tokens", "money", "seconds") else ""


def overview(run: RunReader, state: str | None = None) -> RunOverview:
    """A run in a few numbers.

    Args:
        run: The run.
        state: How it stands, where that is known better than its folder tells.
    """
    manifest, steps, usage = run.manifest, run.steps, run.usage()
    regime, status = manifest.regime, manifest.status
    facts = [run.record.facts(step) for step in steps]
    counts: dict[str, int] = {}
    for each in facts:
        for name, count in each["statuses"].items():
            counts[name] = counts.get(name, 0) + count
    asked = sum(counts.values())
    bad = asked - sum(counts.get(name, 0) for name in VALID)
    return RunOverview(
        name=run.name,
        scenario=manifest.scenario,
        state=state or run_state(run.journal),
        reason=status.reason,
        last=steps[-1] if steps else None,
        planned=status.planned,
        people=int(facts[-1]["people"]["count"]) if facts else 0,
        model=regime.model if regime.decider == "model" else f"the scenario's {regime.decider}",
        seed=regime.seed,
        temperature=regime.temperature,
        parent=(manifest.parent.run, manifest.parent.at) if manifest.parent else None,
        usage=usage,
        priced=price_of(regime.model) is not None,
        seconds=run.seconds,
        statuses=counts,
        failure=proportion(bad, asked) if asked else None,
        interventions=[intervention_in_words(each) for each in manifest.interventions],
        notes=[note[0].upper() + note[1:] for note in caveats(run)],
        digest=run.digest if steps else "",
        created=manifest.created,
        settings=settings(run),
        tables=_world(run, steps),
    )


def settings(run: RunReader) -> list[tuple[str, str]]:
    """Names and values of everything that was set, with the step from which a fork changed it."""
    manifest = run.manifest
    rows = [("scenario", manifest.scenario)]
    for regime in manifest.regimes:
        since = f" (from step {regime.since})" if regime.since else ""
        rows += [(name.replace("_", " ") + since, _plain(value)) for name, value in regime.parameters.items()]
        rows += [
            ("decided by" + since, regime.model if regime.decider == "model" else regime.decider),
            ("seed" + since, str(regime.seed)),
            ("temperature" + since, f"{regime.temperature:g}"),
        ]
        rows += [(f"variation: {name}{since}", _plain(value)) for name, value in regime.variation.items()]
    rows += [("intervention", intervention_in_words(each)) for each in manifest.interventions]
    rows += [(f"fingerprint of {model}", mark) for model, mark in manifest.models.items()]
    rows += [("recording", manifest.recording)] if manifest.recording else []
    rows += [("hash of the scenario's file", manifest.scenario_hash), ("begun", manifest.created)]
    return [*rows, *sorted(manifest.environment.items())]


def intervention_in_words(data: dict[str, Any]) -> str:
    """An intervention as a person reads it.

    Example:
        >>> intervention_in_words({"kind": "announce", "at": 3, "text": "Wear green.", "to": {"where": {}}})
        'at step 3: announce (text: Wear green.)'
    """
    told = "; ".join(
        f"{name}: {_plain(value)}" for name, value in data.items() if name not in ("kind", "at") and _set(value)
    )
    return f"at step {data.get('at')}: {data.get('kind')}" + (f" ({told})" if told else "")


def _set(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_set(part) for part in value.values())
    return value is not None and value != []


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(part)}" for name, part in value.items() if _set(part))
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else str(value)


def _world(run: RunReader, steps: list[int]) -> frozenset[str]:
    """The tables of the world that the first steps or the last ones hold."""
    looked = {*steps[:3], *steps[-3:]}
    names = [name for step in looked for name in run.record.table_names(step)]
    return frozenset(name.removeprefix("tables/") for name in names if name.startswith("tables/"))


def metrics_at(table: pl.DataFrame, step: int) -> pl.DataFrame:
    """The metrics at a step: `metric`, `value`, the value `before`, and the `change` of numbers since then."""
    now = table.filter(pl.col("step") == step).to_dicts() if table.width else []
    then = table.filter(pl.col("step") == step - 1).to_dicts() if table.width else []
    rows = []
    for name, value in now[0].items() if now else ():
        before = then[0].get(name) if then else None
        numbers = isinstance(value, float | int) and isinstance(before, float | int)
        if name != "step":
            rows.append((name, value_in_words(value), value_in_words(before), value - before if numbers else None))
    schema = {"metric": pl.String, "value": pl.String, "before": pl.String, "change": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def value_in_words(value: Any) -> str:
    """A value as a person reads it.

    Example:
        >>> value_in_words(0.123456), value_in_words(1500.0), value_in_words(None)
        ('0.1235', '1,500', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:,.4g}"
    return str(value)
