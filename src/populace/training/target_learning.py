"""Shares as targets: the network learns how often each option of a prompt should be chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pydantic

from populace.base.errors import TrainingError
from populace.base.randomness import stream
from populace.training.examples import TrainingExamples
from populace.training.human_targets import Shares
from populace.training.sequences import ModelVocabulary
from populace.training.supervised import Trainer
from populace.training.supervised_settings import SupervisedSettings


class TargetSettings(pydantic.BaseModel):
    """How the shares of options are learned in a round.

    Example:
        >>> TargetSettings(passes=2).batch
        16
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    learning_rate: float = pydantic.Field(default=5e-4, gt=0, le=1, description="The highest learning rate.")
    passes: int = pydantic.Field(default=1, ge=1, le=1000, description="How often all decisions are gone through.")
    batch: int = pydantic.Field(default=16, ge=1, le=4096, description="Packed sequences in a step.")
    length: int = pydantic.Field(default=1024, ge=32, le=32_768, description="Tokens in a packed sequence.")
    kl: float = pydantic.Field(
        default=0.2, gt=0, le=100,
        description="With scores: how strongly the targets are held to what the network answered before. "
        "Shares of people are taken as they are.",
    )  # fmt: skip
    seed: int = 0


_LEAST_CHANCE = 1e-6
"""What every option has at least before it is scored, so that each can become likelier."""


def best_shares(chances: Shares, scores: Shares, kl: float) -> Shares:
    """The shares of options with the highest expected score, less `kl` times their divergence from earlier chances.

    They are in proportion to `chances * exp(scores / kl)`: what reinforcement with the same leash would approach.

    Args:
        chances: How likely each option was.
        scores: The score of each option; NaN where there is none, and then all shares are NaN.
        kl: The leash.

    Example:
        >>> best_shares(np.array([0.5, 0.5]), np.array([1.0, 0.0]), kl=1.0).round(2).tolist()
        [0.73, 0.27]
    """
    exponents = np.log(np.maximum(chances, _LEAST_CHANCE)) + scores / kl
    weights = np.exp(exponents - exponents.max())
    shares: Shares = weights / weights.sum()
    return shares


@dataclass(frozen=True)
class DecisionTargets:
    """Decisions with the shares that their options should have, as a source of examples.

    Attributes:
        table: The decisions, as `sample_decisions` gives them.
        shares: For each the shares; rows with NaN are left out.
        origin: Where the shares come from.
        seed: The seed of the order.
    """

    table: pl.DataFrame
    shares: Sequence[Shares]
    origin: str
    seed: int = 0
    parts: int = 1

    def __len__(self) -> int:
        return sum(not np.isnan(each).any() for each in self.shares)

    def examples(self, part: int, pass_number: int = 0) -> TrainingExamples:
        """All decisions that have shares, in the order of a pass."""
        rows = zip(self.table.iter_rows(named=True), self.shares, strict=True)
        examples = [
            {
                **{name: row[name] for name in ("system", "user", "lead", "person")},
                "answers": row["replies"], "shares": shares.tolist(), "origin": self.origin,
            }
            for row, shares in rows
            if not np.isnan(shares).any()
        ]  # fmt: skip
        order = stream(self.seed, f"targets/{pass_number}").permutation(len(examples))
        return TrainingExamples.of([examples[place] for place in order])


def learn_targets(
    model: Any, vocabulary: ModelVocabulary, targets: DecisionTargets, settings: TargetSettings
) -> list[float]:
    """Train a network on shares; prompts have the tokens that a run would send.

    Args:
        model: The network, as `load_base` gives it, with an adapter.
        vocabulary: Its tokens.
        targets: The decisions and their shares.
        settings: How to train.

    Returns:
        The mean loss.
    """
    if not len(targets):
        raise TrainingError("there are no decisions with shares to learn from.", "Sample more decisions.")
    chosen = SupervisedSettings(
        length=settings.length, batch=settings.batch, learning_rate=settings.learning_rate, pool=1, seed=settings.seed
    )
    trainer = Trainer(model, vocabulary, chosen)
    trainer.train([targets], [settings.passes])
    trainer.attention.network.set_attn_implementation("sdpa")
    return [look.loss for look in trainer.looks]
