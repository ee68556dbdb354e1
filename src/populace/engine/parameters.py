"""The parameters of a scenario: its annotated attributes, as a pydantic model."""

import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

import pydantic
from pydantic import Field
from pydantic.fields import FieldInfo

from populace.base.errors import ParameterError, ScenarioError, TemplateError, UnknownNameError
from populace.base.plain_data import plain_message
from populace.base.templates import Template


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
        return pydantic.create_model(f"{cls.__name__}Parameters", __config__=config, **fields)
    except pydantic.errors.PydanticSchemaGenerationError as error:
        name = next((name for name, (hint, _) in fields.items() if not _is_plain(hint)), next(iter(fields)))
        kind = getattr(fields[name][0], "__name__", str(fields[name][0]))
        raise ScenarioError(
            f"{cls.__name__}: the parameter {name!r} has the type {kind}, and a parameter is plain data: "
            "a number, a text, a list.",
            f"An attribute that is no parameter needs no type: remove the line and write self.{name} = … in setup.",
        ) from error


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
            raise ParameterError(
                f"{title}: the parameter {name} has no value and no default.", f"Write {name}=…, or give it a default."
            ) from error
        raise ParameterError(f"{title}: {name} = {first['input']!r}: {plain_message(first)}.", hint) from error
    return {name: getattr(values, name) for name in model.model_fields}


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
