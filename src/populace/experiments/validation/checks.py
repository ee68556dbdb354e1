"""Checks computed from what a run or an experiment stored.

Thresholds are conventions; a card always shows the value beside its threshold.
"""

import math
import operator
from typing import Any

import numpy as np

from populace.base.formatting import percent, plural
from populace.broker import cost_text, price_of
from populace.experiments.validation.basis import ValidityBasis
from populace.experiments.validation.card import Check, CheckVerdict
from populace.experiments.validation.judgement import (
    LEVEL,
    Measurement,
    Observation,
    share_measurement,
    share_verdict,
    worst,
)
from populace.questions import STATUSES, VALID
from populace.statistics import difference

INVALID = 0.05
"""Above this share of invalid answers those who answered are a selection."""
REFUSED = 0.02
"""Refusals are never by chance: the model picks what it refuses."""
LOW = 0.05
"""The largest share of answers that may rest on less than half of the probability."""
PLACE = 0.1
"""The largest change in probability that the place or the word of an option may cause."""
PERSONA = 0.01
"""The smallest change in probability that a persona must cause: one percentage point."""
ALIKE = 0.95
"""The largest share that one answer may have before people have influenced each other."""
LASTING = 0.5
"""The part of early differences between personas that must be left late in a run."""
REPLICATES = 20
FAILED = 0.05

Floats = np.ndarray[Any, np.dtype[np.float64]]


def answer_checks(basis: ValidityBasis) -> list[Check]:
    """Invalid answers, and refusals among them."""
    total = sum(basis.statuses.values())
    if not total:
        reasons = {"invalid answers": "Nobody was asked anything.", "refusals": "Nobody was asked."}
        return [unmeasured_check(name, reason) for name, reason in reasons.items()]
    bad = {status: basis.statuses[status] for status in STATUSES if status not in VALID and basis.statuses[status]}
    which = ", ".join(f"{count:,} {status}" for status, count in bad.items())
    reason = f"{which}; they changed nothing in their runs." if bad else "Every answer could be read."
    return [
        _share_check("invalid answers", sum(bad.values()), INVALID, reason, total),
        _refusal_check(basis, total),
    ]


def _refusal_check(basis: ValidityBasis, total: int) -> Check:
    """Refusals among the answers that show one: where only the probabilities of options are read, none can show."""
    name, refused = "refusals", basis.statuses["refused"]
    readable = total - basis.counts["scored"]
    if not refused and basis.counts["scored"] and readable <= basis.statuses["failed"]:
        why = "Where a model is scored, only the probabilities of options are read, and a refusal does not show there"
        why += "; see mass on options."
        if basis.statuses["unparseable"]:
            why += f" {basis.statuses['unparseable']:,} answers could not be read and may be refusals."
        return unmeasured_check(name, why)
    reason = "The model declined to answer for some people, and not at random." if refused else "Nobody refused."
    if basis.counts["scored"] and not refused:
        reason = f"None of {readable:,} written answers was a refusal; of scored ones it cannot be seen."
    return _share_check(name, refused, REFUSED, reason, total if refused else max(readable, 1))


def mass_check(basis: ValidityBasis) -> Check:
    """The share of the model's probability that fell on the options."""
    name, scored = "mass on options", basis.counts["scored"]
    if not scored:
        return unmeasured_check(name, "No answer was drawn from a distribution.")
    low = basis.counts["low_mass"]
    masses = [
        Observation(arm, each["mass"], each["asked"]) for arm, each in basis.witnesses if each.get("mass") is not None
    ]
    result = f"{percent(low / scored)} of answers on little mass"
    if masses:
        least = worst(masses, basis.arms, badness=operator.neg)
        result = f"mean {least.value:.2f}{least.where}, {result}"
    reason = "Nearly everywhere at least half of the probability fell on the offered options."
    if low:
        reason = "In these the model was hardly answering the question."
    return _share_check(name, low, LOW, reason, scored, result)


def position_check(basis: ValidityBasis) -> Check:
    """Whether an option is more probable when it is shown first."""
    name = "position bias"
    shifts = [_observation(arm, q["first"], "shift") for arm, q in basis.questions() if q.get("first")]
    if not shifts:
        why = 'Options were always shown in one order. Ask with order="rotate", or let the report probe it (--probe).'
        return unmeasured_check(name, why if basis.by_model else "No model was asked.")
    reason = "The change in an option's probability when it is shown first{where}."
    if any(q["labels"] for _, q in basis.questions()):
        reason += " Options had letters, so place and letter cannot be told apart."
    return position_verdict(worst(shifts, basis.arms, badness=abs), reason)


def position_verdict(shift: Measurement, reason: str) -> Check:
    """The check of position bias from its measurement."""
    bar = f"within ±{PLACE * 100:.0f} points"
    reason = reason.replace("{where}", shift.where)
    return Check(
        "position bias", shift.within(PLACE), points_text(shift), reason, bar, shift.value, shift.n, *shift.ends
    )


