"""A forum of ten thousand people and a thousand threads, and how soon its threads are read back."""

from __future__ import annotations

import random
import tempfile
import time

from measure import Result, Steps, quickest, report

from populace import simulate
from populace.models import Request, Scripted
from populace.reading import Reading
from populace.scenarios.forum import Design, Forum

WORDS = (
    "loose fuse spring screw wire hinge switch belt plug lamp motor seal thread patch needle lens battery valve gear "
    "kettle clock radio chair zip handle drum filter brush magnet solder clamp washer bolt rivet glue string cord"
).split()
PEOPLE, THREADS = 10_000, 1_000
DESIGN = Design.read("repair-bench").model_copy(
    update={"people": PEOPLE, "posts": THREADS, "together": THREADS, "reply_chance": 0.9}
)


def reply(request: Request) -> str:
    """A few plain sentences, different for every seed."""
    words = random.Random(request.seed).choices(WORDS, k=18)
    return f"Mine had a {' '.join(words[:8])}. Then I tried {' '.join(words[8:])} and it held."


def main() -> None:
    watch = Steps()
    with tempfile.TemporaryDirectory() as folder:
        forum = Forum(design=DESIGN, expand=False)
        began = time.perf_counter()
        run = simulate(forum, model=Scripted(reply, spec="scripted:forum"), seed=1, workspace=folder, watch=watch)
        whole = time.perf_counter() - began
        utterances = len(forum.board)
        seconds = quickest(3, lambda: _threads(Reading.open(run.folder)))
    spent = sum(watch.seconds)
    detail = f"{utterances:,} utterances in {spent:.2f} s of steps, {whole:.2f} s with the beginning"
    report(
        [
            Result("a forum of 10,000, 1,000 threads", utterances / spent, "utterances/s", 5000.0, detail=detail),
            Result("its threads read back", seconds, "s", 1.0, at_most=True),
        ]
    )


def _threads(run: Reading) -> int:
    """Every thread from the journal, with the names of those who wrote."""
    names = run.people().frame.select(author="id", name="name")
    posts = run.history("posts").join(names, on="author", how="left", maintain_order="left")
    return len(posts.partition_by("thread", maintain_order=True))


if __name__ == "__main__":
    main()
