"""The page of a fidelity report, as blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.population import covariance_structure, distortions, response_style
from populace.evaluation.resampling import figure_text
from populace.evaluation.scores import Fidelity, calibration, population_distances
from populace.evaluation.unit_scores import mean_correlation, unit_scores
from populace.experiments.reports.blocks import Block, Facts, Figure, Heading, Prose, Table
from populace.experiments.reports.document import ReportDocument
from populace.experiments.reports.figures import IntervalRow, intervals
from populace.runs.charts import available
from populace.statistics import Estimate

if TYPE_CHECKING:
    from populace.evaluation.fidelity_report import FidelityReport

PUBLISHED = pl.DataFrame(
    {
        "measure": ["General Social Survey, normalised accuracy"] * 3
        + ["Big Five, normalised correlation"] * 3
        + ["economic games, normalised correlation"],
        "agents": ["interviews of two hours", "demographics", "personas"] * 2 + ["interviews of two hours"],
        "published": [0.85, 0.71, 0.70, 0.80, 0.55, 0.75, 0.66],
        "source": ["Park et al. (2024), 1,052 people, GPT-4o, retest after two weeks"] * 7,
    }
)
"""Published figures of other agents; their people, items and retest are others than those of a report."""

_TABLE_CAPTION = (
    "Each with its 95 % interval. The advantage is accuracy less that of the majority. Retest, normalised accuracy and "
    "the share of the gap closed are on the answers of "
    "people who were asked twice, the other figures on all answers with a prediction."
)
_FIGURES = ("accuracy", "log_loss", "brier", "majority", "advantage", "retest", "normalised", "gap_closed")


def fidelity_document(report: FidelityReport) -> ReportDocument:
    """A fidelity report as a document: HTML, Markdown and images."""
    lead: tuple[Block, ...] = (
        Heading(f"Fidelity: {report.name}", 1),
        Prose(["How similar are the answers of agents to those of the same people?"], kind="question"),
    )
    summary = (Prose(_findings(report), bullets=True),)
    return ReportDocument(f"fidelity-{report.name}", lead, summary, tuple(_body(report)))


def _findings(report: FidelityReport) -> list[str]:
    texts = []
    for result in report.results[: len(report.arms)]:
        text = f"{result.name} gets {figure_text(result.accuracy)} of the answers right; the majority of other people "
        text += f"gets {figure_text(result.majority)}."
        if result.gap_closed is not None and result.normalised is not None:
            text += f" Its normalised accuracy is {figure_text(result.normalised)}"
            closes = f", and it closes {figure_text(result.gap_closed)} of the gap between majority and retest."
            text += closes if np.isfinite(result.gap_closed.value) else f"; {result.gap_closed.warning}."
        else:
            text += " Nobody was asked twice, so there is no ceiling and no normalised accuracy."
        texts.append(text)
    floors = report.results[len(report.arms) :]
    best = max(floors, key=lambda result: result.accuracy.value, default=None)
    if best is not None:
        texts.append(f"The best simple model, {best.name}, gets {figure_text(best.accuracy)} right.")
    return texts


def _body(report: FidelityReport) -> Iterator[Block]:
    human = report.human
    repeated = int(((human.answers >= 0) & (human.retest >= 0)).sum())
    yield Heading("What was asked of whom")
    yield Facts(
        [
            ("model", report.model or "not stated"),
            ("people", f"{len(human.people)}, none of whom any floor was fitted on"),
            ("items", f"{len(human.items)}"),
            ("answers", f"{int((human.answers >= 0).sum())}, {repeated} of them with a retest"),
            ("source", human.source or "not stated"),
            ("licence", human.licence or "not stated"),
            ("intervals", report.interval_words),
        ]
    )
    yield Heading("Arms, floors and ceiling")
    if available():
        yield Figure("accuracy", intervals(_rows(report), "accuracy", name="accuracy"), "Share of answers.")
    kinds = ["agent"] * len(report.arms) + ["floor"] * len(report.floors)
    columns: dict[str, list[Any]] = {"arm": [result.name for result in report.results], "kind": list(kinds)}
    for figure in _FIGURES:
        columns[figure] = [figure_text(getattr(result, figure)) for result in report.results]
    columns["answers"] = [result.cells for result in report.results]
    columns["left_out"] = [result.left_out for result in report.results]
    yield Table(pl.DataFrame(columns), _TABLE_CAPTION)
    cautions = report.cautions()
    if cautions:
        yield Prose(cautions, bullets=True)
    yield from _units(report)
    yield from _groups(report)
    yield from _population(report)
    yield Heading("Calibration")
    for arm in report.arms:
        table = calibration(human, arm).with_columns(pl.selectors.float().round(3))
        yield Table(table, f"{arm.name}: probability of options and how often they were chosen.")
    yield Heading("Leaks")
    if report.leaks:
        rows = [(leak.kind, leak.item, leak.arm or "all", leak.where, leak.detail) for leak in report.leaks]
        names = ["kind", "item", "arm", "where", "detail"]
        yield Table(pl.DataFrame(rows, schema=names, orient="row"), "Ways in which agents may know answers.")
    else:
        yield Prose(["No leak was found or looked for; whether the weights of a model saw these answers is not known."])
    yield Heading("What the model cannot do")
    yield Prose(list(_limits(report)), bullets=True)
    yield Heading("Published figures")
    yield Table(PUBLISHED, "Other people, other items and another time between test and retest: not a comparison.")
    yield Heading("What this report does not say")
    yield Prose(
        [
            "The retest is the ceiling of what can be predicted of a person only where opinions do not change between "
            "test and retest. Where years lie between them, agents that know the earlier wave could do better. The "
            "report does not say how agents behave in other tasks than these."
        ]
    )


def _units(report: FidelityReport) -> Iterator[Block]:
    """How well single people and items are predicted."""
    yield Heading("Single people and items")
    rows = [
        {
            "arm": arm.name,
            "mae": figure_text(result.mae),
            "correlation_by_person": figure_text(mean_correlation(report.human, arm, "person")),
            "correlation_by_item": figure_text(mean_correlation(report.human, arm, "item")),
        }
        for arm, result in zip((*report.arms, *report.floors), report.results, strict=True)
    ]
    caption = (
        "The mean absolute error over ordered items, as a share of the scale; and the correlation of expected answers "
        "with those of people, over the items of each person and over the people of each item, as a mean with the "
        "interval over people or items. Items with more than two options without an order have no correlation."
    )
    yield Table(pl.DataFrame(rows), caption)
    for arm in report.arms:
        table = unit_scores(report.human, arm, "item").with_columns(pl.selectors.float().round(3))
        yield Table(table, f"{arm.name}: the scores of each item.", folded=True)


def _groups(report: FidelityReport) -> Iterator[Block]:
    if report.parities:
        yield Heading("Parity")
        for each in report.parities:
            table = each.table.with_columns(pl.selectors.float().round(3))
            caption = (
                f"{each.name} by {each.column}: accuracy less that of everybody else, with intervals that hold for all "
                f"groups together. The largest difference between two groups is {each.largest:.3f}."
            )
            yield Table(table, caption)
    if report.sensitivities:
        yield Heading("Sensitivity")
        rows = [
            (
                each.flip.column, f"{each.flip.first.label} → {each.flip.second.label}", figure_text(each.slope),
                figure_text(each.correlation), each.people[0], each.people[1],
            )
            for each in report.sensitivities
        ]  # fmt: skip
        names = ["column", "groups", "slope", "correlation", "people_first", "people_second"]
        caption = (
            "How far answers move when one column of the profile is changed, for each unit of the difference between "
            "the groups of people: 1 is as far, above 1 is a stereotype, 0 is no movement. Intervals are over items."
        )
        yield Table(pl.DataFrame(rows, schema=names, orient="row"), caption)


def _population(report: FidelityReport) -> Iterator[Block]:
    yield Heading("Populations")
    flip = report.sensitivities[0].flip if report.sensitivities else None
    rows = []
    for arm in (*report.arms, *report.floors):
        style = response_style(report.human, arm)
        row: dict[str, Any] = {"arm": arm.name}
        distances = population_distances(report.human, arm)
        for name in ("total_variation", "wasserstein"):
            row[name] = distances[name].mean()
        try:
            structure = covariance_structure(report.human, arm)
            row |= {"structure": structure.correlation, "structure_ratio": structure.ratio}
        except HumanDataError:
            row |= {"structure": None, "structure_ratio": None}
        row |= {"extreme": style.extreme_agents, "middle": style.middle_agents}
        try:
            table = distortions(report.human, arm, flip=flip)
        except HumanDataError:
            table = distortions(report.human, arm)
        row |= dict(table.select("distortion", "value").iter_rows())
        rows.append(row)
    style = response_style(report.human, report.arms[0])
    rows.append({"arm": "people", "extreme": style.extreme_human, "middle": style.middle_human})
    caption = (
        "Means over items of the distances from people; the correlation between agents' and people's "
        "correlations of answers, and the ratio of their sizes; shares of extreme and middle answers; and known "
        "distortions (none is 1 for individuation, dispersion and stereotyping, 0 for representation and ideology)."
    )
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.selectors.float().fill_nan(None).round(3))
    yield Table(frame, caption)
    for arm in report.arms:
        table = population_distances(report.human, arm).with_columns(pl.selectors.float().round(3))
        yield Table(table, f"{arm.name}: distance of all answers by item.", folded=True)


def _limits(report: FidelityReport) -> Iterator[str]:
    """What the figures show that agents cannot do, in sentences."""
    found = False
    floors = report.results[len(report.arms) :]
    for arm, result in zip(report.arms, report.results, strict=False):
        for text in _limits_of(result, floors):
            found = True
            yield f"{arm.name} {text}"
    for each in report.sensitivities:
        if each.slope.low > 1 or each.slope.high < 1:
            found = True
            how = "too far" if each.slope.low > 1 else "too little"
            yield f"Answers move {how} with {each.flip.column}: slope {figure_text(each.slope)}."
    for unequal in report.parities:
        if unequal.unequal:
            found = True
            yield f"By {unequal.column}, accuracy differs from that of everybody else: {', '.join(unequal.unequal)}."
    if not found:
        yield "None of the measures above shows a lack; others were not measured."


def _limits_of(result: Fidelity, floors: tuple[Fidelity, ...]) -> Iterator[str]:
    if result.advantage.high < 0:
        yield "predicts single people worse than the majority of others does."
    elif not result.advantage.low > 0:
        yield "is not shown to predict single people better than the majority of others does."
    better = [floor for floor in floors if floor.accuracy.value > result.accuracy.high]
    if better:
        best = max(better, key=lambda floor: floor.accuracy.value)
        yield f"gets fewer answers right than a simple model: {best.name}, {figure_text(best.accuracy)}."
    sharper = [floor for floor in floors if floor.log_loss.high < result.log_loss.low]
    if sharper:
        loss = figure_text(result.log_loss)
        yield f"gives probabilities that are worse than those of {sharper[0].name}: log-loss {loss}."


def _rows(report: FidelityReport) -> list[IntervalRow]:
    rows = [_row(result.name, result.accuracy) for result in report.results]
    whole = max(report.results, key=lambda result: result.cells)
    rows.append(_row("majority of others", whole.majority))
    return rows if whole.retest is None else [*rows, _row("retest (ceiling)", whole.retest)]


def _row(label: str, estimate: Estimate) -> IntervalRow:
    low, high = (None if np.isnan(end) else end for end in (estimate.low, estimate.high))
    return IntervalRow(label, estimate.value, low, high)
