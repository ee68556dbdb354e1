"""interview: ask people of a run something on the side."""

from __future__ import annotations

import click
import polars as pl

from populace.base.errors import UsageError
from populace.cli.options import command, common_options, model_option
from populace.cli.output import emit, out, table
from populace.cli.progress import fetch_missing_model
from populace.engine.run import Run
from populace.engine.workspace import Workspace
from populace.questions import Choice, Number, Question, Rating, Text


@command("interview")
@click.argument("name", metavar="RUN")
@click.argument("question")
@click.option("--person", "people", multiple=True, metavar="NAME|ID", help="Whom to ask; everybody by default.")
@click.option("--step", "at", type=click.IntRange(min=0), help="As of which step; the last by default.")
@click.option("--options", metavar="A,B,…", help="Ask for one of these.")
@click.option("--scale", metavar="LOW-HIGH", help="Ask for a point on a scale, such as 1-7.")
@click.option("--number", is_flag=True, help="Ask for a number.")
@click.option("--given", default="", help="What they are told before the question.")
@model_option(None)
@common_options
def interview_command(
    name: str,
    question: str,
    people: tuple[str, ...],
    at: int | None,
    options: str | None,
    scale: str | None,
    number: bool,
    given: str,
    model: str | None,
    workspace: str | None,
    as_json: bool,
) -> None:
    run = Run(Workspace(workspace).open(name))
    form = _question(question, options, scale, number)
    fetch_missing_model(model or run.manifest.regime.model)
    answers = run.at(at).interview(form, people=list(people) or None, given=given, model=model)
    names = run.people(at).frame
    rows = answers.frame.join(names.select(pl.col("^id|name$")), on="id", how="left", maintain_order="left")
    if as_json:
        emit({"run": run.name, "question": form.describe(), "answers": rows})
        return
    out.print(f"[bold]{run.name}[/bold], on the side, as of step {run.steps[-1] if at is None else at}: {question}")
    table(rows.select(pl.col("^name$"), "id", "value", "status"), limit=60)


def _question(text: str, options: str | None, scale: str | None, number: bool) -> Question:
    if sum(bool(kind) for kind in (options, scale, number)) > 1:
        raise UsageError("--options, --scale and --number exclude one another.")
    if options:
        return Choice(text, options=tuple(option.strip() for option in options.split(",")))
    if scale:
        low, sign, high = scale.partition("-")
        if not sign or not low.strip().isdecimal() or not high.strip().isdecimal():
            raise UsageError(f"--scale takes LOW-HIGH, such as 1-7, not {scale!r}.")
        return Rating(text, low=int(low), high=int(high))
    return Number(text) if number else Text(text)
