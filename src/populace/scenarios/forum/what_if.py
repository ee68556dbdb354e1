"""Where a thread is made to go on in another way than it did."""

from __future__ import annotations

import re

import polars as pl
import pydantic
from pydantic import Field

from populace.people import Id, People

GUEST = "guest"
"""The role of somebody who is there only because it was asked what if."""


class WhatIf(pydantic.BaseModel):
    """One utterance, and how its thread goes on from it.

    Without a responder somebody answers by another draw.

    Attributes:
        post: The number of the utterance.
        as_: The responder in words, such as `a troll`; a guest of that description answers.
        person: The responder by id.
        line: What the responder says; the model writes it where there is none.
        draw: Which of several ways to go on; 0 keeps the random numbers of the run.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    post: int = Field(ge=1)
    as_: str | None = Field(None, min_length=1)
    person: int | str | None = None
    line: str | None = Field(None, min_length=1)
    draw: int = Field(0, ge=0, lt=2**16)

    @property
    def answers(self) -> bool:
        """Whether somebody is made to answer."""
        return self.as_ is not None or self.person is not None or self.line is not None


def guest(people: People, described: str | None) -> tuple[Id, People]:
    """Somebody of a description who is not among the people yet, with an id and a name of their own.

    Example:
        >>> who, one = guest(People.named(2), "a troll")
        >>> who, one["name"][0], one["persona"][0]
        (2, 'Troll', 'You are a troll here, and you write as one.')
    """
    words = described or "the designer"
    bare = re.sub(r"^(?:an?|the)\s+", "", words.strip(), flags=re.IGNORECASE)
    name = _free(bare[:1].upper() + bare[1:40], people["name"].to_list())
    numbered = people.ids.dtype.is_integer()
    who: Id = people.next_id() if numbered else _free("guest", people.ids.to_list())
    columns = {
        "id": who,
        "name": name,
        "persona": f"You are {words.strip()} here, and you write as one.",
        "role": GUEST,
        "standing": "ok",
    }
    return who, People(pl.DataFrame({column: [value] for column, value in columns.items()}))


def _free(wanted: str, taken: list[str]) -> str:
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted} {number}"
    return name
