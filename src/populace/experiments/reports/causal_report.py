"""The report of a causal study: curves with bands, a table of designs, and what the diagnostics found."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from populace.causal.diagnostics import Drift, drift_table
from populace.causal.results import KINDS, CausalResults, estimate_text
from populace.experiments.reports.blocks import Block, Code, Facts, Figure, Heading, Prose, Table
from populace.experiments.reports.document import ReportDocument
from populace.experiments.reports.figures import IntervalRow, intervals, paths
from populace.runs.charts import available

_DESIGNS_CAPTION = (
    "Slopes in log-odds with 95 % intervals clustered by person and by item. A forecast is asked for the result of the "
    "experiment; the others simulate its participants."
)
_DRIFT_CAPTION = (
    "Asked in prompts that state the treatment and nothing else. Constant: within ± 0.1 standard deviations between "
    "the lowest and the highest level (TOST, Holm over covariates). The bias is this change × the effect."
)


def causal_report(results: CausalResults, notes: Sequence[str] = ()) -> ReportDocument:
    """The report of a causal study, as a page and as Markdown.

    Args:
        results: The results.
        notes: What the lint found, in sentences.
    """
    study = results.study
    lead = (Heading(study.title, 1), Prose([f"What is estimated: {study.estimand}."], kind="question"))
    summary = (Prose(results.findings(), bullets=True),)
    return ReportDocument(f"causal-{study.title}", lead, summary, tuple(_body(results, notes)))


def write_causal_report(results: CausalResults, to: str | Path, notes: Sequence[str] = ()) -> list[Path]:
    """Write page, Markdown, images and a file of figures into a folder; returns the files, the page first."""
    return causal_report(results, notes).write(to, results.figures())


def _body(results: CausalResults, notes: Sequence[str]) -> Iterator[Block]:
    study, treatment = results.study, results.study.treatment
    yield Heading("The study")
    yield Facts(
        [
            ("treatment", f"{treatment.words}: {', '.join(str(value) for value in treatment.values)}"),
            ("drawn from", treatment.drawn_from or "not stated"),
            ("answer that counts", study.success),
            ("people", f"{len(study.personas)}"),
            ("items", f"{len(study.items)}"),
            ("population", study.population or "not stated"),
            ("covariates", ", ".join(each.words for each in study.covariates) or "none declared"),
            ("declaration", study.digest),
        ]
    )
    if notes:
        yield Heading("What the prompts leave open")
        yield Prose(list(notes), bullets=True)
    yield Heading("Designs")
    measured = [each for each in results.estimates.values() if each.response != "not measured"]
    if available() and measured:
        lines = {f"{each.design} ({KINDS[each.design]})": _band(each.table()) for each in measured}
        name = f"share of {study.success!r}"
        yield Figure("curves", paths(lines, name, name="curves", along=treatment.words), "Curves with 95 % bands.")
        rows = [
            IntervalRow(each.design, each.slope.value, _end(each.slope.low), _end(each.slope.high)) for each in measured
        ]
        yield Figure("slopes", intervals(rows, "slope in log-odds", name="slopes", zero=True), "Slopes.")
    yield Table(results.table(), _DESIGNS_CAPTION)
    if results.distances:
        yield Table(_distances(results), "How far the curves lie from that of the first design, over the whole range.")
    yield Table(results.curves(), "The curves.", folded=True)
    yield from _diagnostics(results)
    yield Heading("What this report does not say")
    yield Prose(
        [
            "Intervals say how far other people and other items of the same kind would differ under this model. They "
            "do not say how far the model differs from people: that needs human answers at the same levels."
        ]
    )
    if results.runs:
        yield Code("\n".join(f"{what}: {run}" for what, run in results.runs.items()), "Runs")


def _diagnostics(results: CausalResults) -> Iterator[Block]:
    if results.drifts:
        yield Heading("Drift of unstated variables")
        lines = {each.covariate.replace("_", " "): _drift_line(each, results) for each in results.drifts if each.means}
        if available() and lines and all(line.height for line in lines.values()):
            axis, along = "change in standard deviations", results.study.treatment.words
            picture = paths(lines, axis, name="drift", along=along)
            yield Figure("drift", picture, "What people take unstated variables to be, under each level.")
        yield Table(drift_table(results.drifts), _DRIFT_CAPTION)
    if results.focalism:
        yield Heading("Focalism")
        rows = {
            "covariate": [each.covariate.replace("_", " ") for each in results.focalism],
            "jump_in_log_odds": [estimate_text(each.jump) for each in results.focalism],
            "p": [each.p for each in results.focalism],
            "share_of_the_response": [each.step_share for each in results.focalism],
            "verdict": [each.verdict for each in results.focalism],
        }
        caption = "The jump where the treatment passes the stated covariate, beyond what both do separately."
        yield Table(pl.DataFrame(rows), caption)
    if results.ranges:
        yield Heading("Range")
        table = {
            "design": [each.design for each in results.ranges],
            "level": [each.level for each in results.ranges],
            "lower_range": [estimate_text(each.lower) for each in results.ranges],
            "upper_range": [estimate_text(each.upper) for each in results.ranges],
            "difference": [estimate_text(each.difference) for each in results.ranges],
            "p": [each.p for each in results.ranges],
            "verdict": [each.verdict for each in results.ranges],
        }
        yield Table(pl.DataFrame(table), "The same level inside the lower and the upper half of the range.")


def _band(curve: pl.DataFrame) -> pl.DataFrame:
    return curve.select(
        pl.col("level_of_treatment").alias("step"), pl.col("value").alias("mean"), *_ends("low", "high")
    ).sort("step")


def _ends(*names: str) -> list[pl.Expr]:
    return [pl.col(name).fill_nan(None) for name in names]


def _drift_line(drift: Drift, results: CausalResults) -> pl.DataFrame:
    """The mean of a covariate at each level, as its distance from the mean of all levels in standard deviations."""
    values, sd = np.array([each.value for each in drift.means]), drift.sd or 1.0
    centre = float(values.mean())
    columns = {
        "step": list(results.study.treatment.numbers),
        "mean": ((values - centre) / sd).tolist(),
        "low": [(each.low - centre) / sd for each in drift.means],
        "high": [(each.high - centre) / sd for each in drift.means],
    }
    return pl.DataFrame(columns).with_columns(_ends("mean", "low", "high")).drop_nulls("mean").sort("step")


def _distances(results: CausalResults) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "design": [each.first for each in results.distances],
            "compared_with": [each.second for each in results.distances],
            "signed_area": [estimate_text(each.signed) for each in results.distances],
            "absolute_area": [estimate_text(each.absolute) for each in results.distances],
            "slope_difference": [estimate_text(each.slope) for each in results.distances],
        }
    )


def _end(value: float) -> float | None:
    return None if math.isnan(value) else value
