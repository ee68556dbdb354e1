"""Results of a purchase, in whatever order the model gives them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from populace.base.errors import ModelError
from populace.broker.purchase import Purchase
from populace.models import Failure, Reply, ReplyOrFailure, Request, Scripted

KEYS = [f"key {number}" for number in range(30)]


def purchase() -> Purchase:
    return Purchase(Scripted(lambda _: "yes"), KEYS, [Request(())] * len(KEYS), "test", "stop")


def batch(indices: Any, text: str = "reply") -> list[tuple[int, ReplyOrFailure]]:
    return [(index, Reply(f"{text} {index}")) for index in indices]


@pytest.mark.parametrize("seed", range(5))
def test_each_request_gets_its_own_first_reply(seed: int) -> None:
    ours, chance = purchase(), random.Random(seed)
    order = chance.sample(range(30), 30) if seed else list(range(30))
    while order:
        size = chance.randrange(1, 12)
        now, order = order[:size], order[size:]
        indices, new = ours.take(batch(now))
        assert (list(indices), new) == (now, batch(now)) and ours.arrived_count == 30 - len(order)
        assert ours.keys_of(indices) == [KEYS[index] for index in now]
        assert list(ours.take(batch(now, "second"))[0]) == []
        ours.keep(indices, [outcome for _, outcome in new], {})
    assert ours.results() == [Reply(f"reply {index}") for index in range(30)]


def test_of_two_replies_in_one_batch_the_first_counts() -> None:
    indices, new = purchase().take([*batch([4, 2]), *batch([4, 3], "second")])
    assert list(indices) == [4, 2, 3] and new == [*batch([4, 2]), *batch([3], "second")]


@pytest.mark.parametrize("indices", [[-1], [30], [29, 30], [-1, 0], [5, 99, 3]])
def test_a_reply_to_nothing_that_was_asked_is_an_error(indices: list[int]) -> None:
    with pytest.raises(ModelError, match="did not get"):
        purchase().take(batch(indices))


def test_a_reply_that_another_process_stored_first_counts() -> None:
    ours = purchase()
    ours.keep(range(2, 4), [Reply("a"), Reply("b")], {"key 3": Reply("first")})
    assert [ours.outcome(key) for key in KEYS[2:4]] == [Reply("a"), Reply("first")]


def test_requests_without_a_reply_fail() -> None:
    ours = purchase()
    ours.keep(range(1), [Reply("a")], {})
    assert ours.outcome("key 1") == Failure("unanswered", "the call was abandoned")
    no_result = Failure("unanswered", "the model gave no result")
    assert ours.results() == [Reply("a"), *[no_result] * 29] and ours.outcome("key 1") == no_result
