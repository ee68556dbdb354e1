"""The steps between the products of matrices, each of which passes over the memory once.

Between two products little is computed and much is moved: PyTorch alone would read and write the numbers of a step
several times. On a GPU each step is therefore one kernel of Triton. Elsewhere, and where Triton is not installed, the
same is done with operations of PyTorch.
"""

import functools
import importlib.util
from typing import Any

HEAD_WIDTHS = (32, 64, 128)
"""The widths of a head with which `attend` can compute."""

LEAST_TOKENS = 4096
"""For fewer tokens `gated_product` computes in two steps: a large block of the product has little to do then."""


def attends(vectors_type: Any, device: Any, head_width: int) -> bool:
    """Whether `attend` can compute with a type of number on a device."""
    import torch

    is_short = vectors_type in (torch.float16, torch.bfloat16)
    return device.type == "cuda" and _has_triton() and is_short and head_width in HEAD_WIDTHS


def attend(vectors: Any, width: int, kv_heads: int, shared: tuple[Any, Any] | None, angles: tuple[Any, Any]) -> Any:
    """Attention of each token to the shared beginning and to the tokens of its row up to itself, on a GPU.

    Args:
        vectors: Queries, keys and values of all tokens, not turned yet, of the shape (tokens, heads, numbers of a
            head); their memory is contiguous.
        width: How many tokens a row has.
        kv_heads: How many heads of keys there are, and of values.
        shared: Keys and values of the beginning, turned, each of the shape (1, heads, tokens, numbers of a head).
        angles: The cosines and the sines of the angles of all places, as 32-bit floats.
    """
    from populace.models.pytorch import triton_attention

    return triton_attention.attend(vectors, width, kv_heads, shared, angles)


def norm(states: Any, weight: Any, epsilon: float) -> Any:
    """States divided by the root of their mean square, times a weight.

    Args:
        states: Of the shape (tokens, numbers).
        weight: One for each number.
        epsilon: What is added to the mean square.
    """
    if _on_gpu(states):
        return _kernels().norm(states, weight, epsilon)
    import torch

    return torch.nn.functional.rms_norm(states, (states.shape[-1],), weight, epsilon)


def log_sums(logits: Any) -> Any:
    """The logarithm of the sum of the exponentials of each row, as 32-bit floats of the shape (rows, 1)."""
    if _on_gpu(logits):
        return _kernels().log_sums(logits)
    return logits.float().logsumexp(-1, keepdim=True)


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


def has_gated_product(weights: Any) -> bool:
    """Whether `gated_product` can compute with matrices of gates and ups in one kernel: on NVIDIA's Hopper GPUs."""
    import torch

    if weights.device.type != "cuda" or torch.version.cuda is None or not _has_triton():
        return False
    is_short = weights.dtype in (torch.float16, torch.bfloat16)
    # The device copies rows that begin at multiples of 16 bytes. Others than Hopper have other sizes of memory.
    is_even = weights.shape[1] % 8 == 0 and weights.shape[0] % 16 == 0
    return is_short and is_even and torch.cuda.get_device_capability(weights.device) == (9, 0)


def gated_product(states: Any, weights: Any, *, in_one: bool) -> Any:
    """The products of states with two matrices, the second let through by the first.

    Args:
        states: Of the shape (tokens, numbers).
        weights: The matrix of the gates, and below it that of the ups.
        in_one: Whether one kernel may compute it, see `has_gated_product`; it takes many tokens.
    """
    if in_one and len(states) >= LEAST_TOKENS:
        from populace.models.pytorch import triton_products

        return triton_products.gated_product(states, weights)
    import torch

    return gate(torch.nn.functional.linear(states, weights))


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
