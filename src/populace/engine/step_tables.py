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
from populace.base.plain_tables import PlainTable, Table, TableTypes, has_value, stack_columns, to_polars
from populace.base.templates import FEW
from populace.deciders import PROMPT_SCHEMA, InquiryResult, rejected_prompts
from populace.engine.stage import Event
from populace.journal import Record
from populace.prompting import Inquiry
from populace.questions import LOW_MASS, STATUS_DTYPE


def question_tables(asks: list[tuple[Inquiry, InquiryResult]]) -> dict[str, Table]:
    """Questions, distinct prompts and answers of a step as tables.

    The answers have a column `memories` where people were shown memories before at least one of the questions.
    """
    questions = [
        (
            number,
            inquiry.path,
            inquiry.question.canonical(),
            inquiry.situation.given.text,
            compact_json(inquiry.situation.constants),
            inquiry.mind.profile.text,
            float(inquiry.temperature),
            inquiry.invalid,
            inquiry.purpose,
            len(inquiry.people),
        )
        for number, (inquiry, _) in enumerate(asks)
    ]
    tables: dict[str, Table] = {"asks": PlainTable(_ASK_TYPES, list(zip(*questions, strict=True)))}
    tables["answers"] = _answers(asks)
    prompts = [(number, result.prompt_rows) for number, (_, result) in enumerate(asks) if result.prompt_rows.height]
    if prompts:
        tables["prompts"] = _prompts(prompts)
    return tables


_ASK_TYPES = TableTypes.of(
    {
        "ask": pl.Int32(),
        "path": pl.String(),
        "question": pl.String(),
        "given": pl.String(),
        "fields": pl.String(),
        "profile": pl.String(),
        "temperature": pl.Float64(),
        "invalid": pl.String(),
        "purpose": pl.String(),
        "people": pl.Int64(),
    }
)
_PROMPT_TYPES = TableTypes.of({"ask": pl.Int32(), **PROMPT_SCHEMA})


@functools.lru_cache(maxsize=16)
def _answer_types(id_type: pl.DataType) -> TableTypes:
    types = {"ask": pl.Int32(), "person": id_type, "prompt": pl.Int32(), "value": pl.String(), "status": STATUS_DTYPE}
    return TableTypes.of(types)


def _answers(asks: list[tuple[Inquiry, InquiryResult]]) -> Table:
    """The answers to all questions of a step."""
    if all(len(result.answers) <= FEW and inquiry.situation.memories is None for inquiry, result in asks):
        few = [
            (
                [number] * len(result.answers),
                result.answers.ids.to_list(),
                result.answers.prompt.tolist(),
                result.answers.values.cast(pl.String).to_list(),
                result.answers.status.to_list(),
            )
            for number, (_, result) in enumerate(asks)
        ]
        return PlainTable(_answer_types(asks[0][1].answers.ids.dtype), stack_columns(few))
    return _concat(
        [
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
    )


def _prompts(prompts: list[tuple[int, Table]]) -> Table:
    """The prompts of all questions of a step."""
    few = [(number, table) for number, table in prompts if isinstance(table, PlainTable)]
    if len(few) == len(prompts):
        columns = [([number] * table.height, *table.columns) for number, table in few]
        return PlainTable(_PROMPT_TYPES, stack_columns(columns))
    frames = [(number, to_polars(table)) for number, table in prompts]
    return _concat([pl.DataFrame([_number(number, table.height), *table.get_columns()]) for number, table in frames])


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


def metric_row(step: int, values: Mapping[str, float | str | None]) -> PlainTable:
    """The metrics of the step, in one row."""
    types = _metric_types(tuple([(name, isinstance(value, str)) for name, value in values.items()]))
    return PlainTable(types, [(step,), *[(value,) for value in values.values()]])


@functools.lru_cache(maxsize=256)
def _metric_types(metrics: tuple[tuple[str, bool], ...]) -> TableTypes:
    types = {name: pl.String() if is_text else pl.Float64() for name, is_text in metrics}
    return TableTypes.of({"step": pl.Int64(), **types})


def status_counts(asks: list[tuple[Inquiry, InquiryResult]]) -> dict[str, Any]:
    """How many answers had which status, and how many rested on little probability."""
    statuses: Counter[str] = Counter()
    scored = low = sampled = rejected = human = silent = 0
    for _, result in asks:
        statuses.update(result.answers.statuses())
        by_hand = bool(result.prompt_rows.height) and has_value(result.prompt_rows, "method", "human")
        if result.answers.mass is not None:
            some, few = _scored_answers(result, result.answers.mass)
            scored, low = scored + some, low + few
        elif result.prompt_rows.height and has_value(result.prompt_rows, "method", "sampled"):
            written = result.prompts.filter(pl.col("method") != "human")["prompt"]
            sampled += int(np.isin(result.answers.prompt, written.to_numpy()).sum())
        rejected += _rejected_count(result)
        if by_hand:
            hand = result.prompts["method"] == "human"
            human += int(hand.sum())
            silent += int((hand & (result.prompts["status"] == "unanswered")).sum())
    counts = {"statuses": dict(sorted(statuses.items())), "scored": scored, "low_mass": low, "sampled": sampled}
    rare = {"rejected": rejected, "human": human, "human_unanswered": silent}
    return counts | {name: count for name, count in rare.items() if count}


def _scored_answers(result: InquiryResult, mass: npt.NDArray[np.float64]) -> tuple[int, int]:
    """How many answers rest on a distribution, and how many of these on little probability."""
    prompt, prompts = result.answers.prompt, result.prompt_rows
    unscored = prompts.height and has_value(prompts, "mass", None)
    if len(mass) and len(prompt) and not unscored and mass.min() >= LOW_MASS and prompt.min() >= 0:
        return len(prompt), 0
    weight = np.bincount(prompt[prompt >= 0], minlength=len(mass))
    known = ~np.isnan(mass)
    if unscored:
        # The model refused, or its service failed.
        known[result.prompts.filter(pl.col("mass").is_null())["prompt"].to_numpy()] = False
    return int(weight[known].sum()), int(weight[known & (mass < LOW_MASS)].sum())


def _rejected_count(result: InquiryResult) -> int:
    """How many people have no answer because the model rejected their prompt."""
    if not rejected_prompts(result):
        return 0
    rejected = result.prompts.filter(pl.col("status") == "rejected")["prompt"].to_numpy()
    return int(np.isin(result.answers.prompt, rejected).sum())


def compare_tables(source: Record, step: int, tables: Mapping[str, Table]) -> None:
    """Raise ReplayMismatchError where a replayed step made other tables than the source holds."""
    for name, table in tables.items():
        now, then = to_polars(table), source.table(step, name)
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
