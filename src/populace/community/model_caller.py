"""Put one question about many rows to a model, in one batch and outside any run."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.base.templates import Template
from populace.broker import Broker, Budget, CallStore
from populace.deciders import decide
from populace.engine.event_loop import finish
from populace.minds import Mind
from populace.models import Model, open_model
from populace.people import People
from populace.prompting import Inquiry, Situation
from populace.questions import Answers, Question


@dataclass(frozen=True)
class ModelCaller:
    """A model, and the limits under which it is called.

    Attributes:
        model: The model, or its name.
        budget: The most that may be spent; no limit without one.
        concurrency: How many calls may run at the same time.
        timeout_s: The time limit of one attempt of a call.
    """

    model: str | Model
    budget: Budget | None = None
    concurrency: int = 16
    timeout_s: float = 120.0

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
        open_by_name = functools.partial(open_model, concurrency=self.concurrency, timeout_s=self.timeout_s)
        opener = open_by_name if isinstance(self.model, str) else {self.spec: self.model}.__getitem__
        broker = Broker(store, budget=self.budget, opener=opener)
        situation = Situation(question, Template(given), constants or {}, {})
        mind = Mind(Template(profile))
        inquiry = Inquiry(
            purpose, People(rows), mind, situation, seed=0, temperature=0.0, model=self.spec, purpose=purpose
        )

        async def answer() -> tuple[Answers, str]:
            try:
                fingerprint = (await broker.model(self.spec)).fingerprint
                return (await decide(inquiry, broker)).answers, fingerprint
            finally:
                await broker.close()

        return finish(answer())
