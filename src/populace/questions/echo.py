"""Detects texts that repeat the prompt."""

import functools
from dataclasses import dataclass

from populace.base.words import lower_words

RUN = 9
"""This many words in a row that also occur in the prompt are an echo of it."""
WHOLE = 4
"""A text of at least this many words that occurs in the prompt as a whole is an echo too."""
_BLOCK = (RUN + 1) // 2
"""Any run of RUN words contains a whole block of this many words, wherever the blocks begin."""


@dataclass(frozen=True)
class EchoDetector:
    """Tells whether texts repeat a prompt.

    Attributes:
        prompt: The whole prompt.

    Example:
        >>> detector = EchoDetector("Be kind to one another, and write only about bicycles in this place.")
        >>> detector.is_echo("OK. Write only about bicycles in this place.")
        False
        >>> detector.is_echo("Write only about bicycles in this place.")
        True
    """

    prompt: str

    def is_echo(self, text: str) -> bool:
        """Whether a text has a long run of words in common with the prompt, or occurs in it as a whole."""
        words = folded_words(text)
        if len(words) < WHOLE or not self.prompt:
            return False
        if len(words) < RUN:
            return f" {' '.join(words)} " in _prompt_words(self.prompt)
        folded = _folded(self.prompt)
        for at in range(0, len(words) - _BLOCK + 1, _BLOCK):
            # Most blocks have a word that is not in the prompt: a quick test before the slow one.
            if words[at] in folded and words[at + 2] in folded and words[at + 4] in folded:
                prompt_words = _prompt_words(self.prompt)
                if f" {' '.join(words[at : at + _BLOCK])} " in prompt_words and _has_run(words, at, prompt_words):
                    return True
        return False


@functools.lru_cache(maxsize=16)
def folded_words(text: str) -> list[str]:
    """The words of a text in lower case; cached because several rules examine the same text."""
    return lower_words(text)


def _has_run(words: list[str], at: int, prompt_words: str) -> bool:
    """Whether a run of RUN words around the block at `at` occurs in the prompt."""
    first, last = max(0, at - RUN + _BLOCK), min(at, len(words) - RUN)
    return any(f" {' '.join(words[begin : begin + RUN])} " in prompt_words for begin in range(first, last + 1))


@functools.lru_cache(maxsize=64)
def _folded(prompt: str) -> str:
    return prompt.casefold()


@functools.lru_cache(maxsize=64)
def _prompt_words(prompt: str) -> str:
    return f" {' '.join(filter(None, map(_line_words, prompt.split(chr(10)))))} "


@functools.lru_cache(maxsize=16_384)
def _line_words(line: str) -> str:
    # Cached because the prompts of a thread share most of their lines.
    return " ".join(lower_words(line))
