"""The quantised numbers of a GGUF file, unpacked on the device that computes with them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_F32, _F16, _BF16 = 0, 1, 30


def unpack(raw: npt.NDArray[np.uint8], kind: int, device: str) -> Any:
    """The numbers of a tensor as a flat tensor of 32-bit floats.

    Args:
        raw: The bytes of the tensor.
        kind: The number of its type of quantisation.
        device: Where it is computed and stays.
    """
    import torch

    if kind in _BLOCKS:
        size, unpack_blocks = _BLOCKS[kind]
        return unpack_blocks(torch.from_numpy(raw).to(device).reshape(-1, size)).reshape(-1)
    if kind in (_F32, _F16, _BF16):
        number_type = {_F32: torch.float32, _F16: torch.float16, _BF16: torch.bfloat16}[kind]
        return torch.from_numpy(raw).to(device).view(number_type).float()
    from gguf import GGMLQuantizationType, quants

    return torch.from_numpy(quants.dequantize(raw, GGMLQuantizationType(kind)).reshape(-1)).to(device)


def block_size(kind: int) -> tuple[int, int]:
    """How many numbers a block of a type of quantisation holds, and in how many bytes.

    Raises:
        ValueError: There is no such type.
    """
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    numbers, size = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
    return numbers, size


def _half(blocks: Any, place: int) -> Any:
    """The 16-bit float at a place of every block, as a column."""
    import torch

    return blocks[:, place : place + 2].contiguous().view(torch.float16).float()


def _nibbles(packed: Any, width: int) -> Any:
    """The low and then the high halves of bytes, `width` of them at a time."""
    import torch

    groups = packed.reshape(packed.shape[0], -1, 1, width)
    return torch.cat((groups & 15, groups >> 4), 2).reshape(packed.shape[0], -1)


def _q4_0(blocks: Any) -> Any:
    return _half(blocks, 0) * (_nibbles(blocks[:, 2:], 16).float() - 8)


def _q4_1(blocks: Any) -> Any:
    return _half(blocks, 0) * _nibbles(blocks[:, 4:], 16).float() + _half(blocks, 2)


def _q8_0(blocks: Any) -> Any:
    import torch

    return _half(blocks, 0) * blocks[:, 2:].contiguous().view(torch.int8).float()


def _q4_k(blocks: Any) -> Any:
    import torch

    low, middle, high = (blocks[:, place : place + 4] for place in (4, 8, 12))
    scales = torch.cat((low & 63, (high & 15) | ((low >> 2) & 48)), 1).float() * _half(blocks, 0)
    offsets = torch.cat((middle & 63, (high >> 4) | ((middle >> 2) & 48)), 1).float() * _half(blocks, 2)
    values = _nibbles(blocks[:, 16:], 32).reshape(-1, 8, 32).float()
    return scales[:, :, None] * values - offsets[:, :, None]


def _q6_k(blocks: Any) -> Any:
    import torch

    low = _nibbles(blocks[:, :128], 64)
    packed = blocks[:, 128:192].reshape(-1, 2, 1, 32)
    high = torch.cat([(packed >> shift) & 3 for shift in (0, 2, 4, 6)], 2).reshape(-1, 256)
    values = (low | (high << 4)).float() - 32
    scales = blocks[:, 192:208].contiguous().view(torch.int8).float() * _half(blocks, 208)
    return scales[:, :, None] * values.reshape(-1, 16, 16)


_BLOCKS: dict[int, tuple[int, Callable[[Any], Any]]] = {
    2: (18, _q4_0),
    3: (20, _q4_1),
    8: (34, _q8_0),
    12: (144, _q4_k),
    14: (210, _q6_k),
}
"""The types that are unpacked here, with the bytes of a block; the gguf package unpacks the others, more slowly."""
