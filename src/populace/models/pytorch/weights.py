"""Weights of the llama and qwen2 families, from a GGUF file or from a folder in the format of transformers.

Only data is read: code that a folder brings along is never run.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from populace.base.documents import DocumentError, read_json
from populace.base.errors import ModelFileError
from populace.models.adapters import Adapter
from populace.models.bert import read_safetensors
from populace.models.gguf_header import GgufHeader, read_header
from populace.models.pytorch.dequantisation import block_size, unpack
from populace.models.tensor_layout import FAMILIES, head_count, separate_halves, transformers_name


@dataclass(frozen=True)
class Shape:
    """The sizes of a network.

    Attributes:
        layers: How many layers it has.
        heads: How many attention heads a layer has.
        kv_heads: How many of them have keys and values of their own.
        head_width: How many numbers a head has.
        epsilon: What is added before a norm is taken.
        context: How many tokens it reads at most.
        frequencies: How fast each pair of numbers of a head turns with the place of its token.
    """

    layers: int
    heads: int
    kv_heads: int
    head_width: int
    epsilon: float
    context: int
    frequencies: tuple[float, ...]


@dataclass(frozen=True)
class Weights:
    """A network as it is read: its sizes and, by their names in transformers, its tensors."""

    shape: Shape
    tensors: dict[str, Any]


def read_weights(path: Path, device: str, number_type: Any, adapter: Adapter | None = None) -> Weights:
    """Read weights onto a device.

    Args:
        path: A GGUF file, or a folder with `config.json` and safetensors files.
        device: `cpu` or `cuda`.
        number_type: The type of number, of PyTorch, to compute with.
        adapter: An adapter that is merged into the weights.
    """
    try:
        shape, tensors = (_gguf if path.is_file() else _folder)(path, device)
        if adapter is not None:
            tensors = _merged(tensors, adapter, shape, device)
        return Weights(shape, {name: tensor.to(device, number_type).contiguous() for name, tensor in tensors})
    except (KeyError, TypeError, ValueError, ZeroDivisionError, RuntimeError) as error:
        if type(error).__name__ == "OutOfMemoryError":
            raise ModelFileError(
                f"the memory of the GPU does not suffice for {path}.", "Free some of it, or name a smaller model."
            ) from error
        raise ModelFileError(
            f"{path} could not be read as a model: {' '.join(str(error).split())[:300]}.",
            "The file may be cut short; fetch it again.",
        ) from error


def _merged(
    tensors: Iterator[tuple[str, Any]], adapter: Adapter, shape: Shape, device: str
) -> Iterator[tuple[str, Any]]:
    """Weights with the change of an adapter added to them, whose rows are in the order of GGUF files."""
    import torch

    names = {transformers_name(name): name for name in adapter.tensors}
    scale = adapter.card.alpha / adapter.rank
    for name, tensor in tensors:
        if name in names:
            weight = names.pop(name)
            a, b = (torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in adapter.tensors[weight])
            heads = head_count(weight, adapter.family, shape.heads, shape.kv_heads)
            tensor = tensor.to(device).float() + scale * ((separate_halves(b, heads) if heads else b) @ a)
        yield name, tensor
    if names:
        raise ValueError(f"the adapter changes {', '.join(sorted(names.values()))}, which it does not have")


def _check_family(path: Path, family: object) -> None:
    if family not in FAMILIES:
        raise ModelFileError(
            f"{path} is of the family {family!r}; PyTorch runs {' and '.join(FAMILIES)} here.",
            f"llama.cpp knows more families: --model embedded:{path}"
            if path.is_file()
            else "Name another folder, or run the model on a server of its own, such as vLLM.",
        )


def _gguf(path: Path, device: str) -> tuple[Shape, Iterator[tuple[str, Any]]]:
    header = read_header(path)
    family = header.values.get("general.architecture")
    _check_family(path, family)
    values = {name.removeprefix(f"{family}."): value for name, value in header.values.items()}
    heads = int(values["attention.head_count"])
    width = int(values.get("attention.key_length", values["embedding_length"] // heads))
    if values.get("rope.scaling.type", "none") not in ("none", "linear"):
        raise ValueError(f"it turns positions by {values['rope.scaling.type']!r}, which is not known here")
    frequencies = _frequencies(values.get("rope.freq_base", 10_000.0), width) / values.get("rope.scaling.factor", 1.0)
    raw = np.memmap(path, np.uint8, mode="r")
    if "rope_freqs.weight" in header.tensors:
        frequencies = frequencies / _gguf_tensor(raw, header, "rope_freqs.weight", "cpu").double().numpy()
    shape = Shape(
        layers=int(values["block_count"]),
        heads=heads,
        kv_heads=int(values.get("attention.head_count_kv", heads)),
        head_width=width,
        epsilon=float(values["attention.layer_norm_rms_epsilon"]),
        context=int(values["context_length"]),
        frequencies=tuple(frequencies.tolist()),
    )
    return shape, _gguf_tensors(raw, header, shape, device, family)


def _gguf_tensors(raw: Any, header: GgufHeader, shape: Shape, device: str, family: object) -> Iterator[tuple[str, Any]]:
    for name in header.tensors:
        known = transformers_name(name)
        if known is None:
            continue
        tensor = _gguf_tensor(raw, header, name, device)
        heads = head_count(name, family, shape.heads, shape.kv_heads)
        yield known, separate_halves(tensor, heads) if heads else tensor


def _gguf_tensor(raw: Any, header: GgufHeader, name: str, device: str) -> Any:
    place = header.tensors[name]
    numbers, size = block_size(place.kind)
    count = math.prod(place.shape)
    end = place.offset + count // numbers * size
    if end > len(raw):
        raise ValueError(f"it ends before its tensor {name}")
    return unpack(np.array(raw[place.offset : end]), place.kind, device).reshape(place.shape)


def _folder(path: Path, device: str) -> tuple[Shape, Iterator[tuple[str, Any]]]:
    files = sorted(path.glob("*.safetensors"))
    if not files:
        raise ModelFileError(
            f"the folder {path} holds no weights (*.safetensors).",
            "Name a folder with config.json, tokenizer.json and weights as transformers saves them, or a GGUF file.",
        )
    config = _config(path)
    _check_family(path, config.get("model_type"))
    heads = int(config["num_attention_heads"])
    width = int(config.get("head_dim") or config["hidden_size"] // heads)
    shape = Shape(
        layers=int(config["num_hidden_layers"]),
        heads=heads,
        kv_heads=int(config.get("num_key_value_heads") or heads),
        head_width=width,
        epsilon=float(config["rms_norm_eps"]),
        context=int(config["max_position_embeddings"]),
        frequencies=tuple(_scaled_frequencies(config, width).tolist()),
    )
    return shape, _folder_tensors(files)


def _folder_tensors(files: list[Path]) -> Iterator[tuple[str, Any]]:
    import torch

    for file in files:
        for name, array in read_safetensors(file).items():
            tensor = torch.from_numpy(np.array(array))
            yield name, tensor.view(torch.bfloat16) if array.dtype == np.uint16 else tensor


def _config(path: Path) -> Mapping[str, Any]:
    try:
        config = read_json(path / "config.json")
    except (OSError, DocumentError) as error:
        raise ModelFileError(
            f"{path / 'config.json'} cannot be read: {error}.", "Name a folder as transformers saves it."
        ) from error
    if not isinstance(config, dict):
        raise ValueError("config.json is no object")
    return config


def _frequencies(base: float, width: int) -> Any:
    return 1.0 / float(base) ** (np.arange(0, width, 2, dtype=np.float64) / width)


def _scaled_frequencies(config: Mapping[str, Any], width: int) -> Any:
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    frequencies = _frequencies(scaling.get("rope_theta") or config.get("rope_theta") or 10_000.0, width)
    kind = scaling.get("rope_type") or scaling.get("type") or "default"
    if kind not in _SCALINGS:
        raise ValueError(f"it turns positions by {kind!r}, which is not known here")
    return _SCALINGS[kind](frequencies, scaling)


def _llama3(frequencies: Any, scaling: Mapping[str, Any]) -> Any:
    """Slow turns are slowed by a factor, quick ones stay, and those between change gradually."""
    factor, low, high = (float(scaling[key]) for key in ("factor", "low_freq_factor", "high_freq_factor"))
    turns = float(scaling["original_max_position_embeddings"]) * frequencies / (2 * math.pi)
    share = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return frequencies * (share + (1 - share) / factor)


_SCALINGS: dict[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "default": lambda frequencies, scaling: frequencies,
    "linear": lambda frequencies, scaling: frequencies / float(scaling["factor"]),
    "llama3": _llama3,
}
