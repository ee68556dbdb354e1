"""From the probabilities of the first token to a distribution over options.

Only tokens that belong to exactly one option count. Probability on other tokens is given to no option: the share that
fell on any option, the mass, is recorded with the distribution.
"""

import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from populace.base.token_columns import TokenRow
from populace.questions.finite import LABELS, Arrangement, Finite
from populace.questions.reply_parsing import bare_form, normal_form

Mode = Literal["words", "labels", "digits"]
"""How options are shown and scored: by their words, by letters, or as numbers that the model writes digit by digit."""
Tokens = Sequence[tuple[str, float]]
Floats = npt.NDArray[np.float64]
Owner = Callable[[str], int | None]
"""A function from a token to the index of the option that it begins, or None."""

_UNKNOWN = -2
"""In place of the option of a token that was not looked up yet."""
_MARKS = " \t\n▁Ġ("

LOW_MASS = 0.5
"""Below this share of probability on the options, a result carries a warning."""
NO_MASS = 1e-3
"""Below this share the model did not answer the question at all."""
_TOO_MUCH = 1.02
"""Probabilities that add up to more than rounding explains are impossible, and are no answer."""


class Scores(NamedTuple):
    """A distribution over options in declared order, and the share of probability that fell on them."""

    probabilities: tuple[float, ...]
    mass: float


def mode_of(question: Finite, first_tokens: Sequence[str] | None, lead: bool = False) -> Mode:
    """Whether the options of a question are scored by their words, by their labels, or digit by digit.

    Words can be used if their first tokens differ. If the model's tokens are not known, the words must begin with
    different letters: then their first tokens differ for every tokeniser. The points of a scale to 10 or more can be
    used if the model writes each of them, 10 too, as one token. A scale to 10 is scored digit by digit if the model
    writes a space first and then one token for each digit, and its replies can be made to begin with given words.

    Args:
        question: The question.
        first_tokens: The first token of each option as the model writes it, or None if that is not known.
        lead: Whether replies can be made to begin with given words.

    Example:
        >>> from populace.questions import Choice, Rating
        >>> mode_of(Choice("Agree?", options=("agree", "agree strongly")), None)
        'labels'
        >>> mode_of(Rating("How sure?", low=0, high=10), [" "] * 11, lead=True)
        'digits'
    """
    if question.scoring != "auto":
        return question.scoring
    shapes = [normal_form(word) for word in question.words]
    heads = [shape[:1] for shape in shapes]
    if first_tokens is not None:
        heads = [normal_form(token.lstrip(_MARKS)) for token in first_tokens]
        if question.has_whole_tokens:
            if heads == shapes:
                return "words"
            return "digits" if lead and not any(heads) and shapes[-1] == "10" else "labels"
        if any(len(head) < 2 and head != shape for head, shape in zip(heads, shapes, strict=True)):
            return "labels"
    alike = any(i != j and other.startswith(head) for i, head in enumerate(heads) for j, other in enumerate(shapes))
    return "words" if all(heads) and not alike else "labels"


def score(question: Finite, arrangement: Arrangement, mode: Mode, tokens: Tokens) -> Scores:
    """The distribution over options, from the most likely first tokens and their log-probabilities.

    Example:
        >>> from populace.questions import Choice
        >>> shirts = Choice("Which shirt?", options=("blue", "green"))
        >>> result = score(shirts, (0, 1), "words", [(" Blue", -0.7), ("green", -1.6), ("I", -2.3)])
        >>> [round(p, 2) for p in result.probabilities], round(result.mass, 2)
        ([0.71, 0.29], 0.7)
    """
    owner = token_owner(question.words, arrangement, mode, question.has_whole_tokens)
    return tally(owner, len(question.words), tokens)


