"""Commands about scenarios before they run: list, describe, begin, estimate and probe."""

import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import polars as pl

from populace.base.errors import PopulaceError, StorageError, UsageError
from populace.base.foreign import for_shell
from populace.base.foreign_columns import csv_table
from populace.base.formatting import duration, plural
from populace.broker import Usage, currency, money_text, price_of
from populace.cli.interruption import KEPT, repeatable_command
from populace.cli.options import (
    ScenarioCommand,
    call_options,
    call_settings,
    command,
    command_line,
    current_workspace,
    model_option,
    option,
    parameters,
)
from populace.cli.output import bold, dim, facts, out, report_json, row_table, table, warn, yellow
from populace.cli.progress import fetch_missing_models
from populace.engine.discovery import find_scenario, known_scenarios, scenario_files
from populace.engine.scenario import Scenario
from populace.engine.session import Session
from populace.journal.segments import writing
from populace.questions import LOW_MASS
from populace.runs import charts
from populace.tools.describe import Parameter, describe_scenario, parameters_of
from populace.tools.estimate import Range, estimate
from populace.tools.probe import Probe, draw_probe, probe
from populace.tools.scaffold import scenario_file, town_files


@command("scenarios")
@click.argument("scenario", required=False, metavar="[NAME|FILE.py]")
def scenarios_command(scenario: str | None) -> None:
    if scenario is not None:
        scenario_class = find_scenario(scenario)
        document = describe_scenario(scenario_class)
        report_json(document)
        _show_scenario(scenario, document, parameters_of(scenario_class))
        return
    rows, unusable = [], []
    for name in known_scenarios():
        # One package that does not load must not hide the others.
        try:
            rows.append((name, find_scenario(name).summary()))
        except PopulaceError as error:
            unusable.append(f"{name}: {error}")
    # Files are listed but not loaded: loading one runs it.
    files = [str(path) for path in scenario_files(current_workspace().folder)]
    report_json([{"name": n, "summary": text} for n, text in [*rows, *((file, "") for file in files)]], unusable)
    facts([*rows, *((file, "a file of the workspace") for file in files)], style="bold")
    for text in unusable:
        out.print_line("  ", yellow("not usable"), f"  {text}")
    out.print_line(
        "\n  ", dim("the parameters of one:"), "  populace scenarios NAME   ", dim("or of a file:"), " FILE.py"
    )


def _show_scenario(name: str, document: dict[str, Any], parameters: list[Parameter]) -> None:
    out.print_line(bold(document["title"]), f"  {document['summary']}")
    facts(
        [
            ("metrics", ", ".join(document["metrics"])),
            ("chart", ", ".join(document["chart"])),
            ("card", document["card"] or "none"),
        ]
    )
    rows = [(each.name, _form(each), _default(each), each.help) for each in parameters]
    out.print_line()
    row_table(["parameter", "form", "default", "meaning"], rows, limit=200)
    out.print_line("\n  ", dim("run it:"), f"  {command_line('run', name)}")


def _form(parameter: Parameter) -> str:
    if parameter.kind == "choice":
        return " | ".join(str(choice) for choice in parameter.choices)
    return " ".join([parameter.kind, ", ".join(parameter.bounds)]).strip()


def _default(parameter: Parameter) -> str:
    if parameter.required:
        return "required"
    default = parameter.default
    return default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)


@command("estimate", cls=ScenarioCommand)
@click.argument("scenario")
@model_option()
def estimate_command(scenario: str, model: str, **options: Any) -> None:
    scenario_class = find_scenario(scenario)
    report_estimate(scenario_class(**parameters(options, scenario_class)), model)


def report_estimate(scenario: Scenario, model: str) -> None:
    """Say what a run of a scenario would take on a model."""
    with closing(current_workspace().store()) as store:
        result = estimate(scenario, model=model, price=price_of(model), store=store)
    ranges = {name: getattr(result, name) for name in ("decisions", "calls", "tokens", "cost", "seconds")}
    document = {name: [each.low, each.high] if each else None for name, each in ranges.items()}
    report_json(document | {"model": model, "currency": currency()})
    title = type(scenario).title()
    trials = f"{plural(result.runs, 'trial run')} on random answers"
    if result.trial_steps is not None:
        trials = f"the first {result.trial_steps} of {result.steps} steps of {trials}; the rest is extrapolated"
    out.print_line(bold(title), f" on {model}, estimated from {trials}")
    no_time = "unknown: no call of this model is in the call store yet"
    rows = {
        "decisions": _span(result.decisions),
        "calls": f"{_span(result.calls)}, less what is in the call store already",
        "tokens": _span(result.tokens),
        "cost": _cost(result.cost),
        "time": _span(result.seconds, duration) if result.seconds else no_time,
    }
    for name, value in rows.items():
        out.print_line("  ", dim(f"{name:<10}"), f" {value}")


def _cost(cost: Range | None) -> str:
    if cost is None:
        return "unknown: `populace models` says where prices go"
    return f"{cost.low:,.4f} to {money_text(cost.high)}" if cost.high else "none"


def _span(values: Range, form: Callable[[float], str] = "{:,.0f}".format) -> str:
    low, high = form(values.low), form(values.high)
    return low if low == high else f"{low} to {high}"


