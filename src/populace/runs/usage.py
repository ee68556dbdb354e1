"""What a run used, by what it was used for."""

from collections import Counter
from dataclasses import dataclass

import polars as pl

from populace.broker import Usage, price_of
from populace.questions import cleaning_counts
from populace.runs import step_cache
from populace.runs.reader import RunReader, seconds_of, usage_of_step

_COUNTS = ("questions", "answers", "prompts", "prompt_tokens", "completion_tokens")
_PURPOSES = {"purpose": pl.String(), "model": pl.String(), **dict.fromkeys(_COUNTS, pl.Int64())}


@dataclass(frozen=True)
class UsageSummary:
    """What a run used up to a step.

    Attributes:
        until: The step.
        total: Over all steps of its own; what a fork shares with its parent cost it nothing.
        step: In the step alone.
        seconds: How long its own steps took.
        purposes: For each purpose: questions, answers, distinct prompts, the tokens of those prompts, the calls that
            were bought, and what the tokens are worth at list price. Tokens and worth count replies that came from
            the call store as well; calls and the cost in `total` do not.
        steps: For each own step: answers, calls, reused replies, tokens, cost and seconds.
    """

    until: int
    total: Usage
    step: Usage
    seconds: float
    purposes: pl.DataFrame
    steps: pl.DataFrame


def usage_until(run: RunReader, until: int) -> UsageSummary:
    """What a run used up to a step, that step counted."""
    lines = [line for line in run.record.usage() if line["step"] <= until]
    total = run.usage(until=until + 1)
    last = next((usage_of_step(line) for line in reversed(lines) if line["step"] == until), Usage())
    seconds = seconds_of(lines)
    return UsageSummary(until, total, last, seconds, _purposes(run, until, total.purposes), _steps(lines))


def cleanings_until(run: RunReader, until: int) -> pl.DataFrame:
    """What was done by rule to the replies to utterances up to a step, and why some were invalid."""
    schema = {"outcome": pl.String, "rule": pl.String, "replies": pl.Int64}
    parts = (_cleanings(run, step) for step in range(until + 1))
    return step_cache.totals(parts, schema).sort("outcome", "rule")


def _steps(lines: list[dict[str, object]]) -> pl.DataFrame:
    names = ("decisions", "calls", "reused", "failures", "prompt_tokens", "completion_tokens")
    schema = {"step": pl.Int64, **dict.fromkeys(names, pl.Int64), "cost": pl.Float64, "seconds": pl.Float64}
    return pl.DataFrame([tuple(line[name] for name in schema) for line in lines], schema=schema, orient="row")


def _purposes(run: RunReader, until: int, calls: Counter[str]) -> pl.DataFrame:
    sums = [pl.sum(name) for name in _COUNTS]
    parts = [_step_purposes(run, step) for step in range(until + 1)]
    table = pl.concat([pl.DataFrame(schema=_PURPOSES), *parts]).group_by("purpose", "model").agg(sums)
    worth = [_worth(*row) for row in table.select("model", "prompt_tokens", "completion_tokens").iter_rows()]
    table = table.with_columns(worth=pl.Series(worth, dtype=pl.Float64))
    table = table.group_by("purpose").agg(*sums, pl.sum("worth"), unpriced=pl.col("worth").is_null().any())
    bought = pl.DataFrame(
        {"purpose": list(calls), "calls": list(calls.values())}, schema={"purpose": pl.String, "calls": pl.Int64}
    )
    table = table.join(bought, on="purpose", how="full", coalesce=True)
    table = table.with_columns(pl.when("unpriced").then(None).otherwise("worth").alias("worth")).drop("unpriced")
    return table.with_columns(pl.col(*_COUNTS, "calls").fill_null(0)).sort(
        "prompt_tokens", "purpose", descending=[True, False]
    )


def _worth(model: str, prompt: int, completion: int) -> float | None:
    if not prompt + completion:
        return 0.0
    price = price_of(model)
    return None if price is None else (prompt * price.prompt + completion * price.completion) / 1e6


@step_cache.cached_per_step
def _step_purposes(run: RunReader, step: int) -> pl.DataFrame:
    """The purposes of a step, with the prompts behind its answers."""
    asks = step_cache.columns(run, step, "asks", ["ask", "purpose", "people"])
    if asks is None:
        return pl.DataFrame(schema=_PURPOSES)
    whole = asks.group_by("purpose").agg(pl.len().alias("questions"), pl.sum("people").alias("answers"))
    prompts = step_cache.columns(run, step, "prompts", ["ask", "model", "prompt_tokens", "completion_tokens"])
    if prompts is None:
        return _complete(whole)
    tokens = ["prompt_tokens", "completion_tokens"]
    by_ask = prompts.group_by("ask", "model").agg(
        pl.len().alias("prompts"), *(pl.sum(name).cast(pl.Int64) for name in tokens)
    )
    behind = by_ask.join(asks.select("ask", "purpose"), on="ask").sort("ask", "model")
    behind = behind.group_by("purpose", "model", maintain_order=True).agg(pl.sum("prompts", *tokens))
    # With several models, questions and answers are counted once, beside the first of them.
    table = whole.join(behind.with_columns(place=pl.int_range(pl.len()).over("purpose")), on="purpose", how="left")
    again = pl.col("place").fill_null(0) > 0
    counted = [pl.when(again).then(0).otherwise(name).alias(name) for name in ("questions", "answers")]
    return _complete(table.with_columns(counted).drop("place"))


def _complete(table: pl.DataFrame) -> pl.DataFrame:
    """The table with all columns of `_PURPOSES`, without empty values."""
    whole = pl.concat([pl.DataFrame(schema=_PURPOSES), table], how="diagonal_relaxed")
    return whole.with_columns(pl.col("model").fill_null(""), pl.col(_COUNTS).fill_null(0).cast(pl.Int64))


@step_cache.cached_per_step
def _cleanings(run: RunReader, step: int) -> pl.DataFrame:
    asks = step_cache.columns(run, step, "asks", ["ask", "question"])
    if asks is None or not asks["question"].str.contains('"utterance"', literal=True).any():
        return pl.DataFrame()
    prompts = step_cache.columns(run, step, "prompts", ["ask", "system", "user", "replies"])
    return pl.DataFrame() if prompts is None else cleaning_counts(asks, prompts)
