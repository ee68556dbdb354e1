from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import ScopeError
from populace.engine.scopes import Driver, PendingEach, PendingQuestion, Scope


class Step:
    """A step as a scenario writes it, with answers that are the question and an exclamation mark."""

    def __init__(self, answer: Callable[[list[Any]], Awaitable[list[Any]]] | None = None) -> None:
        self.waves: list[list[Any]] = []
        self.paths: list[str] = []
        self.driver = Driver[Any](answer or self.answer)

    async def answer(self, asks: list[Any]) -> list[Any]:
        self.waves.append(asks)
        return [f"{ask}!" for ask in asks]

    async def ask(self, what: Any) -> Any:
        self.paths.append(self.driver.here().next())
        return await PendingQuestion(what)

    async def each(self, items: Iterable[Any], body: Callable[[Any], Coroutine[Any, Any, Any]]) -> list[Any]:
        path = self.driver.here().next()
        return await PendingEach([(Scope(path, key=place), body(item)) for place, item in enumerate(items)])

    def run(self, body: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run(self.driver.run(body, Scope("1")))


@pytest.fixture
def step() -> Step:
    return Step()


def test_questions_one_after_another_are_waves_of_one(step: Step) -> None:
    async def body() -> list[str]:
        return [await step.ask("a"), await step.ask("b")]

    assert step.run(body()) == ["a!", "b!"]
    assert step.waves == [["a"], ["b"]]
    assert step.paths == ["1/0", "1/1"]


def test_questions_side_by_side_are_answered_in_waves(step: Step) -> None:
    async def one(name: str) -> str:
        return await step.ask(f"{name}1") + await step.ask(f"{name}2")

    assert step.run(step.each("xyz", one)) == ["x1!x2!", "y1!y2!", "z1!z2!"]
    assert step.waves == [["x1", "y1", "z1"], ["x2", "y2", "z2"]]


def test_results_stand_in_the_order_of_items_whoever_ends_first(step: Step) -> None:
    async def one(count: int) -> int:
        for turn in range(count):
            await step.ask(turn)
        return count

    assert step.run(step.each([3, 0, 2, 1], one)) == [3, 0, 2, 1]
    assert [len(wave) for wave in step.waves] == [3, 2, 1]


def test_every_item_has_a_scope_of_its_own(step: Step) -> None:
    async def one(name: str) -> None:
        await step.ask(name)
        await step.ask(name)

    async def body() -> None:
        await step.ask("before")
        await step.each("xy", one)
        await step.ask("after")

    step.run(body())
    assert step.paths == ["1/0", "1/1:0/0", "1/1:1/0", "1/1:0/1", "1/1:1/1", "1/2"]


def test_items_may_go_side_by_side_themselves(step: Step) -> None:
    async def inner(name: str) -> str:
        return str(await step.ask(name))

    async def outer(name: str) -> str:
        return "".join(await step.each([f"{name}1", f"{name}2"], inner))

    assert step.run(step.each("xy", outer)) == ["x1!x2!", "y1!y2!"]
    assert step.waves == [["x1", "x2", "y1", "y2"]]
    assert step.paths == ["1/0:0/0:0/0", "1/0:0/0:1/0", "1/0:1/0:0/0", "1/0:1/0:1/0"]


def test_nothing_side_by_side_gives_nothing(step: Step) -> None:
    async def body() -> tuple[list[Any], str]:
        return await step.each([], step.ask), await step.ask("then")

    assert step.run(body()) == ([], "then!")


def test_code_without_questions_runs_to_its_end(step: Step) -> None:
    async def body() -> int:
        return 7

    assert step.run(body()) == 7
    assert step.waves == []


@pytest.mark.parametrize("seconds", [0, 0.001])
def test_awaiting_anything_else_is_an_error_that_says_what_to_await(step: Step, seconds: float) -> None:
    async def body() -> None:
        await asyncio.sleep(seconds)

    with pytest.raises(ScopeError) as raised:
        step.run(body())
    assert "self.ask" in (raised.value.hint or "")
    assert "self.each" in (raised.value.hint or "")


def test_asking_through_gather_is_an_error(step: Step) -> None:
    async def body() -> None:
        await asyncio.gather(step.ask("a"), step.ask("b"))

    with pytest.raises(ScopeError, match="_GatheringFuture, which a run cannot repeat"):
        step.run(body())
    assert step.waves == []


def test_asking_from_a_task_is_an_error_that_says_how_to_do_it(step: Step) -> None:
    async def answer(asks: list[Any]) -> list[Any]:
        await asyncio.sleep(0)
        return asks

    slow = Step(answer)

    async def body() -> BaseException | None:
        task = asyncio.create_task(slow.ask("beside"))
        await slow.ask("own")
        return task.exception()

    error = slow.run(body())
    assert isinstance(error, ScopeError)
    assert "self.each" in (error.hint or "")


def test_outside_a_step_there_is_no_scope(step: Step) -> None:
    with pytest.raises(ScopeError, match="gather"):
        step.driver.here()
    step.run(step.ask("a"))
    with pytest.raises(ScopeError, match="gather"):
        step.driver.here()


def test_an_error_in_one_item_ends_all_others_and_reaches_the_caller(step: Step) -> None:
    closed: list[str] = []

    async def one(name: str) -> None:
        try:
            await step.ask(name)
            if name == "y":
                raise KeyError("planned")
            await step.ask(name)
        finally:
            closed.append(name)

    with pytest.raises(KeyError, match="planned"):
        step.run(step.each("xyz", one))
    assert sorted(closed) == ["x", "y", "z"]
    assert step.waves == [["x", "y", "z"]]


def test_items_that_never_began_are_closed_without_a_warning(step: Step) -> None:
    starts: list[str] = []

    async def one(name: str) -> None:
        starts.append(name)
        raise KeyError(name)

    with pytest.raises(KeyError, match="x"):
        step.run(step.each("xyz", one))
    gc.collect()
    assert starts == ["x"]


def test_an_error_deep_inside_closes_what_waits_above_and_beside(step: Step) -> None:
    closed: list[str] = []

    async def inner(name: str) -> None:
        try:
            await step.ask(name)
            if name == "x2":
                raise KeyError(name)
        finally:
            closed.append(name)

    async def outer(name: str) -> None:
        try:
            await step.each([f"{name}1", f"{name}2"], inner)
        finally:
            closed.append(name)

    with pytest.raises(KeyError, match="x2"):
        step.run(step.each("xy", outer))
    gc.collect()
    assert sorted(closed) == ["x", "x1", "x2", "y", "y1", "y2"]


def test_an_error_while_answering_closes_the_step() -> None:
    async def answer(asks: list[Any]) -> list[Any]:
        raise ConnectionError("gone")

    step, closed = Step(answer), []

    async def one(name: str) -> None:
        try:
            await step.ask(name)
        finally:
            closed.append(name)

    with pytest.raises(ConnectionError, match="gone"):
        step.run(step.each("xy", one))
    assert sorted(closed) == ["x", "y"]


def test_a_driver_serves_one_step_after_another_even_after_an_error(step: Step) -> None:
    async def broken() -> None:
        await asyncio.sleep(0)

    with pytest.raises(ScopeError, match="which a run cannot repeat"):
        step.run(broken())
    assert step.run(step.ask("a")) == "a!"


@given(st.permutations(range(6)))
@settings(max_examples=25, deadline=None)
def test_code_between_questions_runs_in_one_order_whichever_answer_comes_first(delays: list[int]) -> None:
    async def late(ask: int) -> int:
        for _ in range(delays[ask]):
            await asyncio.sleep(0)
        return ask

    async def answer(asks: list[int]) -> list[int]:
        return list(await asyncio.gather(*(late(ask) for ask in asks)))

    step, log = Step(answer), []

    async def one(number: int) -> None:
        log.append(await step.ask(number))
        log.append(10 + await step.ask(number))

    step.run(step.each(range(6), one))
    assert log == [*range(6), *range(10, 16)]


TREES = st.recursive(
    st.lists(st.integers(0, 9), max_size=3),
    lambda inner: st.lists(st.integers(0, 9) | st.lists(inner, max_size=3), max_size=3),
    max_leaves=12,
)


@given(TREES)
@settings(max_examples=60, deadline=None)
def test_any_nesting_gives_what_running_it_in_sequence_would_give(tree: list[Any]) -> None:
    step = Step()

    async def play(node: list[Any]) -> list[Any]:
        return [await step.each(part, play) if isinstance(part, list) else await step.ask(part) for part in node]

    def expected(node: list[Any]) -> list[Any]:
        return [[expected(item) for item in part] if isinstance(part, list) else f"{part}!" for part in node]

    assert step.run(play(tree)) == expected(tree)
    assert len(set(step.paths)) == len(step.paths)
