"""feedback."""

from __future__ import annotations

import math
from typing import Any

import click

from populace.base.errors import UsageError
from populace.cli import COMMANDS
from populace.cli.options import json_option, workspace_option
from populace.cli.output import emit, facts, out, table, warn
from populace.engine.workspace import Workspace
from populace.feedback import Feedback, Queue, RaterAgreement
from populace.feedback.items import KINDS


@click.command("feedback", help=COMMANDS["feedback"])
@click.argument("runs", nargs=-1, metavar="[RUN|EXPERIMENT]…")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="decision",
    show_default=True,
    help="With runs: whether decisions or utterances are to be judged.",
)
@click.option("--size", type=click.IntRange(1, 2000), default=30, show_default=True, help="With runs: how many.")
@click.option("--purpose", default="", metavar="WORDS", help="With runs: only questions counted under this.")
@click.option("--seed", type=int, default=0, show_default=True, help="With runs: which answers.")
@click.option(
    "--by",
    type=click.Choice(["run", "arm", "model", "kind", "purpose"]),
    help="Also show mean scores by this; it is not blind.",
)
@workspace_option
@json_option
def feedback_command(
    runs: tuple[str, ...],
    kind: str,
    size: int,
    purpose: str,
    seed: int,
    by: str | None,
    workspace: str | None,
    as_json: bool,
) -> None:
    place = Workspace(workspace)
    if runs:
        _queue(place, Queue.of(place, runs, kind, size, purpose), seed, as_json)
        return
    feedback = Feedback(place)
    counts, accord = feedback.counts(), feedback.agreement()
    means = feedback.scores(by) if by else None
    torn = feedback.unreadable()
    notes = [f"{torn} lines could not be read; a process was killed while it wrote them."] if torn else []
    if as_json:
        emit({"raters": counts, "agreement": described(accord), "scores": means}, notes)
        return
    if not counts.height:
        out.print(
            f"Nobody judged anything in {feedback.folder}. Begin with: populace feedback RUN, then populace studio"
        )
        return
    table(counts, "Judged so far")
    facts([("agreement", in_words(accord))])
    if means is not None:
        table(means, f"Mean score by {by}, 1 to 5, with the 95 % t interval over answers")
    for note in notes:
        warn(note)
    out.print(f"  [dim]folder[/dim]  {feedback.folder}")


def described(accord: RaterAgreement) -> dict[str, Any]:
    """How far raters agree, as plain data."""
    found = accord.found
    measures = found.table() if found is not None else None
    return {"note": accord.note, "measures": measures, "items": found.items if found else 0}


def in_words(accord: RaterAgreement) -> str:
    """How far raters agree, in a sentence or two."""
    if accord.found is None or math.isnan(accord.found.alpha.value):
        return accord.note
    return f"alpha {accord.found.alpha} answers (ordinal, 95 % interval, 1 is full agreement). {accord.note}"


def _queue(place: Workspace, queue: Queue, seed: int, as_json: bool) -> None:
    drawn = queue.draw(place, seed)
    if not drawn.items:
        raise UsageError(
            f"these runs hold no {queue.kind} that a model gave{f' for {queue.purpose}' if queue.purpose else ''}.",
            "Choose other runs, or the other kind.",
        )
    queue.save(place)
    link = f"/feedback?queue={queue.name}&seed={seed}"
    if as_json:
        data = {"queue": queue.name, "kind": queue.kind, "runs": len(queue.sources), "answers": len(drawn.items)}
        emit(data | {"seed": seed, "link": link})
        return
    out.print(f"[bold]{queue.name}[/bold]  {len(drawn.items)} answers of {len(queue.sources)} runs, to be judged blind")
    out.print(f"  [dim]judge them:[/dim]  populace studio, then {link}")
