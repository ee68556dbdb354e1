"""A scenario as data: what it is for, what it measures, and every parameter with its bounds.

Forms, options and listings are built from this, so they say the same.
"""

import dataclasses
import enum
import inspect
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import annotated_types
import pydantic
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from populace.engine.discovery import reference
from populace.engine.scenario import Scenario

Kind = Literal["int", "number", "text", "bool", "choice", "json", "file"]

_SIMPLE: dict[Any, Kind] = {bool: "bool", int: "int", float: "number", str: "text", Path: "file"}
_CONTAINERS = (list, dict, tuple, set, frozenset)
_SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a scenario.

    Attributes:
        name: Its name.
        kind: The kind of its value; `json` for lists, mappings and other values with parts.
        default: Its value where none is given, as plain data.
        required: Whether there is no default.
        optional: Whether it may be None.
        ge: The least that it may be.
        gt: What it must be above.
        le: The most that it may be.
        lt: What it must be below.
        choices: What it may be, for a choice.
        help: What it means, in a sentence.
    """

    name: str
    kind: Kind
    default: Any = None
    required: bool = False
    optional: bool = False
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    choices: tuple[Any, ...] = ()
    help: str = ""

    @property
    def bounds(self) -> list[str]:
        """The bounds as they are written, such as `>= 2`."""
        limits = {name: getattr(self, name) for name in _SIGNS}
        return [f"{_SIGNS[name]} {limit:g}" for name, limit in limits.items() if limit is not None]


def parameters_of(scenario: type[Scenario]) -> list[Parameter]:
    """The parameters of a scenario, in the order in which they are defined.

    Example:
        >>> from populace.engine.discovery import find_scenario
        >>> workers = parameters_of(find_scenario("norms"))[0]
        >>> workers.name, workers.kind, workers.default, workers.bounds
        ('workers', 'int', 20, ['>= 2'])
    """
    return fields_of(scenario.parameter_model())


def fields_of(model: type[pydantic.BaseModel]) -> list[Parameter]:
    """The fields of settings, in the order in which they are defined.

    Example:
        >>> from populace.broker import CallSettings
        >>> fields_of(CallSettings)[0].name
        'concurrency'
    """
    return [_parameter(name, field) for name, field in model.model_fields.items()]


def describe_scenario(scenario: type[Scenario]) -> dict[str, Any]:
    """A scenario as data for JSON: name, title, purpose, card, metrics, and every parameter.

    `name` is what `populace run` takes; `purpose` is the docstring and `summary` its first sentence; `chart` are the
    main metrics; `card` is the file that says more, where there is one beside the scenario.
    """
    metrics = list(scenario.metrics())
    return {
        "name": reference(scenario),
        "title": scenario.title(),
        "summary": scenario.summary(),
        "purpose": inspect.getdoc(scenario) or "",
        "card": _card(scenario),
        "metrics": metrics,
        "chart": list(scenario.chart) or metrics,
        "parameters": [dataclasses.asdict(each) | {"choices": list(each.choices)} for each in parameters_of(scenario)],
    }


def _parameter(name: str, field: FieldInfo) -> Parameter:
    parts = [field.annotation]
    if typing.get_origin(field.annotation) in (typing.Union, types.UnionType):
        parts = list(typing.get_args(field.annotation))
    annotation = next(part for part in parts if part is not type(None))
    kind, choices = _kind(annotation)
    default = field.get_default(call_default_factory=True, validated_data={})
    required = default is PydanticUndefined
    return Parameter(
        name,
        kind,
        default=None if required else to_jsonable_python(default, fallback=str),
        required=required,
        optional=type(None) in parts,
        choices=choices,
        help=field.description or "",
        **_bounds(field),
    )


def _kind(annotation: Any) -> tuple[Kind, tuple[Any, ...]]:
    origin = typing.get_origin(annotation) or annotation
    if origin is Literal:
        return "choice", typing.get_args(annotation)
    if origin in _SIMPLE:
        return _SIMPLE[origin], ()
    if not inspect.isclass(origin):
        return "text", ()
    if issubclass(origin, enum.Enum):
        return "choice", tuple(member.value for member in origin)
    if getattr(origin, "metavar", "") == "FILE":
        return "file", ()
    has_parts = issubclass(origin, (*_CONTAINERS, pydantic.BaseModel)) or dataclasses.is_dataclass(origin)
    return ("json" if has_parts else "text"), ()


def _bounds(field: FieldInfo) -> dict[str, float]:
    kinds = (annotated_types.Ge, annotated_types.Gt, annotated_types.Le, annotated_types.Lt)
    bounds = [each for each in field.metadata if isinstance(each, kinds)]
    return {(name := type(each).__name__.lower()): getattr(each, name) for each in bounds}


def _card(scenario: type[Scenario]) -> str | None:
    try:
        card = Path(inspect.getfile(scenario)).with_name("card.md")
    except (OSError, TypeError):
        return None
    return str(card) if card.is_file() else None
