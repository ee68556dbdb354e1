"""A small world: people at places, things that lie there or are carried, and a board that everybody can read.

It carries out the actions that ship, and refuses what is not possible with the reason.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from populace.base.action_outcomes import ActionOutcome
from populace.base.errors import ActionRefusedError, UnknownNameError, WorldError
from populace.people import Id, People

_MOST = 20
"""The most people, places or things that somebody is offered."""


class Surroundings:
    """People at places, with things and a board.

    Args:
        people: The people; each needs a name of their own.
        places: The places, by name, each with those that can be reached from it; a list of places that all reach each
            other will do.
        at: Where everybody is at the beginning; the first place by default.
        things: The things that lie at a place or are carried by a person, each with the name of the place or person.

    Attributes:
        board: Who wrote what on the board, in order.

    Example:
        >>> people = People(pl.DataFrame({"id": [0, 1], "name": ["Ann", "Bo"]}))
        >>> square = Surroundings(people, ["square"], things={"apple": "Ann"})
        >>> square.give(0, to="Bo", thing="apple").text
        'You gave Bo the apple.'
        >>> square.options("belongings", people.ids).to_list()
        [[], ['apple']]
    """

    def __init__(
        self,
        people: People,
        places: Sequence[str] | Mapping[str, Sequence[str]],
        *,
        at: Sequence[str] | pl.Series | None = None,
        things: Mapping[str, str] | None = None,
    ) -> None:
        if not places:
            raise WorldError("surroundings need a place.", 'Write: Surroundings(people, ["square"])')
        everywhere = [str(place) for place in places]
        self.ways: dict[str, list[str]] = (
            {place: list(reached) for place, reached in places.items()}
            if isinstance(places, Mapping)
            else {place: [other for other in everywhere if other != place] for place in everywhere}
        )
        for place in {reached for ways in self.ways.values() for reached in ways}:
            self._check_place(place)
        self.board: list[tuple[Id, str]] = []
        self._names: dict[Id, str] = {}
        self._at: dict[Id, str] = {}
        self.change_people(people, at)
        self._owner: dict[str, str] = {}
        self.states: dict[str, str] = {}
        holders = {*self.ways, *self._names.values()}
        for thing, holder in (things or {}).items():
            if holder not in holders:
                raise UnknownNameError("place or person", holder, sorted(holders))
            self._owner[thing] = holder

    def change_people(self, people: People, at: Sequence[str] | pl.Series | None = None) -> None:
        """Let people join and leave; those who join stand at `at`, or at the first place. Things of the gone stay."""
        ids, names = people.ids.to_list(), people["name"].to_list()
        if len(set(names)) < len(names) or None in names or set(names) & set(self.ways):
            raise WorldError("people and places need names of their own.", "Give each another name.")
        where = list(at) if at is not None else [next(iter(self.ways))] * len(ids)
        for place in where:
            self._check_place(place)
        for who in [who for who in self._names if who not in set(ids)]:
            for thing in [thing for thing, owner in self._owner.items() if owner == self._names[who]]:
                self._owner[thing] = self._at[who]
        self._at = {who: self._at.get(who, place) for who, place in zip(ids, where, strict=True)}
        self._names = dict(zip(ids, names, strict=True))
        self._ids = {name: who for who, name in self._names.items()}

    def places(self, ids: pl.Series) -> pl.Series:
        """Where people are, as a column."""
        return pl.Series("place", [self._at[who] for who in ids], dtype=pl.String)

    @property
    def things(self) -> pl.DataFrame:
        """Every thing, the place where it lies or the person who carries it, and its state."""
        names = list(self._owner)
        columns = {"thing": names, "at": list(self._owner.values()), "state": [self.states.get(name) for name in names]}
        return pl.DataFrame(columns, schema={"thing": pl.String, "at": pl.String, "state": pl.String})

    def options(self, what: str, ids: pl.Series) -> pl.Series:
        """What people can choose: `people` and `things` at their place, `places` to go to, `belongings` they carry."""
        lists = {"people": self._people, "places": self._ways, "things": self._things, "belongings": self._belongings}
        if what not in lists:
            raise UnknownNameError("kind of option", what, lists)
        return pl.Series(what, lists[what](ids.to_list()), dtype=pl.List(pl.String))

    def _people(self, ids: list[Id]) -> list[list[str]]:
        """The others at each person's place; of many, those who follow in the order of the population."""
        here: dict[str, list[Id]] = {}
        for who, place in self._at.items():
            here.setdefault(place, []).append(who)
        rank = {who: number for crowd in here.values() for number, who in enumerate(crowd)}
        lists = []
        for who in ids:
            crowd = here[self._at[who]]
            after = np.arange(1, min(len(crowd), _MOST + 1)) + rank[who]
            lists.append([self._names[crowd[number % len(crowd)]] for number in after.tolist()])
        return lists

    def _ways(self, ids: list[Id]) -> list[list[str]]:
        return [self.ways[self._at[who]][:_MOST] for who in ids]

    def _things(self, ids: list[Id]) -> list[list[str]]:
        return self._held([(self._at[who], self._names[who]) for who in ids])

    def _belongings(self, ids: list[Id]) -> list[list[str]]:
        return self._held([(self._names[who],) for who in ids])

    def _held(self, holders: Iterable[tuple[str, ...]]) -> list[list[str]]:
        things: dict[str, list[str]] = {}
        for thing, owner in self._owner.items():
            things.setdefault(owner, []).append(thing)
        return [[thing for holder in each for thing in things.get(holder, [])][:_MOST] for each in holders]

    def speak(self, who: Id, to: str, text: str) -> ActionOutcome:
        """Say something to somebody who is here."""
        other, name = self._present(who, to), self._names[who]
        return ActionOutcome(f'You told {to}: "{text}"', "speech", [(other, "hearing", f'{name} told you: "{text}"')])

    def move(self, who: Id, to: str) -> ActionOutcome:
        """Go to a place that can be reached from here."""
        if to not in self.ways[self._at[who]]:
            raise ActionRefusedError(f"{to} cannot be reached from {self._at[who]}.")
        self._at[who] = to
        return ActionOutcome(f"You went to {to}.")

    def use(self, who: Id, thing: str, so_that_it_is: str) -> ActionOutcome:
        """Change the state of a thing that is here or carried; those who are here see it."""
        if self._owner.get(thing) not in (self._at[who], self._names[who]):
            raise ActionRefusedError(f"the {thing} is not here.")
        self.states[thing] = so_that_it_is
        seen = f"{self._names[who]} used the {thing}, which is now {so_that_it_is}."
        others = [(other, "observation", seen) for other in self._here(who)]
        return ActionOutcome(f"You used the {thing}, which is now {so_that_it_is}.", others=others)

    def give(self, who: Id, to: str, thing: str) -> ActionOutcome:
        """Give a thing that one carries to somebody who is here."""
        other = self._present(who, to)
        if self._owner.get(thing) != self._names[who]:
            raise ActionRefusedError(f"you do not have the {thing}.")
        self._owner[thing] = to
        return ActionOutcome(
            f"You gave {to} the {thing}.", others=[(other, "observation", f"{self._names[who]} gave you the {thing}.")]
        )

    def post(self, who: Id, text: str) -> ActionOutcome:
        """Write on the board."""
        self.board.append((who, text))
        return ActionOutcome(f'You wrote on the board: "{text}"', "speech")

    def change_thing(self, thing: str, state: str) -> None:
        """Let a thing be in another state, as an intervention does."""
        if thing not in self._owner:
            raise UnknownNameError("thing", thing, self._owner)
        self.states[thing] = state

    def _here(self, who: Id) -> list[Id]:
        return [other for other, place in self._at.items() if place == self._at[who] and other != who][:_MOST]

    def _present(self, who: Id, name: str) -> Id:
        other = self._ids.get(name)
        if other is None or other == who or self._at[other] != self._at[who]:
            raise ActionRefusedError(f"{name} is not here.")
        return other

    def _check_place(self, place: str) -> None:
        if place not in self.ways:
            raise UnknownNameError("place", place, self.ways)
