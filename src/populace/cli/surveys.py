"""The command `survey`: a questionnaire, a table of respondents, marginals and crosstabs."""

from pathlib import Path
from typing import Any

import click

from populace.base.errors import RunNotFoundError, UnknownNameError, UsageError
from populace.cli.options import call_options, command, current_workspace, option, settings_options
from populace.cli.output import out, report_json, table
from populace.cli.summary import show_run
from populace.cli.survey_run import run_survey
from populace.engine.discovery import find_scenario, known_scenarios
from populace.experiments.reports import report
from populace.journal import RunSettings
from populace.people import People
from populace.runs.reader import RunReader
from populace.surveys import Instrument, Survey, SurveyResults, write_results
from populace.surveys.files import check_results_file
from populace.surveys.instrument import is_instrument
from populace.surveys.respondents import FILE_ENDINGS
from populace.surveys.scenario import SurveyScenario
from populace.surveys.variables import STATE
from populace.tools.population import population

_MOST_ROWS = 400
"""A survey of usual length is shown whole."""


@command("survey")
@click.argument("people", metavar="PEOPLE")
@click.argument("questionnaire", metavar="QUESTIONNAIRE", type=click.Path(dir_okay=False))
@option("--by", multiple=True, metavar="COLUMN", help="Also show every item by the groups of a column.")
@click.option("--report", "folder", metavar="FOLDER", help="Write all tables as one HTML page and as Markdown.")
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
    folder: str | None,
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
        _respondents(people, options["seed"]),
        id=id_column,
        name=Path(people).name,
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
    items = [item.id for item in results.questionnaire.items]
    crosstabs = {column: [results.crosstab(item, column) for item in items] for column in by}
    instrument = Instrument.read(questionnaire) if is_instrument(questionnaire) else None
    scores = instrument.score(results.table) if instrument else None
    findings = instrument.findings(results) if instrument else []
    files = [write_results(results, target, scores) for target in targets]
    if folder is not None:
        tables = [each for column in by for each in results.crosstab_tables(column)]
        files += report(run, findings=[*findings, *tables]).write(folder)
    report_json(
        {
            "run": run.name,
            "respondents": results.table.height,
            "marginals": results.marginals(),
            "crosstabs": {column: [each.to_dicts() for each in tables] for column, tables in crosstabs.items()},
            "open_answers": {item: results.open_answers(item).to_dicts() for item in results.open_items},
            "findings": {each.title: each.table.to_dicts() for each in findings},
            "statuses": results.statuses,
            "files": [str(file) for file in files],
        }
    )
    show_run(run, most_rows=_MOST_ROWS)
    for each in [*findings, *(each for column in by for each in results.crosstab_tables(column))]:
        out.print_line()
        table(each.table, each.title, _MOST_ROWS)
    for file in files:
        out.print_line(f"  wrote {file}")


def _respondents(people: str, seed: int) -> str | People:
    """The file of respondents, the people of a scenario, or those at the end of a run."""
    if Path(people).suffix.lower() in FILE_ENDINGS or (Path(people).is_file() and not people.endswith(".py")):
        return people
    if people in known_scenarios() or ".py" in people or ":" in people:
        return population(find_scenario(people)(), seed=seed)
    try:
        return RunReader(current_workspace().open(people)).people()
    except RunNotFoundError as error:
        raise UsageError(
            f"{people} is no file of respondents, no scenario and no run of this workspace.",
            f"Files end in {', '.join(FILE_ENDINGS)}; scenarios are {', '.join(known_scenarios())}.",
        ) from error


def _check_groups(scenario: SurveyScenario, columns: tuple[str, ...]) -> None:
    """Refuse a column for a crosstab that nobody has, before anybody is asked."""
    known = [*scenario.respondents.read().columns, *(each.name for each in scenario.questionnaire.variables), STATE]
    for column in columns:
        if column not in known:
            raise UnknownNameError("column", column, known)
