"""estimate: what a run will take."""

from __future__ import annotations

from typing import Any

import click

from populace.base.formatting import duration
from populace.broker import price_of
from populace.cli.options import (
    ScenarioCommand,
    command,
    common_options,
    model_option,
    parameters,
)
from populace.cli.output import emit, out
from populace.engine.discovery import find_scenario
from populace.engine.workspace import Workspace
from populace.tools.estimate import Range, estimate


@command("estimate", cls=ScenarioCommand)
@click.argument("scenario")
@model_option()
@common_options
def estimate_command(scenario: str, model: str, workspace: str | None, as_json: bool, **options: Any) -> None:
    scenario_class = find_scenario(scenario)
    settings = scenario_class(**parameters(options, scenario_class))
    store = Workspace(workspace).store()
    try:
        result = estimate(settings, model=model, price=price_of(model), store=store)
    finally:
        store.close()
    if as_json:
        ranges = {name: getattr(result, name) for name in ("decisions", "calls", "tokens", "cost", "seconds")}
        emit({name: [each.low, each.high] if each else None for name, each in ranges.items()} | {"model": model})
        return
    out.print(
        f"[bold]{scenario_class.title()}[/bold] on {model}, estimated from {result.runs} trial runs on random answers"
    )
    rows = [
        ("decisions", _span(result.decisions)),
        ("calls", f"{_span(result.calls)}, less what is in the call store already"),
        ("tokens", _span(result.tokens)),
        (
            "cost",
            _span(result.cost, "{:.4f}") if result.cost else "unknown: `populace models` says where prices go",
        ),
        ("time", _time(result.seconds)),
    ]
    for name, value in rows:
        out.print(f"  [dim]{name:<10}[/dim] {value}")


def _span(values: Range, form: str = "{:,.0f}") -> str:
    low, high = form.format(values.low), form.format(values.high)
    return low if low == high else f"{low} to {high}"


def _time(seconds: Range | None) -> str:
    if seconds is None:
        return "unknown: no call of this model is in the call store yet"
    low, high = duration(seconds.low), duration(seconds.high)
    return low if low == high else f"{low} to {high}"
