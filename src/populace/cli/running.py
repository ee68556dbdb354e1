"""Commands that run: run, resume, replay and fork, and those that pause or stop a run in progress."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import click

from populace.base.errors import CallStoreError, ModelError, StoppedError, StorageError, UsageError
from populace.base.formatting import plural
from populace.cli.desk import KeyboardDesk
from populace.cli.options import (
    ScenarioCommand,
    call_options,
    chart_option,
    command,
    command_line,
    current_workspace,
    desk_option,
    interventions_option,
    parameter_value,
    parameters,
    recorded_model,
    run_argument,
    settings_options,
)
from populace.cli.output import err, out, report_json, warn
from populace.cli.progress import RunDisplay, fetch_missing_models
from populace.cli.summary import show_finished_run
from populace.cli.trust import trusting
from populace.deciders import Desk
from populace.engine.discovery import find_scenario, source_code
from populace.engine.folder_desk import FolderDesk
from populace.engine.replay import scenario_class
from populace.engine.run import Run, simulate
from populace.engine.run_control import go_on, pause, stop
from populace.engine.scenario import Scenario
from populace.journal import RunSettings, check_end
from populace.minds import memories_on as hold_memories
from populace.runs.reader import RunReader
from populace.tools.describe import parameters_of

_memories_option = click.option(
    "--memories-on",
    metavar="CLUSTER",
    help="Hold memories and embeddings in processes on a Ray cluster: ray, ray://HOST:PORT or HOST:PORT; *N at the end "
    "divides the people among N processes.  [default: this process]",
)


@command("run", cls=ScenarioCommand, code="needed")
@click.argument("scenario")
@settings_options(RunSettings)
@click.option("--recording", metavar="RUN", help="The recorded run that answers for people whose decider is replay.")
@interventions_option
@call_options
@desk_option
@_memories_option
@chart_option
def run_command(
    scenario: str, chart: bool, recording: str | None, desk: str, memories_on: str | None, **options: Any
) -> None:
    scenario_class = find_scenario(scenario)
    settings = scenario_class(**parameters(options, scenario_class))
    fetch_missing_models(options["model"] if options["decider"] == "model" else "")
    workspace = current_workspace()
    source = Run(workspace.open(recording)) if recording else None
    with resumable_run(memories_on) as display:
        run = simulate(
            settings, recording=source, workspace=workspace, observer=display, desk=_desk(desk, display), **options
        )
    show_finished_run(run, chart)


@command("resume", workspace="existing", code="needed")
@run_argument(kind=Run)
@call_options
@desk_option
@_memories_option
@chart_option
def resume_command(run: Run, chart: bool, desk: str, memories_on: str | None, **options: Any) -> None:
    if run.manifest.status.state == "complete":
        check_end(run.journal)
        err.print_line(f"{run.name} is complete already: {run.manifest.status.reason}.")
        # Its scenario adds tables and pictures, and nothing has to be run: there is no need to ask for trust.
        trusting(show_finished_run, ask=False)(run, chart)
        return
    elif run.journal.busy() and run.journal.paused():
        go_on(run.journal)
        err.print_line(f"{run.name} goes on in its own process.")
        report_json({"run": run.name, "asked": "go on"})
        return
    else:
        fetch_missing_models(recorded_model(run))
        with resumable_run(memories_on) as display:
            run.resume(observer=display, desk=_desk(desk, display), **options)
    show_finished_run(run, chart)


@command("replay", workspace="existing", code="needed")
@run_argument(kind=Run)
@click.option(
    "--verify", is_flag=True, help="Compare every table of every step, and draw again from the distributions."
)
@click.option("--into", metavar="FOLDER", help="Write the replayed journal there.")
def replay_command(run: Run, verify: bool, into: str | None) -> None:
    steps = run.replay(verify=verify, into=into, observer=RunDisplay()).steps[-1]
    bound = check_end(run.journal)
    notes = [] if bound else ["the end of this journal is not bound: a missing last step would not be noticed."]
    document = {"run": run.name, "steps": steps, "verified": verify, "bound": bound, "digest": run.digest, "into": into}
    report_json(document, notes)
    how = "every table and every draw is equal" if verify else "every question and prompt is equal"
    out.print_line(f"{run.name}: {plural(steps, 'step')} replayed without a model; {how}.  Digest {run.digest[:12]}")
    warn(*notes)


@command("fork", workspace="existing", code="needed")
@run_argument(kind=Run)
@click.option("--at", type=click.IntRange(min=1), required=True, help="The first step that differs.")
@click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help="Change a parameter from that step on.")
@settings_options(RunSettings, inherit=True)
@interventions_option
@call_options
@desk_option
@_memories_option
@chart_option
def fork_command(
    run: Run, at: int, changes: tuple[str, ...], chart: bool, desk: str, memories_on: str | None, **options: Any
) -> None:
    regime = run.manifest.regime
    parameters = _changes(changes, scenario_class(run))
    decider = options["decider"] or regime.decider
    if decider == "model":
        fetch_missing_models(recorded_model(run, options["model"]))
    with resumable_run(memories_on) as display:
        forked = run.fork(at, parameters=parameters, observer=display, desk=_desk(desk, display), **options)
    show_finished_run(forked, chart)


def _desk(name: str, display: RunDisplay) -> Desk:
    return FolderDesk() if name == "studio" else KeyboardDesk(display)


@contextmanager
def resumable_run(memories: str | None = None) -> Iterator[RunDisplay]:
    """Show the progress of a run; where it stops after it began, the error says how to resume it.

    Args:
        memories: The cluster on which memories are held; this process if left out.
    """
    display = RunDisplay()
    try:
        with nullcontext() if memories is None else hold_memories(memories):
            yield display
    except (StoppedError, ModelError, UsageError, StorageError, CallStoreError) as error:
        journal = display.journal
        # The folder of a run in which nothing happened is not kept.
        if journal is not None and journal.is_run(journal.folder):
            advice = f"{error.hint}\n" if error.hint and not isinstance(error, StoppedError) else ""
            # Whoever mends code changes it, and changed code is not trusted yet.
            mended = isinstance(error, UsageError) and source_code(journal.manifest.scenario)
            again = command_line("resume", journal.name, *(["--trust"] if mended else []))
            go_on_text = "Then continue with" if advice else "Continue with"
            error.hint = f"{advice}Nothing that was paid for is lost. {go_on_text}: {again}"
        raise


def _changes(given: tuple[str, ...], scenario: type[Scenario]) -> dict[str, Any]:
    known = {each.name: each for each in parameters_of(scenario)}
    changes: dict[str, Any] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign:
            raise UsageError(f"--set takes NAME=VALUE, not {each!r}.")
        name = name.replace("-", "_")
        changes[name] = parameter_value(known[name], value) if name in known else value
    return changes


@command("pause", workspace="existing")
@run_argument()
def pause_command(run: RunReader) -> None:
    pause(run.journal)
    report_json({"run": run.name, "asked": "pause"})
    out.print_line(f"{run.name} waits after the step under way. Continue with: {command_line('resume', run.name)}")


@command("stop", workspace="existing")
@run_argument()
def stop_command(run: RunReader) -> None:
    stop(run.journal)
    report_json({"run": run.name, "asked": "stop"})
    out.print_line(f"{run.name} stops after the calls under way. Continue with: {command_line('resume', run.name)}")
