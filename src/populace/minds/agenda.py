"""Timed actions: what everybody is doing now, until when, and what they plan to do next."""

from collections.abc import Sequence
from typing import NamedTuple

from populace.people import Id

DAY = 86_400
HOUR = 3600


class Action(NamedTuple):
    """Something that a person does at a place, from a start to an end in simulated seconds."""

    start: int
    end: int
    where: str
    doing: str


class Agenda:
    """What everybody is doing now and has planned, and when each is due for something new.

    Example:
        >>> agenda = Agenda(["ann"])
        >>> agenda.set("ann", [Action(0, 60, "home", "wake"), Action(60, 600, "café", "work")])
        >>> agenda.due(0), agenda.next("ann", 0).doing, agenda.due(30), agenda.due(60)
        (['ann'], 'wake', [], ['ann'])
    """

    def __init__(self, ids: Sequence[Id]) -> None:
        self._planned: dict[Id, list[Action]] = {who: [] for who in ids}
        self.doing: dict[Id, Action | None] = dict.fromkeys(ids)
        self._until: dict[Id, int] = dict.fromkeys(ids, 0)

    def change_people(self, ids: Sequence[Id]) -> None:
        """Let people leave and join: those who stay keep their plans, and the others have none yet."""
        self._planned = {who: self._planned.get(who, []) for who in ids}
        self.doing = {who: self.doing.get(who) for who in ids}
        self._until = {who: self._until.get(who, 0) for who in ids}

    def set(self, who: Id, actions: Sequence[Action]) -> None:
        """Replace what a person has planned."""
        self._planned[who] = list(actions)

    def put_first(self, who: Id, actions: Sequence[Action]) -> None:
        """Put actions before what is planned."""
        self._planned[who] = [*actions, *self._planned[who]]

    def planned(self, who: Id) -> list[Action]:
        """The actions that a person has not begun yet."""
        return self._planned[who]

    def due(self, now: int) -> list[Id]:
        """The people whose action has ended, in the order of the population."""
        return [who for who, until in self._until.items() if until <= now]

    def next(self, who: Id, now: int) -> Action | None:
        """Begin the next planned action, skipping those that are over, and return it; None where nothing is planned."""
        planned = self._planned[who]
        while planned and planned[0].end <= now:
            planned.pop(0)
        action = planned.pop(0) if planned else None
        if action is not None and action.start > now:
            planned.insert(0, action)
            action = Action(now, action.start, "", "waiting")
        self.doing[who] = action
        self._until[who] = action.end if action else now
        return action

    def begin(self, who: Id, action: Action) -> None:
        """Begin an action now, in place of the current one."""
        self.doing[who] = action
        self._until[who] = action.end

    def interrupt(self, who: Id, action: Action) -> None:
        """Begin an action now; what it interrupts goes on after it."""
        current = self.doing[who]
        if current is not None and current.end > action.end:
            self._planned[who].insert(0, current._replace(start=action.end))
        self.begin(who, action)
