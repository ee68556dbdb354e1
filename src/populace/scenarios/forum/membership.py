"""Who belongs to the community, and who may write."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.people import Id, People
from populace.scenarios.forum.design import ForumDesign
from populace.scenarios.forum.what_if import GUEST


def people_from_seeds(design: ForumDesign, rng: np.random.Generator) -> People:
    """People who are the seed personas in turn, with names of their own."""
    count, seeds = design.people, len(design.personas)
    number = np.arange(count) % seeds
    persona = pl.Series(list(design.personas)).gather(number)
    return People.named(count, seed=rng).with_columns(persona=persona, seed=number + 1, source="seed")


def with_roles(people: People, design: ForumDesign, rng: np.random.Generator) -> People:
    """The same people with a role and a standing: moderators, newcomers, and members otherwise."""
    role = np.full(len(people), "member", object)
    order = rng.permutation(len(people))
    watching = min(design.moderators, len(people) - 2)
    role[order[:watching]] = "moderator"
    rest = order[watching:]
    role[rest[: round(len(rest) * design.newcomers)]] = "newcomer"
    return people.with_columns(role=role.tolist(), standing="ok")


class MemberIndex:
    """A whole number for everybody who was ever there, and who of them may write now.

    Attributes:
        row: For each number the row of the person in the table; -1 for those who left.
        join: Who may open a thread or enter one.
        speak: Who may speak again where they have spoken.
        newcomer: Who is new to the community.
        pool: The numbers of all but guests.
    """

    def __init__(self) -> None:
        self._ids: pl.Series | None = None
        self.row: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.pool: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.join = self.speak = self.newcomer = np.zeros(0, bool)

    def update(self, people: People) -> None:
        """See who is there; whoever is there for the first time gets the next number."""
        ids = people.ids
        if self._ids is None:
            self._ids = ids
        elif not self._ids.equals(ids):
            self._ids = pl.concat([self._ids, ids.filter(~ids.is_in(self._ids.implode()))])
        frame = people.frame.select("id", "role", "standing").with_row_index("row")
        known = self._ids.to_frame("id").join(frame, on="id", how="left", maintain_order="left")
        self.row = known["row"].cast(pl.Int64).fill_null(-1).to_numpy()
        free = (known["standing"] != "banned").fill_null(False).to_numpy()
        role = known["role"].fill_null("")
        self.speak = free & (self.row >= 0)
        self.join = self.speak & ~role.is_in(["moderator", GUEST]).to_numpy()
        self.pool = np.flatnonzero((role != GUEST).to_numpy())
        self.newcomer = (role == "newcomer").to_numpy()

    def number(self, who: Id) -> int:
        """The number of a person."""
        found: Any = None if self._ids is None else self._ids.index_of(who)
        return int(found)
