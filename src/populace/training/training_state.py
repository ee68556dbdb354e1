"""The state of a training on disk, as safetensors: numbers and plain facts, nothing that could run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from populace.base.documents import DocumentError, parse_json_object
from populace.base.errors import TrainingError
from populace.training.base_network import training_library

STATE, BEST = "state.safetensors", "best.safetensors"
"""The files of the last state and of the best weights."""
_FACTS = "facts"


def write_state(path: Path, tensors: Mapping[str, Any], facts: Mapping[str, Any] | None = None) -> None:
    """Write tensors and facts; the file is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    copies = {name: each.detach().cpu().contiguous() for name, each in tensors.items()}
    training_library("safetensors.torch").save_file(copies, new, {_FACTS: json.dumps(facts or {})})
    new.replace(path)


def read_state(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tensors and the facts of a file.

    Raises:
        TrainingError: If the file is damaged.
    """
    safetensors = training_library("safetensors")
    try:
        with safetensors.safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, parse_json_object((file.metadata() or {}).get(_FACTS, "{}"))
    except (OSError, DocumentError, safetensors.SafetensorError) as error:
        raise TrainingError(f"{path} is damaged: {error}.", "Remove it; training then begins anew.") from error


def enter_weights(trained: Mapping[str, Any], weights: Mapping[str, Any]) -> None:
    """Copy weights into the parameters of a network that is trained."""
    torch = training_library("torch")
    if set(weights) != set(trained) or any(weights[name].shape != each.shape for name, each in trained.items()):
        raise TrainingError("the state in the folder belongs to another network.", "Name another folder.")
    with torch.no_grad():
        for name, each in trained.items():
            each.copy_(weights[name])
