"""The texts in the fields of a form, and the values, errors and command-line options that they stand for.

A form keeps texts and not values, so that its address can hold them and incomplete input is not lost.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any

import pydantic

from populace.base.errors import ParameterError
from populace.tools.describe import Parameter

_TYPES: dict[str, Any] = {"int": int, "number": pydantic.FiniteFloat, "bool": bool, "json": pydantic.Json}
_TYPE_NAMES = {"int": "a whole number", "number": "a number", "bool": "yes or no", "json": "JSON"}


def format_value(value: Any) -> str:
    """A value as the text of a field.

    Example:
        >>> format_value(True), format_value(None), format_value([1, "a"]), format_value("a")
        ('true', '', '[1, "a"]', 'a')
    """
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def parse_value(parameter: Parameter, text: str) -> Any:
    """The value of a parameter from the text in its field; the default where the field is empty.

    Raises:
        ParameterError: The text is no value of the parameter; its hint says why.

    Example:
        >>> parse_value(Parameter("days", "int", default=7, ge=1), " 3 ")
        3
    """
    word = text.strip()
    if not word and parameter.required:
        raise _error(parameter, "needs a value")
    if not word and parameter.kind != "text":
        return parameter.default
    match parameter.kind:
        case "text":
            return text
        case "choice":
            choices = {str(choice): choice for choice in parameter.choices}
            if word not in choices:
                raise _error(parameter, f"must be one of {', '.join(choices)}")
            return choices[word]
    limits = pydantic.Field(ge=parameter.ge, gt=parameter.gt, le=parameter.le, lt=parameter.lt)
    bounded_type: Any = Annotated[_TYPES[parameter.kind], limits]
    try:
        return pydantic.TypeAdapter(bounded_type).validate_python(word)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        if first["type"].startswith(("greater_than", "less_than")):
            raise _error(parameter, f"must be {' and '.join(parameter.bounds)}") from None
        detail = f": {first['ctx']['error']}" if parameter.kind == "json" else ""
        raise _error(parameter, f"must be {_TYPE_NAMES[parameter.kind]}{detail}") from None


def input_error(parameter: Parameter, text: str) -> str:
    """What is wrong with the text in a field; empty where nothing is.

    Example:
        >>> input_error(Parameter("days", "int", default=7, ge=1), "0")
        'must be >= 1'
    """
    try:
        parse_value(parameter, text)
    except ParameterError as error:
        return error.hint or error.what
    return ""


def input_errors(parameters: Iterable[Parameter], texts: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the texts of a form, by the name of the parameter."""
    errors = {each.name: input_error(each, texts.get(each.name, format_value(each.default))) for each in parameters}
    return {name: error for name, error in errors.items() if error}


def changed_texts(parameters: Iterable[Parameter], texts: Mapping[str, str]) -> dict[str, str]:
    """The texts that stand for another value than the default."""
    return {each.name: texts[each.name] for each in parameters if each.name in texts and _differs(each, texts)}


def command_options(
    parameters: Iterable[Parameter], texts: Mapping[str, str], taken: Collection[str] = ()
) -> list[str]:
    """The texts that stand for another value than the default, as options of a command.

    Args:
        parameters: The parameters.
        texts: The text in each field.
        taken: Names of the command's own options; a parameter of such a name gets the prefix `scenario`.

    Example:
        >>> own = [Parameter("days", "int", 7), Parameter("own", "bool", True), Parameter("seed", "int", 0)]
        >>> command_options(own, {"days": "3", "own": "false", "seed": "4"}, taken={"seed"})
        ['--days', '3', '--no-own', '--scenario-seed', '4']
    """
    parameters = list(parameters)
    changes, arguments = changed_texts(parameters, texts), []
    for each in parameters:
        if each.name not in changes:
            continue
        name = option_name(each.name, taken).replace("_", "-")
        text = changes[each.name] if each.kind == "text" else changes[each.name].strip()
        if each.kind == "bool":
            arguments.append(f"--{name}" if not input_error(each, text) and parse_value(each, text) else f"--no-{name}")
        else:
            # A value that looks like an option must stand in one argument with its name.
            arguments += [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]
    return arguments


def option_name(name: str, taken: Collection[str]) -> str:
    """The name of the option for a parameter, given the names of the command's own options."""
    return f"scenario_{name}" if name in taken else name


def read_parameters(description: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """The parameters of a scenario from its description."""
    return tuple(Parameter(**each | {"choices": tuple(each["choices"])}) for each in description["parameters"])


def infer_parameters(values: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Parameters inferred from values, where the scenario itself cannot be loaded.

    Example:
        >>> [each.kind for each in infer_parameters({"days": 3, "own": True, "share": 0.5, "words": ["a"]})]
        ['int', 'bool', 'number', 'json']
    """
    return tuple(Parameter(name, _kind_of(value), default=value) for name, value in values.items())


def _kind_of(value: Any) -> Any:
    # A bool is an int to Python, so it is tested first.
    for kind, name in ((bool, "bool"), (int, "int"), (float, "number"), (str, "text")):
        if isinstance(value, kind):
            return name
    return "json"


def _differs(parameter: Parameter, texts: Mapping[str, str]) -> bool:
    text = texts[parameter.name]
    try:
        return bool(parse_value(parameter, text) != parameter.default)
    except ParameterError:
        return bool(text.strip())


def _error(parameter: Parameter, message: str) -> ParameterError:
    return ParameterError(f"{parameter.name}:", message)
