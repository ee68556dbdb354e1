"""The parameters of a scenario: its annotated attributes, as a pydantic model."""

import functools
import inspect
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import pydantic
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, SchemaError

from populace.base.errors import ParameterError, ScenarioError, TemplateError, UnknownNameError
from populace.base.plain_data import plain_message
from populace.base.templates import Template

MakerT = TypeVar("MakerT", bound=Callable[..., Any])

_USUAL = "default default_factory description ge gt le lt multiple_of min_length max_length pattern examples".split()
"""The arguments of a field that a message lists."""

_OTHER_WORDS = {
    **dict.fromkeys(("min", "minimum", "min_value", "at_least", "low", "lower"), "ge"),
    **dict.fromkeys(("max", "maximum", "max_value", "at_most", "high", "upper"), "le"),
    **dict.fromkeys(("help", "doc", "text", "label", "about"), "description"),
    **dict.fromkeys(("regex", "match"), "pattern"),
    **dict.fromkeys(("min_items", "minlen"), "min_length"),
    **dict.fromkeys(("max_items", "maxlen"), "max_length"),
    "value": "default",
}
"""Words of other tools for the arguments of a field."""


def _with_known_arguments(make: MakerT) -> MakerT:
    """The function that makes a field, for known arguments alone: pydantic takes others too and does nothing with them.

    A parameter has one name, so the aliases of pydantic are no arguments either.
    """
    signature = inspect.signature(make).parameters.values()
    known = [each.name for each in signature if each.kind is not each.VAR_KEYWORD and "alias" not in each.name]

    @functools.wraps(make)
    def checked(*values: Any, **settings: Any) -> Any:
        for name in settings:
            if name not in known:
                meant = _OTHER_WORDS.get(name)
                raise UnknownNameError("argument of Field", name, _USUAL, suggestion=meant and f"{meant}=…")
        return make(*values, **settings)

    return typing.cast(MakerT, checked)


Field = _with_known_arguments(pydantic.Field)
"""A parameter of a scenario: its default, its bounds (`ge`, `gt`, `le`, `lt`, …) and its `description`."""


def parameter_model(cls: type, reserved: Collection[str]) -> type[pydantic.BaseModel]:
    """The annotated attributes of a class: names, types, defaults, bounds and help.

    Args:
        cls: The class.
        reserved: Names that a parameter cannot have.
    """
    fields: dict[str, Any] = {}
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except (NameError, TypeError) as error:
        raise ScenarioError(f"{cls.__name__}: a parameter's type cannot be read: {error}.") from error
    for name, hint in hints.items():
        if name.startswith("_") or typing.get_origin(hint) is ClassVar or hint is ClassVar:
            continue
        if name in reserved:
            raise ScenarioError(
                f"{cls.__name__}: {name!r} is part of every scenario and cannot be a parameter.",
                "Give the parameter another name.",
            )
        default = getattr(cls, name, ...)
        fields[name] = (hint, default if isinstance(default, FieldInfo) else Field(default))
    config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    try:
        model: type[pydantic.BaseModel] = pydantic.create_model(
            f"{cls.__name__}Parameters", __config__=config, **fields
        )
    except SchemaError as error:
        name = next(name for name in fields if not _has_schema(name, fields))
        raise _bound_error(cls, name, str(error).splitlines()[-1].strip().partition(": ")[2]) from error
    except pydantic.errors.PydanticSchemaGenerationError as error:
        name = next((name for name, (hint, _) in fields.items() if not _is_plain(hint)), next(iter(fields)))
        kind = getattr(fields[name][0], "__name__", str(fields[name][0]))
        raise ScenarioError(
            f"{cls.__name__}: the parameter {name!r} has the type {kind}, and a parameter is plain data: "
            "a number, a text, a list.",
            f"An attribute that is no parameter needs no type: remove the line and write self.{name} = … in setup.",
        ) from error
    _check_defaults(cls, model)
    return model


