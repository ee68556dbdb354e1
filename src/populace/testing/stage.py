"""Where parts of a mind are checked: a scenario of three people, and scripted models that answer or do not."""

from collections.abc import Awaitable, Callable
from typing import Any

import polars as pl

from populace.base.errors import ParameterError, PopulaceError
from populace.engine.run import simulate
from populace.engine.scenario import Scenario
from populace.models import Model, Scripted
from populace.people import People

NAMES = ("Ann Lee", "Bo Chen", "Cy Berg")


def on_stage(part: object, body: Callable[[Scenario], Awaitable[Any]], *, answers: bool = True) -> Any:
    """Run a coroutine inside a step, on scripted people or on a model whose answers cannot be read.

    Args:
        part: The part that is checked, for messages.
        body: Is given the scenario, which can ask.
        answers: Whether the model answers validly.
    """
    model: str | Model = "scripted:cast" if answers else Scripted(lambda request: "}{", spec="scripted:unreadable")
    results: list[Any] = []

    class Stage(Scenario):
        """Three people, and one coroutine that is given the scenario."""

        def setup(self) -> People:
            return People(pl.DataFrame({"id": [0, 1, 2], "name": NAMES}))

        def profile(self) -> str:
            return "You are {name}."

        def length(self) -> int:
            return 1

        async def step(self) -> None:
            results.append(await body(self))

    try:
        simulate(Stage(), model=model, seed=1, keep="nothing")
    except PopulaceError as error:
        of_readable = "valid answers" if answers else "answers that cannot be read"
        raise fault(part, f"raises an error on {of_readable}: {error}") from error
    return results[0]


def fault(part: object, what: str) -> ParameterError:
    """The error of a check that failed."""
    return ParameterError(
        f"{type(part).__name__} {what.rstrip('.')}.", "See 'Parts of your own' in the guide to minds."
    )


def require(holds: object, part: object, what: str) -> None:
    """Raise an error that names the part, unless something holds."""
    if not holds:
        raise fault(part, what)
