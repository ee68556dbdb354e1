"""The one place where a reply becomes data.

Whatever a server, an engine or a model of the user's own returns is checked here before it is stored. A reply that
fails a check is a failure of the service: it is not stored, so it can never be used again.
"""

import json
import math
import numbers
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, get_args

import numpy as np

from populace.models.base import Failure, Finish, Reply, ReplyOrFailure, Request

MAX_TOKENS = 10_000_000
"""The largest number of tokens that one reply may claim to have read or written."""
ROUNDING = 0.01
"""How far probabilities that are rounded by an engine may add up to more than 1."""
_MAX_LOGPROB = math.log1p(ROUNDING)
_WIDTH = len(Reply._fields)
_FINISHES = frozenset(get_args(Finish))
_TOKEN_BYTES = re.compile(rb"[A-Za-z ]{1,2}|.", re.DOTALL)
_MESSAGE_TOKENS = 8
"""What the template of a chat adds to each message, at most."""
_PROMPT_TOKENS, _WRITTEN = itemgetter(3), itemgetter(4)
Tokeniser = Callable[[Sequence[str]], Sequence[int] | None]


def verify_replies(outcomes: Sequence[ReplyOrFailure]) -> list[ReplyOrFailure]:
    """The outcomes of requests, with a `Failure` in place of every reply that cannot be true.

    Example:
        >>> verify_replies([Reply("blue", (("blue", 5.0),))])[0].detail
        "the reply is malformed: the log-probability of 'blue' is 5.0"
    """
    return list(outcomes) if _are_proper(outcomes) else [_verify(outcome) for outcome in outcomes]


def _are_proper(outcomes: Sequence[ReplyOrFailure]) -> bool:
    """Whether all outcomes are replies in which nothing is wrong; quick, since it looks at all of them together."""
    try:
        if set(map(type, outcomes)) != {Reply}:
            return False
        # Columns as slices of one list: quicker than `zip` for very many short rows.
        fields: list[Any] = list(chain.from_iterable(outcomes))
        texts, tokens = fields[0::_WIDTH], fields[1::_WIDTH]
        if set(map(type, texts)) != {str} or not _FINISHES.issuperset(fields[2::_WIDTH]):
            return False
        counts = fields[3::_WIDTH] + fields[4::_WIDTH]
        if set(map(type, counts)) != {int} or min(counts) < 0 or max(counts) > MAX_TOKENS:
            return False
        pairs = list(chain.from_iterable(tokens))
        if pairs:
            if set(map(len, pairs)) != {2}:
                return False
            flat: list[Any] = list(chain.from_iterable(pairs))
            words, logprobs = flat[0::2], flat[1::2]
            if set(map(type, words)) != {str} or not {float, int}.issuperset(map(type, logprobs)):
                return False
            if not _add_up(np.array(logprobs, np.float64), list(map(len, tokens))):
                return False
            texts += words
        "".join(texts).encode()
    except (TypeError, ValueError, OverflowError):  # Fields that are missing, not numbers, or not text.
        return False
    return True


def are_possible(
    logprobs: np.ndarray[Any, np.dtype[np.float64]],
    counts: np.ndarray[Any, np.dtype[np.int64]],
    lengths: np.ndarray[Any, np.dtype[np.int64]],
) -> bool:
    """Whether replies in columns pass the same checks as others, as far as numbers go.

    Args:
        logprobs: The log-probabilities of the tokens of all replies, one reply after the other.
        counts: How many tokens each reply has.
        lengths: How many tokens were read for each reply.

    Example:
        >>> are_possible(np.array([-0.1, 0.5]), np.array([1, 1]), np.array([9, 9]))
        False
    """
    if not len(counts) or counts.min() < 1 or lengths.min() < 0 or lengths.max() > MAX_TOKENS:
        return False
    return _add_up(logprobs, counts.tolist())


def _add_up(logprobs: np.ndarray[Any, np.dtype[np.float64]], counts: list[int]) -> bool:
    """Whether log-probabilities are possible ones, and add up to at most 1 within each reply that has any."""
    if not logprobs.max() <= _MAX_LOGPROB:  # Also where one is not a number.
        return False
    filled = list(filter(None, counts))
    probabilities = np.exp(logprobs)
    if min(filled) == max(filled):
        sums = probabilities.reshape(len(filled), -1).sum(axis=1)
    else:
        sums = np.bincount(np.repeat(np.arange(len(filled)), filled), probabilities, minlength=len(filled))
    return bool(sums.max() <= 1 + ROUNDING and sums.min() > 0)


