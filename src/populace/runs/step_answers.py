"""What people answered at a step, question by question, and which answers are invalid."""

import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from populace.deciders import apply_temperature
from populace.questions import STATUSES, VALID
from populace.runs import step_cache
from populace.runs.reader import RunReader
from populace.statistics import Estimate, mean, proportion

MOST_VALUES = 12
"""How many different answers are shown of one question; the rest is counted."""
_SHARE = dict.fromkeys(("share", "low", "high"), pl.Float64())
_INVALID = {"question": pl.String, "status": pl.String, "answers": pl.Int64}


@dataclass(frozen=True)
class QuestionSummary:
    """One question at a step, and how it was answered.

    Attributes:
        text: The question.
        kind: What kind of question.
        purpose: What it was counted under.
        asked: How many answers there should be.
        statuses: How many answers had which status.
        different: How many different valid answers there were.
        values: The commonest ones: `value`, `people`, `share` of the valid answers with `low` and `high`, and the
            mean probability that was `predicted` for each option where answers were scored; and one `person` who
            answered so, with the `path` of the question.
        mean: Of answers that are numbers.
    """

    text: str
    kind: str
    purpose: str
    asked: int
    statuses: dict[str, int]
    different: int
    values: pl.DataFrame
    mean: Estimate | None = None

    @property
    def valid(self) -> int:
        """How many answers were valid."""
        return sum(self.statuses.get(status, 0) for status in VALID)


def question_summaries(run: RunReader, step: int, limit: int = 20) -> list[QuestionSummary]:
    """The questions of a step, those that most people answered first.

    Args:
        run: The run.
        step: The step.
        limit: The most questions to open; `question_count` counts them all.
    """
    table = step_cache.columns(run, step, "answers", ["ask", "person", "value", "status"])
    if table is None:
        return []
    asks = _asks(run, step)
    counts = table.group_by("ask", "value", "status").agg(pl.len().alias("people"), pl.first("person"))
    counts = counts.join(asks, on="ask").sort("ask")
    sizes = counts.group_by("text", "options").agg(pl.sum("people")).sort("people", "text", descending=[True, False])
    summaries = []
    for text, options, _ in sizes.head(limit).iter_rows():
        of_it = counts.filter(pl.col("text") == text, pl.col("options") == options)
        summaries.append(_summary(run, step, of_it, asks.filter(pl.col("text") == text, pl.col("options") == options)))
    return summaries


def question_count(run: RunReader, step: int) -> int:
    """How many different questions were asked at a step."""
    return _asks(run, step).select("text", "options").n_unique()


def invalid_by_step(run: RunReader, until: int) -> pl.DataFrame:
    """How many answers each step had, how many of them were invalid, and the share with its interval."""
    rows = []
    for step in range(until + 1):
        statuses: dict[str, int] = run.record.facts(step)["statuses"]
        answers = sum(statuses.values())
        bad = answers - sum(statuses.get(status, 0) for status in VALID)
        rows.append((step, answers, bad, *_share_row(bad, answers)))
    schema = {**dict.fromkeys(("step", "answers", "invalid"), pl.Int64()), **_SHARE}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _share_row(count: int, total: int) -> tuple[float | None, ...]:
    """A share with its interval; None where there is nothing to count."""
    share = proportion(count, total) if total else None
    return (share.value, share.low, share.high) if share else (None, None, None)


def status_counts(run: RunReader, step: int, *, until: bool = False) -> dict[str, int]:
    """How many answers had which status at a step, or up to it."""
    total = run.statuses_of(range(step + 1) if until else [step])
    return {status: total[status] for status in STATUSES if total[status]}


def invalid_by_question(run: RunReader, step: int, *, until: bool = False) -> pl.DataFrame:
    """How many answers to each question were invalid, by status, at a step or up to it."""
    parts = (_invalid(run, at) for at in (range(step + 1) if until else [step]) if _has_invalid(run, at))
    return step_cache.totals(parts, _INVALID).sort("answers", "question", "status", descending=[True, False, False])


def invalid_replies(run: RunReader, step: int, limit: int = 20) -> pl.DataFrame:
    """Some of the invalid answers of a step with the raw replies of the model.

    Returns:
        `person`, `name`, `path`, `question`, `status`, `reply`; the reply is empty where there was none.
    """
    schema = dict.fromkeys(("name", "path", "question", "status", "reply"), pl.String)
    table = step_cache.columns(run, step, "answers", ["ask", "person", "prompt", "status"])
    bad = None if table is None else table.filter(~pl.col("status").cast(pl.String).is_in(VALID)).head(limit)
    if bad is None or not bad.height:
        return pl.DataFrame(schema={"person": pl.Int64, **schema})
    prompts = step_cache.columns(run, step, "prompts", ["ask", "prompt", "replies"])
    replies: dict[tuple[int, int], list[str]] = {}
    if prompts is not None:
        for ask, prompt, texts in prompts.join(
            bad, on=["ask", "prompt"], how="semi", maintain_order="left"
        ).iter_rows():
            replies.setdefault((ask, prompt), []).extend(texts or [])
    bad = bad.join(_asks(run, step).select("ask", "path", question="text"), on="ask", maintain_order="left")
    keys = zip(bad["ask"], bad["prompt"], strict=True)
    return bad.select(
        "person",
        step_cache.names(run, step, bad["person"]),
        "path",
        "question",
        pl.col("status").cast(pl.String),
        pl.Series("reply", ["\n—\n".join(replies.get(key, [])) for key in keys], pl.String),
    )


