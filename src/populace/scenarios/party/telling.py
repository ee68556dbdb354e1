"""What an utterance tells of an event: what is happening, when and where, rightly or wrongly.

Only direct speech tells. Sentences that narrate ("I told Colm about …", "I said: …") are left out before anything is
read, and so is an utterance that repeats what the hearer has said.
"""

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Literal

Facet = Literal["what", "when", "where"]
_HOUR, _DAY = 3600, 86_400
_EARLY = 1800
"""Somebody who is told to be there half an hour before is not told another time."""

_MONTHS = "january february march april may june july august september october november december".split()
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_NUMBERS = {
    word: number
    for number, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
}
_MONTH = "|".join(f"{month}|{month[:3]}" for month in _MONTHS)
_NUMBER = "|".join(_NUMBERS)
_HALF_OF_DAY = (
    r"(?P<half>[ap]\.?m\b\.?|in the (?:morning|afternoon|evening)|at night|tonight|this (?:morning|afternoon|evening))"
)
_CLOCKS = (
    re.compile(rf"\b(?P<hour>[01]?\d|2[0-3])[:.h](?P<minute>[0-5]\d)\b\s*(?:{_HALF_OF_DAY})?"),
    re.compile(rf"\b(?P<hour>1[0-2]|[1-9]|{_NUMBER})\s*(?:o'clock\s*)?(?:{_HALF_OF_DAY})"),
    re.compile(rf"\b(?P<hour>1[0-2]|[1-9]|{_NUMBER})\s*o'clock\b"),
    re.compile(
        rf"\b(?:at|from|around|by)\s+(?P<hour>{_NUMBER})\b"
        r"(?=\s*(?:[.,!?;]|$|sharp\b|to\b|until\b|till\b|today\b|tomorrow\b|tonight\b|on\b))"
    ),
)
_NOON = re.compile(r"\b(?:noon|midday)\b")
_DATES = (
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_MONTH})\b"),
    re.compile(rf"\b(?P<month>{_MONTH})\.?\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"),
)
_DAY_ALONE = re.compile(r"\bthe (?P<day>\d{1,2})(?:st|nd|rd|th)\b")
_WEEKDAY = re.compile(rf"\b(?P<day>{'|'.join(_WEEKDAYS)})\b")
_RELATIVE = re.compile(r"\b(?P<word>day after tomorrow|tomorrow|tonight|today|this (?:afternoon|evening))\b")
_DAYS_AHEAD = {"day after tomorrow": 2, "tomorrow": 1}
_CALLED_OFF = re.compile(r"\b(?:called off|cancel+ed|postponed|put off)\b")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"”']?\s+|\n+")
_WORD = re.compile(r"\w+")
_AMPERSAND = re.compile(r"\s*&\s*")
_ECHO = 0.85
"""An utterance repeats another where this share of its words occur in it."""
INVITES = re.compile(
    r"\b(?:come|join|invit\w*|welcome|attend|see you|hope to see|would you like|do you want|stop by|drop (?:by|in))\b"
)


def plain(text: str) -> str:
    """A text as it is compared: lower case, straight quotes, `and` for an ampersand."""
    words = _AMPERSAND.sub(" and ", text) if "&" in text else text
    return words.replace("’", "'").replace("‘", "'").casefold()


@dataclass(frozen=True)
class Telling:
    """What an utterance says of an event: each part that it speaks of, and whether it is right.

    Attributes:
        facets: `what`, `when` and `where`, each with True where it is right and False where it is wrong.
        invites: Whether it invites somebody.
    """

    facets: dict[Facet, bool] = field(default_factory=dict)
    invites: bool = False

    def __bool__(self) -> bool:
        return bool(self.facets)


