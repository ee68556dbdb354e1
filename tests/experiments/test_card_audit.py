"""A part of the audit of the validity card (benchmarks/card.py): planted faults are found, clean models pass."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


def benchmark(name: str) -> Any:
    """A module of benchmarks; the folder stays out of the path, since its names are those of folders here."""
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


card = benchmark("card")
SEEDS = 3


@pytest.mark.parametrize(("name", "kind", "reply", "sampled"), card.FAULTS, ids=lambda value: str(value)[:20])
def test_a_planted_fault_is_found(name: str, kind: str, reply: Any, sampled: bool) -> None:
    for seed in range(SEEDS):
        assert card.card_of(reply, sampled, seed)[name] == "fail"


@pytest.mark.parametrize("sampled", [False, True])
def test_a_clean_model_raises_no_alarm(sampled: bool) -> None:
    reply = card.spoken(card.clean) if sampled else card.clean
    for seed in range(SEEDS):
        verdicts = card.card_of(reply, sampled, seed)
        assert not [name for name, verdict in verdicts.items() if verdict == "fail"]
        assert verdicts["position bias"] == "pass" or sampled
        assert sampled or verdicts["refusals"] == "not measured"


@pytest.mark.parametrize("sampled", [False, True])
def test_words_that_draw_are_told_from_words_that_do_not(sampled: bool) -> None:
    replies = [card.spoken(reply) if sampled else reply for reply in (card.worded, card.meant)]
    assert card.label_verdict(replies[0], sampled, 1) == "fail"
    assert card.label_verdict(replies[1], sampled, 1) != "fail"
