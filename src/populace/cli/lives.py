"""A person's life in a run, and why they decided as they did."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

import click
import polars as pl

from populace.cli import COMMANDS
from populace.cli.decision import show_decision
from populace.cli.options import json_option, workspace_option
from populace.cli.output import emit, out, table
from populace.people import Id, Person
from populace.reading import Decision, Reading
from populace.workspace import Workspace

_SCORES = ("recency", "importance", "relevance", "score")


@dataclass(frozen=True)
class Life:
    """What one person planned, did, said, heard and remembered."""

    person: Person
    events: pl.DataFrame
    said: pl.DataFrame
    memories: pl.DataFrame
    names: dict[Id, str]


def life_of(run: Reading, who: str) -> Life | None:
    """The life of a person; None in a run whose people remember nothing."""
    memories = run.history("memories")
    if not memories.height:
        return None
    people = run.people()
    person = people.person(int(who) if who.isdigit() and people.ids.dtype.is_integer() else who)
    names = dict(zip(people.ids.to_list(), people["name"].to_list(), strict=True))
    events = run.events
    spoken = events.filter(pl.col("kind") == "said")
    rows: list[tuple[int, str, str]] = []
    for step, speaker, data in spoken.select("step", "person", "data").iter_rows():
        line = json.loads(data)
        if speaker == person.id or person.id in line.get("to", []):
            to = " and ".join(names[hearer] for hearer in line.get("to", []))
            rows.append((step, f"{names[speaker]} to {to}" if to else names[speaker], line["text"]))
    said = pl.DataFrame(rows, schema={"step": pl.Int64, "who": pl.String, "said": pl.String}, orient="row")
    own = events.filter(pl.col("person") == person.id, pl.col("kind") != "said")
    return Life(person, own, said, memories.filter(pl.col("person") == person.id), names)


def show_life(run: Reading, life: Life) -> None:
    """Print a life: plans and actions, conversations, memories and what was concluded from them."""
    person = life.person
    out.print(f"[bold]{person.name}[/bold] in {run.name}")
    for kind in life.events["kind"].unique(maintain_order=True):
        rows = life.events.filter(pl.col("kind") == kind)
        details = [json.loads(data) for data in rows["data"]]
        shown = pl.DataFrame({"step": rows["step"], "": [_in_words(detail, life.names) for detail in details]})
        table(shown, kind.capitalize(), limit=20)
    if life.said.height:
        table(life.said, "Conversations", limit=40)
    for kind, title in (
        ("reflection", "Conclusions"),
        ("dialogue", "Heard"),
        ("observation", "Seen"),
        ("plan", "Plans"),
    ):
        rows = life.memories.filter(pl.col("kind") == kind)
        if rows.height:
            best = rows.sort("importance", "memory", descending=[True, False], nulls_last=True)
            table(best.select("memory", "step", "importance", "text", "evidence"), f"{title}: {rows.height}", limit=8)
    who = shlex.quote(str(person.name))
    out.print(
        f"  [dim]why did they decide so:[/dim]  populace why {run.name} --step {_asked(run, life)} --person {who}"
    )


def _asked(run: Reading, life: Life) -> int:
    """A step in which the person was asked something."""
    answers = run.answers().filter(pl.col("person") == life.person.id)
    return int(answers["step"][0]) if answers.height else 1


def _in_words(detail: dict[str, Any], names: dict[Id, str]) -> str:
    """The details of an event, people by their names."""
    told = dict(detail)
    for key in ("others", "source"):
        if key in told:
            people = told[key] if isinstance(told[key], list) else [told[key]]
            told[key] = " and ".join(names.get(who, str(who)) for who in people)
    return ", ".join(f"{name}: {value}" for name, value in told.items())


@click.command("why", help=COMMANDS["why"][1])
@click.argument("run")
@click.option("--step", type=click.IntRange(min=0), required=True, help="The step.")
@click.option("--person", metavar="NAME|ID", required=True, help="Whose decisions.")
@workspace_option
@json_option
def why_command(run: str, step: int, person: str, workspace: str | None, as_json: bool) -> None:
    found = Reading(Workspace(workspace).open(run))
    who: Any = int(person) if person.isdigit() and found.people().ids.dtype.is_integer() else person
    decisions = found.decisions(step, who)
    recalled = found.record.table(step, "tables/recalled")
    mine = pl.DataFrame()
    if recalled is not None and decisions:
        mine = recalled.filter(pl.col("person") == decisions[0].person["id"])
    if as_json:
        emit(
            [
                {**decision.__dict__, "distribution": decision.distribution, "recalled": _behind(mine, decision)}
                for decision in decisions
            ]
        )
        return
    if not decisions:
        out.print(f"{person} decided nothing in step {step}.")
    for decision in decisions:
        memories = _behind(mine, decision)
        if memories.height:
            shown = memories.select("memory", "about", *_SCORES, "text")
            table(shown, f"What came to mind ({decision.purpose})", limit=40)
        show_decision(found, decision)


def _behind(recalled: pl.DataFrame, decision: Decision) -> pl.DataFrame:
    """What was recalled for a decision and stands in its prompt; there is nothing where nobody recalls."""
    if not recalled.height:
        return recalled
    told = "\n".join(prompt["user"] for prompt in decision.prompts)
    mine = recalled.filter(pl.col("purpose") == decision.purpose)
    return mine.filter(pl.Series([text in told for text in mine["text"]], dtype=pl.Boolean))
