"""A small BERT encoder on numpy alone: all that is needed to turn a sentence into a vector.

Why it is written by hand: a vector must depend on its text alone, bit for bit. Memories are ranked by vectors, so one
different bit can change which memories enter a prompt, and then the request is no longer found in the call store.
Inference libraries usually pad the texts of a batch to one length and choose kernels by the shape of the batch, so that
the numbers of a text may change with its neighbours. Here texts are computed in groups of equal token count, without
padding, and each text is a matrix product of its own.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from populace.base.documents import parse_json_object
from populace.base.errors import ModelFileError
from populace.base.formatting import shortened

Array = npt.NDArray[np.float32]

_DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
    "I64": np.dtype("<i8"),
}
"""The types of numbers in a safetensors file; numpy has no BF16, so its bits are read as whole numbers."""


def read_safetensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Map the tensors of a safetensors file from disk: a JSON header and raw numbers, so nothing in it is executed."""
    if not path.is_file():  # What is a pipe would be waited for.
        raise ModelFileError(f"{path} is no file.", "Remove it and fetch it again.")
    try:
        raw = np.memmap(path, np.uint8, mode="r")
        size = int(raw[:8].view("<u8")[0])
        header = parse_json_object(raw[8 : 8 + size].tobytes().decode())
        tensors = {}
        for name, entry in header.items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                data = raw[8 + size + begin : 8 + size + end]
                tensors[name] = data.view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
        return tensors
    except (ValueError, KeyError, TypeError, OSError, IndexError, OverflowError) as error:
        raise ModelFileError(
            f"{path} is not a safetensors file: {shortened(error, 300)}.", "Remove it and fetch it again."
        ) from error


class Bert:
    """The encoder.

    Args:
        path: The weights, as safetensors.
        heads: The number of attention heads.
        epsilon: What layer normalisation adds to the variance.
    """

    def __init__(self, path: Path, *, heads: int = 12, epsilon: float = 1e-12) -> None:
        floats = {name: value for name, value in read_safetensors(path).items() if value.dtype.kind == "f"}
        tensors = {name: np.ascontiguousarray(value, np.float32) for name, value in floats.items()}
        self._heads = heads
        self._epsilon = np.float32(epsilon)
        self._words = tensors["embeddings.word_embeddings.weight"]
        token_types = tensors["embeddings.token_type_embeddings.weight"]
        self._positions = tensors["embeddings.position_embeddings.weight"] + token_types[0]
        self._norm = (tensors["embeddings.LayerNorm.weight"], tensors["embeddings.LayerNorm.bias"])
        self.dimension = self._words.shape[1]
        layers = len({name.split(".")[2] for name in tensors if name.startswith("encoder.layer.")})
        self._layers = [_Layer(tensors, f"encoder.layer.{layer}.") for layer in range(layers)]

    def mean(self, tokens: npt.NDArray[np.int64]) -> Array:
        """The mean of the last layer over the tokens, for texts of equal token count.

        Args:
            tokens: A row of token ids for each text.
        """
        hidden = self._words[tokens] + self._positions[: tokens.shape[1]]
        hidden = self._layer_norm(hidden, *self._norm)
        for layer in self._layers:
            hidden = self._layer_norm(hidden + self._attention(hidden, layer), *layer.norm_1)
            inner = _gelu(hidden @ layer.up[0] + layer.up[1])
            hidden = self._layer_norm(hidden + inner @ layer.down[0] + layer.down[1], *layer.norm_2)
        return np.asarray(hidden.mean(axis=1, dtype=np.float32))

    def _attention(self, hidden: Array, layer: _Layer) -> Array:
        texts, length, width = hidden.shape
        head_width = width // self._heads
        projected = hidden @ layer.qkv[0] + layer.qkv[1]
        query, key, value = np.moveaxis(projected.reshape(texts, length, 3, self._heads, head_width), (2, 3), (0, 2))
        weights = np.matmul(query, np.swapaxes(key, -1, -2)) * np.float32(1 / math.sqrt(head_width))
        weights -= weights.max(axis=-1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=-1, keepdims=True)
        heads = np.swapaxes(np.matmul(weights, value), 1, 2).reshape(texts, length, width)
        output: Array = heads @ layer.out[0] + layer.out[1]
        return output

    def _layer_norm(self, hidden: Array, weight: Array, bias: Array) -> Array:
        centred: Array = hidden - hidden.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        centred /= np.sqrt(variance + self._epsilon)
        centred *= weight
        centred += bias
        return centred


class _Layer:
    def __init__(self, tensors: dict[str, Array], prefix: str) -> None:
        def dense(name: str) -> tuple[Array, Array]:
            return np.ascontiguousarray(tensors[f"{prefix}{name}.weight"].T), tensors[f"{prefix}{name}.bias"]

        def norm(name: str) -> tuple[Array, Array]:
            return tensors[f"{prefix}{name}.LayerNorm.weight"], tensors[f"{prefix}{name}.LayerNorm.bias"]

        parts = [dense(f"attention.self.{name}") for name in ("query", "key", "value")]
        self.qkv = (np.concatenate([part[0] for part in parts], axis=1), np.concatenate([part[1] for part in parts]))
        self.out = dense("attention.output.dense")
        self.up, self.down = dense("intermediate.dense"), dense("output.dense")
        self.norm_1, self.norm_2 = norm("attention.output"), norm("output")


def _gelu(values: Array) -> Array:
    """x/2 · (1 + erf(x/√2)), with erf by Abramowitz and Stegun 7.1.26, whose error is at most 1.5e-7."""
    result = np.abs(values) * np.float32(math.sqrt(0.5))
    part = np.float32(1) / (np.float32(1) + np.float32(0.3275911) * result)
    series = np.float32(1.061405429) * part
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series += np.float32(coefficient)
        series *= part
    np.square(result, out=result)
    np.negative(result, out=result)
    np.exp(result, out=result)
    result *= series
    np.subtract(np.float32(1), result, out=result)
    np.copysign(result, values, out=result)
    result += np.float32(1)
    result *= values
    result *= np.float32(0.5)
    return result
