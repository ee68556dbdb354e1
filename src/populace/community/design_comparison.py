"""What a change of design changes: the same seeds before and after, judged by the same judges."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from populace.base.errors import UsageError
from populace.community.judgements import Judgements
from populace.statistics import adjust, difference


def design_effects(before: Sequence[Judgements], after: Sequence[Judgements], *, level: float = 0.95) -> pl.DataFrame:
    """How the share of yes changes from one design to another, by question, over pairs of runs with equal seeds.

    Args:
        before: The judged runs of the first design, one for each seed.
        after: Those of the second design, with the same seeds.
        level: The confidence level of the intervals.

    Returns:
        A row for each question that was put to all of them: the mean rates, the `effect` (after minus before) with
        its interval, `p`, `p_adjusted` (Holm, over the questions), and how many pairs there are.
    """
    first, second = (_rates(each) for each in (before, after))
    if sorted(first) != sorted(second):
        raise UsageError(
            f"the seeds before are {_listed(first)} and after {_listed(second)}, so they make no pairs.",
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
    """The same, from tables of rates: a row for each seed, and a column for each question.

    Args:
        before: The rates of the first design, with a column `seed`.
        after: The rates of the second.
        level: The confidence level of the intervals.

    Example:
        >>> made = rate_effects(
        ...     pl.DataFrame({"seed": [1, 2, 3], "spam": [0.4, 0.5, 0.45]}),
        ...     pl.DataFrame({"seed": [1, 2, 3], "spam": [0.2, 0.24, 0.25]}),
        ... )
        >>> round(made["effect"][0], 2), made["high"][0] < 0
        (-0.22, True)
    """
    paired = before.join(after, on="seed", suffix="_after", validate="1:1")
    if paired.height < 2:
        raise UsageError(f"{paired.height} pairs of runs give no interval.", "Run each design with at least two seeds.")
    rows = []
    for name in before.columns:
        if name == "seed":
            continue
        found = difference(
            paired[f"{name}_after"].to_numpy(), paired[name].to_numpy(), paired=True, method="t", level=level
        )
        rows.append(
            {
                "question": name,
                "before": float(paired[name].mean() or 0.0),  # type: ignore[arg-type]
                "after": float(paired[f"{name}_after"].mean() or 0.0),  # type: ignore[arg-type]
                "effect": found.estimate.value,
                "low": found.estimate.low,
                "high": found.estimate.high,
                "p": found.p,
                "pairs": paired.height,
            }
        )
    if not rows:
        raise UsageError("no question was put to all of the runs.", "Judge them with the same questions.")
    made = pl.DataFrame(rows)
    # One comparison needs no correction.
    return made.with_columns(p_adjusted=pl.Series(adjust(made["p"].to_numpy(), "holm")) if len(rows) > 1 else "p")


def _rates(judged: Sequence[Judgements]) -> dict[int, dict[str, float]]:
    """For each seed, the share of yes by question, over all posts and judges."""
    found: dict[int, dict[str, float]] = {}
    judges = {tuple(sorted(each.judges)) for each in judged}
    if len(judges) > 1:
        raise UsageError("the runs were judged by different judges.", "Judge all of them with the same models.")
    for each in judged:
        run = each.community.run
        seed = run.manifest.regime.seed
        if seed in found:
            raise UsageError(f"two runs of one design have the seed {seed}.", "Give one run for each seed.")
        said = each.by_post().group_by("question", maintain_order=True).agg(pl.col("said").mean())
        found[seed] = dict(said.iter_rows())
    return found


def _listed(found: dict[int, dict[str, float]]) -> str:
    return ", ".join(map(str, sorted(found))) or "none"
