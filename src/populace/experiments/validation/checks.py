"""Checks computed from what a run or an experiment stored.

Thresholds are conventions; a card always shows the value beside its threshold.
"""

import operator
from typing import Any

import numpy as np

from populace.base.formatting import percent, plural
from populace.broker import cost_text, price_of
from populace.experiments.validation.basis import ValidityBasis
from populace.experiments.validation.card import Check, CheckVerdict
from populace.questions import STATUSES, VALID

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
"""The correlation of early and late differences between personas that counts as the same person."""
REPLICATES = 20
FAILED = 0.05
_ENOUGH = 30
"""Answers below which what an order does cannot be told from luck."""


def answer_checks(basis: ValidityBasis) -> list[Check]:
    """Invalid answers, and refusals among them."""
    total = sum(basis.statuses.values())
    if not total:
        reasons = {"invalid answers": "Nobody was asked anything.", "refusals": "Nobody was asked."}
        return [unmeasured_check(name, reason) for name, reason in reasons.items()]
    bad = {status: basis.statuses[status] for status in STATUSES if status not in VALID and basis.statuses[status]}
    share, refused = sum(bad.values()) / total, basis.statuses["refused"] / total
    which = ", ".join(f"{count:,} {status}" for status, count in bad.items())
    reason = f"{which}; they changed nothing in their runs." if bad else "Every answer could be read."
    declined = "Nobody refused."
    if refused:
        declined = "The model declined to answer for some people, and not at random."
    elif basis.counts["scored"] and basis.statuses["unparseable"]:
        declined = (
            f"No reply was a refusal that could be read; {basis.statuses['unparseable']:,} answers could not be read. "
            "Where only one token is scored, a refusal cannot be told from other words."
        )
    return [
        _share_check("invalid answers", share, INVALID, reason, total),
        _share_check("refusals", refused, REFUSED, declined, total),
    ]


def mass_check(basis: ValidityBasis) -> Check:
    """The share of the model's probability that fell on the options."""
    name, scored = "mass on options", basis.counts["scored"]
    if not scored:
        return unmeasured_check(name, "No answer was drawn from a distribution.")
    low = basis.counts["low_mass"] / scored
    masses = [(arm, each["mass"], each["asked"]) for arm, each in basis.witnesses if each.get("mass") is not None]
    result = f"{percent(low)} of answers on little mass"
    if masses:
        least, where, _ = basis.worst_arm(masses, badness=operator.neg)
        result = f"mean {least:.2f}{where}, {result}"
    reason = "Nearly everywhere at least half of the probability fell on the offered options."
    if low:
        reason = "In these the model was hardly answering the question."
    return _share_check(name, low, LOW, reason, scored, result)


def position_check(basis: ValidityBasis) -> Check:
    """Whether an option is more probable when it is shown first."""
    name = "position bias"
    shifts = [(arm, q["first"]["shift"], q["first"]["n"]) for arm, q in basis.questions() if q.get("first")]
    if not shifts:
        why = 'Options were always shown in one order. Ask with order="rotate", or let the report probe it (--probe).'
        return unmeasured_check(name, why if basis.by_model else "No model was asked.")
    shift, where, n = basis.worst_arm(shifts, badness=abs)
    reason = f"The change in an option's probability when it is shown first{where}."
    if any(q["labels"] for _, q in basis.questions()):
        reason += " Options had letters, so place and letter cannot be told apart."
    verdict = _at_most(abs(shift), PLACE) if n >= _ENOUGH else "inform"
    return Check(name, verdict, points(shift), reason, f"within ±{PLACE * 100:.0f} points", shift, n)


