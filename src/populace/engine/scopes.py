"""The order of things inside a step, the same whatever the concurrency.

A step is a coroutine that may await only what the platform gives it: questions and `each`. It is
driven in waves. Everything that can go on without an answer goes on, in a fixed order; then all
open questions are answered together; then everything goes on again, in the same order. So code
between two questions never runs in an order that depends on how fast a model was.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from populace.base.errors import ScenarioError, ScopeError

AskT = TypeVar("AskT")
ResultT = TypeVar("ResultT")
Body = Coroutine[Any, Any, Any]
MethodT = TypeVar("MethodT", bound=Callable[..., Coroutine[Any, Any, Any]])


class Scope:
    """A place in a run: a path, and a count of what was opened there.

    Example:
        >>> scope = Scope("3")
        >>> scope.next(), scope.next(), Scope(scope.next(), key="mary").path
        ('3/0', '3/1', '3/2:mary')
    """

    def __init__(self, path: str, key: object = None) -> None:
        self.path = path if key is None else f"{path}:{key}"
        self._count = 0

    def next(self) -> str:
        """A path below this one that was not given out before."""
        path = f"{self.path}/{self._count}"
        self._count += 1
        return path


@dataclass(frozen=True)
class PendingQuestion(Generic[AskT]):
    """What a task yields to have a question answered."""

    ask: AskT

    def __await__(self) -> Generator[PendingQuestion[AskT], Any, Any]:
        answer = yield self
        return answer


@dataclass(frozen=True)
class PendingEach:
    """What a task yields to have several others run, each in a scope of its own."""

    bodies: Sequence[tuple[Scope, Body]]

    def __await__(self) -> Generator[PendingEach, list[Any], list[Any]]:
        results = yield self
        return results


class AwaitableCall(Coroutine[Any, Any, ResultT]):
    """A call such as `self.ask(…)` before it is awaited.

    Whoever uses it as if it were the result forgot to await it; the error says so, with the line of the call.

    Args:
        body: The coroutine that was called.
        name: The name of the method.
        pending: The calls that nobody has awaited yet, in order; this one joins them until it is awaited.
        place: The file and the line of the call.
    """

    def __init__(
        self,
        body: Coroutine[Any, Any, ResultT],
        name: str,
        pending: dict[int, AwaitableCall[Any]],
        place: tuple[str, int],
    ) -> None:
        self.__qualname__ = name
        self._body, self._pending, self._place = body, pending, place
        self._closed = False
        pending[id(self)] = self

    def __await__(self) -> Generator[Any, Any, ResultT]:
        self._pending.pop(id(self), None)
        return self._body.__await__()

    def send(self, value: Any) -> Any:
        """Go on with the call; it counts as awaited."""
        if self._closed:
            # A task of asyncio may begin after the step is over; it ends without a word.
            raise asyncio.CancelledError
        self._pending.pop(id(self), None)
        return self._body.send(value)

    def throw(self, *error: Any) -> Any:
        """Raise an error inside the call."""
        return self._body.throw(*error)

    def close(self) -> None:
        """End the call."""
        self._closed = True
        self._body.close()

    def missing_await(self) -> ScenarioError:
        """The error for a call that was not awaited."""
        name, (file, line) = self.__qualname__, self._place
        return ScenarioError(
            f"{Path(file).name}, line {line}: self.{name}(…) was called without await, so it was never carried out.",
            f"Write: await self.{name}(…)",
        )

    def __repr__(self) -> str:
        return f"<self.{self.__qualname__}(…), which is not awaited>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_", "cr_", "gi_")):
            raise AttributeError(name)
        raise self.missing_await()

    def _refuse(self, *_: object) -> Any:
        raise self.missing_await()

    __hash__ = object.__hash__
    __iter__ = __len__ = __getitem__ = __contains__ = __bool__ = __format__ = __str__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __mul__ = _refuse


@dataclass
class _Task:
    body: Body
    scope: Scope
    parent: _Task | None = None
    place: int = 0
    results: list[Any] = field(default_factory=list)
    waiting_for: int = 0
    children: list[_Task] = field(default_factory=list)
    closed: bool = False


@dataclass(frozen=True)
class _ErrorToThrow:
    error: Exception


Ready = deque[tuple[_Task, Any]]


class Driver(Generic[AskT]):
    """Runs the coroutine of a step in waves.

    Args:
        answer: Answers all open questions of a wave; one result for each, in order.
    """

    def __init__(self, answer: Callable[[list[AskT]], Awaitable[list[Any]]]) -> None:
        self._answer = answer
        self.scope: Scope | None = None

    def here(self) -> Scope:
        """The scope of the code that is running now."""
        if self.scope is None:
            raise ScopeError(
                "a question was asked outside the step's own order, for example through asyncio.gather or a task.",
                "Await questions one by one, or run them side by side with self.each(items, coroutine).",
            )
        return self.scope

    async def run(self, body: Body, scope: Scope) -> Any:
        """Drive a coroutine to its end and return what it returns."""
        root = _Task(body, scope)
        ready: Ready = deque([(root, None)])
        root_results: list[Any] = []
        try:
            while ready:
                open_questions: list[tuple[_Task, AskT]] = []
                while ready:
                    task, value = ready.popleft()
                    self._advance(task, value, ready, open_questions, root_results)
                if open_questions:
                    answers = await self._answer([ask for _, ask in open_questions])
                    ready.extend((task, answer) for (task, _), answer in zip(open_questions, answers, strict=True))
        except BaseException:
            _close(root)
            raise
        return root_results[0]

    def _advance(
        self,
        task: _Task,
        value: Any,
        ready: Ready,
        open_questions: list[tuple[_Task, AskT]],
        root_results: list[Any],
    ) -> None:
        """Run one task until it needs something."""
        if task.closed:
            return
        self.scope = task.scope
        try:
            request = task.body.throw(value.error) if isinstance(value, _ErrorToThrow) else task.body.send(value)
        except StopIteration as end:
            self._finish(task, end.value, ready, root_results)
            return
        except Exception as error:
            if task.parent is None:
                raise
            self._fail(task.parent, error, ready, open_questions)
            return
        finally:
            self.scope = None
        if isinstance(request, PendingQuestion):
            open_questions.append((task, request.ask))
        elif isinstance(request, PendingEach):
            task.results = [None] * len(request.bodies)
            task.waiting_for = len(request.bodies)
            task.children = [_Task(body, scope, task, place) for place, (scope, body) in enumerate(request.bodies)]
            if task.children:
                ready.extend((child, None) for child in task.children)
            else:
                ready.append((task, []))
        else:
            raise ScopeError(
                f"a step awaited {type(request).__name__}, which a run cannot repeat.",
                "Inside a step await only self.ask and self.each; fetch what you need from outside before the run.",
            )

    def _fail(self, parent: _Task, error: Exception, ready: Ready, open_questions: list[tuple[_Task, AskT]]) -> None:
        """One of several failed: the others end, and whoever waits for them gets the error."""
        for child in parent.children:
            _close(child)
        parent.children = []
        open_questions[:] = [(task, ask) for task, ask in open_questions if not task.closed]
        ready.append((parent, _ErrorToThrow(error)))

    def _finish(self, task: _Task, value: Any, ready: Ready, root_results: list[Any]) -> None:
        parent = task.parent
        if parent is None:
            root_results.append(value)
            return
        parent.results[task.place] = value
        parent.waiting_for -= 1
        if not parent.waiting_for:
            ready.append((parent, parent.results))
            parent.children = []


def _close(task: _Task) -> None:
    """End a task and all below it, so that none is left hanging."""
    for child in task.children:
        _close(child)
    task.closed = True
    task.body.close()


async def call_and_wait(function: Callable[[], Any]) -> Any:
    """What a function returns, whether it is a coroutine or not."""
    result = function()
    return await result if inspect.isawaitable(result) else result


def must_be_awaited(method: MethodT) -> MethodT:
    """Let calls of a coroutine method of a scenario be known to its stage until they are awaited."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> AwaitableCall[Any]:
        frame = sys._getframe(1)
        place = frame.f_code.co_filename, frame.f_lineno
        return AwaitableCall(method(self, *args, **options), method.__name__, self.stage.pending, place)

    return cast(MethodT, call)
