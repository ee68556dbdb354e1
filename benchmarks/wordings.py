"""Ways to ask for a line of speech and for a plan, compared on one model by the faults of the first replies.

Usage: python benchmarks/wordings.py MODEL [SEED …] [--until HOUR] [--to FILE]

Each way runs the same town from waking to an hour of the first day. Counted are first replies, before anything is asked
again: lines that narrate, echo, address the speaker or speak for another, and plans that are not valid from now to
bedtime or that copy an example.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl

from populace import Run, simulate
from populace.minds import Mind
from populace.questions import Form, Question, Speech, Text
from populace.scenarios.party import Party
from populace.scenarios.townlife import BEGINS, HOUR, TICK

EXAMPLE = [
    {"at": "08:00", "where": "home", "doing": "have breakfast"},
    {"at": "10:00", "where": "work", "doing": "get to work"},
    {"at": "12:00", "where": "home", "doing": "eat lunch"},
    {"at": "14:00", "where": "work", "doing": "finish what is left"},
    {"at": "18:00", "where": "home", "doing": "cook"},
]


class NotLed(Speech):
    """A line of speech whose first words are left to the model."""

    def lead(self, prompt: str) -> str:
        """Nothing."""
        return ""


SHIPPED = "with an aim, led by the name"
LINES: dict[str, Question] = {
    SHIPPED: Speech("{transcript}"),
    "transcript, led by the name": Speech("{transcript}"),
    "transcript": NotLed("{transcript}"),
    "question": Text("{transcript}\nWhat do you say to {partners} now?", max_words=40),
    "form": Form(
        "{transcript}\nWhat do you say to {partners} now?", questions={"say": Text("Your words.", max_words=40)}
    ),
}
"""The ways to ask for a line; the first is the one that ships."""
PLANS = ("shape", "example")
"""The ways to ask for a plan; the first is the one that ships."""


def run_way(model: str, seed: int, until: int, line: str, plan: str) -> Run:
    """A morning of the town, asked in one way."""

    class Morning(Party):
        """The party until an hour of the first day."""

        def make_mind(self) -> Mind:
            mind = super().make_mind()
            if mind.dialogue is not None:
                mind.dialogue.question = LINES[line]  # type: ignore[attr-defined]
                if line != SHIPPED:
                    mind.dialogue.aim = None  # type: ignore[attr-defined]
            if plan == "example" and mind.planning is not None:
                shipped = mind.planning._question  # type: ignore[attr-defined]
                mind.planning._question = lambda now: _with_example(shipped(now))  # type: ignore[attr-defined]
            return mind

        def length(self) -> int:
            return (until * HOUR - BEGINS) // TICK

    return simulate(Morning(days=1), model=model, seed=seed, keep="nothing")


def _with_example(question: Form) -> Form:
    return Form(question.text, model=question.model, example=json.dumps({"plan": EXAMPLE}), room=question.room)


def first_replies(run: Run, purpose: str) -> pl.DataFrame:
    """The prompts of a purpose with their first replies."""
    parts = []
    for step in run.steps:
        if "prompts" not in run.record.table_names(step):
            continue
        asks = run.record.table(step, "asks").filter(pl.col("purpose") == purpose).select("ask")
        parts.append(run.record.table(step, "prompts").join(asks, on="ask").select("system", "user", "replies"))
    rows = pl.concat(parts).filter(pl.col("replies").list.len() > 0)
    return rows.with_columns(reply=pl.col("replies").list.first())


def count_lines(run: Run) -> Counter[str]:
    """How many first replies for a line have which fault."""
    rules, counts = Speech("rules"), Counter[str]()
    for system, user, _, reply in first_replies(run, "dialogue").iter_rows():
        text = _said(reply)
        counts[rules.fault(text, f"{system}\n{user}") or "speech" if text else "unreadable"] += 1
    return counts


def _said(reply: str) -> str:
    """The words of a reply, also where it is a form."""
    if not reply.lstrip().startswith("{"):
        return reply
    try:
        return str(json.loads(reply)["say"])
    except (ValueError, KeyError, TypeError):
        return ""


def count_plans(run: Run) -> Counter[str]:
    """What became of the plans of a morning."""
    counts = Counter[str]()
    copied = {row["doing"] for row in EXAMPLE} | {"<what you do, in a few words>"}
    for *_, reply in first_replies(run, "planning: day").iter_rows():
        try:
            rows = json.loads(reply[reply.index("{") : reply.rindex("}") + 1])["plan"]
            doings = [str(row["doing"]) for row in rows]
        except (ValueError, KeyError, TypeError):
            counts["unreadable"] += 1
            continue
        copies = sum(doing in copied for doing in doings)
        counts["copies the example" if doings and copies >= len(doings) / 2 else "of one's own"] += 1
    return counts


def main(arguments: list[str]) -> None:
    """Run every way and write a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("model")
    parser.add_argument("seeds", nargs="*", type=int, default=[1])
    parser.add_argument("--until", type=int, default=13)
    parser.add_argument("--to", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args(arguments)
    rows: list[dict[str, object]] = []
    ways: list[tuple[str, str, str, Callable[[Run], Counter[str]]]] = [
        *((f"line: {name}", name, PLANS[0], count_lines) for name in LINES),
        *((f"plan: {name}", SHIPPED, name, count_plans) for name in PLANS),
    ]
    for name, line, plan, count in ways:
        if options.only not in name:
            continue
        counts = Counter[str]()
        for seed in options.seeds:
            run = run_way(options.model, seed, options.until, line, plan)
            counts += count(run)
        total = sum(counts.values())
        rows += [{"way": name, "outcome": outcome, "replies": n, "share": n / total} for outcome, n in counts.items()]
        print(name, dict(counts), flush=True)
    table = pl.DataFrame(rows)
    if options.to:
        table.write_csv(options.to)


if __name__ == "__main__":
    main(sys.argv[1:])