def label_check(basis: ValidityBasis) -> Check:
    """Whether answers depend on the words of options rather than their meaning.

    Compared are the first answers of runs whose options have other words: each run is one observation.
    """
    name = "label bias"
    by_wording: dict[tuple[str, tuple[str, ...]], dict[tuple[str, ...], list[Any]]] = {}
    for _, question in basis.questions():
        key = (question["text"], tuple(question["values"]))
        by_wording.setdefault(key, {}).setdefault(tuple(question["words"]), []).append(question)
    pairs = []
    for wordings in by_wording.values():
        groups = [(_openings(group), any(q["means"] for q in group)) for group in wordings.values()]
        pairs += [(one, two) for place, one in enumerate(groups) for two in groups[place + 1 :]]
    pairs = [(one, two) for one, two in pairs if min(len(one[0]), len(two[0]))]
    if not pairs:
        return unmeasured_check(name, "Options had the same words in all runs. Vary them, such as with swap in norms.")
    options = sum(max(1, one[0].shape[1] - 1) for one, _ in pairs)
    changes = [
        _label_change(one[0][:, option], two[0][:, option], one[1] and two[1], options)
        for one, two in pairs
        for option in range(one[0].shape[1])
    ]
    verdicts = [change.within(PLACE) for change in changes]
    verdict: CheckVerdict = "fail" if "fail" in verdicts else "undecided" if "undecided" in verdicts else "pass"
    shown = max(changes, key=lambda change: (change.within(PLACE) == verdict, abs(change.value)))
    if math.isinf(shown.low):
        return unmeasured_check(name, "One run with other words shows nothing; run at least two of each.")
    reason = "The change in the first share of an option when its word is exchanged; arms may differ in other ways too."
    shown = shown if shown.value >= 0 else Measurement(-shown.value, -shown.high, -shown.low, shown.n)
    bar = f"at most {PLACE * 100:.0f} points"
    return Check(name, verdict, points_text(shown), reason, bar, shown.value, shown.n, *shown.ends)


def _openings(questions: list[Any]) -> Floats:
    """For each run the shares of the options when the question was first asked."""
    shares = [q.get("opening") or q["means"] or _counted(q["counts"]) for q in questions]
    return np.array([each for each in shares if each is not None], dtype=np.float64)


def _counted(counts: list[int]) -> list[float] | None:
    return [count / sum(counts) for count in counts] if sum(counts) else None


def _label_change(one: Floats, two: Floats, scored: bool, comparisons: int) -> Measurement:
    """The change of a share between runs with other words, with an interval that holds for all comparisons."""
    gap, n = float(one.mean() - two.mean()), len(one) + len(two)
    if scored and max(np.ptp(one), np.ptp(two)) < 1e-9:
        # The distribution is the model's own and the same in every run: there is nothing to sample.
        return Measurement(gap, gap, gap, n)
    if min(len(one), len(two)) < 2:
        return Measurement(gap, -math.inf, math.inf, n)
    estimate = difference(one, two, paired=False, level=1 - (1 - LEVEL) / comparisons).estimate
    return Measurement(gap, estimate.low, estimate.high, n)


def entropy_check(basis: ValidityBasis) -> Check:
    """The entropy of single distributions."""
    entropies = [(arm, q["entropy"], 1.0) for arm, q in basis.questions() if q.get("entropy") is not None]
    if not entropies:
        return unmeasured_check("entropy", "There are no distributions to look at.")
    means = basis.mean_by_arm(entropies)
    low, high = min(means.values()), max(means.values())
    result = f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
    reason = "Entropy of single distributions over options: 0 is always the same answer, 1 is a fair draw."
    return Check("entropy", "inform", result, reason, value=float(np.mean(list(means.values()))), n=len(entropies))


def persona_check(basis: ValidityBasis) -> Check:
    """Whether answers differ between personas in the same situation."""
    name = "persona matters"
    personas = [(arm, each["persona"]) for arm, each in basis.witnesses if each.get("persona")]
    shifts = [_observation(arm, each, "shift") for arm, each in personas if each["shift"] is not None]
    if not shifts:
        kinds = {each["kind"] for _, each in personas}
        why = "A persona is a name alone." if "name" in kinds else "No two personas were ever in the same situation."
        return unmeasured_check(name, why if basis.by_model else "No model was asked.")
    least = worst(shifts, basis.arms, badness=operator.neg)
    reason = f"The mean distance of an answer from those of others in the same situation{least.where}."
    verdict = least.at_least(PERSONA) if math.isfinite(least.low) else _at_least(least.value, PERSONA)
    reason += " Personas hardly affect the answers." if verdict == "fail" else " This may be due to a name alone."
    bar = f"at least {PERSONA * 100:.0f} point"
    return Check(name, verdict, points_text(least), reason, bar, least.value, least.n, *least.ends)