def _verify(outcome: Any) -> ReplyOrFailure:
    if type(outcome) is Failure:
        return outcome
    try:
        if not isinstance(outcome, Reply):
            raise ValueError(f"it is of type {type(outcome).__name__}")
        if outcome.finish not in _FINISHES:
            raise ValueError(f"it ended with {outcome.finish!r}")
        return outcome._replace(
            text=plain_text(outcome.text),
            tokens=possible_tokens([_token(*pair) for pair in outcome.tokens]),
            prompt_tokens=token_count(outcome.prompt_tokens),
            completion_tokens=token_count(outcome.completion_tokens),
        )
    except (TypeError, ValueError, OverflowError) as error:
        return Failure("unanswered", f"the reply is malformed: {error}")


def possible_tokens(tokens: Sequence[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """Tokens whose probabilities are possible ones; a token that is listed several times counts once if it must.

    Raises:
        ValueError: A log-probability is not a number or above 0, or the probabilities add up to more than 1 or to 0.
    """
    for token, logprob in tokens:
        if not logprob <= _MAX_LOGPROB:
            raise ValueError(f"the log-probability of {token[:20]!r} is {logprob}")
    total = math.fsum(math.exp(logprob) for _, logprob in tokens)
    if total > 1 + ROUNDING:
        # Different tokens can have the same text, and then they add up. Here they cannot all be different tokens.
        tokens = list(dict.fromkeys(tokens))
        total = math.fsum(math.exp(logprob) for _, logprob in tokens)
    if total > 1 + ROUNDING:
        raise ValueError(f"the probabilities of the tokens add up to {total:.4g}")
    if tokens and not total:
        raise ValueError("no token has a probability above 0")
    return tuple(tokens)


def _token(token: Any, logprob: Any) -> tuple[str, float]:
    if isinstance(logprob, bool) or not isinstance(logprob, numbers.Real):
        raise ValueError(f"a log-probability is of type {type(logprob).__name__}")
    return plain_text(token), float(logprob)


def token_count(count: Any) -> int:
    """A number of tokens, if it is one."""
    if isinstance(count, bool) or not isinstance(count, numbers.Integral):
        raise ValueError(f"a number of tokens is of type {type(count).__name__}")
    number = int(count)
    if not 0 <= number <= MAX_TOKENS:
        raise ValueError(f"a number of tokens is {number if abs(number) < 10**20 else 'far too large'}")
    return number


def plain_text(text: Any) -> str:
    """Text that can be encoded: half of a surrogate pair is replaced."""
    if not isinstance(text, str):
        raise ValueError(f"a text is of type {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return str(text)


def reply_object(content: bytes) -> dict[str, Any]:
    """The JSON object that a server sent; ValueError if it sent something else."""
    return json_object(reply_json(content), "the reply")


def reply_json(content: bytes) -> Any:
    """The JSON that a server sent; ValueError if it sent something else."""
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    except ValueError:
        raise ValueError("it is not JSON") from None


def read_completion(data: dict[str, Any], request: Request) -> Reply:
    """The reply in the answer of an OpenAI-compatible server; ValueError if there is none."""
    if data.get("error"):
        raise ValueError(f"it is an error: {str(data['error'])[:200]}")
    choices = data.get("choices")
    if not isinstance(choices, list) or len(choices) != 1:
        number = len(choices) if isinstance(choices, list) else "no"
        raise ValueError(f"it holds {number} choices in place of one")
    choice = json_object(choices[0], "the choice")
    message = json_object(choice.get("message"), "the message")
    counts = usage_counts(data.get("usage"))
    refusal, finish = message.get("refusal"), choice.get("finish_reason")
    if refusal or finish == "content_filter":
        return Reply(plain_text(refusal or ""), (), "refusal", *counts)
    if finish == "error":
        raise ValueError("it ended with an error")
    tokens = first_token_alternatives(choice) if request.top else ()
    if request.top and not tokens:
        raise ValueError("the log-probabilities are missing")
    content = message.get("content")
    if content is None and (finish == "length" or request.top):
        content = ""  # A model that reasons may reach its limit before it writes anything.
    text = plain_text(content).removeprefix(request.lead)
    return Reply(text, tokens, "length" if finish == "length" else "stop", *counts)


def first_token_alternatives(choice: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    """The alternatives of the first token with their log-probabilities; none where the server gives none."""
    logprobs = choice.get("logprobs")
    content = json_object(logprobs, "the field logprobs").get("content") if logprobs is not None else None
    if not content:
        return ()
    first = json_object(content[0] if isinstance(content, list) else None, "the first token")
    alternatives = first.get("top_logprobs")
    if not isinstance(alternatives, list):
        raise ValueError("the alternatives of the first token are missing")
    entries = [json_object(entry, "an alternative") for entry in alternatives]
    return token_alternatives([(entry.get("token"), entry.get("logprob")) for entry in entries])


def token_alternatives(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[str, float], ...]:
    """Tokens with their log-probabilities, as a server sent them; ValueError if they are not possible ones."""
    return possible_tokens([_token(token, logprob) for token, logprob in pairs])


def usage_counts(usage: Any) -> tuple[int, int]:
    """Tokens read and written; 0 for what the server does not say."""
    if usage is None:
        return 0, 0
    fields = json_object(usage, "the field usage")
    counts = [fields.get(name) for name in ("prompt_tokens", "completion_tokens")]
    return token_count(counts[0] or 0), token_count(counts[1] or 0)


def read_vectors(data: dict[str, Any], count: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """One vector for each text in the answer of an embedding server; ValueError if they are not there."""
    entries = data.get("data")
    if not isinstance(entries, list) or len(entries) != count:
        raise ValueError("it does not hold one vector for each text")
    objects = [json_object(entry, "a vector") for entry in entries]
    order: list[Any] = [entry.get("index") for entry in objects]
    if set(map(type, order)) != {int} or sorted(order) != list(range(count)):
        raise ValueError("the vectors are not numbered from 0")
    lists = [entry.get("embedding") for entry in objects]
    sizes = {len(vector) if isinstance(vector, list) else 0 for vector in lists}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError("the vectors are not lists of one length")
    if not {float, int}.issuperset(map(type, chain.from_iterable(lists))):  # type: ignore[arg-type]
        raise ValueError("a vector holds something else than numbers")
    with np.errstate(over="ignore"):
        rows = np.array(lists, np.float64).astype(np.float32)
    if not np.isfinite(rows).all():
        raise ValueError("a vector is not finite")
    vectors = np.empty_like(rows)
    vectors[order] = rows
    return vectors


def json_object(value: Any, what: str) -> dict[str, Any]:
    """A JSON object; ValueError, which names what is none, if it is something else."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no JSON object")
    return value


def estimate_tokens(text: str) -> int:
    """How many tokens a text has at most, roughly, for a model whose tokeniser is not available.

    One for every two letters or spaces, rounded up, and one for every other byte: digits, punctuation and letters
    beyond ASCII can need as many.

    Example:
        >>> estimate_tokens("Which shirt?"), estimate_tokens("日本")
        (7, 6)
    """
    return len(_TOKEN_BYTES.findall(text.encode(errors="replace")))


def estimate_usage(reply: Reply, request: Request, tokeniser: Tokeniser) -> Reply:
    """The reply with an estimate of what its service did not say: the tokens that it read, or wrote.

    Args:
        reply: The reply; 0 tokens stand for a number that is not known.
        request: What was asked.
        tokeniser: Counts the tokens of texts; None where it cannot, and `estimate_tokens` is used.
    """
    prompt = [text for _, text in request.messages] + [request.lead]
    texts = [*prompt, reply.text]
    counts = tokeniser(texts) or [estimate_tokens(text) for text in texts]
    limit = 1 if request.top else max(1, request.max_tokens)
    return reply._replace(
        prompt_tokens=reply.prompt_tokens or sum(counts[:-1]) + _MESSAGE_TOKENS * len(prompt),
        completion_tokens=reply.completion_tokens or (limit if reply.finish == "length" else min(counts[-1], limit)),
        estimated=True,
    )


def without_usage(outcomes: Sequence[ReplyOrFailure]) -> list[tuple[int, Reply]]:
    """The replies whose service did not say what they cost, with their place: every prompt has tokens, and every text.

    Example:
        >>> [place for place, _ in without_usage([Reply("blue", (), "stop", 9, 1), Reply("blue")])]
        [1]
    """
    if set(map(type, outcomes)) == {Reply} and all(map(_PROMPT_TOKENS, outcomes)) and all(map(_WRITTEN, outcomes)):
        return []
    replies = [(place, each) for place, each in enumerate(outcomes) if isinstance(each, Reply)]
    return [(place, each) for place, each in replies if not each[3] or (not each[4] and each.text)]
