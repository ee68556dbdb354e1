from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from populace import People, Scenario, Scripted, simulate
from populace.base.errors import ServiceError
from populace.deciders import scored
from populace.models import Reply, Request
from populace.models.scripted import Uniform
from populace.questions import Choice, Rating


class Tea(Scenario):
    """People are asked once whether they want tea."""

    def setup(self) -> People:
        return People.named(3)

    def length(self) -> int:
        return 1

    async def step(self) -> None:
        await self.ask(self.people, Choice("Tea?", options=("yes", "no")))


@pytest.mark.parametrize(
    ("mass", "status", "low"),
    [(1.0, "ok", 0), (0.6, "ok", 0), (0.4, "ok", 3), (0.01, "ok", 3), (0.0001, "unparseable", 3)],
)
def test_little_mass_is_counted_and_only_none_at_all_makes_an_answer_invalid(
    mass: float, status: str, low: int
) -> None:
    model = Scripted(lambda request: {"yes": mass, "no": 0.0, "hm": 1 - mass}, spec=f"scripted:mass-{mass}")
    run = simulate(Tea(), model=model, keep="nothing")
    assert dict(run.statuses) == {status: 3}
    assert run.count("low_mass") == low
    assert run.prompts()["mass"].to_list() == pytest.approx([mass] * 3)


@pytest.mark.parametrize("many", [32, 0])
def test_tokens_that_a_model_lists_in_another_kind_of_sequence_are_read_as_well(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scored, "_MANY", many)
    tokens: Any = [["yes", -0.1], ["no", -2.5]]
    model = Scripted(lambda request: Reply("yes", tokens, "length", 9, 1), spec="scripted:lists")
    run = simulate(Tea(), model=model, keep="nothing")
    assert dict(run.statuses) == {"ok": 3}
    assert run.prompts()["probabilities"][0].to_list() == pytest.approx([0.9168, 0.0832], abs=1e-4)


class Sureness(Tea):
    """People are asked once how sure they are."""

    async def step(self) -> None:
        await self.ask(self.people, Rating("How sure are you?", low=0, high=10))


class DigitWriter(Scripted):
    """A script in the place of a model that writes a space, and then one token for each digit."""

    def first_tokens(self, texts: Sequence[str]) -> list[str]:
        return [" " for _ in texts]


def test_a_model_that_writes_digit_by_digit_is_shown_numbers_and_asked_what_follows_a_one() -> None:
    leads = []

    def script(request: Request) -> dict[str, float]:
        leads.append(request.lead)
        assert "0 to 10" in request.messages[-1][1]
        return {"0": 0.25, ".": 0.75} if request.lead == "Answer: 1" else {"1": 0.6, "7": 0.4}

    run = simulate(Sureness(), model=DigitWriter(script, spec="scripted:digits"), keep="nothing")
    prompts = run.prompts()
    assert prompts["labels"].to_list() == [False] * 3
    assert prompts["mass"].to_list() == pytest.approx([1.0] * 3)
    expected = [0.0, 0.45, 0, 0, 0, 0, 0, 0.4, 0, 0, 0.15]
    for row in prompts["probabilities"]:
        assert row.to_list() == pytest.approx(expected)
    assert sorted(set(leads)) == ["Answer: ", "Answer: 1"]
    assert len(leads) == 6


def test_where_a_one_is_not_among_the_alternatives_nothing_more_is_asked() -> None:
    model = DigitWriter(lambda request: {"7": 1.0}, spec="scripted:seven")
    run = simulate(Sureness(), model=model, keep="nothing")
    assert dict(run.statuses) == {"ok": 3}
    assert model.request_count == 3


class Crowd(Scenario):
    def setup(self) -> People:
        return People.named(10, seed=1).with_columns(number=list(range(10)))

    def length(self) -> int:
        return 2

    async def step(self) -> None:
        day = (self.now - self.start).days
        await self.ask(
            self.people, Choice("Tea or coffee?", options=("tea", "coffee")), given="{number}, {day}", day=day
        )


