"""The result of an inquiry, whoever decides: the answers, and the table of prompts behind them.

The columns of `PROMPT_SCHEMA` are part of the journal's format: an old folder must stay readable.
"""

import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.lists import list_column
from populace.base.plain_tables import PlainTable, Table, TableTypes, has_value, to_polars
from populace.base.templates import FEW
from populace.models import Failure, ReplyOrFailure
from populace.prompting import Conversations, Inquiry
from populace.questions import STATUS_DTYPE, STATUSES, Answers

Floats = npt.NDArray[np.float64]

PROMPT_SCHEMA: dict[str, pl.DataType] = {
    "prompt": pl.Int32(),
    "arrangement": pl.String(),
    "model": pl.String(),
    "method": pl.String(),
    "labels": pl.Boolean(),
    "system": pl.String(),
    "user": pl.String(),
    "fields": pl.String(),
    "lead": pl.String(),
    "reasoning": pl.String(),
    "replies": pl.List(pl.String()),
    "status": pl.String(),
    "mass": pl.Float64(),
    "probabilities": pl.List(pl.Float64()),
    "call": pl.String(),
    "prompt_tokens": pl.Int32(),
    "completion_tokens": pl.Int32(),
}
"""The columns of one distinct prompt in the journal."""


PROMPT_TYPES = TableTypes.of(PROMPT_SCHEMA)
_NO_PROMPTS = PlainTable(PROMPT_TYPES, [[] for _ in PROMPT_SCHEMA])


@dataclass(frozen=True)
class InquiryResult:
    """The answers to one inquiry, with a row for each distinct prompt behind them, as the journal stores it."""

    answers: Answers
    prompt_rows: Table = _NO_PROMPTS

    @property
    def prompts(self) -> pl.DataFrame:
        """The rows of the prompts as a table of polars."""
        return to_polars(self.prompt_rows)


def rejected_prompts(result: InquiryResult) -> int:
    """How many of the prompts the model rejected."""
    prompts = result.prompt_rows
    if not prompts.height or not has_value(prompts, "call", None):
        return 0
    return int((result.prompts["status"] == "rejected").sum())


def merge(inquiry: Inquiry, parts: list[tuple[npt.NDArray[np.int64], InquiryResult]]) -> InquiryResult:
    """Put the answers of parts of the people together again, in the order in which all were asked."""
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
    offset, prompts, numbers, probabilities, masses = 0, [], [], [], []
    options = next((d.answers.probabilities.shape[1] for _, d in parts if d.answers.probabilities is not None), 0)
    for _, result in parts:
        answers = result.answers
        numbers.append(np.where(answers.prompt >= 0, answers.prompt + offset, -1).astype(np.int32))
        prompts.append(result.prompts.with_columns(pl.col("prompt") + offset))
        count = int(result.prompts["prompt"].max() or 0) + 1 if result.prompts.height else 0  # type: ignore[arg-type]
        offset += count
        blank = np.full((count, options), np.nan)
        probabilities.append(blank if answers.probabilities is None else answers.probabilities)
        masses.append(np.full(count, np.nan) if answers.mass is None else answers.mass)
    values = pl.concat([result.answers.values for _, result in parts])[order]
    status = pl.concat([result.answers.status for _, result in parts])[order]
    answers = Answers(
        inquiry.question,
        inquiry.people.ids,
        values,
        status,
        np.concatenate(numbers)[order],
        np.concatenate(probabilities) if options else None,
        np.concatenate(masses) if options else None,
    )
    return InquiryResult(answers, pl.concat(prompts))


REJECTED = len(STATUSES)
"""The code of a prompt that the model rejects; the answer of the person is `unanswered`."""
_UNANSWERED = STATUSES.index("unanswered")
_PROMPT_STATUSES = (*STATUSES, "rejected")
_PROMPT_STATUS_COLUMN = pl.Series("status", _PROMPT_STATUSES)


