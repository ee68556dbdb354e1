"""Checks against a reference, and of the same experiment under other models."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import PopulaceError, UnknownNameError, UsageError
from populace.experiments.results import Results
from populace.experiments.validation.basis import ValidityBasis
from populace.experiments.validation.card import Check, CheckVerdict
from populace.experiments.validation.checks import unmeasured_check

Reference = pl.DataFrame | Mapping[str, float] | str | Path
"""Target shares: by answer, as a table with columns answer, share and perhaps question, or as a CSV file of such."""

DISTANCE = 0.1
"""The total variation distance from a reference that still counts as near."""
DISPERSION = (0.8, 1.25)
"""The entropy of the answers against that of the reference."""


def reference_shares(reference: Reference) -> pl.DataFrame:
    """A reference as a table of question, answer and share; the shares of each question sum to 1."""
    if isinstance(reference, str | Path):
        try:
            table = pl.read_csv(reference)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise UsageError(f"the reference {reference} cannot be read: {error}.") from error
    elif isinstance(reference, pl.DataFrame):
        table = reference
    else:
        table = pl.DataFrame({"answer": list(map(str, reference)), "share": list(map(float, reference.values()))})
    for name in ("answer", "share"):
        if name not in table.columns:
            raise UnknownNameError("column of the reference", name, table.columns, "It needs answer and share.")
    if "question" not in table.columns:
        table = table.with_columns(question=pl.lit(""))
    table = table.select(pl.col("question", "answer").cast(pl.String), pl.col("share").cast(pl.Float64, strict=False))
    if table["share"].null_count() or (table["share"] < 0).any() or not table["share"].sum():
        raise UsageError("the shares of the reference are not all numbers of 0 or above.")
    return table.with_columns(pl.col("share") / pl.col("share").sum().over("question"))


def reference_check(basis: ValidityBasis, reference: Reference | None) -> Check:
    """The distance of the answers of the first arm from target shares, and the ratio of their entropies."""
    name = "reference"
    if reference is None:
        return unmeasured_check(
            name, "No reference was given, so it is not known whether real people answer like this."
        )
    table = reference_shares(reference)
    comparisons = []
    for question, part in table.group_by("question", maintain_order=True):
        shares = dict(part.select("answer", "share").iter_rows())
        questions = [q for arm, q in basis.questions() if arm == 0 and str(question[0]) in q["text"]]
        questions = [q for q in questions if set(shares) <= set(q["values"])]
        counts = np.sum([q["counts"] for q in questions], axis=0) if questions else np.zeros(1)
        if counts.sum():
            target = np.array([shares.get(value, 0.0) for value in questions[0]["values"]])
            comparisons.append((counts / counts.sum(), target, int(counts.sum())))
    if not comparisons:
        raise UsageError(
            "the reference fits no question of the runs.",
            "Its answers must be options of a question, and its column question a part of the question's text.",
        )
    distance = max(float(np.abs(observed - target).sum() / 2) for observed, target, _ in comparisons)
    ratios = [_spread(observed) / _spread(target) for observed, target, _ in comparisons if _spread(target) > 0]
    worst = max(ratios, key=lambda ratio: abs(np.log(max(ratio, 1e-9)))) if ratios else 1.0
    near = distance <= DISTANCE and DISPERSION[0] <= worst <= DISPERSION[1]
    return Check(
        name,
        "pass" if near else "fail",
        f"{distance:.2f} apart, {worst:.2f} of its entropy",
        f"Answers of {basis.arms[0]} against the given shares: total variation distance, and entropy as a multiple.",
        f"at most {DISTANCE:g} apart, {DISPERSION[0]:g} to {DISPERSION[1]:g} of its entropy",
        distance,
        sum(n for _, _, n in comparisons),
    )


def model_agreement_check(results: Results) -> Check | None:
    """Whether effects have the same sign under every model; None if there is one model."""
    name, arms = "models agree", [arm for arm in results.folder.arms if arm.decider == "model"]
    models = list(dict.fromkeys(arm.model for arm in arms))
    if len(models) < 2:
        return None
    try:
        return _model_agreement(results, arms, models)
    except PopulaceError as error:
        return unmeasured_check(name, f"Models could not be compared: {error.what}")


def _model_agreement(results: Results, arms: list[Any], models: list[str]) -> Check:
    settings = {arm.name: arm.model_copy(update={"model": "", "title": "", "levels": {}, "number": 0}) for arm in arms}
    groups: dict[str, dict[str, str]] = {}
    for arm in arms:
        groups.setdefault(settings[arm.name].substance(), {})[arm.model] = arm.name
    shared = [group for group in groups.values() if len(group) == len(models)]
    outcome = results.experiment.primary.name
    if not shared:
        return unmeasured_check("models agree", "No arm was run under every model.")
    if len(shared) == 1:
        effects = results.effects(outcome, baseline=shared[0][models[0]])
        others = effects.filter(pl.col("arm").is_in(list(shared[0].values())))
        different = others.filter((pl.col("low") > 0) | (pl.col("high") < 0))
        reason = f"{outcome} under {', '.join(models[1:])} against {models[0]}, by 95 % intervals."
        result = f"{different.height} of {others.height} other models differ"
        agree: CheckVerdict = "fail" if different.height else "pass"
        return Check("models agree", agree, result, reason, "none", different.height, others.height)
    same, total = 0, len(shared) - 1
    for group in shared[1:]:
        signs = []
        for model in models:
            effects = results.effects(outcome, baseline=shared[0][model])
            row = effects.row(by_predicate=pl.col("arm") == group[model], named=True)
            signs.append(0 if row["low"] <= 0 <= row["high"] else int(np.sign(row["effect"])))
        same += len(set(signs)) == 1
    reason = f"Effects on {outcome} of one sign, or none to be told from 0, in all {len(models)} models."
    verdict: CheckVerdict = "pass" if same == total else "fail"
    return Check("models agree", verdict, f"{same} of {total} effects", reason, "all", same / total, total)


def _spread(shares: np.ndarray[Any, Any]) -> float:
    present = shares[shares > 0]
    return float(-(present * np.log(present)).sum())
