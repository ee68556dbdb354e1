"""The command `survey`: a questionnaire, a table of respondents, marginals and crosstabs."""

from typing import Any

import click
import polars as pl

from populace.base.errors import UnknownNameError
from populace.cli.options import call_options, command, current_workspace, option, settings_options
from populace.cli.output import out, report_json, table
from populace.cli.summary import show_run
from populace.cli.survey_run import run_survey
from populace.journal import RunSettings
from populace.surveys import Survey, SurveyResults, write_results
from populace.surveys.files import check_results_file
from populace.surveys.scenario import SurveyScenario
from populace.surveys.variables import STATE


@command("survey")
@click.argument("people", metavar="PEOPLE", type=click.Path(dir_okay=False))
@click.argument("questionnaire", metavar="QUESTIONNAIRE", type=click.Path(dir_okay=False))
@option("--by", multiple=True, metavar="COLUMN", help="Also show every item by the groups of a column.")
@option("--to", "targets", multiple=True, metavar="FILE", help="Write the answers: .csv, .parquet, .sav or .dta.")
@option("--id", "id_column", metavar="COLUMN", default="id", help="The column that identifies a respondent.")
@option("--weight", metavar="COLUMN", help="The column that holds weights.")
@option("--margins", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="Shares to rake to, as YAML.")
@option("--about", multiple=True, metavar="COLUMN", help="A column that profiles are made of; all by default.")
@option("--estimate", "only_estimate", is_flag=True, help="Say what it would cost, and ask nobody.")
@settings_options(RunSettings)
@call_options
def survey_command(
    people: str,
    questionnaire: str,
    by: tuple[str, ...],
    targets: tuple[str, ...],
    id_column: str,
    weight: str | None,
    margins: str | None,
    about: tuple[str, ...],
    only_estimate: bool,
    **options: Any,
) -> None:
    workspace = current_workspace()
    survey = Survey.read(questionnaire)
    scenario = survey.scenario(
        people,
        id=id_column,
        weight=weight or "",
        margins=margins,
        about=about or None,
        workspace=workspace,
    )
    for target in targets:
        check_results_file(target)
    _check_groups(scenario, by)
    run = run_survey(scenario, options, only_estimate=only_estimate)
    if run is None:
        return
    results = SurveyResults(run)
    crosstabs = {column: [results.crosstab(item.id, column) for item in _closed(results)] for column in by}
    files = [write_results(results, target) for target in targets]
    report_json(
        {
            "run": run.name,
            "respondents": results.table.height,
            "marginals": results.marginals(),
            "crosstabs": {column: [each.to_dicts() for each in tables] for column, tables in crosstabs.items()},
            "statuses": results.statuses,
            "files": [str(file) for file in files],
        }
    )
    show_run(run)
    for column in by:
        for item in _closed(results):
            out.print_line()
            table(results.crosstab_text(item.id, column), f"{item.id} by {column}")
    for file in files:
        out.print_line(f"  wrote {file}")


def _check_groups(scenario: SurveyScenario, columns: tuple[str, ...]) -> None:
    """Refuse a column for a crosstab that nobody has, before anybody is asked."""
    known = [*scenario.respondents.read().columns, *(each.name for each in scenario.questionnaire.variables), STATE]
    for column in columns:
        if column not in known:
            raise UnknownNameError("column", column, known)


def _closed(results: SurveyResults) -> list[Any]:
    """The items whose answers can be counted."""
    open_items = {v.item for v in results.variables if v.dtype == pl.String() and not v.categories}
    return [item for item in results.questionnaire.items if item.id not in open_items]
