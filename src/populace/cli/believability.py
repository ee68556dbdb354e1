"""believability: interviews under ablations, ranked by judges."""

import time
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress

from populace.base.errors import InterruptedRunError, StoppedError, UsageError
from populace.base.foreign_columns import csv_table
from populace.base.formatting import plural
from populace.broker import currency, money_text
from populace.cli.options import call_options, call_settings, command, command_line, current_workspace, option
from populace.cli.output import as_json, bold, dim, err, facts, out, report_json, table, warn
from populace.cli.progress import SECONDS_BETWEEN_LINES, fetch_missing_models, new_bar
from populace.engine.run import Run
from populace.evaluation.believability import (
    Believability,
    BelievabilityPlan,
    BelievabilityStudy,
    StudyEstimate,
    believability_names,
    believability_report,
)
from populace.evaluation.believability.files import write_answer_form, write_ranking_form
from populace.evaluation.believability.plan import study_name
from populace.experiments.reports.document import ReportDocument
from populace.feedback.interview_items import rankings_of_raters
from populace.journal.segments import writing
from populace.models import MODEL_SUMMARY


@command("believability", code="needed")
@click.argument("subjects", nargs=-1, metavar="PLAN.yaml|STUDY|RUN…")
@click.option("--name", metavar="NAME", help="The name of the study.  [default: that of the first run]")
@option("--model", metavar="MODEL", help=f"Who answers: {MODEL_SUMMARY}.  [default: the model of the run]")
@option("--judge", "judges", multiple=True, metavar="MODEL", help="A model that ranks the answers.")
@click.option("--people", metavar="FILE.csv", help="Answers that people wrote: columns resident, question, answer.")
@click.option("--questions", metavar="FILE.toml", help="Questions of your own, in a table for each area.")
@option("--resident", "residents", multiple=True, metavar="NAME|ID", help="Interview only this resident.")
@click.option("--step", type=click.IntRange(min=0), help="After which step.  [default: the end of the run]")
@option("--seed", type=int, default=0, help="The seed of the orders in which judges see answers.")
@click.option("--answer-form", metavar="FILE.csv", help="Write a form in which people answer as residents, and end.")
@click.option("--form", metavar="FILE.csv", help="Write a blind form in which a person ranks the answers, and end.")
@click.option("--rankings", metavar="FILE.csv", help="Read the form that a person filled in.")
@click.option("--feedback", is_flag=True, help="Count the scores of raters in Studio's blind queue as rankings.")
@click.option("--rater", metavar="NAME", default="one", show_default=True, help="The person of --form and --rankings.")
@click.option("--to", metavar="FOLDER", help="Where report and tables are written.  [default: that of the study]")
@click.option("--list", "listing", is_flag=True, help="List the studies of the workspace.")
@click.option("--dry-run", is_flag=True, help="Show the design and what it will take, and spend nothing.")
@call_options
def believability_command(
    subjects: tuple[str, ...],
    answer_form: str | None,
    form: str | None,
    rankings: str | None,
    feedback: bool,
    rater: str,
    to: str | None,
    listing: bool,
    dry_run: bool,
    **options: Any,
) -> None:
    place = current_workspace()
    if listing:
        names = believability_names(place)
        report_json(names)
        out.print_line(*(["\n".join(names)] if names else ["There are no believability studies."]))
        return
    calls = call_settings(options)
    study = _study(subjects, options)
    estimate = study.estimate()
    if not as_json():
        _show_design(study, estimate)
    if dry_run:
        report_json(_design_document(study, estimate))
        return
    again = command_line("believability", study.plan.name)
    display = _Display()
    try:
        if estimate.calls:
            fetch_missing_models(*_models(study))
        study.interview(calls=calls, on_progress=display)
        if answer_form or form:
            _write_forms(study, answer_form, form, rater)
            return
        if rankings:
            study.add_rankings(rankings, rater)
        if feedback:
            study.add_judgements(rankings_of_raters(study, place))
        study.judge(calls=calls, on_progress=display)
    except (InterruptedRunError, StoppedError) as stop:
        stop.hint = f"What was answered is kept. Continue with: {again}"
        raise
    finally:
        display.close()
    _report(study, to)


def _study(subjects: tuple[str, ...], options: dict[str, Any]) -> BelievabilityStudy:
    """The study that a plan file, the name of a study, or runs and options stand for."""
    place = current_workspace()
    if not subjects:
        raise UsageError(
            "nothing to study is named.", "Name a plan file, a study of the workspace, or one or more runs."
        )
    judges = list(options["judges"])
    changes = {name: options[name] for name in ("model", "people", "questions", "step") if options[name] is not None}
    if options["residents"]:
        changes["residents"] = list(options["residents"])
    first = subjects[0]
    if len(subjects) == 1 and Path(first).suffix in (".yaml", ".yml"):
        data = BelievabilityPlan.read(first).data()
    elif len(subjects) == 1 and not options["name"] and first in believability_names(place):
        data = BelievabilityStudy.open(first, place).plan.data()
    else:
        names = [Run(place.open(each)).name for each in subjects]
        data = {"name": study_name(names), "runs": names, "seed": options["seed"]}
    if options["name"]:
        data["name"] = options["name"]
    data["judges"] = [*data.get("judges", []), *(judge for judge in judges if judge not in data.get("judges", []))]
    return BelievabilityStudy(BelievabilityPlan(**data | changes), place)


