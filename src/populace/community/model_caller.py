"""Put one question about many rows to a model, in one batch and outside any run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.base.templates import Template
from populace.broker import CallSettings, CallStore
from populace.engine.session import Session
from populace.minds import Mind
from populace.models import Model
from populace.people import People
from populace.prompting import Inquiry, Situation
from populace.questions import Answers, Question


@dataclass(frozen=True)
class ModelCaller:
    """A model, and the limits under which it is called.

    Attributes:
        model: Who answers.
        calls: How models are called, and what may be spent.
    """

    model: str | Model
    calls: CallSettings | None = None

    @property
    def spec(self) -> str:
        """The name of the model."""
        return self.model if isinstance(self.model, str) else self.model.spec

    def ask(
        self,
        rows: pl.DataFrame,
        question: Question,
        *,
        profile: str,
        given: str,
        store: CallStore,
        purpose: str,
        constants: Mapping[str, Any] | None = None,
    ) -> tuple[Answers, str]:
        """Ask the question about every row, at temperature 0.

        Args:
            rows: A row for each answer, with the fields that the templates use.
            question: The question.
            profile: A template for who the model is told to be.
            given: A template for what it is told before the question.
            store: Where replies are stored; it is closed at the end.
            purpose: Under which the calls are counted.
            constants: Fields that are the same in every row.

        Returns:
            The answers, aligned with the rows, and the fingerprint of the model.
        """
        session = Session(store, calls=self.calls, model=self.model)
        situation = Situation(question, Template(given), constants or {}, {})
        mind = Mind(Template(profile))
        inquiry = Inquiry(
            purpose, People(rows), mind, situation, seed=0, temperature=0.0, model=self.spec, purpose=purpose
        )

        async def ask() -> tuple[Answers, str]:
            fingerprint = (await session.model(self.spec)).fingerprint
            return (await session.decide(inquiry)).answers, fingerprint

        return session.finish(ask())
