"""First and family names for simulated people.

Names are drawn without repetition, so that no two people of a population have the same name: first names alone while
there are enough, then first and family names, then with initials between them.
"""

import string
import tomllib
from pathlib import Path

import numpy as np
import polars as pl

_LISTS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
FEMALE, MALE, FAMILY = (tuple(_LISTS[key]) for key in ("female", "male", "family"))

_FIRSTS, _FAMILIES = pl.Series("first", FEMALE + MALE), pl.Series("family", FAMILY)
_INITIALS = pl.Series([f"{letter}." for letter in string.ascii_uppercase])
_SEXES = pl.Series("sex", ["female", "male"], dtype=pl.Enum(["female", "male"]))


def draw_names(count: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw `count` distinct names with the sex that each first name suggests.

    Example:
        >>> draw_names(3, np.random.default_rng(1)).columns
        ['name', 'sex']
    """
    firsts, families, letters = _FIRSTS, _FAMILIES, _INITIALS
    short = count <= len(firsts)
    total = len(firsts) if short else len(firsts) * len(families)
    initials = 0
    while total < count:
        total *= len(letters)
        initials += 1
    index = rng.choice(total, count, replace=False)
    first, rest = index % len(firsts), index // len(firsts)
    columns = [firsts[pl.Series(first)]]
    for number in range(initials):
        columns.append(letters[pl.Series(rest % len(letters))].alias(f"initial{number}"))
        rest = rest // len(letters)
    if not short:
        columns.append(families[pl.Series(rest)])
    name = columns[0] if short else pl.select(pl.concat_str(columns, separator=" ")).to_series()
    sex = _SEXES[pl.Series((first >= len(FEMALE)).astype(np.uint8))]
    return pl.DataFrame([name.alias("name"), sex])
