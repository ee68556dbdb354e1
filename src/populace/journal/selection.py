"""Some of the people, by conditions, ids or a random share: whom an intervention acts on."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
import pydantic

from populace.base.errors import InterventionError, UsageError
from populace.base.plain_data import PlainData
from populace.people import People

_SIGNS = {"eq": "is", "ne": "is not", "in": "is one of", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}


class Selection(PlainData):
    """Some of the people: by conditions on columns, by ids, or a share drawn at random; everybody by default.

    Example:
        >>> Selection(where={"age": {"ge": 30}}).describe(2, 3)
        '2 of 3 people (age ≥ 30)'
    """

    refusal: ClassVar[type[UsageError]] = InterventionError
    refusal_hint: ClassVar[str] = 'Write: pc.Selection(where={"age": {"ge": 30}}), pc.Selection(ids=[3, 5]) or both.'

    where: dict[str, Any] = pydantic.Field(default={})
    ids: list[int | str] | None = None
    share: Annotated[float | None, pydantic.Field(gt=0, le=1)] = None

    def of(self, people: People, rng: np.random.Generator) -> People:
        """The people selected."""
        selected = people.where(**self.where) if self.ids is None else people.take(self.ids).where(**self.where)
        if self.share is not None:
            selected = selected.sample(round(len(selected) * self.share), seed=rng)
        return selected

    def describe(self, selected: int | None = None, total: int = 0) -> str:
        """The selection in words, with how many people it holds where that is known."""
        parts = [_condition_text(name, condition) for name, condition in self.where.items()]
        if self.ids is not None:
            parts.append(f"id {' or '.join(map(str, self.ids[:8]))}{' …' if len(self.ids) > 8 else ''}")
        if self.share is not None:
            parts.append(f"{self.share:.0%} of them at random")
        if not parts:
            return "everybody"
        count = f"{selected:,} of {total:,} people" if selected is not None else "the people"
        return f"{count} ({', '.join(parts)})"


def _condition_text(column: str, condition: Any) -> str:
    if condition is None:
        return f"{column} is empty"
    if isinstance(condition, Mapping):
        return " and ".join(f"{column} {_SIGNS.get(sign, sign)} {value}" for sign, value in condition.items())
    if isinstance(condition, list):
        return f"{column} is one of {', '.join(map(str, condition))}"
    return f"{column} is {condition}"
