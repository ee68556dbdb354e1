"""The tokens with which the options of a question can begin.

A small model spreads its probability over thousands of tokens, and only those that can begin an option say anything
about the answer. They are found by the first word of an option, or its first signs, in any case and with any marks
around it; which option such a token belongs to is decided elsewhere.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_RUN = re.compile(r"[^\W_]+")
_SIGNS = re.compile(r"[^\w\s]+|_+")
_MOST_KEPT = 4096
_EMPTY: npt.NDArray[np.int64] = np.zeros(0, np.int64)


@dataclass(frozen=True)
class OptionTable:
    """The tokens with which the options of several prompts can begin.

    Attributes:
        tokens: A row for each different list of options, filled up with -1.
        numbers: The row of each prompt.
        are_known: Whether every prompt has options.
    """

    tokens: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]
    are_known: bool


class OptionTokens:
    """The tokens of a model by what they begin with.

    Args:
        texts: The text of every token.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        groups: dict[str, list[int]] = {}
        numbers: list[int] = []
        for token, text in enumerate(texts):
            if run := _RUN.search(text.casefold()):
                groups.setdefault(run[0], []).append(token)
                if run[0].isdecimal():
                    numbers.append(token)
            elif signs := _SIGNS.search(text):
                groups.setdefault(signs[0], []).append(token)
        self._groups = {form: np.array(tokens, np.int64) for form, tokens in groups.items()}
        self._numbers = np.array(numbers, np.int64)
        self._known: dict[tuple[str, ...], npt.NDArray[np.int64]] = {}

    def of(self, options: tuple[str, ...]) -> npt.NDArray[np.int64]:
        """The tokens with which one of the options can begin, in rising order.

        Args:
            options: The options. All numbers count as beginnings of a number: what follows may be another digit.
        """
        tokens = self._known.get(options)
        if tokens is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            groups = [self._groups.get(form, _EMPTY) for form in dict.fromkeys(_forms(options))]
            if any(run[0].isdecimal() for run in map(_first_run, options) if run):
                groups.append(self._numbers)
            tokens = self._known[options] = np.unique(np.concatenate([_EMPTY, *groups]))
        return tokens

    def table(self, options: Sequence[tuple[str, ...]]) -> OptionTable:
        """The same for several prompts.

        Args:
            options: The options of each prompt; none where they are not known.
        """
        numbers = {each: number for number, each in enumerate(dict.fromkeys(options))}
        lists = [self.of(each) for each in numbers]
        tokens = np.full((len(lists), max(map(len, lists), default=0)), -1, np.int64)
        for row, each in zip(tokens, lists, strict=True):
            row[: len(each)] = each
        column = np.fromiter(map(numbers.__getitem__, options), np.int64, len(options))
        return OptionTable(tokens, column, all(map(len, lists)))


def _first_run(option: str) -> str:
    run = _RUN.search(option.casefold())
    return run[0] if run else ""


def _forms(options: Sequence[str]) -> list[str]:
    """All beginnings of options: of their first words, where one letter begins nothing but itself, and of signs."""
    runs = map(_first_run, options)
    forms = [run[:length] for run in runs for length in range(min(2, len(run)), len(run) + 1) if length]
    signs = [found[0] for option in options if (found := _SIGNS.match(option.strip()))]
    return forms + [each[:length] for each in signs for length in range(1, len(each) + 1)]
