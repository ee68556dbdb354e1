"""The kernels for a GPU compute what the operations of PyTorch compute."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from populace.models.base import Request
from populace.models.transformers_model import TransformersModel
from support.tiny_models import answers, tiny_folder

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
    for tokens, numbers in ((5, 576), (1, 64), (6, 100)):
        states, weight = torch.randn(tokens, numbers).to(kind), torch.randn(numbers).to(kind)
        wanted, result = (each.norm(states, weight, 1e-5) for each in (kernels, triton_kernels))
        torch.testing.assert_close(wanted, result, atol=allowed, rtol=allowed)
    logits = (10 * torch.randn(3, 5000)).to(kind)
    torch.testing.assert_close(kernels.log_sums(logits), triton_kernels.log_sums(logits), atol=1e-4, rtol=1e-5)
    logits[1, 70] = torch.nan
    assert triton_kernels.log_sums(logits).isfinite().flatten().tolist() == [True, False, True]
print("equal")
"""

_INTERPRETER = """
import torch
from triton.runtime import interpreter

patch = interpreter._patch_lang_tensor

def patch_ends_of_loops(tensor, scope):
    # The interpreter turns an array with one number into the end of a loop, which NumPy 2.4 no longer does.
    patch(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

interpreter._patch_lang_tensor = patch_ends_of_loops
torch.set_num_threads(1)
torch.manual_seed(0)
"""

_ATTENTION = (
    _INTERPRETER
    + """
from types import SimpleNamespace
from populace.models.pytorch import triton_attention
from populace.models.pytorch.network import Network

def in_parts(vectors, rows, kv_heads, shared, cosines, sines):
    network = Network.__new__(Network)
    network.device, network.has_one_pass, network.cosines, network.sines = vectors.device, False, cosines, sines
    network.shape = SimpleNamespace(heads=vectors.shape[1] - 2 * kv_heads, kv_heads=kv_heads)
    network._layers = lambda tokens, attention, last: attention(0, vectors.clone()).reshape(len(vectors), -1)
    return network.read(torch.zeros(rows, len(vectors) // rows), shared=shared and [shared])[0].flatten(0, 1)

# Rows, own tokens, heads, heads of keys, width of a head, shared tokens.
cases = [
    (2, 39, 9, 3, 64, 92), (2, 39, 3, 1, 64, 0), (1, 1, 4, 4, 32, 0), (5, 1, 9, 3, 64, 64), (7, 3, 14, 2, 64, 70),
    (2, 70, 4, 2, 64, 30), (1, 40, 8, 1, 128, 3), (30, 5, 2, 2, 32, 129), (13, 11, 3, 1, 64, 0),
]
for rows, width, heads, kv_heads, size, count in cases:
    for kind, allowed in ((torch.float32, 1e-5), (torch.float16, 4e-3)):
        vectors = (1.5 * torch.randn(rows * width, heads + 2 * kv_heads, size)).to(kind)
        shared = tuple(torch.randn(1, kv_heads, count, size).to(kind) for _ in range(2)) if count else None
        angles = 6 * torch.rand(count + width, size // 2)
        angles = angles.cos(), angles.sin()
        wanted = in_parts(vectors, rows, kv_heads, shared, *angles)
        result = triton_attention.attend(vectors, width, kv_heads, shared, angles).flatten(1)
        torch.testing.assert_close(wanted, result, atol=allowed, rtol=allowed)
print("equal")
"""
)

_PRODUCTS = (
    _INTERPRETER
    + """
import functools
from populace.models.pytorch import kernels, triton_products
# The quicker way to let gates through are instructions of a GPU.
Plan = functools.partial(triton_products.Plan, is_exact=True)
plans = [Plan(), Plan(programs=0), Plan(columns=128, programs=1), Plan(rows=64, columns=32)]
# Tokens, width, gates.
for tokens, width, half in ((300, 576, 200), (1, 576, 64), (130, 104, 96), (128, 64, 64), (5, 200, 1000)):
    states, weights = torch.randn(tokens, width).half(), (0.06 * torch.randn(2 * half, width)).half()
    wanted = kernels.gated_product(states, weights, in_one=False)
    for plan in plans:
        result = triton_products.gated_product(states, weights, plan)
        torch.testing.assert_close(wanted, result, atol=4e-3, rtol=4e-3)
print("equal")
"""
)

needs_triton = pytest.mark.skipif(
    not (importlib.util.find_spec("triton") and importlib.util.find_spec("torch")),
    reason="Triton is not installed; it comes with a PyTorch for GPUs",
)


