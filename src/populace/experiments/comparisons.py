"""Comparisons between arms and between levels of factors, with what was planned of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.base.formatting import plural
from populace.experiments.analysis_plan import PlanRecord, plan_status
from populace.experiments.folder import ExperimentManifest
from populace.experiments.tables import BOUNDS, MissingValues, finite, sample_description, wide_table
from populace.statistics import Effect, Estimate, adjust, contrast, difference, marginal_weights

_EFFECT_COLUMNS = "mean baseline_mean effect low high p p_adjusted low_all high_all standardised".split()
_EFFECT_COLUMNS += "standardised_as n paired looks".split()


@dataclass(frozen=True)
class ComparisonSettings:
    """How arms or levels are compared.

    Attributes:
        paired: Whether replicate by replicate.
        correction: For the number of comparisons.
        method: `t`, `bootstrap`, `bootstrap-t` or `permutation`.
        level: The confidence level.
        share: Whether the outcome is a share.
        looks: How often the results were looked at, this look included.
    """

    paired: bool
    correction: str = "holm"
    method: str = "t"
    level: float = 0.95
    share: bool = False
    looks: int = 1

    @classmethod
    def of(
        cls,
        manifest: ExperimentManifest,
        paired: bool,
        correction: str | None = None,
        method: str | None = None,
        level: float | None = None,
    ) -> ComparisonSettings:
        """As asked for, else as planned, else by t at 95 %, corrected by Holm's method."""
        plan, looks = manifest.plan, manifest.counted_looks
        settings = None if plan is None else plan.plan
        if settings is not None and level is None and manifest.replicates in settings.looks:
            # This level spends alpha over all planned looks, so that nothing is left to warn of.
            level, looks = settings.level_at(manifest.replicates), 1
        correction = correction or (settings.correction if settings else "holm")
        method = method or (settings.method if settings else "t")
        level = level or (1 - settings.alpha if settings else 0.95)
        return cls(paired, correction, method, level, looks=looks)

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `difference`."""
        return {"paired": self.paired, "method": self.method, "share": None if self.share else False}


def effects_table(
    runs: pl.DataFrame, outcome: str, order: Sequence[str], baseline: str, how: ComparisonSettings
) -> pl.DataFrame:
    """The difference of every other arm from the baseline.

    Args:
        runs: A row for each run.
        outcome: The column of the outcome.
        order: The arms.
        baseline: The arm to compare with.
        how: How to compare them.
    """
    others = _others(order, baseline)
    wide = wide_table(runs, outcome, "arm")
    if baseline not in wide.columns:
        raise UsageError(f"arm {baseline!r} has no run yet.")
    absent = [pl.lit(None, dtype=pl.Float64).alias(each) for each in others if each not in wide.columns]
    wide = wide.with_columns(absent)
    comparable = [each for each in others if _counted(wide[each], wide[baseline], how.paired) >= _FEWEST]
    if not comparable:
        # There is nothing to show, and the error says why.
        difference(wide[others[0]], wide[baseline], level=how.level, **how.options)
    wider = replace(how, level=_all(how.level, comparable))
    effects, together = ([arm_effect(wide[each], wide[baseline], by) for each in others] for by in (how, wider))
    return _effects_frame(runs, outcome, "arm", others, baseline, effects, together, how)


def factor_effects_table(
    runs: pl.DataFrame,
    outcome: str,
    factor: str,
    factors: Sequence[str],
    baseline: str,
    full: bool,
    how: ComparisonSettings,
) -> pl.DataFrame:
    """The difference of every other level of a factor from one level, in the additive model of all factors.

    Only replicates count in which every arm that the comparison uses has a value.

    Args:
        runs: A row for each run.
        outcome: The column of the outcome.
        factor: The factor, as text.
        factors: All factors.
        baseline: The level to compare with.
        full: Whether all combinations of levels were run, so that nothing is assumed about interactions.
        how: How to compare them.
    """
    arms = runs.select("arm", *(pl.col(name).cast(pl.String) for name in factors)).unique("arm", maintain_order=True)
    weights = marginal_weights(arms.drop("arm"), factor)
    others = _others(list(weights), baseline)
    wide = wide_table(runs, outcome, "arm").select("replicate", *arms["arm"])
    effects: list[Effect] = []
    together: list[Effect] = []
    for each in others:
        weight = weights[each] - weights[baseline]
        counts = {name: float(one) for name, one in zip(arms["arm"], weight, strict=True) if abs(one) > 1e-9}
        block = wide.select(list(counts)).drop_nulls()
        if how.paired and block.height < 2:
            raise UsageError(
                f"{plural(block.height, 'replicate')} of {factor} = {each} against {baseline} "
                f"{'has' if block.height == 1 else 'have'} a value in all of {plural(len(counts), 'arm')}.",
                "A level is compared only where every arm ended; run failed runs again, or more replicates.",
            )
        one, two = (
            block.select(pl.sum_horizontal(pl.col(name) * abs(w) for name, w in counts.items() if w * sign > 0))
            for sign in (1, -1)
        )
        for level, into in ((how.level, effects), (_all(how.level, others), together)):
            if how.paired:
                into.append(difference(one.to_series(), two.to_series(), level=level, **how.options))
            else:
                samples = [wide[name].drop_nulls().to_numpy() for name in counts]
                into.append(contrast(samples, np.array(list(counts.values())), level, share=how.options["share"]))
    table = _effects_frame(runs, outcome, factor, others, baseline, effects, together, how)
    model = f"additive in {', '.join(factors)}" + ("" if full or len(factors) == 1 else "; assumes no interactions")
    return table.with_columns(model=pl.lit(model))


_FEWEST = 2
"""Pairs, or runs of each arm, that a comparison needs."""


def _counted(one: pl.Series, two: pl.Series, paired: bool) -> int:
    """How many pairs have both values, or how many runs the smaller arm has."""
    known = one.is_not_null(), two.is_not_null()
    return int((known[0] & known[1]).sum()) if paired else min(int(each.sum()) for each in known)


def arm_effect(one: pl.Series, two: pl.Series, how: ComparisonSettings) -> Effect:
    """The difference of two arms; without a value, and with the reason, where an arm has lost its runs.

    Args:
        one: The outcomes of an arm.
        two: Those of the arm that it is compared with, in the same order of replicates.
        how: How to compare them.
    """
    count = _counted(one, two, how.paired)
    if count >= _FEWEST:
        return difference(one, two, level=how.level, **how.options)
    unit = "replicate has" if count == 1 else "replicates have"
    what = f"{count} {unit} a value in both arms" if how.paired else f"{one.name} has {plural(one.count(), 'value')}"
    mean, other = (float(each.mean()) if each.count() else math.nan for each in (one, two))  # type: ignore[arg-type]
    warning = f"{one.name} cannot be compared: {what}, and two are needed"
    estimate = Estimate(math.nan, math.nan, math.nan, count, how.level, "none", one.len() - count, warning)
    return Effect(estimate, math.nan, how.paired, how.method, mean, other, one.count(), two.count(), math.nan)


def _others(order: Sequence[str], baseline: str) -> list[str]:
    others = [each for each in order if each != baseline]
    if not others:
        raise UsageError("there is only one arm, so there is nothing to compare it with.")
    return others


def _all(level: float, comparisons: Sequence[str]) -> float:
    """The level of each interval at which all of them hold together (Bonferroni)."""
    return 1 - (1 - level) / len(comparisons)


def _effects_frame(
    runs: pl.DataFrame,
    outcome: str,
    by: str,
    others: list[str],
    baseline: str,
    effects: Sequence[Effect],
    together: Sequence[Effect],
    how: ComparisonSettings,
) -> pl.DataFrame:
    table = pl.concat([effect.table() for effect in effects])
    table = table.rename({"mean_a": "mean", "mean_b": "baseline_mean", "difference": "effect"})
    table = table.with_columns(
        p_adjusted=pl.Series(adjust(table["p"], how.correction)),
        low_all=pl.Series([each.estimate.low for each in together], dtype=pl.Float64),
        high_all=pl.Series([each.estimate.high for each in together], dtype=pl.Float64),
        looks=pl.lit(how.looks),
        warning=pl.concat_str("warning", pl.lit(_looks_warning(how.looks)), separator="; ").str.strip_chars("; "),
    )
    lost, split = MissingValues(runs, outcome, how.share), runs.partition_by(by, as_dict=True)
    samples = []
    for each in others:
        one, two = split.get((each,), runs.clear()), split[(baseline,)]
        samples.append(lost.effect_columns(one[outcome], two[outcome]) | sample_description(pl.concat([one, two])))
    names = pl.DataFrame({by: others, "baseline": baseline})
    columns = finite(table.select(*_EFFECT_COLUMNS, "method", "warning"))
    return pl.concat([names, columns, pl.DataFrame(samples, schema_overrides=BOUNDS)], how="horizontal")


def _looks_warning(looks: int) -> str:
    if looks < 2:
        return ""
    return f"the results were looked at {looks} times, and p values and intervals are not corrected for it"


def with_plan(
    table: pl.DataFrame, plans: Sequence[PlanRecord], outcome: str, factor: str | None, first: str
) -> pl.DataFrame:
    """A table of comparisons with the column that says which of them were planned; `first` is the first level."""
    by = factor or "arm"
    texts = [
        plan_status(plans, outcome, factor, _level_name(of), _level_name(baseline), _level_name(first))
        for of, baseline in table.select(by, "baseline").iter_rows()
    ]
    return table.with_columns(planned=pl.Series(texts, dtype=pl.String))


def _level_name(level: str) -> str:
    """A level as plans write it: truth values are yes and no."""
    return {"true": "yes", "false": "no"}.get(level, level)


def paired_blocks(
    runs: pl.DataFrame, factors: Iterable[str], factor: str, paired: bool
) -> tuple[pl.DataFrame, str | None]:
    """Runs with a column of what runs share that differ in one factor only, and its name; None without pairs."""
    if not paired:
        return runs, None
    shared = ["replicate", *(name for name in factors if name != factor)]
    return runs.with_columns(block=pl.concat_str(pl.col(shared).cast(pl.String), separator="|")), "block"
