"""structure: what holds under several models and wordings."""

from __future__ import annotations

from typing import Any

import click
import yaml

from populace.base.errors import UsageError
from populace.cli.experiment import ExperimentDisplay
from populace.cli.options import command, common_options
from populace.cli.output import emit, out, table
from populace.cli.progress import fetch_missing_model
from populace.experiments.structure import StructureStudy, structure_or_data
from populace.experiments.structure_design import StructureDesign, StructureSettings, design_structure


@command("structure")
@click.argument("scenario")
@click.option(
    "--vary",
    multiple=True,
    required=True,
    metavar="NAME=A,B,…",
    help="A parameter of the structure and its levels; may be given several times.",
)
@click.option(
    "--outcome",
    "outcomes",
    multiple=True,
    required=True,
    help="What is measured in each run; may be given several times.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    default=("embedded",),
    show_default=True,
    help="A model; may be given several times.",
)
@click.option(
    "--wording",
    "wordings",
    multiple=True,
    default=("polite", "headed"),
    show_default=True,
    help="A paraphrase of the questions; may be given several times.",
)
@click.option(
    "--set",
    "fixed",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter that is the same in all runs; may be given several times.",
)
@click.option("--swaps/--no-swaps", default=True, help="Also exchange the names of options.")
@click.option("--orders/--no-orders", default=True, help="Also reverse the options.")
@click.option("--twin/--no-twin", default=True, help="Also run the rule twin.")
@click.option(
    "--replicates", type=click.IntRange(min=2), default=20, show_default=True, help="Runs of each arm for each model."
)
@click.option("--margin", type=float, help="The largest difference between models that does not matter.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="The seed from which the seeds of all runs are made."
)
@click.option("--name", default="structure", show_default=True, help="The name of the experiment.")
@click.option("--workers", type=click.IntRange(min=1), help="How many processes.")
@click.option("--max-calls", type=click.IntRange(min=1), help="Stop after this many calls; it can be continued later.")
@click.option("--dry-run", is_flag=True, help="Say how many runs and calls it takes, and run nothing.")
@common_options
def structure_command(
    scenario: str,
    vary: tuple[str, ...],
    outcomes: tuple[str, ...],
    models: tuple[str, ...],
    wordings: tuple[str, ...],
    fixed: tuple[str, ...],
    swaps: bool,
    orders: bool,
    twin: bool,
    replicates: int,
    margin: float | None,
    seed: int,
    name: str,
    workers: int | None,
    max_calls: int | None,
    dry_run: bool,
    workspace: str | None,
    as_json: bool,
) -> int:
    settings = StructureSettings(
        scenario,
        outcomes=list(outcomes),
        structure={key: _levels(value) for key, value in map(_pair, vary)},
        models=list(models),
        wordings=list(wordings),
        swaps=swaps,
        orders=orders,
        twin=twin,
        replicates=replicates,
        parameters={key: yaml.safe_load(value) for key, value in map(_pair, fixed)},
        seed=seed,
        name=name,
        calls=max_calls,
    )
    design = design_structure(settings)
    calls = design.calls()
    if not as_json:
        out.print(str(design))
        if calls is not None:
            out.print(f"Calls to models: {calls.low:,.0f} to {calls.high:,.0f}.")
    if dry_run:
        if as_json:
            emit(_design_document(design) | {"calls": [calls.low, calls.high] if calls else None})
        return 0
    for model in models:
        fetch_missing_model(model)
    study = structure_or_data(design, margin=margin, workspace=workspace, workers=workers, observer=ExperimentDisplay())
    if as_json:
        emit(_design_document(design) | _study_document(study), study.notes)
    else:
        _show_structure(study)
    return 0 if study.results.state == "complete" else 5


def _design_document(design: StructureDesign) -> dict[str, Any]:
    document = {
        "design": str(design),
        "runs": design.runs,
        "models": design.models,
        "structure": list(design.structure),
    }
    return document | {"asking": design.asking}


def _study_document(study: StructureStudy) -> dict[str, Any]:
    """A study as the data of a JSON document."""
    return {
        "experiment": study.results.name,
        "folder": str(study.results.folder.path),
        "twin": study.twin.name if study.twin else None,
        "findings": {
            name: {
                "verdict": list(finding.verdict.sentences),
                "ordering": finding.verdict.ordering,
                "level": finding.verdict.level,
                "shares": finding.table(),
                "means": finding.means,
                "orderings": finding.orderings,
                "levels": finding.levels,
                "shifts": finding.shifts,
            }
            for name, finding in study.findings.items()
        },
    }


def _show_structure(study: StructureStudy) -> None:
    """Print the verdict on each outcome, then what it rests on."""
    for name, finding in study.findings.items():
        out.print(f"\n[bold]{name}[/bold]")
        for sentence in finding.verdict.sentences:
            out.print(f"  {sentence}")
        out.print()
        table(finding.table().select("source", "share", "low", "high", "n"), "Shares of its variance, 95 % intervals")
        out.print()
        table(finding.means, "Means")
        out.print()
        orderings = finding.orderings.select(
            "mind", "arm", "versus", "effect", "low", "high", "p_adjusted", "direction"
        )
        table(orderings, "Structure arms compared within each model")
    for note in study.notes:
        out.print(f"  [yellow]note[/yellow]  {note}")
    out.print(f"\n  [dim]folder[/dim]  {study.results.folder.path}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise UsageError(f"{text!r} is not NAME=VALUE.")
    return name.strip(), value


def _levels(text: str) -> list[Any]:
    return [yaml.safe_load(part) for part in text.split(",")]
