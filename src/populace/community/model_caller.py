"""One question about many things, put to a model in one batch, outside any run."""

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
    """How a model is asked.

    Attributes:
        model: Who answers.
        budget: What may be spent.
        concurrency: How many calls may be under way at once.
        timeout_s: How long one attempt of a call may take.
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
        """Ask the question about every row, at temperature 0, so that the likeliest answer is the answer.

        Args:
            rows: What is asked about, with the fields that the texts name.
            question: What is asked.
            profile: Who the model is told to be.
            given: What it is told before the question.
            store: Where its replies are kept; closed at the end.
            purpose: What the calls are counted under.
            constants: Fields that are the same in every row.

        Returns:
            The answers, aligned with the rows, and the fingerprint of the model.
        """
        named = functools.partial(open_model, concurrency=self.concurrency, timeout_s=self.timeout_s)
        opened = {self.spec: self.model} if isinstance(self.model, Model) else {}
        broker = Broker(store, budget=self.budget, opener=lambda name: opened.get(name) or named(name))
        situation = Situation(question, Template(given), constants or {}, {})
        mind = Mind(Template(profile))
        inquiry = Inquiry(
            purpose, People(rows), mind, situation, seed=0, temperature=0.0, model=self.spec, purpose=purpose
        )

        async def hold() -> tuple[Answers, str]:
            try:
                fingerprint = (await broker.model(self.spec)).fingerprint
                return (await decide(inquiry, broker)).answers, fingerprint
            finally:
                await broker.close()

        return finish(hold())
