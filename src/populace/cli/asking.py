"""interview, probe, estimate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import polars as pl

from populace.base.errors import UsageError
from populace.base.formatting import duration
from populace.broker import Usage, price_of
from populace.cli import COMMANDS
from populace.cli.options import (
    ScenarioCommand,
    call_options,
    call_settings,
    json_option,
    model_option,
    parameters,
    workspace_option,
)
from populace.cli.output import emit, out, table, warn
from populace.cli.running import fetch_if_needed
from populace.engine.discovery import find_scenario
from populace.engine.run import Run
from populace.engine.session import Session
from populace.engine.workspace import Workspace
from populace.questions import LOW_MASS, Choice, Number, Question, Rating, Text
from populace.runs import charts
from populace.tools.estimate import Range, estimate
from populace.tools.probe import Probe, probe
from populace.tools.probe_chart import draw_probe


@click.command("interview", help=COMMANDS["interview"][1])
@click.argument("run")
@click.argument("question")
@click.option("--person", "people", multiple=True, metavar="NAME|ID", help="Whom to ask; everybody by default.")
@click.option("--step", "at", type=click.IntRange(min=0), help="As of which step; the last by default.")
@click.option("--options", metavar="A,B,…", help="Ask for one of these.")
@click.option("--scale", metavar="LOW-HIGH", help="Ask for a point on a scale, such as 1-7.")
@click.option("--number", is_flag=True, help="Ask for a number.")
@click.option("--given", default="", help="What they are told before the question.")
@model_option(None)
@workspace_option
@json_option
def interview_command(
    run: str,
    question: str,
    people: tuple[str, ...],
    at: int | None,
    options: str | None,
    scale: str | None,
    number: bool,
    given: str,
    model: str | None,
    workspace: str | None,
    as_json: bool,
) -> None:
    found = Run(Workspace(workspace).open(run))
    asked = _question(question, options, scale, number)
    fetch_if_needed(model or found.manifest.regime.model)
    answers = found.at(at).interview(asked, people=list(people) or None, given=given, model=model)
    names = found.people(at).frame
    shown = answers.frame.join(names.select(pl.col("^id|name$")), on="id", how="left", maintain_order="left")
    if as_json:
        emit({"run": found.name, "question": asked.describe(), "answers": shown})
        return
    out.print(f"[bold]{found.name}[/bold], on the side, as of step {found.steps[-1] if at is None else at}: {question}")
    table(shown.select(pl.col("^name$"), "id", "value", "status"), limit=60)


def _question(text: str, options: str | None, scale: str | None, number: bool) -> Question:
    if sum(bool(kind) for kind in (options, scale, number)) > 1:
        raise UsageError("--options, --scale and --number exclude one another.")
    if options:
        return Choice(text, options=tuple(option.strip() for option in options.split(",")))
    if scale:
        low, sign, high = scale.partition("-")
        if not sign or not low.strip().isdecimal() or not high.strip().isdecimal():
            raise UsageError(f"--scale takes LOW-HIGH, such as 1-7, not {scale!r}.")
        return Rating(text, low=int(low), high=int(high))
    return Number(text) if number else Text(text)


@click.command("probe", cls=ScenarioCommand, help=COMMANDS["probe"][1])
@click.argument("scenario")
@click.option(
    "--vary",
    multiple=True,
    metavar="NAME=VALUES",
    help="What to vary: a parameter, column or field, as a,b,c or FROM:TO or FROM:TO:STEP; may be given several times.",
)
@click.option("--model", "models", multiple=True, metavar="MODEL", help="One or several.  [default: embedded]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the population.")
@click.option("--people", type=click.IntRange(min=1), help="Ask only so many of the people.")
@click.option("--chart", metavar="FILE", help="Draw the response curves into this PNG or SVG file.")
@click.option("--out", "target", metavar="FILE", help="Write every point to this CSV or Parquet file.")
@call_options
@workspace_option
@json_option
def probe_command(
    scenario: str,
    vary: tuple[str, ...],
    models: tuple[str, ...],
    as_json: bool,
    chart: str | None,
    target: str | None,
    **options: Any,
) -> None:
    found = find_scenario(scenario)
    given = parameters(options, found)
    models = models or ("embedded",)
    for model in models:
        fetch_if_needed(model)
    session = Session(Workspace(options["workspace"]).store(), calls=call_settings(options))
    made = probe(
        found,
        parameters=given,
        vary=_varied(vary),
        models=models,
        seed=options["seed"],
        people=options["people"],
        session=session,
    )
    if chart:
        draw_probe(made, Path(chart))
    if target:
        made.table.write_parquet(target) if target.endswith(".parquet") else made.table.write_csv(target)
    _show_probe(made, session.usage, as_json, chart)


def _show_probe(made: Probe, usage: Usage, as_json: bool, chart: str | None) -> None:
    curve = made.curve()
    low = made.table.filter(pl.col("mass") < LOW_MASS).height
    warning = f"at {low} of {made.table.height} prompts less than half of the probability fell on any option."
    if as_json:
        emit(
            {"question": made.question, "curve": curve, "points": made.table, "usage": usage.to_json()},
            [warning] if low else [],
        )
        return
    out.print(f"[bold]{made.question}[/bold]  {made.table.height} prompts, {usage.calls} asked, {usage.reused} reused")
    table(curve, limit=80)
    if low:
        warn(warning)
    if len(made.varied) >= 1:
        lines = [*made.varied[1:], "model"]
        for key, part in curve.group_by(lines, maintain_order=True):
            label = ", ".join(map(str, key))
            out.print(f"  P({made.options[0]}) {label:<28} {charts.sparkline(part[made.options[0]])}")
    if chart:
        out.print(f"  [dim]chart[/dim]  {chart}")


def _varied(given: tuple[str, ...]) -> dict[str, list[Any]]:
    varied: dict[str, list[Any]] = {}
    for each in given:
        name, sign, values = each.partition("=")
        if not sign or not values:
            raise UsageError(f"--vary takes NAME=VALUES, not {each!r}.", "Such as --vary initial_share=0:1:0.1")
        varied[name.replace("-", "_")] = _values(values)
    return varied


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


@click.command("estimate", cls=ScenarioCommand, help=COMMANDS["estimate"][1])
@click.argument("scenario")
@model_option()
@workspace_option
@json_option
def estimate_command(scenario: str, model: str, workspace: str | None, as_json: bool, **options: Any) -> None:
    found = find_scenario(scenario)
    made = found(**parameters(options, found))
    store = Workspace(workspace).store()
    try:
        result = estimate(made, model=model, price=price_of(model), store=store)
    finally:
        store.close()
    if as_json:
        ranges = {name: getattr(result, name) for name in ("decisions", "calls", "tokens", "cost", "seconds")}
        emit({name: [each.low, each.high] if each else None for name, each in ranges.items()} | {"model": model})
        return
    out.print(f"[bold]{found.title()}[/bold] on {model}, judged from {result.runs} trial runs on random answers")
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


def _span(found: Range, form: str = "{:,.0f}") -> str:
    low, high = form.format(found.low), form.format(found.high)
    return low if low == high else f"{low} to {high}"


def _time(found: Range | None) -> str:
    if found is None:
        return "unknown: no call of this model is in the call store yet"
    low, high = duration(found.low), duration(found.high)
    return low if low == high else f"{low} to {high}"
