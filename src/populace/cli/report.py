"""report: an experiment or a run as one page."""

from __future__ import annotations

from pathlib import Path

import click

from populace.base.errors import RunNotFoundError
from populace.cli.options import command, common_options
from populace.cli.output import emit, out, warn
from populace.engine.workspace import Workspace
from populace.experiments.folder import experiment_names, find_experiment
from populace.experiments.reports import report
from populace.experiments.results import Results
from populace.experiments.validation import ValidityCard
from populace.experiments.validation.card import MARKS
from populace.runs.reader import RunReader


@command("report")
@click.argument("name", metavar="EXPERIMENT|RUN")
@click.option("--to", metavar="FOLDER", help="Where to write it.  [default: the folder of the experiment or run]")
@click.option(
    "--reference",
    metavar="FILE.csv",
    type=click.Path(exists=True, dir_okay=False),
    help="A CSV file of shares to compare the answers with: columns answer, share, optionally question.",
)
@click.option("--probe", is_flag=True, help="Measure position bias with a few further calls where runs do not show it.")
@common_options
def report_command(
    name: str, to: str | None, reference: str | None, probe: bool, workspace: str | None, as_json: bool
) -> None:
    subject, home = _subject(name, Workspace(workspace))
    document = report(subject, reference=reference, probe=probe)
    files = document.write(to or home)
    if as_json:
        data = {"name": document.name, "files": [str(file) for file in files], "verdict": document.card.verdict}
        emit(data | {"checks": document.card.table()}, document.card.warnings)
        return
    print_validity(document.card)
    for file in files[:2]:
        out.print(str(file))


def print_validity(card: ValidityCard) -> None:
    """A card in a few lines: its verdict, what failed, and its warnings."""
    out.print(f"  [dim]validity[/dim]  {card.verdict}")
    for check in card.failed:
        out.print(f"    {MARKS[check.verdict]} {check.name}: {check.shown} ({check.threshold})")
    for text in card.warnings:
        warn(text)


def _subject(name: str, place: Workspace) -> tuple[RunReader | Results, Path]:
    """An experiment by its name, else a run."""
    if not (Path(name) / "steps").is_dir():
        try:
            folder = find_experiment(name, place)
            return Results(folder), folder.path
        except RunNotFoundError:
            if any(each.startswith(name) for each in experiment_names(place)):
                raise
    run = RunReader(place.open(name))
    return run, run.folder
