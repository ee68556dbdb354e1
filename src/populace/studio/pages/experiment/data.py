"""An experiment as its page shows it: state, arms, effects, distributions and validity."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from populace.base.errors import PopulaceError, RunNotFoundError, nearest_id
from populace.base.formatting import plural
from populace.engine.workspace import Workspace
from populace.experiments import Results
from populace.experiments.arms import arm_labels
from populace.experiments.execution import default_keep
from populace.experiments.folder import ExperimentFolder, experiment_names
from populace.experiments.reports.experiment_report import experiment_yaml, outcome_meaning
from populace.experiments.validation import ValidityCard, validity
from populace.runs.side_by_side import Overlay, joined_lines
from populace.statistics.intervals import mean_band

MAX_LINES = 8
"""How many arms are drawn over time."""


@dataclass(frozen=True)
class ExperimentOverview:
    """The state of an experiment.

    Attributes:
        state: `running`, `complete`, `stopped`, or `died` where its process ended without recording an end.
        reason: Why it ended.
        done: How many runs ended, of which `failed` failed; `total` are planned.
        replicates: How many runs each arm is to have.
        paired: Whether arms are compared replicate by replicate.
        stop: The rule that ends it, as text.
        keep: What is kept of its runs.
        outcomes: The meaning of each outcome, as text; `primary` is the first.
        created: When it began, by the wall clock.
        resume: The command that continues it.
        file: The content of the file that the command needs.
    """

    name: str
    question: str
    scenario: str
    state: str
    reason: str
    done: int
    total: int
    failed: int
    arms: int
    replicates: int
    design: str
    paired: bool
    stop: str
    keep: str
    outcomes: dict[str, str]
    primary: str
    created: str
    resume: str
    file: str


@dataclass(frozen=True)
class ResultTable:
    """A table, or why there is none."""

    table: pl.DataFrame | None
    note: str = ""


def open_results(workspace: Workspace, name: str) -> Results:
    """An experiment by its whole name; nothing outside the workspace can be named."""
    names = experiment_names(workspace)
    if name not in names:
        guess = nearest_id(name, names)
        raise RunNotFoundError(
            f"there is no experiment {name!r} in {workspace.experiments}.",
            (f"Did you mean {guess!r}? " if guess else "") + "`populace experiment --list` shows them.",
        )
    return Results(ExperimentFolder.open(workspace.experiments / name))


def experiment_overview(results: Results) -> ExperimentOverview:
    """The state of an experiment."""
    experiment, manifest = results.experiment, results.folder.manifest
    replicates = manifest.replicates or experiment.replicates
    file = f"{experiment.name}.yaml"
    retry = " --retry" if results.failures.height else ""
    workspace = results.folder.path.parent.parent
    return ExperimentOverview(
        name=results.name,
        question=experiment.question,
        scenario=experiment.scenario,
        state="died" if manifest.state == "running" and not results.folder.busy() else manifest.state,
        reason=manifest.reason,
        done=results.runs.height,
        total=len(manifest.arms) * replicates,
        failed=results.failures.height,
        arms=len(manifest.arms),
        replicates=replicates,
        design=experiment.design.kind,
        paired=experiment.paired,
        stop=_stop_text(results),
        keep=default_keep(experiment, results.folder.arms),
        outcomes={outcome.name: outcome_meaning(outcome, results) for outcome in experiment.outcomes},
        primary=experiment.primary.name,
        created=manifest.created,
        resume=f"populace experiment {file}{retry} --workspace {shlex.quote(str(workspace))}",
        file=experiment_yaml(experiment),
    )


def is_text(results: Results, outcome: str) -> bool:
    """Whether an outcome is a word rather than a number."""
    return results.runs[outcome].dtype == pl.String


def effects(results: Results, outcome: str, reference: str | None = None) -> ResultTable:
    """Every other arm against the reference, with 95 % intervals and adjusted p values."""
    if results.experiment.design.sampled:
        return ResultTable(None, f"A {results.experiment.design.kind} design has points, not arms to compare.")
    if is_text(results, outcome):
        return ResultTable(None, f"{outcome} is a word; see how often each occurred.")
    return _table_or_note(lambda: results.effects(outcome, reference))


def arm_names(results: Results) -> dict[str, str]:
    """A short label for each arm, by its name, for charts and choices."""
    return arm_labels([results.arm(number) for number in range(results.arms.height)])


def summary(results: Results, outcome: str) -> ResultTable:
    """The outcome in every arm: mean with its interval, or the share of each word."""
    if is_text(results, outcome):
        return _table_or_note(lambda: results.probabilities(outcome))
    return _table_or_note(lambda: results.outcome(outcome))


def distribution(results: Results, outcome: str) -> pl.DataFrame:
    """The outcome of every run that has one: arm, replicate, seed, value."""
    return results.runs.select("arm", "replicate", "seed", pl.col(outcome).alias("value")).drop_nulls("value")


def precision(results: Results, outcome: str, reference: str | None = None) -> ResultTable:
    """How many replicates each comparison needs to detect the observed effect with a probability of 0.8."""
    if results.experiment.design.sampled or is_text(results, outcome):
        return ResultTable(None, "There are no effects to plan for.")
    return _table_or_note(lambda: results.precision(outcome, baseline=reference).drop("seeds"))


def sensitivity(results: Results, outcome: str) -> ResultTable:
    """How much of the variance each factor of a Sobol design accounts for, with intervals."""
    if results.experiment.design.kind != "sobol":
        return ResultTable(None)
    return _table_or_note(
        lambda: (
            results.sensitivity(outcome)
            .table()
            .select(pl.concat_str("factor", pl.lit(", "), "index").alias("key"), "value", "low", "high", "n")
        )
    )


def over_time(results: Results) -> dict[str, Overlay]:
    """Metrics over the steps: the mean of every arm with the 95 % interval over its runs, where runs recorded them."""
    if results.experiment.design.sampled:
        return {}
    overlays: dict[str, Overlay] = {}
    arms = results.folder.arms
    cut = f" The first {MAX_LINES} of {len(arms)} arms are drawn." if len(arms) > MAX_LINES else ""
    for metric in dict.fromkeys(name for row in results.rows for name in row.get("paths", {})):
        tables, bands = [], {}
        for arm in arms[:MAX_LINES]:
            paths = [row["paths"][metric] for row in results.rows if row["arm"] == arm.number and "paths" in row]
            try:
                table = mean_band([path for path in paths if path])
            except PopulaceError as error:
                return {metric: Overlay(joined_lines([]), [], {}, str(error))}
            if table.height:
                low, high = bands[arm.name] = (f"{arm.name} low", f"{arm.name} high")
                columns = pl.col("mean", "low", "high").cast(pl.Float64)
                tables.append(table.select("step", columns).rename({"mean": arm.name, "low": low, "high": high}))
        note = f"Mean over runs; bands are 95 % t intervals over seeds.{cut}"
        overlays[metric] = Overlay(joined_lines(tables), list(bands), bands, note)
    return overlays


def validity_card(results: Results) -> ValidityCard | None:
    """The validity card, from the records of the runs; None before the first run ended."""
    return validity(results) if results.runs.height else None


def kept_runs(results: Results) -> pl.DataFrame:
    """The runs that were kept, with the command that shows each."""
    runs = results.runs.filter(pl.col("run") != "").select("arm", "replicate", "seed", "run")
    workspace = shlex.quote(str(results.folder.path))
    return runs.with_columns(command=pl.format("populace show {} --workspace {}", "run", pl.lit(workspace)))


def report_file(workspace: Workspace, name: str) -> Path:
    """Where `populace report` writes the page of an experiment."""
    return open_results(workspace, name).folder.path / f"{name}.html"


def _stop_text(results: Results) -> str:
    stop, parts = results.experiment.stop, []
    if stop.width is not None:
        parts.append(
            f"when every interval on the primary outcome is at most {stop.width:g} wide, "
            f"{plural(stop.batch, 'replicate')} at a time, {stop.most} at most"
        )
    if stop.max_calls is not None:
        parts.append(f"at most {stop.max_calls:,} calls")
    if stop.max_money is not None:
        parts.append(f"at most {stop.max_money:g} in money")
    return "; ".join(parts) or f"after {plural(results.experiment.replicates, 'replicate')}"


def _table_or_note(compute: Callable[[], pl.DataFrame]) -> ResultTable:
    try:
        return ResultTable(compute())
    except PopulaceError as error:
        return ResultTable(None, str(error))
