"""Traits distributed over a population in given proportions."""

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from populace.base.errors import PeopleError

_LISTS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("traits.toml").read_text("utf-8"))
OCCUPATIONS, TEMPERS, PASTIMES = (tuple(_LISTS[key]) for key in ("occupations", "tempers", "pastimes"))
"""Traits that tell people apart where they are made by rule."""


def draw_column(count: int, shares: Mapping[str, float], *, seed: int | np.random.Generator | None = None) -> pl.Series:
    """Draw a value for each of `count` people, in the given proportions as nearly as whole people allow.

    People left over by rounding go to the largest remainders.

    Args:
        count: The number of people.
        shares: A weight for each value; the weights need not add up to 1.
        seed: Shuffles the values; without one they come in the order of `shares`.

    Example:
        >>> draw_column(5, {"calm": 2, "bold": 1}).to_list()
        ['calm', 'calm', 'calm', 'bold', 'bold']
    """
    if not isinstance(shares, Mapping):
        values = dict.fromkeys(shares, 1) if isinstance(shares, list | tuple | set) else {}
        raise PeopleError(
            f"the proportions {shares!r} give no weight for each value.",
            f"Write: {values or {'calm': 2, 'bold': 1}}",
        )
    try:
        weights = np.array(list(shares.values()), dtype=float)
    except (TypeError, ValueError) as error:
        raise PeopleError(f"the proportions {dict(shares)} are not numbers.", "Give each value a weight.") from error
    if not len(weights) or (weights < 0).any() or not 0 < weights.sum() < np.inf:
        raise PeopleError(f"the proportions {dict(shares)} are not proportions.", "Give each value a weight above 0.")
    exact = weights / weights.sum() * count
    whole = np.floor(exact).astype(np.int64)
    left = count - int(whole.sum())
    whole[np.argsort(-(exact - whole), kind="stable")[:left]] += 1
    codes = np.repeat(np.arange(len(weights), dtype=np.uint32), whole)
    if seed is not None:
        rng = np.random.default_rng(seed)
        codes = rng.permutation(codes)
    return _values(tuple(shares))[pl.Series(codes)]


@functools.lru_cache(maxsize=256)
def _values(names: tuple[str, ...]) -> pl.Series:
    """Every value once, as an Enum column; cached because an Enum type is slow to make."""
    return pl.Series("mix", names, dtype=pl.Enum(names))
