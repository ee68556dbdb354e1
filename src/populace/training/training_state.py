"""The state of a training on disk, as safetensors: numbers and plain facts, nothing that could run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from populace.base.documents import DocumentError, parse_json_object
from populace.base.errors import RunBusyError, StorageError, TrainingError
from populace.base.locks import acquire
from populace.training.base_network import training_library

STATE, BEST = "state.safetensors", "best.safetensors"
"""The files of the last state and of the best weights."""
_FACTS = "facts"


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from training in the same folder; it is made where it is not there yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("a", encoding="utf-8")
    except OSError as error:
        raise StorageError.not_writable(folder, error) from error
    with file:
        try:
            acquire(file)
        except BlockingIOError:
            raise RunBusyError(
                f"another process is training in {folder}.", "Wait for it to end, or name another folder with --to."
            ) from None
        yield


def write_text(path: Path, text: str) -> None:
    """Write a text; the file is there as a whole or not at all."""
    try:
        beside = path.with_name(f".{path.name}.new")
        beside.write_text(text, "utf-8")
        beside.replace(path)
    except OSError as error:
        raise StorageError.not_writable(path, error) from error


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
    with _opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, _facts(file)  # noqa: SIM118


def read_facts(path: Path) -> dict[str, Any]:
    """The facts of a file alone; none where there is no file.

    Raises:
        TrainingError: If the file is damaged.
    """
    if not path.is_file():
        return {}
    with _opened(path) as file:
        return _facts(file)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    safetensors = training_library("safetensors")
    try:
        with safetensors.safe_open(path, "pt") as file:
            yield file
    except (OSError, DocumentError, safetensors.SafetensorError) as error:
        raise TrainingError(f"{path} is damaged: {error}.", "Remove it; training then begins anew.") from error


def _facts(file: Any) -> dict[str, Any]:
    return parse_json_object((file.metadata() or {}).get(_FACTS, "{}"))


def enter_weights(trained: Mapping[str, Any], weights: Mapping[str, Any]) -> None:
    """Copy weights into the parameters of a network that is trained."""
    torch = training_library("torch")
    if set(weights) != set(trained) or any(weights[name].shape != each.shape for name, each in trained.items()):
        raise TrainingError("the state in the folder belongs to another network.", "Name another folder.")
    with torch.no_grad():
        for name, each in trained.items():
            each.copy_(weights[name])
