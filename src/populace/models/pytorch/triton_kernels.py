"""The kernels of `kernels.py` in Triton; importing this module needs Triton."""

from typing import Any

import triton
import triton.language as tl

_BLOCK = 1024
_ROWS = 4
"""How many rows a program of `_norm` computes."""
_LOGITS = 4096
"""How many logits a program of `_log_sums` reads at once."""


def norm(states: Any, weight: Any, epsilon: float) -> Any:
    """See `kernels.norm`."""
    states = states.contiguous()
    tokens, width = states.shape
    result = states.new_empty((tokens, width))
    # Blocks have powers of two as sizes: 576 numbers are 512 and 64.
    size = triton.next_power_of_2(width + 1) // 2
    rest = triton.next_power_of_2(width - size) if width > size else 0
    grid = (triton.cdiv(tokens, _ROWS),)
    _norm[grid](
        states, weight, result, tokens, epsilon, width=width, size=size, rest=rest, rows=_ROWS, num_warps=4
    )  # fmt: skip
    return result


def log_sums(logits: Any) -> Any:
    """See `kernels.log_sums`."""
    import torch

    logits = logits.contiguous()
    rows, width = logits.shape
    result = logits.new_empty((rows, 1), dtype=torch.float32)
    _log_sums[(rows,)](logits, result, width=width, block=_LOGITS, num_warps=8)
    return result


def turn(vectors: Any, places: Any, cosines: Any, sines: Any) -> None:
    """See `kernels.turn`."""
    tokens, heads, width = vectors.shape
    grid = (tokens,)
    size = triton.next_power_of_2(heads)
    _turn[grid](vectors, places, cosines, sines, vectors.stride(0), heads, half=width // 2, size=size, num_warps=4)


def gate(halves: Any) -> Any:
    """See `kernels.gate`."""
    tokens, width = halves.shape
    result = halves.new_empty((tokens, width // 2))
    count = result.numel()
    _gate[(triton.cdiv(count, _BLOCK),)](halves, result, count, half=width // 2, block=_BLOCK, num_warps=4)
    return result


def join(one: Any, one_constants: Any, other: Any, other_constants: Any) -> Any:
    """See `kernels.join`."""
    one, other = one.contiguous(), other.contiguous()
    rows, tokens, heads, width = one.shape
    grid = (rows * tokens,)
    _join[grid](
        one, one_constants.contiguous(), other, other_constants.contiguous(), tokens, rows * tokens, heads=heads,
        size=triton.next_power_of_2(heads), width=width, num_warps=4,
    )  # fmt: skip
    return one


@triton.jit(do_not_specialize=["tokens"])
def _norm(
    states, weight, result, tokens, epsilon,
    width: tl.constexpr, size: tl.constexpr, rest: tl.constexpr, rows: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)[:, None]
    inside = token < tokens
    number = tl.arange(0, size)[None, :]
    place = token * width + number
    numbers = tl.load(states + place, mask=inside, other=0.0).to(tl.float32)
    squares = tl.sum(numbers * numbers, 1)
    if rest > 0:
        last = size + tl.arange(0, rest)[None, :]
        last_place = token * width + last
        last_numbers = tl.load(states + last_place, mask=inside & (last < width), other=0.0).to(tl.float32)
        squares += tl.sum(last_numbers * last_numbers, 1)
    factor = (1.0 / tl.sqrt(squares / width + epsilon))[:, None]
    weights = tl.load(weight + number).to(tl.float32)
    tl.store(result + place, (numbers * factor * weights).to(result.dtype.element_ty), mask=inside)
    if rest > 0:
        last_weights = tl.load(weight + last, mask=last < width, other=0.0).to(tl.float32)
        product = (last_numbers * factor * last_weights).to(result.dtype.element_ty)
        tl.store(result + last_place, product, mask=inside & (last < width))


@triton.jit
def _log_sums(logits, result, width: tl.constexpr, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    number = tl.arange(0, block)
    # Each lane keeps its own largest number and sum; they are joined once, at the end.
    largest = tl.full((block,), -1.0e30, tl.float32)
    total = tl.zeros((block,), tl.float32)
    for start in tl.range(0, width, block):
        numbers = tl.load(logits + row * width + start + number, mask=start + number < width, other=float("-inf"))
        numbers = numbers.to(tl.float32)
        # What is no number must stay one, and tl.maximum passes over it; the exponential below does not.
        larger = tl.maximum(largest, numbers)
        total = total * tl.exp(largest - larger) + tl.exp(numbers - larger)
        largest = larger
    most = tl.max(largest, 0)
    tl.store(result + row, most + tl.log(tl.sum(total * tl.exp(largest - most), 0)))


@triton.jit
def _turn(vectors, places, cosines, sines, stride, heads, half: tl.constexpr, size: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    numbers = tl.arange(0, half)[None, :]
    head = tl.arange(0, size)[:, None]
    angle = tl.load(places + token).to(tl.int64) * half
    cosine, sine = tl.load(cosines + angle + numbers), tl.load(sines + angle + numbers)
    first = vectors + token * stride + head * (2 * half) + numbers
    second = first + half
    inside = head < heads
    x = tl.load(first, mask=inside).to(tl.float32)
    y = tl.load(second, mask=inside).to(tl.float32)
    tl.store(first, (x * cosine - y * sine).to(vectors.dtype.element_ty), mask=inside)
    tl.store(second, (y * cosine + x * sine).to(vectors.dtype.element_ty), mask=inside)


@triton.jit
def _gate(halves, result, count, half: tl.constexpr, block: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    inside = place < count
    token = place // half
    source = halves + place + token * half
    gates = tl.load(source, mask=inside).to(tl.float32)
    ups = tl.load(source + half, mask=inside).to(tl.float32)
    # Rounded in between, as PyTorch does it.
    passed = (gates / (1.0 + tl.exp(-gates))).to(result.dtype.element_ty).to(tl.float32)
    tl.store(result + place, (passed * ups).to(result.dtype.element_ty), mask=inside)


@triton.jit
def _join(
    one, one_constants, other, other_constants, tokens, count,
    heads: tl.constexpr, size: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0).to(tl.int64)
    head = tl.arange(0, size)
    inside = head < heads
    row, place = token // tokens, token % tokens
    a = tl.load(one_constants + (row * heads + head) * tokens + place, mask=inside, other=0.0)
    b = tl.load(other_constants + head * count + token, mask=inside, other=0.0)
    share = (1.0 / (1.0 + tl.exp(a - b)))[:, None]
    places = token * (heads * width) + head[:, None] * width + tl.arange(0, width)[None, :]
    x = tl.load(one + places, mask=inside[:, None]).to(tl.float32)
    y = tl.load(other + places, mask=inside[:, None]).to(tl.float32)
    tl.store(one + places, (y * share + x * (1.0 - share)).to(one.dtype.element_ty), mask=inside[:, None])
