"""The tables of a step as the journal keeps them."""

import functools
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import ReplayMismatchError
from populace.base.formatting import compact_json
from populace.deciders import InquiryResult, rejected_prompts
from populace.engine.stage import Event
from populace.journal import Record
from populace.prompting import Inquiry
from populace.questions import LOW_MASS


def question_tables(asks: list[tuple[Inquiry, InquiryResult]]) -> dict[str, pl.DataFrame]:
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
                _number(number, len(result.answers)),
                result.answers.ids.alias("person"),
                pl.Series("prompt", result.answers.prompt),
                result.answers.values.cast(pl.String).alias("value"),
                result.answers.status.alias("status"),
                *(() if inquiry.situation.memories is None else [inquiry.situation.memories.ids.alias("memories")]),
            ]
        )
        for number, (inquiry, result) in enumerate(asks)
    ]
    prompts = [
        pl.DataFrame([_number(number, result.prompts.height), *result.prompts.get_columns()])
        for number, (_, result) in enumerate(asks)
        if result.prompts.height
    ]
    tables = {"asks": pl.DataFrame(questions, schema_overrides={"ask": pl.Int32}), "answers": _concat(answers)}
    if prompts:
        tables["prompts"] = _concat(prompts)
    return tables


def _number(ask: int, count: int) -> pl.Series:
    return _single_number(ask).new_from_index(0, count)


@functools.lru_cache(maxsize=256)
def _single_number(ask: int) -> pl.Series:
    return pl.Series("ask", [ask], pl.Int32)


def _concat(tables: list[pl.DataFrame]) -> pl.DataFrame:
    return tables[0] if len(tables) == 1 else pl.concat(tables, how="diagonal")


def event_table(step: int, events: Sequence[pl.DataFrame | Event], id_dtype: pl.DataType) -> pl.DataFrame:
    """What happened in the step, in order, with its number."""
    tables: list[pl.DataFrame] = []
    schema = {"person": id_dtype, "kind": pl.String(), "data": pl.String()}
    for single, group in itertools.groupby(events, lambda one: isinstance(one, Event)):
        members = list(group)
        tables += [pl.DataFrame(members, schema=schema, orient="row")] if single else cast(list[pl.DataFrame], members)
    return pl.concat(tables).select(pl.lit(step).alias("step"), "kind", "person", "data")


def metric_row(step: int, values: Mapping[str, float | str | None]) -> pl.DataFrame:
    """The metrics of the step, in one row."""
    types = {name: pl.String() if isinstance(value, str) else pl.Float64() for name, value in values.items()}
    return pl.DataFrame([{"step": step, **values}], schema={"step": pl.Int64(), **types})


def status_counts(asks: list[tuple[Inquiry, InquiryResult]]) -> dict[str, Any]:
    """How many answers had which status, and how many rested on little probability."""
    statuses: Counter[str] = Counter()
    scored = low = sampled = rejected = human = silent = 0
    for _, result in asks:
        statuses.update(result.answers.statuses())
        if result.answers.mass is not None:
            weight = np.bincount(result.answers.prompt[result.answers.prompt >= 0], minlength=len(result.answers.mass))
            known = ~np.isnan(result.answers.mass)
            known[_prompts_without_score(result.prompts)] = False
            scored += int(weight[known].sum())
            low += int(weight[known & (result.answers.mass < LOW_MASS)].sum())
        elif result.prompts.height and (result.prompts["method"] == "sampled").any():
            written = result.prompts.filter(pl.col("method") != "human")["prompt"]
            sampled += int(np.isin(result.answers.prompt, written.to_numpy()).sum())
        rejected += _rejected_count(result)
        if result.prompts.height and (by_hand := result.prompts["method"] == "human").any():
            human += int(by_hand.sum())
            silent += int((by_hand & (result.prompts["status"] == "unanswered")).sum())
    counts = {"statuses": dict(sorted(statuses.items())), "scored": scored, "low_mass": low, "sampled": sampled}
    rare = {"rejected": rejected, "human": human, "human_unanswered": silent}
    return counts | {name: count for name, count in rare.items() if count}


def _prompts_without_score(prompts: pl.DataFrame) -> npt.NDArray[np.int32]:
    """The numbers of the prompts that got no distribution: the model refused, or its service failed."""
    if not prompts["mass"].null_count():
        return np.empty(0, np.int32)
    return prompts.filter(pl.col("mass").is_null())["prompt"].to_numpy()


def _rejected_count(result: InquiryResult) -> int:
    """How many people have no answer because the model rejected their prompt."""
    if not rejected_prompts(result):
        return 0
    rejected = result.prompts.filter(pl.col("status") == "rejected")["prompt"].to_numpy()
    return int(np.isin(result.answers.prompt, rejected).sum())


def compare_tables(source: Record, step: int, tables: Mapping[str, pl.DataFrame]) -> None:
    """Raise ReplayMismatchError where a replayed step made other tables than the source holds."""
    for name, now in tables.items():
        then = source.table(step, name)
        if then is not None:
            # A run folder of an earlier version may lack a column that is written today.
            now = now.select([column for column in now.columns if column in then.columns or name == "people"])
        if then is None or not then.equals(now):
            raise ReplayMismatchError(
                f"run {source.name}, step {step}: the replay made other {name}: {first_difference(then, now)}",
                "The scenario's mechanics changed after the recording, or depend on something outside the run.",
                step=step,
            )


def first_difference(before: pl.DataFrame | None, after: pl.DataFrame) -> str:
    """Where two tables part, in words."""
    if before is None:
        return "the journal has none."
    if before.columns != after.columns:
        return f"columns {before.columns} then, {after.columns} now."
    if before.height != after.height:
        return f"{before.height} rows then, {after.height} now."
    for name in before.columns:
        if not before[name].equals(after[name]):
            pairs = zip(before[name].to_list(), after[name].to_list(), strict=True)
            row, (then, now) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
            return f"{name} in row {row} was {then!r} and is {now!r}."
    return "types differ."