def tally(owner: Owner, count: int, tokens: Tokens) -> Scores:
    """Add the probability of each token to the option to which it belongs, and normalise.

    Where the log-probabilities are impossible, or no token belongs to an option, everything is 0.

    Args:
        owner: The index of the option to which a token belongs.
        count: The number of options.
        tokens: The most likely first tokens with their log-probabilities.

    Example:
        >>> tally({"A": 0, "B": 1}.get, 2, [("A", math.log(0.5)), ("B", math.log(0.25)), ("I", math.log(0.125))]).mass
        0.75
    """
    sums = [0.0] * count
    try:
        for token, logprob in tokens:
            index = owner(token)
            if index is not None:
                sums[index] += math.exp(logprob)
    except OverflowError:
        sums[0] = math.inf
    total = sum(sums)
    if not 0.0 < total < _TOO_MUCH:  # Also where a log-probability is not a number.
        return Scores((0.0,) * count, 0.0)
    return Scores(tuple([p / total for p in sums]), total if total < 1.0 else 1.0)


def tally_all(owner: Owner, count: int, token_lists: Sequence[Tokens]) -> tuple[Floats, Floats]:
    """The same for many replies: a distribution in each row, and the masses; all equal to those of `tally`.

    Args:
        owner: The index of the option to which a token belongs; a `TokenOwners` remembers them for the next call.
        count: The number of options.
        token_lists: The most likely first tokens of each reply, with their log-probabilities.

    Example:
        >>> tally_all({"A": 0, "B": 1}.get, 2, [[("A", -1.0), ("I", -1.0)], [("I", 0.0)]])[0].tolist()
        [[1.0, 0.0], [0.0, 0.0]]
    """
    owners = owner if isinstance(owner, TokenOwners) else TokenOwners(owner)
    if set(map(type, token_lists)) == {TokenRow}:
        return _tally_columns(owners, count, cast(Sequence[TokenRow], token_lists))
    pairs = list(itertools.chain.from_iterable(token_lists))
    # Columns as slices of one list: quicker than to take one field of each pair.
    flat: list[Any] = list(itertools.chain.from_iterable(pairs))
    numbers = np.fromiter(map(owners.numbers.__getitem__, flat[0::2]), np.int64, len(pairs))
    rows = np.repeat(np.arange(len(token_lists)), np.fromiter(map(len, token_lists), np.int64, len(token_lists)))
    belongs = numbers >= 0
    logprobs = list(itertools.compress(flat[1::2], belongs.tolist()))
    return _normalised(rows[belongs] * count + numbers[belongs], logprobs, len(token_lists), count)


def _tally_columns(owners: "TokenOwners", count: int, rows: Sequence[TokenRow]) -> tuple[Floats, Floats]:
    """The same for replies in columns, of which some may belong to other columns than others."""
    columns_of = [row.columns for row in rows]
    numbers = np.fromiter(map(operator.attrgetter("number"), rows), np.int64, len(rows))
    which = np.fromiter(map(id, columns_of), np.int64, len(rows))
    probabilities, masses = np.empty((len(rows), count)), np.empty(len(rows))
    for columns in {id(each): each for each in columns_of}.values():
        places = np.flatnonzero(which == id(columns))
        mine = numbers[places]
        begins = np.concatenate([[0], columns.ends[:-1]])[mine]
        sizes = columns.ends[mine] - begins
        # The places of the tokens of these replies, one reply after the other.
        at = np.arange(sizes.sum()) + np.repeat(begins - np.cumsum(sizes) + sizes, sizes)
        owned = owners.table(columns.texts, columns.tokens)[columns.tokens[at]]
        belongs = owned >= 0
        keys = np.repeat(np.arange(len(mine)), sizes)[belongs] * count + owned[belongs]
        logprobs = columns.logprobs[at[belongs]].tolist()
        probabilities[places], masses[places] = _normalised(keys, logprobs, len(mine), count)
    return probabilities, masses


def _normalised(keys: npt.NDArray[Any], logprobs: list[float], replies: int, count: int) -> tuple[Floats, Floats]:
    """Distributions and masses, from the log-probabilities of tokens and `reply * count + option` of each."""
    with np.errstate(all="ignore"):
        # `math.exp` and sums from left to right, so that not even the last bit differs from those of one reply.
        try:
            values = np.fromiter(map(math.exp, logprobs), np.float64, len(logprobs))
        except OverflowError:
            values = np.fromiter(map(_exp, logprobs), np.float64, len(logprobs))
        sums = np.bincount(keys, values, replies * count).reshape(-1, count)
        total = np.zeros(replies)
        for option in range(count):
            total += sums[:, option]
        is_proper = (total > 0.0) & (total < _TOO_MUCH)
        probabilities = np.where(is_proper[:, None], sums / total[:, None], 0.0)
    return probabilities, np.where(is_proper, np.minimum(total, 1.0), 0.0)


