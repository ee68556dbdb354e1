"""Linear mixed models: fixed effects with runs, models, raters or communities as random ones."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.statistics.intervals import Estimate, estimates_table
from populace.statistics.values import Numbers, check_count, check_level, complete_rows, constant, library, numeric


@dataclass(frozen=True)
class Coefficient:
    """One fixed effect.

    Assumes what its model assumes.

    Attributes:
        name: The column, with `[level]` where it is one level against the first.
        estimate: The coefficient with its interval.
        p: Probability of one as large if there were none (Wald).
    """

    name: str
    estimate: Estimate
    p: float


@dataclass(frozen=True)
class MixedModel:
    """A linear mixed model, fitted by restricted likelihood.

    Assumes a linear effect of every fixed column, and that random effects and residuals are normal and independent
    of each other and of the fixed columns, and that a fixed effect is the same at every level of a random factor.
    Where effects vary from model to model the intervals are too short, and `words` says so: use `effect_over`.
    Intervals are Wald's: with fewer than some ten levels of a random factor they are too short.

    Attributes:
        coefficients: The fixed effects.
        variances: The variance that each random factor adds, and that of the `residual`.
        levels: How many levels each random factor has.
        converged: Whether the fit converged to a usable result.
        words: A sentence about the quality of the fit.
        n: The number of rows.
        dropped: Rows left out because something was missing.
    """

    coefficients: tuple[Coefficient, ...]
    variances: dict[str, float]
    levels: dict[str, int]
    converged: bool
    words: str
    n: int
    dropped: int

    def __getitem__(self, name: str) -> Coefficient:
        for coefficient in self.coefficients:
            if coefficient.name == name:
                return coefficient
        raise UsageError(
            f"the model has no coefficient {name!r}.", f"It has {', '.join(c.name for c in self.coefficients)}."
        )

    def table(self) -> pl.DataFrame:
        """One row for each fixed effect."""
        names, p = [c.name for c in self.coefficients], pl.Series("p", [c.p for c in self.coefficients])
        return estimates_table([c.estimate for c in self.coefficients], name=names).insert_column(4, p)


def fit_mixed_model(
    frame: pl.DataFrame, outcome: str, fixed: Sequence[str], random: Sequence[str], level: float = 0.95
) -> MixedModel:
    """Fit a linear mixed model with crossed random intercepts.

    Args:
        frame: One row for each observation; rows with something missing are dropped and counted.
        outcome: The column to explain.
        fixed: Columns with fixed effects: numbers as they are, others as levels against the first in order.
            `"a:b"` is the interaction of two of them.
        random: Columns whose levels are a sample of many, such as seed, model, rater or community.
        level: The confidence level.
    """
    check_level(level)
    if not random:
        raise UsageError("a mixed model needs a random factor.", "Without one, use one_way or difference.")
    parts = [name.split(":") for name in fixed]
    rows, dropped = complete_rows(frame, [outcome, *(column for part in parts for column in part), *random])
    y = numeric(rows, outcome)
    names, design = fixed_design(rows, parts)
    check_count(len(y), len(names) + len(random) + 1, f"the outcome {outcome!r}", "this mixed model")
    if constant(y):
        raise UsageError(f"every value of {outcome!r} is equal, so there is no variance to explain.")
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise UsageError(
            "the fixed effects cannot be told apart: one column follows from the others.",
            "Leave one of them out, or run the combinations that are missing.",
        )
    levels = {name: rows[name].n_unique() for name in random}
    for name, count in levels.items():
        if not 2 <= count < len(y):
            raise UsageError(
                f"the random factor {name!r} has {count} levels in {len(y)} rows.",
                "It needs at least two, and some with more than one row.",
            )
    fit, fit_warnings = _fit(y, design, rows, list(random))
    ends = np.asarray(fit.conf_int(alpha=1 - level))[: len(names)]
    table = np.column_stack([fit.fe_params, ends, np.asarray(fit.pvalues)[: len(names)]]).tolist()
    basis = (len(y), level, "mixed model (Wald)", dropped)
    coefficients = tuple(
        Coefficient(name, Estimate(value, low, high, *basis), p)
        for name, (value, low, high, p) in zip(names, table, strict=True)
    )
    variances = dict(zip(random, map(float, fit.vcomp), strict=True)) | {"residual": float(fit.scale)}
    usable = bool(fit.converged) and bool(np.isfinite(ends).all())
    words = [_fit_summary(usable, variances, fit_warnings), *_common_effects(rows, parts, list(random))]
    return MixedModel(coefficients, variances, levels, usable, " ".join(words), len(y), dropped)


def fixed_design(frame: pl.DataFrame, parts: list[list[str]]) -> tuple[list[str], Numbers]:
    """Names and columns of an intercept and of terms: numbers as they are, others as levels against the first."""
    names, columns = ["intercept"], [np.ones(frame.height)]
    for part in parts:
        terms: list[tuple[str, Numbers]] = [("", np.ones(frame.height))]
        for name in part:
            terms = [
                (f"{head}:{tail}".strip(":"), left * right)
                for head, left in terms
                for tail, right in _columns(frame, name)
            ]
        names += [name for name, _ in terms]
        columns += [column for _, column in terms]
    return names, np.column_stack(columns)


def _columns(frame: pl.DataFrame, name: str) -> list[tuple[str, Numbers]]:
    column = frame[name]
    known = column.unique().sort().to_list()
    if len(known) < 2:
        raise UsageError(f"the fixed factor {name!r} has one level, {known[0] if known else None!r}.", "Leave it out.")
    if column.dtype.is_numeric():
        return [(name, numeric(frame, name))]
    return [(f"{name}[{one}]", (column == one).to_numpy().astype(np.float64)) for one in known[1:]]


def _fit(y: Numbers, design: Numbers, frame: pl.DataFrame, random: list[str]) -> tuple[Any, list[str]]:
    """Crossed random factors are variance components of one group that holds every row."""
    model = library("statsmodels.regression.mixed_linear_model")
    codes = [frame[name].rank("dense").cast(pl.Int64).to_numpy() - 1 for name in random]
    mats = [[np.eye(int(code.max()) + 1)[code]] for code in codes]
    labels = [[[str(i) for i in range(mat[0].shape[1])]] for mat in mats]
    # One factor alone is a group of its own, which is the same model and quicker to fit.
    single = len(random) == 1
    groups = codes[0] if single else np.zeros(len(y), dtype=np.int64)
    components = None if single else model.VCSpec(random, labels, mats)
    extra: dict[str, Any] = {} if single else {"exog_re": np.empty((len(y), 0)), "exog_vc": components}
    fit, fit_warnings = None, []
    for method in ("bfgs", "lbfgs", "powell"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                candidate = model.MixedLM(y, design, groups, **extra).fit(reml=True, method=[method])
                candidate.conf_int()
            except np.linalg.LinAlgError:
                continue
        fit = candidate
        fit_warnings = [str(warning.message) for warning in caught]
        if fit.converged:
            break
    if fit is None:
        raise UsageError(
            "the mixed model could not be fitted: its equations have no single solution.",
            "Leave out a random factor that hardly varies, or run more of its levels.",
        )
    if single:
        fit.vcomp = np.atleast_1d(np.asarray(fit.cov_re)[0, 0])
    return fit, fit_warnings


def _fit_summary(usable: bool, variances: dict[str, float], fit_warnings: list[str]) -> str:
    residual = variances["residual"]
    nothing = [name for name, variance in variances.items() if name != "residual" and variance <= 1e-6 * residual]
    if not usable:
        reason = f" ({fit_warnings[0]})" if fit_warnings else ""
        return f"The fit did not converge{reason}; do not use its numbers."
    if nothing:
        return f"The fit converged; the variance of {' and '.join(nothing)} is at zero."
    return "The fit converged."


def _common_effects(frame: pl.DataFrame, parts: list[list[str]], random: list[str]) -> list[str]:
    """A sentence about the fixed columns that vary within the levels of a random factor, whose effects may too."""
    names = dict.fromkeys(part[0] for part in parts if len(part) == 1)
    inside = {
        name: [factor for factor in random if (frame.group_by(factor).agg(pl.col(name).n_unique())[name] > 1).any()]
        for name in names
    }
    return [
        f"The interval of {name} assumes that its effect is the same at every level of {' and '.join(factors)}; "
        "effect_over does not."
        for name, factors in inside.items()
        if factors
    ]
