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


GAP = '"]],[["system","'
"""What stands between two requests whose messages are written together."""


def distinct(count: int, role: str = "system") -> list[Request]:
    """Requests that differ in both messages and share everything else."""
    choice = random.Random(3).choice
    pieces = [*_PIECES, GAP, GAP[1:], GAP[:-1], "]],[[", 'system","', "\\" + GAP, '\\"]],[[']
    texts = ["".join(choice(pieces) for _ in range(length % 6)) for length in range(count)]
    return [Request(((role, f"{text}{n}"), ("user", f"{n}{text}")), 'Say "', 1, 9, 0.5) for n, text in enumerate(texts)]


@pytest.mark.parametrize("with_options", [True, False])
@pytest.mark.parametrize("count", [65, 512, 513, 3000])
def test_keys_of_requests_whose_messages_all_differ_are_those_of_each(count: int, with_options: bool) -> None:
    requests = distinct(count)
    expected = [request.key('the "model"\\', with_options=with_options) for request in requests]
    assert request_keys(requests, 'the "model"\\', with_options=with_options) == expected


@pytest.mark.parametrize(
    "other",
    [
        Request(()),
        Request((("user", "begins in another way"), ("system", GAP)), 'Say "', 1, 9, 0.5),
        Request((), 'Say "', 1, 9, 0.5),
        Request((("]],[[", "a"), ("]],[[", "]],[[")), 'Say "', 1, 9, 0.5),
        Request((("system", "one alone"),), 'Say "', 1, 9, 0.5),
        Request((("system", "written as 1"),), 'Say "', True, 9, 0.5),
        Request((("system", "other options"),), 'Say "', 1, 9, 0.5, options=("a",)),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 50, 99])
def test_one_request_that_is_not_like_the_others_changes_no_key(other: Request, place: int) -> None:
    requests = distinct(100)
    requests[place] = other
    for with_options in (True, False):
        expected = [request.key("model 1", with_options=with_options) for request in requests]
        assert request_keys(requests, "model 1", with_options=with_options) == expected


@pytest.mark.parametrize("role", ["", "]],[[", '"', "system"])
def test_keys_do_not_depend_on_how_roles_are_written(role: str) -> None:
    requests = distinct(300, role)
    assert request_keys(requests, "model 1") == [request.key("model 1") for request in requests]


def test_half_of_a_surrogate_pair_is_an_error_with_many_requests_as_with_one() -> None:
    requests = [*distinct(99), Request((("system", "\ud800"), ("user", "")), 'Say "', 1, 9, 0.5)]
    for keys in (lambda: requests[-1].key("model 1"), lambda: request_keys(requests, "model 1")):
        with pytest.raises(ValueError, match="surrogates not allowed"):
            keys()


def test_messages_that_all_differ_are_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = distinct(3000)
    monkeypatch.delattr(Request, "key")
    assert len(set(request_keys(requests, "model 1"))) == 3000
