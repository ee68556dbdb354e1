"""The fidelity report: arms, floors and ceiling on one page, and the same figures as a small file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.fidelity_document import fidelity_document
from populace.evaluation.human_answers import HumanAnswers
from populace.evaluation.leakage import Leak
from populace.evaluation.parity import Parity, parity
from populace.evaluation.predictions import Predictions
from populace.evaluation.resampling import Clusters, figure_text
from populace.evaluation.scores import Fidelity, fidelity
from populace.evaluation.sensitivity import GroupSensitivity
from populace.experiments.reports.document import ReportDocument
from populace.statistics import Estimate

FIGURES = ("accuracy", "log_loss", "brier", "mae", "majority", "advantage", "retest", "normalised", "gap_closed")


@dataclass(frozen=True)
class FidelityReport:
    """How like people the answers of agents are.

    Attributes:
        name: Its name.
        human: The people and what they answered.
        arms: The agents, and what they answer in place of people; the one that knows most comes last.
        floors: Simple models on the same information.
        results: The figures of each arm and floor, in their order.
        clusters: What the intervals are about.
        model: The model that answered in place of people.
        subject: What the items are about, in a word such as `attitudes`.
        parities: How well groups of people are predicted by the last arm.
        sensitivities: How far answers move between groups.
        leaks: Ways in which agents may know answers.
    """

    name: str
    human: HumanAnswers
    arms: tuple[Predictions, ...]
    floors: tuple[Predictions, ...]
    results: tuple[Fidelity, ...]
    clusters: Clusters
    model: str = ""
    subject: str = "these items"
    parities: tuple[Parity, ...] = ()
    sensitivities: tuple[GroupSensitivity, ...] = ()
    leaks: tuple[Leak, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        human: HumanAnswers,
        others: HumanAnswers,
        arms: Sequence[Predictions],
        *,
        floors: Sequence[Predictions] = (),
        clusters: Clusters = "people",
        model: str = "",
        subject: str = "these items",
        by: Sequence[str] = (),
        sensitivities: Sequence[GroupSensitivity] = (),
        leaks: Sequence[Leak] = (),
        seed: int = 0,
    ) -> FidelityReport:
        """Score arms and floors against held-out people.

        Args:
            name: The name of the report.
            human: The held-out people.
            others: Other people, from whom the majority is taken.
            arms: What agents answer.
            floors: What simple models answer.
            clusters: Whether intervals are about other people, other items, or both.
            model: The model that answered.
            subject: What the items are about, in a word.
            by: Columns of the profiles whose groups are compared.
            sensitivities: How far answers move between groups.
            leaks: Ways in which agents may know answers.
            seed: The seed of the bootstrap.
        """
        names = [each.name for each in (*arms, *floors)]
        if not arms:
            raise HumanDataError("there are no predictions to evaluate.")
        twice = next((each for each in names if names.count(each) > 1), None)
        if twice is not None:
            raise HumanDataError(f"two arms have the name {twice!r}.", "Rename one of the files.")
        results = tuple(fidelity(human, each, others, clusters=clusters, seed=seed) for each in (*arms, *floors))
        parities = tuple(parity(human, arms[-1], column) for column in by)
        return cls(
            name, human, tuple(arms), tuple(floors), results, clusters, model, subject, parities, tuple(sensitivities),
            tuple(leaks),
        )  # fmt: skip

    @property
    def headline(self) -> str:
        """What the agents who know most reach, in a sentence that other reports quote; empty where nothing is known.

        Where people are not known to agree with themselves more than the majority does, there is no gap to close.
        """
        result = self.results[len(self.arms) - 1]
        gap = result.gap_closed
        if gap is None or not np.isfinite(gap.value):
            accuracy, majority = result.accuracy.value, result.majority.value
            if not np.isfinite([accuracy, majority]).all():
                return ""
            return f"is right in {accuracy:.0%} of the answers on {self.subject}, the majority in {majority:.0%}"
        interval = f" [{gap.low:.0%}, {gap.high:.0%}]" if np.isfinite([gap.low, gap.high]).all() else ""
        return f"closes {gap.value:.0%}{interval} of the gap between majority and retest on {self.subject}"

    @property
    def interval_words(self) -> str:
        """What the intervals are about."""
        return f"95 %, bootstrap over {'people and items' if self.clusters == 'both' else self.clusters}"

    def figures(self) -> dict[str, Any]:
        """The figures as plain data, for a file that other reports quote."""
        return {
            "name": self.name,
            "model": self.model,
            "subject": self.subject,
            "headline": self.headline,
            "people": len(self.human.people),
            "items": [item.id for item in self.human.items],
            "answers": int((self.human.answers >= 0).sum()),
            "retests": int(((self.human.answers >= 0) & (self.human.retest >= 0)).sum()),
            "source": self.human.source,
            "licence": self.human.licence,
            "intervals": self.interval_words,
            "arms": {
                result.name: {
                    "kind": "floor" if place >= len(self.arms) else "agent",
                    "cells": result.cells,
                    "left_out": result.left_out,
                    **{figure: _numbers(getattr(result, figure)) for figure in FIGURES},
                }
                for place, result in enumerate(self.results)
            },
            "sensitivity": [
                {
                    "column": each.flip.column,
                    "groups": [each.flip.first.label, each.flip.second.label],
                    "slope": _numbers(each.slope),
                    "correlation": _numbers(each.correlation),
                }
                for each in self.sensitivities
            ],
            "parity": [
                {"column": each.column, "largest": _finite(each.largest), "unequal": each.unequal}
                for each in self.parities
            ],
            "leaks": [str(leak) for leak in self.leaks],
        }

    def cautions(self) -> list[str]:
        """Where intervals may be worse than they say, in sentences: each with the figures that it is about."""
        about: dict[str, list[str]] = {}
        for result in self.results:
            for figure in FIGURES:
                estimate = getattr(result, figure)
                if estimate is not None and estimate.warning:
                    about.setdefault(estimate.warning, []).append(f"{figure} of {result.name}")
        return [f"{warning[0].upper()}{warning[1:]} ({_some(names)})." for warning, names in about.items()]

    def table(self) -> pl.DataFrame:
        """A row for each arm and floor, with the figures that matter most."""
        figures = ("accuracy", "majority", "retest", "normalised", "gap_closed")
        columns = {figure: [figure_text(getattr(result, figure)) for result in self.results] for figure in figures}
        return pl.DataFrame({"arm": [result.name for result in self.results], **columns})

    def document(self) -> ReportDocument:
        """The report as a page and as Markdown."""
        return fidelity_document(self)

    def write(self, to: str | Path) -> list[Path]:
        """Write page, Markdown, images and the file of figures into a folder; returns the files, the page first."""
        return self.document().write(to, self.figures())


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _numbers(estimate: Estimate | None) -> dict[str, float | None] | None:
    if estimate is None:
        return None
    return {name: _finite(getattr(estimate, name)) for name in ("value", "low", "high")}


def _finite(value: float) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None
