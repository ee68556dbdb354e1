"""robust: which conclusions survive other ways of asking."""

from __future__ import annotations

from typing import Any

import click

from populace.base.errors import RunNotFoundError, UnknownNameError
from populace.cli.experiment import ExperimentDisplay
from populace.cli.options import command, common_options
from populace.cli.output import emit, facts, out, plural, table
from populace.cli.progress import fetch_missing_model
from populace.engine.workspace import Workspace
from populace.experiments.results import Results
from populace.experiments.robustness import Robustness, check_robustness, repetition
from populace.experiments.wordings import STANDARD
from populace.runs.reader import RunReader


@command("robust")
@click.argument("study", metavar="RUN|EXPERIMENT")
@click.option("--seeds", type=click.IntRange(min=2), default=12, show_default=True, help="For a run: how many seeds.")
@click.option(
    "--variation",
    "variations",
    multiple=True,
    metavar="NAME",
    help=f"Only this variation; may be given several times.  [default: {', '.join(STANDARD)}]",
)
@click.option("--workers", type=click.IntRange(min=1), help="How many processes.")
@click.option(
    "--max-calls",
    type=click.IntRange(min=1),
    help="Stop after this many calls in a variation; it can be continued later.",
)
@click.option("--dry-run", is_flag=True, help="Say how many runs it takes, and run nothing.")
@common_options
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
    source = _study(study, workspace)
    repeat = repetition(source, seeds=seeds)
    arms = repeat.arms() if isinstance(source, Results) else repeat.arms()[:1]
    times = len(chosen) if isinstance(source, Results) else len(chosen) + 1
    runs = len(arms) * repeat.replicates * times
    if not as_json:
        size = f"{plural(len(arms), 'arm')} × {plural(repeat.replicates, 'seed')} × {times} ways of asking"
        how = f"{size}: up to {plural(runs, 'run')}"
        facts([("study", source.name), ("model", repeat.model), ("repeats", how)])
    if dry_run:
        if as_json:
            emit({"study": source.name, "variations": list(chosen), "seeds": repeat.replicates, "runs": runs})
        return 0
    for model in dict.fromkeys(arm.model for arm in arms if arm.decider == "model"):
        fetch_missing_model(model)
    result = check_robustness(
        source,
        variations=chosen,
        seeds=seeds,
        calls=max_calls,
        workspace=workspace,
        workers=workers,
        observer=ExperimentDisplay(),
    )
    if as_json:
        emit(_robustness_document(result))
    else:
        _show_robustness(result)
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


def _robustness_document(result: Robustness) -> dict[str, Any]:
    """The result as the data of a JSON document."""
    return {
        "study": result.study,
        "kind": result.kind,
        "survived": result.survival,
        "conclusions": result.conclusions,
        "spread": result.spread,
        "variations": result.variations,
        "left_out": list(result.left_out),
        "seeds": result.seeds,
        "level": result.level,
    }


def _show_robustness(result: Robustness) -> None:
    """Print which conclusions survive, and by how much the others moved."""
    out.print()
    table(result.table(), "Conclusions")
    if result.spread.height:
        out.print()
        table(result.spread, "Where metrics end: spread over seeds and over ways of asking")
    out.print(f"\n{result}")
