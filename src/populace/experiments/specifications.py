"""A specification curve: one effect under every way of asking that was run, from the smallest to the largest."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UnknownNameError, UsageError
from populace.base.formatting import plural
from populace.base.randomness import stream
from populace.experiments.comparisons import ComparisonSettings, arm_effect
from populace.experiments.results import Results
from populace.experiments.tables import BOUNDS, MissingValues
from populace.statistics import p_text


@dataclass(frozen=True)
class SpecificationCurve:
    """One effect under every specification.

    Assumes what `Effect` assumes within each specification. The p of the whole curve is of a permutation: in each
    replicate the two levels are exchanged in all specifications at once, so that it counts what these share.

    Attributes:
        table: A row for each specification, by the size of its effect: levels, effect, interval, p, n, missing
            values and what they could do to the effect.
        median: The median effect.
        p: Probability of a median as far from 0 if the factor had no effect under any specification.
        outcome: The outcome.
        contrast: The levels that are compared.
    """

    table: pl.DataFrame
    median: float
    p: float
    outcome: str
    contrast: str

    @property
    def same_sign(self) -> float:
        """The share of specifications whose effect has the sign of the median."""
        return float((np.sign(self.table["effect"].drop_nulls().to_numpy()) == np.sign(self.median)).mean())

    @property
    def _lost(self) -> str:
        count = self.table["effect"].null_count()
        return f" ({count} without enough runs left out)" if count else ""

    def __str__(self) -> str:
        certain = int(((self.table["low"] > 0) | (self.table["high"] < 0)).sum())
        return (
            f"{self.outcome}, {self.contrast}: median {self.median:+.3g} over {self.table['effect'].count()} "
            f"specifications{self._lost}, "
            f"p {p_text(self.p, equals='= ')}; {self.same_sign:.0%} have its sign, {certain} exclude 0."
        )


def specification_curve(
    results: Results,
    factor: str,
    outcome: str | None = None,
    *,
    versus: str | None = None,
    baseline: str | None = None,
    resamples: int = 2000,
    level: float = 0.95,
) -> SpecificationCurve:
    """The effect of one factor under every combination of the other factors: models, wordings, orders of options.

    Args:
        results: The results of an experiment with two factors or more.
        factor: The factor whose effect is followed.
        outcome: The outcome; the primary one by default.
        versus: The level that is compared; the last by default.
        baseline: The level that it is compared with; the first by default.
        resamples: Draws of the permutation.
        level: The confidence level.
    """
    name, factors = outcome or results.experiment.primary.name, list(results.experiment.factors)
    if factor not in factors:
        raise UnknownNameError("factor", factor, factors)
    others = [each for each in factors if each != factor]
    if not others:
        raise UsageError("there is one factor, so that there is one specification.", "Add factors of asking.")
    runs = results.values(name).with_columns(pl.col(factors).cast(pl.String))
    levels = runs[factor].unique(maintain_order=True).to_list()
    first, last = baseline or levels[0], versus or levels[-1]
    for each in (first, last):
        if each not in levels:
            raise UnknownNameError(f"level of {factor}", each, levels)
    share = results.is_share(name)
    lost = MissingValues(runs, name, share)
    rows: list[dict[str, Any]] = []
    gaps: list[pl.DataFrame] = []
    for key, part in runs.partition_by(others, as_dict=True, maintain_order=True).items():
        wide = part.pivot(on=factor, index="replicate", values=name).sort("replicate")
        if first not in wide.columns or last not in wide.columns:
            continue
        how = ComparisonSettings(results.experiment.paired, level=level, share=share)
        effect = arm_effect(wide[last], wide[first], how)
        estimate = effect.estimate
        row = dict(zip(others, key, strict=True)) | {"effect": estimate.value, "low": estimate.low}
        row |= {"high": estimate.high, "p": effect.p, "n": effect.n, **lost.effect_columns(wide[last], wide[first])}
        rows.append(row | {"warning": estimate.warning})
        if math.isnan(estimate.value):
            continue  # Its runs were lost; the table says so.
        gaps.append(wide.select("replicate", (pl.col(last) - pl.col(first)).alias(str(len(gaps)))))
    if len(gaps) < 2:
        enough = f"{plural(len(gaps), 'specification has', 'specifications have')} two runs of {first} and of {last}"
        raise UsageError(f"{enough}, and a curve needs two.", "Use a full design, or run failed runs again.")
    table = (
        pl.DataFrame(rows, schema_overrides=BOUNDS)
        .with_columns(pl.selectors.float().fill_nan(None))
        .sort("effect", nulls_last=True)
    )
    pairs = gaps[0]
    for gap in gaps[1:]:
        pairs = pairs.join(gap, on="replicate", how="inner")
    matrix = pairs.drop("replicate").drop_nulls().to_numpy()
    rng = stream(results.experiment.seed, "specifications")
    signs = np.vstack([np.ones(len(matrix)), rng.choice([-1.0, 1.0], size=(resamples, len(matrix)))])
    medians = np.abs(np.median(signs @ matrix / max(1, len(matrix)), axis=1))
    p = float((medians >= medians[0] * (1 - 1e-12)).mean())
    median = float(np.median(table["effect"].drop_nulls().to_numpy()))
    return SpecificationCurve(table, median, p, name, f"{factor} {last} against {first}")
