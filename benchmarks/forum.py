"""A forum of ten thousand people and a thousand threads, and how soon its threads are read back."""

from __future__ import annotations

import random
import tempfile
from functools import partial
from pathlib import Path

from measure import Result, Steps, quickest, report

from populace import simulate
from populace.models import Request, Scripted
from populace.runs.reader import RunReader
from populace.scenarios.forum import Forum, ForumDesign

WORDS = (
    "loose fuse spring screw wire hinge switch belt plug lamp motor seal thread patch needle lens battery valve gear "
    "kettle clock radio chair zip handle drum filter brush magnet solder clamp washer bolt rivet glue string cord"
).split()
PEOPLE, THREADS = 10_000, 1_000
DESIGN = ForumDesign.read("repair-bench").model_copy(
    update={"people": PEOPLE, "posts": THREADS, "together": THREADS, "reply_chance": 0.9}
)


def sentences(seed: int) -> str:
    """A few plain sentences."""
    words = random.Random(seed).choices(WORDS, k=18)
    return f"Mine had a {' '.join(words[:8])}. Then I tried {' '.join(words[8:])} and it held."


SAID = [sentences(seed) for seed in range(4096)]
"""Made beforehand: what is measured is the platform, and not the model."""


def reply(request: Request) -> str:
    return SAID[(request.seed or 0) % len(SAID)]


REPEATS = 5
"""Other work on the machine only ever adds, so the quickest counts; the mean is told beside it."""


def main() -> None:
    rates, read = [], float("inf")
    for _ in range(REPEATS):
        observer = Steps()
        with tempfile.TemporaryDirectory() as folder:
            forum = Forum(design=DESIGN, expand=False)
            run = simulate(
                forum, model=Scripted(reply, spec="scripted:forum"), seed=1, workspace=folder, observer=observer
            )
            rates.append(len(forum.board) / sum(observer.seconds))
            read = min(read, quickest(3, partial(_threads, run.folder)))
    detail = f"{len(forum.board):,} utterances, the quickest of {REPEATS}; {sum(rates) / REPEATS:,.0f} on average"
    report(
        [
            Result("a forum of 10,000, 1,000 threads", max(rates), "utterances/s", 5000.0, detail=detail),
            Result("its threads read back", read, "s", 1.0, at_most=True),
        ]
    )


def _threads(folder: Path) -> int:
    """Every thread from the journal, with the names of those who wrote."""
    run = RunReader.open(folder)
    names = run.people().frame.select(author="id", name="name")
    posts = run.history("posts").join(names, on="author", how="left", maintain_order="left")
    return len(posts.partition_by("thread", maintain_order=True))


if __name__ == "__main__":
    main()