@command("new", workspace=None)
@click.argument("name")
@click.option("--community", is_flag=True, help="Write the design of a community for `populace run forum` instead.")
@click.option("--town", is_flag=True, help="Write a map, its residents and news for `populace run party` instead.")
def new_command(name: str, community: bool, town: bool) -> None:
    if community and town:
        raise UsageError("--community and --town are two different things.", "Choose one of them.")
    if town:
        texts, what, steps = _new_town(name)
    elif community:
        texts, what, steps = _new_community(name)
    else:
        texts, what, steps = _new_scenario(name)
    for path in texts:
        if path.exists():
            raise UsageError(f"{path} exists already.", "Name another file.")
    for path, text in texts.items():
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            hint = f"Go to a folder that you may write to, or name one: populace new FOLDER/{path.name}"
            raise StorageError(f"{path} cannot be written: {error.strerror or error}.", hint) from error
    report_json({"files": [str(path) for path in texts]} if town else {"file": str(next(iter(texts)))})
    out.print_line(f"Wrote {', '.join(map(str, texts))}: {what}. Next:")
    width = max(map(len, steps))
    for line, why in steps.items():
        out.print_line(f"  {line:<{width}}  ", dim(why))


_NewFiles = tuple[dict[Path, str], str, dict[str, str]]
"""The texts of new files by path, what they are, and the commands to try next, each with what it does."""


def _new_town(name: str) -> _NewFiles:
    base = Path(name.removesuffix(".toml"))
    texts = {base.with_name(file): text for file, text in town_files(_valid_stem(base)).items()}
    options = zip(("--map", "--residents-file", "--news"), texts, strict=True)
    start = " ".join(["populace run party", *(f"{option} {for_shell(path)}" for option, path in options)])
    steps = {
        f"{start} --decider rule": "at once, by rule",
        f"{start} --model scripted:cast": "with answers of a script",
        start: "on the embedded model",
    }
    return texts, "a town of four people and its news, for you to change", steps


def _new_community(name: str) -> _NewFiles:
    from populace.scenarios.forum import shipped_designs

    path = Path(name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    steps = {
        f"populace run forum --design {for_shell(path)} --model scripted:cast": "at once, written by a script",
        f"populace run forum --design {for_shell(path)}": "on the embedded model",
    }
    text = shipped_designs()["shared-garden"].read_text(encoding="utf-8")
    return {path: text}, "the design of a community, people who share a garden, for you to change", steps


def _new_scenario(name: str) -> _NewFiles:
    path = Path(name if name.endswith(".py") else f"{name}.py")
    steps = {
        f"populace run {for_shell(path)} --model scripted:cast": "at once, with answers of a script",
        f"populace run {for_shell(path)}": "on the embedded model",
        f"populace doctor {for_shell(path)}": "check that it repeats",
    }
    return {path: scenario_file(_valid_stem(path.with_suffix("")))}, "a scenario that runs", steps


def _valid_stem(path: Path) -> str:
    """The name of a new file without its ending; UsageError where it is no plain name."""
    if path.name.replace("-", "_").isidentifier():
        return path.name
    valid = re.sub(r"\W+", "_", path.name).strip("_").lstrip("0123456789_") or "town"
    raise UsageError(
        f"{path.name!r} cannot be the name of a scenario or a town.",
        f"A name begins with a letter and holds letters, digits and underscores: populace new {valid}",
    )


@command("probe", cls=ScenarioCommand)
@click.argument("scenario")
@option(
    "--vary",
    multiple=True,
    metavar="NAME=VALUES",
    help="What to vary: a parameter, column or field, as a,b,c or FROM:TO or FROM:TO:STEP.",
)
@option("--model", "models", multiple=True, metavar="MODEL", help="A model.  [default: embedded]")
@option("--seed", type=int, default=0, help="The seed of the population.")
@click.option("--people", type=click.IntRange(min=1), help="Ask only this many of the people.")
@click.option("--chart", metavar="FILE", help="Draw the response curves into this PNG or SVG file.")
@click.option("--out", "target", metavar="FILE", help="Write every point to this CSV or Parquet file.")
@call_options
def probe_command(
    scenario: str, vary: tuple[str, ...], models: tuple[str, ...], chart: str | None, target: str | None, **options: Any
) -> None:
    scenario_class = find_scenario(scenario)
    variations = _variations(vary)
    fixed = parameters(options, scenario_class, variations)
    models = models or ("embedded",)
    fetch_missing_models(*models)
    session = Session(current_workspace().store(), calls=call_settings(options))
    with repeatable_command("the probe", KEPT):
        result = probe(scenario_class, parameters=fixed, vary=variations, models=models, session=session, **options)
    if chart:
        draw_probe(result, Path(chart))
    if target:
        with writing(Path(target)):
            if target.endswith(".parquet"):
                result.table.write_parquet(target)
            else:
                csv_table(result.table).write_csv(target)
    _show_probe(result, session.usage, chart)


def _show_probe(result: Probe, usage: Usage, chart: str | None) -> None:
    curve = result.curve()
    low = result.table.filter(pl.col("mass") < LOW_MASS).height
    warning = (
        f"at {low} of {plural(result.table.height, 'prompt')} less than half of the probability fell on any option."
    )
    report_json(
        {"question": result.question, "curve": curve, "points": result.table, "usage": usage.to_json()},
        [warning] if low else [],
    )
    counts = f"{plural(result.table.height, 'prompt')}, {usage.calls} asked, {usage.reused} reused"
    out.print_line(bold(result.question), f"  {counts}")
    table(curve, limit=80)
    if low:
        warn(warning)
    if len(result.varied) >= 1:
        lines = [*result.varied[1:], "model"]
        for key, part in curve.group_by(lines, maintain_order=True):
            label = ", ".join(map(str, key))
            out.print_line(f"  P({result.options[0]}) {label:<28} {charts.sparkline(part[result.options[0]])}")
    if chart:
        out.print_line("  ", dim("chart"), f"  {chart}")


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
