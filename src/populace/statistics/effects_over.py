"""An effect over models, wordings, raters or communities: each of them gives one effect, and these vary."""

import polars as pl

from populace.base.errors import UnknownNameError, UsageError
from populace.statistics.effects import difference
from populace.statistics.values import check_level, complete_rows, numeric


def effect_over(
    frame: pl.DataFrame, outcome: str, factor: str, over: str, *, baseline: str | None = None, level: float = 0.95
) -> pl.DataFrame:
    """The effect of a factor, averaged over units that are a sample of many, with an interval by t over their effects.

    Each unit gives one effect, the difference of its means, so that effects may vary from unit to unit, as with random
    slopes. Many runs of few units do not make the interval short: it speaks about units that were not run. Assumes
    that the effects of the units are independent and about normal.

    Args:
        frame: One row for each run; rows with something missing are dropped and counted.
        outcome: The column of the outcome.
        factor: The column whose levels are compared.
        over: The column of the units: models, wordings, raters, communities.
        baseline: The level to compare with; the first by default.
        level: The confidence level.

    Returns:
        A row for each other level: `effect`, `low`, `high`, `p`, `sd` (of the effects of units), `units`, `warning`.

    Example:
        >>> runs = pl.DataFrame({"told": ["no", "yes"] * 3, "model": list("aabbcc"), "y": [1.0, 2, 1, 4, 0, 3]})
        >>> effect_over(runs, "y", "told", "model").select("effect", "units").row(0)
        (2.3333333333333335, 3)
    """
    check_level(level)
    rows, dropped = complete_rows(frame, (outcome, factor, over))
    numeric(rows, outcome)
    texts = rows.with_columns(pl.col(factor).cast(pl.String))
    levels = texts[factor].unique(maintain_order=True).to_list()
    first = levels[0] if baseline is None and levels else str(baseline)
    if first not in levels:
        raise UnknownNameError(f"level of {factor}", first, levels)
    wide = texts.pivot(on=factor, index=over, values=outcome, aggregate_function="mean")
    found = []
    for other in levels:
        if other == first:
            continue
        pairs = wide.select(first, other).drop_nulls()
        if pairs.height < 2:
            raise UsageError(
                f"{pairs.height} of {wide.height} levels of {over!r} have runs of {first!r} and of {other!r}.",
                "An effect over units needs at least two of them.",
            )
        effect = difference(pairs[other], pairs[first], paired=True, level=level, share=False)
        estimate = effect.estimate
        found.append(
            {
                factor: other,
                "baseline": first,
                "effect": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "p": effect.p,
                "sd": float((pairs[other] - pairs[first]).std() or 0.0),
                "units": pairs.height,
                "dropped": dropped,
                "warning": estimate.warning.replace("values", "units"),
            }
        )
    if not found:
        raise UsageError(f"the factor {factor!r} has one level.", "Run it at two levels or more.")
    return pl.DataFrame(found)