def _check_defaults(cls: type, model: type[pydantic.BaseModel]) -> None:
    """Raise where a default is not what its parameter may be; pydantic checks only what is given."""
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        if default is PydanticUndefined:
            continue
        try:
            model.model_validate({name: default})
        except pydantic.ValidationError as error:
            # Other parameters are missing where they have no default.
            first = next((each for each in error.errors() if each["loc"][0] == name), None)
            if first is None:
                continue
            comma = isinstance(default, tuple) and len(default) == 1
            hint = "The comma behind the value makes a tuple of it: remove the comma."
            raise ParameterError(
                f"{cls.__name__}: the default of {name!r} is {default!r}: {plain_message(first)}.",
                hint if comma else "Change the default, or the type and the bounds of the parameter.",
            ) from error
        except TypeError as error:
            raise _bound_error(cls, name, str(error)) from error


def _bound_error(cls: type, name: str, problem: str) -> ScenarioError:
    return ScenarioError(
        f"{cls.__name__}: the bounds of the parameter {name!r} do not fit its type: {problem}.",
        "A number has ge, gt, le and lt, which are numbers; a text or a list has min_length and max_length.",
    )


def _has_schema(name: str, fields: Mapping[str, Any]) -> bool:
    try:
        pydantic.create_model("One", **{name: fields[name]})
    except SchemaError:
        return False
    return True


def _is_plain(hint: Any) -> bool:
    try:
        pydantic.TypeAdapter(hint)
    except pydantic.errors.PydanticSchemaGenerationError:
        return False
    return True


def read_parameters(
    model: type[pydantic.BaseModel], parameters: Mapping[str, Any], title: str, hint: str
) -> dict[str, Any]:
    """The values of all parameters, checked; raises where one is unknown or does not fit.

    Args:
        model: The parameters that there are.
        parameters: Their values; others keep their default.
        title: The name of the scenario.
        hint: Where the bounds are described.
    """
    for name in parameters:
        if name not in model.model_fields:
            raise UnknownNameError(f"parameter of {title}", name, model.model_fields)
    try:
        values = model.model_validate(dict(parameters))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "missing":
            raise missing_value(title, name, f"{name}=…") from error
        raise ParameterError(f"{title}: {name} = {first['input']!r}: {plain_message(first)}.", hint) from error
    return {name: getattr(values, name) for name in model.model_fields}


def refuse_values(cls: type, values: Sequence[Any], model: Callable[[], type[pydantic.BaseModel]]) -> None:
    """Raise where values were passed to a scenario without a name."""
    if not values:
        return
    if len(values) == 3 and isinstance(values[1], tuple) and isinstance(values[2], dict):
        # What Python passes for `class Garden(Scenario()):`.
        home = "pc." if cls.__module__.startswith("populace.") else ""
        raise ScenarioError(
            f"the class {values[0]} inherits from an object of {cls.__name__}, not from {cls.__name__} itself.",
            f"Write, with one pair of parentheses: class {values[0]}({home}{cls.__name__}):",
        )
    names = list(model().model_fields)
    raise ParameterError(
        f"{cls.__name__} takes its parameters by name.",
        f"Write: {cls.__name__}({names[0]}=…)" if names else f"It has none, so write: {cls.__name__}()",
    )


def missing_value(title: str, name: str, form: str) -> ParameterError:
    """The error for a parameter that has no value; `form` is how one is given."""
    return ParameterError(
        f"{title}: the parameter {name} has no value and no default.", f"Write {form}, or give it a default."
    )


def fields_from_parameters(
    templates: Mapping[str, Template],
    parameters: Collection[str],
    columns: Collection[str],
    fields: Collection[str],
    value: Callable[[str], Any],
) -> dict[str, Any]:
    """The values of parameters that templates name and nothing else fills.

    Args:
        templates: The templates, by what they are.
        parameters: The names of the parameters.
        columns: The columns of the people; a name that is both is refused, because either could be meant.
        fields: The fields that have a value already.
        value: Gives the value of a parameter.
    """
    values: dict[str, Any] = {}
    for where, template in templates.items():
        for name in template.fields:
            if name in fields or name not in parameters:
                continue
            if name in columns:
                raise TemplateError(
                    f"{where}: {{{name}}} could be the column {name!r} of the people or the parameter {name!r}.",
                    f'Say which to ask: {name}=people["{name}"] or {name}=self.{name}; or rename one of them.',
                )
            values[name] = value(name)
    return values
