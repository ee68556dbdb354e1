"""Adapters: a low-rank change of a model's weights (LoRA), in a small file that names its base and its data.

The file is a GGUF file as llama.cpp itself loads it; what only Populace reads stands in fields that begin with
`populace.`. A matrix W of the base becomes W + alpha / rank · B A.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from populace.base.errors import ModelFileError
from populace.models.adapter_card import AdapterCard, manifest_text, read_manifest
from populace.models.artifacts import sha256
from populace.models.gguf_header import GgufHeader, TensorPlace, read_header

Array = npt.NDArray[np.float32]

MOST_BYTES = 2_000_000_000
"""The largest adapter file that is read."""
_MOST_HEADER_BYTES = 4_000_000
_MOST_RANK = 4096
_A, _B = ".lora_a", ".lora_b"
_NAME, _BASE_NAME, _BASE_SHA256, _MANIFEST = (
    "populace.name",
    "populace.base.name",
    "populace.base.sha256",
    "populace.manifest",
)
_F32, _F16, _Q8_0, _BF16 = 0, 1, 8, 30
_TYPE_BYTES = {_F32: (1, 4), _F16: (1, 2), _Q8_0: (32, 34), _BF16: (1, 2)}
"""The types of numbers that an adapter may have: how many numbers a block has, and in how many bytes."""


@dataclass(frozen=True)
class Adapter:
    """A low-rank change of the weights of a model.

    Attributes:
        card: What it says of itself.
        family: The family of its base, such as `llama`.
        tensors: For each matrix that it changes, by its name in a GGUF file: A, of the shape (rank, inputs), and B, of
            the shape (outputs, rank). Rows are in the order of GGUF files.
        sha256: Identifies its content.

    Example:
        >>> import numpy as np
        >>> card = AdapterCard("tiny", "a model", "ab" * 32, 4.0, {"kind": "human"})
        >>> pair = (np.ones((2, 3), np.float32), np.ones((1, 2), np.float32))
        >>> Adapter(card, "llama", {"blk.0.attn_v.weight": pair}, "cd" * 32).change("blk.0.attn_v.weight").tolist()
        [[4.0, 4.0, 4.0]]
    """

    card: AdapterCard
    family: str
    tensors: Mapping[str, tuple[Array, Array]]
    sha256: str

    @property
    def rank(self) -> int:
        """The rank of every change."""
        return int(next(iter(self.tensors.values()))[0].shape[0])

    def change(self, name: str) -> Array:
        """What is added to a matrix of the base."""
        a, b = self.tensors[name]
        return (b @ a) * np.float32(self.card.alpha / self.rank)


def write_adapter(
    path: str | Path,
    tensors: Mapping[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]],
    *,
    alpha: float,
    base_sha256: str,
    base_name: str,
    manifest: Mapping[str, Any],
    name: str | None = None,
    family: str = "llama",
    packed: bool = True,
) -> Adapter:
    """Write an adapter file, and return what was written.

    Args:
        path: The file; it is there as a whole or not at all.
        tensors: For each matrix, by its name in a GGUF file such as `blk.0.attn_q.weight`: A, of the shape
            (rank, inputs), and B, of the shape (outputs, rank). Rows are in the order of GGUF files: for the llama
            family, those of queries and keys are interleaved (`from_peft` does that).
        alpha: The strength: the change is multiplied by alpha / rank.
        base_sha256: The SHA-256 of the base's file.
        base_name: The name of the base.
        manifest: See `AdapterCard`.
        name: The name that is shown; that of the file by default.
        family: The family of the base: `llama` or `qwen2`.
        packed: Whether matrices whose rows have a multiple of 32 numbers are stored in 8 bits (Q8_0); the others, and
            all if this is false, are stored in 16 bits.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> pair = (np.ones((4, 32)), np.zeros((64, 4)))
        >>> with TemporaryDirectory() as folder:
        ...     file = f"{folder}/tiny.gguf"
        ...     written = write_adapter(file, {"blk.0.ffn_up.weight": pair}, alpha=8, base_sha256="ab" * 32,
        ...         base_name="a model", manifest={"kind": "human"})
        ...     read_adapter(file).card == written.card
        True
    """
    from gguf import GGMLQuantizationType, GGUFWriter, quants

    target = Path(path)
    card = AdapterCard(name or target.stem, base_name, base_sha256, float(alpha), dict(manifest)).check(target)
    if not base_sha256:
        raise ModelFileError(f"{target} names no SHA-256 of its base model.", "Give that of the base's file.")
    check_pairs(tensors, target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".adapter-") as folder:
            temporary = Path(folder) / target.name
            writer = GGUFWriter(temporary, family)
            writer.add_type("adapter")
            writer.add_string("adapter.type", "lora")
            writer.add_float32("adapter.lora.alpha", card.alpha)
            writer.add_name(card.name)
            for field, text in ((_NAME, card.name), (_BASE_NAME, base_name), (_BASE_SHA256, base_sha256)):
                writer.add_string(field, text)
            writer.add_string(_MANIFEST, manifest_text(manifest))
            for weight, pair in sorted(tensors.items()):
                for ending, matrix in zip((_A, _B), pair, strict=True):
                    numbers = np.ascontiguousarray(matrix, np.float32)
                    if packed and numbers.shape[1] % 32 == 0:
                        kind = GGMLQuantizationType.Q8_0
                        writer.add_tensor(weight + ending, quants.quantize(numbers, kind), raw_dtype=kind)
                    else:
                        writer.add_tensor(weight + ending, numbers.astype(np.float16))
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
            written = read_adapter(temporary)
            os.replace(temporary, target)
    except OSError as error:
        raise ModelFileError(f"the adapter could not be written to {target}: {error}.") from error
    return written


def read_card(path: str | Path) -> AdapterCard:
    """What an adapter file says of itself; its numbers are not read.

    Args:
        path: The file.
    """
    return _read_header(Path(path))[0]


def read_adapter(path: str | Path) -> Adapter:
    """Read an adapter file; ModelFileError says why one cannot be used.

    Args:
        path: The file.
    """
    file = Path(path)
    card, header = _read_header(file)
    raw = np.memmap(file, np.uint8, mode="r")
    places: dict[str, dict[str, TensorPlace]] = {}
    for name, place in header.tensors.items():
        weight, ending = name[: -len(_A)], name[-len(_A) :]
        if ending not in (_A, _B):
            raise unusable(file, f"it holds {name}, which is no part of an adapter")
        places.setdefault(weight, {})[ending] = place
    tensors = {}
    for weight, pair in places.items():
        if len(pair) != 2:
            raise unusable(file, f"it holds only one of the two matrices for {weight}")
        tensors[weight] = (_numbers(raw, pair[_A], file, weight + _A), _numbers(raw, pair[_B], file, weight + _B))
    check_pairs(tensors, file)
    return Adapter(card, str(header.values.get("general.architecture", "")), tensors, sha256(file))


def _read_header(file: Path) -> tuple[AdapterCard, GgufHeader]:
    try:
        if not file.is_file():
            raise ModelFileError(f"there is no adapter file {file}.", "Name a GGUF file, or a folder as peft saves it.")
        with file.open("rb") as open_file:
            magic = open_file.read(4)
        size = file.stat().st_size
    except OSError as error:
        raise unusable(file, str(error)) from error
    if magic != b"GGUF":
        raise unusable(file, "it is not a GGUF file")
    if size > MOST_BYTES:
        raise unusable(file, f"it has {size:,} bytes; at most {MOST_BYTES:,} are read")
    header = read_header(file, most=_MOST_HEADER_BYTES)
    values = header.values
    if values.get("general.type") != "adapter" or values.get("adapter.type") != "lora":
        raise unusable(file, "it is not a LoRA adapter but something else, such as a whole model")
    alpha = values.get("adapter.lora.alpha")
    if not isinstance(alpha, float):
        raise unusable(file, "it does not say how strong it is (adapter.lora.alpha)")
    if not header.tensors:
        raise unusable(file, "it changes nothing")
    ours = _MANIFEST in values
    manifest = read_manifest(values[_MANIFEST], file) if ours else {"kind": "unknown"}
    if ours and not values.get(_BASE_SHA256):
        raise unusable(file, "it does not name its base")
    name, base_name = str(values.get(_NAME, file.stem)), str(values.get(_BASE_NAME, "a model"))
    return AdapterCard(name, base_name, str(values.get(_BASE_SHA256, "")), alpha, manifest).check(file), header


def _numbers(raw: npt.NDArray[np.uint8], place: TensorPlace, file: Path, name: str) -> Array:
    if len(place.shape) != 2 or place.kind not in _TYPE_BYTES:
        raise unusable(file, f"{name} is no matrix of 8, 16 or 32-bit numbers")
    numbers, size = _TYPE_BYTES[place.kind]
    rows, columns = place.shape
    if columns % numbers:
        raise unusable(file, f"the rows of {name} are no whole blocks")
    end = place.offset + math.prod(place.shape) // numbers * size
    if end > len(raw):
        raise unusable(file, f"it ends before {name}; it may be cut short")
    data = np.array(raw[place.offset : end])
    if place.kind == _Q8_0:
        from gguf import GGMLQuantizationType, quants

        shaped = data.reshape(rows, columns // numbers * size)
        return np.asarray(quants.dequantize(shaped, GGMLQuantizationType.Q8_0), np.float32)
    if place.kind == _BF16:
        return (data.view("<u2").astype(np.uint32) << 16).view(np.float32).reshape(place.shape)
    return data.view("<f4" if place.kind == _F32 else "<f2").astype(np.float32).reshape(place.shape)


def check_pairs(tensors: Mapping[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]], file: Path) -> None:
    """Raise ModelFileError if matrices cannot be those of an adapter: of other shapes, of several ranks, not finite.

    Args:
        tensors: A and B of each weight.
        file: The file or folder that the message names.
    """
    if not tensors:
        raise unusable(file, "it changes nothing")
    ranks = set()
    for name, (a, b) in tensors.items():
        if a.ndim != 2 or b.ndim != 2 or a.shape[0] != b.shape[1]:
            raise unusable(file, f"its matrices for {name} do not fit: {a.shape} and {b.shape}")
        if not 0 < a.shape[0] <= _MOST_RANK or not a.shape[1] or not b.shape[0]:
            raise unusable(file, f"its matrices for {name} have the shapes {a.shape} and {b.shape}")
        # A half would overflow where a float does not.
        if not all(np.isfinite(matrix).all() and np.abs(matrix).max() < 60_000 for matrix in (a, b)):
            raise unusable(file, f"its numbers for {name} are not finite or too large")
        ranks.add(a.shape[0])
    if len(ranks) > 1:
        raise unusable(file, f"its matrices are of the ranks {', '.join(map(str, sorted(ranks)))}; one is needed")


def unusable(file: Path, why: str) -> ModelFileError:
    """The error for an adapter that cannot be used."""
    return ModelFileError(f"{file} cannot be used as an adapter: {why}.", "Fetch or train it again, or name another.")
