"""ask-again: a recorded decision with something changed."""

from __future__ import annotations

from typing import Any

import click
import polars as pl
from rich.text import Text

from populace.broker import Broker
from populace.cli import COMMANDS
from populace.cli.decision import show_decision
from populace.cli.options import json_option, model_option, workspace_option
from populace.cli.output import emit, facts, out, table
from populace.cli.progress import fetch_missing_model
from populace.engine.event_loop import finish
from populace.engine.workspace import Workspace
from populace.runs.decision import Decision
from populace.runs.reader import RunReader
from populace.tools.ask_again import Again, Changes, again


@click.command("ask-again", help=COMMANDS["ask-again"])
@click.argument("run")
@click.option("--step", type=click.IntRange(min=0), required=True, help="The step of the decision.")
@click.option("--person", metavar="NAME|ID", required=True, help="Whose decision.")
@click.option("--path", metavar="PATH", help="Which decision, where there are several in the step.")
@click.option("--wording", metavar="TEXT", help="Another wording of the question; it may hold {fields}.")
@click.option("--given", metavar="TEXT", help="Something else to tell before it; it may hold {fields}.")
@click.option("--order", metavar="ORDER", help="The options: reversed, given (as declared), or all of them as A,B,…")
@click.option("--temperature", type=click.FloatRange(min=0), help="Another temperature.")
@click.option("--system", metavar="TEXT", help="Another system text, whole and word for word.")
@click.option("--text", metavar="TEXT", help="Another user text, whole and word for word.")
@model_option(None)
@workspace_option
@json_option
def ask_again_command(
    run: str,
    step: int,
    person: str,
    path: str | None,
    order: str | None,
    workspace: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    place = Workspace(workspace)
    found = RunReader(place.open(run))
    changes = Changes(order=_order(order), **options)
    fetch_missing_model(changes.model or found.manifest.regime.model)
    broker = Broker(place.store())

    async def go() -> Again:
        try:
            return await again(found, broker, step=step, person=person, path=path, changes=changes)
        finally:
            await broker.close()

    made = finish(go())
    if as_json:
        emit(_document(found, made))
    else:
        _show(found, made)


def _order(given: str | None) -> str | list[str] | None:
    if given in (None, "reversed", "given"):
        return given
    return [name.strip() for name in str(given).split("|" if "|" in str(given) else ",")]


def _document(run: RunReader, made: Again) -> dict[str, Any]:
    return {
        "run": run.name,
        "step": made.recorded.step,
        "path": made.recorded.path,
        "person": made.recorded.person["id"],
        "recorded": _decision_document(made.recorded),
        "asked": _decision_document(made.asked),
        "differences": made.differences,
        "lines": made.lines,
        "same_answer": made.same_answer,
        "calls": made.calls,
        "reused": made.reused,
        "cost": made.cost,
    }


def _decision_document(decision: Decision) -> dict[str, Any]:
    names = ("value", "status", "temperature", "draw", "question", "prompts", "distribution")
    return {name: getattr(decision, name) for name in names} | {"tempered": decision.draw_distribution}


def _show(run: RunReader, made: Again) -> None:
    show_decision(run, made.asked)
    out.print("\n[bold]What differs from the record[/bold], which stays as it is")
    for line in made.lines:
        out.print(Text(f"    {line}", style="green" if line[0] == "+" else "red"))
    then, now = made.recorded.draw_distribution, made.asked.draw_distribution
    if then and now:
        rows = [(option, share, now[option], made.differences[option]) for option, share in then.items()]
        table(pl.DataFrame(rows, schema=["option", "recorded", "again", "difference"], orient="row"))
    answer = "the same" if made.same_answer else f"{_said(made.recorded)}  →  {_said(made.asked)}"
    facts([("answer", answer), ("calls", f"{made.calls} made, {made.reused} reused")])


def _said(decision: Decision) -> str:
    return decision.status if decision.value is None else decision.value
