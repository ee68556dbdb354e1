"""The product of states with gates and ups, let through in the same kernel; importing it needs Triton.

A program computes the gates and the ups of some tokens for the same columns, so that one passes the other before
anything is written: the two products, which are four times as many numbers as the states, never reach the memory.
Programs that follow each other have the same tokens, which they read from the cache of the device.

This module needs nothing of this package, so that `benchmarks/gpu_products.py` runs where only PyTorch is installed.
"""

import functools
import importlib
from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

_DEPTH = 64
"""How many numbers of each state are multiplied at once: 128 bytes, which the shared memory takes without conflicts."""

_SIGMOIDS = {
    "exact": "",
    "quick": "{ .reg .f32 part; mul.ftz.f32 part, $1, 0fBFB8AA3B; ex2.approx.ftz.f32 part, part;"
    " add.ftz.f32 part, part, 0f3F800000; rcp.approx.ftz.f32 $0, part; }",
    "quickest": "{ .reg .f32 part; mul.ftz.f32 part, $1, 0f3F000000; tanh.approx.f32 part, part;"
    " fma.rn.ftz.f32 $0, part, 0f3F000000, 0f3F000000; }",
}
"""What a gate is multiplied with, in instructions of the device; the numbers are -log2(e), 1 and a half."""
_FACTOR_ROWS = 4
"""How many rows a program of `_row_factors` reads."""


@dataclass(frozen=True)
class Plan:
    """How the work is divided.

    Attributes:
        rows: How many tokens a program computes at once.
        columns: How many gates of each token, and as many ups.
        warps: How many groups of 32 threads a program has.
        stages: How many blocks of numbers are read in advance, this one included.
        joined: Whether gates and ups are one product of twice as many columns, or two.
        descriptors: Whether the device copies blocks on its own (from compute capability 9.0 on), or threads do.
        programs: How many programs a multiprocessor has that go on with the next block; 0 for one program a block.
        gate: How gates are let through: `exact`; `quick`, with the device's own exponential and reciprocal, which
            are right to six digits; `quickest`, with its hyperbolic tangent, which is right to three.
        held: Whether the kernel of `triton_held_products` is used, for which only stages and gate matter.
    """

    rows: int = 128
    columns: int = 128
    warps: int = 8
    stages: int = 4
    joined: bool = True
    descriptors: bool = True
    programs: int = 0
    gate: str = "quick"
    held: bool = False


PLAN = Plan(programs=1)
"""What is used: the quickest one measured."""
WIDE_PLAN = Plan(programs=1)
"""What is used in its place for states that `triton_held_products` cannot hold."""


def gated_product(states: Any, weights: Any, plan: Plan | None = None, factors: Any = None) -> Any:
    """See `kernels.gated_product`.

    Args:
        states: Of the shape (tokens, numbers).
        weights: The matrix of the gates, and below it that of the ups.
        plan: How the work is divided.
        factors: What the products of each token are multiplied with before gates are let through, as 32-bit floats.
    """
    plan = plan or default_plan(states)
    states, weights = states.contiguous(), weights.contiguous()
    tokens, width = states.shape
    half = weights.shape[0] // 2
    result = states.new_empty((tokens, half))
    if plan.held:
        _held_products().gated_product(states, weights, result, plan.stages, _SIGMOIDS[plan.gate])
        return result
    blocks = triton.cdiv(tokens, plan.rows) * triton.cdiv(half, plan.columns)
    settings = {
        "width": width, "rows": plan.rows, "columns": plan.columns, "depth": _DEPTH, "joined": plan.joined,
        "sigmoid": _SIGMOIDS[plan.gate], "is_scaled": factors is not None,
    }  # fmt: skip
    if not plan.descriptors:
        _with_pointers[(blocks,)](
            states, weights, result, factors, tokens, half, **settings, num_warps=plan.warps, num_stages=plan.stages
        )
        return result
    weights = weights.view(2, half, width)
    programs = min(blocks, plan.programs * _multiprocessors(states.device)) if plan.programs else blocks
    _with_descriptors[(programs,)](
        TensorDescriptor.from_tensor(states, [plan.rows, _DEPTH]),
        TensorDescriptor.from_tensor(weights, [2 if plan.joined else 1, plan.columns, _DEPTH]),
        TensorDescriptor.from_tensor(result, [plan.rows, plan.columns]),
        factors, tokens, half, **settings, is_lasting=plan.programs > 0,
        num_warps=plan.warps, num_stages=plan.stages,
    )  # fmt: skip
    return result


def row_factors(states: Any, epsilon: float) -> Any:
    """What the states of each token are multiplied with in a norm, as 32-bit floats; see `kernels.norm`."""
    import torch

    tokens, width = states.shape
    result = states.new_empty((tokens,), dtype=torch.float32)
    size = triton.next_power_of_2(width)
    _row_factors[(triton.cdiv(tokens, _FACTOR_ROWS),)](
        states.contiguous(), result, tokens, epsilon, width=width, size=size, rows=_FACTOR_ROWS, num_warps=4
    )
    return result


def default_plan(states: Any) -> Plan:
    """The plan for the shape of states."""
    return PLAN if not PLAN.held or _held_products().can_hold(states) else WIDE_PLAN


@functools.cache
def _held_products() -> Any:
    # A module of Triton that may change: it is imported only where it is used.
    if __package__:
        from populace.models.pytorch import triton_held_products as module
    else:
        module = importlib.import_module("triton_held_products")
    return module


@functools.cache
def _multiprocessors(device: Any) -> int:
    import torch

    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else 3


