"""run, resume, replay, fork."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from populace.base.errors import StoppedError, UsageError
from populace.cli import COMMANDS
from populace.cli.options import (
    ScenarioCommand,
    budget,
    call_options,
    json_option,
    model_option,
    parameters,
    plain,
    workspace_option,
)
from populace.cli.output import emit, err, out
from populace.cli.progress import Display
from populace.cli.summary import run_document, show_run
from populace.deciders import DECIDERS
from populace.engine.discovery import find_scenario
from populace.engine.interventions import Intervention, read_interventions
from populace.engine.run import Run, simulate
from populace.engine.run_control import go_on
from populace.engine.scenario import Scenario
from populace.engine.workspace import Workspace
from populace.models import model_kind
from populace.runs import charts
from populace.runs.caveats import caveats
from populace.tools.describe import parameters_of

_INTERVENTIONS = "Interventions as JSON text or a JSON file; may be given several times."


@click.command("run", cls=ScenarioCommand, help=COMMANDS["run"][1])
@click.argument("scenario")
@model_option()
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything random in the run.")
@click.option(
    "--temperature",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Applied to the distributions after the fact.",
)
@click.option(
    "--decider",
    type=click.Choice(DECIDERS),
    default="model",
    show_default=True,
    help="Who decides for people whom no column gives another.",
)
@click.option("--recording", metavar="RUN", help="The run that people answer from whose decider is replay.")
@click.option("--intervention", "interventions", multiple=True, metavar="JSON|FILE", help=_INTERVENTIONS)
@call_options
@click.option("--chart/--no-chart", default=True, help="Draw a PNG of the metrics, where matplotlib is installed.")
@workspace_option
@json_option
def run_command(scenario: str, as_json: bool, chart: bool, recording: str | None, **options: Any) -> None:
    found = find_scenario(scenario)
    workspace = Workspace(options["workspace"])
    made = found(**parameters(options, found))
    options["interventions"] = _interventions(options["interventions"])
    limits = budget(options)
    fetch_if_needed(options["model"] if options["decider"] == "model" else "")
    source = Run(workspace.open(recording)) if recording else None
    name: list[str] = []
    try:
        run = simulate(made, budget=limits, recording=source, observer=_Named(name), **options)
    except StoppedError as stop:
        raise _resumable(stop, name) from stop
    _finished(run, as_json, chart)


@click.command("resume", help=COMMANDS["resume"][1])
@click.argument("run")
@call_options
@click.option("--chart/--no-chart", default=True, help="Draw a PNG of the metrics, where matplotlib is installed.")
@workspace_option
@json_option
def resume_command(run: str, workspace: str | None, as_json: bool, chart: bool, **options: Any) -> None:
    found = Run(Workspace(workspace).open(run))
    if found.manifest.status.state == "complete":
        err.print(f"{found.name} is complete already: {found.manifest.status.reason}.")
    elif found.journal.busy() and found.journal.paused():
        go_on(found.journal)
        err.print(f"{found.name} goes on in its own process.")
        if as_json:
            emit({"run": found.name, "asked": "go on"})
        return
    else:
        regime = found.manifest.regime
        fetch_if_needed(regime.model if regime.decider == "model" else "")
        try:
            found.resume(budget=budget(options), observer=Display(), **options)
        except StoppedError as stop:
            raise _resumable(stop, [found.name]) from stop
    _finished(found, as_json, chart)


@click.command("replay", help=COMMANDS["replay"][1])
@click.argument("run")
@click.option(
    "--verify", is_flag=True, help="Compare every table of every step, and draw again from the distributions."
)
@click.option("--into", metavar="FOLDER", help="Write the replayed journal there.")
@workspace_option
@json_option
def replay_command(run: str, verify: bool, into: str | None, workspace: str | None, as_json: bool) -> None:
    found = Run(Workspace(workspace).open(run))
    replayed = found.replay(verify=verify, into=into, observer=Display())
    steps = replayed.steps[-1]
    data = {"run": found.name, "steps": steps, "verified": verify, "digest": found.digest, "into": into}
    if as_json:
        emit(data)
        return
    how = "every table and every draw is equal" if verify else "every question and prompt is equal"
    out.print(f"{found.name}: {steps} steps replayed without a model; {how}.  Journal {found.digest[:12]}")


@click.command("fork", help=COMMANDS["fork"][1])
@click.argument("run")
@click.option("--at", type=click.IntRange(min=1), required=True, help="The first step that differs.")
@click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help="Change a parameter from that step on.")
@click.option("--seed", type=int, help="Another seed from that step on.")
@model_option(None)
@click.option("--temperature", type=click.FloatRange(min=0), help="Another temperature from that step on.")
@click.option("--decider", type=click.Choice(DECIDERS), help="Another decider from that step on.")
@click.option("--intervention", "interventions", multiple=True, metavar="JSON|FILE", help=_INTERVENTIONS)
@call_options
@click.option("--chart/--no-chart", default=True, help="Draw a PNG of the metrics, where matplotlib is installed.")
@workspace_option
@json_option
def fork_command(run: str, at: int, changes: tuple[str, ...], as_json: bool, chart: bool, **options: Any) -> None:
    found = Run(Workspace(options.pop("workspace")).open(run))
    options["interventions"] = _interventions(options["interventions"])
    limits = budget(options)
    regime = found.manifest.regime
    decider = options["decider"] or regime.decider
    scenario = find_scenario(found.manifest.scenario)
    fetch_if_needed((options["model"] or regime.model) if decider == "model" else "")
    name: list[str] = []
    try:
        forked = found.fork(at, parameters=_changes(changes, scenario), budget=limits, observer=_Named(name), **options)
    except StoppedError as stop:
        raise _resumable(stop, name) from stop
    _finished(forked, as_json, chart)


class _Named(Display):
    """A display that also notes the name of the run, so that a stop can say how to go on."""

    def __init__(self, name: list[str]) -> None:
        super().__init__()
        self._name = name

    def began(self, simulation: Any) -> None:
        self._name.append(simulation.record.name)
        super().began(simulation)


def _finished(run: Run, as_json: bool, chart: bool) -> None:
    """Report a run that came to its end."""
    picture = _chart(run) if chart else None
    more = find_scenario(run.manifest.scenario).pictures(run, run.folder) if chart and charts.available() else []
    if as_json:
        shown = {"chart": str(picture) if picture else None, "pictures": [str(path) for path in more]}
        emit(run_document(run) | shown, caveats(run))
        return
    show_run(run)
    out.print()
    out.print(f"  [dim]run[/dim]    {run.folder}   [dim]journal[/dim] {run.digest[:12]}")
    if picture:
        out.print(f"  [dim]chart[/dim]  {picture}")
    for path in more:
        out.print(f"  [dim]{path.stem}[/dim]  {path}")
    people = run.people()
    who = people["name"][0] if "name" in people else people.ids[0]
    out.print(f"  [dim]open a decision:[/dim]  populace show {run.name} --step 1 --person {shlex.quote(str(who))}")


def _chart(run: Run) -> Path | None:
    if not charts.available():
        return None
    try:
        wanted = find_scenario(run.manifest.scenario).chart
        return charts.draw_run(run, run.folder / "chart.png", wanted)
    except UsageError:
        return None  # A scenario without numeric metrics has no picture.


def _resumable(stop: StoppedError, name: list[str]) -> StoppedError:
    """The same stop, with the command that goes on from here."""
    if name:
        stop.hint = f"Nothing that was paid for is lost. Go on with: populace resume {name[-1]}"
    return stop


def _interventions(given: tuple[str, ...]) -> list[Intervention]:
    return [each for source in given for each in read_interventions(source)]


def _changes(given: tuple[str, ...], scenario: type[Scenario]) -> dict[str, Any]:
    known = {each.name: each for each in parameters_of(scenario)}
    changes: dict[str, Any] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign:
            raise UsageError(f"--set takes NAME=VALUE, not {each!r}.")
        name = name.replace("-", "_")
        changes[name] = plain(known[name], value) if name in known else value
    return changes


def fetch_if_needed(model: str) -> None:
    """Fetch the embedded model with a progress bar, where it will be needed and is not there."""
    artifact = model_kind(model).artifact if model else None
    if artifact is None or artifact.present():
        return
    from populace.cli.setting_up import fetch

    fetch(artifact)
