"""The effect of a change of design: runs with the same seeds before and after it, judged by the same judges."""

from collections.abc import Sequence

import polars as pl

from populace.base.errors import UsageError
from populace.base.formatting import plural
from populace.community.judgements import Judgements
from populace.statistics import adjust, difference


def design_effects(before: Sequence[Judgements], after: Sequence[Judgements], *, level: float = 0.95) -> pl.DataFrame:
    """The change in the share of yes from one design to another, by question, over pairs of runs with equal seeds.

    Args:
        before: The judgements of the runs of the first design, one for each seed.
        after: Those of the second design, with the same seeds.
        level: The confidence level of the intervals.

    Returns:
        A row for each question that was asked about all runs: the mean rates, the `effect` (after minus before) with
        its interval, `p`, `p_adjusted` (Holm, over the questions), and the number of pairs.
    """
    first, second = _rates(before), _rates(after)
    if sorted(first) != sorted(second):
        raise UsageError(
            f"the seeds before are {_seed_list(first)} and after {_seed_list(second)}, so the runs cannot be paired.",
            "Run both designs with the same seeds.",
        )
    seeds = sorted(first)
    shared = set.intersection(*(set(rates) for rates in [*first.values(), *second.values()])) if seeds else set()
    questions = [name for name in first[seeds[0]] if name in shared] if seeds else []
    tables = [
        pl.DataFrame({"seed": seeds, **{name: [rates[seed][name] for seed in seeds] for name in questions}})
        for rates in (first, second)
    ]
    return rate_effects(*tables, level=level)


def rate_effects(before: pl.DataFrame, after: pl.DataFrame, *, level: float = 0.95) -> pl.DataFrame:
    """The result of `design_effects` from tables of rates, with a row for each seed and a column for each question.

    Args:
        before: The rates of the first design, with a column `seed`.
        after: The rates of the second.
        level: The confidence level of the intervals.

    Example:
        >>> effects = rate_effects(
        ...     pl.DataFrame({"seed": [1, 2, 3], "spam": [0.4, 0.5, 0.45]}),
        ...     pl.DataFrame({"seed": [1, 2, 3], "spam": [0.2, 0.24, 0.25]}),
        ... )
        >>> round(effects["effect"][0], 2), effects["high"][0] < 0
        (-0.22, True)
    """
    paired = before.join(after, on="seed", suffix="_after", validate="1:1")
    if paired.height < 2:
        raise UsageError(
            f"{plural(paired.height, 'pair')} of runs cannot give an interval.",
            "Run each design with at least two seeds.",
        )
    rows = []
    for name in before.columns:
        if name == "seed":
            continue
        change = difference(
            paired[f"{name}_after"].to_numpy(), paired[name].to_numpy(), paired=True, method="t", level=level
        )
        rows.append(
            {
                "question": name,
                "before": float(paired[name].mean() or 0.0),  # type: ignore[arg-type]
                "after": float(paired[f"{name}_after"].mean() or 0.0),  # type: ignore[arg-type]
                "effect": change.estimate.value,
                "low": change.estimate.low,
                "high": change.estimate.high,
                "p": change.p,
                "pairs": paired.height,
            }
        )
    if not rows:
        raise UsageError("no question was asked about all of the runs.", "Judge them with the same questions.")
    effects = pl.DataFrame(rows)
    # One comparison needs no correction.
    return effects.with_columns(p_adjusted=pl.Series(adjust(effects["p"].to_numpy(), "holm")) if len(rows) > 1 else "p")


def _rates(runs: Sequence[Judgements]) -> dict[int, dict[str, float]]:
    rates: dict[int, dict[str, float]] = {}
    judges = {tuple(sorted(run.judges)) for run in runs}
    if len(judges) > 1:
        raise UsageError("the runs were judged by different judges.", "Judge all of them with the same models.")
    for run in runs:
        seed = run.community.run.manifest.regime.seed
        if seed in rates:
            raise UsageError(f"two runs of one design have the seed {seed}.", "Give one run for each seed.")
        by_question = run.by_post().group_by("question", maintain_order=True).agg(pl.col("is_yes").mean())
        rates[seed] = dict(by_question.iter_rows())
    return rates


def _seed_list(rates: dict[int, dict[str, float]]) -> str:
    return ", ".join(map(str, sorted(rates))) or "none"
