"""Conditions: what of their mind people may use in an interview, or who answers in their place."""

from __future__ import annotations

from typing import Any

import pydantic

from populace.base.errors import UnknownNameError
from populace.minds.memory_columns import KINDS

PEOPLE = "people"
"""The condition of answers that people wrote in the place of residents."""


class Condition(pydantic.BaseModel):
    """One way in which residents answer.

    By default the interview of the same life is ablated: the run is the same, and some kinds of memories may not come
    to mind. With `run`, the answers come from another run, in which the people lived without a part of their mind.

    Attributes:
        name: Its name in tables.
        without: Kinds of memories that may not come to mind, such as `reflection` and `plan`.
        memory: Whether anything comes to mind at all.
        run: Another run, whose residents have the same ids; that of the study if left out.

    Example:
        >>> Condition(name="no reflection", without=["reflection"]).kinds[:3]
        ['observation', 'dialogue', 'plan']
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: str = pydantic.Field(min_length=1, max_length=80)
    without: tuple[str, ...] = ()
    memory: bool = True
    run: str | None = None

    @pydantic.field_validator("without", mode="after")
    @classmethod
    def _check_kinds(cls, without: tuple[str, ...]) -> tuple[str, ...]:
        for kind in without:
            if kind not in KINDS:
                raise UnknownNameError("kind of memory", kind, KINDS)
        return without

    @pydantic.field_validator("name", mode="after")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if name == PEOPLE:
            raise ValueError(f"{PEOPLE!r} is the condition of answers that people wrote")
        return name

    @property
    def kinds(self) -> list[str] | None:
        """The kinds of memories that may come to mind; None for all."""
        return [kind for kind in KINDS if kind not in self.without] if self.without else None


FULL = Condition(name="full mind")
ABLATIONS = (
    Condition(name="no reflection", without=("reflection",)),
    Condition(name="neither reflection nor plans", without=("reflection", "plan")),
    Condition(name="no memory", memory=False),
)
STANDARD = (FULL, *ABLATIONS)
"""The full mind and the three ablations of the protocol."""


def read_conditions(data: Any) -> Any:
    """Conditions from a mapping of names to settings, or from a list of them."""
    if not isinstance(data, dict):
        return data
    wrong = next((name for name, settings in data.items() if not isinstance(settings, dict | None)), None)
    if wrong is not None:
        raise ValueError(f"the condition {str(wrong)!r} needs settings such as {{without: [reflection]}}")
    return [
        {"name": str(name)} | {str(key): value for key, value in (settings or {}).items()}
        for name, settings in data.items()
    ]
