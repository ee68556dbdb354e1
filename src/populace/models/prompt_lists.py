"""Replies to several prompts that were sent as one list: as vLLM sends them, and as llama.cpp does."""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from populace.models.base import Reply
from populace.models.reply_checks import (
    first_token_alternatives,
    json_object,
    plain_text,
    reply_json,
    token_alternatives,
    token_count,
    usage_counts,
)

Tokens = Sequence[tuple[str, float]]


def read_prompt_list(
    content: bytes, prompts: Sequence[str], top: int, check_author: Callable[[Any], None]
) -> list[Reply]:
    """The reply to each prompt of a list; ValueError if there is not one for each.

    Args:
        content: What the server sent: an object with choices (vLLM), or a list of results (llama.cpp).
        prompts: The prompts.
        top: How many alternatives of each first token were asked for.
        check_author: Raises ValueError if a model of this name must not answer.
    """
    data = reply_json(content)
    if isinstance(data, list):
        rows = _in_order(data, len(prompts))
        for row in rows:
            check_author(row.get("model"))
        return [_llamacpp_reply(row, top) for row in rows]
    reply = json_object(data, "the reply")
    if reply.get("error"):
        raise ValueError(f"it is an error: {str(reply['error'])[:200]}")
    check_author(reply.get("model"))
    prompt_tokens, completion_tokens = usage_counts(reply.get("usage"))
    lengths = [len(prompt) for prompt in prompts]
    counts = zip(_shares(prompt_tokens, lengths), _shares(completion_tokens, [1] * len(prompts)), strict=True)
    rows = _in_order(reply.get("choices"), len(prompts))
    return [_choice_reply(row, top, *each) for row, each in zip(rows, counts, strict=True)]


def _in_order(rows: Any, count: int) -> list[dict[str, Any]]:
    if not isinstance(rows, list) or len(rows) != count:
        raise ValueError("it does not hold one result for each prompt")
    objects = [json_object(row, "a result") for row in rows]
    order: list[Any] = [each.get("index") for each in objects]
    if set(map(type, order)) != {int} or sorted(order) != list(range(count)):
        raise ValueError("its results are not numbered from 0")
    return [objects[place] for place in sorted(range(count), key=order.__getitem__)]


def _llamacpp_reply(row: dict[str, Any], top: int) -> Reply:
    tokens = first_token_alternatives({"logprobs": {"content": row.get("completion_probabilities")}})
    return Reply(
        plain_text(row.get("content")),
        _most_likely(tokens, top),
        "stop" if row.get("stop_type") == "eos" else "length",
        token_count(row.get("tokens_evaluated") or 0),
        token_count(row.get("tokens_predicted") or 0),
    )


def _choice_reply(row: dict[str, Any], top: int, prompt_tokens: int, completion_tokens: int) -> Reply:
    logprobs = json_object(row.get("logprobs"), "the field logprobs")
    if "content" in logprobs:
        tokens: Tokens = first_token_alternatives(row)
    else:
        alternatives = logprobs.get("top_logprobs")
        first = json_object(alternatives[0] if isinstance(alternatives, list) and alternatives else None, "a token")
        tokens = token_alternatives(first.items())
    finish = row.get("finish_reason")
    if finish == "error":
        raise ValueError("it ended with an error")
    return Reply(
        plain_text(row.get("text")),
        _most_likely(tokens, top),
        "length" if finish == "length" else "stop",
        prompt_tokens,
        completion_tokens,
    )


def _most_likely(tokens: Tokens, top: int) -> tuple[tuple[str, float], ...]:
    """The alternatives in the order of their probability; some servers add the token that was drawn."""
    if not tokens:
        raise ValueError("the log-probabilities are missing")
    return tuple(sorted(tokens, key=lambda pair: -pair[1])[:top])


def _shares(total: int, weights: Sequence[int]) -> list[int]:
    """A number of tokens divided by weight; the parts add up to it."""
    sums = [0, *accumulate(weights)]
    return [total * end // sums[-1] - total * start // sums[-1] for start, end in pairwise(sums)]