def homogeneity_check(basis: ValidityBasis) -> Check:
    """Whether people give the same answer before they could influence each other."""
    name = "people differ"
    shares = [(arm, s["alike"]["share"], s["alike"]["n"]) for arm, s in basis.witnesses if s.get("alike")]
    if not shares:
        return unmeasured_check(name, "Five people were never asked the same question at once.")
    reason = "The share of the most common answer when several people were first asked the same"
    scored = [_observation(arm, s["alike"], "share") for arm, s in basis.witnesses if s.get("alike")]
    if all(each.error is not None for each in scored):
        known = worst(scored, basis.arms, badness=float)
        text = f"{percent(known.value)} [{percent(known.low)}, {percent(known.high)}]"
        verdict, bar = known.at_most(ALIKE), f"at most {ALIKE * 100:.0f} %"
        return Check(name, verdict, text, f"{reason}{known.where}.", bar, known.value, known.n, *known.ends)
    most, where, _ = basis.worst_arm(shares, badness=float)
    n = sum(count for arm, _, count in shares if not where or basis.arms[arm] in where)
    return _share_check(name, most * n, ALIKE, f"{reason}{where}.", n)


def drift_check(basis: ValidityBasis) -> Check:
    """Whether people who differ from others early in a run differ in the same way later."""
    name = "persona lasts"
    slopes = [
        Observation(arm, s["lasting"]["slope"], s["lasting"]["n"], s["lasting"]["error"], s["lasting"]["n"])
        for arm, s in basis.witnesses
        if (s.get("lasting") or {}).get("slope") is not None
    ]
    if not slopes:
        return unmeasured_check(name, "No difference between personas could be followed over the steps.")
    least = worst(slopes, basis.arms, badness=operator.neg)
    reason = (
        f"How much of the way in which people differ in the first half of a run is left in the second{least.where}."
    )
    verdict, text = least.at_least(LASTING), f"{least.value:.2f} [{least.low:.2f}, {least.high:.2f}]"
    return Check(name, verdict, text, reason, f"at least {LASTING:g}", least.value, least.n, *least.ends)


def size_checks(basis: ValidityBasis) -> list[Check]:
    """Replicates, failures and cost."""
    spent = basis.spent
    result = f"{plural(round(spent['calls']), 'call')}, {spent['reused']:,.0f} reused, "
    result += plural(round(spent["tokens"]), "token")
    if spent["calls"]:
        result += f", {cost_text(spent['cost'], *(price_of(model) for model in basis.models))}"
    cost_check = Check(
        "cost", "inform", result, "What all runs together asked of models.", value=spent["cost"], n=basis.runs
    )
    if basis.replicates is None:
        reason = "One run shows what can happen, not how often."
        return [Check("replicates", "inform", "a single run", reason, f"at least {REPLICATES}", 1.0, 1), cost_check]
    smallest, bar = f"{basis.replicates} in the smallest arm", f"at least {REPLICATES}"
    enough = _at_least(basis.replicates, REPLICATES)
    reason = "Intervals describe the variation between seeds; with few seeds they are wide and assume normality."
    loss = "All runs came to their end."
    if basis.failed:
        loss = "Failed runs are in no figure; if they fail for a reason, what is left is a selection."
    return [
        Check("replicates", enough, smallest, reason, bar, float(basis.replicates), basis.runs),
        _failed_check(basis, loss),
        cost_check,
    ]


def unmeasured_check(name: str, why: str) -> Check:
    """A check that could not be made."""
    return Check(name, "not measured", "not measured", why)


def points(shift: float) -> str:
    """A difference of shares in percentage points."""
    return f"{shift * 100:+.1f} points" if shift < 0 else f"{shift * 100:.1f} points"


def points_text(shift: Measurement) -> str:
    """A difference of shares with its interval, in percentage points."""
    low, high = shift.ends
    if low is None or high is None or high - low < 1e-12:
        return points(shift.value)
    return f"{points(shift.value)} [{low * 100:.1f}, {high * 100:.1f}]"


def _observation(arm: int, evidence: dict[str, Any], name: str) -> Observation:
    return Observation(arm, evidence[name], evidence["n"], evidence.get("error"), evidence.get("people", 0))


def _failed_check(basis: ValidityBasis, reason: str) -> Check:
    if not basis.runs:
        return unmeasured_check("failed runs", "No run has ended.")
    text = f"{basis.failed} of {basis.runs}"
    return _share_check("failed runs", basis.failed, FAILED, reason, basis.runs, text)


def _at_least(value: float, limit: float) -> CheckVerdict:
    return "pass" if value >= limit else "fail"


def _share_check(name: str, count: float, limit: float, reason: str, n: int, result: str | None = None) -> Check:
    """A check of a share that must not exceed its limit."""
    share = share_measurement(count, n)
    text = result or f"{percent(share.value)} [{percent(share.low)}, {percent(share.high)}]"
    bar = f"at most {limit * 100:.0f} %"
    return Check(name, share_verdict(share, limit), text, reason, bar, share.value, n, share.low, share.high)