def test_a_crowd_in_several_lots_gets_the_same_answers_and_each_call_is_paid_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = simulate(Crowd(), model="scripted:uniform", seed=1, workspace=tmp_path / "whole")
    monkeypatch.setattr(scored, "_LOT", 3)
    parts = simulate(Crowd(), model="scripted:uniform", seed=1, workspace=tmp_path / "parts")
    assert parts.digest == whole.digest
    assert parts.usage().calls == whole.usage().calls == 20


@pytest.mark.parametrize(("count", "sizes"), [(0, [0]), (10, [10]), (11, [5, 6]), (25, [8, 8, 9])])
def test_lots_have_about_the_same_size(count: int, sizes: list[int]) -> None:
    bounds = scored._lot_bounds(count, 10)
    assert [end - begin for begin, end in itertools.pairwise(bounds)] == sizes


@pytest.mark.parametrize(
    ("count", "sizes"), [(29, [9, 10, 10]), (30, [2, 5, 8, 8, 5, 2]), (95, [2, 5, *[9] * 9, 5, 2])]
)
def test_the_first_and_the_last_lots_of_many_are_smaller(count: int, sizes: list[int]) -> None:
    bounds = scored._lot_bounds(count, 10)
    assert [end - begin for begin, end in itertools.pairwise(bounds)] == sizes


@pytest.mark.parametrize("lot", [1, 3, 6])
def test_a_crowd_in_lots_of_several_sizes_gets_the_same_answers(lot: int, tmp_path: Path) -> None:
    def model(most: int) -> Scripted:
        model = Scripted(Uniform(), spec="scripted:uniform")
        model.lot = most
        return model

    whole = simulate(Crowd(), model=model(1000), seed=1, workspace=tmp_path / "whole")
    parts = simulate(Crowd(), model=model(lot), seed=1, workspace=tmp_path / "parts")
    assert parts.digest == whole.digest
    assert parts.usage().calls == whole.usage().calls == 20


@pytest.mark.parametrize("lot", [40, 100, 299])
@pytest.mark.parametrize("failing", [0.0, 0.2])
def test_a_journal_does_not_depend_on_how_many_replies_are_read_together(
    lot: int, failing: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Throng(Crowd):
        def setup(self) -> People:
            return People.named(300).with_columns(number=list(range(300)))

    model = Scripted(Uniform(), spec="scripted:uniform", refusals=failing, garbage=failing)
    whole = simulate(Throng(), model=model, seed=1, workspace=tmp_path / "whole")
    monkeypatch.setattr(scored, "_LARGE", 50)
    monkeypatch.setattr(scored, "_LOT", lot)
    parts = simulate(Throng(), model=model, seed=1, workspace=tmp_path / "parts")
    assert parts.digest == whole.digest


def test_the_next_lot_is_begun_before_the_last_one_is_read_and_results_keep_their_order() -> None:
    events: list[str] = []

    async def fetch(number: int) -> int:
        events.append(f"begin {number}")
        await asyncio.sleep(0)
        return number

    async def read() -> list[int]:
        results = []
        async for number in scored._overlapping(fetch, range(6), 4):
            events.append(f"read {number}")
            results.append(number)
        return results

    assert asyncio.run(read()) == [0, 1, 2, 3, 4, 5]
    assert events[:5] == ["begin 0", "begin 1", "begin 2", "begin 3", "read 0"]
    assert events.index("begin 4") < events.index("read 1")


@pytest.mark.parametrize("broken", [0, 1, 3])
def test_after_a_failure_what_is_under_way_ends_and_nothing_more_begins(broken: int) -> None:
    begun, ended = [], []

    async def fetch(number: int) -> int:
        begun.append(number)
        await asyncio.sleep(0)
        if number == broken:
            raise ServiceError("the server is gone.")
        for _ in range(5):
            await asyncio.sleep(0)
        ended.append(number)
        return number

    async def read() -> None:
        async for _ in scored._overlapping(fetch, range(6), 4):
            pass

    with pytest.raises(ServiceError, match="gone"):
        asyncio.run(read())
    assert len(begun) <= broken + 4
    assert ended == [number for number in begun if number != broken]
