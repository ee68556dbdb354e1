"""All comparisons of an experiment as one family."""

import polars as pl

from populace.base.errors import PopulaceError, UsageError
from populace.experiments.results import Results
from populace.statistics import adjust


def family_effects(results: Results, *, correction: str = "holm", level: float = 0.95) -> pl.DataFrame:
    """The effects on every outcome that is a number, corrected for the comparisons of all outcomes together.

    `Results.effects` corrects within one outcome. Here `p_adjusted` counts the comparisons on all outcomes, and
    `low_all` to `high_all` are intervals that hold for all of them together (Bonferroni).

    Args:
        results: The results of an experiment.
        correction: `holm`, `bh` or `bonferroni`.
        level: The confidence level.
    """
    names = []
    for outcome in results.experiment.outcomes:
        try:
            results.effects(outcome.name, level=level)
        except PopulaceError:
            continue  # a text, or an outcome that no run has
        names.append(outcome.name)
    if not names:
        raise UsageError(f"{results.name} has no outcome that is a number in two arms.")
    # A table of one outcome divides what may be missed by its own comparisons; the rest is for the other outcomes.
    narrow = {name: results.effects(name, level=1 - (1 - level) / len(names)) for name in names}
    tables = []
    for name in names:
        table = results.effects(name, level=level).with_columns(narrow[name]["low_all"], narrow[name]["high_all"])
        tables.append(table.insert_column(0, pl.lit(name).alias("outcome")))
    family = pl.concat(tables)
    return family.with_columns(p_adjusted=pl.Series(adjust(family["p"], correction)).fill_nan(None))
