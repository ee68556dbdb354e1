"""One recorded decision: who was asked what, the prompts, the distribution, the draw and the answer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from populace.deciders import apply_temperature
from populace.questions import VALID


@dataclass(frozen=True)
class Decision:
    """One person's answer with what is recorded behind it.

    Attributes:
        step: When.
        path: Where in the step.
        person: Who, as they were after the step.
        question: What was asked, as recorded.
        value: The answer; None where it is invalid.
        status: How it went.
        prompts: The exact prompts behind it; several where orders were averaged.
        temperature: Applied to the distribution.
        draw: The random number that chose among the options, where one did.
        purpose: What the question was counted under.
        memories: The ids of the memories that the prompt showed, in their order; None where none are recorded.
    """

    step: int
    path: str
    person: dict[str, Any]
    question: dict[str, Any]
    value: str | None
    status: str
    prompts: list[dict[str, Any]]
    temperature: float
    draw: float | None
    purpose: str = "decision"
    memories: list[int] | None = None

    @property
    def distribution(self) -> dict[str, float] | None:
        """The probability of every option, before temperature."""
        rows = [row["probabilities"] for row in self.prompts if row["probabilities"]]
        if not rows:
            return None
        return dict(zip(map(str, self.question["values"]), np.mean(rows, axis=0).tolist(), strict=True))

    @property
    def draw_distribution(self) -> dict[str, float] | None:
        """The probability of every option after temperature: what the answer was drawn from."""
        before = self.distribution
        if before is None:
            return None
        after = apply_temperature(np.array([list(before.values())]), self.temperature)[0]
        return dict(zip(before, after.tolist(), strict=True))

    @property
    def draw_intervals(self) -> list[tuple[str, float, float]]:
        """For each option, from where to where on the line from 0 to 1 a draw falls on it."""
        intervals: list[tuple[str, float, float]] = []
        low = 0.0
        for option, share in (self.draw_distribution or {}).items():
            intervals.append((option, low, low + share))
            low += share
        return intervals

    @property
    def distribution_table(self) -> pl.DataFrame:
        """For each option its probability before and after temperature; empty where there is no distribution."""
        before, after = self.distribution or {}, self.draw_distribution or {}
        schema = {"option": pl.String, "before": pl.Float64, "after": pl.Float64}
        return pl.DataFrame(
            {"option": list(before), "before": list(before.values()), "after": list(after.values())}, schema=schema
        )

    @property
    def has_draw(self) -> bool:
        """Whether the answer is valid and was drawn from a distribution."""
        return self.distribution is not None and self.status in VALID

    @property
    def answer_text(self) -> str:
        """The answer, or the status where it is invalid."""
        return self.status if self.value is None else self.value
