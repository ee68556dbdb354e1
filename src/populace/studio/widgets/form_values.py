"""What somebody typed into a form, checked against the parameters that the form was made from.

A form holds texts, as they were typed, so that an address can hold them too, and something half typed is not lost.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from populace.base.errors import ParameterError
from populace.tools.describe import Parameter

_SWITCH = {"true": True, "false": False, "yes": True, "no": False}


def format_value(value: Any) -> str:
    """A value as it is typed.

    Example:
        >>> format_value(True), format_value(None), format_value([1, "a"]), format_value("a")
        ('true', '', '[1, "a"]', 'a')
    """
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def parse_value(parameter: Parameter, text: str) -> Any:
    """What was typed for a parameter, as a value; nothing typed is the default.

    Example:
        >>> parse_value(Parameter("days", "int", default=7, ge=1), " 3 ")
        3
    """
    typed = text.strip()
    if not typed and parameter.kind != "text":
        if parameter.required:
            raise _wrong(parameter, "a value is needed")
        return parameter.default
    match parameter.kind:
        case "int" | "number":
            return _number(parameter, typed)
        case "bool":
            if typed.lower() not in _SWITCH:
                raise _wrong(parameter, "yes or no is wanted")
            return _SWITCH[typed.lower()]
        case "choice":
            named = {str(choice): choice for choice in parameter.choices}
            if typed not in named:
                raise _wrong(parameter, f"one of {', '.join(named)} is wanted")
            return named[typed]
        case "json":
            return _json(parameter, typed)
        case _:
            if parameter.required and not typed:
                raise _wrong(parameter, "a value is needed")
            return text


def input_error(parameter: Parameter, text: str) -> str:
    """Why what was typed will not do, or nothing.

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
    """Everything that will not do, by the name of the parameter."""
    found = {each.name: input_error(each, texts.get(each.name, format_value(each.default))) for each in parameters}
    return {name: said for name, said in found.items() if said}


def changed_texts(parameters: Iterable[Parameter], texts: Mapping[str, str]) -> dict[str, str]:
    """What was typed that differs from the default."""
    return {each.name: texts[each.name] for each in parameters if each.name in texts and _differs(each, texts)}


def command_options(
    parameters: Iterable[Parameter], texts: Mapping[str, str], taken: Collection[str] = ()
) -> list[str]:
    """What was typed that differs from the default, as options of a command.

    Args:
        parameters: The parameters.
        texts: What was typed.
        taken: Names that the command has for itself; a parameter of such a name has `scenario` before it.

    Example:
        >>> own = [Parameter("days", "int", 7), Parameter("own", "bool", True), Parameter("seed", "int", 0)]
        >>> command_options(own, {"days": "3", "own": "false", "seed": "4"}, taken={"seed"})
        ['--days', '3', '--no-own', '--scenario-seed', '4']
    """
    parameters = list(parameters)
    given, made = changed_texts(parameters, texts), []
    for each in parameters:
        if each.name not in given:
            continue
        name = option_name(each.name, taken).replace("_", "-")
        text = given[each.name] if each.kind == "text" else given[each.name].strip()
        if each.kind == "bool":
            made.append(f"--{name}" if _SWITCH.get(text.lower()) else f"--no-{name}")
        else:
            # A value that looks like an option is kept with its name.
            made += [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]
    return made


def option_name(name: str, taken: Collection[str]) -> str:
    """The name that a parameter has beside names that are taken."""
    return f"scenario_{name}" if name in taken else name


def read_parameters(described: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """The parameters of a scenario from its description."""
    return tuple(Parameter(**each | {"choices": tuple(each["choices"])}) for each in described["parameters"])


def infer_parameters(values: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Parameters as far as their values tell, where the scenario cannot be asked.

    Example:
        >>> [each.kind for each in infer_parameters({"days": 3, "own": True, "share": 0.5, "words": ["a"]})]
        ['int', 'bool', 'number', 'json']
    """
    return tuple(Parameter(name, _kind_of(value), default=value) for name, value in values.items())


def _kind_of(value: Any) -> Any:
    # A truth value is a whole number to Python, so it is asked first.
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


def _number(parameter: Parameter, typed: str) -> float:
    whole = parameter.kind == "int"
    try:
        value = int(typed) if whole else float(typed)
    except ValueError:
        raise _wrong(parameter, "a whole number is wanted" if whole else "a number is wanted") from None
    if not math.isfinite(value):
        raise _wrong(parameter, "a number is wanted")
    within = {
        "ge": parameter.ge is None or value >= parameter.ge,
        "gt": parameter.gt is None or value > parameter.gt,
        "le": parameter.le is None or value <= parameter.le,
        "lt": parameter.lt is None or value < parameter.lt,
    }
    if not all(within.values()):
        raise _wrong(parameter, f"must be {' and '.join(parameter.bounds)}")
    return value


def _json(parameter: Parameter, typed: str) -> Any:
    try:
        return json.loads(typed)
    except ValueError as error:
        raise _wrong(parameter, f"this is not JSON: {error}") from None


def _wrong(parameter: Parameter, why: str) -> ParameterError:
    return ParameterError(f"{parameter.name}:", why)
