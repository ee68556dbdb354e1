"""The model that an adapter changes: its hash, its family, and the shapes of its matrices."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from populace.base.documents import DocumentError, read_json
from populace.base.errors import ModelFileError
from populace.models.adapters import Adapter
from populace.models.artifacts import sha256
from populace.models.bert import read_safetensors
from populace.models.gguf_header import read_header
from populace.models.tensor_layout import gguf_name

_NEVER = frozenset({"token_embd.weight"})
"""Matrices that adapters may not change: they are read by row."""


@dataclass(frozen=True)
class AdapterBase:
    """A model whose weights an adapter may change.

    Attributes:
        path: A GGUF file, or a folder in the format of transformers.
        sha256: Identifies its content.
        family: Its family, such as `llama`.
        heads: How many attention heads a layer has.
        kv_heads: How many of them have keys and values of their own.
        shapes: The shapes (outputs, inputs) of its matrices, by their names in a GGUF file.
    """

    path: Path
    sha256: str
    family: str
    heads: int
    kv_heads: int
    shapes: Mapping[str, tuple[int, ...]]

    def check(self, adapter: Adapter) -> None:
        """Raise ModelFileError if an adapter is not one for this base.

        Args:
            adapter: The adapter.
        """
        card = adapter.card
        if card.base_sha256 and card.base_sha256 != self.sha256:
            raise ModelFileError(
                f"the adapter {card.name} changes {card.base_name} (SHA-256 {card.base_sha256[:16]}…), and "
                f"{self.path.name} is another model (SHA-256 {self.sha256[:16]}…).",
                f"Use it with {card.base_name}, or train one for this model.",
            )
        if adapter.family and adapter.family != self.family:
            raise ModelFileError(
                f"the adapter {card.name} is for the family {adapter.family!r}, and {self.path.name} is of the family "
                f"{self.family!r}.",
                f"Use it with {card.base_name}.",
            )
        for name, (a, b) in adapter.tensors.items():
            shape = None if name in _NEVER else self.shapes.get(name)
            if shape is None or len(shape) != 2:
                raise ModelFileError(
                    f"the adapter {card.name} changes {name}, which is no matrix of {self.path.name} that an adapter "
                    "may change.",
                    f"Use it with {card.base_name}.",
                )
            if shape != (b.shape[0], a.shape[1]):
                raise ModelFileError(
                    f"the adapter {card.name} has the shape {b.shape[0]} × {a.shape[1]} for {name}, which is "
                    f"{shape[0]} × {shape[1]} in {self.path.name}.",
                    f"Use it with {card.base_name}.",
                )


def read_base(path: str | Path, digest: str | None = None) -> AdapterBase:
    """Read what is needed to know whether an adapter fits.

    Args:
        path: A GGUF file, or a folder in the format of transformers.
        digest: Its SHA-256, if it is known already.
    """
    place = Path(path)
    try:
        return (_folder if place.is_dir() else _file)(place, digest or weights_sha256(place))
    except (KeyError, TypeError, ValueError, ArithmeticError, OSError) as error:
        raise ModelFileError(
            f"{place} could not be read as a model: {' '.join(str(error).split())[:300]}.",
            "The file may be cut short; fetch it again.",
        ) from error


def weights_sha256(path: Path) -> str:
    """A hash of weights and tokenizer: that of a file, or one of all files in a folder of transformers."""
    if path.is_file():
        return sha256(path)
    kinds = (".json", ".safetensors", ".jinja")
    names = sorted(each.name for each in path.iterdir() if each.suffix in kinds and each.is_file())
    content = json.dumps({name: sha256(path / name) for name in names}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _file(path: Path, digest: str) -> AdapterBase:
    header = read_header(path)
    family = str(header.values["general.architecture"])
    heads = int(header.values[f"{family}.attention.head_count"])
    kv_heads = int(header.values.get(f"{family}.attention.head_count_kv", heads))
    shapes = {name: place.shape for name, place in header.tensors.items()}
    return AdapterBase(path, digest, family, heads, kv_heads, shapes)


def _folder(path: Path, digest: str) -> AdapterBase:
    try:
        config: dict[str, Any] = read_json(path / "config.json")
    except DocumentError as error:
        raise ValueError(f"config.json: {error}") from error
    heads = int(config["num_attention_heads"])
    shapes = {}
    for file in sorted(path.glob("*.safetensors")):
        for name, array in read_safetensors(file).items():
            known = gguf_name(name)
            if known is not None:
                shapes[known] = tuple(array.shape)
    kv_heads = int(config.get("num_key_value_heads") or heads)
    return AdapterBase(path, digest, str(config["model_type"]), heads, kv_heads, shapes)