def label_check(basis: ValidityBasis) -> Check:
    """Whether answers depend on the words of options rather than their meaning."""
    name = "label bias"
    by_wording: dict[tuple[str, tuple[str, ...]], dict[tuple[str, ...], list[Any]]] = {}
    for _, question in basis.questions():
        key = (question["text"], tuple(question["values"]))
        by_wording.setdefault(key, {}).setdefault(tuple(question["words"]), []).append(question)
    shifts, n = [], 0
    for wordings in by_wording.values():
        shares = [s for s in (_shares(group) for group in wordings.values()) if s is not None]
        if len(shares) > 1:
            shifts.append(max(float(np.abs(one - two).max()) for one in shares for two in shares))
            n += sum(sum(q["counts"]) for group in wordings.values() for q in group)
    if not shifts:
        return unmeasured_check(name, "Options had the same words in all runs. Vary them, such as with swap in norms.")
    reason = "The change in the share of an option when its word is exchanged; arms may differ in other ways too."
    worst = max(shifts)
    return Check(name, _at_most(worst, PLACE), points(worst), reason, f"at most {PLACE * 100:.0f} points", worst, n)


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
    shifts = [(arm, each["shift"], each["n"]) for arm, each in personas if each["shift"] is not None]
    if not shifts:
        kinds = {each["kind"] for _, each in personas}
        why = "Personas consist of a name alone." if kinds == {"name"} else "The prompts describe no persona."
        if "apart" in kinds:
            why = "No two personas were ever in the same situation."
        return unmeasured_check(name, why if basis.by_model else "No model was asked.")
    least, where, n = basis.worst_arm(shifts, badness=operator.neg)
    reason = f"The mean distance of an answer from those of others in the same situation{where}."
    reason += " This may be due to a name alone." if least >= PERSONA else " Personas hardly affect the answers."
    bar = f"at least {PERSONA * 100:.0f} point"
    return Check(name, _at_least(least, PERSONA), points(least), reason, bar, least, n)


def homogeneity_check(basis: ValidityBasis) -> Check:
    """Whether people give the same answer before they could influence each other."""
    name = "people differ"
    shares = [(arm, s["alike"]["share"], s["alike"]["n"]) for arm, s in basis.witnesses if s.get("alike")]
    if not shares:
        return unmeasured_check(name, "Five people were never asked the same question at once.")
    most, where, n = basis.worst_arm(shares, badness=float)
    reason = f"The share of the most common answer when several people were first asked the same{where}."
    return _share_check(name, most, ALIKE, reason, n)


def drift_check(basis: ValidityBasis) -> Check:
    """Whether people who differ from others early in a run differ in the same way later."""
    name = "persona lasts"
    correlations = [(arm, s["lasting"]["r"], s["lasting"]["n"]) for arm, s in basis.witnesses if s.get("lasting")]
    if not correlations:
        return unmeasured_check(name, "No difference between personas could be followed over the steps.")
    least, where, n = basis.worst_arm(correlations, badness=operator.neg)
    reason = f"Correlation of how people differ from others in the first and second half of a run{where}."
    return Check(name, _at_least(least, LASTING), f"{least:.2f}", reason, f"at least {LASTING:g}", least, n)


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
    share = basis.failed / basis.runs if basis.runs else 0.0
    smallest, bar = f"{basis.replicates} in the smallest arm", f"at least {REPLICATES}"
    enough = _at_least(basis.replicates, REPLICATES)
    reason = "Intervals describe the variation between seeds; with few seeds they are wide and assume normality."
    loss = "All runs came to their end."
    if basis.failed:
        loss = "Failed runs are in no figure; if they fail for a reason, what is left is a selection."
    return [
        Check("replicates", enough, smallest, reason, bar, float(basis.replicates), basis.runs),
        _share_check("failed runs", share, FAILED, loss, basis.runs, f"{basis.failed} of {basis.runs}"),
        cost_check,
    ]


def unmeasured_check(name: str, why: str) -> Check:
    """A check that could not be made."""
    return Check(name, "not measured", "not measured", why)


def points(shift: float) -> str:
    """A difference of shares in percentage points."""
    return f"{shift * 100:+.1f} points" if shift < 0 else f"{shift * 100:.1f} points"


def _shares(questions: list[Any]) -> np.ndarray[Any, Any] | None:
    """Mean probabilities of the options where they are known, else shares of answers."""
    known = [q["means"] for q in questions if q["means"] is not None]
    if known:
        return np.array(np.mean(known, axis=0))
    counts = np.sum([q["counts"] for q in questions], axis=0)
    return np.array(counts / counts.sum()) if counts.sum() else None


def _at_most(value: float, limit: float) -> CheckVerdict:
    return "pass" if value <= limit else "fail"


def _at_least(value: float, limit: float) -> CheckVerdict:
    return "pass" if value >= limit else "fail"


def _share_check(name: str, share: float, limit: float, reason: str, n: int, result: str | None = None) -> Check:
    """A check of a share that must not exceed its limit."""
    bar = f"at most {limit * 100:.0f} %"
    return Check(name, _at_most(share, limit), result or percent(share), reason, bar, share, n)
