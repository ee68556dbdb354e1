"""What a device computes is a number, or is computed again, or is a failure; and memory is written before it is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from populace.models.base import Failure, Request
from populace.models.transformers_model import TransformersModel
from support.tiny_models import answers, tiny_folder


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'populace[gpu]'")
    torch.set_num_threads(1)  # Threads wait for each other longer than such a small network takes.


SYSTEM = ("system", "You are Maria, a baker.")


def scores(count: int) -> list[Request]:
    users = [f"Yesterday {n} of 20 wore blue. {'And you? ' * (n % 3)}".strip() for n in range(count)]
    return [Request((SYSTEM, ("user", user)), lead="I wear", top=30) for user in users]


def texts(count: int) -> list[Request]:
    users = [f"Say something about bread{'!' * (7 * n)}" for n in range(count)]
    return [Request((SYSTEM, ("user", u)), max_tokens=12, seed=n, temperature=n % 2) for n, u in enumerate(users)]


@contextmanager
def poisoned_memory() -> Iterator[None]:
    """All new memory holds something that is no number."""
    import torch

    torch.use_deterministic_algorithms(True)
    assert torch.utils.deterministic.fill_uninitialized_memory
    try:
        assert torch.empty(3).isnan().all()
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_no_reply_depends_on_memory_that_nobody_has_written(tmp_path: Path, family: str) -> None:
    requests = [*scores(6), *texts(5)]
    path = tiny_folder(tmp_path / "m", family=family, bias=family == "qwen2")
    expected = answers(TransformersModel(path), requests)
    with poisoned_memory():
        model = TransformersModel(path)
        assert answers(model, requests) == expected
        # Caches that were used before, for other rows and lengths.
        assert answers(model, requests[:5:-1]) == expected[:5:-1]
    assert not model.notes


class Damaged:
    """A network whose scores are no numbers some times."""

    def __init__(self, logits: Any, times: int) -> None:
        self.logits, self.times = logits, times

    def __call__(self, states: Any) -> Any:
        import torch

        self.times -= 1
        found = self.logits(states)
        if self.times >= 0:
            found[-1] = torch.nan
        return found


@pytest.mark.parametrize("requests", [scores(5), texts(3)], ids=["scored", "written"])
def test_what_is_no_number_is_computed_again_and_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requests: list[Request]
) -> None:
    model = TransformersModel(tiny_folder(tmp_path / "m"))
    expected = answers(model, requests)
    network = model._loaded().network
    monkeypatch.setattr(network, "logits", Damaged(network.logits, 1))
    assert answers(model, requests) == expected
    assert any("no number" in note for note in model.notes)


@pytest.mark.parametrize("requests", [scores(5), texts(3)], ids=["scored", "written"])
def test_a_prompt_without_a_number_twice_is_a_failure_and_the_others_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requests: list[Request]
) -> None:
    model = TransformersModel(tiny_folder(tmp_path / "m"))
    expected = answers(model, requests)
    network = model._loaded().network
    monkeypatch.setattr(network, "logits", Damaged(network.logits, 1000))
    found = answers(model, requests)
    failures = [each for each in found if isinstance(each, Failure)]
    assert [each.status for each in failures] == ["unanswered"]
    assert "no number" in failures[0].detail
    assert [each for each in found if each not in failures] == [
        each for each, other in zip(expected, found, strict=True) if other not in failures
    ]


def probabilities(network: Any, prompts: list[list[int]]) -> Any:
    import torch

    states = [network.read(torch.tensor([prompt]))[0][0, -1:] for prompt in prompts]
    return network.logits(torch.cat(states)).float().softmax(-1).numpy()


def test_half_precision_is_closer_than_bfloat16(tmp_path: Path) -> None:
    import torch

    from populace.models.pytorch.network import Network
    from populace.models.pytorch.weights import read_weights

    path, prompts = tiny_folder(tmp_path / "m", bias=True), [[5, 9, 77], list(range(40, 70))]
    types = (torch.float32, torch.float16, torch.bfloat16)
    exact, half, short = (probabilities(Network(read_weights(path, "cpu", each)), prompts) for each in types)
    assert np.abs(half - exact).sum(-1).max() / 2 < 0.01
    assert np.abs(half - exact).sum(-1).max() < np.abs(short - exact).sum(-1).max() / 3


@pytest.mark.parametrize(("factor", "number_type"), [(1.0, "float16"), (3e5, "bfloat16")])
def test_a_network_whose_states_do_not_fit_into_half_precision_computes_with_bfloat16(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, number_type: str
) -> None:
    import torch

    from populace.models.pytorch import network

    read = network.read_weights

    def larger(*arguments: Any) -> Any:
        weights = read(*arguments)
        weights.tensors["model.layers.0.mlp.up_proj.weight"] *= factor
        return weights

    monkeypatch.setattr(network, "read_weights", larger)
    path = tiny_folder(tmp_path / "m")
    loaded = network.load_network(path, "cpu", (torch.float16, torch.bfloat16), None, [5, 9, 77])
    assert str(loaded.number_type) == f"torch.{number_type}"
    assert np.isfinite(probabilities(loaded, [[5, 9, 77]])).all()
