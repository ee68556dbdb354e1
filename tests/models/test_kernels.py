"""The kernels for a GPU compute what the operations of PyTorch compute."""

import importlib.util
import os
import subprocess
import sys

import pytest

_COMPARE = """
import torch
from populace.models.pytorch import kernels, triton_kernels

torch.manual_seed(0)
rows, width, heads, kv_heads, size = 2, 5, 9, 3, 64
places = (torch.arange(width) + 11).repeat(rows)
for kind, allowed in ((torch.float32, 1e-5), (torch.float16, 2e-3)):
    vectors = torch.randn(rows * width, heads + 2 * kv_heads, size).to(kind)
    cosines, sines = torch.randn(50, size // 2), torch.randn(50, size // 2)
    one, other = vectors.clone(), vectors.clone()
    kernels.turn(one[:, : heads + kv_heads], places, cosines, sines)
    triton_kernels.turn(other[:, : heads + kv_heads], places, cosines, sines)
    assert not torch.equal(one, vectors)
    assert torch.equal(one[:, heads + kv_heads :], vectors[:, heads + kv_heads :])
    torch.testing.assert_close(one, other, atol=allowed, rtol=allowed)
    joined = torch.randn(21, 200).to(kind)
    torch.testing.assert_close(kernels.gate(joined), triton_kernels.gate(joined), atol=allowed, rtol=allowed)
    own, shared = (torch.randn(rows, width, heads, size).to(kind) for _ in range(2))
    own_constants, shared_constants = torch.randn(rows, heads, width + 3)[..., :width], torch.randn(heads, rows, width)
    wanted = kernels.join(own.clone(), own_constants, shared, shared_constants)
    result = triton_kernels.join(own.clone(), own_constants, shared, shared_constants)
    torch.testing.assert_close(wanted, result, atol=allowed, rtol=allowed)
print("equal")
"""


@pytest.mark.skipif(
    not (importlib.util.find_spec("triton") and importlib.util.find_spec("torch")),
    reason="Triton is not installed; it comes with a PyTorch for GPUs",
)
def test_the_kernels_of_triton_compute_the_same() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    result = subprocess.run([sys.executable, "-c", _COMPARE], env=environment, capture_output=True, text=True)
    assert result.stdout == "equal\n", result.stderr
