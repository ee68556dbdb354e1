"""The code of a scenario as the engine calls it: what it may return, and how its errors are reported."""

import ast
import contextlib
import linecache
import traceback
from collections.abc import Iterator
from typing import Any

from populace.base.errors import PopulaceError, ScenarioError, own_lines
from populace.base.formatting import sentence
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
        text = sentence(f"{type(error).__name__}: {error}")
        hint = "Set POPULACE_DEBUG=1 to see the whole traceback."
        if isinstance(error, NameError) and _is_in_f_string(error):
            hint = (
                f"If people are to be told {{{error.name}}}, remove the letter f before the quotes: "
                "what stands in braces is filled in when they are asked."
            )
        converted = ScenarioError(f"{file_and_line}, in {where}: {text}", hint)
        converted.place = "\n".join(lines[-_LINES:])
        raise converted from error


def _is_in_f_string(error: NameError) -> bool:
    """Whether the name that is missing stands in braces in an f-string, on the line that raised the error."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = frame.lineno or 0
    try:
        tree = ast.parse("".join(linecache.getlines(frame.filename)))
    except (SyntaxError, ValueError, SystemError):
        return False
    texts = [each for each in ast.walk(tree) if isinstance(each, ast.JoinedStr)]
    return any(
        isinstance(part, ast.Name) and part.id == error.name
        for text in texts
        if text.lineno <= line <= (text.end_lineno or text.lineno)
        for part in ast.walk(text)
    )


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
        "Write: return pc.People(table)" if hasattr(result, "columns") else "Write: return pc.People.named(10)",
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
            "Write: def length(self): return 10, or a parameter steps: int = pc.Field(10). "
            "A length of None goes on until somebody stops the run.",
        )
    if result is None or (isinstance(result, int) and not isinstance(result, bool)):
        return result
    if callable(result):
        raise refusal(result, f"the length of {type(scenario).__name__}", ScenarioError)
    raise ScenarioError(
        f"{type(scenario).__name__}.length returned {result!r}; it is a whole number of steps, or None.",
        f"Write: return {_whole_number(result)}, or put int(…) around what it returns.",
    )


def _whole_number(value: Any) -> int:
    """The whole number that was perhaps meant, or one as an example."""
    try:
        return int(float(value))
    except (TypeError, ValueError, OverflowError):
        return 10
