"""What a scenario stands on while it runs.

A scenario keeps no state of a run outside its stage and its own attributes; the simulation owns the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from populace.base.errors import InterventionError, ScenarioError
from populace.engine.scopes import AwaitableCall, Driver
from populace.engine.session import Session
from populace.journal import RunSettings
from populace.people import Id, People
from populace.prompting import Inquiry

if TYPE_CHECKING:
    from populace.engine.scenario import Scenario


class Event(NamedTuple):
    """Something that happened, to one person or to nobody in particular, as the journal records it."""

    person: Id | None
    kind: str
    data: str


@dataclass
class Stage:
    """What a scenario stands on while it runs; the simulation owns it, and interventions act on it.

    Attributes:
        scenario: The scenario.
        driver: Runs the coroutines of a step.
        settings: The settings that hold now.
        session: Gives access to models.
        step: The number of the step under way.
        tables: The tables of the world.
        events: What happened in the step under way.
        rngs: Random numbers by the path they belong to.
        pending: Calls such as `self.ask(…)` that nobody has awaited yet.
    """

    scenario: Scenario
    driver: Driver[Inquiry]
    settings: RunSettings
    session: Session
    step: int = 0
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    events: list[pl.DataFrame | Event] = field(default_factory=list)
    rngs: dict[str, np.random.Generator] = field(default_factory=dict)
    pending: dict[int, AwaitableCall[Any]] = field(default_factory=dict)

    _people: People | None = None

    def __post_init__(self) -> None:
        self.scenario._stage = self

    @property
    def people(self) -> People:
        """The population as it is now."""
        if self._people is None:
            raise ScenarioError(
                "self.people was used before setup returned the people.",
                "In setup, give the people a name, use that, and return it: people = People.named(…)",
            )
        return self._people

    @people.setter
    def people(self, people: People) -> None:
        self._people = people

    @property
    def has_people(self) -> bool:
        """Whether setup has returned the people."""
        return self._people is not None

    def change(self, parameters: Mapping[str, Any]) -> None:
        """Set parameters of the scenario, checked like the first."""
        self.scenario.change(parameters)

    def use_model(self, spec: str) -> None:
        """Let another model decide for people whom no column gives one."""
        self.settings = self.settings.model_copy(update={"model": spec})

    @property
    def has_memory(self) -> bool:
        """Whether people remember anything."""
        return self.scenario.mind.memory is not None

    def remember(self, people: People, text: str, *, kind: str, importance: float) -> None:
        """Let people remember something; only where they have a memory."""
        memory, ids = self.scenario.mind.memory, people.ids.to_list()
        if memory is not None:
            memory.store(ids, [text] * len(ids), kind=kind, now=self.scenario.seconds, importance=importance)

    def change_thing(self, place: str, state: str) -> None:
        """Let a thing of the world be in another state, through the method `change_thing` of the scenario."""
        self._changing_things()(place, state)

    def check_thing(self, place: str) -> None:
        """Raise an error where the world has no such thing, as far as the scenario can say so with `check_thing`."""
        self._changing_things()
        check: Callable[[str], object] | None = getattr(self.scenario, "check_thing", None)
        if check is not None:
            check(place)

    def _changing_things(self) -> Callable[[str, str], None]:
        change: Callable[[str, str], None] | None = getattr(self.scenario, "change_thing", None)
        if change is None:
            raise InterventionError(
                f"{type(self.scenario).title()} has no things that could change.",
                "A scenario with things defines the method change_thing(place, state).",
            )
        return change
