"""The tokens of words, remembered: most words of many prompts are the same, and a tokenizer is slow.

A text is cut before every single space that stands between two characters that are no white space. The tokenizers that
are known here cut at such a place too, whatever stands before and after it, and read each word by itself. So the tokens
of the words, one after the other, are those of the text.
"""

import json
import operator
import re
from collections.abc import Sequence
from itertools import chain, compress, repeat, takewhile
from typing import Any

import numpy as np

from populace.models.pytorch.token_rows import Indices, TokenLists

WHOLE = "\0"
"""The mark of a word that stands at the beginning; all others are read with a space before them."""
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPLITS: dict[str, str | None] = {
    "qwen2": _WORDS % r"\p{N}",
    "llama-bpe": _WORDS % r"\p{N}{1,3}",
    "smollm": None,
}
"""How a text is cut into words, by the name in a GGUF file; None cuts every digit off and the rest as GPT-2 does."""
_MOST_WORDS = 400_000
_SAMPLE, _ATTEMPTS = 16, 4
"""Of how many texts a shared ending is found, and how often with more of them, before all are compared with it."""
_CUT = re.compile(r"(?<=\S)(?= \S)")


def cuts_at_spaces(tokenizer: Any) -> bool:
    """Whether a tokenizer of the library tokenizers reads the words of a text one by one, as this module cuts them."""
    if tokenizer.pre_tokenizer is None or tokenizer.model.__class__.__name__ != "BPE":
        return False
    if tokenizer.normalizer is not None and json.loads(tokenizer.normalizer.__getstate__()) != {"type": "NFC"}:
        return False
    state = json.loads(tokenizer.pre_tokenizer.__getstate__())
    steps = state["pretokenizers"] if state["type"] == "Sequence" else [state]
    tokens = tokenizer.get_added_tokens_decoder().values()
    return all(map(_is_known, steps)) and not any(
        " " in token.content or token.lstrip or token.rstrip or token.single_word for token in tokens
    )


def _is_known(step: dict[str, Any]) -> bool:
    match step:
        case {"type": "Digits"} | {"type": "ByteLevel", "add_prefix_space": False}:
            return True
        case {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}:
            return pattern in SPLITS.values()
    return False


def cut_text(text: str) -> list[str]:
    """The words of a text, the first with the mark `WHOLE`; the others without the space before them."""
    first, *others = _CUT.split(text)
    return [WHOLE + first, *(word[1:] for word in others)]


def shared_ending(texts: Sequence[str]) -> str:
    """What all texts end with, from a space on at which `cut_text` cuts each of them; empty if there is no such place.

    Example:
        >>> shared_ending(["I am Ann. Which shirt?", "I am Bo. Which shirt?"])
        ' Which shirt?'
    """
    sample = list(texts[:: max(1, len(texts) // _SAMPLE)])
    for _ in range(_ATTEMPTS):
        backwards = [text[::-1] for text in sample]
        pairs = zip(min(backwards), max(backwards), strict=False)  # All others stand between these two.
        ending = "".join([one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)])[::-1]
        cut = _CUT.search(ending)
        if cut is None:
            return ""
        # The character before the space belongs to it: it must be no white space in any of the texts.
        ending = ending[cut.start() - 1 :]
        others = list(compress(texts, map(operator.not_, map(str.endswith, texts, repeat(ending)))))
        if not others:
            return ending[1:]
        sample += others[:_SAMPLE]
    return ""


class _Codes(dict[str, int]):
    """The number of each word; a new word gets the next one."""

    def __init__(self) -> None:
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        code = self[word] = len(self)
        self.new.append(word)
        return code


class WordTokens:
    """Words with their tokens.

    Args:
        tokenizer: The tokenizer, of the library tokenizers.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._clear()

    def _clear(self) -> None:
        self._codes = _Codes()
        self._tokens = TokenLists.of([])
        self._is_loose = np.zeros((2, 0), np.bool_)

    def make_room(self) -> None:
        """Forget all words if there are many."""
        if len(self._codes) > _MOST_WORDS:
            self._clear()

    def lists(self, words: list[str], ends: Indices) -> TokenLists:
        """The tokens of rows of words.

        Args:
            words: The words of all rows, as `cut_text` returns them, or a text cut at every space, with what follows it
                as one more word. The latter are cut again where there is more white space than a space.
            ends: Where each row ends.
        """
        codes = self._codes_of(words)
        loose = self._loose_rows(codes, ends)
        if loose:
            rows = [words[begin:end] for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]
            for row in loose:
                first, *others, ending = rows[row]
                if not any(word[:1] == WHOLE for word in others):  # Else it comes from `cut_text` already.
                    rows[row] = [*cut_text(" ".join((first[1:], *others))), ending]
            codes = self._codes_of(list(chain.from_iterable(rows)))
            ends = np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)))
        return self._tokens.join(codes, ends)

    def _codes_of(self, words: list[str]) -> Indices:
        codes = np.fromiter(map(self._codes.__getitem__, words), np.int64, len(words))
        if self._codes.new:
            self._add(self._codes.new)
            self._codes.new = []
        return codes

    def _loose_rows(self, codes: Indices, ends: Indices) -> list[int]:
        """The rows that were cut beside other white space."""
        starts_loose, ends_loose = self._is_loose[0][codes], self._is_loose[1][codes]
        # The last two of a row, the end of a text and what follows it, are not cut from anything after them.
        ends_loose[np.maximum(ends - 1, 0)[ends > 0]] = False
        ends_loose[np.maximum(ends - 2, 0)[ends > 1]] = False
        places = np.flatnonzero(starts_loose | ends_loose)
        rows: list[int] = np.unique(np.searchsorted(ends, places, "right")).tolist()
        return rows

    def _add(self, words: Sequence[str]) -> None:
        texts = [word[1:] if word[:1] == WHOLE else f" {word}" for word in words]
        encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        self._tokens = self._tokens.extended([encoding.ids for encoding in encodings])
        starts_loose = [word[:1] != WHOLE and (not word or word[0].isspace()) for word in words]
        ends_loose = [not word or word[-1].isspace() for word in words]
        self._is_loose = np.concatenate((self._is_loose, np.array([starts_loose, ends_loose])), axis=1)
