"""Deciding by distribution: the model is asked once for the probability of every option."""

import asyncio
import collections
import contextlib
import math
import operator
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from itertools import accumulate, repeat
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import PopulaceError
from populace.base.randomness import uniforms
from populace.broker import Broker
from populace.deciders.decision import (
    InquiryResult,
    ReplyColumns,
    answer_codes,
    apply_temperature,
    draw_options,
    final_status,
    prompt_table,
    status_column,
)
from populace.deciders.reasoning import think_aloud
from populace.models import Failure, Model, Reply, ReplyOrFailure, Request
from populace.prompting import Conversations, Inquiry, conversations, scoring_mode
from populace.questions import (
    LABELS,
    NO_MASS,
    STATUSES,
    Answers,
    Arrangement,
    Finite,
    Mode,
    TokenOwners,
    is_one,
    tally,
    tally_all,
    tell_ten_from_one,
    token_owner,
)
from populace.questions.reply_parsing import is_refusal

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint8]

LEAD = "Answer:"
_SPACE, _ONE = " ", " 1"
"""What the lead ends with where the next token is the first digit of a number, or what follows a 1."""
_LOT = 32_768
"""Rows that are asked together at most: enough to keep a server busy, few enough to keep memory flat. A model may want
fewer."""
_ROWS_UNDER_WAY = 49_152
_FEWEST_LOTS, _MOST_LOTS = 2, 4
"""How many lots are asked at once: while the model works on one, the requests of the next are put together; with small
lots, replies to those before are stored meanwhile."""
_FEWEST_GRADED = 3
"""From how many full lots on the first and the last ones are smaller."""
_OK = STATUSES.index("ok")
_REFUSED = STATUSES.index("refused")
_UNPARSEABLE = STATUSES.index("unparseable")
_TEXT, _TOKENS, _FINISH, _PROMPT_TOKENS, _COMPLETION_TOKENS = map(operator.itemgetter, range(5))
"""The fields of a reply."""
_MANY = 32
"""From how many replies for each order of options on, they are read in columns."""
_LARGE = 1024
"""From how many rows on what the journal keeps of a lot becomes columns before the next lot is read."""
_REPLY_TYPES = {"text": pl.String, "call": pl.String, "prompt_tokens": pl.Int32, "completion_tokens": pl.Int32}
_T = TypeVar("_T")


