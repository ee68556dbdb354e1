"""Keys of many requests at once are the keys of each."""

import itertools
import random
from typing import Any

import pytest

from populace.models import Request
from populace.models.base import request_keys

_PIECES = ['"', ",", '","', "\\", "[", "]", "\n", "\x00", "é", "日本", "😀", "text", " ", "\u2028", "\x7f"]


@pytest.mark.parametrize("with_options", [True, False])
def test_keys_of_many_requests_are_those_of_each(with_options: bool) -> None:
    choice = random.Random(1).choice
    texts = ["".join(choice(_PIECES) for _ in range(length % 7)) for length in range(400)]
    plain = [f"Person {number}, who lives here" for number in range(50)]
    systems = [(), (("system", 'You are "Ann".\\'),), (("user", "Hello"), ("assistant", "Yes?"))]
    requests = [
        Request((*earlier, ("user", text)), lead, 1, 20, 0.5, seed, None, options)
        for earlier, lead, seed, options in itertools.product(systems, ("", "Answer:"), (None, 7), ((), ("a", "b")))
        for text in texts + plain
    ]
    requests += [Request(()), *requests[:3], Request((("assistant", "a"),), schema="{}")]
    expected = [request.key("model 1", with_options=with_options) for request in requests]
    assert request_keys(requests, "model 1", with_options=with_options) == expected
    random.Random(2).shuffle(requests)
    expected = [request.key("é", with_options=with_options) for request in requests]
    assert request_keys(requests, "é", with_options=with_options) == expected
    assert request_keys([], "model 1") == []


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("temperature", (1.0, 1)), ("temperature", (0.0, -0.0)), ("max_tokens", (1, True)), ("seed", (2, 2.0))],
)
def test_numbers_that_are_equal_and_written_differently_keep_their_own_keys(
    name: str, numbers: tuple[Any, ...]
) -> None:
    requests = [Request((("user", f"Person {n}"),))._replace(**{name: numbers[n // 50]}) for n in range(100)]
    assert request_keys(requests, "model 1") == [request.key("model 1") for request in requests]
