"""Batches under way on a GPU: few at a time, whoever asks, and every reply arrives."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from populace.models.base import Reply, Request
from populace.models.transformers_model import TransformersModel
from support.tiny_models import answers, tiny_folder


class Looks:
    """An event of a device that has happened after a few looks, and not before the one before it."""

    def __init__(self, before: Looks | None) -> None:
        self.left, self.before = 3, before

    def query(self) -> bool:
        if self.left and (self.before is None or self.before.query()):
            self.left -= 1
        return not self.left


class Device:
    """Stands in for a GPU: computes at once, and says so later."""

    def __init__(self, model: TransformersModel, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[Looks] = []
        self.most_under_way = 0
        self.order: list[int] = []
        scorer = model._loaded().scorer
        begin = scorer.begin

        def begin_later(rows: Any, which: Any, *others: Any) -> Any:
            distributions = begin(rows, which, *others)
            distributions._event = Looks(self.events[-1] if self.events else None)
            self.events.append(distributions._event)
            self.order.append(len(rows))
            self.most_under_way = max(self.most_under_way, sum(event.left > 0 for event in self.events))
            return distributions

        monkeypatch.setattr(scorer, "begin", begin_later)
        monkeypatch.setattr(model, "_device", "cuda")
        monkeypatch.setitem(TransformersModel._tokens_at_once.__globals__["_TOKENS_AT_ONCE"], "cuda", 60)
        monkeypatch.setitem(TransformersModel._tokens_at_once.__globals__["_TOKENS_A_LAUNCH"], "cuda", 1)


def scores(count: int, word: str) -> list[Request]:
    users = [f"Yesterday {n} of 20 wore {word}." for n in range(count)]
    return [Request((("user", user),), lead="I wear", top=5) for user in users]


@pytest.fixture
def model(tmp_path: Path) -> TransformersModel:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'populace[gpu]'")
    torch.set_num_threads(1)
    model = TransformersModel(tiny_folder(tmp_path / "m"))
    asyncio.run(model.start())
    return model


async def collect(model: TransformersModel, requests: list[Request]) -> list[Any]:
    results: dict[int, Any] = {}
    async for batch in model.replies(requests):
        results.update(batch)
    return [results[number] for number in range(len(requests))]


def test_calls_at_the_same_time_share_the_limit_and_the_first_one_goes_first(
    model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    lots = [scores(23, "blue"), scores(17, "green"), scores(11, "red")]
    expected = [answers(model, lot) for lot in lots]
    asyncio.run(model.start())
    device = Device(model, monkeypatch)

    async def together() -> list[list[Any]]:
        return await asyncio.gather(*(collect(model, lot) for lot in lots))

    for lot, replies in zip(expected, asyncio.run(together()), strict=True):
        for one, other in zip(lot, replies, strict=True):
            assert isinstance(one, Reply)
            assert (one.text, one.prompt_tokens) == (other.text, other.prompt_tokens)
            assert np.allclose([p for _, p in one.tokens], [p for _, p in other.tokens], atol=1e-4)
    assert device.most_under_way == 2
    assert len(device.events) > 20
    ends = [max(place for place, size in enumerate(device.order) if size == len(lot)) for lot in lots]
    assert ends == sorted(ends)


def test_a_call_that_is_abandoned_leaves_its_room_to_others(
    model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Device(model, monkeypatch)

    async def abandoned_and_whole() -> list[Any]:
        async with contextlib.aclosing(model.replies(scores(23, "blue"))) as batches:
            async for _ in batches:
                break
        waiting = asyncio.ensure_future(collect(model, scores(23, "green")))
        await asyncio.sleep(0.002)
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting
        async with asyncio.timeout(20):
            return await collect(model, scores(9, "red"))

    assert len(asyncio.run(abandoned_and_whole())) == 9
    assert not model._pipeline.calls
    assert device.events


def test_a_halted_model_ends_what_is_under_way_and_begins_no_more(
    model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Device(model, monkeypatch)

    async def halted() -> int:
        count = 0
        async for batch in model.replies(scores(23, "blue")):
            count += len(batch)
            model.halted = True
        return count

    count = asyncio.run(halted())
    assert 0 < count < 23
    assert len(device.events) <= 3
