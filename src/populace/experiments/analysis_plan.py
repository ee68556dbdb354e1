"""An analysis plan: what will be compared, and how, stated and hashed before there are data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

import polars as pl
import pydantic

from populace.base.document_lines import at_entry
from populace.base.errors import UnknownNameError, UsageError
from populace.experiments.arms import level_text
from populace.questions import STATUSES
from populace.statistics import look_levels

COUNT_COLUMNS = (
    *(f"answers_{status}" for status in STATUSES),
    *("replicate", "seed", "steps", "decisions", "calls", "reused", "tokens", "cost"),
)
"""The numbers that every table of runs may have; answers of a status that no run had have no column."""

PlanStatus = Literal["planned", "added after data", "not planned", "no plan"]


def _read_level(level: Any) -> Any:
    return level_text(level) if isinstance(level, (bool, int, float)) else level


class PlanContrast(pydantic.BaseModel):
    """Comparisons that are planned on one outcome.

    Attributes:
        outcome: The outcome.
        factor: Compare the levels of this factor; otherwise arms are compared.
        of: The arm or level that is compared; all others by default.
        baseline: The arm or level that it is compared with; the first by default.

    Example:
        >>> PlanContrast(outcome="share_blue", factor="initial_share").of is None
        True
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    outcome: str
    factor: str | None = None
    of: Annotated[str | None, pydantic.BeforeValidator(_read_level)] = None
    baseline: Annotated[str | None, pydantic.BeforeValidator(_read_level)] = None


class Exclusion(pydantic.BaseModel):
    """Runs that are left out of all comparisons and count as missing.

    Attributes:
        column: A column of the table of runs: an outcome, or a count such as `answers_unparseable`.
        above: Leave out runs above this value.
        below: Leave out runs below this value.

    Example:
        >>> Exclusion(column="answers_unparseable", above=3).column
        'answers_unparseable'
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    column: str
    above: float | None = None
    below: float | None = None

    @pydantic.model_validator(mode="after")
    def _check_bounds(self) -> Exclusion:
        if self.above is None and self.below is None:
            raise ValueError("an exclusion says above or below which value runs are left out")
        return self

    def applies(self, columns: Collection[str]) -> pl.Expr:
        """Whether a run of a table with these columns is left out; a status that no run had counts 0 in all."""
        if self.column not in columns and self.column not in COUNT_COLUMNS:
            raise UnknownNameError("column of the runs", self.column, columns, "The plan excludes by it.")
        value = pl.col(self.column) if self.column in columns else pl.lit(0)
        conditions = [value > self.above] if self.above is not None else []
        conditions += [value < self.below] if self.below is not None else []
        return pl.any_horizontal(conditions).fill_null(False)


def _read_contrasts(contrasts: Any) -> Any:
    items = [contrasts] if isinstance(contrasts, (str, Mapping, PlanContrast)) else contrasts
    if not isinstance(items, list | tuple):
        raise ValueError("contrasts are a list, such as [{outcome: share_blue, factor: initial_share}]")
    return [{"outcome": each} if isinstance(each, str) else each for each in items]


class AnalysisPlan(pydantic.BaseModel):
    """What will be compared, and how.

    Attributes:
        contrasts: The comparisons; an outcome alone stands for all arms against the first.
        alpha: The size of the tests of one outcome together.
        correction: For the number of comparisons.
        method: `t`, `bootstrap`, `bootstrap-t` or `permutation`.
        looks: The numbers of replicates at which results will be looked at. Alpha is then spent over the looks.
        exclusions: Runs that are left out.

    Example:
        >>> plan = AnalysisPlan(contrasts=["share_blue"], looks=[20, 40])
        >>> round(plan.level_at(20), 3), plan.hash != AnalysisPlan(contrasts=["share_blue"]).hash
        (0.975, True)
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    contrasts: Annotated[list[PlanContrast], pydantic.BeforeValidator(_read_contrasts)] = pydantic.Field(min_length=1)
    alpha: Annotated[float, pydantic.Field(gt=0, lt=1)] = 0.05
    correction: Literal["holm", "bh", "bonferroni"] = "holm"
    method: Literal["t", "bootstrap", "bootstrap-t", "permutation"] = "t"
    looks: list[int] = pydantic.Field(default=[])
    exclusions: list[Exclusion] = pydantic.Field(default=[])

    @property
    def hash(self) -> str:
        """One hash for everything that the plan says."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def check(self, outcomes: Collection[str], factors: Mapping[str, Collection[str]], arms: Sequence[str]) -> None:
        """Raise an error if it names an outcome, factor, level, arm or column that the experiment does not have."""
        for number, each in enumerate(self.contrasts):
            with at_entry("contrasts", number):
                if each.outcome not in outcomes:
                    raise UnknownNameError("outcome", each.outcome, outcomes, "The plan names an outcome.")
                if each.factor is not None and each.factor not in factors:
                    raise UnknownNameError("factor", each.factor, factors, "The plan names a factor.")
                known = list(arms) if each.factor is None else list(factors[each.factor])
                for name in (each.of, each.baseline):
                    if name is not None and name not in known:
                        kind = "arm" if each.factor is None else f"level of {each.factor}"
                        raise UnknownNameError(kind, name, known, "The plan compares it.")
        columns = [*outcomes, *COUNT_COLUMNS]
        for number, exclusion in enumerate(self.exclusions):
            with at_entry("exclusions", number):
                if exclusion.column not in columns:
                    raise UnknownNameError("column", exclusion.column, columns, "The plan excludes by it.")
        if self.looks:
            with at_entry("looks"):
                look_levels(self.looks, self.alpha)

    def level_at(self, replicates: int) -> float:
        """The confidence level at a look; where looks are planned it spends alpha over them."""
        if not self.looks:
            return 1 - self.alpha
        if replicates not in self.looks:
            raise UsageError(
                f"no look is planned at {replicates} replicates, but at {', '.join(map(str, self.looks))}.",
                "Run until a planned look, or compare with plan=False.",
            )
        return 1 - look_levels(self.looks, self.alpha)[self.looks.index(replicates)]

    def holds(self, outcome: str, factor: str | None, of: str, baseline: str, first: str) -> bool:
        """Whether it plans a comparison; `first` is the first arm or level."""
        return any(
            each.outcome == outcome
            and each.factor == factor
            and each.of in (None, of)
            and (each.baseline or first) == baseline
            for each in self.contrasts
        )


class PlanRecord(pydantic.BaseModel):
    """An analysis plan as it stands in the folder of an experiment.

    Attributes:
        hash: The hash of the plan.
        frozen: When it was frozen, by the clock of the caller.
        runs: The number of runs that had ended by then: 0 where it was frozen before there were data.
        plan: The plan.
    """

    hash: str
    frozen: str
    runs: int = pydantic.Field(ge=0)
    plan: AnalysisPlan

    @property
    def when(self) -> str:
        """When it was frozen, in words."""
        before = "before any run" if not self.runs else f"after {self.runs:,} runs had ended"
        return f"{self.frozen}, {before}"


def plan_status(
    plans: Sequence[PlanRecord], outcome: str, factor: str | None, of: str, baseline: str, first: str
) -> PlanStatus:
    """Whether a comparison was planned before there were data, was added later, or never."""
    if not plans:
        return "no plan"
    comparison = (outcome, factor, of, baseline, first)
    if any(each.plan.holds(*comparison) for each in plans if not each.runs):
        return "planned"
    return "added after data" if any(each.plan.holds(*comparison) for each in plans) else "not planned"
