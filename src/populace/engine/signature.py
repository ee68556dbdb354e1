"""Signatures that are derived from settings: a field of the settings is a parameter of the function."""

import inspect
import typing
from collections.abc import Callable
from typing import Any, TypeVar

import pydantic

from populace.base.errors import ParameterError, UnknownNameError
from populace.base.plain_data import plain_message

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
SettingsT = TypeVar("SettingsT", bound=pydantic.BaseModel)


def takes_settings(*settings: type[pydantic.BaseModel], inherit: bool = False) -> Callable[[FunctionT], FunctionT]:
    """Give a function with `**settings` the fields of settings as parameters, in its signature and its docstring.

    Args:
        settings: The settings whose fields it takes.
        inherit: Whether a field that is left out keeps the value of the parent run, as in a fork.
    """

    def decorate(function: FunctionT) -> FunctionT:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        fields = {name: field for each in settings for name, field in each.model_fields.items()}
        derived = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None if inherit and each is settings[0] else field.get_default(call_default_factory=True),
                annotation=field.annotation,
            )
            for each in settings
            for name, field in each.model_fields.items()
        ]
        function.__signature__ = signature.replace(parameters=[*own, *derived])  # type: ignore[attr-defined]
        lines = [f"{name}: {field.description}" for name, field in fields.items() if field.description]
        function.__doc__ = _with_arguments(function.__doc__ or "", lines)
        return function

    return decorate


def _with_arguments(text: str, lines: list[str]) -> str:
    """A docstring whose `**settings` line gives way to one line for each field."""
    result = []
    for line in text.splitlines():
        if line.strip().startswith("**settings:"):
            indent = line[: len(line) - len(line.lstrip())]
            result += [indent + each for each in lines]
        else:
            result.append(line)
    return "\n".join(result)


def read_settings(settings: type[SettingsT], values: dict[str, Any], **base: Any) -> SettingsT:
    """Settings from values by name, which are taken out; whatever is left belongs to something else.

    Args:
        settings: The settings to read.
        values: The values that were given.
        base: What holds where nothing was given.
    """
    known = {name: values.pop(name) for name in list(values) if name in settings.model_fields}
    try:
        return settings.model_validate({**base, **known})
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        choices = typing.get_args(settings.model_fields[str(first["loc"][0])].annotation)
        if first["type"] == "literal_error":
            raise UnknownNameError(name, str(first["input"]), [str(choice) for choice in choices]) from error
        raise ParameterError(f"{name} = {first['input']!r}: {plain_message(first)}.") from error


def refuse_unknown(values: dict[str, Any], function: Callable[..., Any]) -> None:
    """Raise where a value is left that no parameter of the function takes."""
    for name in values:
        raise UnknownNameError(f"parameter of {function.__name__}", name, inspect.signature(function).parameters)
