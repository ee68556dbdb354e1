"""The code of a scenario as the engine calls it: what it may return, and how its errors are reported."""

import contextlib
from collections.abc import Iterator
from typing import Any

from populace.base.errors import PopulaceError, ScenarioError, own_lines
from populace.base.values import kind_of, refusal
from populace.engine.scenario import Scenario
from populace.people import People

_LINES = 5
"""How many lines of the user's own code an error lists; the innermost matter most."""


@contextlib.contextmanager
def error_in_scenario(where: str) -> Iterator[None]:
    """Report an exception of the scenario's own code as ScenarioError, with the lines that led to it.

    An error of Populace stays what it is and gets these lines as its place. An exception that passed through no
    code of the user stays as it is too: it is a fault of Populace.

    Example:
        >>> try:
        ...     with error_in_scenario("step 3"):
        ...         [][0]
        ... except ScenarioError as error:
        ...     print(error.what.partition(", ")[2])
        line 3, in step 3: IndexError: list index out of range.
    """
    try:
        yield
    except PopulaceError as error:
        lines = own_lines(error)
        if lines and error.place is None:
            error.place = "\n".join(lines[-_LINES:])
        raise
    except Exception as error:
        lines = own_lines(error)
        if not lines:
            raise
        file_and_line = ", ".join(lines[-1].split(", ")[:2])
        text = f"{type(error).__name__}: {error}".rstrip(".")
        converted = ScenarioError(
            f"{file_and_line}, in {where}: {text}.", "Set POPULACE_DEBUG=1 to see the whole traceback."
        )
        converted.place = "\n".join(lines[-_LINES:])
        raise converted from error


@contextlib.contextmanager
def code_outside_step(name: str, people: People) -> Iterator[None]:
    """Run code that may read the people but not change them, such as a metric."""
    with error_in_scenario(name), people.read_only(name):
        yield


def check_setup(scenario: Scenario, result: Any) -> People:
    """The people that setup returned."""
    if isinstance(result, People):
        return result
    name, kind = type(scenario).__name__, kind_of(type(result))
    if result is None:
        raise ScenarioError(f"{name}.setup returned nothing.", "End it with the people: return people")
    if isinstance(result, tuple) and any(isinstance(each, People) for each in result):
        raise ScenarioError(
            f"{name}.setup returned several things.", "Return the People alone; keep others as self.network = …"
        )
    raise ScenarioError(
        f"{name}.setup returned an object of type {kind}, not People.",
        "Write: return People(table)" if hasattr(result, "columns") else "Write: return People.named(10)",
    )


def check_step(scenario: Scenario, result: Any) -> None:
    """Raise where a step returned something, which nobody would use."""
    if result is not None:
        raise ScenarioError(
            f"{type(scenario).__name__}.step returned an object of type {kind_of(type(result))}, which nobody uses.",
            'What a step changes goes into the people: self.people["answer"] = await self.ask(…)',
        )


def check_length(scenario: Scenario, result: Any) -> int | None:
    """The number of steps, where it is one."""
    cls, base = type(scenario), Scenario
    if result is None and cls.length is base.length and cls.stop is base.stop:
        raise ScenarioError(
            f"{cls.__name__} has no end: it defines neither length nor stop.",
            "Write: def length(self): return 10, or a parameter steps: int = Field(10). "
            "A length of None goes on until somebody stops the run.",
        )
    if result is None or (isinstance(result, int) and not isinstance(result, bool)):
        return result
    if callable(result):
        raise refusal(result, f"the length of {type(scenario).__name__}", ScenarioError)
    raise ScenarioError(
        f"{type(scenario).__name__}.length returned {result!r}; it is a whole number of steps, or None.",
        "Write: return self.steps",
    )
