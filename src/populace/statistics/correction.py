"""Correction for many comparisons made at once."""

from __future__ import annotations

import numpy as np

from populace.base.errors import UsageError
from populace.statistics.values import Numbers, Values, check_choice, library

_METHODS = {"holm": "holm", "bh": "fdr_bh", "bonferroni": "bonferroni"}


def adjust(p_values: Values, method: str = "holm") -> Numbers:
    """P-values adjusted for the number of comparisons.

    `holm` and `bonferroni` bound the chance of any false finding and assume nothing; `bh` (Benjamini and Hochberg)
    bounds the share of false ones among the findings and assumes independent or positively dependent tests.
    A p-value that is missing (NaN, None) stays so and counts as no test.

    Args:
        p_values: The p-values of every comparison that was made, not only of those that are shown.
        method: `holm`, `bh` or `bonferroni`.

    Example:
        >>> adjust([0.01, 0.04, 0.03], "holm")
        array([0.03, 0.06, 0.06])
    """
    how = _METHODS[check_choice("correction", method, tuple(_METHODS))]
    raw = np.array([np.nan if p is None else p for p in p_values], dtype=np.float64)
    tested = ~np.isnan(raw)
    if ((raw[tested] < 0) | (raw[tested] > 1)).any():
        raise UsageError("a p-value lies between 0 and 1.")
    if tested.any():
        raw[tested] = library("statsmodels.stats.multitest").multipletests(raw[tested], method=how)[1]
    return raw