def answer_codes(codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The status codes of answers, from those of their prompts."""
    return np.where(codes == REJECTED, np.uint8(_UNANSWERED), codes)


def status_column(codes: npt.NDArray[np.uint8]) -> pl.Series:
    """Status codes as a column."""
    return _named(codes, _STATUSES)


_STATUSES = pl.Series("status", STATUSES, dtype=STATUS_DTYPE)


def _named(codes: npt.NDArray[np.uint8], names: pl.Series) -> pl.Series:
    if len(codes) and (codes == codes[0]).all():
        return names.new_from_index(int(codes[0]), len(codes))
    return names[pl.Series(codes)]


@dataclass(frozen=True)
class ReplyColumns:
    """What the journal keeps of the replies to conversations, a value for each row.

    Attributes:
        replies: The text of the reply, or all texts where there were several.
        status: The code of the status of the prompt.
        call: The key of the call; None where none was answered.
        prompt_tokens: How many tokens were read.
        completion_tokens: How many tokens were written.
        lead: How the reply was made to begin, where that is not the same in all rows.
        mass: The share of probability on the options; NaN where nothing was scored.
        probabilities: The distribution over options, one in each row; it counts where there is a mass.
    """

    replies: Sequence[str | None] | Sequence[list[str]] | pl.Series
    status: npt.NDArray[np.uint8]
    call: list[str | None] | pl.Series
    prompt_tokens: list[int] | pl.Series
    completion_tokens: list[int] | pl.Series
    lead: list[str] | None = None
    mass: Floats | None = None
    probabilities: Floats | None = None


def prompt_table(rows: Conversations, spec: str, method: str, lead: str, outcomes: ReplyColumns) -> Table:
    """The journal's rows for these conversations.

    Args:
        rows: The conversations.
        spec: Who answered: the string of a model, or `human`.
        method: How: scored, sampled or human.
        lead: How replies were made to begin.
        outcomes: What the replies say.
    """
    count = len(rows)
    order_texts = {order: " ".join(map(str, order)) for order in set(rows.arrangements)}
    same = {"model": spec, "method": method, "labels": rows.mode == "labels", "lead": lead}
    if len(order_texts) == 1:
        same["arrangement"] = next(iter(order_texts.values()))
    columns: dict[str, Any] = {
        "prompt": np.arange(count, dtype=np.int32) // rows.orders,
        "arrangement": [order_texts[order] for order in rows.arrangements] if len(order_texts) > 1 else None,
        "system": rows.system,
        "user": rows.user,
        "fields": _json(rows.fields) if rows.fields.width else None,
        "lead": outcomes.lead,
        "reasoning": rows.reasoning,
        "call": outcomes.call,
        "prompt_tokens": outcomes.prompt_tokens,
        "completion_tokens": outcomes.completion_tokens,
        **(_plain_outcomes(outcomes) if count <= FEW else _outcome_columns(outcomes)),
    }
    filled = {name: values for name, values in columns.items() if values is not None}
    if count <= FEW:
        cells = [_cells(filled[name]) if name in filled else [same.get(name)] * count for name in PROMPT_SCHEMA]
        return PlainTable(PROMPT_TYPES, cells)
    return pl.DataFrame(
        [
            _column(name, filled[name]) if name in filled else _single(name, same.get(name)).new_from_index(0, count)
            for name in PROMPT_SCHEMA
        ]
    )


def _cells(values: Any) -> list[Any]:
    if isinstance(values, list):
        return values
    return values.to_list() if isinstance(values, pl.Series) else values.tolist()


def _plain_outcomes(outcomes: ReplyColumns) -> dict[str, list[Any] | None]:
    """Replies, status, mass and probabilities of a few rows."""
    replies: list[Any] = list(outcomes.replies)
    columns: dict[str, list[Any] | None] = {
        "replies": replies if replies and isinstance(replies[0], list) else [[text] for text in replies],
        "status": [_PROMPT_STATUSES[code] for code in outcomes.status.tolist()],
    }
    if outcomes.mass is not None and outcomes.probabilities is not None:
        masses = [None if math.isnan(mass) else mass for mass in outcomes.mass.tolist()]
        pairs = zip(masses, outcomes.probabilities.tolist(), strict=True)
        columns |= {"mass": masses, "probabilities": [None if mass is None else each for mass, each in pairs]}
    return columns


def _outcome_columns(outcomes: ReplyColumns) -> dict[str, pl.Series]:
    """The same for many rows. Columns of lists are made from whole arrays, which is far quicker."""
    columns = {"replies": _reply_lists(outcomes.replies), "status": _named(outcomes.status, _PROMPT_STATUS_COLUMN)}
    if outcomes.mass is not None and outcomes.probabilities is not None:
        probabilities = pl.Series(outcomes.probabilities).cast(pl.List(pl.Float64))
        unknown = np.isnan(outcomes.mass)
        if unknown.any():
            probabilities = probabilities.zip_with(pl.Series(~unknown), pl.Series([None], dtype=probabilities.dtype))
        columns |= {"mass": pl.Series(outcomes.mass, nan_to_null=True), "probabilities": probabilities}
    return columns


def _reply_lists(replies: Sequence[str | None] | Sequence[list[str]] | pl.Series) -> pl.Series:
    """The replies of each row as a column of lists, made of all of them at once."""
    if isinstance(replies, pl.Series):
        return list_column(replies.alias("text"), np.ones(len(replies), np.int64))
    lists: Any = replies
    several = bool(replies) and isinstance(replies[0], list)
    texts = pl.Series("text", list(chain.from_iterable(lists)) if several else lists, dtype=pl.String)
    lengths = [len(each) for each in lists] if several else [1] * len(lists)
    return list_column(texts, np.array(lengths, np.int64))


def _json(fields: pl.DataFrame) -> pl.Series | list[str]:
    """Each row as a JSON object; polars is far quicker for many rows, Python for a few."""
    if fields.height <= FEW:
        keys = [f"{_encode(name)}: " for name in fields.columns]
        members = [
            [key + _encode_value(value) for value in column.to_list()] for key, column in zip(keys, fields, strict=True)
        ]
        return [f"{{{', '.join(row)}}}" for row in zip(*members, strict=True)]
    return fields.select(pl.struct(pl.all()).struct.json_encode()).to_series()


_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode


def _encode_value(value: Any) -> str:
    """A value as JSON. Texts, which are most of them, are encoded without making an encoder for each."""
    return encode_basestring(value) if type(value) is str else _encode(value)


def _column(name: str, values: Any) -> pl.Series:
    dtype = PROMPT_SCHEMA[name]
    if isinstance(values, pl.Series):
        return values.cast(dtype).alias(name)
    return pl.Series(name, values, dtype, strict=False)


@functools.lru_cache(maxsize=256)
def _single(name: str, value: str | bool | None) -> pl.Series:
    """A column of one row, to be repeated."""
    return pl.Series(name, [value], PROMPT_SCHEMA[name])


def final_status(outcome: ReplyOrFailure) -> int | None:
    """The status of an outcome that cannot be read any further, or None where it can."""
    if isinstance(outcome, Failure):
        return REJECTED if outcome.status == "rejected" else STATUSES.index(outcome.status)
    return STATUSES.index("refused") if outcome.finish == "refusal" else None


def apply_temperature(probabilities: Floats, temperature: float) -> Floats:
    """Distributions, one in each row, at a temperature: 1 leaves them, 0 leaves only the most likely.

    At 0 the first of several equally likely options is taken.

    Example:
        >>> apply_temperature(np.array([[0.8, 0.2]]), 0.5).round(3).tolist()
        [[0.941, 0.059]]
        >>> apply_temperature(np.array([[0.2, 0.8]]), 0.0).tolist()
        [[0.0, 1.0]]
    """
    if temperature == 1.0:
        return probabilities
    if temperature == 0.0:
        best = np.zeros_like(probabilities)
        best[np.arange(len(best)), probabilities.argmax(axis=1)] = 1.0
        return best
    with np.errstate(divide="ignore", over="ignore"):
        logits = np.log(probabilities)
        if temperature < _COLD:  # The quotient may be too large for a number: only differences to the largest matter.
            logits -= logits.max(axis=1, keepdims=True)
        logits /= temperature
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    distributions: Floats = weights / weights.sum(axis=1, keepdims=True)
    return distributions


_COLD = 1e-100


def draw_options(probabilities: Floats, of_person: npt.NDArray[np.int32], uniforms: Floats) -> npt.NDArray[np.uint8]:
    """The option that each person draws: the first whose cumulative probability exceeds the person's number."""
    bounds = np.cumsum(probabilities, axis=1)
    option = np.zeros(len(of_person), np.uint8)
    for column in range(probabilities.shape[1] - 1):
        option += uniforms >= bounds[of_person, column]
    last = probabilities.shape[1] - 1 - (probabilities[:, ::-1] > 0).argmax(axis=1)
    # Rounding can leave a cumulative sum just below 1; an option of probability 0 is never drawn for it.
    options: npt.NDArray[np.uint8] = np.minimum(option, last[of_person]).astype(np.uint8)
    return options
