"""A conversation that is over: who took part, what was said, why it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from populace.people import Id


class Line(NamedTuple):
    """Something that was said."""

    speaker: Id
    name: str
    text: str


@dataclass
class Talk:
    """A conversation that is over.

    Attributes:
        people: Who took part.
        lines: What was said.
        ended: Why it ended: `left` by somebody, `limit`, `gone` when a partner was no longer there, `invalid` when
            an utterance could not be read.
    """

    people: tuple[Id, ...]
    lines: list[Line] = field(default_factory=list)
    ended: str = "limit"
