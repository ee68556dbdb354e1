"""A fixed set of runs still gives the answers, metrics and prompts that were recorded.

A change of shape leaves every digest as it is. A change that is meant to alter behaviour writes them
anew with `python tests/test_recorded_behaviour.py`, and its commit says why.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from populace import Run, simulate
from populace.scenarios.discussion import Discussion
from populace.scenarios.epidemic import Epidemic
from populace.scenarios.forum import Forum
from populace.scenarios.market import Market
from populace.scenarios.norms import Norms
from populace.scenarios.party import Party
from support.forums import SMALL, writer
from support.society import debater, resident

DIGESTS = Path(__file__).parent / "recorded_behaviour.json"

RUNS: dict[str, Callable[[], Run]] = {
    "norms": lambda: simulate(Norms(), model="scripted:uniform", seed=1, keep="nothing"),
    "norms, another wording, order and labels": lambda: simulate(
        Norms(workers=12, days=3),
        model="scripted:uniform",
        seed=2,
        temperature=0.7,
        variation={"wording": "headed", "order": "rotate", "labels": True, "names": 3},
        keep="nothing",
    ),
    "norms by rule, with interventions": lambda: simulate(
        Norms(workers=12, days=4),
        decider="rule",
        seed=3,
        interventions=[{"kind": "announce", "at": 2, "text": "Today is green day.", "steps": 1}],
        keep="nothing",
    ),
    "epidemic": lambda: simulate(Epidemic(), model="scripted:uniform", seed=1, keep="nothing"),
    "party": lambda: simulate(Party(embedder="hashing"), model=resident(0.8, talks=0.8), seed=1, keep="nothing"),
    "forum": lambda: simulate(Forum(design=SMALL, expand=False), model=writer(), seed=3, keep="nothing"),
    "discussion": lambda: simulate(Discussion(embedder="hashing"), model=debater(), seed=1, keep="nothing"),
    "market by rule": lambda: simulate(Market(), decider="rule", seed=1, keep="nothing"),
}


def digests(run: Run) -> dict[str, str]:
    answers = run.answers()
    texts = run.prompts()
    return {
        "answers": _digest(answers.select("step", "path", "person", "value", pl.col("status").cast(pl.String))),
        "metrics": _digest(run.metrics),
        "prompts": _digest(texts.select("step", "system", "user", "arrangement")) if texts.height else "",
    }


def _digest(table: pl.DataFrame) -> str:
    return hashlib.blake2b(table.write_csv(float_precision=9).encode(), digest_size=8).hexdigest()


@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_what_was_recorded(name: str) -> None:
    assert digests(RUNS[name]()) == json.loads(DIGESTS.read_text())[name]


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps({name: digests(make()) for name, make in RUNS.items()}, indent=2) + "\n")
