"""What somebody says in a conversation: the next line of a transcript, in direct speech."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from populace.base.errors import QuestionError
from populace.questions.base import REFUSED, UNPARSEABLE, Answer, Question
from populace.questions.likeness import FoldedText
from populace.questions.reply_parsing import is_refusal
from populace.questions.speakers import PARTICLE, PromptSpeakers

_COURTESY = 4
"""A line of so many words, such as "Good morning, Bo!", may be said back."""
_SHORT = 12
"""Texts of so many characters are not compared."""
_LINE = re.compile(r"[^:]{2,60}: (?P<words>.+)")
_MEMORY = re.compile(r"- (?P<text>.+)")
_AIM = "You think, "
_TO = re.compile(rf"^{_AIM}.* Now say it to (?P<name>\S+)[^.\n]*\.$", re.MULTILINE)
"""The last line of a prompt in which somebody is told to say what they want of another."""
_OWN_SPEECH = re.compile(r"(?:^|: )You told [^:\n]+: [\"“]")
_QUOTES = "\"“”'‘’«»"
_QUOTATION = re.compile(r"[\"“]")
_QUOTED = re.compile(rf"{_QUOTATION.pattern}([^\"”]+)[\"”]")
_WORD = re.compile(r"\w+")
_WORD_EDGE = re.compile(r"\b")
_REPORTED = re.compile(r" (?:said|was|is|told)\b")
"""What follows the name of the speaker where they speak of themselves as of another."""
_SURNAME = re.compile(rf"(?:{PARTICLE} )*[^\W\d_a-z][\w'’-]*")
_STAGE_SIGNS = "([*"
_STAGE = re.compile(r"\([^()\n]*\)|\[[^\[\]\n]*\]|\*[^*\n]+\*")
_NARRATION = re.compile(
    # Speech that is reported with its words, and memories in the voice of an observer.
    r"^(?:I|You|We) (?:said|told|asked|replied|answered|saw|noticed|talked|spoke|was|were)\b[^?!]*"
    r"(?:: [\"“]|, who (?:was|is|were)\b)"
    r"|\bI (?:said|replied|answered)\s*: "
    r"|\b(?:said|says|replied|replies|asks|asked|told (?:me|you|him|her|them))\b ?[,:]? ?[\"“]"
    # A memory in the second person, as it stands in the prompt; to "you" who hears it, nobody tells what they did.
    r"|^You (?:saw|noticed|talked with|told|said to|asked) [A-Z](?![^\n]*\byour?\b)[^?!]*$"
    r"|^(?:You|I) were [a-z]+ing\b[^?!]*$",
)


@dataclass(frozen=True)
class Speech(Question):
    """The next line that a person says in a conversation.

    Models that can be led begin the line with the name of the speaker, and the first line of somebody who has an aim
    with the name of the other. One line is taken; a name in front, quotation
    marks around it and stage directions are removed. A line is `unparseable`, and asked for again, where it

    * *narrates*: it reports speech or what was seen, in place of speaking;
    * *echoes*: it repeats a memory, a line of the conversation or a line of the prompt; short courtesies such as "Good
      morning!" may be said back;
    * *addresses the speaker* by their own name;
    * *speaks for another*: it goes on with a line of somebody else only.

    The speaker is read from `You are NAME` in the prompt, the conversation from lines such as `NAME: words`, and
    memories from lines that begin with a dash.

    Attributes:
        max_words: The most words that the instruction allows.

    Example:
        >>> line = Speech("The conversation so far:\\nBo: Hello.", max_words=30)
        >>> prompt = "You are Ann Lee, 30.\\n- Bo was eating lunch at the café.\\nThe conversation so far:\\nBo: Hello."
        >>> line.read('Ann Lee: "Hello Bo, was it good?"', prompt)
        Answer(value='Hello Bo, was it good?', status='ok')
        >>> line.fault("Bo was eating lunch at the café.", prompt), line.fault("Hello, Ann!", prompt)
        ('echo', 'addresses the speaker')
    """

    max_words: int = field(default=40, kw_only=True)
    kind: ClassVar[str] = "speech"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.max_words, int) or self.max_words < 3:
            raise QuestionError(f"{self.text!r}: nobody speaks in {self.max_words!r} words.", "Write max_words=40.")

    @property
    def max_tokens(self) -> int:
        """Enough tokens for `max_words` words, and to finish a sentence."""
        return self.max_words * 2 + 16

    def instruction(self) -> str:
        """How to answer; it follows the wording in the prompt."""
        return (
            "Write only the next line that you say yourself, word for word as you say it aloud, in one to three "
            f"sentences and at most {self.max_words} words."
        )

    def lead(self, prompt: str) -> str:
        """The name of the speaker and a colon, with which the line begins; after an aim, the name of the other too.

        Small models that are led to the other's name say what they mean to say; otherwise they greet, or reply to
        their own thought.
        """
        own, to = PromptSpeakers.from_prompt(prompt).own, _addressee(prompt)
        return (f"{own[0]}: {to}," if to else f"{own[0]}:") if own else ""

    def parse(self, reply: str) -> Answer:
        """Read a line without its prompt."""
        return self.read(reply, "")

    def read(self, reply: str, prompt: str) -> Answer:
        """Read a line, given its prompt."""
        if is_refusal(reply):
            return REFUSED
        text = self._line(reply, prompt)
        # A reply that goes on after the name of the other may begin in lower case.
        text = text[:1].upper() + text[1:] if _addressee(prompt) else text
        return Answer(text, "ok") if text and self.fault(text, prompt) is None else UNPARSEABLE

    def fault(self, text: str, prompt: str) -> str | None:
        """Why a line is not speech: `narration`, `echo`, `addresses the speaker`, `speaks for another`, or None."""
        words = self._line(text, prompt)
        if not words:
            return "speaks for another"
        # Few lines hold the name of the speaker, and only those are compared with it.
        own = _own_names(prompt) if any(name in words for name in PromptSpeakers.from_prompt(prompt).own) else ()
        if _NARRATION.search(words) or any(
            words.startswith(name) and _REPORTED.match(words, len(name)) for name in own
        ):
            return "narration"
        if _is_echo(words, prompt):
            return "echo"
        if any(name in words for name in own) and _address(own).search(words) and not _introduction(own).search(words):
            return "addresses the speaker"
        return None

    def _line(self, reply: str, prompt: str) -> str:
        """The words of the first line that the speaker says; empty where there are none."""
        speakers = PromptSpeakers.from_prompt(prompt)
        for line in reply.strip().split("\n"):
            text = line.strip()
            text = text[speakers.own_label_end(text) :]
            other = speakers.other_start(text)
            text = text[:other] if other is not None else text
            text = _STAGE.sub(" ", text) if any(sign in text for sign in _STAGE_SIGNS) else text
            text = " ".join(text.split()).strip(_QUOTES).strip()
            if _WORD.search(text):
                return text
            if other is not None:
                return ""
        return ""


def _addressee(prompt: str) -> str | None:
    """The name of the person to whom somebody is told to say what they want of them."""
    to = _TO.search(prompt) if _AIM in prompt else None
    return to["name"] if to else None


def _own_names(prompt: str) -> tuple[str, ...]:
    """The names by which the speaker alone is called: a first name that somebody else in the prompt has is not one."""
    names = PromptSpeakers.from_prompt(prompt).own
    return tuple(name for name in names if " " in name or not _is_shared(name, names, prompt))


def _is_shared(first: str, names: tuple[str, ...], prompt: str) -> bool:
    return any(not any(name.startswith(whole) for name in names) for whole in _whole_names(first, prompt))


def _whole_names(first: str, prompt: str) -> Iterator[str]:
    """The names in a prompt that begin with a first name."""
    begin = prompt.find(f"{first} ")
    while begin >= 0:
        rest = _SURNAME.match(prompt, begin + len(first) + 1) if _WORD_EDGE.match(prompt, begin) else None
        if rest is not None:
            yield prompt[begin : rest.end()]
        begin = prompt.find(f"{first} ", begin + 1 if rest is None else rest.end())


def _is_echo(words: str, prompt: str) -> bool:
    """Whether words repeat a memory, a line of the conversation, or any other line of the prompt word for word."""
    lines = prompt.split("\n")
    if words in prompt and any(words == line.strip() for line in lines):
        return True
    folded = FoldedText(words)
    if len(folded) <= _SHORT:
        return False
    courtesy = len(folded.text.split()) <= _COURTESY and len(words) <= 30
    contents = [_line_contents(line) for line in lines]
    others = [part for content in contents for part in (content.memory if courtesy else content.all)]
    # What is remembered of a conversation stands in its lines too.
    return folded.is_like(list({part.text: part for part in others}.values()))


class _LineContents(NamedTuple):
    """What a line of a prompt holds that is not to be said again: what is remembered, and with it what was said."""

    memory: tuple[FoldedText, ...] = ()
    all: tuple[FoldedText, ...] = ()


@functools.lru_cache(maxsize=16_384)
def _line_contents(line: str) -> _LineContents:
    """The contents of a line; prompts share most lines."""
    said, memory = _LINE.match(line), _MEMORY.match(line)
    remembered = _memory_parts(memory["text"]) if memory else ()
    return _LineContents(remembered, remembered + _folded_parts(said["words"]) if said else remembered)


def _memory_parts(text: str) -> tuple[FoldedText, ...]:
    """A memory as it is compared, also without the time with which it may begin, such as "Today at 08:10: "."""
    # What one told somebody may be told to somebody else.
    if "You told" in text and _OWN_SPEECH.search(text):
        return ()
    label, _, rest = text.partition(": ")
    if not rest or _QUOTATION.search(label):
        return _folded_parts(text) + _folded_parts(rest)
    # Many people remember the same at different times.
    whole = FoldedText(text)
    return (whole, *_folded_parts(rest)) if len(whole) > _SHORT else ()


@functools.lru_cache(maxsize=16_384)
def _folded_parts(text: str) -> tuple[FoldedText, ...]:
    """A text, and what it reports in quotation marks, as they are compared."""
    parts = map(FoldedText, (text, *_QUOTED.findall(text)))
    return tuple(part for part in parts if len(part) > _SHORT)


@functools.lru_cache(maxsize=1024)
def _address(own: tuple[str, ...]) -> re.Pattern[str]:
    """Finds the name of the speaker where it addresses somebody."""
    return re.compile(rf"(?:^|[,.!?] ?(?:\w+,? )?)(?:{'|'.join(map(re.escape, own))})\s*(?:[,.!?]|$)")


@functools.lru_cache(maxsize=1024)
def _introduction(own: tuple[str, ...]) -> re.Pattern[str]:
    """Finds the name of the speaker where they say it as one does to a stranger."""
    names = "|".join(map(re.escape, own))
    return re.compile(rf"\b(?:I'm|I am|I’m|my name is|name's|this is|call me) (?:{names})", re.IGNORECASE)
