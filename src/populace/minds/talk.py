"""A conversation that is over: who took part, what was said, why it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from populace.people import Id


class Line(NamedTuple):
    """One utterance of a conversation."""

    speaker: Id
    name: str
    text: str


@dataclass
class Talk:
    """A conversation that is over.

    Attributes:
        people: The ids of the people who took part.
        lines: The utterances, in order.
        ended: Why it ended: `left` when somebody ended it, `limit` at the most utterances, `gone` when a partner was
            no longer there, `invalid` when an utterance was invalid.
    """

    people: tuple[Id, ...]
    lines: list[Line] = field(default_factory=list)
    ended: str = "limit"
