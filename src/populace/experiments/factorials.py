"""Main effects and interactions of an experiment in which all combinations of levels were run."""

import polars as pl

from populace.experiments.results import Results
from populace.statistics import factorial_tests


def factorial_effects(
    results: Results, outcome: str | None = None, *, order: int = 2, correction: str = "holm", level: float = 0.95
) -> pl.DataFrame:
    """A test of every main effect and interaction, each averaged over the levels of the other factors.

    With common random numbers a replicate in which all arms ended is one observation; without, runs are independent.
    The tests are those of `factorial_tests`.

    Args:
        results: The results of an experiment.
        outcome: The outcome; the primary one by default.
        order: The largest number of factors in an interaction.
        correction: For the number of terms: `holm`, `bh` or `bonferroni`.
        level: The confidence level.

    Returns:
        A row for each term: its degrees of freedom, `f`, `p`, `p_adjusted`, `n`, `missing` (runs without a value;
        with common random numbers, their whole replicates are left out), `warning`. A term of factors with two
        levels has an `effect` with its interval: the difference between the levels, or the difference of such
        differences; `contrast` says of which. `bound_low` and `bound_high` are this effect over all runs if the missing
        values were the smallest or largest possible ones: 0 and 1 for a share, otherwise those of any run.
    """
    name = outcome or results.experiment.primary.name
    runs = results.values(name)
    return factorial_tests(
        runs,
        name,
        list(results.experiment.factors),
        replicate="replicate" if results.experiment.paired else None,
        order=order,
        correction=correction,
        level=level,
        ends=(0.0, 1.0) if results.is_share(name) else None,
    )
