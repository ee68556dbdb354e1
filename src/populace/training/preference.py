"""Preference training (DPO): of two replies to one prompt, the better one becomes likelier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import pydantic

from populace.base.errors import TrainingError
from populace.training.base_network import enough_memory, training_library
from populace.training.decision_records import prompt_request
from populace.training.sequences import ModelVocabulary
from populace.training.trl_settings import (
    MethodSettings,
    one_device,
    quiet_trainer,
    remove_reference,
    trl_arguments,
    trl_dataset,
    trl_tokenizer,
)

PAIR_SCHEMA: Mapping[str, pl.DataType] = {
    "system": pl.String(),
    "user": pl.String(),
    "lead": pl.String(),
    "better": pl.String(),
    "worse": pl.String(),
    "origin": pl.String(),
    "licence": pl.String(),
}
"""The columns of preference pairs."""


@dataclass(frozen=True)
class PreferencePairs:
    """Pairs of replies to one prompt, a row for each.

    The columns are `system` and `user` (the messages), `lead` (how the reply begins), `better` and `worse` (the two
    replies after the lead), `origin` and `licence`.

    Attributes:
        table: The pairs.

    Example:
        >>> rows = [{"user": "Tea or coffee?", "lead": "Answer:", "better": " tea", "worse": " coffee"}]
        >>> len(PreferencePairs.of(rows))
        1
    """

    table: pl.DataFrame

    def __post_init__(self) -> None:
        missing = [name for name in PAIR_SCHEMA if name not in self.table.columns]
        if missing:
            raise TrainingError(f"preference pairs need the column {missing[0]!r}.", f"All: {', '.join(PAIR_SCHEMA)}.")
        same = self.table.filter(pl.col("better") == pl.col("worse"))
        if same.height:
            raise TrainingError(
                f"the better and the worse reply to {same['user'][0][-60:]!r} are the same: {same['better'][0]!r}.",
                "Leave such pairs out; nothing can be learned from them.",
            )
        if self.table.null_count().sum_horizontal().sum():
            raise TrainingError("a preference pair lacks a value.", "Leave it out, or give an empty text.")

    def __len__(self) -> int:
        return self.table.height

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, object]]) -> PreferencePairs:
        """Pairs from rows; what is left out is empty."""
        blank = {"system": "", "lead": "", "origin": "", "licence": ""}
        return cls(pl.DataFrame([blank | dict(row) for row in rows], schema=dict(PAIR_SCHEMA)))


class PreferenceSettings(MethodSettings):
    """How preferences are learned.

    Example:
        >>> PreferenceSettings(passes=2).kl
        0.1
    """

    kl: float = pydantic.Field(
        default=0.1, gt=0, le=100, description="As for every method; at 0 there would be nothing to learn from."
    )
    passes: int = pydantic.Field(default=1, ge=1, le=1000, description="How often all pairs are gone through.")
    anchor: float = pydantic.Field(
        default=1.0, ge=0, le=100,
        description="The weight of the likelihood of the better reply. At 0 only the difference of replies counts, "
        "and both may become unlikely.",
    )  # fmt: skip


def learn_preferences(
    model: Any, vocabulary: ModelVocabulary, pairs: PreferencePairs, settings: PreferenceSettings
) -> list[float]:
    """Train a network on preference pairs with TRL's DPO; prompts have the tokens that a run would send.

    Args:
        model: The network, as `load_base` gives it, with an adapter. What it was before training is the reference.
        vocabulary: Its tokens.
        pairs: The pairs.
        settings: How to train.

    Returns:
        The loss of each step.
    """
    if not len(pairs):
        raise TrainingError("there are no preference pairs to learn from.", "Score more decisions.")
    trl = training_library("trl")

    class TokenDPO(trl.DPOTrainer):  # type: ignore[misc,name-defined]
        """TRL's trainer on tokens that are there already."""

        def _prepare_dataset(self, dataset: Any, *_: Any, **__: Any) -> Any:
            return dataset

    more: dict[str, Any] = {
        "per_device_train_batch_size": min(settings.batch, len(pairs)),
        "num_train_epochs": settings.passes,
        "max_length": None,
    }
    if settings.anchor:
        more |= {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, settings.anchor]}
    try:
        with trl_arguments(settings, next(model.parameters()), **more) as arguments:
            trainer = TokenDPO(
                model=model,
                args=one_device(trl.DPOConfig(**arguments)),
                train_dataset=trl_dataset(_token_columns(pairs, vocabulary)),
                processing_class=trl_tokenizer(vocabulary),
            )
            with enough_memory(f"{settings.batch} pairs at once", "Lower `batch` under `preference:` in the plan."):
                quiet_trainer(trainer).train()
    finally:
        remove_reference(model)
    return [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]


def _token_columns(pairs: PreferencePairs, vocabulary: ModelVocabulary) -> dict[str, list[list[int]]]:
    prompts = vocabulary.tokenizer.prompts([prompt_request(row) for row in pairs.table.iter_rows(named=True)])
    end = vocabulary.tokenizer.end
    return {
        "prompt_ids": [list(prompt) for prompt in prompts],
        "chosen_ids": [[*vocabulary.answer(reply), end] for reply in pairs.table["better"]],
        "rejected_ids": [[*vocabulary.answer(reply), end] for reply in pairs.table["worse"]],
    }
