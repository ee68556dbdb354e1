"""feedback."""

from __future__ import annotations

import math
from typing import Any

import click

from populace.base.errors import UsageError
from populace.cli.options import command, common_options
from populace.cli.output import emit, facts, out, table, warn
from populace.engine.workspace import Workspace
from populace.feedback import Feedback, Queue, RaterAgreement
from populace.feedback.items import KINDS


@command("feedback")
@click.argument("runs", nargs=-1, metavar="[RUN|EXPERIMENT]…")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="decision",
    show_default=True,
    help="With runs: whether decisions or utterances are to be judged.",
)
@click.option(
    "--size", type=click.IntRange(1, 2000), default=30, show_default=True, help="With runs: how many answers."
)
@click.option("--purpose", default="", metavar="WORDS", help="With runs: only questions with this purpose.")
@click.option("--seed", type=int, default=0, show_default=True, help="With runs: the seed that picks answers.")
@click.option(
    "--by",
    type=click.Choice(["run", "arm", "model", "kind", "purpose"]),
    help="Also show mean scores by this; it is not blind.",
)
@common_options
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
    counts, agreement = feedback.counts(), feedback.agreement()
    means = feedback.scores(by) if by else None
    unreadable = feedback.unreadable()
    notes = [f"{unreadable} lines could not be read; a process was killed while it wrote them."] if unreadable else []
    if as_json:
        emit({"raters": counts, "agreement": _agreement_document(agreement), "scores": means}, notes)
        return
    if not counts.height:
        out.print(
            f"Nobody judged anything in {feedback.folder}. Begin with: populace feedback RUN, then populace studio"
        )
        return
    table(counts, "Judged so far")
    facts([("agreement", _agreement_text(agreement))])
    if means is not None:
        table(means, f"Mean score by {by}, 1 to 5, with the 95 % t interval over answers")
    for note in notes:
        warn(note)
    out.print(f"  [dim]folder[/dim]  {feedback.folder}")


def _agreement_document(agreement: RaterAgreement) -> dict[str, Any]:
    """How far raters agree, as the data of a JSON document."""
    measures = agreement.measures
    items = measures.items if measures else 0
    return {"note": agreement.note, "measures": measures.table() if measures else None, "items": items}


def _agreement_text(agreement: RaterAgreement) -> str:
    """How far raters agree, in a sentence or two."""
    if agreement.measures is None or math.isnan(agreement.measures.alpha.value):
        return agreement.note
    return f"alpha {agreement.measures.alpha} answers (ordinal, 95 % interval, 1 is full agreement). {agreement.note}"


def _queue(place: Workspace, queue: Queue, seed: int, as_json: bool) -> None:
    sample = queue.draw(place, seed)
    if not sample.items:
        raise UsageError(
            f"these runs hold no {queue.kind} that a model gave{f' for {queue.purpose}' if queue.purpose else ''}.",
            "Choose other runs, or the other kind.",
        )
    queue.save(place)
    link = f"/feedback?queue={queue.name}&seed={seed}"
    if as_json:
        data = {"queue": queue.name, "kind": queue.kind, "runs": len(queue.sources), "answers": len(sample.items)}
        emit(data | {"seed": seed, "link": link})
        return
    out.print(
        f"[bold]{queue.name}[/bold]  {len(sample.items)} answers of {len(queue.sources)} runs, to be judged blind"
    )
    out.print(f"  [dim]judge them:[/dim]  populace studio, then {link}")
