"""The steps between the products of matrices, each of which passes over the memory once.

Between two products little is computed and much is moved: PyTorch alone would read and write the numbers of a step
several times. On a GPU each step is therefore one kernel of Triton. Elsewhere, and where Triton is not installed, the
same is done with operations of PyTorch.
"""

import functools
import importlib.util
from typing import Any


def turn(vectors: Any, places: Any, cosines: Any, sines: Any) -> None:
    """Turn vectors by the place of their token, in their own memory; the first half is paired with the second.

    Args:
        vectors: Of the shape (tokens, heads, numbers of a head); those of a token stand together.
        places: The place of each token in its prompt.
        cosines: The cosines of the angles of all places, as 32-bit floats.
        sines: The sines, likewise.
    """
    if _on_gpu(vectors):
        _kernels().turn(vectors, places, cosines, sines)
        return
    import torch

    cosines, sines = cosines[places][:, None], sines[places][:, None]
    first, second = vectors.chunk(2, -1)
    parts = torch.addcmul(first * cosines, second, sines, value=-1), torch.addcmul(second * cosines, first, sines)
    for half, part in zip((first, second), parts, strict=True):
        half.copy_(part)


def gate(halves: Any) -> Any:
    """The second half of the numbers of each token, let through by the first.

    Args:
        halves: Of the shape (tokens, numbers).
    """
    if _on_gpu(halves):
        return _kernels().gate(halves)
    import torch

    gates, ups = halves.chunk(2, -1)
    return torch.nn.functional.silu(gates) * ups


def join(one: Any, one_constants: Any, other: Any, other_constants: Any) -> Any:
    """Attention to two sets of tokens as attention to all of them.

    Args:
        one: Attention to the first set, of the shape (rows, tokens, heads, numbers of a head); its memory is used.
        one_constants: The logarithms of its normalising constants, of the shape (rows, heads, tokens).
        other: Attention to the second set, of the same shape.
        other_constants: Its constants, of the shape (heads, rows, tokens).
    """
    if _on_gpu(one):
        return _kernels().join(one, one_constants, other, other_constants)
    import torch

    share = torch.sigmoid(other_constants.permute(1, 2, 0) - one_constants.transpose(1, 2))[..., None]
    return torch.addcmul(other * share, one, 1 - share).to(one.dtype)


def _on_gpu(tensor: Any) -> bool:
    return bool(tensor.is_cuda) and _has_triton()


@functools.cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


@functools.cache
def _kernels() -> Any:
    from populace.models.pytorch import triton_kernels

    return triton_kernels
