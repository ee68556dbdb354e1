"""Who decides for whom: a column of the population says so, or the settings of the run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UnknownNameError
from populace.prompting import Inquiry

DECIDERS = ("model", "rule", "replay")
Rows = npt.NDArray[np.int64]


def by_decider(inquiry: Inquiry) -> list[tuple[Rows, str, Inquiry]]:
    """The people of an inquiry by who decides for them."""
    return _split(inquiry, "decider", inquiry.decider)


def by_model(inquiry: Inquiry) -> list[tuple[Rows, str, Inquiry]]:
    """Those for whom a model decides, by which one."""
    parts = []
    for rows, decider, part in by_decider(inquiry):
        if decider == "model":
            parts += [(rows[inner], spec, mine) for inner, spec, mine in _split(part, "model", inquiry.model)]
    return parts


def _split(inquiry: Inquiry, column: str, default: str) -> list[tuple[Rows, str, Inquiry]]:
    everybody = np.arange(len(inquiry.people))
    if column not in inquiry.people:
        return [(everybody, default, inquiry)]
    given = inquiry.people[column].cast(pl.String).fill_null(default)
    names = given.unique(maintain_order=True).to_list()
    if column == "decider":
        for name in names:
            if name not in DECIDERS:
                raise UnknownNameError("decider", name, DECIDERS)
    if len(names) == 1:
        return [(everybody, names[0], inquiry)]
    parts = [(np.flatnonzero((given == name).to_numpy()), name) for name in names]
    return [(rows, name, inquiry.about(rows)) for rows, name in parts]
