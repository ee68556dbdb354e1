"""Which tokens can be the beginning of an answer to a prompt.

A question names its options, so a token that begins an option begins a word of the conversation too. A small model
spreads its probability over thousands of tokens, and of these only such tokens are worth keeping.
"""

import re
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from populace.models.pytorch.token_rows import TokenRows

_RUN = re.compile(r"[^\W_]+")
_WORD = re.compile(r"(?<![^\W_])[^\W\d_][^\W_]*")
_SIGNS = re.compile(r"[^\w\s]+|_+")
_LONGEST, _MOST_SIGNS = 12, 4
_WIDTH = 16_384
"""Beginnings of words are told apart by numbers below this one. Two that share a number only keep a token too many."""
_ROWS_AT_ONCE = 64
"""So many that their marks fit into the cache of a processor."""
_ALWAYS, _NEVER = 0, 1
_RESERVED = 2


def _number(beginning: str) -> int:
    return _RESERVED + zlib.crc32(beginning.encode(errors="replace")) % (_WIDTH - _RESERVED)


def beginnings_of(text: str) -> list[int]:
    """The numbers of all beginnings of the words and signs of a text, those of numbers left out.

    One letter is the beginning of nothing but itself; one sign may begin an option, such as `+1` or `$5`.
    """
    plain = text.casefold()
    lengths = [(word, range(min(2, len(word)), min(len(word), _LONGEST) + 1)) for word in _WORD.findall(plain)]
    lengths += [(signs, range(1, min(len(signs), _MOST_SIGNS) + 1)) for signs in _SIGNS.findall(plain)]
    return sorted({_number(word[:length]) for word, each in lengths for length in each})


def _token_number(text: str) -> int:
    """The number of what a token begins: a word, a number, signs, or nothing."""
    if run := _RUN.search(text.casefold()):
        return _ALWAYS if run[0][0].isdecimal() else _number(run[0][:_LONGEST])
    signs = _SIGNS.search(text)
    return _NEVER if signs is None else _number(signs[0][:_MOST_SIGNS])


class FirstWords:
    """The tokens of a model as beginnings of words.

    Args:
        texts: The text of every token.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._numbers = np.fromiter(map(_token_number, texts), np.int64, len(texts))

    def can_begin(
        self, rows: TokenRows, which: npt.NDArray[np.int64], tokens: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.bool_]:
        """Whether each token begins a word or signs of what was said in its prompt, or a number.

        Args:
            rows: Prompts.
            which: Which of them.
            tokens: Tokens, in a row for each of these prompts.
        """
        lists = ((rows.own_words, which), (rows.beginning_words, rows.beginning[which]))
        words = [words.join(numbers, np.arange(1, len(numbers) + 1)) for words, numbers in lists]
        can_begin = np.empty(tokens.shape, np.bool_)
        marks = np.empty(_ROWS_AT_ONCE * _WIDTH, np.bool_)
        for begin in range(0, len(which), _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            starts = np.arange(len(which[part])) * _WIDTH
            marks.fill(False)
            marks[starts + _ALWAYS] = True
            for each in words:
                lengths = each.lengths[part]
                end = int(each.ends[part][-1])
                marks[np.repeat(starts, lengths) + each.tokens[end - int(lengths.sum()) : end]] = True
            can_begin[part] = marks.take(self._numbers[tokens[part]] + starts[:, None])
        return can_begin
