"""Verdicts: a measurement with its interval against a threshold."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from populace.experiments.validation.card import CheckVerdict
from populace.statistics.intervals import t_quantile
from populace.statistics.proportions import mid_p

LEVEL = 0.95


class Observation(NamedTuple):
    """What one run shows about its arm.

    Attributes:
        arm: The number of the arm.
        value: The measurement.
        n: How much it counts: answers, prompts or people.
        error: Its standard error; None where it is not known, as in runs of earlier versions.
        people: The number of independent observations behind the error.
    """

    arm: int
    value: float
    n: float
    error: float | None = None
    people: int = 0


@dataclass(frozen=True)
class Measurement:
    """A value with its interval.

    Attributes:
        value: The value.
        low: The lower end; minus infinity where the precision is not known.
        high: The upper end.
        n: What it rests on.
        arm: The arm that it is of; None where there is one arm.
    """

    value: float
    low: float
    high: float
    n: int
    arm: str | None = None

    @property
    def where(self) -> str:
        """A phrase that names the arm."""
        return "" if self.arm is None else f" in the arm where it is worst ({self.arm})"

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The ends of the interval, None where they are not known."""
        low, high = (None if math.isinf(end) else end for end in (self.low, self.high))
        return low, high

    def at_most(self, limit: float) -> CheckVerdict:
        """Whether the whole interval is below a limit, or beyond it."""
        return "fail" if self.low > limit else "pass" if self.high <= limit else "undecided"

    def at_least(self, limit: float) -> CheckVerdict:
        """Whether the whole interval is above a limit, or below it."""
        return "fail" if self.high < limit else "pass" if self.low >= limit else "undecided"

    def within(self, limit: float) -> CheckVerdict:
        """Whether the whole interval is between minus and plus the limit, or outside."""
        if self.low > limit or self.high < -limit:
            return "fail"
        return "pass" if -limit <= self.low and self.high <= limit else "undecided"


def share_measurement(count: float, n: int) -> Measurement:
    """A share of n, with its mid-P interval."""
    share = count / n
    return Measurement(share, *mid_p(share, n, LEVEL), n)


def share_verdict(share: Measurement, limit: float) -> CheckVerdict:
    """A share of what was recorded passes below its limit, and fails where its whole interval lies above."""
    return "fail" if share.low > limit else "pass" if share.value <= limit else "undecided"


def worst(observations: Sequence[Observation], arms: Sequence[str], badness: Callable[[float], float]) -> Measurement:
    """The mean of the worst arm, with an interval that holds for all arms together (Bonferroni)."""
    by_arm = {arm: [each for each in observations if each.arm == arm] for arm in {each.arm for each in observations}}
    level = 1 - (1 - LEVEL) / len(by_arm)
    estimates = {arm: _pooled(group, level) for arm, group in sorted(by_arm.items())}
    arm, measured = max(estimates.items(), key=lambda item: badness(item[1].value))
    return measured if len(arms) < 2 else Measurement(**{**vars(measured), "arm": arms[arm]})


def _pooled(observations: Sequence[Observation], level: float) -> Measurement:
    total = sum(each.n for each in observations)
    value = sum(each.value * each.n for each in observations) / total
    n = int(total)
    if any(each.error is None or not math.isfinite(each.error) for each in observations):
        return Measurement(value, -math.inf, math.inf, n)
    variance = sum((each.n * (each.error or 0.0)) ** 2 for each in observations) / total**2
    freedom = sum(max(1, each.people - 1) for each in observations)
    half = t_quantile(level, freedom) * math.sqrt(variance)
    return Measurement(value, value - half, value + half, n)
