"""Commands that draw conclusions from several runs: report, robust, attendance and structure."""

from pathlib import Path
from typing import Any

import click

from populace.base.documents import DocumentError, parse_yaml
from populace.base.errors import RunNotFoundError, UnknownNameError, UsageError
from populace.base.formatting import plural
from populace.cli.experiment_display import ExperimentDisplay
from populace.cli.experiment_results import print_validity
from populace.cli.options import COUNT, command, current_workspace, option, recorded_model, run_argument
from populace.cli.output import as_json, bold, dim, facts, out, report_json, table, warn, yellow
from populace.cli.progress import fetch_missing_models
from populace.cli.running import resumable_run
from populace.engine.replay import scenario_class
from populace.engine.report_table import ReportTable
from populace.engine.workspace import Workspace
from populace.experiments.folder import experiment_names, find_experiment
from populace.experiments.reports import report
from populace.experiments.results import Results
from populace.experiments.robustness import check_robustness, repetition
from populace.experiments.structure import StructureStudy, structure_or_data
from populace.experiments.structure_design import StructureSettings, design_structure
from populace.experiments.wordings import STANDARD
from populace.runs.reader import RunReader
from populace.surveys import SurveyResults


@command("report", workspace="existing", code="optional")
@click.argument("name", metavar="EXPERIMENT|RUN")
@click.option("--to", metavar="FOLDER", help="Where to write it.  [default: the folder of the experiment or run]")
@click.option(
    "--reference",
    metavar="FILE.csv",
    type=click.Path(exists=True, dir_okay=False),
    help="A CSV file of shares to compare the answers with: columns answer, share, optionally question.",
)
@click.option("--probe", is_flag=True, help="Measure position bias with a few further calls where runs do not show it.")
@option("--by", multiple=True, metavar="COLUMN", help="For a survey: also every item by the groups of a column.")
def report_command(name: str, to: str | None, reference: str | None, probe: bool, by: tuple[str, ...]) -> None:
    subject, home = _subject(name, current_workspace())
    document = report(subject, reference=reference, probe=probe, findings=_crosstabs(subject, by))
    files = document.write(to or home)
    card = document.card
    data = {"name": document.name, "files": [str(file) for file in files], "verdict": card.verdict}
    report_json(data | {"checks": card.table()}, card.warnings)
    print_validity(card)
    for file in files[:2]:
        out.print_line(str(file))


def _crosstabs(subject: RunReader | Results, columns: tuple[str, ...]) -> list[ReportTable]:
    """Every item of a survey by each of some columns; nothing without columns."""
    if not columns:
        return []
    if isinstance(subject, Results):
        raise UsageError("--by is about the run of a survey, and this is an experiment.")
    results = SurveyResults(subject)
    return [table for column in columns for table in results.crosstab_tables(column)]


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


