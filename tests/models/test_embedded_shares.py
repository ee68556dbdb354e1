from __future__ import annotations

from pathlib import Path

import pytest

from populace.models import Request, embedded
from populace.models.embedded_engine import EmbeddedEngine
from populace.models.embedded_shares import Shares


def engines(count: int) -> list[EmbeddedEngine]:
    """Engines that are not loaded."""
    return [EmbeddedEngine(Path("none.gguf"), threads=1, context=512, cache_mib=1) for _ in range(count)]


def question(who: str, text: str = "Which shirt?") -> Request:
    return Request((("system", f"You are {who}."), ("user", text)))


def taken(shares: Shares, place: int) -> list[int]:
    """What one engine takes if the others take nothing."""
    indexes = []
    while (index := shares.next_of(place)) is not None:
        shares.take(place)
        indexes.append(index)
    return indexes


def test_new_requests_are_divided_into_runs_of_neighbours_of_equal_length() -> None:
    shares = Shares([question(who) for who in ("Dan", "Ann", "Cyd", "Bob")], engines(2))
    firsts = []
    for _ in range(2):
        for place in (0, 1):
            firsts.append((place, shares.next_of(place)))
            shares.take(place)
    assert firsts == [(0, 1), (1, 2), (0, 3), (1, 0)]


def test_a_request_goes_to_the_engine_that_computed_its_beginning() -> None:
    both = engines(2)
    both[1].remember(question("Ann", "How are you?"))
    both[0].remember(question("Bob", "How are you?"))
    shares = Shares([question("Ann"), question("Bob")], both)
    assert (shares.next_of(0), shares.next_of(1)) == (1, 0)


def test_an_engine_without_work_takes_from_the_end_of_the_longest_queue() -> None:
    both = engines(2)
    requests = [question("Ann", f"Question {number}?") for number in range(4)]
    both[0].remember(question("Ann", "How are you?"))
    shares = Shares(requests, both)
    assert shares.next_of(1) == 3
    shares.take(1)
    assert taken(shares, 0) == [0, 1, 2]
    assert shares.next_of(1) is None


def test_a_single_request_is_left_to_the_engine_that_computed_its_beginning() -> None:
    both = engines(2)
    both[0].remember(question("Ann", "How are you?"))
    shares = Shares([question("Ann", "Question 1?"), question("Ann", "Question 2?")], both)
    assert taken(shares, 1) == [1]
    assert taken(shares, 0) == [0]
    unknown = Shares([question("Bob")], both)
    assert unknown.next_of(1) == 0, "no engine has computed anything of it"


def test_every_request_is_taken_once() -> None:
    requests = [question("Ann" * (number % 7), f"Question {number}?") for number in range(50)]
    for count in (1, 2, 3, 8):
        some = engines(count)
        some[-1].remember(question("AnnAnn"))
        shares = Shares(requests, some)
        ours = [shares.next_of(count // 2)]
        shares.take(count // 2)
        others = [index for place in range(count) for index in taken(shares, place)]
        assert sorted(ours + others) == list(range(50))  # type: ignore[type-var, operator]


def test_a_request_that_may_not_use_the_cache_waits_for_what_is_under_way() -> None:
    (engine,) = engines(1)
    ann = question("Ann")
    assert engine.may_use_cache(ann)
    engine.remember(ann)
    longer = Request((*ann.messages, ("assistant", "Blue."), ("user", "Why?")))
    shorter = Request(ann.messages[:1])
    assert not any(engine.may_use_cache(request) for request in (ann, longer, shorter))
    assert not engine.must_wait(longer)
    engine.under_way.add(None)  # type: ignore[arg-type]
    assert engine.must_wait(longer)
    assert not engine.must_wait(question("Bob"))


@pytest.mark.parametrize(
    ("limit", "expected"), [("max", 4096), (f"{12 * 2**30}", 3072), (f"{2**30}", 2048), (f"{2**50}", 4096)]
)
def test_the_caches_take_a_quarter_of_the_memory_that_the_process_may_use(
    limit: str, expected: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    monkeypatch.setattr(embedded, "_MEMORY_LIMIT", tmp_path / "memory.max")
    sizes = {"SC_PHYS_PAGES": 2**22, "SC_PAGE_SIZE": 2**12}
    monkeypatch.setattr(embedded.os, "sysconf", sizes.__getitem__)
    assert embedded._cache_mib() == expected
