"""What a scenario class must hold to, checked before anything is started.

Each message names the mistake and shows the corrected line.
"""

import ast
import difflib
import functools
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from weakref import WeakSet

from pydantic.fields import FieldInfo

from populace.base.errors import ScenarioError, nearest
from populace.base.values import kind_of
from populace.engine.metrics import MARK
from populace.engine.scenario import Scenario

_COROUTINES = ("setup", "step")
_PLAIN = ("profile", "length", "stop", "view")
_OPTIONAL = (*_PLAIN, "report", "pictures", "reflecting", "present_moment")
"""What a scenario may define; who misspells one of them gets what happens by default, without a word."""
_SIMILAR = 0.82
"""How similar a name must be to one of them to be a slip of the pen: of nine letters, one may be wrong or missing."""
_CHECKED: WeakSet[type[Scenario]] = WeakSet()


def check_scenario(scenario: object) -> Scenario:
    """The scenario, where it is one that can run; raises ScenarioError with the corrected line.

    Example:
        >>> from populace import People
        >>> class Waiting(Scenario):
        ...     def setup(self): return People.named(2)
        ...     def step(self): pass
        >>> check_scenario(Waiting())
        Traceback (most recent call last):
        populace.base.errors.ScenarioError: Waiting.step is not asynchronous. Write: async def step(self):
    """
    if isinstance(scenario, type):
        name = scenario.__name__
        raise ScenarioError(
            f"{name} is a class, and a run needs a scenario made from it: the parentheses are missing.",
            f"Write: pc.simulate({name}(), …)",
        )
    if not isinstance(scenario, Scenario):
        raise ScenarioError(
            f"a run needs a scenario, not {_described(scenario)}.",
            "Write a class that inherits from pc.Scenario and pass an object of it: pc.simulate(MyScenario(), …)",
        )
    cls = type(scenario)
    if cls not in _CHECKED:
        _check_class(cls)
        _CHECKED.add(cls)
    unset = next((name for name in cls.parameter_model().model_fields if name not in vars(scenario)), None)
    if unset is not None:
        raise ScenarioError(
            f"{cls.__name__}: the parameter {unset!r} has no value, because __init__ was replaced.",
            "Remove __init__; parameters are attributes with a type, and other attributes are set in setup.",
        )
    return scenario


def _described(value: object) -> str:
    return f"the text {value!r}" if isinstance(value, str) else f"an object of type {kind_of(type(value))}"


def _check_class(cls: type[Scenario]) -> None:
    for name in _COROUTINES:
        _check_definition(cls, name)
    _check_misspelt(cls)
    _check_metrics(cls)
    for name in ("setup", *_PLAIN, *cls.metrics()):
        method = inspect.unwrap(getattr(cls, name))
        if not callable(method):
            raise ScenarioError(
                f"{cls.__name__}.{name} is {_described(method)}, not a method.",
                f"Write: def {name}(self): return {method!r}",
            )
        if name != "setup" and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)):
            raise ScenarioError(f"{cls.__name__}.{name} is asynchronous.", f"Write: def {name}(self):")
        _check_parameters(cls, name)
    step = inspect.unwrap(cls.step)
    if inspect.isgeneratorfunction(step) or inspect.isasyncgenfunction(step):
        raise ScenarioError(
            f"{cls.__name__}.step contains yield, and a step awaits its questions instead.",
            "Write: async def step(self), with await in the place of yield.",
        )
    if not inspect.iscoroutinefunction(step):
        raise ScenarioError(f"{cls.__name__}.step is not asynchronous.", "Write: async def step(self):")
    _check_parameters(cls, "step")
    for name, value in vars(cls).items():
        if isinstance(value, FieldInfo) and name not in cls.parameter_model().model_fields:
            raise ScenarioError(
                f"{cls.__name__}: the parameter {name!r} has no type.",
                f"Write: {name}: int = pc.Field(…), with its type.",
            )
    for call in _dropped_calls(cls):
        raise ScenarioError(
            f"{call.file}, line {call.line}: self.{call.name}(…) is called without await, so nothing would happen.",
            f"Write: await {call.code}",
        )


def _check_definition(cls: type[Scenario], name: str) -> None:
    """Raise where a method that every scenario needs is missing, and name the one that was perhaps meant."""
    if getattr(cls, name) is not getattr(Scenario, name):
        return
    own = {each for base in _own_classes(cls) for each in vars(base)}
    known = set(dir(Scenario)) | set(cls.parameter_model().model_fields)
    similar = nearest(name, [each for each in own if each not in known and inspect.isroutine(getattr(cls, each))])
    line = "async def step(self):" if name == "step" else "def setup(self): … and return the People."
    guess = f"It defines {similar!r}; did you mean {name!r}? " if similar else ""
    raise ScenarioError(f"{cls.__name__} defines no {name}.", f"{guess}Write: {line}")


def _own_classes(cls: type[Scenario]) -> list[type[Scenario]]:
    """The class and those above it, up to Scenario."""
    return [base for base in cls.__mro__ if issubclass(base, Scenario) and base is not Scenario]