@command("robust", workspace="existing", code="needed")
@click.argument("study", metavar="RUN|EXPERIMENT")
@option("--seeds", type=click.IntRange(min=2), default=12, help="For a run: how many seeds.")
@option(
    "--variation",
    "variations",
    multiple=True,
    metavar="NAME",
    help=f"Only this variation.  [default: {', '.join(STANDARD)}]",
)
@option("--workers", type=COUNT, help="How many processes.")
@option("--max-calls", type=COUNT, help="Stop after this many calls in a variation; it can be continued later.")
@click.option("--dry-run", is_flag=True, help="Say how many runs it takes, and run nothing.")
def robust_command(
    study: str,
    seeds: int,
    variations: tuple[str, ...],
    workers: int | None,
    max_calls: int | None,
    dry_run: bool,
) -> None:
    place = current_workspace()
    for name in variations:
        if name not in STANDARD:
            raise UnknownNameError("variation", name, STANDARD)
    chosen = {name: STANDARD[name] for name in variations or STANDARD}
    source = _study(study, place)
    repeat = repetition(source, seeds=seeds)
    arms = repeat.arms() if isinstance(source, Results) else repeat.arms()[:1]
    times = len(chosen) if isinstance(source, Results) else len(chosen) + 1
    runs = len(arms) * repeat.replicates * times
    if not as_json():
        size = f"{plural(len(arms), 'arm')} × {plural(repeat.replicates, 'seed')} × {times} ways of asking"
        how = f"{size}: up to {plural(runs, 'run')}"
        facts([("study", source.name), ("model", repeat.model), ("repeats", how)])
    if dry_run:
        report_json({"study": source.name, "variations": list(chosen), "seeds": repeat.replicates, "runs": runs})
        return
    fetch_missing_models(*(arm.model for arm in arms if arm.decider == "model"))
    result = check_robustness(
        source,
        variations=chosen,
        seeds=seeds,
        calls=max_calls,
        workspace=place.folder,
        workers=workers,
        observer=ExperimentDisplay(),
    )
    names = ("study", "kind", "conclusions", "spread", "variations", "seeds", "level")
    document = {name: getattr(result, name) for name in names}
    report_json(document | {"survived": result.survival, "left_out": list(result.left_out)})
    out.print_line()
    table(result.table(), "Conclusions")
    if result.spread.height:
        out.print_line()
        table(result.spread, "Where metrics end: spread over seeds and over ways of asking")
    out.print_line()
    out.print_text(result)


def _study(name: str, place: Workspace) -> Results | RunReader:
    """A run or an experiment of this name."""
    try:
        return RunReader(place.open(name))
    except RunNotFoundError as no_run:
        try:
            return Results.open(name, place.folder)
        except RunNotFoundError:
            raise RunNotFoundError(
                f"{no_run.what} Nor is there an experiment of that name.",
                "`populace list` shows the runs, `populace experiment --list` the experiments.",
            ) from no_run


@command("attendance", code="needed")
@run_argument()
@option("--seeds", type=click.IntRange(min=2), help="Run what is missing for pairs of this many seeds.")
@option("--event", metavar="NAME", help="The event.  [default: the first]")
def attendance_command(run: RunReader, seeds: int | None, event: str | None) -> None:
    from populace.scenarios.party import Party
    from populace.scenarios.party.attendance import (
        attendance_effect,
        attendance_pairs,
        find_occasion,
        missing_runs,
        read_occasions,
        run_missing,
    )

    scenario = scenario_class(run)
    if not issubclass(scenario, Party):
        raise UsageError(f"{run.name} is a run of {scenario.title()}, which has no event.", "Name a run of party.")
    find_occasion(read_occasions(run, scenario)[1], event)
    missing = missing_runs(run, seeds) if seeds is not None else []
    if missing:
        fetch_missing_models(recorded_model(run))
    for seed, told in missing:
        with resumable_run() as display:
            run_missing(run, scenario, seed, told, observer=display)
    effect = attendance_effect(attendance_pairs(run), scenario, event=event)
    estimate = effect.estimate
    document = {name: getattr(effect, name) for name in ("event", "place", "people")} | {"pairs": effect.table()}
    numbers = {name: getattr(estimate, name) for name in ("value", "low", "high", "n", "level", "method")}
    report_json(document | numbers, [estimate.warning] if estimate.warning else [])
    out.print_line(bold(effect.event), f"  at {effect.place}, without the host")
    table(effect.table(), "How many were there")
    out.print_line()
    table(effect.people, "Who, in how many runs", limit=60)
    out.print_line()
    out.print_line("More people because of the news: ", bold(str(estimate)))
    out.print_line("  ", dim(f"mean difference with its 95 % interval over seeds, {estimate.method}"))
    if estimate.warning:
        warn(estimate.warning)


