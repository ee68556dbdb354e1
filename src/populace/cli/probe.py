"""probe: one decision over situations, personas and models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import polars as pl

from populace.base.errors import UsageError
from populace.broker import Usage
from populace.cli.options import (
    ScenarioCommand,
    call_options,
    call_settings,
    command,
    common_options,
    parameters,
)
from populace.cli.output import emit, out, table, warn
from populace.cli.progress import fetch_missing_model
from populace.engine.discovery import find_scenario
from populace.engine.session import Session
from populace.engine.workspace import Workspace
from populace.questions import LOW_MASS
from populace.runs import charts
from populace.tools.probe import Probe, probe
from populace.tools.probe_chart import draw_probe


@command("probe", cls=ScenarioCommand)
@click.argument("scenario")
@click.option(
    "--vary",
    multiple=True,
    metavar="NAME=VALUES",
    help="What to vary: a parameter, column or field, as a,b,c or FROM:TO or FROM:TO:STEP; may be given several times.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="A model; may be given several times.  [default: embedded]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of the population.")
@click.option("--people", type=click.IntRange(min=1), help="Ask only this many of the people.")
@click.option("--chart", metavar="FILE", help="Draw the response curves into this PNG or SVG file.")
@click.option("--out", "target", metavar="FILE", help="Write every point to this CSV or Parquet file.")
@call_options
@common_options
def probe_command(
    scenario: str,
    vary: tuple[str, ...],
    models: tuple[str, ...],
    as_json: bool,
    chart: str | None,
    target: str | None,
    **options: Any,
) -> None:
    scenario_class = find_scenario(scenario)
    fixed = parameters(options, scenario_class)
    models = models or ("embedded",)
    for model in models:
        fetch_missing_model(model)
    session = Session(Workspace(options["workspace"]).store(), calls=call_settings(options))
    result = probe(
        scenario_class,
        parameters=fixed,
        vary=_variations(vary),
        models=models,
        seed=options["seed"],
        people=options["people"],
        session=session,
    )
    if chart:
        draw_probe(result, Path(chart))
    if target:
        result.table.write_parquet(target) if target.endswith(".parquet") else result.table.write_csv(target)
    _show_probe(result, session.usage, as_json, chart)


def _show_probe(result: Probe, usage: Usage, as_json: bool, chart: str | None) -> None:
    curve = result.curve()
    low = result.table.filter(pl.col("mass") < LOW_MASS).height
    warning = f"at {low} of {result.table.height} prompts less than half of the probability fell on any option."
    if as_json:
        emit(
            {"question": result.question, "curve": curve, "points": result.table, "usage": usage.to_json()},
            [warning] if low else [],
        )
        return
    out.print(
        f"[bold]{result.question}[/bold]  {result.table.height} prompts, {usage.calls} asked, {usage.reused} reused"
    )
    table(curve, limit=80)
    if low:
        warn(warning)
    if len(result.varied) >= 1:
        lines = [*result.varied[1:], "model"]
        for key, part in curve.group_by(lines, maintain_order=True):
            label = ", ".join(map(str, key))
            out.print(f"  P({result.options[0]}) {label:<28} {charts.sparkline(part[result.options[0]])}")
    if chart:
        out.print(f"  [dim]chart[/dim]  {chart}")


def _variations(options: tuple[str, ...]) -> dict[str, list[Any]]:
    variations: dict[str, list[Any]] = {}
    for each in options:
        name, sign, values = each.partition("=")
        if not sign or not values:
            raise UsageError(f"--vary takes NAME=VALUES, not {each!r}.", "Such as --vary initial_share=0:1:0.1")
        variations[name.replace("-", "_")] = _values(values)
    return variations


def _values(text: str) -> list[Any]:
    """Values from a,b,c or FROM:TO or FROM:TO:STEP, both ends included."""
    parts = text.split(":")
    if len(parts) in (2, 3):
        try:
            low, high, *rest = (float(part) for part in parts)
            step = rest[0] if rest else 1.0
        except ValueError:
            return [text]
        if step <= 0 or high < low:
            raise UsageError(f"the range {text} does not go upwards.")
        count = round((high - low) / step) + 1
        numbers = [round(low + step * i, 12) for i in range(count) if low + step * i <= high + step * 1e-9]
        whole = all(number == int(number) for number in (low, step))
        return [int(number) for number in numbers] if whole else numbers
    return [_value(part) for part in text.split(",")]


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)