@needs_triton
@pytest.mark.parametrize("script", [_COMPARE, _ATTENTION, _PRODUCTS], ids=["steps", "attention", "products"])
def test_the_kernels_of_triton_compute_the_same(script: str) -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert result.stdout == "equal\n", result.stderr


def _raise(*arguments: Any, **options: Any) -> None:
    raise RuntimeError("PassManager::run failed")


def _return_zeros(vectors: Any, width: int, kv_heads: int, *arguments: Any) -> Any:
    return vectors[:, : -2 * kv_heads] * 0


def _fail_after_a_long_beginning(vectors: Any, width: int, kv_heads: int, shared: Any, angles: Any) -> Any:
    if shared and shared[0].shape[2] > 128:
        raise RuntimeError("a loop over several blocks of keys")
    return _return_zeros(vectors, width, kv_heads)


@pytest.mark.parametrize(
    ("attend", "problem"),
    [
        (_raise, "RuntimeError: PassManager"),
        (_return_zeros, "differ by"),
        (_fail_after_a_long_beginning, "several blocks of keys"),
    ],
)
def test_a_kernel_that_fails_on_a_gpu_is_not_used_and_the_user_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attend: Any, problem: str
) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'populace[gpu]'")
    from populace.models.pytorch import network

    path, request = tiny_folder(tmp_path / "m", bias=True), Request((("user", "Bread?"),), top=30)
    expected = answers(TransformersModel(path), [request])
    monkeypatch.setattr(network, "attends", lambda *arguments: True)
    monkeypatch.setattr(network, "attend", attend)
    monkeypatch.setattr(network, "_ALLOWED", 1e-3)  # The tiny network hardly looks at other tokens.
    model = TransformersModel(path)
    assert answers(model, [request]) == expected
    assert [problem in note for note in model.notes] == [True]
    assert "one pass" not in model.fingerprint


def _return_zero_products(states: Any, weights: Any, *, in_one: bool) -> Any:
    from populace.models.pytorch import kernels

    return kernels.gated_product(states, weights, in_one=False) * (not (in_one and len(states) >= kernels.LEAST_TOKENS))


def _fail_at_the_last_tokens(states: Any, weights: Any, *, in_one: bool) -> Any:
    from populace.models.pytorch import kernels

    result = kernels.gated_product(states, weights, in_one=False)
    if in_one and len(states) >= kernels.LEAST_TOKENS:
        result[-100:] = 0
    return result


@pytest.mark.parametrize(
    ("product", "problem"),
    [
        (_raise, "RuntimeError: PassManager"),
        (_return_zero_products, "differ by"),
        (_fail_at_the_last_tokens, "differ by"),
    ],
)
def test_a_product_that_fails_on_a_gpu_is_not_used_and_the_user_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, product: Any, problem: str
) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'populace[gpu]'")
    from populace.models.pytorch import kernels, network

    def computed(states: Any, weights: Any, *, in_one: bool) -> Any:
        # The way in two steps is computed as ever.
        return (product if in_one else kernels.gated_product)(states, weights, in_one=in_one)

    path, request = tiny_folder(tmp_path / "m", bias=True), Request((("user", "Bread?"),), top=30)
    expected = answers(TransformersModel(path), [request])
    monkeypatch.setattr(network, "has_gated_product", lambda *arguments: True)
    monkeypatch.setattr(network, "gated_product", computed)
    monkeypatch.setattr(network, "_ALLOWED", 1e-3)
    model = TransformersModel(path)
    assert answers(model, [request]) == expected
    assert [problem in note for note in model.notes] == [True]
    assert "one product" not in model.fingerprint


def test_a_product_that_computes_the_same_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'populace[gpu]'")
    from populace.models.pytorch import kernels, network

    path, request = tiny_folder(tmp_path / "m", bias=True), Request((("user", "Bread?"),), top=30)
    expected = answers(TransformersModel(path), [request])
    sizes: set[int] = set()

    def product(states: Any, weights: Any, *, in_one: bool) -> Any:
        sizes.add(len(states) if in_one else 0)
        return kernels.gated_product(states, weights, in_one=False)

    monkeypatch.setattr(network, "has_gated_product", lambda *arguments: True)
    monkeypatch.setattr(network, "gated_product", product)
    model = TransformersModel(path)
    assert answers(model, [request]) == expected
    assert not model.notes
    assert "gates in one product" in model.fingerprint
    assert max(sizes) >= kernels.LEAST_TOKENS, "the trial is as large as what the kernel is used for"
