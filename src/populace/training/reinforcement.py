"""Reinforcement (GRPO): the network replies, a rule or a judge rewards, and rewarded replies become likelier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

Reward = Callable[[pl.DataFrame], Sequence[float]]
"""The reward of replies: takes a table with the columns of the prompts and `reply`, and gives a number for each row."""


class ReinforcementSettings(MethodSettings):
    """How rewards are learned.

    Example:
        >>> ReinforcementSettings(steps=10).group
        8
    """

    steps: int = pydantic.Field(default=100, ge=1, le=1_000_000, description="How many steps are made.")
    group: int = pydantic.Field(default=8, ge=2, le=1024, description="Replies to one prompt, which are compared.")
    max_tokens: int = pydantic.Field(default=1, ge=1, le=4096, description="The longest reply, in tokens.")
    temperature: float = pydantic.Field(default=1.0, gt=0, le=10, description="The temperature of replies.")

    @pydantic.model_validator(mode="after")
    def _whole_groups(self) -> ReinforcementSettings:
        if self.batch % self.group:
            raise ValueError(f"a batch of {self.batch} replies is no whole number of groups of {self.group}")
        return self


def reinforce(
    model: Any, vocabulary: ModelVocabulary, prompts: pl.DataFrame, reward: Reward, settings: ReinforcementSettings
) -> list[float]:
    """Train a network with TRL's GRPO on its own replies; prompts have the tokens that a run would send.

    Args:
        model: The network, as `load_base` gives it, with an adapter. What it was before training is the reference.
        vocabulary: Its tokens.
        prompts: A row for each prompt with `system`, `user` and `lead`; other columns are passed to the reward.
        reward: Rewards replies.
        settings: How to train.

    Returns:
        The mean reward of each step.
    """
    missing = [name for name in ("system", "user", "lead") if name not in prompts.columns]
    if missing or not prompts.height:
        raise TrainingError("reinforcement needs prompts with the columns system, user and lead.")
    trl = training_library("trl")
    tokens = vocabulary.tokenizer.prompts([prompt_request(row) for row in prompts.iter_rows(named=True)])

    class TokenGRPO(trl.GRPOTrainer):  # type: ignore[misc,name-defined]
        """TRL's trainer on prompts that are named by their row and are tokens already."""

        def _tokenize_prompts(self, names: list[str]) -> Any:
            return [list(tokens[int(name)]) for name in names], None, {}

    def rewards(prompts: list[str], completions: list[str], **_: Any) -> list[float]:  # TRL passes these by name.
        return _checked(reward, table[[int(name) for name in prompts]].with_columns(reply=pl.Series(completions)))

    table = prompts
    more = {
        "per_device_train_batch_size": settings.batch,
        "max_steps": settings.steps,
        "num_generations": settings.group,
        "max_completion_length": settings.max_tokens,
        "temperature": settings.temperature,
        "mask_truncated_completions": False,
        "scale_rewards": "group",
    }
    use_cache, model.config.use_cache = model.config.use_cache, True
    try:
        with trl_arguments(settings, next(model.parameters()), **more) as arguments:
            trainer = TokenGRPO(
                model=model,
                reward_funcs=rewards,
                args=one_device(trl.GRPOConfig(**arguments)),
                train_dataset=trl_dataset({"prompt": [str(row) for row in range(prompts.height)]}),
                processing_class=trl_tokenizer(vocabulary),
            )
            with enough_memory(
                f"{settings.batch} replies at once", "Lower `batch` under `reinforcement:` in the plan."
            ):
                quiet_trainer(trainer).train()
    finally:
        model.config.use_cache = use_cache
        remove_reference(model)
    return [float(entry["reward"]) for entry in trainer.state.log_history if "reward" in entry]


def _checked(reward: Reward, replies: pl.DataFrame) -> list[float]:
    numbers = [float(number) for number in reward(replies)]
    if len(numbers) != replies.height:
        raise TrainingError(f"the reward gave {len(numbers)} numbers for {replies.height} replies.")
    if not pl.Series(numbers, dtype=pl.Float64).is_finite().all():
        raise TrainingError("the reward gave a number that is not finite.", "Give 0 where nothing can be said.")
    return numbers
