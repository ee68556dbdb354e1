"""experiment: arms, seeds, effects."""

from pathlib import Path
from typing import Any, get_args

import click
import polars as pl

from populace.base.errors import InterruptedRunError, PopulaceError, UsageError
from populace.base.formatting import percent, plural
from populace.broker import currency, money_text, price_of
from populace.cli.experiment_display import ExperimentDisplay
from populace.cli.experiment_results import how_to_open, result_caveats, results_document, show_results
from populace.cli.options import COUNT, command, command_line, current_workspace, option
from populace.cli.output import as_json, bold, dim, facts, out, report_json, report_rows, table
from populace.cli.progress import fetch_missing_models
from populace.engine.workspace import Workspace
from populace.experiments import Experiment, Results, export_results
from populace.experiments.arms import Arm
from populace.experiments.execution import default_keep, default_workers
from populace.experiments.folder import ExperimentFolder, experiment_names
from populace.experiments.plan import Keep
from populace.models import MODEL_SUMMARY, model_traits
from populace.tools.estimate import estimate

_FEW_ARMS = 12


@command("experiment", code="needed")
@click.argument("file", required=False, type=click.Path(dir_okay=False))
@click.option("--list", "listing", is_flag=True, help="List the experiments of the workspace.")
@click.option("--runs", "runs_of", metavar="NAME", help="List the runs of an experiment of the workspace.")
@click.option("--export", "exported", metavar="NAME", help="Write tables and scripts of an experiment for others.")
@option("--workers", type=COUNT, help="Processes.  [default: 2, and 1 for a model that this machine runs itself]")
@click.option(
    "--on",
    metavar="CLUSTER",
    help="Run on a Ray cluster: `ray` starts one on this machine; ray://HOST:PORT, or HOST:PORT from one of its nodes, "
    "reaches one that runs.  [default: processes of this machine]",
)
@option("--model", metavar="MODEL", help=f"{MODEL_SUMMARY}.  [default: the file's]")
@option("--replicates", type=COUNT, help="Another number of replicates than the file's.")
@option(
    "--keep",
    type=click.Choice(get_args(Keep)),
    help="What is kept of each run: its folder, its calls, or nothing besides its row.  "
    "[default: the file's `keep`; else calls, and nothing where models are scripted]",
)
@click.option("--retry", is_flag=True, help="Run failed runs again.")
@click.option("--check/--no-check", default=True, help="First check whether any arms ask exactly the same questions.")
@click.option("--freeze", is_flag=True, help="Record the analysis plan, its hash and the time, and run nothing.")
@click.option("--dry-run", is_flag=True, help="Show the design and what it will take, and run nothing.")
def experiment_command(
    file: str | None,
    listing: bool,
    workers: int | None,
    on: str | None,
    model: str | None,
    replicates: int | None,
    keep: Keep | None,
    retry: bool,
    check: bool,
    dry_run: bool,
    freeze: bool,
    runs_of: str | None,
    exported: str | None,
) -> int:
    place = current_workspace()
    if listing:
        empty = f"There are no experiments in {place.folder}. Begin with: populace experiment FILE.yaml"
        report_rows(experiment_names(place), lambda name: _row(Results.open(name, place.folder)), empty)
        return 0
    if runs_of is not None:
        _list_runs(Results.open(runs_of, place.folder))
        return 0
    if exported is not None:
        written = export_results(Results.open(exported, place.folder), f"{Path(exported).name}-export")
        report_json([str(path) for path in written])
        out.print_line("  ", dim("wrote"), f"  {', '.join(map(str, written))}")
        return 0
    if file is None:
        raise UsageError("no experiment is named.", "Write `populace experiment FILE.yaml`, --list or --runs NAME.")
    experiment = Experiment.read(file, workspace=place.folder)
    if model is not None and "model" in experiment.factors:
        raise UsageError("the model is a factor of this experiment.", "Change its levels in the file.")
    options = {"model": model, "replicates": replicates, "keep": keep}
    changes = {name: value for name, value in options.items() if value is not None}
    if changes:
        experiment = Experiment(**(experiment.data() | changes))
    arms = experiment.arms()
    design = _design(experiment, arms, place, workers, on)
    if not as_json():
        _show_design(experiment, arms, design)
    if dry_run:
        report_json(design)
        return 0
    if freeze:
        frozen = experiment.freeze(workspace=place.folder)
        report_json({"hash": frozen.hash, "frozen": frozen.frozen, "runs": frozen.runs})
        out.print_line("  ", dim("plan"), f"  {frozen.hash}, frozen {frozen.when}")
        return 0
    fetch_missing_models(*(arm.model for arm in arms if arm.decider == "model"))
    again = command_line("experiment", file, *(["--model", model] if model else []), *(["--on", on] if on else []))
    try:
        results = experiment.run(
            workspace=place.folder, workers=workers, retry=retry, check=check, observer=ExperimentDisplay(), on=on
        )
    except InterruptedRunError as stop:
        stop.hint = f"Runs that ended are kept. Continue with: {again}"
        raise
    code = _exit_code(results)
    if as_json():
        report_json(results_document(results) | {"design": design}, result_caveats(results), code=code)
    show_results(results, again)
    return code


