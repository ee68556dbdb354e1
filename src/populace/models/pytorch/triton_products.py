"""The product of states with gates and ups, let through in the same kernel; importing it needs Triton.

A program computes the gates and the ups of some tokens for the same columns, so that one passes the other before
anything is written: the two products, which are several times as many numbers as the states, never reach the memory.
Programs that follow each other have the same tokens, which they read from the cache of the device.

This module needs nothing of this package, so that `benchmarks/gpu_products.py` runs where only PyTorch is installed.
"""

import functools
from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

_DEPTH = 64
"""How many numbers of each state are multiplied at once: 128 bytes, which the shared memory takes without conflicts."""
_SIGMOID = (
    "{ .reg .f32 part; mul.ftz.f32 part, $1, 0fBFB8AA3B; ex2.approx.ftz.f32 part, part;"
    " add.ftz.f32 part, part, 0f3F800000; rcp.approx.ftz.f32 $0, part; }"
)
"""What a gate is multiplied with, in instructions of the device that are right to six digits; the first number is
-log2(e)."""


@dataclass(frozen=True)
class Plan:
    """How the work is divided.

    Attributes:
        rows: How many tokens a program computes at once.
        columns: How many gates of each token, and as many ups.
        warps: How many groups of 32 threads a program has.
        stages: How many blocks of numbers are read in advance, this one included.
        programs: How many programs a multiprocessor has that go on with the next block; 0 for one program a block.
        is_exact: Whether the exponential is computed in full, as an interpreter on a processor has to.
    """

    rows: int = 128
    columns: int = 64
    warps: int = 4
    stages: int = 3
    programs: int = 2
    is_exact: bool = False


PLAN = Plan()
"""What is used: the quickest one of eleven on an H200 (docs/design/speed.md)."""


def gated_product(states: Any, weights: Any, plan: Plan = PLAN) -> Any:
    """See `kernels.gated_product`.

    Args:
        states: Of the shape (tokens, numbers).
        weights: The matrix of the gates, and below it that of the ups.
        plan: How the work is divided.
    """
    states, weights = states.contiguous(), weights.contiguous()
    tokens, width = states.shape
    half = weights.shape[0] // 2
    result = states.new_empty((tokens, half))
    blocks = triton.cdiv(tokens, plan.rows) * triton.cdiv(half, plan.columns)
    programs = min(blocks, plan.programs * _multiprocessors(states.device)) if plan.programs else blocks
    _gated_product[(programs,)](
        TensorDescriptor.from_tensor(states, [plan.rows, _DEPTH]),
        TensorDescriptor.from_tensor(weights.view(2, half, width), [2, plan.columns, _DEPTH]),
        TensorDescriptor.from_tensor(result, [plan.rows, plan.columns]),
        tokens, half, width=width, rows=plan.rows, columns=plan.columns, depth=_DEPTH,
        sigmoid="" if plan.is_exact else _SIGMOID, is_lasting=plan.programs > 0,
        num_warps=plan.warps, num_stages=plan.stages,
    )  # fmt: skip
    return result


@functools.cache
def _multiprocessors(device: Any) -> int:
    import torch

    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else 3


@triton.jit(do_not_specialize=["tokens"])
def _gated_product(
    states, weights, result, tokens, half,
    width: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr, sigmoid: tl.constexpr,
    is_lasting: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(half, columns)
    if is_lasting:
        blocks = tl.cdiv(tokens, rows) * across
        for block in tl.range(tl.program_id(0), blocks, tl.num_programs(0), flatten=True):
            _block(states, weights, result, block, across, width, rows, columns, depth, sigmoid)
    else:
        _block(states, weights, result, tl.program_id(0), across, width, rows, columns, depth, sigmoid)


@triton.jit
def _block(
    states, weights, result, block, across,
    width: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr, sigmoid: tl.constexpr,
):  # fmt: skip
    row = block // across * rows
    column = block % across * columns
    sums = tl.zeros((rows, 2 * columns), tl.float32)
    # What lies outside is read as zeros, and not written.
    for start in tl.range(0, width, depth):
        lines = tl.reshape(weights.load([0, column, start]), (2 * columns, depth))
        sums = tl.dot(states.load([row, start]), lines.T, sums)
    gates, ups = tl.split(tl.permute(tl.reshape(sums, (rows, 2, columns)), (0, 2, 1)))
    if sigmoid == "":
        passed = gates / (1.0 + tl.exp(-gates)) * ups
    else:
        passed = gates * tl.inline_asm_elementwise(sigmoid, "=f,f", [gates], tl.float32, True, 1) * ups
    result.store([row, column], passed.to(result.dtype))
