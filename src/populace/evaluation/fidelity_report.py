"""The fidelity report: arms, floors and ceiling on one page, and the same figures as a small file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.human_answers import HumanAnswers
from populace.evaluation.predictions import Predictions
from populace.evaluation.resampling import Clusters
from populace.evaluation.scores import Fidelity, calibration, fidelity, population_distances
from populace.experiments.reports.blocks import Block, Facts, Figure, Heading, Prose, Table
from populace.experiments.reports.document import ReportDocument
from populace.experiments.reports.figures import IntervalRow, intervals
from populace.journal.segments import writing
from populace.runs.charts import available
from populace.statistics import Estimate

PUBLISHED = pl.DataFrame(
    {
        "agents": ["interviews of two hours", "demographics", "personas"],
        "normalised_accuracy": [0.85, 0.71, 0.70],
        "source": ["Park et al. (2024), General Social Survey, retest after two weeks"] * 3,
    }
)
"""Published figures of other agents; their people, items and retest are others than those of a report."""

_TABLE_CAPTION = (
    "Each with its 95 % interval. Retest, normalised accuracy and the share of the gap closed are on the answers of "
    "people who were asked twice, the other figures on all answers with a prediction."
)
_FIGURES = ("accuracy", "log_loss", "brier", "majority", "retest", "normalised", "gap_closed")


@dataclass(frozen=True)
class FidelityReport:
    """How like people the answers of agents are.

    Attributes:
        name: Its name.
        human: The people and what they answered.
        arms: The agents, and what they answer in place of people.
        floors: Simple models on the same information.
        results: The figures of each arm and floor, in their order.
        clusters: What the intervals are about.
    """

    name: str
    human: HumanAnswers
    arms: tuple[Predictions, ...]
    floors: tuple[Predictions, ...]
    results: tuple[Fidelity, ...]
    clusters: Clusters

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
            seed: The seed of the bootstrap.
        """
        names = [each.name for each in (*arms, *floors)]
        if not arms:
            raise HumanDataError("there are no predictions to evaluate.")
        twice = next((each for each in names if names.count(each) > 1), None)
        if twice is not None:
            raise HumanDataError(f"two arms have the name {twice!r}.", "Rename one of the files.")
        results = tuple(fidelity(human, each, others, clusters=clusters, seed=seed) for each in (*arms, *floors))
        return cls(name, human, tuple(arms), tuple(floors), results, clusters)

    def figures(self) -> dict[str, Any]:
        """The figures as plain data, for a file that other reports quote."""
        return {
            "name": self.name,
            "people": len(self.human.people),
            "items": [item.id for item in self.human.items],
            "answers": int((self.human.answers >= 0).sum()),
            "retests": int(((self.human.answers >= 0) & (self.human.retest >= 0)).sum()),
            "source": self.human.source,
            "licence": self.human.licence,
            "intervals": f"95 %, bootstrap over {'people and items' if self.clusters == 'both' else self.clusters}",
            "arms": {
                result.name: {
                    "kind": "floor" if place >= len(self.arms) else "agent",
                    "cells": result.cells,
                    "left_out": result.left_out,
                    **{figure: _numbers(getattr(result, figure)) for figure in _FIGURES},
                }
                for place, result in enumerate(self.results)
            },
        }

    def table(self) -> pl.DataFrame:
        """A row for each arm and floor, with the figures that matter most."""
        figures = ("accuracy", "majority", "retest", "normalised", "gap_closed")
        columns = {figure: [_text(getattr(result, figure)) for result in self.results] for figure in figures}
        return pl.DataFrame({"arm": [result.name for result in self.results], **columns})

    def document(self) -> ReportDocument:
        """The report as a page and as Markdown."""
        lead: tuple[Block, ...] = (
            Heading(f"Fidelity: {self.name}", 1),
            Prose(["How similar are the answers of agents to those of the same people?"], kind="question"),
        )
        return ReportDocument(
            f"fidelity-{self.name}", lead, (Prose(self._findings(), bullets=True),), tuple(self._body())
        )

    def write(self, to: str | Path) -> list[Path]:
        """Write page, Markdown, images and the file of figures into a folder; returns the files, the page first."""
        document = self.document()
        files = document.write(to)
        path = Path(to) / f"{document.stem}.json"
        with writing(path):
            path.write_text(json.dumps(self.figures(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return [*files, path]

    def _findings(self) -> list[str]:
        texts = []
        for result in self.results[: len(self.arms)]:
            text = f"{result.name} gets {_text(result.accuracy)} of the answers right; the majority of other people "
            text += f"gets {_text(result.majority)}."
            if result.gap_closed is not None and result.normalised is not None:
                text += f" Its normalised accuracy is {_text(result.normalised)}, and it closes "
                text += f"{_text(result.gap_closed)} of the gap between majority and retest."
            else:
                text += " Nobody was asked twice, so there is no ceiling and no normalised accuracy."
            texts.append(text)
        return texts

    def _body(self) -> Iterator[Block]:
        human = self.human
        yield Heading("What was asked of whom")
        yield Facts(
            [
                ("people", f"{len(human.people)}, none of whom any floor was fitted on"),
                ("items", f"{len(human.items)}"),
                ("answers", f"{int((human.answers >= 0).sum())}"),
                ("source", human.source or "not stated"),
                ("licence", human.licence or "not stated"),
                ("intervals", str(self.figures()["intervals"])),
            ]
        )
        yield Heading("Arms, floors and ceiling")
        if available():
            yield Figure("accuracy", intervals(self._rows(), "accuracy", name="accuracy"), "Share of answers.")
        kinds = ["agent"] * len(self.arms) + ["floor"] * len(self.floors)
        columns: dict[str, list[Any]] = {"arm": [result.name for result in self.results], "kind": list(kinds)}
        for figure in _FIGURES:
            columns[figure] = [_text(getattr(result, figure)) for result in self.results]
        columns["answers"] = [result.cells for result in self.results]
        columns["left_out"] = [result.left_out for result in self.results]
        yield Table(pl.DataFrame(columns), _TABLE_CAPTION)
        yield Heading("Calibration")
        for arm in self.arms:
            yield Table(calibration(human, arm), f"{arm.name}: probability of options and how often they were chosen.")
        yield Heading("Populations")
        for arm in self.arms:
            yield Table(population_distances(human, arm), f"{arm.name}: distance of all answers by item.", folded=True)
        yield Heading("Published figures")
        yield Table(PUBLISHED, "Other people, other items and another time between test and retest: not a comparison.")
        yield Heading("What this report does not say")
        yield Prose(
            [
                "It does not check whether a model has seen these answers, how far answers move when a profile "
                "changes, or whether some groups are predicted worse than others."
            ]
        )

    def _rows(self) -> list[IntervalRow]:
        rows = [_row(result.name, result.accuracy) for result in self.results]
        whole = max(self.results, key=lambda result: result.cells)
        rows.append(_row("majority of others", whole.majority))
        return rows if whole.retest is None else [*rows, _row("retest (ceiling)", whole.retest)]


def _row(label: str, estimate: Estimate) -> IntervalRow:
    low, high = (None if np.isnan(end) else end for end in (estimate.low, estimate.high))
    return IntervalRow(label, estimate.value, low, high)


def _text(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _numbers(estimate: Estimate | None) -> dict[str, float | None] | None:
    if estimate is None:
        return None
    ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: float(value) if np.isfinite(value) else None for name, value in ends.items()}