class TokenOwners:
    """The option to which each token belongs, looked up once for each token.

    Args:
        owner: The index of the option to which a token belongs.

    Attributes:
        numbers: The index for each text; -1 for none.
    """

    def __init__(self, owner: Owner) -> None:
        self.numbers = _OwnerNumbers(owner)
        self._table: npt.NDArray[np.int64] | None = None
        self._texts: Sequence[str] = ()

    def __call__(self, token: str) -> int | None:
        """The index of the option to which a token belongs, or None."""
        number = self.numbers[token]
        return None if number < 0 else number

    def table(self, texts: Sequence[str], tokens: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The index of each token of a model, -1 for none, right for the tokens that are given.

        Args:
            texts: The text of every token of the model.
            tokens: Tokens.
        """
        if self._table is None or self._texts is not texts:
            self._table, self._texts = np.full(len(texts), _UNKNOWN), texts
        for token in np.unique(tokens[self._table[tokens] == _UNKNOWN]).tolist():
            self._table[token] = self.numbers[texts[token]]
        return self._table


class _OwnerNumbers(dict[str, int]):
    """The index of the option to which each token belongs; -1 for none."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def __missing__(self, token: str) -> int:
        index = self._owner(token)
        number = self[token] = -1 if index is None else index
        return number


def _exp(logprob: float) -> float:
    try:
        return math.exp(logprob)
    except OverflowError:
        return math.inf


def tell_ten_from_one(tokens: Tokens, following: Tokens) -> Tokens:
    """The first tokens of a scale to 10 with the probability of "1" divided between 1 and 10.

    A "1" that another digit than 0 follows is a number outside the scale, and counts for neither.

    Args:
        tokens: The most likely first tokens.
        following: The most likely tokens after "1".

    Example:
        >>> half, quarter = math.log(0.5), math.log(0.25)
        >>> tokens = tell_ten_from_one([("1", half), ("7", half)], [(".", half), ("0", quarter), ("5", quarter)])
        >>> [(token, round(math.exp(logprob), 3)) for token, logprob in tokens]
        [('1', 0.25), ('10', 0.125), ('7', 0.5)]
    """
    digits = [(token, math.exp(logprob)) for token, logprob in following if token[:1].isdecimal()]
    zero = sum([p for token, p in digits if token == "0"])
    none = 1.0 - sum([p for _, p in digits])
    divided: list[tuple[str, float]] = []
    for token, logprob in tokens:
        if is_one(token):
            divided += [(form, logprob + math.log(p)) for form, p in ((token, none), ("10", zero)) if p > 0.0]
        else:
            divided.append((token, logprob))
    return divided


def is_one(token: str) -> bool:
    """Whether a token is the digit 1, which may be the beginning of 10."""
    return token.strip(_MARKS) == "1"


@functools.lru_cache(maxsize=256)
def token_owner(words: tuple[str, ...], arrangement: Arrangement, mode: Mode, whole: bool = False) -> Owner:
    """A function from a token to the index of the option that it begins, or None.

    Args:
        words: The wording of each option.
        arrangement: The order in which options are shown.
        mode: How options are shown and scored.
        whole: Whether each word is one token, so that a token that is a word is not the beginning of a longer one.
    """
    shapes = tuple(normal_form(word) for word in words)
    places = {LABELS[place]: index for place, index in enumerate(arrangement)}

    @functools.lru_cache(maxsize=4096)
    def by_word(token: str) -> int | None:
        start = token.lstrip(_MARKS)
        if whole:
            form = bare_form(start) if start[:1] not in "-–—−" else ""
            return shapes.index(form) if form in shapes else None
        for form in (normal_form(start), "" if start[:1] in "-–—−" else bare_form(start)):
            matches = [index for index, word in enumerate(shapes) if form and word.startswith(form)]
            if len(matches) == 1 and (len(form) > 1 or form == shapes[matches[0]]):
                return matches[0]
        return None

    def by_label(token: str) -> int | None:
        return places.get(token.strip(_MARKS + ").:*"))

    return by_label if mode == "labels" else by_word
