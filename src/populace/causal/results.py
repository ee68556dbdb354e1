"""What a causal study gave: estimates of all designs beside each other, and the diagnostics."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from populace.base.errors import CausalStudyError
from populace.base.formatting import plural
from populace.causal.diagnostics import Drift, Focalism, RangeEffect
from populace.causal.estimates import DesignDistance, DesignEstimate, design_distance, design_estimate
from populace.causal.responses import Responses
from populace.causal.study import CausalStudy
from populace.causal.wording import DESIGNS, CausalDesign, stated_covariates
from populace.statistics.intervals import Estimate

KINDS: dict[CausalDesign, str] = dict.fromkeys(DESIGNS, "simulation") | {"aggregate": "forecast"}
"""What the answers of a design are: of simulated people, or of a forecaster."""


@dataclass(frozen=True)
class CausalResults:
    """The results of a causal study.

    Attributes:
        study: The declaration.
        responses: The answers of each design that was asked.
        drifts: What the unstated values of covariates do under each level.
        focalism: How far the response becomes a step at each stated covariate that is comparable with the treatment.
        ranges: Whether one level gets another answer inside another range.
        runs: The names of the runs, by what they asked.

    Example:
        >>> from populace.causal import ask_causal_study
        >>> study = CausalStudy.read({
        ...     "treatment": {"name": "price", "levels": [1, 2], "statement": "It costs {price} dollars."},
        ...     "setting": "You see apples.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes"})
        >>> results = ask_causal_study(study, designs=("blind",), model="scripted:uniform", keep="nothing")
        >>> results.findings()[0].split(":")[0], results.informative
        ('Uninformative', False)
    """

    study: CausalStudy
    responses: Mapping[CausalDesign, Responses]
    drifts: tuple[Drift, ...] = ()
    focalism: tuple[Focalism, ...] = ()
    ranges: tuple[RangeEffect, ...] = ()
    runs: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<{self.study.title}: {plural(len(self.responses), 'design')}>"

    @functools.cached_property
    def estimates(self) -> dict[CausalDesign, DesignEstimate]:
        """The estimates of each design, in the order in which they are reported."""
        return {name: design_estimate(self.responses[name]) for name in DESIGNS if name in self.responses}

    @functools.cached_property
    def distances(self) -> tuple[DesignDistance, ...]:
        """How far the curve of each other design lies from that of the first."""
        names = [name for name, each in self.estimates.items() if each.judged]
        return tuple(design_distance(self.responses[name], self.responses[names[0]]) for name in names[1:])

    def __getitem__(self, design: CausalDesign) -> DesignEstimate:
        if design not in self.estimates:
            raise CausalStudyError(f"the study was not asked in the design {design!r}.", "Name it in `designs`.")
        return self.estimates[design]

    @property
    def informative(self) -> bool:
        """Whether the answers respond to the treatment as expected in at least one design of simulated people."""
        return any(each.informative for name, each in self.estimates.items() if KINDS[name] == "simulation")

    @functools.cached_property
    def doubts(self) -> dict[CausalDesign, tuple[str, ...]]:
        """Why the estimate of a design should not be believed, as far as the answers and the diagnostics show.

        A design without a doubt may still be wrong: demand effects leave no trace in the answers of one design.
        """
        return {name: tuple(self._doubts(name)) for name in self.estimates}

    def _doubts(self, design: CausalDesign) -> Iterator[str]:
        if not self.estimates[design].informative:
            yield self.estimates[design].response
        stated = {covariate.name for covariate in stated_covariates(self.study)} if design == "covariates" else set()
        if design in ("blind", "covariates"):
            for drift in self.drifts:
                name = drift.covariate.replace("_", " ")
                if drift.verdict == "drifts" and drift.covariate not in stated:
                    yield f"confounded by {name}"
        if design == "covariates":
            yield from (f"step at {f.covariate.replace('_', ' ')}" for f in self.focalism if f.verdict == "step")
        if any(each.verdict == "range matters" for each in self.ranges if each.design == design):
            yield "depends on the range"

    def table(self) -> pl.DataFrame:
        """The designs beside each other: slope, fall, response, doubts, invalid answers and cost."""
        rows = self.estimates.values()
        return pl.DataFrame(
            {
                "design": [each.design for each in rows],
                "kind": [KINDS[each.design] for each in rows],
                "slope_in_log_odds": [estimate_text(each.slope) for each in rows],
                "lowest_minus_highest": [estimate_text(each.fall) for each in rows],
                "response": [each.response for each in rows],
                "doubts": [", ".join(self.doubts[each.design]) or "none found" for each in rows],
                "answers": [each.slope.n for each in rows],
                "invalid": [each.invalid for each in rows],
                "calls": [each.cost.calls for each in rows],
                "tokens": [each.cost.tokens for each in rows],
                "price": [each.cost.price for each in rows],
            }
        )

    def curves(self) -> pl.DataFrame:
        """The curves of all designs: a row for each design and level, with its interval."""
        tables = [
            each.table().select(
                pl.lit(name).alias("design"), pl.col("level_of_treatment").alias("level"), "value", "low", "high", "n"
            )
            for name, each in self.estimates.items()
        ]
        return pl.concat(tables)

    def findings(self) -> list[str]:
        """The results in sentences; what cannot be believed comes first."""
        texts = []
        if not self.informative:
            reasons = ", ".join(f"{name}: {each.response}" for name, each in self.estimates.items())
            texts.append(
                f"Uninformative: the answers do not respond to the {self.study.treatment.words} as they should "
                f"({reasons}). Nothing below says anything about people."
            )
        for name, each in self.estimates.items():
            text = f"{name} ({KINDS[name]}): slope {estimate_text(each.slope)} in log-odds for "
            text += f"{self.study.unit:g} of {self.study.treatment.words}; {each.response}."
            texts.append(text + (f" {plural(each.invalid, 'answer')} invalid." if each.invalid else ""))
        for apart in self.distances:
            if not apart.slope.contains(0.0) and not math.isnan(apart.slope.low):
                difference = estimate_text(apart.slope)
                texts.append(f"The slope of {apart.first} differs from that of {apart.second} by {difference}.")
        clear = [name for name, reasons in self.doubts.items() if not reasons]
        if clear and (self.drifts or self.focalism or self.ranges):
            texts.append(f"The diagnostics found no reason to doubt: {', '.join(clear)}.")
        texts += [_drift_text(each, self.study) for each in self.drifts]
        texts += [_focalism_text(each) for each in self.focalism]
        texts += [_range_text(each) for each in self.ranges]
        return texts

    def figures(self) -> dict[str, Any]:
        """The results as plain data."""
        return {
            "title": self.study.title,
            "digest": self.study.digest,
            "estimand": self.study.estimand,
            "informative": self.informative,
            "designs": {
                name: {
                    "kind": KINDS[name],
                    "levels": list(each.levels),
                    "curve": [_plain(estimate) for estimate in each.curve],
                    "slope": _plain(each.slope),
                    "fall": _plain(each.fall),
                    "response": each.response,
                    "doubts": list(self.doubts[name]),
                    "invalid": each.invalid,
                    "calls": each.cost.calls,
                    "tokens": each.cost.tokens,
                    "price": each.cost.price,
                }
                for name, each in self.estimates.items()
            },
            "distances": [
                {"design": each.first, "from": each.second, "signed": _plain(each.signed),
                 "absolute": _plain(each.absolute), "slope": _plain(each.slope)}
                for each in self.distances
            ],
            "drift": [
                {"covariate": each.covariate, "levels": each.contrast, "drift": _plain(each.drift),
                 "verdict": each.verdict, "p_constant": _number(each.p_constant), "p_drifts": _number(each.p_drifts),
                 "bias": None if each.bias is None else _plain(each.bias)}
                for each in self.drifts
            ],
            "focalism": [
                {"covariate": each.covariate, "jump": _plain(each.jump), "p": _number(each.p),
                 "step_share": _number(each.step_share), "verdict": each.verdict}
                for each in self.focalism
            ],
            "ranges": [
                {"design": each.design, "level": each.level, "difference": _plain(each.difference),
                 "p": _number(each.p), "verdict": each.verdict}
                for each in self.ranges
            ],
            "runs": dict(self.runs),
        }  # fmt: skip


def estimate_text(estimate: Estimate) -> str:
    """An estimate with its interval, in short.

    Example:
        >>> estimate_text(Estimate(-1.234, -1.5, -0.9, 10))
        '-1.23 [-1.50, -0.90]'
        >>> estimate_text(Estimate(0.0003, -0.0028, 0.0033, 10))
        '0.0003 [-0.0028, 0.0033]'
    """
    if math.isnan(estimate.value):
        return "not measured"
    if math.isnan(estimate.low):
        return f"{_decimal(estimate.value)} (nothing varies)"
    width = estimate.high - estimate.low
    # A short interval must not look as if it had no width.
    digits = min(6, max(2, 1 - math.floor(math.log10(width)))) if 0 < width < math.inf else 2
    return "{} [{}, {}]".format(*(_decimal(x, digits) for x in (estimate.value, estimate.low, estimate.high)))


def _decimal(value: float, digits: int = 2) -> str:
    """A number with so many decimals, without the sign of a zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _drift_text(drift: Drift, study: CausalStudy) -> str:
    name, noun = drift.covariate.replace("_", " "), study.treatment.words
    if drift.verdict == "not measured":
        return f"Drift: {name} has too few valid answers at some levels of {noun}."
    words = {
        "constant": f"does not change with the {noun}",
        "drifts": f"changes with the {noun}, so a blind prompt is confounded by it",
        "undecided": f"may or may not change with the {noun}: ask more people",
    }[drift.verdict]
    text = f"Drift: {name} {words} ({estimate_text(drift.drift)} SD from {drift.contrast})."
    if drift.bias is not None:
        text += f" This adds {estimate_text(drift.bias)} to the slope of the blind design."
    return text


def _focalism_text(focalism: Focalism) -> str:
    name = focalism.covariate.replace("_", " ")
    if focalism.verdict == "not measured":
        return f"Focalism: the answers cannot show whether there is a step at the stated {name}."
    if focalism.verdict == "step":
        return f"Focalism: the answers jump by {estimate_text(focalism.jump)} in log-odds at the stated {name}."
    return f"Focalism: no step found at the stated {name} (jump {estimate_text(focalism.jump)} in log-odds)."


def _range_text(effect: RangeEffect) -> str:
    if effect.verdict == "not measured":
        return f"Range: the design {effect.design} has too few valid answers at {effect.level:g} inside both ranges."
    words = "matters" if effect.verdict == "range matters" else "has no effect that was found"
    return (
        f"Range: in the design {effect.design}, the range of levels {words}: at {effect.level:g} the upper range gives "
        f"{estimate_text(effect.difference)} more than the lower."
    )


def _plain(estimate: Estimate) -> dict[str, float | int | None]:
    ends = {"value": _number(estimate.value), "low": _number(estimate.low), "high": _number(estimate.high)}
    return ends | {"n": estimate.n}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
