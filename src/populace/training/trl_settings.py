"""What every training through TRL shares: its settings, its tokens, and what is recorded of it."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
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


_LAUNCHERS = (
    "ACCELERATE_", "FSDP_", "GROUP_", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_", "MPI_", "MV2_", "OMPI_", "PMI_",
    "RANK", "ROLE_", "SMDATAPARALLEL_", "TORCHELASTIC_", "WORLD_SIZE",
)  # fmt: skip
"""How the variables begin with which launchers of distributed trainings speak to accelerate."""


@contextmanager
def trl_arguments(settings: MethodSettings, weight: Any, **more: Any) -> Iterator[Mapping[str, Any]]:
    """The arguments that TRL's configurations share; nothing is reported, downloaded or left on the disk.

    While they are used, what the environment says about other trainings, such as ranks of a launcher, does not count.

    Args:
        settings: The settings.
        weight: One of the network, which has its device and its numbers.
        more: Further arguments.
    """
    torch = training_library("torch")
    # The seed of PyTorch is global; what was there before is put back.
    state = torch.get_rng_state()
    try:
        with ExitStack() as stack:
            stack.enter_context(_silence())
            stack.enter_context(_one_process())
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="populace-trl-"))
            yield {
                "output_dir": folder,
                "learning_rate": settings.learning_rate,
                "beta": settings.kl,
                "seed": settings.seed,
                "use_cpu": weight.device.type == "cpu",
                "bf16": weight.dtype == torch.bfloat16,
                "report_to": "none",
                "save_strategy": "no",
                "logging_steps": 1,
                "disable_tqdm": True,
                "gradient_checkpointing": False,
                "dataloader_num_workers": 0,
                # Leaving columns out, even none, is a change of a dataset, which `datasets` would name by pickling.
                "remove_unused_columns": False,
                **more,
            }
    finally:
        torch.set_rng_state(state)


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing is printed, and TRL does not tell its makers that it is used."""
    bars = training_library("transformers").utils.logging
    hub = training_library("huggingface_hub.constants")
    loggers = [logging.getLogger(name) for name in ("transformers", "trl", "accelerate")]
    before = [each.level for each in loggers], bars.is_progress_bar_enabled(), hub.HF_HUB_DISABLE_TELEMETRY
    for each in loggers:
        each.setLevel(logging.ERROR)
    bars.disable_progress_bar()
    hub.HF_HUB_DISABLE_TELEMETRY = True
    try:
        yield
    finally:
        levels, has_bars, hub.HF_HUB_DISABLE_TELEMETRY = before
        if has_bars:
            bars.enable_progress_bar()
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)


@contextmanager
def _one_process() -> Iterator[None]:
    """Training is done in this process alone, whatever launcher started it."""

    def names() -> list[str]:
        return [name for name in os.environ if name.startswith(_LAUNCHERS)]

    before = {name: os.environ.pop(name) for name in names()}
    try:
        yield
    finally:
        for name in names():
            del os.environ[name]
        os.environ.update(before)


def one_device(configuration: Any) -> Any:
    """A configuration of TRL that uses one GPU where there are several, so that a batch is what the settings say."""
    if configuration.n_gpu > 1:
        configuration._n_gpu = 1
    return configuration


def trl_dataset(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Columns in the form that TRL takes.

    `datasets` names a dataset by a hash of all that it holds, for which it pickles; not every version of its libraries
    can be pickled. The name serves its cache on the disk, which is not used here, so that any name does.

    Args:
        columns: The columns.
    """
    datasets = training_library("datasets")
    return datasets.Dataset(datasets.table.InMemoryTable.from_pydict(dict(columns)), fingerprint="populace")


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
