"""The calls, tokens and cost of a run, by purpose and by step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import polars as pl

from populace.broker import Usage, price_of
from populace.questions import cleaning_counts
from populace.runs.reader import RunReader
from populace.studio import step_cache

_PURPOSES = {
    "purpose": pl.String,
    "model": pl.String,
    "questions": pl.Int64,
    "answers": pl.Int64,
    "prompts": pl.Int64,
    "prompt_tokens": pl.Int64,
    "completion_tokens": pl.Int64,
}


@dataclass(frozen=True)
class UsageSummary:
    """The usage of a run up to a step.

    Attributes:
        until: The step.
        total: The usage of all its own steps; what a fork shares with its parent cost it nothing.
        step: The usage of this step alone.
        seconds: How long its own steps took.
        purposes: For each purpose: questions, answers, distinct prompts, the tokens of those prompts, the calls that
            were made, and the list price of the tokens as `worth`. Tokens and `worth` include replies that came from
            the call store; calls and the cost in `total` do not.
        steps: For each own step: answers, calls, reused replies, tokens, cost and seconds.
    """

    until: int
    total: Usage
    step: Usage
    seconds: float
    purposes: pl.DataFrame
    steps: pl.DataFrame


def usage_summary(run: RunReader, until: int) -> UsageSummary:
    """The usage of a run up to a step, that step included."""
    lines = [line for line in run.record.usage() if line["step"] <= until]
    parts = [(line["step"], _part(line)) for line in lines]
    total = Usage()
    for _, part in parts:
        for name in Usage.__dataclass_fields__:
            setattr(total, name, getattr(total, name) + getattr(part, name))
    last = next((part for step, part in reversed(parts) if step == until), Usage())
    seconds = float(sum(line["seconds"] for line in lines))
    return UsageSummary(until, total, last, seconds, _purposes(run, until, total.purposes), _steps(lines))


def cleanings_until(run: RunReader, until: int) -> pl.DataFrame:
    """What was done by rule to the replies to utterances up to a step, and why some were invalid."""
    tables = [each for each in (_cleanings(run, step) for step in range(until + 1)) if each.height]
    if not tables:
        return pl.DataFrame(schema={"outcome": pl.String, "rule": pl.String, "replies": pl.Int64})
    return pl.concat(tables).group_by("outcome", "rule").agg(pl.sum("replies")).sort("outcome", "rule")


def _part(line: dict[str, object]) -> Usage:
    return Usage.from_json({name: line[name] for name in Usage.__dataclass_fields__})


def _steps(lines: list[dict[str, object]]) -> pl.DataFrame:
    names = ("decisions", "calls", "reused", "failures", "prompt_tokens", "completion_tokens")
    schema = {"step": pl.Int64, **dict.fromkeys(names, pl.Int64), "cost": pl.Float64, "seconds": pl.Float64}
    return pl.DataFrame([tuple(line[name] for name in schema) for line in lines], schema=schema, orient="row")


def _purposes(run: RunReader, until: int, calls: Counter[str]) -> pl.DataFrame:
    tables = [each for each in (_purposes_of_step(run, step) for step in range(until + 1)) if each.height]
    sums = [pl.sum(name) for name in list(_PURPOSES)[2:]]
    table = (pl.concat(tables) if tables else pl.DataFrame(schema=_PURPOSES)).group_by("purpose", "model").agg(sums)
    worth = [_worth(*row) for row in table.select("model", "prompt_tokens", "completion_tokens").iter_rows()]
    table = table.with_columns(worth=pl.Series(worth, dtype=pl.Float64))
    table = table.group_by("purpose").agg(*sums, pl.sum("worth"), unpriced=pl.col("worth").is_null().any())
    calls_made = pl.DataFrame(
        {"purpose": list(calls), "calls": list(calls.values())}, schema={"purpose": pl.String, "calls": pl.Int64}
    )
    table = table.join(calls_made, on="purpose", how="full", coalesce=True)
    table = table.with_columns(pl.when("unpriced").then(None).otherwise("worth").alias("worth")).drop("unpriced")
    counts = [*list(_PURPOSES)[2:], "calls"]
    return table.with_columns(pl.col(counts).fill_null(0)).sort("prompt_tokens", "purpose", descending=[True, False])


def _worth(model: str, prompt: int, completion: int) -> float | None:
    if not prompt + completion:
        return 0.0
    price = price_of(model)
    return None if price is None else (prompt * price.prompt + completion * price.completion) / 1e6


@step_cache.cached_per_step
def _purposes_of_step(run: RunReader, step: int) -> pl.DataFrame:
    """The purposes of a step, with the prompts behind its answers."""
    asks = step_cache.columns(run, step, "asks", ["ask", "purpose", "people"])
    if asks is None:
        return pl.DataFrame(schema=_PURPOSES)
    whole = asks.group_by("purpose").agg(pl.len().alias("questions"), pl.sum("people").alias("answers"))
    prompts = step_cache.columns(run, step, "prompts", ["ask", "model", "prompt_tokens", "completion_tokens"])
    if prompts is None:
        return whole.select([_or_empty(name, whole.columns) for name in _PURPOSES])
    tokens = ["prompt_tokens", "completion_tokens"]
    by_ask = prompts.group_by("ask", "model").agg(
        pl.len().alias("prompts"), *(pl.sum(name).cast(pl.Int64) for name in tokens)
    )
    by_purpose = by_ask.join(asks.select("ask", "purpose"), on="ask").sort("ask", "model")
    by_purpose = by_purpose.group_by("purpose", "model", maintain_order=True).agg(pl.sum("prompts", *tokens))
    # With several models, questions and answers are counted once, in the row of the first model.
    joined = whole.join(by_purpose.with_columns(place=pl.int_range(pl.len()).over("purpose")), on="purpose", how="left")
    repeated = pl.col("place").fill_null(0) > 0
    counted = [pl.when(repeated).then(0).otherwise(name).alias(name) for name in ("questions", "answers")]
    joined = joined.with_columns(counted)
    return joined.select([_or_empty(name, joined.columns) for name in _PURPOSES])


def _or_empty(name: str, known: list[str]) -> pl.Expr:
    dtype = _PURPOSES[name]
    empty = pl.lit("" if dtype == pl.String else 0)
    return (pl.col(name).fill_null(empty) if name in known else empty).cast(dtype).alias(name)


@step_cache.cached_per_step
def _cleanings(run: RunReader, step: int) -> pl.DataFrame:
    asks = step_cache.columns(run, step, "asks", ["ask", "question"])
    if asks is None or not asks["question"].str.contains('"utterance"', literal=True).any():
        return pl.DataFrame()
    prompts = step_cache.columns(run, step, "prompts", ["ask", "system", "user", "replies"])
    return pl.DataFrame() if prompts is None else cleaning_counts(asks, prompts)
