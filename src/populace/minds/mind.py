"""A mind: who a person is, and the parts with which they remember, conclude, plan and talk."""

from collections.abc import Sequence

import polars as pl

from populace.base.errors import ParameterError
from populace.base.templates import Template
from populace.minds.actions import Actions
from populace.minds.parts import Asker, DialoguePart, MemoryPart, PlanningPart, ReflectionPart
from populace.minds.recollection import Recollection
from populace.minds.recorded_memory import with_record
from populace.people import Id


class Mind:
    """What people bring to a question, and the parts that act between questions.

    Only the profile is needed. Every other part may be left out or be one of your own.

    Args:
        profile: Who a person is, as a template over the columns of the population.
        memory: What they remember.
        reflection: What they conclude from it.
        planning: How they plan their time.
        dialogue: How they talk.
        actions: What they can do, and the world that carries it out.
        recalled: How many memories come to mind before a question.
        heading: The line above these memories in a prompt.

    Example:
        >>> from populace.minds import Memory, Reflection
        >>> from populace.models import HashingEmbedder
        >>> mind = Mind(profile="You are {name}.", memory=Memory(HashingEmbedder(64)), reflection=Reflection(budget=50))
        >>> mind.planning is None
        True
    """

    def __init__(
        self,
        profile: Template | str = "",
        *,
        memory: MemoryPart | None = None,
        reflection: ReflectionPart | None = None,
        planning: PlanningPart | None = None,
        dialogue: DialoguePart | None = None,
        actions: Actions | None = None,
        recalled: int = 5,
        heading: str = "What comes to your mind:",
    ) -> None:
        if reflection is not None and memory is None:
            raise ParameterError(
                "a mind with reflection but without memory has nothing to reflect on.",
                "Give it a memory, or leave reflection out.",
            )
        if recalled < 0:
            raise ParameterError(f"{recalled} memories cannot come to mind.", "Give 0 or more.")
        self.profile = Template(profile) if isinstance(profile, str) else profile
        self.memory = None if memory is None else with_record(memory)
        self.reflection = reflection
        self.planning = planning
        self.dialogue = dialogue
        self.actions = actions
        self.recalled = recalled
        self.heading = heading

    def recollect(
        self, ids: Sequence[Id], about: Sequence[str], *, now: int, purpose: str, kinds: Sequence[str] | None = None
    ) -> Recollection | None:
        """What comes to people's minds before a question, under its heading; None without a memory.

        Args:
            ids: Who is asked.
            about: What each thinks of.
            now: The simulated time in seconds.
            purpose: The purpose of the question.
            kinds: The kinds of memories that may come to mind; all if left out.
        """
        if self.memory is None or not self.recalled or not len(ids):
            return None
        only = {} if kinds is None else {"kinds": kinds}
        recollection = self.memory.recollect(ids, about, now=now, purpose=purpose, top=self.recalled, **only)
        return recollection.under(self.heading)

    async def remember(
        self,
        asker: Asker,
        ids: Sequence[Id],
        texts: Sequence[str],
        *,
        kind: str,
        now: int,
        importance: float | None = None,
    ) -> None:
        """Let people remember texts; without a memory nothing happens.

        Args:
            asker: Puts questions about importance; a scenario.
            ids: Who remembers.
            texts: What each remembers, in words to the person.
            kind: The kind of memory.
            now: The simulated time in seconds.
            importance: From 1 to 10; rated in the memory's own way if left out.
        """
        if self.memory is None or not ids:
            return
        if importance is None:
            await self.memory.remember(asker, ids, texts, kind=kind, now=now)
        else:
            self.memory.store(ids, texts, kind=kind, now=now, importance=importance)

    async def finish_step(self, asker: Asker, ids: Sequence[Id], now: int) -> dict[str, pl.DataFrame]:
        """Let people reflect and forget at the end of a step.

        Args:
            asker: Puts the questions; a scenario.
            ids: Who may reflect.
            now: The simulated time in seconds.

        Returns:
            What was stored and recalled since the last call, as tables for the journal; none without a memory.
        """
        if self.memory is None:
            return {}
        if self.reflection is not None:
            await self.reflection.think(asker, self.memory, ids, now)
        # What is forgotten in the step in which it was stored is recorded too.
        tables = self.memory.drain_tables()
        self.memory.forget(now)
        return tables
