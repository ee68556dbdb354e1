"""Models as raters of the discrimination test."""

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
    pairs: Sequence[Pair], model: str | Model | ModelCaller, ratings: Ratings, *, workspace: str | Path | None = None
) -> int:
    """Have a model say for each pair which conversation is real, and add its answers to the ratings.

    Args:
        pairs: The pairs; those that this model has rated before are skipped.
        model: The model that rates, its name, or a model with limits. Its name is the name of the rater.
        ratings: Where the answers go.
        workspace: The workspace whose call store is used; without one, calls are not stored.

    Returns:
        How many pairs were rated.
    """
    caller = model if isinstance(model, ModelCaller) else ModelCaller(model)
    rater = caller.spec
    unrated = ratings.unrated(pairs, rater)
    if not unrated:
        return 0
    texts = [pair.texts(rater) for pair in unrated]
    rows = pl.DataFrame(
        {
            "community": [pair.real.community for pair in unrated],
            "goal": [f"Its purpose: {pair.goal}\n" if pair.goal else "" for pair in unrated],
            "first": [first for first, _ in texts],
            "second": [second for _, second in texts],
        }
    )
    answers, _ = caller.ask(
        rows,
        QUESTION,
        profile="You know online communities well.",
        given=GIVEN,
        store=Workspace(workspace).store() if workspace is not None else MemoryCallStore(),
        purpose="discern",
    )
    has_probabilities = answers.probabilities is not None
    chances = answers.distribution["first"].to_list() if has_probabilities else [None] * len(unrated)
    ratings.add(
        [
            pair.rating(rater, "model", chosen, chance)
            for pair, chosen, chance in zip(unrated, answers.values.to_list(), chances, strict=True)
        ]
    )
    return len(unrated)
