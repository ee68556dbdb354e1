"""The report on next actions: predictors side by side, with floors, ceiling, controls and intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import HumanDataError, UnknownNameError
from populace.evaluation.next_action.cases import NextActionCases
from populace.evaluation.next_action.predictions import NextActionPredictions
from populace.evaluation.next_action.scores import (
    NextActionScores,
    accuracy_difference,
    category_shares,
    score_next_actions,
)
from populace.experiments.reports.blocks import Block, Facts, Figure, Heading, Prose, Table
from populace.experiments.reports.document import ReportDocument
from populace.experiments.reports.figures import IntervalRow, intervals
from populace.runs.charts import available
from populace.statistics import Estimate

PUBLISHED = pl.DataFrame(
    {
        "predictor": ["DeepSeek-R1, prompted", "Qwen2.5-7B, fine-tuned", "Llama-3.2-3B, fine-tuned"],
        "accuracy": [0.1186, 0.1726, None],
        "outcome_f1": [0.2001, 0.3386, 0.3399],
        "source": ["Lu et al. (2025), arXiv 2503.20749"] * 3,
    }
)
"""Published figures; their sessions are of a real shop with far larger pages, so that they are no comparison."""


@dataclass(frozen=True)
class NextActionReport:
    """How well the next actions of people are predicted, by several predictors on the same cases.

    Attributes:
        name: Its name.
        cases: The cases.
        predictions: What each predictor predicts.
        scores: The scores of each, in their order.
        differences: Differences of accuracy between two predictors.
    """

    name: str
    cases: NextActionCases
    predictions: tuple[NextActionPredictions, ...]
    scores: tuple[NextActionScores, ...]
    differences: tuple[tuple[tuple[str, str], Estimate], ...]

    @classmethod
    def of(
        cls,
        name: str,
        cases: NextActionCases,
        predictions: Sequence[NextActionPredictions],
        *,
        compare: Sequence[tuple[str, str]] = (),
        seed: int = 0,
    ) -> NextActionReport:
        """Score predictors on the same cases.

        Args:
            name: The name of the report.
            cases: The cases.
            predictions: What each predicts; each needs a name of its own.
            compare: Pairs of names whose difference of accuracy is reported.
            seed: The seed of the bootstrap.
        """
        by_name = {each.name: each for each in predictions}
        if not predictions or len(by_name) < len(predictions):
            raise HumanDataError(f"{len(predictions)} predictors need names of their own, and there must be one.")
        for missing in [one for pair in compare for one in pair if one not in by_name]:
            raise UnknownNameError("predictor", missing, by_name)
        scores = tuple(score_next_actions(cases, each, seed=seed) for each in predictions)
        differences = tuple(
            ((first, second), accuracy_difference(cases, by_name[first], by_name[second], seed=seed))
            for first, second in compare
        )
        return cls(name, cases, tuple(predictions), scores, differences)

    def table(self) -> pl.DataFrame:
        """A row for each predictor."""
        rows = []
        for scores in self.scores:
            row: dict[str, Any] = {"predictor": scores.name, "accuracy": _text(scores.accuracy)}
            row |= {kind: _text(value) for kind, value in scores.by_action.items()}
            row |= {f"F1 {name}": _text(value) for name, value in scores.outcome_f1.items()}
            row |= {"macro F1": _text(scores.macro_f1), "type log-loss": _text(scores.type_log_loss)}
            row |= {"distance": _text(scores.distance), "length": _text(scores.length)}
            rows.append(row | {"people's length": _text(scores.human_length), "invalid": scores.invalid})
        return pl.DataFrame(rows)

    def figures(self) -> dict[str, Any]:
        """The figures as plain data, for a file that other reports quote."""
        return {
            "name": self.name,
            "cases": len(self.cases),
            "people": self.cases.table["person"].n_unique(),
            "sessions": self.cases.table["session"].n_unique(),
            "left_out": self.cases.left_out,
            "intervals": "95 %, bootstrap over people",
            "predictors": {
                scores.name: {
                    "invalid": scores.invalid,
                    **{row["figure"]: _numbers(row) for row in scores.table().iter_rows(named=True)},
                }
                for scores in self.scores
            },
            "differences": {
                f"{first} - {second}": _numbers({"value": value.value, "low": value.low, "high": value.high})
                for (first, second), value in self.differences
            },
        }

    def document(self) -> ReportDocument:
        """The report as a page and as Markdown."""
        lead: tuple[Block, ...] = (
            Heading(f"Next actions: {self.name}", 1),
            Prose(["How often is the next action of a person in a web session predicted exactly?"], kind="question"),
        )
        findings = [
            f"{scores.name} predicts {_text(scores.accuracy)} of the actions exactly; {scores.invalid} of "
            f"{scores.cases} predictions are invalid and count as wrong."
            for scores in self.scores
        ]
        findings += [
            f"{first} against {second}: {_text(value)} more of the actions."
            for (first, second), value in self.differences
        ]
        return ReportDocument(f"next-action-{self.name}", lead, (Prose(findings, bullets=True),), tuple(self._body()))

    def write(self, to: str | Path) -> list[Path]:
        """Write page, Markdown, images and the file of figures into a folder; returns the files, the page first."""
        return self.document().write(to, self.figures())

    def _body(self) -> Iterator[Block]:
        figures = self.figures()
        yield Heading("What is predicted")
        yield Facts(
            [
                ("cases", f"{len(self.cases)}: every action of a session but the first"),
                ("sessions", f"{figures['sessions']} of {figures['people']} people"),
                ("left out", f"{self.cases.left_out} actions on pages with too many elements to choose from"),
                ("intervals", figures["intervals"]),
            ]
        )
        yield Heading("Predictors")
        if available():
            rows = [_row(scores.name, scores.accuracy) for scores in self.scores]
            yield Figure("accuracy", intervals(rows, "accuracy", name="accuracy"), "Share of actions.")
        yield Table(self.table(), _CAPTION)
        yield Heading("Categories of actions")
        shares = category_shares(self.cases, *self.predictions)
        yield Table(
            shares.with_columns(pl.exclude("category").round(3)),
            "The share of each category: of the people, and of one draw of each predictor in every case.",
        )
        if self.differences:
            yield Heading("Differences of accuracy")
            names = [f"{first} − {second}" for (first, second), _ in self.differences]
            values = [_text(value) for _, value in self.differences]
            yield Table(pl.DataFrame({"comparison": names, "difference": values}), "Over the same sessions.")
        yield Heading("Published figures")
        yield Table(PUBLISHED, "Another shop, other pages and other people: not a comparison.")
        yield Heading("What this report does not say")
        yield Prose(
            [
                "Exact match asks for the one action that a person took where several were plausible; compare with the "
                "ceiling where it is known, and never with 1. Generated sessions show whether a model can learn what "
                "was planted in them. They say nothing about people."
            ]
        )


_CAPTION = (
    "Each with its 95 % interval over people. Accuracy is the mean over sessions of the share of exact matches in "
    "each; the columns of actions are shares of all such actions. F1 is over the last actions of sessions. The "
    "distance is the total variation between the categories of actions of people and of one draw in each case. The "
    "length is the one that these draws imply."
)


def _row(label: str, estimate: Estimate) -> IntervalRow:
    low, high = (None if np.isnan(end) else end for end in (estimate.low, estimate.high))
    return IntervalRow(label, estimate.value, low, high)


def _text(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _numbers(row: dict[str, Any]) -> dict[str, float | None]:
    return {name: float(row[name]) if np.isfinite(row[name]) else None for name in ("value", "low", "high")}