def _check_misspelt(cls: type[Scenario]) -> None:
    """Raise where a method has almost the name of one that the engine calls, and nothing else uses it."""
    own = {name: (base, value) for base in reversed(_own_classes(cls)) for name, value in vars(base).items()}
    for hook in _OPTIONAL:
        if hook in own:
            continue
        known = inspect.signature(_function(inspect.getattr_static(Scenario, hook))).parameters
        methods = [
            name
            for name, (_, value) in own.items()
            if not hasattr(Scenario, name)
            and name != f"{hook}s"
            and inspect.isfunction(function := _function(value))
            and not hasattr(function, MARK)
            and len(inspect.signature(function).parameters) == len(known)
        ]
        for name in difflib.get_close_matches(hook, methods, cutoff=_SIMILAR):
            if not _is_used(name, own[name][0]):
                raise ScenarioError(
                    f"{cls.__name__} defines {name!r}, which nothing calls.",
                    f"Did you mean {hook!r}? If not, give the method another name.",
                )


def _function(value: Any) -> Any:
    """What a class method, a static method or a property was made of; any other value as it is."""
    if isinstance(value, classmethod | staticmethod):
        return value.__func__
    if isinstance(value, functools.cached_property):
        return value.func
    return value.fget if isinstance(value, property) else value


def _is_used(name: str, cls: type[Scenario]) -> bool:
    """Whether the file of a class, or its own text in a notebook, uses a method; yes where there is no text to read."""
    for place in (sys.modules.get(cls.__module__), cls):
        try:
            text = inspect.getsource(place)  # type: ignore[arg-type]
        except (OSError, TypeError):
            continue
        return re.search(rf"\.{name}\b|[\"']{name}[\"']", text) is not None
    return True


def _check_metrics(cls: type[Scenario]) -> None:
    """Raise where a metric would not be recorded, or would have no value at any step."""
    for name in {name: base for base in _own_classes(cls) for name in vars(base)}:
        value = inspect.getattr_static(cls, name)
        function = _function(value)
        if not hasattr(function, MARK):
            continue
        if function is not value:
            kind = type(value).__name__
            raise ScenarioError(
                f"{cls.__name__}.{name} is a {kind}, so that it is not recorded as a metric.",
                f"Write @pc.metric alone on the line above the method, without @{kind}.",
            )
        if _returns_nothing(function):
            raise ScenarioError(
                f"the metric {cls.__name__}.{name} returns nothing.", "End it with what it measures: return …"
            )


def _returns_nothing(function: Callable[..., Any]) -> bool:
    """Whether no line of a method returns a value; no where there is no text to read, or where it is unfinished."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, SystemError):
        return False
    body = next((each for each in tree.body if isinstance(each, ast.FunctionDef)), None)
    if body is None or hasattr(function, "__wrapped__"):
        return False  # What a decorator made of it is not in its text.
    inner = {id(node) for each in ast.walk(body) if _is_function(each) and each is not body for node in ast.walk(each)}
    nodes = [node for node in ast.walk(body) if id(node) not in inner]
    if any(isinstance(node, ast.Raise | ast.Yield | ast.YieldFrom) for node in nodes):
        return False
    return not any(isinstance(node, ast.Return) and node.value is not None for node in nodes)


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def _check_parameters(cls: type[Scenario], name: str) -> None:
    """Raise where a method cannot be called with self alone."""
    method = inspect.getattr_static(cls, name)
    if not inspect.isfunction(method):
        return
    parameters = list(inspect.signature(method).parameters.values())
    prefix = "async def" if inspect.iscoroutinefunction(method) else "def"
    line = f"Write: {prefix} {name}(self):"
    if not parameters:
        raise ScenarioError(f"{cls.__name__}.{name} does not take self.", line)
    required = [
        each.name
        for each in parameters[1:]
        if each.default is inspect.Parameter.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    if required:
        raise ScenarioError(
            f"{cls.__name__}.{name} takes {', '.join(required)}, and it is called with self alone.",
            f"{line} The people are self.people, parameters are attributes of self.",
        )


class _DroppedCall:
    """A call of a coroutine whose result nobody awaits."""

    def __init__(self, file: str, line: int, name: str, code: str) -> None:
        self.file, self.line, self.name, self.code = file, line, name, code


def _dropped_calls(cls: type[Scenario]) -> Iterator[_DroppedCall]:
    """Statements `self.ask(…)` without await, found in the source text where there is one."""
    for base in _own_classes(cls):
        try:
            lines, first = inspect.getsourcelines(base)
            tree = ast.parse(textwrap.dedent("".join(lines)))
            file = Path(inspect.getfile(base)).name
        except (OSError, TypeError, SyntaxError, SystemError):
            # No source text; or the parser of Python 3.11, which fails where the garbage collector runs in between.
            continue
        for node in ast.walk(tree):
            call = node.value if isinstance(node, ast.Expr) else None
            name = _own_method(call)
            if call is not None and name and (name in ("ask", "each") or _is_coroutine(cls, name)):
                text = ast.unparse(call)
                code = text if len(text) <= 70 else f"self.{name}(…)"
                yield _DroppedCall(file, first + node.lineno - 1, name, code)  # type: ignore[attr-defined]


def _own_method(call: Any) -> str | None:
    """The name of the method in a call of `self.name(…)`."""
    function = call.func if isinstance(call, ast.Call) else None
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self":
        return function.attr
    return None


def _is_coroutine(cls: type[Scenario], name: str) -> bool:
    return inspect.iscoroutinefunction(inspect.getattr_static(cls, name, None))
