"""experiment: arms, seeds, effects."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click
import polars as pl
from rich.progress import Progress

from populace.base.errors import InterruptedRunError, PopulaceError, UsageError
from populace.base.formatting import duration, percent, plural
from populace.broker import currency, money_text, price_of
from populace.cli.options import COUNT, command, command_line, current_workspace, option
from populace.cli.output import Part, as_json, bold, dim, err, facts, out, report_json, report_rows, table, warn
from populace.cli.progress import SECONDS_BETWEEN_LINES, fetch_missing_models, new_bar
from populace.engine.workspace import Workspace
from populace.experiments import Experiment, ExperimentObserver, ExperimentPlan, Results, export_results
from populace.experiments.arms import Arm
from populace.experiments.execution import default_keep, default_workers
from populace.experiments.folder import ExperimentFolder, experiment_names
from populace.experiments.plan import Keep
from populace.experiments.validation import ValidityCard, validity
from populace.experiments.validation.basis import validity_basis
from populace.experiments.validation.card import MARKS
from populace.models import MODEL_SUMMARY, model_traits
from populace.runs.caveats import basis_caveats
from populace.statistics import p_text
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
    out.print_line("  ", *_how_to_open(results))


def _how_to_open(results: Results) -> tuple[Part, Part]:
    """The command that opens the first run of an experiment, or how to keep runs."""
    first = next((row["run"] for row in results.rows if row.get("run")), None)
    if first is None:
        return dim("runs:"), "  no folders were kept; with --keep run each run can be opened by `populace show`"
    return dim("open a run:"), f"  {command_line('show', f'{results.name}/{first}')}"


def _exit_code(results: Results) -> int:
    """0 for a complete experiment, 5 for one that can be continued, 1 where every run failed."""
    if results.state != "complete":
        return 5
    return 1 if results.runs.height and results.failures.height == results.runs.height else 0


class ExperimentDisplay(ExperimentObserver):
    """Shows the progress of an experiment: a bar on a terminal, elsewhere a line now and then."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._done = self._failed = self._before = self._total = 0
        self._began = self._last_line = 0.0

    def on_start(self, experiment: ExperimentPlan, folder: Path, total: int, done: int) -> None:
        """Begin to show."""
        self._began = self._last_line = time.monotonic()
        self._done = self._before = done
        self._total = total
        if done:
            err.print_line(f"{done:,} of {plural(total, 'run')} done before")
        if err.is_terminal and done < total:
            self._bar = new_bar("runs", total=total, completed=done)
            self._bar.start()

    def on_cluster(self, nodes: int, workers: int, dashboard: str) -> None:
        """Say where the runs go."""
        where = f"dashboard {dashboard}" if dashboard else "no dashboard: it comes with pip install 'ray[default]'"
        err.print_line(f"on Ray: {plural(nodes, 'node')}, {plural(workers, 'worker')} · {where}")

    def on_progress(self, rows: Sequence[dict[str, Any]], total: int) -> None:
        """Show runs that ended."""
        self._done += len(rows)
        self._total = total
        self._failed += sum(row["status"] == "failed" for row in rows)
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done, total=total, state=self._state(now))
        elif now - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = now
            err.print_line(f"{self._done:,} of {plural(total, 'run')}  {self._state(now)}")

    def on_end(self) -> None:
        """Stop showing."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _state(self, now: float) -> str:
        new = self._done - self._before
        pace = new / max(now - self._began, 1e-6)
        parts = [f"{self._done:,} of {self._total:,}", f"{pace:,.1f}/s", f"{self._failed} failed"]
        if new:
            parts.append(f"{duration((self._total - self._done) / pace)} left")
        return " · ".join(parts)


def results_document(results: Results) -> dict[str, Any]:
    """An experiment as the data of a JSON document."""
    names = ("state", "reason", "failure_rate", "failures", "arms", "digest")
    return {name: getattr(results, name) for name in names} | {
        "experiment": results.name,
        "folder": str(results.folder.path),
        "question": results.experiment.question,
        "runs": results.runs.height,
        "outcomes": {each.name: _or_none(results.outcome, each.name) for each in results.experiment.outcomes},
        "effects": {each.name: _or_none(results.effects, each.name) for each in results.experiment.outcomes},
        "analyses": results.analyses(),
        "validity": validity(results).table(),
        "plans": [plan.model_dump(mode="json") for plan in results.folder.manifest.plans],
    }


def result_caveats(results: Results) -> list[str]:
    """What a reader of the results must know."""
    texts = []
    if results.failures.height:
        first = results.failures.row(0, named=True)
        texts.append(
            f"{results.failures.height} of {plural(results.runs.height, 'run')} failed "
            f"({percent(results.failure_rate)}); "
            f"the first, {first['arm']} with seed {first['seed']}: {first['failure']}"
        )
    basis = validity_basis(results)
    texts += [each.text for each in basis_caveats(basis) if each.severity == "defect" or each.id == "unfinished"]
    return texts


def show_results(results: Results, command: str) -> None:
    """Print effects, failures and what to do next."""
    out.print_line("\n", bold(results.name), f"  {results.state}: {results.reason}")
    if results.experiment.question:
        out.print_line(f"  {results.experiment.question}")
    for outcome in results.experiment.outcomes:
        out.print_line()
        _show_outcome(results, outcome.name)
    for analysis, found in zip(results.experiment.analyses, results.analyses().values(), strict=True):
        out.print_line()
        empty = [name for name in ("note", "p") if not found[name].count()]
        table(found.drop(empty), f"{analysis.name}, 95 % intervals")
    plan = results.analysis_plan
    if plan is not None:
        out.print_line("\n  ", dim("analysis plan"), f"  {plan.hash}, frozen {plan.when}")
    card = validity(results)
    for text in result_caveats(results):
        if text not in card.warnings:
            warn(text)
    rate = percent(results.failure_rate)
    out.print_line(
        "\n  ", dim("failed"), f"  {results.failures.height} of {plural(results.runs.height, 'run')} ({rate})"
    )
    out.print_line("  ", dim("folder"), f"  {results.folder.path}   ", dim("table"), f" {results.digest[:12]}")
    if results.state != "complete" or results.failures.height:
        out.print_line("  ", dim("continue:"), f"  {command}{(' --retry' if results.failures.height else '')}")
    print_validity(card)
    out.print_line("  ", *_how_to_open(results))
    out.print_line("  ", dim("report:"), f"  {command_line('report', results.name)}")
    out.print_line("  ", dim("in Python:"), f"  populace.experiments.Results.open({str(results.folder.path)!r}).runs")


def _show_outcome(results: Results, name: str) -> None:
    try:
        if results.runs[name].dtype == pl.String:
            table(results.probabilities(name).drop("seeds"), f"{name}: how often each outcome came about")
            return
        means = results.outcome(name)
        lost = bool(means["missing"].sum())
        shown = means.drop("seeds", "method", "warning", *([] if lost else _BOUNDS))
        table(shown, f"{name}, 95 % intervals{' of shares' if results.is_share(name) else ''}")
        warnings = means["warning"].to_list()
        if lost:
            out.print_line("  ", dim(_missing_text(results, name)))
        if not results.experiment.design.sampled:
            effects = results.effects(name)
            out.print_line()
            together = [] if effects.height > 1 else ["low_all", "high_all"]
            hidden = ["seeds", "mean", "baseline_mean", "standardised", "standardised_as", "method", "warning", "looks"]
            if results.analysis_plan is None:
                hidden.append("planned")
            columns = effects.drop(*hidden, *together, *([] if lost else _BOUNDS))
            texts = {column: [p_text(p) for p in effects[column]] for column in ("p", "p_adjusted")}
            table(
                columns.with_columns(**{name: pl.Series(text) for name, text in texts.items()}),
                f"Effects on {name}, 95 % intervals",
            )
            warnings += effects["warning"].to_list()
        for note in dict.fromkeys(note for text in warnings if text for note in text.split("; ")):
            out.print_line("  ", dim(f"note: {note}"))
    except PopulaceError as error:
        warn(f"{name}: {error.what}")


_BOUNDS = ("missing", "bound_low", "bound_high")


def _missing_text(results: Results, name: str) -> str:
    runs = results.runs.filter(pl.col(name).is_null())
    failed = runs.filter(pl.col("status") == "failed").height
    parts = [f"{plural(failed, 'failed run')}"] if failed else []
    if runs.height > failed:
        parts.append(f"{plural(runs.height - failed, 'complete run')} without a value")
    text = f"not counted: {' and '.join(parts)}; bounds say what they could have changed"
    if runs.height > failed and not results.experiment.outcome(name).time:
        text += f". If {name} is the time of an event that had not come, declare it as time({name})"
    return text


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


def print_validity(card: ValidityCard) -> None:
    """A card in a few lines: its verdict, what failed, and its warnings."""
    out.print_line("  ", dim("validity"), f"  {card.verdict}")
    for check in card.failed:
        out.print_line(f"    {MARKS[check.verdict]} {check.name}: {check.shown} ({check.threshold})")
    warn(*card.warnings)


def _or_none(table_of: Any, name: str) -> pl.DataFrame | None:
    """A table of an outcome, or None where the runs do not allow one."""
    try:
        result: pl.DataFrame = table_of(name)
    except PopulaceError:
        return None
    return result
