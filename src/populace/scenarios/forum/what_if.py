"""A what-if: a post from which its thread continues in another way."""

import re
from dataclasses import dataclass

import polars as pl
import pydantic
from pydantic import Field

from populace.people import Id, People

GUEST = "guest"
"""The role of a person who was added for a what-if."""


class WhatIf(pydantic.BaseModel):
    """A post, and how its thread continues from it.

    Without a responder, a member replies by another random draw.

    Attributes:
        post: The number of the post.
        as_: The responder in words, such as `a troll`; a guest of that description replies.
        person: The responder by id.
        line: The text of the reply; the model writes it by default.
        draw: The number of the random continuation; 0 uses the random numbers of the run.

    Example:
        >>> WhatIf(post=3, as_="a troll").has_responder, WhatIf(post=3, draw=1).has_responder
        (True, False)
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    post: int = Field(ge=1)
    as_: str | None = Field(None, min_length=1)
    person: int | str | None = None
    line: str | None = Field(None, min_length=1)
    draw: int = Field(0, ge=0, lt=2**16)

    @property
    def has_responder(self) -> bool:
        """Whether a chosen person replies, instead of one by random draw."""
        return self.as_ is not None or self.person is not None or self.line is not None


@dataclass(frozen=True)
class ForcedReply:
    """A reply that a what-if asks for.

    Attributes:
        slot: The thread, by its position in the plan.
        author: The id of the responder.
        parent: The number of the post that gets the reply.
        to: The name of its author.
        text: The text of the reply; None where the model writes it.
    """

    slot: int
    author: Id
    parent: int
    to: str
    text: str | None


def guest(people: People, description: str | None) -> tuple[Id, People]:
    """A new person of that description, with an unused id and name; returns the id, and a table of one row.

    Example:
        >>> who, one = guest(People.named(2), "a troll")
        >>> who, one["name"][0], one["persona"][0]
        (2, 'Troll', 'You are a troll here, and you write as one.')
    """
    words = description or "the designer"
    bare = re.sub(r"^(?:an?|the)\s+", "", words.strip(), flags=re.IGNORECASE)
    name = _unused(bare[:1].upper() + bare[1:40], people["name"].to_list())
    has_numbers = people.ids.dtype.is_integer()
    who: Id = people.next_id() if has_numbers else _unused("guest", people.ids.to_list())
    columns = {
        "id": who,
        "name": name,
        "persona": f"You are {words.strip()} here, and you write as one.",
        "role": GUEST,
        "standing": "ok",
    }
    return who, People(pl.DataFrame({column: [value] for column, value in columns.items()}))


def _unused(name: str, others: list[str]) -> str:
    """The name, with a number where others have it already."""
    candidate, number = name, 1
    while candidate in others:
        number += 1
        candidate = f"{name} {number}"
    return candidate