def _models(study: BelievabilityStudy) -> list[str]:
    place = current_workspace()
    answering = study.plan.model
    runs = [Run(place.open(name)) for name in study.plan.runs]
    models = [answering] if answering else [run.manifest.regime_at(run.steps[-1]).model for run in runs]
    return [*models, *study.plan.judges]


def _design_document(study: BelievabilityStudy, estimate: StudyEstimate) -> dict[str, Any]:
    return {
        "study": study.plan.name,
        "runs": study.plan.runs,
        "residents": estimate.residents,
        "questions": estimate.questions,
        "conditions": study.plan.condition_names,
        "judges": study.plan.judges,
        "calls": estimate.calls,
        "cost": estimate.cost,
        "currency": currency(),
    }


def _show_design(study: BelievabilityStudy, estimate: StudyEstimate) -> None:
    plan = study.plan
    cost = (
        "cost unknown"
        if estimate.cost is None
        else f"about {money_text(estimate.cost)}"
        if estimate.cost
        else "no cost"
    )
    judging = sum(estimate.judging.values())
    facts(
        [
            ("study", plan.name),
            ("runs", ", ".join(plan.runs)),
            ("interviews", f"{plural(estimate.residents, 'resident')} × {plural(estimate.questions, 'question')}"),
            ("conditions", ", ".join(plan.condition_names)),
            ("judges", ", ".join(plan.judges) or "none yet"),
            ("estimate", f"at most {estimate.interviews:,} calls for answers, {judging:,} for judging; {cost}"),
        ]
    )


def _write_forms(study: BelievabilityStudy, answer_form: str | None, form: str | None, rater: str) -> None:
    files = []
    if answer_form:
        files.append(write_answer_form(answer_form, study.lives, study.questions))
    if form:
        files.append(write_ranking_form(form, study.tasks(f"person {rater}")))
    report_json({"files": [str(file) for file in files]})
    for file in files:
        out.print_line(str(file))


def _report(study: BelievabilityStudy, to: str | None) -> None:
    result = study.result()
    if not result.valid.height:
        text = (
            "Nothing has been ranked yet: name a model with --judge, or write a form for people with --form FILE.csv."
        )
        report_json(_answers_document(study, result), [text])
        table(result.invalid_answers(), "Answers by condition")
        warn(text)
        return
    document = believability_report(study, result)
    folder = Path(to) if to else study.folder
    files = document.write(folder)
    for name, frame in _tables(result).items():
        path = folder / f"{name}.csv"
        with writing(path):
            csv_table(frame).write_csv(path)
        files.append(path)
    findings, cautions = result.findings(), result.cautions()
    data = _answers_document(study, result) | {"findings": findings, "files": [str(file) for file in files]}
    report_json(data | _tables(result) | {"test": result.test().table()}, cautions)
    out.print_line()
    table(result.skills(), "TrueSkill by condition, 95 % intervals (own, and over residents)")
    out.print_line()
    table(result.pairs(), "Pairs of conditions: Dunn's test, and exchanged within residents; p adjusted by Holm")
    out.print_line()
    for text in findings:
        out.print_line(f"  {text}")
    _show_files(document, files)


def _show_files(document: ReportDocument, files: list[Path]) -> None:
    out.print_line("\n  ", dim("report:"), f"  {files[0]}")
    out.print_line("  ", dim("tables:"), f"  {', '.join(file.name for file in files if file.suffix == '.csv')}")
    out.print_line("  ", dim("study:"), "  ", bold(document.name))


def _tables(result: Believability) -> dict[str, Any]:
    return {"skills": result.skills(), "pairs": result.pairs(), "areas": result.areas(), "rankings": result.valid}


def _answers_document(study: BelievabilityStudy, result: Believability) -> dict[str, Any]:
    return {
        "study": study.plan.name,
        "folder": str(study.folder),
        "conditions": study.plan.condition_names,
        "judges": result.judges,
        "invalid": result.invalid_answers(),
    }


class _Display:
    """Shows the progress of a study: a bar on a terminal, elsewhere a line now and then."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._what = ""
        self._last_line = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        if what != self._what:
            self.close()
            self._what, self._last_line = what, time.monotonic()
            if err.is_terminal:
                self._bar = new_bar(what, total=total)
                self._bar.start()
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total, state=f"{done:,} of {total:,}")
        elif now - self._last_line > SECONDS_BETWEEN_LINES or done == total:
            self._last_line = now
            err.print_line(f"{what}: {done:,} of {total:,}")

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
