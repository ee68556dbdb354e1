"""Checks against a reference, and of the same experiment under other models."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import PopulaceError, UnknownNameError, UsageError
from populace.base.table_files import UNREADABLE, read_plain_table, reading_problem
from populace.experiments.results import Results
from populace.experiments.validation.basis import ValidityBasis
from populace.experiments.validation.card import Check, CheckVerdict
from populace.experiments.validation.checks import unmeasured_check
from populace.experiments.validation.judgement import LEVEL
from populace.statistics import adjust, difference

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
            table = read_plain_table(Path(reference).expanduser())
        except UNREADABLE as error:
            raise UsageError(f"the reference {reference} cannot be read: {reading_problem(error)}.") from error
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
    distance, low, high, verdict = _distance(comparisons)
    ratios = [_spread(observed) / _spread(target) for observed, target, _ in comparisons if _spread(target) > 0]
    ratio = max(ratios, key=lambda ratio: abs(np.log(max(ratio, 1e-9)))) if ratios else 1.0
    if verdict == "pass" and not DISPERSION[0] <= ratio <= DISPERSION[1]:
        verdict = "undecided"
    return Check(
        name,
        verdict,
        f"{distance:.2f} [{low:.2f}, {high:.2f}] apart, {ratio:.2f} of its entropy",
        f"Answers of {basis.arms[0]} against the given shares: total variation distance, and entropy as a multiple.",
        f"at most {DISTANCE:g} apart, {DISPERSION[0]:g} to {DISPERSION[1]:g} of its entropy",
        distance,
        sum(n for _, _, n in comparisons),
        low,
        high,
    )


def _distance(comparisons: list[tuple[Any, Any, int]]) -> tuple[float, float, float, CheckVerdict]:
    """The largest distance of answers from their reference, with an interval from drawing as many answers anew."""
    measured = []
    for observed, target, n in comparisons:
        distance = float(np.abs(observed - target).sum() / 2)
        samples = np.random.default_rng(0).multinomial(n, observed, size=2000) / n
        # A sample lies further from any target than what it was drawn from, by about as much as the draws do again.
        distances = np.abs(samples - target).sum(axis=1) / 2
        bias = max(0.0, float(distances.mean()) - distance)
        low, high = np.quantile(distances, [0.025, 0.975]) - 2 * bias
        measured.append((distance, max(0.0, float(low)), float(max(high, distance))))
    distance, low, high = max(measured)
    verdict: CheckVerdict = "fail" if low > DISTANCE else "pass" if distance <= DISTANCE else "undecided"
    return distance, low, high, verdict


def model_agreement_check(results: Results) -> Check | None:
    """Whether effects have the same sign under every model, by tests of the interaction; None if there is one model."""
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
    wide = results.runs.pivot(on="arm", index="replicate", values=outcome).sort("replicate")
    compare = functools.partial(difference, paired=results.experiment.paired)
    if len(shared) == 1:
        tests = [compare(wide[shared[0][model]], wide[shared[0][models[0]]]) for model in models[1:]]
        different = int((adjust([test.p for test in tests]) < 1 - LEVEL).sum())
        reason = f"{outcome} under {', '.join(models[1:])} against {models[0]}, by tests corrected for their number."
        result = f"{different} of {len(tests)} other models differ"
        verdict: CheckVerdict = "fail" if different else "undecided"
        return Check("models agree", verdict, result, reason, "none", different, len(tests))
    same, apart, rows = 0, 0, []
    for group in shared[1:]:
        gaps = {model: wide[group[model]] - wide[shared[0][model]] for model in models}
        effects = [compare(wide[group[model]], wide[shared[0][model]]) for model in models]
        rows += [(group, effects, compare(gaps[model], gaps[models[0]])) for model in models[1:]]
    p = adjust([interaction.p for _, _, interaction in rows])
    single = adjust([effect.p for _, effects, _ in rows[:: len(models) - 1] for effect in effects])
    single = single.reshape(len(shared) - 1, len(models))
    total = len(shared) - 1
    for place in range(total):
        effects = rows[place * (len(models) - 1)][1]
        signs = {int(np.sign(effect.estimate.value)) for effect in effects}
        together = len(signs) == 1 and bool((single[place] < 1 - LEVEL).all())
        mine = p[place * (len(models) - 1) : (place + 1) * (len(models) - 1)]
        same += together
        apart += bool((mine < 1 - LEVEL).any()) and not together
    reason = (
        f"Effects on {outcome} of one sign in all {len(models)} models; those that differ between models by a test "
    )
    reason += "of the interaction, corrected for the number of tests, do not agree."
    verdict = "fail" if apart else "pass" if same == total else "undecided"
    text = f"{same} of {total} effects agree, {apart} {'differs' if apart == 1 else 'differ'}"
    return Check("models agree", verdict, text, reason, "all", same / total, total)


def _spread(shares: np.ndarray[Any, Any]) -> float:
    present = shares[shares > 0]
    return float(-(present * np.log(present)).sum())
