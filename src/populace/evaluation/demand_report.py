"""The report of a demand study: curves in every design, whether they fall, and how far they lie from people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import HumanDataError
from populace.base.formatting import plural
from populace.causal.monotonicity import Monotonicity, monotonicity, monotonicity_table
from populace.causal.responses import Array, Responses, mostly_invalid
from populace.causal.results import KINDS, CausalResults
from populace.evaluation.curve_distances import HALVES, HumanDistance, curve_distances, distance_table
from populace.evaluation.human_curves import HumanCurve
from populace.experiments.reports.blocks import Block, Facts, Figure, Heading, Prose, Table
from populace.experiments.reports.causal_report import causal_report
from populace.experiments.reports.document import ReportDocument
from populace.experiments.reports.figures import IntervalRow, intervals, paths
from populace.runs.charts import available
from populace.scenarios.demand.products import elasticity_of, elasticity_source
from populace.statistics.intervals import wilson

_DISTANCE_CAPTION = (
    "Mean absolute difference of the shares of purchases over all levels and items, to random halves of the people "
    "(400 of them); low and high hold 95 % of the halves. The excess is the distance beyond that of the other half. A "
    "baseline is fitted on the other half; a simulation has seen neither."
)


@dataclass(frozen=True)
class DemandReport:
    """A demand study beside people.

    Attributes:
        results: The study in all designs.
        human: What people did at the same levels; None where there are no human data.
        distances: How far simulations, the other half of the people and baselines lie from people.
        shapes: Whether each curve falls.
        notes: What the lint found, in sentences.
        not_compared: Designs that are not compared with people, with the reason.

    Example:
        >>> from populace.causal import ask_causal_study
        >>> from populace.scenarios.demand import demand_study
        >>> from populace.scenarios.demand.products import read_products
        >>> from populace.scenarios.demand.study import default_shoppers
        >>> study = demand_study(read_products().head(2), default_shoppers(4))
        >>> results = ask_causal_study(study, designs=("blind",), model="scripted:cast", diagnostics=False,
        ...                            keep="nothing")
        >>> DemandReport.of(results).shapes[0].verdict
        'falls throughout'
    """

    results: CausalResults
    human: HumanCurve | None
    distances: tuple[HumanDistance, ...]
    shapes: tuple[Monotonicity, ...]
    notes: tuple[str, ...] = ()
    not_compared: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, results: CausalResults, human: HumanCurve | None = None, *, notes: Sequence[str] = (), seed: int = 0
    ) -> DemandReport:
        """Compare the curves of a study with people.

        Args:
            results: The study in all designs.
            human: What people did at the same levels.
            notes: What the lint found, in sentences.
            seed: The seed of the random halves.

        Raises:
            HumanDataError: If the levels of the human table are not those of the study.
        """
        measured = {n: r for n, r in results.responses.items() if not np.isnan(r.y).all(axis=(0, 1)).any()}
        measured = {n: r for n, r in measured.items() if not mostly_invalid(r.y)}
        shapes = tuple(monotonicity(measured[name]) for name in results.estimates if name in measured)
        if human is None:
            return cls(results, None, (), shapes, tuple(notes))
        curves: dict[str, Array] = {}
        not_compared: dict[str, str] = {}
        for name in results.estimates:
            table = item_shares(results.responses[name])
            shares = human.shares_of(table)
            invalid = np.isnan(results.responses[name].y)
            if mostly_invalid(results.responses[name].y):
                not_compared[name] = f"{int(invalid.sum()):,} of {invalid.size:,} answers invalid"
            elif np.isnan(shares).any():
                empty = int(np.isnan(shares).sum())
                not_compared[name] = f"{plural(empty, 'level')} of {len(shares)} without a valid answer"
            else:
                curves[name] = shares
        categories = {str(item): str(category) for item, category in _categories(results)}
        distances = curve_distances(human, curves, categories=categories, seed=seed)
        return cls(results, human, tuple(distances), shapes, tuple(notes), not_compared)

    def findings(self) -> list[str]:
        """The results in sentences; *uninformative* comes first where demand does not fall."""
        texts = self.results.findings()
        uninformative = texts[:1] if not self.results.informative else []
        rest = texts[len(uninformative) :]
        return uninformative + self._human_findings() + [self._shape_text(shape) for shape in self.shapes] + rest

    def figures(self) -> dict[str, Any]:
        """The results as plain data."""
        human = None
        if self.human is not None:
            human = {
                "source": self.human.source,
                "people": self.human.people,
                "cells": self.human.cells.to_dicts(),
                "distances": distance_table(list(self.distances)).to_dicts(),
                "not_compared": dict(self.not_compared),
            }
        shapes = {each.design: each.__dict__ | {"verdict": each.verdict} for each in self.shapes}
        shares = {str(name): item_shares(each).to_dicts() for name, each in self.results.responses.items()}
        return self.results.figures() | {"shapes": shapes, "shares": _plain(shares), "human": human}

    def document(self) -> ReportDocument:
        """The report as a page and as Markdown."""
        base = causal_report(self.results, self.notes)
        title = self.results.study.title
        body = (*self._shape_blocks(), *self._human_blocks(), *base.body)
        return replace(base, name=f"demand-{title}", summary=(Prose(self.findings(), bullets=True),), body=body)

    def write(self, to: str | Path) -> list[Path]:
        """Write page, Markdown, images and a file of figures into a folder; returns the files, the page first."""
        return self.document().write(to, self.figures())

    def _human_findings(self) -> list[str]:
        texts = [f"{name}: not compared with people ({why})." for name, why in self.not_compared.items()]
        people = next((each for each in self.distances if each.name == HALVES), None)
        if people is None:
            return texts
        for each in self.distances:
            if each.name not in self.results.responses:
                continue
            words = "beyond" if each.beyond_people else "not certainly beyond"
            better = [d.name for d in self.distances if d.name not in (*self.results.responses, HALVES)]
            nearer = [n for n in better if self._value(n) < each.value]
            text = f"{each.name}: {each.value:.3f} [{each.low:.3f}, {each.high:.3f}] from people, {words} the distance "
            text += f"between two halves of the people, {people.value:.3f} [{people.low:.3f}, {people.high:.3f}]."
            texts.append(text + (f" Nearer to people: {', '.join(nearer)}." if nearer else " No baseline is nearer."))
        return texts

    def _value(self, name: str) -> float:
        return next(each.value for each in self.distances if each.name == name)

    def _shape_text(self, shape: Monotonicity) -> str:
        text = f"{shape.design}: the curve falls at {shape.falling_steps} of {plural(shape.steps, 'step')}"
        if shape.certain_rises:
            text += f" and rises beyond chance at {shape.certain_rises}"
        return f"{text}. Items whose own curve falls: {shape.falling_items} of {shape.items}."

    def _shape_blocks(self) -> Iterator[Block]:
        yield Heading("Does demand fall?")
        if self.shapes:
            caption = "Steps from each price to the next; a certain rise lies beyond a 95 % interval (Bonferroni)."
            yield Table(monotonicity_table(list(self.shapes)), caption)

    def _human_blocks(self) -> Iterator[Block]:
        human = self.human
        if human is None:
            return
        yield Heading("Beside people")
        categories = sorted({str(category) for _, category in _categories(self.results)} or {""})
        yield Facts(
            [
                ("human data", human.source or "a table"),
                ("people", f"{human.people:,}"),
                ("levels", f"{human.cells.height} over {plural(len(human.items), 'item')}"),
                *(
                    (f"elasticity of {c or 'all goods'}", f"{elasticity_of(c)}: {elasticity_source(c)}")
                    for c in categories
                ),
            ]
        )
        if available():
            yield Figure(
                "people", paths(self._lines(), "share who buy", name="people", along=_ALONG), "Means of items."
            )
            rows = [IntervalRow(each.name, each.value, each.low, each.high) for each in self.distances]
            yield Figure("distances", intervals(rows, "distance to people", name="distances"), "Distances to people.")
        rounded = distance_table(list(self.distances)).with_columns(pl.col(pl.Float64).round(3))
        yield Table(rounded, _DISTANCE_CAPTION)
        yield Table(self._cells(), "Shares of purchases at each level.", folded=True)

    def _cells(self) -> pl.DataFrame:
        assert self.human is not None
        columns = {n: self.human.shares_of(item_shares(r)).round(3) for n, r in self.results.responses.items()}
        return self.human.cells.with_columns(
            pl.col("share").round(3).alias("people"), *(pl.Series(name, values) for name, values in columns.items())
        ).drop("share")

    def _lines(self) -> dict[str, pl.DataFrame]:
        """The curves of people and designs over the place of each level among those of its item."""
        assert self.human is not None
        place = pl.col("level").rank("ordinal").over("item").cast(pl.Int64)
        cells = self.human.cells.with_columns(place.alias("step"), pl.col("share").alias("mean"))
        people = cells.group_by("step").agg(pl.col("n").sum(), (pl.col("mean") * pl.col("n")).sum() / pl.col("n").sum())
        ends = [wilson(share, n) for share, n in people.select("mean", "n").rows()]
        people = people.with_columns(low=pl.Series([e[0] for e in ends]), high=pl.Series([e[1] for e in ends]))
        lines = {"people": people.sort("step")}
        for name, responses in self.results.responses.items():
            if name in self.not_compared:
                continue
            shares = pl.Series("mean", self.human.shares_of(item_shares(responses)))
            mean = cells.select("step", shares).group_by("step").agg(pl.col("mean").mean()).sort("step")
            lines[f"{name} ({KINDS[name]})"] = mean.with_columns(
                pl.lit(None, dtype=pl.Float64).alias("low"), pl.lit(None, dtype=pl.Float64).alias("high")
            )
        return lines


_ALONG = "price, from the lowest of each item"


def item_shares(responses: Responses) -> pl.DataFrame:
    """The share of purchases of each item at each level, with the level as it stands in the prompt."""
    study = responses.study
    items = study.item_table
    present = ~np.isnan(responses.y)
    sums, counts = np.where(present, responses.y, 0.0).sum(axis=0), present.sum(axis=0)
    shares = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    if not study.treatment.numeric:
        raise HumanDataError("the levels of the study are words.", "A demand curve needs numbers.")
    tables = [
        items.select("item").with_columns(
            study.treatment.value_at(level, items).cast(pl.Float64).alias("level"),
            pl.Series("share", shares[:, level]),
            pl.Series("n", counts[:, level]),
        )
        for level in range(len(study.treatment.values))
    ]
    return pl.concat(tables).sort("item", "level")


def _categories(results: CausalResults) -> list[tuple[Any, Any]]:
    items = results.study.item_table
    return items.select("item", "category").rows() if "category" in items.columns else []


def _plain(shares: Mapping[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Tables whose missing shares are null, which JSON can hold."""
    return {
        name: [row | {"share": None if np.isnan(row["share"]) else row["share"]} for row in rows]
        for name, rows in shares.items()
    }
