"""Attention of prompts to a shared beginning and to their own tokens in one kernel; importing it needs Triton.

A program computes the queries of one head of keys and values for some tokens: the queries of all heads that read these
keys stand below each other in one block, and prompts of few tokens stand below each other too. It reads the keys and
values of the beginning, then those of the own tokens, and keeps sums whose scale follows the largest score so far.
Queries and keys are turned by their place as they are read, so nothing is written but the result.
"""

from typing import Any

import triton
import triton.language as tl

_BLOCK = 128
"""How many queries a program computes."""
_KEYS = 64
"""How many keys it reads at once."""
_STAGES = 2
"""How many blocks of keys and values of the beginning are in the memory of a multiprocessor at once."""
_WARPS, _REGISTERS = 8, {32: 128, 64: 128, 128: None}
"""Groups of 32 threads of a program, and registers of a thread by the width of a head: with 128, a multiprocessor has
two programs under way, and one computes while the other waits. Wider heads need more."""


def attend(vectors: Any, width: int, kv_heads: int, shared: tuple[Any, Any] | None, angles: tuple[Any, Any]) -> Any:
    """See `kernels.attend`."""
    tokens, all_heads, head_width = vectors.shape
    heads = all_heads - 2 * kv_heads
    groups = heads // kv_heads
    result = vectors.new_empty((tokens, heads, head_width))
    span = width * max(1, _BLOCK // (width * groups))
    keys, values = (part.contiguous() for part in shared) if shared else (vectors, vectors)
    grid = (triton.cdiv(tokens, span) * kv_heads, triton.cdiv(span * groups, _BLOCK))
    _attend[grid](
        vectors, keys, values, *angles, result, shared[0].shape[2] if shared else 0, width, tokens, span,
        scale=head_width**-0.5 * 1.4426950408889634, kv_heads=kv_heads, groups=groups, half=head_width // 2,
        block=_BLOCK, size=_KEYS, num_warps=_WARPS, num_stages=_STAGES,
        maxnreg=_REGISTERS[head_width],
    )  # fmt: skip
    return result


@triton.jit(do_not_specialize=["shared_count", "width", "tokens", "span"])
def _attend(
    vectors, shared_keys, shared_values, cosines, sines, result, shared_count, width, tokens, span,
    scale: tl.constexpr, kv_heads: tl.constexpr, groups: tl.constexpr, half: tl.constexpr, block: tl.constexpr,
    size: tl.constexpr,
):  # fmt: skip
    heads: tl.constexpr = kv_heads * groups
    stride: tl.constexpr = (heads + 2 * kv_heads) * 2 * half
    kv_head = tl.program_id(0) % kv_heads
    first = (tl.program_id(0) // kv_heads).to(tl.int64) * span
    count = tl.minimum(span, tokens - first).to(tl.int32)
    numbers = tl.arange(0, half)[None, :]
    both = tl.arange(0, 2 * half)[None, :]
    column = tl.arange(0, size)

    query = tl.program_id(1) * block + tl.arange(0, block)
    token = query // groups
    row = token // width
    head = kv_head * groups + query % groups
    is_query = (token < count)[:, None]
    source = vectors + first * stride + (token * stride + head * (2 * half))[:, None] + numbers
    queries, other_queries = _turned(source, is_query, shared_count + token % width, cosines, sines, half)

    # A finite number: a block in which a query sees no key must not compute the difference of two infinities.
    largest = tl.full((block,), -1.0e30, tl.float32)
    total = tl.zeros((block,), tl.float32)
    sums = tl.zeros((block, 2 * half), tl.float32)

    beginning = kv_head * shared_count * (2 * half)
    whole = shared_count // size * size
    for start in tl.range(0, whole, size):
        key = (start + column)[:, None] * (2 * half) + beginning
        keys = tl.load(shared_keys + key + numbers)
        other_keys = tl.load(shared_keys + key + numbers + half)
        values = tl.load(shared_values + key + both)
        scores = tl.dot(queries, tl.trans(keys))
        scores = tl.dot(other_queries, tl.trans(other_keys), scores)
        largest, total, sums = _added(scores, values, largest, total, sums, scale)
    for start in tl.range(whole, shared_count, size, num_stages=1):
        is_key = start + column < shared_count
        key = (start + column)[:, None] * (2 * half) + beginning
        keys = tl.load(shared_keys + key + numbers, mask=is_key[:, None], other=0.0)
        other_keys = tl.load(shared_keys + key + numbers + half, mask=is_key[:, None], other=0.0)
        values = tl.load(shared_values + key + both, mask=is_key[:, None], other=0.0)
        scores = tl.dot(queries, tl.trans(keys))
        scores = tl.dot(other_queries, tl.trans(other_keys), scores)
        scores = tl.where(is_key[None, :], scores, float("-inf"))
        largest, total, sums = _added(scores, values, largest, total, sums, scale)

    end = tl.minimum(count, ((tl.program_id(1) + 1) * block - 1) // groups + 1)
    for start in tl.range(0, end, size, num_stages=1):
        key_token = start + column
        is_key = (key_token < end)[:, None]
        source_keys = vectors + first * stride + (key_token * stride + (heads + kv_head) * (2 * half))[:, None]
        places = shared_count + key_token % width
        keys, other_keys = _turned(source_keys + numbers, is_key, places, cosines, sines, half)
        values = tl.load(source_keys + kv_heads * (2 * half) + both, mask=is_key, other=0.0)
        scores = tl.dot(queries, tl.trans(keys))
        scores = tl.dot(other_queries, tl.trans(other_keys), scores)
        is_seen = (key_token[None, :] <= token[:, None]) & ((key_token // width)[None, :] == row[:, None])
        scores = tl.where(is_seen, scores, float("-inf"))
        largest, total, sums = _added(scores, values, largest, total, sums, scale)

    target = result + first * (heads * 2 * half) + (token * (heads * 2 * half) + head * (2 * half))[:, None] + both
    tl.store(target, (sums / total[:, None]).to(result.dtype.element_ty), mask=is_query)


@triton.jit
def _turned(source, inside, places, cosines, sines, half: tl.constexpr):
    """Both halves of vectors, turned and rounded as `kernels.turn` does it."""
    angle = places[:, None] * half + tl.arange(0, half)[None, :]
    cosine = tl.load(cosines + angle, mask=inside, other=0.0)
    sine = tl.load(sines + angle, mask=inside, other=0.0)
    x = tl.load(source, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(source + half, mask=inside, other=0.0).to(tl.float32)
    kind = source.dtype.element_ty
    return (x * cosine - y * sine).to(kind), (y * cosine + x * sine).to(kind)


@triton.jit
def _added(scores, values, largest, total, sums, scale: tl.constexpr):
    """Largest score, sum of weights and weighted sum of values after one more block of keys."""
    larger = tl.maximum(largest, tl.max(scores, 1))
    weights = tl.exp2(scores * scale - (larger * scale)[:, None])
    shrinkage = tl.exp2((largest - larger) * scale)
    total = total * shrinkage + tl.sum(weights, 1)
    sums = tl.dot(weights.to(values.dtype), values, sums * shrinkage[:, None])
    return larger, total, sums