@command("structure")
@click.argument("scenario")
@option(
    "--vary", multiple=True, required=True, metavar="NAME=A,B,…", help="A parameter of the structure and its levels."
)
@option("--outcome", "outcomes", multiple=True, required=True, help="What is measured in each run.")
@option("--model", "models", multiple=True, default=("embedded",), help="A model.")
@option("--wording", "wordings", multiple=True, default=("polite", "headed"), help="A paraphrase of the questions.")
@option("--set", "fixed", multiple=True, metavar="NAME=VALUE", help="A parameter that is the same in all runs.")
@click.option("--swaps/--no-swaps", default=True, help="Also exchange the names of options.")
@click.option("--orders/--no-orders", default=True, help="Also reverse the options.")
@click.option("--twin/--no-twin", default=True, help="Also run the rule twin.")
@option("--replicates", type=click.IntRange(min=2), default=20, help="Runs of each arm for each model.")
@click.option("--margin", type=float, help="The largest difference between models that does not matter.")
@option("--seed", type=int, default=0, help="The seed from which the seeds of all runs are made.")
@option("--name", default="structure", help="The name of the experiment.")
@option("--workers", type=COUNT, help="How many processes.")
@option("--max-calls", type=COUNT, help="Stop after this many calls; it can be continued later.")
@click.option("--dry-run", is_flag=True, help="Say how many runs and calls it takes, and run nothing.")
def structure_command(
    scenario: str,
    vary: tuple[str, ...],
    fixed: tuple[str, ...],
    margin: float | None,
    workers: int | None,
    max_calls: int | None,
    dry_run: bool,
    **settings: Any,
) -> int:
    structure = {key: [_value(part) for part in value.split(",")] for key, value in map(_pair, vary)}
    parameters = {key: _value(value) for key, value in map(_pair, fixed)}
    settings = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
    design = design_structure(
        StructureSettings(scenario, structure=structure, parameters=parameters, calls=max_calls, **settings)
    )
    calls = design.calls()
    document = {"design": str(design), "structure": list(design.structure)}
    document |= {name: getattr(design, name) for name in ("runs", "models", "asking")}
    if not as_json():
        out.print_text(design)
        if calls is not None:
            out.print_line(f"Calls to models: {calls.low:,.0f} to {calls.high:,.0f}.")
    if dry_run:
        report_json(document | {"calls": [calls.low, calls.high] if calls else None})
        return 0
    fetch_missing_models(*settings["models"])
    folder = current_workspace().folder
    study = structure_or_data(design, margin=margin, workspace=folder, workers=workers, observer=ExperimentDisplay())
    code = 0 if study.results.state == "complete" else 5
    report_json(document | _study_document(study), study.notes, code=code)
    _show_structure(study)
    return code


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
                **{table: getattr(finding, table) for table in ("means", "orderings", "levels", "shifts")},
            }
            for name, finding in study.findings.items()
        },
    }


def _show_structure(study: StructureStudy) -> None:
    """Print the verdict on each outcome, then what it rests on."""
    for name, finding in study.findings.items():
        out.print_line("\n", bold(name))
        for sentence in finding.verdict.sentences:
            out.print_line(f"  {sentence}")
        out.print_line()
        table(finding.table().select("source", "share", "low", "high", "n"), "Shares of its variance, 95 % intervals")
        out.print_line()
        table(finding.means, "Means")
        out.print_line()
        columns = ("mind", "arm", "versus", "effect", "low", "high", "p_adjusted", "direction")
        table(finding.orderings.select(columns), "Structure arms compared within each model")
    for note in study.notes:
        out.print_line("  ", yellow("note"), f"  {note}")
    out.print_line("\n  ", dim("folder"), f"  {study.results.folder.path}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise UsageError(f"{text!r} is not NAME=VALUE.")
    return name.strip(), value


def _value(text: str) -> Any:
    try:
        return parse_yaml(text)
    except DocumentError as error:
        raise UsageError(f"{text.strip()!r} is no value: {error}.", "Write a number, yes, no or a text.") from error
