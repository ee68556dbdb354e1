"""What an action is: a pydantic model with a docstring, the world that carries it out, and what comes of it."""

import inspect
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import polars as pl
import pydantic

from populace.minds.parts import Asker
from populace.people import Id

ActStatus = Literal["done", "refused", "invalid"]


@dataclass(frozen=True)
class Among:
    """Marks an argument whose values the world offers, such as the names of the people who are here.

    Attributes:
        what: What `ActionWorld.options` is asked for.
    """

    what: str


class BaseAction(pydantic.BaseModel):
    """The base of actions: the docstring says what one does, and fields are arguments with their questions.

    The world carries an action out in its method of the same name: `Give` calls `world.give(who, to=…, thing=…)`.

    Example:
        >>> from typing import Annotated
        >>> class Wave(BaseAction):
        ...     "Wave to somebody who is here."
        ...     to: Annotated[str, Among("people")] = pydantic.Field(description="To whom?")
        >>> Wave.title(), Wave.summary()
        ('wave', 'Wave to somebody who is here.')
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def title(cls) -> str:
        """The name of the action as people choose it, and of the method that carries it out, with spaces for `_`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", cls.__name__).lower()

    @classmethod
    def summary(cls) -> str:
        """The first paragraph of the docstring."""
        return (inspect.getdoc(cls) or cls.title()).split("\n\n")[0].replace("\n", " ")

    @classmethod
    def method(cls) -> str:
        """The name of the method of the world that carries it out."""
        return cls.title().replace(" ", "_")

    def phrase(self) -> str:
        """The action in words, such as `give Ann the apple`."""
        return action_phrase(type(self), self.model_dump())


class ActionWorld(Protocol):
    """A world in which people act; it also has a method for each action, which raises ActionRefusedError to refuse."""

    def options(self, what: str, ids: pl.Series) -> pl.Series:
        """What each person can choose from: a column of lists of texts, empty where there is nothing."""


class ActionAsker(Asker, Protocol):
    """Whom the part needs to let people choose actions; every scenario is one."""

    def each(self, items: Iterable[Any], body: Callable[[Any], Coroutine[Any, Any, Any]]) -> Awaitable[list[Any]]:
        """Run a coroutine for each item."""


class Actor(ActionAsker, Protocol):
    """Whom the part needs to let people act; every scenario is one."""

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers of this place in the run."""

    @property
    def seconds(self) -> int:
        """Simulated time in seconds."""

    @property
    def mind(self) -> Any:
        """The minds of the people."""

    def event(self, kind: str, person: Id | None = None, **data: Any) -> None:
        """Record that something happened."""


@dataclass(frozen=True)
class Acts:
    """What people did, in the order of the people asked.

    Attributes:
        ids: Who.
        actions: The action of each; None where the person chose none that is valid.
        status: `done`; `refused` where the world did not allow it; `invalid` where there was no valid answer.
        reasons: Why an action was refused or is invalid; empty for one that was done.
    """

    ids: list[Id]
    actions: list[BaseAction | None]
    status: list[ActStatus]
    reasons: list[str]

    def __iter__(self) -> Iterator[tuple[Id, BaseAction | None, ActStatus]]:
        return zip(self.ids, self.actions, self.status, strict=True)

    @property
    def frame(self) -> pl.DataFrame:
        """The columns id, action, status and reason."""
        phrases = [None if action is None else action.phrase() for action in self.actions]
        columns = {"id": self.ids, "action": phrases, "status": self.status, "reason": self.reasons}
        return pl.DataFrame(columns, schema_overrides={"action": pl.String})


class Wait(BaseAction):
    """Do nothing for now."""


def offered_arguments(kind: type[BaseAction]) -> dict[str, Among]:
    """The arguments of an action whose values the world offers."""
    arguments = kind.model_fields.items()
    marks = {name: [mark for mark in each.metadata if isinstance(mark, Among)] for name, each in arguments}
    return {name: mark[0] for name, mark in marks.items() if mark}


def option_word(option: Any) -> str:
    """An option as people read it."""
    return ("yes" if option else "no") if isinstance(option, bool) else str(option)


def action_phrase(kind: type[BaseAction], values: dict[str, Any]) -> str:
    """An action with its arguments so far, in words."""
    parts = ", ".join(f"{name.replace('_', ' ')} {option_word(value)}" for name, value in values.items())
    return f"{kind.title()} {parts}" if parts else kind.title()