@dataclass(frozen=True)
class TellingReader:
    """Reads what utterances tell of one event.

    Attributes:
        key_words: The words by which speech about the event is recognised.
        place_names: What people call its place; none for an event without a place.
        other_places: What people call other places.
        begins: When it begins, in simulated seconds since the first midnight; None for an event without a time.
        ends: When it ends.
        first_day: The date of the first day.
        day_names: Other names of its day.

    Example:
        >>> fair = TellingReader(("fair",), ("osier park",), ("the mill",), 136_800, 144_000, date(2026, 2, 13))
        >>> fair.read("Come to the fair in Osier Park tomorrow!", 3600).facets
        {'what': True, 'when': True, 'where': True}
        >>> fair.read("There is a fair at the mill.", 3600).facets
        {'what': True, 'where': False}
        >>> bool(fair.read("I told Bo about the fair tomorrow.", 3600))
        False
    """

    key_words: tuple[str, ...]
    place_names: tuple[str, ...]
    other_places: tuple[str, ...]
    begins: int | None
    ends: int | None
    first_day: date
    day_names: tuple[str, ...] = ()

    @property
    def parts(self) -> frozenset[Facet]:
        """The parts of the news beside what it is: when and where, as far as the event has them."""
        when: list[Facet] = ["when"] if self.begins is not None else []
        return frozenset([*when, "where"] if self.place_names else when)

    def names_it(self, text: str) -> bool:
        """Whether a text holds a word by which the event is recognised."""
        return bool(self._key.search(plain(text)))

    def read(
        self,
        text: str,
        time: int,
        *,
        speaker: str = "",
        heard: Iterable[str] = (),
        on_topic: bool = False,
    ) -> Telling:
        """What an utterance tells.

        Args:
            text: The utterance.
            time: When it was said, in simulated seconds since the first midnight.
            speaker: The name of the speaker.
            heard: What the hearers said before in the same conversation.
            on_topic: Whether the conversation is about the event, so that the utterance need not name it.
        """
        if not (on_topic or self.names_it(text)) or is_echo(text, heard):
            return Telling()
        sentences = direct_sentences(plain(text), plain(speaker))
        named = [place for place, sentence in enumerate(sentences) if self._key.search(sentence)]
        if not named and not on_topic:
            return Telling()
        # What is said beside the sentence that names the event belongs to it too; errors are looked for in it and
        # after it only, because people often begin with something else.
        beside = {near for place in named for near in (place - 1, place, place + 1)} if named else range(len(sentences))
        after = {near for place in named for near in (place, place + 1)} if named else range(len(sentences))
        around = " ".join(sentences[place] for place in sorted(beside) if 0 <= place < len(sentences))
        close = " ".join(sentences[place] for place in sorted(after) if place < len(sentences))
        facets: dict[Facet, bool] = {"what": True} if named else {}
        for facet, judge in (("when", self._when), ("where", self._where)):
            right, wrong = judge(around, time)[0], judge(close, time)[1]
            if right or wrong:
                facets[facet] = right  # type: ignore[index]
        if named and _CALLED_OFF.search(close) and self.begins is not None:
            facets["when"] = False
        return Telling(facets, bool(INVITES.search(around)))

    def _when(self, text: str, time: int) -> tuple[bool, bool]:
        """Whether a text gives the time of the event, and whether it gives another one instead."""
        if self.begins is None or self.ends is None:
            return False, False
        days = [day == self.begins // _DAY for day in self._days(text, time)]
        hours = [self._fits(hours) for hours in _clocks(text)]
        right = any(days) or any(hours)
        # A wrong day makes the time wrong although the hour is right, and the other way round.
        wrong = (bool(days) and not any(days)) or (bool(hours) and not any(hours))
        return right and not wrong, wrong

    def _fits(self, times: Sequence[int]) -> bool:
        begins, ends = (self.begins or 0) % _DAY, (self.ends or 0) % _DAY or _DAY
        return any(begins - _EARLY <= time <= ends for time in times)

    def _days(self, text: str, time: int) -> list[int]:
        """The days that a text names, counted from the first day of the run."""
        days: list[int] = []
        for pattern in _DATES:
            for match in pattern.finditer(text):
                month = next(n for n, name in enumerate(_MONTHS, 1) if name.startswith(match["month"][:3]))
                days.append(self._day_number(int(match["day"]), month))
        today = self.first_day + timedelta(days=time // _DAY)
        if not days:
            days += [self._day_number(int(match["day"]), today.month) for match in _DAY_ALONE.finditer(text)]
        for match in _WEEKDAY.finditer(text):
            ahead = (_WEEKDAYS.index(match["day"]) - today.weekday()) % 7
            days.append(time // _DAY + ahead)
        days += [time // _DAY + _DAYS_AHEAD.get(match["word"], 0) for match in _RELATIVE.finditer(text)]
        if self.begins is not None and any(plain(name) in text for name in self.day_names):
            days.append(self.begins // _DAY)
        return days

    def _day_number(self, day: int, month: int) -> int:
        for year in (self.first_day.year, self.first_day.year + 1):
            try:
                number = (date(year, month, day) - self.first_day).days
            except ValueError:
                continue
            if number >= -180:
                return number
        return -1000

    def _where(self, text: str, time: int) -> tuple[bool, bool]:
        """Whether a text names the place of the event, and whether it names another one instead."""
        if not self.place_names:
            return False, False
        right = bool(_names(self.place_names).search(text))
        other = bool(self.other_places) and bool(_names(self.other_places, at=True).search(text))
        return right, other and not right

    @property
    def _key(self) -> re.Pattern[str]:
        return _key_pattern(self.key_words)


@functools.lru_cache(maxsize=256)
def _key_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    forms = [re.escape(plain(word)) + r"(?:'?s)?" for word in words]
    forms += [re.escape(plain(word)[:-1]) + "ies" for word in words if word.endswith("y")]
    return re.compile(rf"\b(?:{'|'.join(forms)})\b")


@functools.lru_cache(maxsize=256)
def _names(names: tuple[str, ...], at: bool = False) -> re.Pattern[str]:
    forms = sorted((r"\W+".join(map(re.escape, plain(name).split())) for name in names), key=len, reverse=True)
    before = r"\b(?:at|in|to)\s+(?:the\s+)?" if at else r"\b"
    return re.compile(rf"{before}(?:{'|'.join(forms)})\b")


def _clocks(text: str) -> list[list[int]]:
    """The times of day in a text, each as the seconds that it may mean."""
    times: list[list[int]] = []
    taken: list[tuple[int, int]] = []
    for pattern in _CLOCKS:
        for match in pattern.finditer(text):
            if any(begin < match.end() and match.start() < end for begin, end in taken):
                continue
            taken.append(match.span())
            parts = match.groupdict()
            hour = _NUMBERS.get(parts["hour"]) or int(parts["hour"])
            half = (parts.get("half") or "").replace(".", "")
            late = hour % 12 + 12
            if hour > 12 or (parts.get("minute") is not None and parts["hour"].startswith("0")):
                hours = [hour]
            elif half in ("pm", "in the afternoon", "in the evening", "at night", "tonight") or half.startswith("this"):
                hours = [hour % 12] if half == "this morning" else [late]
            else:
                hours = [hour % 12] if half in ("am", "in the morning") else [hour, late]
            times.append([each * _HOUR + int(parts.get("minute") or 0) * 60 for each in hours])
    return times + [[12 * _HOUR]] * bool(_NOON.search(text))


def direct_sentences(text: str, speaker: str = "") -> list[str]:
    """The sentences of a plain text that address the hearer; those that narrate what was said are left out.

    Example:
        >>> direct_sentences("i told bo about the fair. i said: come to the fair! are you well?")
        []
        >>> direct_sentences("bo told me about the fair. are you going?")
        ['bo told me about the fair.', 'are you going?']
    """
    # Few people say their own name, and only these need a pattern of their own.
    narrates = _narration(speaker if speaker.partition(" ")[0] in text else "")
    sentences: list[str] = []
    for sentence in _SENTENCE.split(text):
        match = narrates.search(sentence)
        if match is None:
            sentences.append(sentence)
        elif ":" in sentence[match.end() :]:
            # All that follows is what was said then.
            break
    return [sentence for sentence in sentences if sentence.strip()]


@functools.lru_cache(maxsize=1024)
def _narration(speaker: str) -> re.Pattern[str]:
    own = [re.escape(name) for name in {speaker, speaker.partition(" ")[0]} if name]
    adverbs = r"(?:\s+(?:have|had|just|also|already|then|'ve))*"
    first = rf"i{adverbs}\s+(?:told|said|asked|informed|mentioned|replied)\b(?!\s+(?:to\s+)?you\b)"
    third = rf"(?:{'|'.join(own)})\s+(?:told|said|asked|tells|says|asks|replies|replied)\b" if own else r"(?!)"
    return re.compile(rf"^\W*(?:{first}|{third})|\bi\s+(?:said|replied)\s*:")


def is_echo(text: str, heard: Iterable[str]) -> bool:
    """Whether a text repeats something that was heard.

    Example:
        >>> is_echo("A fair in the park, on Saturday!", ["There is a fair in the park on Saturday."])
        True
    """
    words = _WORD.findall(plain(text))
    return len(words) >= 4 and any(
        sum(word in known for word in words) >= _ECHO * len(words)
        for known in (set(_WORD.findall(plain(line))) for line in heard)
    )
