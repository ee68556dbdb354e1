"""What an intervention is, and what it acts on."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
import pydantic

from populace.base.errors import InterventionError, UsageError
from populace.base.plain_data import PlainData
from populace.journal.selection import Selection
from populace.people import People


class Target(Protocol):
    """What an intervention acts on."""

    @property
    def people(self) -> People:
        """The population, which an intervention may change."""

    def change(self, parameters: Mapping[str, Any]) -> None:
        """Set parameters of the scenario, checked like the first."""

    def use_model(self, spec: str) -> None:
        """Let another model decide for people whom no column gives one."""

    @property
    def has_memory(self) -> bool:
        """Whether people remember anything."""

    def remember(self, people: People, text: str, *, kind: str, importance: float) -> None:
        """Let people remember something; only where they have a memory."""

    def change_thing(self, place: str, state: str) -> None:
        """Let a thing of the world be in another state; InterventionError where the world has no such thing."""

    def check_thing(self, place: str) -> None:
        """Raise an error where the world has no such thing."""


_ENTRY_HINTS = {
    "to": Selection.refusal_hint,
    "people": 'Write: people=[{"name": "Ada", "age": 31}], a list with the columns of each person; '
    'a pandas table gives it with table.to_dict("records").',
}
"""What to write where an entry of an intervention is wrong."""


class Intervention(PlainData):
    """Something that is done to a society from outside."""

    refusal: ClassVar[type[UsageError]] = InterventionError

    @classmethod
    def _explain(cls, error: pydantic.ValidationError) -> UsageError:
        """The error in words, with how people are selected or described where that is what went wrong."""
        problem = super()._explain(error)
        hint = _ENTRY_HINTS.get(str(problem.entry[0])) if problem.entry and not problem.hint else None
        if hint is None:
            return problem
        explained = cls.refusal(problem.what, hint)
        explained.entry = problem.entry
        return explained

    at: int = pydantic.Field(ge=1, description="The step at whose beginning it happens.")

    def apply(self, target: Target, rng: np.random.Generator) -> None:
        """Do it.

        Args:
            target: The society that it is done to.
            rng: Draws the people where a share is selected at random.
        """
        raise NotImplementedError

    def check_names(self, target: Target) -> None:
        """Raise an error, before the run begins, where it names something that will never be there."""

    def models(self) -> list[str]:
        """The models that it lets decide, for everybody or for some."""
        return []

    def end(self, target: Target, step: int) -> None:
        """Undo it, where it lasts for some steps only and this is the step after the last of them."""

    def selects_nobody(self, people: People, rng: np.random.Generator) -> bool:
        """Whether it acts on some people only, and none of these meets its conditions.

        Args:
            people: The people at this step.
            rng: The same random numbers as those for `apply`.
        """
        selection: Selection | None = getattr(self, "to", None)
        return selection is not None and not len(selection.of(people, rng))

    def check(self, target: Target, rng: np.random.Generator) -> str:
        """Try it on a society that is there to be tried on, and say in words what it does.

        Raises:
            PopulaceError: It would fail, or it would act on nobody.
        """
        people = target.people
        selection: Selection | None = getattr(self, "to", None)
        selected = None if selection is None else len(selection.of(people, rng))
        if selected == 0:
            raise InterventionError("nobody is selected.", "No person meets the conditions at this step.")
        text = self.describe(selected, len(people))
        self.apply(target, rng)
        return text

    def describe(self, selected: int | None = None, total: int = 0) -> str:
        """What it does, in words.

        Args:
            selected: How many people it acts on, where that is known.
            total: How many people there are.
        """
        raise NotImplementedError
