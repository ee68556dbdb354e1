"""Questions with a fixed set of options, whose answer is a distribution over the options.

An arrangement is the order in which options are shown: a permutation of their indices. Values, distributions and
results always list options in their declared order, whatever was shown.
"""

import functools
import operator
import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import polars as pl

from populace.base.errors import QuestionError
from populace.base.foreign import for_prompt
from populace.base.values import plain_value, refusal
from populace.questions.base import REFUSED, UNPARSEABLE, Answer, Question
from populace.questions.reply_parsing import bare_form, is_refusal, mentions, normal_form, text_after_marker

Order = Literal["fixed", "reversed", "random", "rotate"]
Scoring = Literal["auto", "words", "labels"]
Arrangement = tuple[int, ...]

LABELS = string.ascii_uppercase
_HEAD = re.compile(r"[\n;!()]|[.,:](?!\d)|\s[-–—]\s|[–—](?!\d)")


@dataclass(frozen=True)
class Finite(Question):
    """The base of questions with a fixed set of options.

    Attributes:
        order: `fixed`; `reversed`; `random`, another order for each person; or `rotate`, the average over orders in
            which every option has every place.
        scoring: Whether options are scored by their `words` or by `labels` (A, B, C); `auto` uses words if their first
            tokens differ.

    Example:
        >>> Rating("How happy are you?", low=1, high=3).values
        (1, 2, 3)
    """

    order: Order = field(default="fixed", kw_only=True)
    scoring: Scoring = field(default="auto", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        words = self.words
        if len(words) < 2:
            number = "1 option" if len(words) == 1 else f"{len(words)} options"
            raise QuestionError(f"{self.text!r} has {number}; it needs at least two.", 'Write options=("yes", "no").')
        if len(words) > len(LABELS):
            raise QuestionError(
                f"{self.text!r} has {len(words)} options; at most {len(LABELS)} can be labelled.",
                "For a longer scale write pc.Number(…, low=0, high=100, whole=True).",
            )
        word_of: dict[str, str] = {}
        for word in words:
            if not normal_form(word):
                raise QuestionError(f"{self.text!r} has an empty option.", "Leave it out.")
            if normal_form(word) in word_of:
                raise QuestionError(
                    f"{self.text!r}: the options {word_of[normal_form(word)]!r} and {word!r} cannot be told apart.",
                    "Case and surrounding marks do not count; change one of them.",
                )
            word_of[normal_form(word)] = word
        if self.order not in ("fixed", "reversed", "random", "rotate"):
            raise QuestionError(f"order is fixed, reversed, random or rotate, not {self.order!r}.")
        if self.scoring not in ("auto", "words", "labels"):
            raise QuestionError(f"scoring is auto, words or labels, not {self.scoring!r}.")

    @property
    def has_whole_tokens(self) -> bool:
        """Whether words are scored only where each is one token; then one may begin another, as 1 begins 10."""
        return False

    @property
    def values(self) -> tuple[Any, ...]:
        """The possible values, in declared order."""
        raise NotImplementedError

    @property
    def value_column(self) -> pl.Series:
        """Every value once, as a column."""
        return pl.Series("value", self.values, dtype=self.dtype)

    @property
    def words(self) -> tuple[str, ...]:
        """The wording of each value in the prompt."""
        raise NotImplementedError

    @property
    def max_tokens(self) -> int:
        """Enough tokens for the longest option and a few words around it."""
        return 16 + max(len(word) for word in self.words)

    def arrangements(self) -> tuple[Arrangement, ...]:
        """The arrangements that `random` and `rotate` use: all rotations."""
        count = len(self.words)
        return tuple(tuple((i + r) % count for i in range(count)) for r in range(count))

    @property
    def declared_order(self) -> Arrangement:
        """The arrangement in which options were declared."""
        return tuple(range(len(self.words)))

    def options_text(self, arrangement: Arrangement, labels: bool) -> str:
        """The options as the prompt shows them."""
        if labels:
            return "\n".join(f"{LABELS[place]}. {self.words[i]}" for place, i in enumerate(arrangement))
        return "Options: " + ", ".join(self.words[i] for i in arrangement) + "."

    def instruction(self, labels: bool = False) -> str:
        """How to answer; it follows the wording in the prompt."""
        if labels:
            return "Answer with the letter of one option, nothing else."
        return "Answer with one of the options, nothing else."

    def parse(self, reply: str, arrangement: Arrangement | None = None, labels: bool = False) -> Answer:
        """Read a reply that was generated as text, not scored.

        An option counts if it is the whole reply, follows a marker such as `Answer:`, or opens the reply and no other
        option follows. With labels, the letter of an option counts in the same way.
        """
        index = self._parse_index(reply, arrangement or self.declared_order, labels)
        if index is not None:
            return Answer(self.values[index], "ok")
        return REFUSED if is_refusal(reply) else UNPARSEABLE

    def _parse_index(self, reply: str, arrangement: Arrangement, labels: bool) -> int | None:
        names = {index: [self.words[index]] for index in arrangement}
        if labels:
            for place, index in enumerate(arrangement):
                names[index] += [LABELS[place], f"{LABELS[place]}. {self.words[index]}"]
                names[index] += [f"{LABELS[place]}) {self.words[index]}", f"{LABELS[place]}: {self.words[index]}"]
        for part in (reply, text_after_marker(reply)):
            if part is None:
                continue
            option = _matching_option(part, names)
            if option is None:
                option = self._opening(part.strip().lstrip("("), names, arrangement, labels)
            if option is not None:
                return option
        return None

    def _opening(self, body: str, names: dict[int, list[str]], arrangement: Arrangement, labels: bool) -> int | None:
        """The option that opens a reply, if nothing after it mentions another option."""
        split = _HEAD.search(body)
        head, rest = (body[: split.start()], body[split.end() :]) if split else ("", "")
        opening = _matching_option(head, names) if head.strip() != "I" else None  # "I, for one" is not label I.
        if opening is None:
            return None
        others = [self.words[i] for i in arrangement if i != opening]
        longer = [word for word in others if len(word) > len(self.words[opening])]
        letters = "".join(LABELS[place] for place, i in enumerate(arrangement) if i != opening)
        other_label = labels and re.search(rf"(?<!\w)[{letters}](?!\w)", rest)
        return None if other_label or mentions(rest, others) or mentions(body, longer) else opening

    def describe(self) -> dict[str, Any]:
        """Everything that defines the question, as JSON."""
        return {
            "kind": self.kind,
            "text": self.text,
            "reason": self.reason,
            "values": list(self.values),
            "words": list(self.words),
            "order": self.order,
            "scoring": self.scoring,
        }


def _matching_option(text: str, names: dict[int, list[str]]) -> int | None:
    """The option that equals the text in normal form, or else without surrounding punctuation; None if not just one."""
    for form in (normal_form, bare_form):
        shape = form(text)
        matches = {index for index, spellings in names.items() if shape and shape in {form(s) for s in spellings}}
        if len(matches) == 1:
            return matches.pop()
    return None


@dataclass(frozen=True)
class Choice(Finite):
    """One of a fixed set of options.

    Case and closing punctuation are ignored. A reply that still fits no option is `unparseable`; it is never changed to
    the nearest option.

    Attributes:
        options: The possible values.
        wordings: The wording of an option in the prompt, if it differs from the value; exchanging the wordings of two
            options is a label swap.

    Example:
        >>> Choice("Will you vote?", options=("yes", "no")).parse("Yes.")
        Answer(value='yes', status='ok')
        >>> Choice("Will you vote?", options=("no", "not sure")).parse("No, not sure")
        Answer(value=None, status='unparseable')
    """

    options: tuple[str, ...] = field(default=(), kw_only=True)
    wordings: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    kind: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", self._plain_options())
        unknown = [option for option in self.wordings if option not in self.options]
        if unknown:
            raise QuestionError(f"{self.text!r}: {unknown[0]!r} has a wording but is no option.", "Add it to options.")
        super().__post_init__()

    def _plain_options(self) -> tuple[str, ...]:
        options: Any = self.options
        if isinstance(options, str):
            parts = [part.strip() for part in re.split(r"[;,/|]|\bor\b", options) if part.strip()]
            parts = parts if len(parts) > 1 else options.split()
            parts = parts if len(parts) > 1 else ["yes", "no"]
            raise QuestionError(
                f"{self.text!r}: the options are one text, {options!r}.",
                f"Write each by itself: options={tuple(parts)!r}.",
            )
        if isinstance(options, Mapping):
            raise QuestionError(
                f"{self.text!r}: the options are a mapping.",
                "Write options=tuple(…), and wordings={option: text} where the prompt words an option differently.",
            )
        if isinstance(options, (set, frozenset)) or not isinstance(options, Iterable):
            raise refusal(options, f"{self.text!r}: the value of options", QuestionError)
        place = f"{self.text!r}: an option"
        plain = [plain_value(option, place, QuestionError) for option in options]
        if any(option is None for option in plain):
            raise QuestionError(f"{place} is None.", "Leave it out, or write it as a text.")
        return tuple([str(option) for option in plain])

    @property
    def values(self) -> tuple[str, ...]:
        """The options."""
        return self.options

    @functools.cached_property
    def words(self) -> tuple[str, ...]:
        """The wording of each option, as a prompt shows it: replies are compared with what was shown."""
        return tuple(for_prompt(self.wordings.get(option, option)) for option in self.options)

    @property
    def dtype(self) -> pl.DataType:
        """A column of options."""
        return _enum(self.options)

    @property
    def value_column(self) -> pl.Series:
        """Every option once, as a column."""
        return _option_column(self.options)


@functools.lru_cache(maxsize=256)
def _option_column(options: tuple[str, ...]) -> pl.Series:
    return pl.Series("value", options, dtype=_enum(options))


@functools.lru_cache(maxsize=256)
def _enum(options: tuple[str, ...]) -> pl.Enum:
    """Cached because an Enum type is slow to make and needed for every question."""
    return pl.Enum(options)


@dataclass(frozen=True)
class Rating(Finite):
    """A whole number on a short scale, answered as a distribution over its points.

    Attributes:
        low: The lowest point.
        high: The highest point.
        anchors: What the ends mean, such as `("not at all", "very much")`.

    Example:
        >>> Rating("How happy are you?", low=1, high=7, anchors=("not at all", "very")).parse("5")
        Answer(value=5, status='ok')
    """

    low: int = field(default=1, kw_only=True)
    high: int = field(default=5, kw_only=True)
    anchors: tuple[str, str] | None = field(default=None, kw_only=True)
    kind: ClassVar[str] = "rating"

    def __post_init__(self) -> None:
        for name, end in (("low", self.low), ("high", self.high)):
            if not hasattr(end, "__index__") or isinstance(end, bool):
                raise QuestionError(
                    f"{self.text!r}: {name} is {end!r}, and the points of a scale are whole numbers.",
                    "Write pc.Number(…) for other numbers.",
                )
            object.__setattr__(self, name, operator.index(end))
        if self.anchors is not None and (isinstance(self.anchors, str) or len(self.anchors) != 2):
            raise QuestionError(
                f"{self.text!r}: the anchors are {self.anchors!r}.",
                'Write both ends: anchors=("not at all", "very much").',
            )
        if not self.low < self.high:
            raise QuestionError(
                f"{self.text!r}: the scale runs from {self.low} to {self.high}.", "low must be below high."
            )
        super().__post_init__()

    @property
    def has_whole_tokens(self) -> bool:
        """Whether points are scored by their digits where each point is a token of its own."""
        return self.scoring == "auto" and self.low >= 0 and self.high >= 10

    @property
    def values(self) -> tuple[int, ...]:
        """The points of the scale."""
        return tuple(range(self.low, self.high + 1))

    @functools.cached_property
    def words(self) -> tuple[str, ...]:
        """The points, in digits."""
        return tuple(str(value) for value in self.values)

    @property
    def dtype(self) -> pl.DataType:
        """A column of whole numbers."""
        return pl.Int64()

    def arrangements(self) -> tuple[Arrangement, ...]:
        """Upwards and downwards: in any other order it would not be a scale."""
        return self.declared_order, tuple(reversed(self.declared_order))

    def options_text(self, arrangement: Arrangement, labels: bool) -> str:
        """The scale, with its ends explained."""
        ends = ""
        if self.anchors:
            ends = f" {self.low} means {self.anchors[0]}, {self.high} means {self.anchors[1]}."
        if labels:
            return (f"Scale:{ends}\n" if ends else "") + super().options_text(arrangement, labels)
        first, last = self.words[arrangement[0]], self.words[arrangement[-1]]
        return f"Scale: a whole number from {first} to {last}.{ends}"

    def instruction(self, labels: bool = False) -> str:
        """How to answer; it follows the wording in the prompt."""
        return super().instruction(labels=True) if labels else "Answer with the number, nothing else."

    def describe(self) -> dict[str, Any]:
        """Everything that defines the question, as JSON."""
        return super().describe() | {"anchors": list(self.anchors) if self.anchors else None}
