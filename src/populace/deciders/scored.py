"""Deciding by distribution: the model is asked once for the probability of every option."""

import math
import operator
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

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
    is_one,
    tally,
    tell_ten_from_one,
    token_owner,
)
from populace.questions.reply_parsing import is_refusal

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint8]

LEAD = "Answer:"
_SPACE, _ONE = " ", " 1"
"""What the lead ends with where the next token is the first digit of a number, or what follows a 1."""
_LOT = 32768
"""Rows that are asked together: enough to keep a server busy, few enough to keep memory flat."""
_OK = STATUSES.index("ok")
_REFUSED = STATUSES.index("refused")
_UNPARSEABLE = STATUSES.index("unparseable")
_TEXT, _TOKENS, _FINISH, _PROMPT_TOKENS, _COMPLETION_TOKENS = map(operator.itemgetter, range(5))
"""The fields of a reply."""


async def decide_scored(inquiry: Inquiry, question: Finite, model: Model, broker: Broker) -> InquiryResult:
    """Ask for distributions, average them over orders where several were shown, and draw for each person."""
    rows = conversations(inquiry, mode=scoring_mode(question, model), scored=True)
    if question.reason:
        rows = await think_aloud(inquiry, rows, model, broker)
    lead = LEAD if model.capabilities.lead else ""
    lead += _SPACE if rows.mode == "digits" else ""
    scored = _ScoredRows(question, rows)
    for first in range(0, len(rows), _LOT):
        requests = scored.requests(first, lead, model.capabilities.top_tokens)
        calls, outcomes = await broker.fetch(model, requests, inquiry.purpose, on_failure=inquiry.on_failure)
        if rows.mode == "digits":
            outcomes = await _divide_ones(inquiry, requests, outcomes, model, broker)
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
    """The results of replies, row by row.

    Attributes:
        probabilities: The distribution of a row; zeros where nothing was scored.
        masses: The mass that it rests on; NaN where nothing was scored.
        status: The code of its status.
    """

    def __init__(self, question: Finite, rows: Conversations) -> None:
        self.rows = rows
        self.probabilities: list[tuple[float, ...]] = []
        self.masses: list[float] = []
        self.status: list[int] = []
        self.calls: list[str | None] = []
        self.texts: list[str | None] = []
        self.prompt_tokens: list[int] = []
        self.completion_tokens: list[int] = []
        self._none = (0.0,) * len(question.words)
        orders = set(rows.arrangements)
        self._options = {order: _option_texts(question, order, rows.mode) for order in orders}
        self._owners = {
            order: token_owner(question.words, order, rows.mode, question.has_whole_tokens) for order in orders
        }

    def requests(self, first: int, lead: str, top: int) -> list[Request]:
        """What is asked in a lot of rows."""
        orders = self.rows.arrangements[first : first + _LOT]
        same = Request((), lead, 1, top)[1:-1]
        # Made from whole tuples, which takes half the time.
        return [
            Request._make((messages, *same, self._options[order]))
            for messages, order in zip(self.rows.messages(first, _LOT), orders, strict=True)
        ]

    def read(self, calls: list[str], outcomes: list[ReplyOrFailure]) -> None:
        """Read the replies to the next rows."""
        first = len(self.status)
        failures, arrangements, width = self.rows.failures, self.rows.arrangements, len(self._none)
        if not failures and self._read_answers(first, calls, outcomes):
            return
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
                        self.probabilities.append(distribution)
                        self.masses.append(mass)
                        self.status.append(_OK if mass >= NO_MASS else _UNPARSEABLE)
                        continue
                    code = _REFUSED
            self.probabilities.append(self._none)
            self.masses.append(math.nan)
            self.status.append(code or _OK)

    def _read_answers(self, first: int, calls: list[str], outcomes: Sequence[ReplyOrFailure]) -> bool:
        """Read replies that all give a distribution, column by column; False, with nothing read, where one does not."""
        if set(map(type, outcomes)) != {Reply} or "refusal" in set(map(_FINISH, outcomes)):
            return False
        orders, owners, width = self.rows.arrangements[first : first + len(outcomes)], self._owners, len(self._none)
        pairs = list(zip(orders, map(_TOKENS, outcomes), strict=True))
        # Many prompts may get the same tokens: a rule that stands in for a model has few distributions.
        try:
            distinct = set(pairs)
        except TypeError:  # A model of the user's own may have put the tokens into lists.
            return False
        known = {pair: tally(owners[pair[0]], width, pair[1]) for pair in distinct}
        scores = [known[pair] for pair in pairs]
        masses = [mass for _, mass in scores]
        if min(masses) < NO_MASS:
            return False
        self.probabilities += [distribution for distribution, _ in scores]
        self.masses += masses
        self.status += [_OK] * len(masses)
        self.calls += calls
        self.texts += map(_TEXT, outcomes)
        self.prompt_tokens += map(_PROMPT_TOKENS, outcomes)
        self.completion_tokens += map(_COMPLETION_TOKENS, outcomes)
        return True

    def arrays(self) -> tuple[Floats, Floats, Codes]:
        """Distributions, masses and status codes of all rows."""
        return np.array(self.probabilities), np.array(self.masses), np.array(self.status, np.uint8)

    def columns(self, probabilities: Floats, masses: Floats, status: Codes) -> ReplyColumns:
        """What the journal keeps of the replies."""
        return ReplyColumns(
            self.texts, status, self.calls, self.prompt_tokens, self.completion_tokens, None, masses, probabilities
        )


def option_values(question: Finite, option: npt.NDArray[np.uint8]) -> pl.Series:
    """Option numbers as a column of values."""
    return question.value_column[pl.Series(option.astype(np.uint32))]


def _option_texts(question: Finite, arrangement: Arrangement, mode: Mode) -> tuple[str, ...]:
    """What is looked for in the first token, in the order shown."""
    if mode == "labels":
        return tuple(LABELS[: len(arrangement)])
    return tuple([question.words[index] for index in arrangement])
