"""robust: which conclusions survive other ways of asking."""

from __future__ import annotations

from typing import Any

import click

from populace.base.errors import RunNotFoundError, UnknownNameError
from populace.cli import COMMANDS
from populace.cli.experiment import ExperimentDisplay
from populace.cli.options import json_option, workspace_option
from populace.cli.output import emit, facts, out, table
from populace.cli.progress import fetch_missing_model
from populace.engine.workspace import Workspace
from populace.experiments.results import Results
from populace.experiments.robustness import Robustness, check_robustness, repetition
from populace.experiments.wordings import STANDARD
from populace.runs.reader import RunReader


@click.command("robust", help=COMMANDS["robust"])
@click.argument("study", metavar="RUN|EXPERIMENT")
@click.option("--seeds", type=click.IntRange(min=2), default=12, show_default=True, help="For a run: how many seeds.")
@click.option(
    "--variation",
    "variations",
    multiple=True,
    metavar="NAME",
    help=f"Only this one; may be given several times.  [default: {', '.join(STANDARD)}]",
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes.")
@click.option("--max-calls", type=click.IntRange(min=1), help="Stop, resumable, after so many calls in a variation.")
@click.option("--dry-run", is_flag=True, help="Say how many runs it takes, and run nothing.")
@workspace_option
@json_option
def robust_command(
    study: str,
    seeds: int,
    variations: tuple[str, ...],
    workers: int | None,
    max_calls: int | None,
    dry_run: bool,
    workspace: str | None,
    as_json: bool,
) -> int:
    for name in variations:
        if name not in STANDARD:
            raise UnknownNameError("variation", name, STANDARD)
    chosen = {name: STANDARD[name] for name in variations or STANDARD}
    found = _study(study, workspace)
    again = repetition(found, seeds=seeds)
    arms = again.arms() if isinstance(found, Results) else again.arms()[:1]
    times = len(chosen) if isinstance(found, Results) else len(chosen) + 1
    runs = len(arms) * again.replicates * times
    if not as_json:
        how = f"{len(arms)} arms × {again.replicates} seeds × {times} ways of asking: up to {runs:,} runs"
        facts([("study", found.name), ("model", again.model), ("repeats", how)])
    if dry_run:
        if as_json:
            emit({"study": found.name, "variations": list(chosen), "seeds": again.replicates, "runs": runs})
        return 0
    for model in dict.fromkeys(arm.model for arm in arms if arm.decider == "model"):
        fetch_missing_model(model)
    made = check_robustness(
        found,
        variations=chosen,
        seeds=seeds,
        calls=max_calls,
        workspace=workspace,
        workers=workers,
        observer=ExperimentDisplay(),
    )
    if as_json:
        emit(_robustness_document(made))
    else:
        _show_robustness(made)
    return 0


def _study(name: str, workspace: str | None) -> Results | RunReader:
    """A run or an experiment of this name."""
    try:
        return RunReader(Workspace(workspace).open(name))
    except RunNotFoundError as no_run:
        try:
            return Results.open(name, workspace)
        except RunNotFoundError:
            raise RunNotFoundError(
                f"{no_run.what} Nor is there an experiment of that name.",
                "`populace list` shows the runs, `populace experiment --list` the experiments.",
            ) from no_run


def _robustness_document(found: Robustness) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "study": found.study,
        "kind": found.kind,
        "survived": found.survived,
        "conclusions": found.conclusions,
        "spread": found.spread,
        "variations": found.variations,
        "left_out": list(found.left_out),
        "seeds": found.seeds,
        "level": found.level,
    }


def _show_robustness(found: Robustness) -> None:
    """Which conclusions survive, and by how much the others moved."""
    out.print()
    table(found.table(), "Conclusions")
    if found.spread.height:
        out.print()
        table(found.spread, "Where metrics end: spread over seeds and over ways of asking")
    out.print(f"\n{found}")
