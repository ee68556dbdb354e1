"""Replies made from columns are those that are made one by one, and so is their JSON."""

import json

import numpy as np
import pytest

from populace.broker.batch_storage import reply_contents
from populace.models import Failure, Reply
from populace.models.reply_checks import verify_replies
from populace.models.scored_replies import ScoredReplies, TokenTexts

TEXTS = ["roof", " bridge", '"', "\\", "\n", "é", "日本", "😀", "\x00", "], [", '","']


def _columns(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    counts = random.integers(1, 6, count)
    logprobs = np.round(-random.random(counts.sum()) * 10 - 1.7, 5)
    return random.integers(0, len(TEXTS), counts.sum()), logprobs, counts, random.integers(1, 9, count)


def _one_by_one(tokens: np.ndarray, logprobs: np.ndarray, counts: np.ndarray, lengths: np.ndarray) -> list[Reply]:
    replies, begin = [], 0
    for count, length in zip(counts.tolist(), lengths.tolist(), strict=True):
        part = slice(begin, begin + count)
        pairs = [(TEXTS[token], p) for token, p in zip(tokens[part].tolist(), logprobs[part].tolist(), strict=True)]
        replies.append(Reply(pairs[0][0], tuple(pairs), "stop", length, 1))
        begin += count
    return replies


def test_replies_from_columns_are_those_made_one_by_one() -> None:
    columns = _columns(500)
    replies = ScoredReplies.of(range(7, 507), TokenTexts(TEXTS), *columns)
    expected = _one_by_one(*columns)
    assert isinstance(replies, ScoredReplies)
    assert list(replies) == list(zip(range(7, 507), expected, strict=True))
    assert {type(reply) for _, reply in replies} == {Reply}
    assert verify_replies([reply for _, reply in replies]) == expected
    assert [reply.to_json() for _, reply in replies] == [reply.to_json() for reply in expected]
    assert reply_contents([reply for _, reply in replies]) == [reply.to_json().decode() for reply in expected]
    assert replies.contents().collect()["reply"].to_list() == [reply.to_json().decode() for reply in expected]


def test_every_size_of_log_probability_is_written_as_one_by_one() -> None:
    sizes = [0.0, -0.0, 0.00001, -0.00001, 0.009, -0.00012, -0.1, -1.0, -9.99999, -10.0, -87.3, -1023.99999]
    for logprobs in (sizes, [*sizes, -1024.0], [*sizes, -5000.5]):
        paired = np.array([value for pair in zip(logprobs, [-9.0] * len(logprobs), strict=True) for value in pair])
        counts, lengths = np.full(len(logprobs), 2), np.full(len(logprobs), 323)
        tokens = np.arange(len(paired)) % len(TEXTS)
        replies = ScoredReplies.of(range(len(logprobs)), TokenTexts(TEXTS), tokens, paired, counts, lengths)
        assert isinstance(replies, ScoredReplies)
        expected = _one_by_one(tokens, paired, counts, lengths)
        assert replies.contents().collect()["reply"].to_list() == [reply.to_json().decode() for reply in expected]
        json.loads(replies.contents().collect()["reply"][0])


@pytest.mark.parametrize("bad", [0.5, np.nan, np.inf, -np.inf])
def test_impossible_columns_are_checked_one_by_one(bad: float) -> None:
    tokens, logprobs, counts, lengths = _columns(20)
    counts[0], logprobs = 1, logprobs[counts[0] - 1 :].copy()
    tokens, logprobs[0] = tokens[-len(logprobs) :], bad
    replies = ScoredReplies.of(range(20), TokenTexts(TEXTS), tokens, logprobs, counts, lengths)
    assert not isinstance(replies, ScoredReplies)
    verdicts = verify_replies([reply for _, reply in replies])
    assert isinstance(verdicts[0], Failure) and not any(isinstance(each, Failure) for each in verdicts[1:])
