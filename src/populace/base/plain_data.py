"""Plain data that a user writes in Python or in a file: what does not fit is refused in words, with what to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pydantic

from populace.base.errors import ParameterError, UnknownNameError, UsageError


class PlainData(pydantic.BaseModel):
    """Data whose class refuses wrong arguments with an error of Populace, which names the argument.

    Data of a file, which pydantic validates without calling the class, keeps pydantic's errors: whoever reads the file
    knows its name and its lines, and has `refusal_of` for the words.

    Attributes:
        refusal: The class of the error.
        refusal_hint: What to do about it, where there is nothing better to say.

    Example:
        >>> class Point(PlainData):
        ...     x: float
        >>> Point(y=1)
        Traceback (most recent call last):
        populace.base.errors.UnknownNameError: there is no argument of Point named 'y'. Known: x.
    """

    refusal: ClassVar[type[UsageError]] = ParameterError
    refusal_hint: ClassVar[str] = ""

    model_config = pydantic.ConfigDict(extra="forbid")

    def __init__(self, *values: Any, **data: Any) -> None:
        if values:
            names = [name for name, field in type(self).model_fields.items() if field.is_required()]
            example = ", ".join(f"{name}=…" for name in names or list(type(self).model_fields)[:1])
            raise self.refusal(
                f"{type(self).__name__} takes its arguments by name.", f"Write: {type(self).__name__}({example})"
            )
        try:
            super().__init__(**data)
        except pydantic.ValidationError as error:
            raise self._explain(error) from error

    # Without this mark pydantic would call __init__ for data in a file too, whose errors name the line.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def _explain(cls, error: pydantic.ValidationError) -> UsageError:
        """The error in words; classes with words of their own replace it."""
        return refusal_of(cls, error)

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except pydantic.ValidationError as error:
            raise self._explain(error) from error


def refusal_of(cls: type[PlainData], error: pydantic.ValidationError, what: str = "") -> UsageError:
    """Why an object cannot be made of some data, and what to write; the error carries the entry that it is about.

    Args:
        cls: The class of the object.
        error: What pydantic found.
        what: What the data are called; the name of the class by default.
    """
    errors = error.errors()
    # A field with a wrong name leaves another one missing.
    first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])
    entry = tuple(part for part in first["loc"] if not (isinstance(part, str) and _KIND_MARK.intersection(part)))
    problem = _problem(cls, dict(first), entry, what or cls.__name__)
    problem.entry = entry
    return problem


_KIND_MARK = frozenset("[(")
"""Pydantic adds the kinds that it tried to the path of an entry; these hold brackets."""


_WORDS = {
    "too_short": "it should have at least {min_length} entries",
    "string_too_short": "it should not be empty",
    "greater_than": "it should be above {gt}",
    "tuple_type": "it should be a list",
    "list_type": "it should be a list",
    "dict_type": "it should be names with values",
    "model_type": "it should be names with values",
    "mapping_type": "it should be names with values",
    "missing": "it is missing",
    "extra_forbidden": "there is no such key",
    "union_tag_not_found": "it has no `{discriminator}`",
    "union_tag_invalid": "there is no {discriminator} {tag!r}, only {expected_tags}",
}
"""What pydantic says in the words of Python."""


def plain_message(error: Mapping[str, Any]) -> str:
    """What pydantic found, as somebody reads it who wrote a file and no Python.

    Args:
        error: One of the errors that pydantic lists.

    Example:
        >>> plain_message({"type": "missing", "msg": "Field required"})
        'it is missing'
    """
    words, context = _WORDS.get(error["type"]), dict(error.get("ctx", {}))
    if error["type"] == "too_short" and context.get("min_length") == 1:
        words = _WORDS["string_too_short"]
    context["discriminator"] = str(context.get("discriminator", "")).strip("'")
    message = words.format(**context) if words else error["msg"].removeprefix("Value error, ")
    return f"{message[:1].lower()}{message[1:]}".removesuffix(".")


def _problem(cls: type[PlainData], first: dict[str, Any], entry: tuple[int | str, ...], what: str) -> UsageError:
    name = ".".join(map(str, entry))
    if first["type"] == "frozen_instance":
        return cls.refusal(f"{cls.__name__} does not change once it is there.", "Build another one.")
    if first["type"] == "missing":
        example = f"{cls.__name__}({name}=…, …)" if what == cls.__name__ else f"{entry[-1]}: …"
        return cls.refusal(f"{what} has no {name!r}.", f"Write: {example}")
    if first["type"] == "extra_forbidden" and len(entry) == 1 and name not in cls.model_fields:
        kind = f"argument of {what}" if what == cls.__name__ else f"key of {what}"
        return UnknownNameError(kind, name, [each for each in cls.model_fields if each != "kind"])
    if first["type"] == "extra_forbidden":
        return cls.refusal(
            f"{what}: {'.'.join(map(str, entry[:-1]))} has no key {entry[-1]!r}.", cls.refusal_hint or None
        )
    message = plain_message(first)
    if not entry:
        return cls.refusal(f"{what}: {message}.", cls.refusal_hint or None)
    given = f"{first['input']!r}"
    given = f"{given[:60]}…" if len(given) > 60 else given
    return cls.refusal(f"{what}: {name} = {given}: {message}.", cls.refusal_hint or None)
