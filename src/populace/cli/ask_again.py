"""ask-again: a recorded decision with something changed."""

from __future__ import annotations

from typing import Any

import click
import polars as pl
from rich.text import Text

from populace.cli.decision import show_decision
from populace.cli.options import command, common_options, model_option
from populace.cli.output import emit, facts, out, table
from populace.cli.progress import fetch_missing_model
from populace.engine.ask_again import DecisionChanges, RepeatedDecision
from populace.engine.run import Run
from populace.engine.workspace import Workspace
from populace.runs.decision import Decision
from populace.runs.reader import RunReader


@command("ask-again")
@click.argument("name", metavar="RUN")
@click.option("--step", type=click.IntRange(min=0), required=True, help="The step of the decision.")
@click.option("--person", metavar="NAME|ID", required=True, help="Whose decision.")
@click.option("--path", metavar="PATH", help="Which decision, where there are several in the step.")
@click.option("--wording", metavar="TEXT", help="Another wording of the question; it may hold {fields}.")
@click.option("--given", metavar="TEXT", help="Another text before the question; it may hold {fields}.")
@click.option("--order", metavar="ORDER", help="The options: reversed, given (as declared), or all of them as A,B,…")
@click.option("--temperature", type=click.FloatRange(min=0), help="Another temperature.")
@click.option("--system", metavar="TEXT", help="Another system text, whole and word for word.")
@click.option("--text", metavar="TEXT", help="Another user text, whole and word for word.")
@model_option(None)
@common_options
def ask_again_command(
    name: str,
    step: int,
    person: str,
    path: str | None,
    order: str | None,
    workspace: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    place = Workspace(workspace)
    run = Run(place.open(name))
    changes = DecisionChanges(order=_order(order), **options)
    fetch_missing_model(changes.model or run.manifest.regime.model)
    result = run.at(step).ask_again(person, path=path, changes=changes)
    if as_json:
        emit(_document(run, result))
    else:
        _show(run, result)


def _order(text: str | None) -> str | list[str] | None:
    if text in (None, "reversed", "given"):
        return text
    return [name.strip() for name in str(text).split("|" if "|" in str(text) else ",")]


def _document(run: RunReader, result: RepeatedDecision) -> dict[str, Any]:
    return {
        "run": run.name,
        "step": result.recorded.step,
        "path": result.recorded.path,
        "person": result.recorded.person["id"],
        "recorded": _decision_document(result.recorded),
        "asked": _decision_document(result.repeated),
        "differences": result.differences,
        "lines": result.lines,
        "same_answer": result.same_answer,
        "calls": result.calls,
        "reused": result.reused,
        "cost": result.cost,
    }


def _decision_document(decision: Decision) -> dict[str, Any]:
    names = ("value", "status", "temperature", "draw", "question", "prompts", "distribution")
    return {name: getattr(decision, name) for name in names} | {"tempered": decision.draw_distribution}


def _show(run: RunReader, result: RepeatedDecision) -> None:
    show_decision(run, result.repeated)
    out.print("\n[bold]What differs from the record[/bold], which stays as it is")
    for line in result.lines:
        out.print(Text(f"    {line}", style="green" if line[0] == "+" else "red"))
    then, now = result.recorded.draw_distribution, result.repeated.draw_distribution
    if then and now:
        rows = [(option, share, now[option], result.differences[option]) for option, share in then.items()]
        table(pl.DataFrame(rows, schema=["option", "recorded", "again", "difference"], orient="row"))
    answer = "the same" if result.same_answer else f"{result.recorded.answer_text}  →  {result.repeated.answer_text}"
    facts([("answer", answer), ("calls", f"{result.calls} new, {result.reused} reused")])
