"""Plain data that a user writes in Python or in a file; what does not fit is refused in words."""

from typing import Any, ClassVar

import pydantic

from populace.base.errors import ParameterError, UnknownNameError, UsageError


class PlainData(pydantic.BaseModel):
    """Data whose class refuses wrong arguments with an error of Populace, which names the argument.

    Data of a file, which pydantic validates without calling the class, keeps pydantic's errors: whoever reads the file
    knows its name and its lines.

    Attributes:
        refusal: The class of the error.
    """

    model_config = pydantic.ConfigDict(extra="forbid")

    refusal: ClassVar[type[UsageError]] = ParameterError

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except pydantic.ValidationError as error:
            raise _refusal(type(self), error) from error

    # Without this mark pydantic would call __init__ for data of a file too.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


def _refusal(cls: type[PlainData], error: pydantic.ValidationError) -> UsageError:
    """Why an object cannot be made of what was passed, and what to write."""
    errors = error.errors()
    # An argument with a wrong name leaves another one missing.
    first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return cls.refusal(f"{cls.__name__} has no {name!r}.", f"Write: {cls.__name__}({name}=…, …)")
    if first["type"] == "extra_forbidden" and name not in cls.model_fields:
        return UnknownNameError(f"argument of {cls.__name__}", name, [n for n in cls.model_fields if n != "kind"])
    problem = first["msg"].removeprefix("Value error, ")
    if not name:
        return cls.refusal(f"{cls.__name__}: {problem.rstrip('.')}.")
    return cls.refusal(f"{cls.__name__}: {name} = {first['input']!r}: {problem[:1].lower()}{problem[1:].rstrip('.')}.")
