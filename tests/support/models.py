"""Scripted models for tests."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping

from populace.models import Request, Scripted


def varied(request: Request) -> Mapping[str, float] | str:
    """An answer of every kind that depends on nothing but the prompt."""
    digest = hashlib.sha256(repr(request.messages).encode()).digest()
    asked = request.messages[-1][1]
    if request.options:
        weights = [1 + digest[i] for i in range(len(request.options))]
        return {option: weight / sum(weights) for option, weight in zip(request.options, weights, strict=True)}
    if request.schema:
        return json.dumps({"cups": digest[0] % 5, "sugar": "yes" if digest[1] % 2 else "no"})
    if "whole number" in asked:
        return str(digest[0] % 20)
    return f"I say {digest[:3].hex()} with seed {request.seed}."


def leaning(share: float) -> Scripted:
    """A model that takes the first declared option with a given probability, whatever it is told."""
    return Scripted(lambda request: {"blue": share, "green": 1 - share}, spec=f"scripted:leaning-{share}")


class Counting(Scripted):
    """`varied`, with a count of what was asked."""

    def __init__(self, **options: object) -> None:
        super().__init__(varied, spec="scripted:counting", **options)  # type: ignore[arg-type]


def unhurried(request: Request) -> Mapping[str, float] | str:
    """`varied`, after a moment, so that something is under way when a part of a cluster is lost."""
    time.sleep(0.02)
    return varied(request)


def mortal(request: Request) -> Mapping[str, float] | str:
    """`varied`; on a cluster, the first process that is asked dies once."""
    mark = os.environ.get("POPULACE_TEST_DEATH", "")
    if mark and "ray" in sys.modules:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            os._exit(1)
    return varied(request)
