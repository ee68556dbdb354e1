"""The command `evaluate`: predictions against what people answered."""

from pathlib import Path

import click

from populace.base.errors import HumanDataError, UsageError
from populace.cli.options import command, current_workspace, option
from populace.cli.output import out, report_json, table
from populace.cli.panel import read_manifest
from populace.evaluation import EvaluationItem, FidelityReport, HumanAnswers, Predictions, find_leaks, fit_floor
from populace.evaluation.resampling import Clusters
from populace.runs.fidelity_figures import keep_figures
from populace.surveys import Survey
from populace.surveys.items import Item, RatingItem, SingleItem

FILE = click.Path(exists=True, dir_okay=False)


@command("evaluate")
@click.argument("predictions", nargs=-1, required=True, metavar="PREDICTIONS…", type=FILE)
@click.argument("human", metavar="HUMAN", type=FILE)
@click.option("--items", required=True, metavar="QUESTIONNAIRE", help="The questionnaire or instrument with the items.")
@click.option("--others", required=True, metavar="FILE", type=FILE, help="Answers of other people, to fit floors on.")
@click.option("--profiles", metavar="FILE", type=FILE, help="What floors know of all people, with a column person.")
@option("--by", multiple=True, metavar="COLUMN", help="A column of the profiles whose groups are compared.")
@click.option("--model", metavar="MODEL", help="The model that answered; validity cards of its runs then quote this.")
@option("--subject", metavar="WORD", default="these items", help="What the items are about, such as attitudes.")
@option("--trained", multiple=True, metavar="FILE", type=FILE, help="The manifest of an adapter, to look for leaks.")
@option("--clusters", type=click.Choice(["people", "items", "both"]), default="people", help="What is drawn anew.")
@option("--seed", type=int, default=0, help="The seed of the bootstrap.")
@click.option("--name", metavar="NAME", help="The name of the report.  [default: that of the first predictions]")
@option("--to", metavar="FOLDER", default=".", help="Where the report is written.")
def evaluate_command(
    predictions: tuple[str, ...],
    human: str,
    items: str,
    others: str,
    profiles: str | None,
    by: tuple[str, ...],
    model: str | None,
    subject: str,
    trained: tuple[str, ...],
    clusters: Clusters,
    seed: int,
    name: str | None,
    to: str,
) -> None:
    questions = [_evaluation_item(item) for item in Survey.read(items).questionnaire.items]
    if by and not profiles:
        raise UsageError("--by needs --profiles.", "The groups are those of a column of the profiles.")
    people = HumanAnswers.read(human, questions, profiles=profiles)
    rest = HumanAnswers.read(others, questions, profiles=profiles)
    arms = [Predictions.read(path, people) for path in predictions]
    floors = [fit_floor(kind, people, rest) for kind in ("regression", "boosting")] if profiles else []
    manifests = [read_manifest(path) for path in trained]
    leaks = find_leaks(people, rest, (), [item.id for item in questions], manifests=manifests)
    report = FidelityReport.of(
        name or Path(predictions[0]).stem, people, rest, arms,
        floors=floors, clusters=clusters, model=model or "", subject=subject, by=by, leaks=leaks, seed=seed,
    )  # fmt: skip
    files = report.write(to)
    if model:
        files.append(keep_figures(current_workspace().folder, report.figures()))
    report_json(report.figures() | {"files": [str(file) for file in files]})
    for result in report.results:
        table(result.table(), result.name)
    for file in files:
        out.print_line(f"  wrote {file}")


def _evaluation_item(item: Item) -> EvaluationItem:
    """An item of a questionnaire as one that is compared."""
    if isinstance(item, SingleItem):
        return EvaluationItem(item.id, item.text, item.options)
    if isinstance(item, RatingItem):
        points = tuple(str(point) for point in range(item.low, item.high + 1))
        return EvaluationItem(item.id, item.text, points, ordered=True)
    raise HumanDataError(f"the item {item.id!r} has no options to compare.", "Keep single and rating items alone.")
