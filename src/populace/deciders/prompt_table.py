"""The journal's rows for the conversations of an inquiry."""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np
import polars as pl

from populace.base.templates import FEW
from populace.deciders.decision import PROMPT_SCHEMA
from populace.models import Model
from populace.prompting import Conversations


def prompt_table(rows: Conversations, model: Model, method: str, lead: str, outcomes: dict[str, Any]) -> pl.DataFrame:
    """The journal's rows for these conversations.

    Args:
        rows: The conversations.
        model: Who answered.
        method: How: scored or sampled.
        lead: How replies were made to begin.
        outcomes: The columns that replies fill: replies, status, mass, probabilities, call, tokens.
    """
    count = len(rows)
    order_texts = {order: " ".join(map(str, order)) for order in set(rows.arrangements)}
    same = {"model": model.spec, "method": method, "labels": rows.mode == "labels", "lead": lead}
    same |= dict.fromkeys(("reasoning", "mass", "probabilities", "fields"))
    columns = {
        "prompt": np.arange(count, dtype=np.int32) // rows.orders,
        "arrangement": [order_texts[order] for order in rows.arrangements],
        "system": rows.system,
        "user": rows.user,
        **outcomes,
    }
    if rows.fields.width:
        columns["fields"] = _json(rows.fields)
    if rows.reasoning:
        columns["reasoning"] = rows.reasoning
    return pl.DataFrame(
        [
            _column(name, columns[name]) if name in columns else _single(name, same[name]).new_from_index(0, count)
            for name in PROMPT_SCHEMA
        ]
    )


def _json(fields: pl.DataFrame) -> pl.Series | list[str]:
    """Each row as a JSON object; polars is far quicker for many rows, Python for a few."""
    if fields.height <= FEW:
        return [json.dumps(row, ensure_ascii=False, default=str) for row in fields.iter_rows(named=True)]
    return fields.select(pl.struct(pl.all()).struct.json_encode()).to_series()


def _column(name: str, values: Any) -> pl.Series:
    dtype = PROMPT_SCHEMA[name]
    if isinstance(values, pl.Series):
        return values.cast(dtype).alias(name)
    return pl.Series(name, values, dtype, strict=False)


@functools.lru_cache(maxsize=256)
def _single(name: str, value: str | bool | None) -> pl.Series:
    """A column of one row, to be repeated."""
    return pl.Series(name, [value], PROMPT_SCHEMA[name])
