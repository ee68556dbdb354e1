"""As `triton_products`, with the states of a program held in the memory of its multiprocessor: for Hopper.

A program takes some tokens, copies their states once, and goes through all columns of the matrices. One group of four
warps multiplies while the other lets the gates of the columns before pass, and one warp does nothing but begin the
copies of the matrices. The groups take turns of their own accord: the blocks of the matrices come one after the other,
those of one group first and then those of the other.
"""

from typing import Any

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

_ROWS = 128
"""How many tokens a program has."""
_COLUMNS = 64
"""How many gates of each token a group computes at once, and as many ups."""
_DEPTH = 64
_MOST_WIDTH = 576
"""How many numbers a state has at most: more do not fit into the memory of a multiprocessor."""
_MOST_REGISTERS = 168
"""Of a thread, on the mean: three groups of four warps are on a multiprocessor."""
_REGISTERS, _COPY_REGISTERS = gl.constexpr(232), gl.constexpr(24)
"""Of a thread of the second group, and of one that begins copies; the first group has what is left."""


def can_hold(states: Any) -> bool:
    """Whether the states of a program fit into the memory of a multiprocessor."""
    return bool(states.shape[1] <= _MOST_WIDTH and states.shape[1] % 8 == 0)


def gated_product(states: Any, weights: Any, result: Any, stages: int, sigmoid: str) -> None:
    """See `kernels.gated_product`.

    Args:
        states: Of the shape (tokens, numbers).
        weights: The matrix of the gates, and below it that of the ups.
        result: Where the result is written.
        stages: How many blocks of the matrices are in the memory at once, 3 or 4.
        sigmoid: What a gate is multiplied with, in instructions of the device.
    """
    import torch

    tokens, width = states.shape
    half = weights.shape[0] // 2
    # Four blocks of the matrices leave less memory for what is written.
    target = [_ROWS, _COLUMNS if stages < 4 else _COLUMNS // 2]
    kind = gl.bfloat16 if states.dtype == torch.bfloat16 else gl.float16
    layout, target_layout = (gl.NVMMASharedLayout.get_default_for(shape, kind) for shape in ([_ROWS, _DEPTH], target))
    _gated_product[(triton.cdiv(tokens, _ROWS),)](
        TensorDescriptor.from_tensor(states, [_ROWS, _DEPTH], layout),
        TensorDescriptor.from_tensor(weights, [_COLUMNS, _DEPTH], layout),
        TensorDescriptor.from_tensor(result, target, target_layout),
        half, steps=triton.cdiv(width, _DEPTH), stages=stages, sigmoid=sigmoid, pieces=_COLUMNS // target[1],
        num_warps=4, maxnreg=_MOST_REGISTERS,
    )  # fmt: skip


@gluon.jit
def _copy(states, weights, held, blocks, barriers, half, steps: gl.constexpr, stages: gl.constexpr):
    held_ready, ready, empty = barriers
    row = gl.program_id(0) * held.type.shape[1]
    columns: gl.constexpr = blocks.type.shape[1] // 2
    number = 0
    for column in range(0, half, columns):
        for step in range(steps):
            if column == 0:
                mbarrier.expect(held_ready.index(step), states.block_type.nbytes)
                tma.async_copy_global_to_shared(
                    states, [row, step * held.type.shape[2]], held_ready.index(step), held.index(step)
                )
            slot = number % stages
            mbarrier.wait(empty.index(slot), (number // stages & 1) ^ 1)
            mbarrier.expect(ready.index(slot), 2 * weights.block_type.nbytes)
            block = blocks.index(slot)
            depth: gl.constexpr = blocks.type.shape[2]
            tma.async_copy_global_to_shared(weights, [column, step * depth], ready.index(slot), block.slice(0, columns))
            tma.async_copy_global_to_shared(
                weights, [half + column, step * depth], ready.index(slot), block.slice(columns, columns)
            )
            number += 1


@gluon.jit
def _compute(
    result, held, blocks, target, barriers, half, group: gl.constexpr, steps: gl.constexpr,
    stages: gl.constexpr, sigmoid: gl.constexpr, pieces: gl.constexpr,
):  # fmt: skip
    held_ready, ready, empty = barriers
    rows: gl.constexpr = held.type.shape[1]
    columns: gl.constexpr = blocks.type.shape[1] // 2
    layout: gl.constexpr = gl.NVMMADistributedLayout(
        version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 2 * columns, 16]
    )
    row = gl.program_id(0) * rows
    for turn in range(group, gl.cdiv(half, columns), 2):
        sums = gl.zeros((rows, 2 * columns), gl.float32, layout)
        for step in range(steps):
            number = turn * steps + step
            slot = number % stages
            mbarrier.wait(held_ready.index(step), 0, pred=turn == group)
            mbarrier.wait(ready.index(slot), number // stages & 1)
            sums = warpgroup_mma(
                held.index(step), blocks.index(slot).permute((1, 0)), sums, use_acc=step > 0, is_async=True
            )
            # The product before is complete then, and its block of the matrices may be written over.
            sums = warpgroup_mma_wait(1, deps=(sums,))
            mbarrier.arrive(empty.index((number + stages - 1) % stages), count=1, pred=step > 0)
        sums = warpgroup_mma_wait(0, deps=(sums,))
        mbarrier.arrive(empty.index((turn * steps + steps - 1) % stages), count=1)
        gates, ups = sums.reshape((rows, 2, columns)).permute((0, 2, 1)).split()
        if sigmoid == "":
            passed = gates / (1.0 + gl.exp(-gates)) * ups
        else:
            passed = gates * gl.inline_asm_elementwise(sigmoid, "=f,f", [gates], gl.float32, True, 1) * ups
        if pieces == 1:
            _write(result, target, passed, row, turn * columns)
        else:
            first, second = passed.reshape((rows, 2, columns // 2)).permute((0, 2, 1)).split()
            _write(result, target, first, row, turn * columns)
            _write(result, target, second, row, turn * columns + columns // 2)
    tma.store_wait(0)


@gluon.jit
def _write(result, target, numbers, row, column):
    # The copy before must have left this memory.
    tma.store_wait(0)
    target.store(numbers.to(result.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(result, [row, column], target)


@gluon.jit(do_not_specialize=["half"])
def _gated_product(
    states, weights, result, half, steps: gl.constexpr, stages: gl.constexpr, sigmoid: gl.constexpr,
    pieces: gl.constexpr,
):  # fmt: skip
    rows: gl.constexpr = states.block_type.shape[0]
    depth: gl.constexpr = states.block_type.shape[1]
    columns: gl.constexpr = weights.block_type.shape[0]
    held = gl.allocate_shared_memory(states.dtype, [steps, rows, depth], states.layout)
    blocks = gl.allocate_shared_memory(states.dtype, [stages, 2 * columns, depth], states.layout)
    target = gl.allocate_shared_memory(states.dtype, [rows, columns // pieces], result.layout)
    other_target = gl.allocate_shared_memory(states.dtype, [rows, columns // pieces], result.layout)
    held_ready = gl.allocate_shared_memory(gl.int64, [steps, 1], mbarrier.MBarrierLayout())
    ready = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    for step in gl.static_range(steps):
        mbarrier.init(held_ready.index(step), count=1)
    for slot in gl.static_range(stages):
        mbarrier.init(ready.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    fence_async_shared()
    barriers = (held_ready, ready, empty)
    gl.warp_specialize(
        [
            (_compute, (result, held, blocks, target, barriers, half, 0, steps, stages, sigmoid, pieces)),
            (_compute, (result, held, blocks, other_target, barriers, half, 1, steps, stages, sigmoid, pieces)),
            (_copy, (states, weights, held, blocks, barriers, half, steps, stages)),
        ],
        [4, 1],
        [_REGISTERS, _COPY_REGISTERS],
    )
