"""The members of the community: their roles, and who may write."""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UnknownNameError
from populace.people import Id, People
from populace.scenarios.forum import wording
from populace.scenarios.forum.design import ForumDesign
from populace.scenarios.forum.what_if import GUEST

ROLES = ("moderator", "troll", "newcomer", "member", GUEST)
STANDINGS = ("ok", "warned", "banned")


def people_from_seeds(design: ForumDesign, rng: np.random.Generator) -> People:
    """People who have the personas of the design in turn, and different names."""
    count, seeds = design.people, len(design.personas)
    seed = np.arange(count) % seeds
    persona = pl.Series(list(design.personas)).gather(seed)
    return People.named(count, seed=rng).with_columns(persona=persona, seed=seed + 1, source="seed")


def numbered_people(people: People) -> People:
    """The people under numbers in place of names, as in the source's ablation without personas."""
    return people.with_columns(name=[f"Person {number}" for number in range(1, len(people) + 1)])


def with_roles(people: People, design: ForumDesign, rng: np.random.Generator) -> People:
    """The people with a role (`moderator`, `troll`, `newcomer` or `member`) drawn at random, and the standing `ok`.

    Trolls have one of the personas in `wording.TROLLS`, where people have personas at all.
    """
    role = np.full(len(people), "member", object)
    order = rng.permutation(len(people))
    moderators = min(design.moderators, len(people) - 2)
    role[order[:moderators]] = "moderator"
    rest = order[moderators:]
    role[rest[: round(len(rest) * design.newcomers)]] = "newcomer"
    trolls = rest[len(rest) - min(design.trolls, len(rest) - 1) :]
    role[trolls] = "troll"
    if len(trolls) and "persona" in people:
        persona = people["persona"].to_numpy().astype(object)
        persona[trolls] = np.resize(np.array(wording.TROLLS, object), len(trolls))
        people = people.with_columns(persona=persona.tolist())
    return people.with_columns(role=role.tolist(), standing="ok")


class MemberIndex:
    """A number for every person who has ever been a member, and what each of them may do now.

    Numbers never change, while rows of the people table do when people join or leave.

    Attributes:
        row: The row of each person in the people table; -1 for those who have left.
        join: Whether each may open a thread or enter one.
        speak: Whether each may write again in a thread that they are in.
        newcomer: Whether each is a newcomer.
        pool: The numbers of all people except guests.
    """

    def __init__(self) -> None:
        self._ids: pl.Series | None = None
        self.row: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.pool: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.join = self.speak = self.newcomer = np.zeros(0, bool)

    def update(self, people: People) -> None:
        """Read the people table again; new people get the next numbers."""
        ids = people.ids
        if self._ids is None:
            self._ids = ids
        elif not self._ids.equals(ids):
            self._ids = pl.concat([self._ids, ids.filter(~ids.is_in(self._ids.implode()))])
        for column, known in (("role", ROLES), ("standing", STANDINGS)):
            unknown = next((value for value in people[column].unique().sort().drop_nulls() if value not in known), None)
            if unknown is not None:
                raise UnknownNameError(f"{column} of a member", unknown, known)
        frame = people.frame.select("id", "role", "standing").with_row_index("row")
        members = self._ids.to_frame("id").join(frame, on="id", how="left", maintain_order="left")
        self.row = members["row"].cast(pl.Int64).fill_null(-1).to_numpy()
        allowed = (members["standing"] != "banned").fill_null(False).to_numpy()
        role = members["role"].fill_null("")
        self.speak = allowed & (self.row >= 0)
        self.join = self.speak & ~role.is_in(["moderator", GUEST]).to_numpy()
        self.pool = np.flatnonzero((role != GUEST).to_numpy())
        self.newcomer = (role == "newcomer").to_numpy()

    def number(self, who: Id) -> int:
        """The number of a person."""
        number: Any = None if self._ids is None else self._ids.index_of(who)
        return int(number)