def _list_runs(results: Results) -> None:
    """Report every run with its outcomes and how to open it."""
    outcomes = [outcome.name for outcome in results.experiment.outcomes]
    runs = results.runs.select("arm", "replicate", "seed", "status", *outcomes, "run")
    runs = runs.with_columns(run=pl.when(pl.col("run") != "").then(pl.concat_str(pl.lit(f"{results.name}/"), "run")))
    report_json(runs)
    table(runs, results.name, limit=200)
    out.print_line("  ", *how_to_open(results))


def _exit_code(results: Results) -> int:
    """0 for a complete experiment, 5 for one that can be continued, 1 where every run failed."""
    if results.state != "complete":
        return 5
    return 1 if results.runs.height and results.failures.height == results.runs.height else 0


def _design(
    experiment: Experiment, arms: list[Arm], place: Workspace, workers: int | None, on: str | None
) -> dict[str, Any]:
    known = ExperimentFolder.find_existing(experiment, place)
    done = len(known.rows()) if known else 0
    spending: dict[str, Any] = {"calls": None, "cost": None}
    spends = any(arm.decider == "model" and not model_traits(arm.model).scripted for arm in arms)
    if spends and not done:
        spending = _estimate(experiment, arms)
    return {
        "name": experiment.label,
        "scenario": experiment.scenario,
        "design": experiment.design.kind,
        "arms": len(arms),
        "replicates": experiment.replicates,
        "runs": len(arms) * experiment.replicates,
        "done": done,
        "keep": default_keep(experiment, arms),
        "workers": workers or (None if on else default_workers(experiment, arms)),
        **({"on": on} if on else {}),
        **spending,
    }


def _estimate(experiment: Experiment, arms: list[Arm]) -> dict[str, Any]:
    """Calls and cost, estimated from a trial run of the first arm of each model on random answers.

    Runs share replies, so the fewest calls are those of one run, and the most are those of all runs.
    """
    unknown = {"calls": None, "cost": None, "currency": currency()}
    calls, cost = [0.0, 0.0], [0.0, 0.0]
    priced = True
    paying = [arm for arm in arms if arm.decider == "model"]
    for model in dict.fromkeys(arm.model for arm in paying):
        mine = [arm for arm in paying if arm.model == model]
        runs = len(mine) * experiment.replicates
        try:
            one_run = estimate(mine[0].build(), model=model, price=price_of(model), seeds=1)
        except PopulaceError:
            return unknown
        calls = [calls[0] + one_run.calls.low, calls[1] + one_run.calls.high * runs]
        if one_run.cost is None:
            priced = False
        else:
            cost = [cost[0] + one_run.cost.low, cost[1] + one_run.cost.high * runs]
    return unknown | {"calls": calls, "cost": cost if priced else None}


def _show_design(experiment: Experiment, arms: list[Arm], design: dict[str, Any]) -> None:
    out.print_line(bold(design["name"]), f"  {experiment.question}")
    size = f"{plural(design['arms'], 'arm')} × {plural(design['replicates'], 'replicate')}"
    how = f"{size} = {plural(design['runs'], 'run')} ({design['design']})"
    if experiment.fork_at:
        seeds = f"arms share their history up to step {experiment.fork_at - 1}"
    else:
        seeds = "the same in all arms" if experiment.pairing else "of each arm's own"
    rows = [("scenario", design["scenario"]), ("design", how), ("seeds", f"from {experiment.seed}, {seeds}")]
    rows.append(("outcomes", ", ".join(outcome.name for outcome in experiment.outcomes)))
    if design["calls"]:
        cost = ", cost unknown"
        if design["cost"]:
            low, high = design["cost"]
            cost = f", cost {low:,.4f} to {money_text(high)}" if high else ", no cost"
        rows.append(("estimate", f"{design['calls'][0]:,.0f} to {design['calls'][1]:,.0f} calls{cost}"))
    rows += [("arm", arm.name) for arm in arms[:_FEW_ARMS]]
    if len(arms) > _FEW_ARMS:
        rows.append(("", f"… and {len(arms) - _FEW_ARMS} more"))
    facts(rows)


def _row(results: Results) -> dict[str, Any]:
    manifest = results.folder.manifest
    planned = len(manifest.arms) * (manifest.replicates or 0)
    return {
        "experiment": results.name,
        "state": results.state,
        "runs": f"{results.runs.height:,} of {planned:,}",
        "arms": len(manifest.arms),
        "failed": percent(results.failure_rate),
        "question": results.experiment.question,
    }