@triton.jit
def _let_through(gates, ups, sigmoid: tl.constexpr):
    if sigmoid == "":
        return gates / (1.0 + tl.exp(-gates)) * ups
    return gates * tl.inline_asm_elementwise(sigmoid, "=f,f", [gates], tl.float32, True, 1) * ups


@triton.jit
def _halves(sums, rows: tl.constexpr, columns: tl.constexpr):
    return tl.split(tl.permute(tl.reshape(sums, (rows, 2, columns)), (0, 2, 1)))


@triton.jit(do_not_specialize=["tokens"])
def _with_pointers(
    states, weights, result, factors, tokens, half,
    width: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr, joined: tl.constexpr,
    sigmoid: tl.constexpr, is_scaled: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(half, columns)
    row = tl.program_id(0) // across * rows + tl.arange(0, rows)
    first = tl.program_id(0) % across * columns
    number = tl.arange(0, depth)
    # Rows and columns beyond the end are read from the last one, which costs less than a condition.
    source = states + tl.minimum(row, tokens - 1).to(tl.int64)[:, None] * width + number[None, :]
    if joined:
        both = tl.arange(0, 2 * columns)
        line = tl.minimum(first + both % columns, half - 1) + both // columns * half
        sums = tl.zeros((rows, 2 * columns), tl.float32)
    else:
        line = tl.minimum(first + tl.arange(0, columns), half - 1)
        sums = tl.zeros((rows, columns), tl.float32)
    up_sums = tl.zeros((rows, columns), tl.float32)
    matrix = weights + line.to(tl.int64)[None, :] * width + number[:, None]
    ups_matrix = matrix + half.to(tl.int64) * width
    for start in tl.range(0, width, depth):
        if width % depth == 0:
            block = tl.load(source + start)
            sums = tl.dot(block, tl.load(matrix + start), sums)
            if not joined:
                up_sums = tl.dot(block, tl.load(ups_matrix + start), up_sums)
        else:
            inside = start + number < width
            block = tl.load(source + start, mask=inside[None, :], other=0.0)
            sums = tl.dot(block, tl.load(matrix + start, mask=inside[:, None], other=0.0), sums)
            if not joined:
                up_sums = tl.dot(block, tl.load(ups_matrix + start, mask=inside[:, None], other=0.0), up_sums)
    if joined:
        sums, up_sums = _halves(sums, rows, columns)
    if is_scaled:
        factor = tl.load(factors + row, mask=row < tokens, other=0.0)[:, None]
        sums, up_sums = sums * factor, up_sums * factor
    column = first + tl.arange(0, columns)
    target = result + row.to(tl.int64)[:, None] * half + column[None, :]
    passed = _let_through(sums, up_sums, sigmoid).to(result.dtype.element_ty)
    tl.store(target, passed, mask=(row < tokens)[:, None] & (column < half)[None, :])


@triton.jit
def _block(
    states, weights, result, factors, tokens, block, across, half,
    width: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr, joined: tl.constexpr,
    sigmoid: tl.constexpr, is_scaled: tl.constexpr,
):  # fmt: skip
    row = block // across * rows
    column = block % across * columns
    up_sums = tl.zeros((rows, columns), tl.float32)
    if joined:
        sums = tl.zeros((rows, 2 * columns), tl.float32)
    else:
        sums = tl.zeros((rows, columns), tl.float32)
    # What lies outside is read as zeros, and not written.
    for start in tl.range(0, width, depth):
        numbers = states.load([row, start])
        if joined:
            lines = tl.reshape(weights.load([0, column, start]), (2 * columns, depth))
            sums = tl.dot(numbers, lines.T, sums)
        else:
            gates = tl.reshape(weights.load([0, column, start]), (columns, depth))
            sums = tl.dot(numbers, gates.T, sums)
            ups = tl.reshape(weights.load([1, column, start]), (columns, depth))
            up_sums = tl.dot(numbers, ups.T, up_sums)
    if joined:
        sums, up_sums = _halves(sums, rows, columns)
    if is_scaled:
        places = row + tl.arange(0, rows)
        factor = tl.load(factors + places, mask=places < tokens, other=0.0)[:, None]
        sums, up_sums = sums * factor, up_sums * factor
    result.store([row, column], _let_through(sums, up_sums, sigmoid).to(result.dtype))


@triton.jit(do_not_specialize=["tokens"])
def _with_descriptors(
    states, weights, result, factors, tokens, half,
    width: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr, joined: tl.constexpr,
    sigmoid: tl.constexpr, is_scaled: tl.constexpr, is_lasting: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(half, columns)
    if is_lasting:
        blocks = tl.cdiv(tokens, rows) * across
        for block in tl.range(tl.program_id(0), blocks, tl.num_programs(0), flatten=True):
            _block(
                states, weights, result, factors, tokens, block, across, half,
                width, rows, columns, depth, joined, sigmoid, is_scaled,
            )  # fmt: skip
    else:
        _block(
            states, weights, result, factors, tokens, tl.program_id(0), across, half,
            width, rows, columns, depth, joined, sigmoid, is_scaled,
        )  # fmt: skip


@triton.jit(do_not_specialize=["tokens"])
def _row_factors(
    states, result, tokens, epsilon, width: tl.constexpr, size: tl.constexpr, rows: tl.constexpr
):  # fmt: skip
    token = tl.program_id(0) * rows + tl.arange(0, rows)
    number = tl.arange(0, size)[None, :]
    inside = (token < tokens)[:, None] & (number < width)
    numbers = tl.load(states + token.to(tl.int64)[:, None] * width + number, mask=inside, other=0.0).to(tl.float32)
    factor = 1.0 / tl.sqrt(tl.sum(numbers * numbers, 1) / width + epsilon)
    tl.store(result + token, factor, mask=token < tokens)
