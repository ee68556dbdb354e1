"""What every training through TRL shares: its settings, its tokens, and what is recorded of it."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pydantic

from populace.base.errors import TrainingError
from populace.training.base_network import training_library
from populace.training.sequences import ModelVocabulary


class MethodSettings(pydantic.BaseModel):
    """What preference training and reinforcement have in common."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    learning_rate: float = pydantic.Field(default=1e-4, gt=0, le=1, description="The learning rate; it falls to 0.")
    kl: float = pydantic.Field(
        default=0.1, ge=0, le=100, description="How strongly the network is held to what it was before (beta)."
    )
    batch: int = pydantic.Field(default=16, ge=2, le=4096, description="Replies in a step.")
    seed: int = 0


@contextmanager
def trl_arguments(settings: MethodSettings, device: str, **more: Any) -> Iterator[Mapping[str, Any]]:
    """The arguments that TRL's configurations share; nothing is reported, downloaded or left on the disk.

    Args:
        settings: The settings.
        device: `cpu` or `cuda`.
        more: Further arguments.
    """
    transformers, torch = training_library("transformers"), training_library("torch")
    transformers.utils.logging.disable_progress_bar()
    loggers = [logging.getLogger(name) for name in ("transformers", "trl", "accelerate")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.ERROR)
    # The seed of PyTorch is global; what was there before is put back.
    state = torch.get_rng_state()
    try:
        with tempfile.TemporaryDirectory(prefix="populace-trl-") as folder:
            yield {
                "output_dir": folder,
                "learning_rate": settings.learning_rate,
                "beta": settings.kl,
                "seed": settings.seed,
                "use_cpu": device == "cpu",
                "bf16": device == "cuda",
                "report_to": "none",
                "save_strategy": "no",
                "logging_steps": 1,
                "disable_tqdm": True,
                "gradient_checkpointing": False,
                "dataloader_num_workers": 0,
                **more,
            }
    finally:
        torch.set_rng_state(state)
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)


def trl_tokenizer(vocabulary: ModelVocabulary) -> Any:
    """The tokens of a model as transformers has them.

    Args:
        vocabulary: The tokens.
    """
    end = vocabulary.tokenizer.texts[vocabulary.tokenizer.end]
    tokenizer = training_library("transformers").PreTrainedTokenizerFast(
        tokenizer_object=vocabulary.tokenizer.backend, eos_token=end, pad_token=end
    )
    if tokenizer.eos_token_id != vocabulary.tokenizer.end:
        raise TrainingError(f"the token {end!r} that ends a reply has no single number.", "Name another base.")
    return tokenizer


def quiet_trainer(trainer: Any) -> Any:
    """A trainer of transformers that prints nothing."""
    callback = training_library("transformers").trainer_callback.PrinterCallback
    trainer.remove_callback(callback)
    return trainer


def remove_reference(model: Any) -> None:
    """Remove the copy of an adapter that TRL compares with, so that the next training makes a new one."""
    if "ref" in getattr(model, "peft_config", {}):
        model.delete_adapter("ref")
        model.set_adapter("default")