@step_cache.cached_per_step
def _asks(run: RunReader, step: int) -> pl.DataFrame:
    """The questions of a step: ask, path, purpose, temperature, text, kind and options as JSON."""
    table = step_cache.columns(run, step, "asks", ["ask", "path", "question", "purpose", "temperature"])
    text = dict.fromkeys(("text", "kind", "options"), pl.String)
    if table is None:
        known = {"ask": pl.Int32, "path": pl.String, "purpose": pl.String, "temperature": pl.Float64}
        return pl.DataFrame(schema={**known, **text})
    questions = [json.loads(question) for question in table["question"]]
    rows = [
        (q.get("text") or q["kind"], q["kind"], json.dumps([str(v) for v in q.get("values") or []])) for q in questions
    ]
    return table.drop("question").hstack(pl.DataFrame(rows, schema=text, orient="row"))


def _summary(run: RunReader, step: int, counts: pl.DataFrame, asks: pl.DataFrame) -> QuestionSummary:
    options: list[str] = json.loads(asks["options"][0])
    kind: str = asks["kind"][0]
    by_status = counts.group_by(pl.col("status").cast(pl.String)).agg(pl.sum("people"))
    valid = counts.filter(pl.col("status").cast(pl.String).is_in(VALID))
    values = valid.group_by("value").agg(pl.sum("people").cast(pl.Int64), pl.first("person", "path"))
    different, n = values.height, int(values["people"].sum())
    if options:
        everything = pl.DataFrame({"value": options}).join(values, on="value", how="left", maintain_order="left")
        values = everything.with_columns(pl.col("people").fill_null(0))
    else:
        values = values.sort("people", "value", descending=[True, False])
    average = _mean(values) if kind in ("rating", "number") else None
    values = values.head(max(MOST_VALUES, len(options)))
    shares = [_share_row(count, n) for count in values["people"]]
    predicted = _predicted(run, step, asks, len(options)) if options else None
    values = values.hstack(pl.DataFrame(shares, schema=_SHARE, orient="row"))
    values = values.with_columns(predicted=pl.Series(predicted or [None] * values.height, dtype=pl.Float64))
    counted = dict(by_status.iter_rows())
    ordered: dict[str, int] = {status: int(counted[status]) for status in STATUSES if status in counted}
    purposes = ", ".join(asks["purpose"].unique(maintain_order=True))
    return QuestionSummary(asks["text"][0], kind, purposes, sum(ordered.values()), ordered, different, values, average)


def _mean(values: pl.DataFrame) -> Estimate | None:
    """The mean of answers that are numbers, from how often each was given."""
    numbers = values.select(pl.col("value").cast(pl.Float64, strict=False), "people").drop_nulls()
    each = np.repeat(numbers["value"].to_numpy(), numbers["people"].to_numpy())
    return mean(each, shares=False) if len(each) > 1 else None


def _predicted(run: RunReader, step: int, asks: pl.DataFrame, options: int) -> list[float] | None:
    """The mean over people of the probabilities that their answers were drawn from; None where none were scored."""
    prompts = step_cache.columns(run, step, "prompts", ["ask", "prompt", "probabilities"])
    answered = step_cache.columns(run, step, "answers", ["ask", "prompt"])
    if prompts is None or answered is None:
        return None
    ours = pl.col("ask").is_in(asks["ask"].implode())
    scored = prompts.filter(ours, pl.col("probabilities").list.len() == options)
    answered = answered.filter(ours, pl.col("prompt") >= 0)
    if not scored.height or not answered.height:
        return None
    # Several rows of one prompt are its orders of options, which are averaged.
    columns = [str(number) for number in range(options)]
    each = scored.select("ask", "prompt", **{name: pl.col("probabilities").list.get(int(name)) for name in columns})
    means = each.group_by("ask", "prompt", maintain_order=True).mean()
    people = answered.group_by("ask", "prompt").len("people")
    rows = means.join(people, on=["ask", "prompt"], maintain_order="left")
    rows = rows.join(asks.select("ask", "temperature"), on="ask", maintain_order="left")
    total = np.zeros(options)
    for (degree,), part in rows.group_by("temperature", maintain_order=True):
        drawn_from = apply_temperature(part.select(columns).to_numpy().astype(float), float(degree))
        total += part["people"].to_numpy() @ drawn_from
    predicted: list[float] = (total / int(rows["people"].sum())).tolist() if rows.height else []
    return predicted or None


def _has_invalid(run: RunReader, step: int) -> bool:
    return any(status not in VALID for status in run.record.facts(step)["statuses"])


@step_cache.cached_per_step
def _invalid(run: RunReader, step: int) -> pl.DataFrame:
    table = step_cache.columns(run, step, "answers", ["ask", "status"])
    if table is None:
        return pl.DataFrame(schema=_INVALID)
    counts = table.group_by("ask", pl.col("status").cast(pl.String)).len("answers")
    bad = counts.filter(~pl.col("status").is_in(VALID)).join(_asks(run, step).select("ask", question="text"), on="ask")
    return bad.group_by("question", "status").agg(pl.sum("answers"))
