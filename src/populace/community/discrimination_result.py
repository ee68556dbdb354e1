"""The result of the discrimination test, beside the published one."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.base.formatting import plural
from populace.statistics import Anova, MixedModel, fit_mixed_model, one_way, proportion, tukey

PUBLISHED = pl.read_csv(Path(__file__).with_name("published_error_rates.csv"))
"""Error rates in Park et al., Social Simulacra (UIST 2022); the standard deviation is over raters, where given."""

PUBLISHED_TEST = "F(3, 196) = 22.49, p < 0.001; full against each ablation p < 0.01 (Tukey)"
"""The published analysis of variance, between 200 raters."""

CROSSED = 1500
"""With more answers than this, only the rater is a random factor: the fit takes time cubic in their number."""


@dataclass(frozen=True)
class DiscriminationResult:
    """Error rates by arm, and whether arms differ.

    Attributes:
        rates: For each arm: raters, answers, wrong answers, the error rate with its mid-P interval, the standard
            deviation over raters, and the published rate.
        anova: One-way analysis of variance of the raters' error rates, as in the paper; None where impossible.
        tukey: Every pair of arms by Tukey's test; None where impossible.
        mixed: A linear mixed model of single answers, with rater and community as random; None where impossible.
        notes: Why a test is missing, or why not to trust it.
    """

    rates: pl.DataFrame
    anova: Anova | None
    tukey: pl.DataFrame | None
    mixed: MixedModel | None
    notes: tuple[str, ...]


def analyse_ratings(ratings: pl.DataFrame) -> DiscriminationResult:
    """Error rates by arm with tests of their differences.

    Args:
        ratings: The answers of raters, as from `Ratings.table`.
    """
    valid = ratings.filter(pl.col("wrong").is_not_null())
    if not valid.height:
        raise UsageError("there is no valid answer yet.", "Rate some pairs first.")
    notes = []
    if valid.height < ratings.height:
        notes.append(f"{plural(ratings.height - valid.height, 'answer')} could not be read; the rest is analysed.")
    if valid["kind"].n_unique() > 1:
        notes.append("The tests take people and models together; use a file of answers for each to separate them.")
    by_rater = valid.group_by("arm", "rater", maintain_order=True).agg(pl.col("wrong").mean().alias("error"))
    groups = {str(arm): part["error"].to_numpy() for (arm,), part in by_rater.group_by("arm", maintain_order=True)}
    anova, posthoc = None, None
    if len(groups) < 2:
        notes.append("There is only one arm, so nothing can be compared.")
    elif min(map(len, groups.values())) < 2:
        notes.append("An analysis of variance between raters needs at least two raters in every arm.")
    else:
        anova, posthoc = one_way(groups), tukey(groups)
        if anova.warning:
            notes.append(f"The tests between raters may be worse than they say: {anova.warning}.")
        if by_rater.group_by("rater").len()["len"].max() != 1:
            notes.append("Some raters rated several arms; the analysis of variance assumes independent ones.")
    return DiscriminationResult(_rates(valid, by_rater), anova, posthoc, _mixed(valid, notes), tuple(notes))


def _rates(valid: pl.DataFrame, by_rater: pl.DataFrame) -> pl.DataFrame:
    rows = []
    for (arm, kind), part in valid.group_by("arm", "kind", maintain_order=True):
        rate = proportion(int(part["wrong"].sum()), part.height)
        errors = by_rater.filter(pl.col("arm") == arm, pl.col("rater").is_in(part["rater"].unique().implode()))["error"]
        deviation = errors.std()
        rows.append(
            {
                "arm": str(arm),
                "raters": part["rater"].n_unique(),
                "who": f"{kind}s",
                "answers": part.height,
                "wrong": int(part["wrong"].sum()),
                "error": rate.value,
                "low": rate.low,
                "high": rate.high,
                "sd": None if deviation is None else float(deviation),  # type: ignore[arg-type]
            }
        )
    table = pl.DataFrame(rows, schema_overrides={"sd": pl.Float64})
    return table.join(PUBLISHED, on="arm", how="left", maintain_order="left")


def _mixed(valid: pl.DataFrame, notes: list[str]) -> MixedModel | None:
    random = [name for name in ("rater", "community") if 1 < valid[name].n_unique() < valid.height]
    if valid["arm"].n_unique() < 2 or not random:
        notes.append("A mixed model needs at least two arms, and several raters or communities.")
        return None
    if valid["wrong"].n_unique() < 2:
        notes.append("All answers are equal, so a mixed model has nothing to explain.")
        return None
    arms = ["full", *sorted(set(valid["arm"].to_list()) - {"full"})]
    coded = valid.with_columns(pl.col("wrong").cast(pl.Float64), pl.col("arm").cast(pl.Enum(arms)))
    fixed = ["arm"]
    if coded.height > CROSSED and len(random) == 2:
        fixed, random = ["arm", "community"], ["rater"]
        notes.append(
            f"{coded.height} answers are too many for two crossed random factors, so the community is a fixed factor."
        )
    try:
        model = fit_mixed_model(coded, "wrong", fixed, random)
    except UsageError as error:
        notes.append(f"The mixed model could not be fitted: {error.what}")
        return None
    except np.linalg.LinAlgError as error:
        # Another optimiser might fit the same data, so a failure says nothing about raters or communities.
        notes.append(f"The mixed model was not fitted: the optimiser failed ({error}). This is not a result.")
        return None
    if len(random) < 2 and len(fixed) < 2:
        notes.append(f"The mixed model has only the {random[0]} as a random factor: the other does not vary.")
    if not model.converged:
        notes.append(f"The mixed model: {model.words}")
    return model if math.isfinite(model.coefficients[0].estimate.value) else None
