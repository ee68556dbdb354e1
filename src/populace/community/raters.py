"""Models as raters of the discrimination test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from populace.broker import MemoryCallStore
from populace.community.discrimination import Pair, Ratings
from populace.community.model_caller import ModelCaller
from populace.engine.workspace import Workspace
from populace.models import Model
from populace.questions import Choice

QUESTION = Choice(
    "One of these conversations was written by people of the community, the other by a machine. "
    "Which one was written by people?",
    options=("first", "second"),
)
GIVEN = "Community: {community}\n{goal}First conversation:\n{first}\n\nSecond conversation:\n{second}"


def rate_by_model(
    among: Sequence[Pair], model: str | Model | ModelCaller, ratings: Ratings, *, workspace: str | Path | None = None
) -> int:
    """Have a model say of each pair which one is real; pairs that it answered before are passed over.

    Args:
        among: The pairs.
        model: Who rates, or how it is asked; its name is the rater's.
        ratings: Where the answers are kept.
        workspace: Where the call store is; without one, nothing is stored.

    Returns:
        How many pairs were rated.
    """
    asking = model if isinstance(model, ModelCaller) else ModelCaller(model)
    spec = asking.spec
    asked = list(ratings.left(among, spec))
    if not asked:
        return 0
    texts = [pair.texts(spec) for pair in asked]
    rows = pl.DataFrame(
        {
            "community": [pair.real.community for pair in asked],
            "goal": [f"Its purpose: {pair.goal}\n" if pair.goal else "" for pair in asked],
            "first": [first for first, _ in texts],
            "second": [second for _, second in texts],
        }
    )
    answers, _ = asking.ask(
        rows,
        QUESTION,
        profile="You know online communities well.",
        given=GIVEN,
        store=Workspace(workspace).store() if workspace is not None else MemoryCallStore(),
        purpose="discern",
    )
    known = answers.probabilities is not None
    chances = answers.distribution["first"].to_list() if known else [None] * len(asked)
    ratings.add(
        [
            pair.rating(spec, "model", chosen, chance)
            for pair, chosen, chance in zip(asked, answers.values.to_list(), chances, strict=True)
        ]
    )
    return len(asked)
