"""What is said about a run when it is over, and when it is shown again."""

from __future__ import annotations

from typing import Any

import polars as pl

from populace.base.errors import PopulaceError
from populace.base.formatting import duration, percent
from populace.broker import price_of
from populace.cli.output import facts, out, table, warn
from populace.engine.discovery import find_scenario
from populace.engine.run_control import condition
from populace.engine.scenario import ReportTable
from populace.questions import STATUSES
from populace.runs import charts
from populace.runs.caveats import caveats
from populace.runs.reader import RunReader


def describe(run: RunReader) -> dict[str, Any]:
    """A run as plain data."""
    manifest, usage = run.manifest, run.usage()
    regime = manifest.regime
    return {
        "run": run.name,
        "folder": str(run.folder),
        "scenario": manifest.scenario,
        "state": condition(run.journal),
        "reason": manifest.status.reason,
        "steps": manifest.status.steps,
        "planned": manifest.status.planned,
        "parameters": {name: value for each in manifest.regimes for name, value in each.parameters.items()},
        "seed": regime.seed,
        "model": regime.model,
        "fingerprint": manifest.models.get(regime.model),
        "decider": regime.decider,
        "temperature": regime.temperature,
        "parent": manifest.parent.model_dump() if manifest.parent else None,
        "digest": run.digest,
        "statuses": dict(run.statuses),
        "invalid_share": run.invalid_share,
        "low_mass": run.count("low_mass"),
        "scored": run.count("scored"),
        "sampled": run.count("sampled"),
        "usage": usage.to_json(),
        "seconds": run.seconds,
        "metrics": run.metrics,
        "warnings": caveats(run),
    }


def show_run(run: RunReader) -> None:
    """A run as a person reads it."""
    manifest, usage, counts = run.manifest, run.usage(), run.statuses
    regime, status = manifest.regime, manifest.status
    out.print()
    out.print(
        f"[bold]{run.name}[/bold]  {condition(run.journal)}: {status.reason or f'{status.steps} steps so far'}",
        highlight=False,
    )
    total = sum(counts.values())
    said = ", ".join(f"{counts[each]:,} {each}" for each in STATUSES if counts[each]) or "none yet"
    spent = f"{usage.calls:,} asked, {usage.reused:,} reused ({percent(usage.reused_share)}), {usage.tokens:,} tokens"
    priced = price_of(regime.model)
    spent += "" if priced is None else f", cost {usage.cost:.4f}" if priced.prompt or priced.completion else ", no cost"
    rows = [
        ("scenario", f"{manifest.scenario}: {_parameters(run)}"),
        ("decided by", _decided_by(run)),
        ("seed", f"{regime.seed}, temperature {regime.temperature:g}"),
        ("answers", f"{total:,}: {said}"),
        ("calls", spent + (f", {usage.failures:,} failed" if usage.failures else "")),
        ("time", duration(run.seconds)),
    ]
    if manifest.parent:
        rows.insert(1, ("fork of", f"{manifest.parent.run} at step {manifest.parent.at}"))
    if manifest.interventions:
        rows.append(("interventions", "; ".join(f"{each['kind']} at {each['at']}" for each in manifest.interventions)))
    facts(rows)
    for text in caveats(run):
        warn(text)
    metrics = run.metrics
    if metrics.width > 1:
        out.print()
        table(metrics)
        out.print()
        for name in metrics.columns[1:]:
            if metrics[name].dtype.is_numeric() and metrics[name].null_count() < metrics.height:
                out.print(f"  {name.replace('_', ' '):<24} {charts.sparkline(_thinned(metrics[name]))}")
    for finding in findings(run):
        out.print()
        table(finding.table, finding.title)
        if finding.note:
            out.print(f"  {finding.note}")


def _thinned(values: pl.Series, room: int = 72) -> pl.Series:
    """At most so many values, evenly over all of them, the first and the last among them."""
    last = values.len() - 1
    return values if last < room else values.gather([round(place * last / (room - 1)) for place in range(room)])


def findings(run: RunReader) -> list[ReportTable]:
    """What the scenario itself has to say about the run; nothing where its file is gone."""
    try:
        return find_scenario(run.manifest.scenario).report(run)
    except PopulaceError:
        return []


def _parameters(run: RunReader) -> str:
    first, *later = run.manifest.regimes
    changed = {name: value for each in later for name, value in each.parameters.items()}
    try:
        fields = find_scenario(run.manifest.scenario).parameter_model().model_fields
        told = {name: v for name, v in first.parameters.items() if name not in fields or fields[name].default != v}
    except PopulaceError:
        told = first.parameters
    shown = ", ".join(f"{name}={_brief(value)}" for name, value in told.items()) or "default parameters"
    then = ", ".join(f"{name}={_brief(value)}" for name, value in changed.items())
    return shown + (f"; then {then}" if then else "")


def _brief(value: Any) -> str:
    """A parameter in a few words: of a whole document only its name, of a record what is set."""
    if not isinstance(value, dict):
        return str(value)
    return str(value.get("name") or {name: part for name, part in value.items() if part is not None})


def _decided_by(run: RunReader) -> str:
    regime = run.manifest.regime
    if regime.decider != "model":
        return f"the scenario's {regime.decider}" if regime.decider == "rule" else "a recording"
    fingerprint = run.manifest.models.get(regime.model, "")
    return (
        f"{regime.model}  ({fingerprint[:24]})" if fingerprint and not regime.model.startswith("http") else regime.model
    )
