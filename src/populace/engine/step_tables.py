"""The tables of a step as the journal keeps them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import polars as pl

from populace.base.formatting import compact_json
from populace.deciders import Decisions
from populace.engine.scenario import Event
from populace.prompting import Inquiry
from populace.questions import LOW_MASS


def asked(asks: list[tuple[Inquiry, Decisions]]) -> dict[str, pl.DataFrame]:
    """Questions, distinct prompts and answers of a step as tables.

    The answers have a column `memories` where people were shown memories before at least one of the questions.
    """
    questions = [
        {
            "ask": number,
            "path": inquiry.path,
            "question": inquiry.question.canonical(),
            "given": inquiry.situation.given.text,
            "fields": compact_json(inquiry.situation.constants),
            "profile": inquiry.mind.profile.text,
            "temperature": float(inquiry.temperature),
            "invalid": inquiry.invalid,
            "purpose": inquiry.purpose,
            "people": len(inquiry.people),
        }
        for number, (inquiry, _) in enumerate(asks)
    ]
    answers = [
        pl.DataFrame(
            [
                _number(number, len(decided.answers)),
                decided.answers.ids.alias("person"),
                pl.Series("prompt", decided.answers.prompt),
                decided.answers.values.cast(pl.String).alias("value"),
                decided.answers.status.alias("status"),
                *(() if inquiry.situation.memories is None else [inquiry.situation.memories.ids.alias("memories")]),
            ]
        )
        for number, (inquiry, decided) in enumerate(asks)
    ]
    prompts = [
        pl.DataFrame([_number(number, decided.prompts.height), *decided.prompts.get_columns()])
        for number, (_, decided) in enumerate(asks)
        if decided.prompts.height
    ]
    tables = {"asks": pl.DataFrame(questions, schema_overrides={"ask": pl.Int32}), "answers": _stacked(answers)}
    if prompts:
        tables["prompts"] = _stacked(prompts)
    return tables


def _number(ask: int, count: int) -> pl.Series:
    return pl.Series("ask", [ask], pl.Int32).new_from_index(0, count)


def _stacked(tables: list[pl.DataFrame]) -> pl.DataFrame:
    return tables[0] if len(tables) == 1 else pl.concat(tables, how="diagonal")


def events(step: int, happened: Sequence[pl.DataFrame | Event], ids: pl.DataType) -> pl.DataFrame:
    """What happened in the step, in order, with its number."""
    tables: list[pl.DataFrame] = []
    schema = {"person": ids, "kind": pl.String(), "data": pl.String()}
    for single, group in itertools.groupby(happened, lambda one: isinstance(one, Event)):
        members = list(group)
        tables += [pl.DataFrame(members, schema=schema, orient="row")] if single else cast(list[pl.DataFrame], members)
    return pl.concat(tables).select(pl.lit(step).alias("step"), "kind", "person", "data")


def metrics(step: int, measured: Mapping[str, float | str | None]) -> pl.DataFrame:
    """The metrics of the step, in one row."""
    types = {name: pl.String() if isinstance(value, str) else pl.Float64() for name, value in measured.items()}
    return pl.DataFrame([{"step": step, **measured}], schema={"step": pl.Int64(), **types})


def counts(asks: list[tuple[Inquiry, Decisions]]) -> dict[str, Any]:
    """How many answers had which status, and how many rested on little probability."""
    statuses: Counter[str] = Counter()
    scored = low = sampled = 0
    for _, decided in asks:
        statuses.update(decided.answers.statuses())
        if decided.answers.mass is not None:
            weight = np.bincount(
                decided.answers.prompt[decided.answers.prompt >= 0], minlength=len(decided.answers.mass)
            )
            known = ~np.isnan(decided.answers.mass)
            scored += int(weight[known].sum())
            low += int(weight[known & (decided.answers.mass < LOW_MASS)].sum())
        elif decided.prompts.height and (decided.prompts["method"] == "sampled").any():
            sampled += int((decided.answers.prompt >= 0).sum())
    return {"statuses": dict(sorted(statuses.items())), "scored": scored, "low_mass": low, "sampled": sampled}


def first_difference(held: pl.DataFrame | None, made: pl.DataFrame) -> str:
    """Where two tables part, in words."""
    if held is None:
        return "the journal has none."
    if held.columns != made.columns:
        return f"columns {held.columns} then, {made.columns} now."
    if held.height != made.height:
        return f"{held.height} rows then, {made.height} now."
    for name in held.columns:
        if not held[name].equals(made[name]):
            pairs = zip(held[name].to_list(), made[name].to_list(), strict=True)
            row, (then, now) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
            return f"{name} in row {row} was {then!r} and is {now!r}."
    return "types differ."
