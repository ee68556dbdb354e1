"""Whoever puts questions to people on behalf of a part of their mind."""

from __future__ import annotations

from typing import Any, Protocol

from populace.people import People
from populace.questions import Answers, Question


class Asks(Protocol):
    """Whoever can put questions to people: a scenario."""

    @property
    def people(self) -> People:
        """The population as it is now."""

    async def ask(
        self, people: Any, question: Question, *, given: str = "", purpose: str = "", **fields: Any
    ) -> Answers:
        """Put a question to people."""