async def decide_scored(inquiry: Inquiry, question: Finite, model: Model, broker: Broker) -> InquiryResult:
    """Ask for distributions, average them over orders where several were shown, and draw for each person."""
    rows = conversations(inquiry, mode=scoring_mode(question, model), scored=True)
    if question.reason:
        rows = await think_aloud(inquiry, rows, model, broker)
    lead = LEAD if model.capabilities.lead else ""
    lead += _SPACE if rows.mode == "digits" else ""
    scored = _ScoredRows(question, rows)
    lot = min(_LOT, model.lot)
    bounds = _lot_bounds(len(rows), lot)
    lots_at_once = min(_MOST_LOTS, max(_FEWEST_LOTS, _ROWS_UNDER_WAY // lot))

    preparation = asyncio.Lock()

    async def fetch_lot(number: int) -> tuple[list[str], list[ReplyOrFailure]]:
        async with preparation:  # Several lots in a row would keep the model from what it has to do in between.
            requests = scored.requests(bounds[number], bounds[number + 1], lead, model.capabilities.top_tokens)
            await asyncio.sleep(0)  # Another lot may have something to send to the model.
        calls, outcomes = await broker.fetch(model, requests, inquiry.purpose, on_failure=inquiry.on_failure)
        if rows.mode == "digits":
            outcomes = await _divide_ones(inquiry, requests, outcomes, model, broker)
        return calls, outcomes

    async with contextlib.aclosing(_overlapping(fetch_lot, range(len(bounds) - 1), lots_at_once)) as lots:
        async for calls, outcomes in lots:
            scored.read(calls, outcomes)
    probabilities, masses, status = scored.arrays()
    table = prompt_table(rows, model.spec, "scored", lead, scored.columns(probabilities, masses, status))
    masses = np.where(np.isnan(masses), 0.0, masses)
    if rows.orders > 1:
        probabilities = probabilities.reshape(-1, rows.orders, probabilities.shape[1]).mean(axis=1)
        masses = masses.reshape(-1, rows.orders).mean(axis=1)
        status = status.reshape(-1, rows.orders).max(axis=1)
    usable = np.where((status == _OK)[:, None], probabilities, 1.0 / probabilities.shape[1])
    numbers = uniforms(inquiry.key, inquiry.person_keys())
    options = draw_options(apply_temperature(usable, inquiry.temperature), rows.of_person, numbers)
    values, codes = option_values(question, options), answer_codes(status)[rows.of_person]
    if (status != _OK).any():
        values = pl.select(pl.when(pl.Series(codes == _OK)).then(values)).to_series()
    values, ids = values.alias("value"), inquiry.people.ids
    answers = Answers(question, ids, values, status_column(codes), rows.of_person, probabilities, masses)
    return InquiryResult(answers, table)


def _lot_bounds(count: int, most: int) -> list[int]:
    """Where lots of about the same size begin and end; a small one at the end would leave a GPU with little to do.

    Where there are many, the first two and the last two are smaller: a model begins soon, and little is left to store
    and to read when it ends.
    """
    edges = [most // 4, most // 2] if most > 3 and count >= _FEWEST_GRADED * most else []
    middle = count - 2 * sum(edges)
    lots = max(1, -(-middle // most))
    sizes = [middle * (lot + 1) // lots - middle * lot // lots for lot in range(lots)]
    return [0, *accumulate([*edges, *sizes, *reversed(edges)])]


async def _overlapping(
    fetch: Callable[[int], Awaitable[_T]], numbers: Sequence[int], at_once: int
) -> AsyncGenerator[_T]:
    """What a function fetches for each number, in this order; some are begun before the first is returned.

    After a failure, nothing more is begun, and what is under way is waited for: a call that was paid is stored.
    """
    if len(numbers) == 1:
        yield await fetch(numbers[0])
        return
    tasks: collections.deque[asyncio.Future[_T]] = collections.deque()
    try:
        for number in numbers:
            tasks.append(asyncio.ensure_future(fetch(number)))
            await asyncio.sleep(0)  # So that it really begins.
            if len(tasks) == at_once:
                yield await tasks.popleft()
        while tasks:
            yield await tasks.popleft()
    except PopulaceError:
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    finally:
        for task in tasks:
            task.cancel()


async def _divide_ones(
    inquiry: Inquiry, requests: list[Request], outcomes: list[ReplyOrFailure], model: Model, broker: Broker
) -> list[ReplyOrFailure]:
    """Ask what follows a 1 in each row where a 1 is possible, and divide its probability between 1 and 10."""
    replies = {row: outcome for row, outcome in enumerate(outcomes) if isinstance(outcome, Reply)}
    possible = [row for row, reply in replies.items() if any(is_one(token) for token, _ in reply.tokens)]
    further = [requests[row]._replace(lead=LEAD + _ONE, options=("0",)) for row in possible]
    _, endings = await broker.fetch(model, further, inquiry.purpose, on_failure=inquiry.on_failure)
    divided = list(outcomes)
    for row, ending in zip(possible, endings, strict=True):
        reply = replies[row]
        divided[row] = (
            ending
            if isinstance(ending, Failure)
            else reply._replace(
                tokens=tuple(tell_ten_from_one(reply.tokens, ending.tokens)),
                prompt_tokens=reply.prompt_tokens + ending.prompt_tokens,
                completion_tokens=reply.completion_tokens + ending.completion_tokens,
                estimated=reply.estimated or ending.estimated,
            )
        )
    return divided


class _ScoredRows:
    """The results of replies, row by row."""

    def __init__(self, question: Finite, rows: Conversations) -> None:
        self.rows = rows
        self._count = 0
        self._parts: list[tuple[Floats, Floats, Codes]] = []
        self._frames: list[pl.DataFrame] = []
        self.calls: list[str | None] = []
        self.texts: list[str | None] = []
        self.prompt_tokens: list[int] = []
        self.completion_tokens: list[int] = []
        self._none = (0.0,) * len(question.words)
        orders = set(rows.arrangements)
        self._options = {order: _option_texts(question, order, rows.mode) for order in orders}
        self._owners = {
            order: TokenOwners(token_owner(question.words, order, rows.mode, question.has_whole_tokens))
            for order in orders
        }

    def requests(self, first: int, end: int, lead: str, top: int) -> list[Request]:
        """What is asked in a lot of rows."""
        orders = self.rows.arrangements[first:end]
        same = Request((), lead, 1, top)[1:-1]
        options = map(self._options.__getitem__, orders)
        # Made from whole tuples, column by column, which takes a third of the time.
        columns = [repeat(value, len(orders)) for value in same]
        fields = zip(self.rows.messages(first, end - first), *columns, options, strict=True)
        return list(map(tuple.__new__, repeat(Request), fields))

    def read(self, calls: list[str], outcomes: list[ReplyOrFailure]) -> None:
        """Read the replies to the next rows."""
        self._read(calls, outcomes)
        if len(self.calls) >= _LARGE and self._count < len(self.rows):
            # While a device is at work on the next lot, and not when all have been read.
            self._frames.append(self._frame())
            for values in (self.texts, self.calls, self.prompt_tokens, self.completion_tokens):
                values.clear()

    def _frame(self) -> pl.DataFrame:
        values = (self.texts, self.calls, self.prompt_tokens, self.completion_tokens)
        return pl.DataFrame(dict(zip(_REPLY_TYPES, values, strict=True)), _REPLY_TYPES)

    def _read(self, calls: list[str], outcomes: list[ReplyOrFailure]) -> None:
        first, self._count = self._count, self._count + len(calls)
        failures, arrangements, width = self.rows.failures, self.rows.arrangements, len(self._none)
        if not failures and self._read_answers(first, calls, outcomes):
            return
        probabilities: list[tuple[float, ...]] = []
        masses: list[float] = []
        status: list[int] = []
        for row, (call, outcome) in enumerate(zip(calls, outcomes, strict=True), first):
            code = failures[row] if failures else None
            if code is None:
                code = final_status(outcome)
            if isinstance(outcome, Failure):
                self.calls.append(None)
                self.texts.append(None)
                self.prompt_tokens.append(0)
                self.completion_tokens.append(0)
            else:
                self.calls.append(call)
                self.texts.append(outcome.text)
                self.prompt_tokens.append(outcome.prompt_tokens)
                self.completion_tokens.append(outcome.completion_tokens)
                if code is None:
                    distribution, mass = tally(self._owners[arrangements[row]], width, outcome.tokens)
                    if mass >= NO_MASS or not is_refusal(outcome.text):
                        probabilities.append(distribution)
                        masses.append(mass)
                        status.append(_OK if mass >= NO_MASS else _UNPARSEABLE)
                        continue
                    code = _REFUSED
            probabilities.append(self._none)
            masses.append(math.nan)
            status.append(code or _OK)
        self._parts.append((np.array(probabilities), np.array(masses), np.array(status, np.uint8)))

    def _read_answers(self, first: int, calls: list[str], outcomes: Sequence[ReplyOrFailure]) -> bool:
        """Read replies that all give a distribution, column by column; False, with nothing read, where one does not."""
        if set(map(type, outcomes)) != {Reply} or "refusal" in set(map(_FINISH, outcomes)):
            return False
        probabilities, masses = self._scores(first, list(map(_TOKENS, outcomes)))
        if masses.min() < NO_MASS:
            return False
        self._parts.append((probabilities, masses, np.full(len(masses), _OK, np.uint8)))
        self.calls += calls
        self.texts += map(_TEXT, outcomes)
        self.prompt_tokens += map(_PROMPT_TOKENS, outcomes)
        self.completion_tokens += map(_COMPLETION_TOKENS, outcomes)
        return True

    def _scores(self, first: int, tokens: list[Any]) -> tuple[Floats, Floats]:
        """The distributions and masses of replies from a row on."""
        orders, width = self.rows.arrangements[first : first + len(tokens)], len(self._none)
        if len(tokens) < _MANY * len(self._owners):
            scores = [tally(self._owners[order], width, each) for order, each in zip(orders, tokens, strict=True)]
            return np.array([each.probabilities for each in scores]), np.array([each.mass for each in scores])
        if len(self._owners) == 1:
            return tally_all(self._owners[orders[0]], width, tokens)
        probabilities, masses = np.empty((len(tokens), width)), np.empty(len(tokens))
        rows: dict[Arrangement, list[int]] = {}
        for row, order in enumerate(orders):
            rows.setdefault(order, []).append(row)
        for order, which in rows.items():
            lists = [tokens[row] for row in which]
            probabilities[which], masses[which] = tally_all(self._owners[order], width, lists)
        return probabilities, masses

    def arrays(self) -> tuple[Floats, Floats, Codes]:
        """Distributions, masses and status codes of all rows; zeros and NaN where nothing was scored."""
        if len(self._parts) == 1:
            return self._parts[0]
        probabilities, masses, status = zip(*self._parts, strict=True)
        return np.concatenate(probabilities), np.concatenate(masses), np.concatenate(status)

    def columns(self, probabilities: Floats, masses: Floats, status: Codes) -> ReplyColumns:
        """What the journal keeps of the replies."""
        scores = (None, masses, probabilities)
        if not self._frames:
            return ReplyColumns(self.texts, status, self.calls, self.prompt_tokens, self.completion_tokens, *scores)
        frame = pl.concat([*self._frames, self._frame()], rechunk=True)
        text, call, *counts = (frame[name] for name in _REPLY_TYPES)
        return ReplyColumns(text, status, call, counts[0], counts[1], *scores)


def option_values(question: Finite, option: npt.NDArray[np.uint8]) -> pl.Series:
    """Option numbers as a column of values."""
    return question.value_column[pl.Series(option.astype(np.uint32))]


def _option_texts(question: Finite, arrangement: Arrangement, mode: Mode) -> tuple[str, ...]:
    """What is looked for in the first token, in the order shown."""
    if mode == "labels":
        return tuple(LABELS[: len(arrangement)])
    return tuple([question.words[index] for index in arrangement])
