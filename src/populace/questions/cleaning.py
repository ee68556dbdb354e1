"""Rules that remove from a post what does not belong there.

A model that should write as one person also writes role tags, markup, its own instructions and the lines of others.
Each rule removes one of these and never adds a word. The rules are applied until none of them finds anything, so
cleaning a clean text changes nothing. If a rule leaves no usable part, the post is invalid and the rule is the reason.
"""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from populace.questions.echo import EchoDetector, folded_words
from populace.questions.reply_parsing import is_refused_post
from populace.questions.speakers import PromptSpeakers

USABLE_WORDS = 3
"""A part of a post is usable if it has at least this many words."""
PASSES = 12
"""A text that is still not clean after this many rounds is invalid."""
_REPEATS = 4
_LONGEST_PHRASE = 20
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co"})
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_JOINERS = "\u200c\u200d"
_ORDINARY = re.compile(r"[\n -~\u00a1-\u00ac\u00ae-\u024f\u2010-\u2015\u2018-\u201f\u2026]*")
"""Common Latin characters, none of which is invisible; most replies have no others."""

_SPECIAL = re.compile(
    r"<\|[^|<>\n]{0,40}\w*\|?>?(?:[ \t]*(?:system|user|assistant)\b)?|</?s>|\[/?INST\]|<</?SYS>>"
    r"|^[ \t]*#{2,6}[ \t]*(?:response|instructions?|input|output|user|assistant|system|human|answer|question|task)\b:?",
    re.IGNORECASE | re.MULTILINE,
)
_ROLE = r"(?:user|assistant|system|human|ai|bot|chatbot|instructions?|response|input|output|prompt|reply|answer)"
_ROLE_FIRST = re.compile(
    rf"[\W_]*(?:{_ROLE}|post|comment|message|text|body)(?:[^\w\n:：]|_){{0,6}}[:：][*_]*\s*", re.IGNORECASE
)
_ROLE_LATER = re.compile(
    rf"(?:^|(?<=[.!?…])[ \t])(?:[^\w\n]|_)*{_ROLE}(?:[^\w\n:：]|_){{0,6}}[:：]", re.IGNORECASE | re.MULTILINE
)
_LEAD_IN = re.compile(
    r"\s*(?:(?:sure|certainly|of course|okay|ok)\b[\s,.!:]*)?(?:here(?:'s|’s| is| are)|this is)\b[^\n:]{0,60}"
    r"\b(?:post|reply|response|comment|message|answer|title|draft|example|version)\b[^\n:]{0,60}:\s*",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"\[(?:your|insert|name|user ?name|link|city|date|title|add|describe)\b[^\[\]\n]*\]", re.IGNORECASE
)

_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z!?][^<>]*>")
_OPEN_TAG = re.compile(
    r"</?(?:a|b|i|u|p|br|hr|em|strong|div|span|img|ul|ol|li|h[1-6]|code|pre|table|tr|td|th|body|html|head|iframe|form|"
    r"input|svg|link|meta|blockquote)\b[^<>]*\Z",
    re.IGNORECASE,
)
_STRAY = re.compile(r"<(?=[^\W\d]|[/!?])")
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n`]*$|`{3,}(?:[A-Za-z]+(?=\n))?", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)")
_BLOCK = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[> \t]*|(?:[-*_=][ \t]*){3,}$)", re.MULTILINE)
_EMPHASIS = re.compile(
    r"(?<!\w)(\*{2,3}|_{1,3}|~~|`)(?=[^\s*_`])([^\n]*?[^\s*_`])\1(?!\w)|(?<![\w*])\*(?=[^\s*])([^*\n]*[^\s*])\*(?![\w*])"
)
_LEFT_OVER = re.compile(r"\]\(|\*{2,}|`+|(?<!\w)__+|__+(?!\w)")

_QUOTES = {'"': '"', "“": "”", "«": "»", "„": "“", "'": "'", "‘": "’"}
_ENDS = re.compile(r"[.!?…][\"'”’)]*(?=\s|$)|\n")
_WORD = re.compile(r"\w+")
_MARKS = re.compile(r"([^\w\s])\1{7,}")
_PLAIN = re.compile(r"(?:[A-Za-z0-9]+(?:'[a-z]+)?[,.!?]{0,3}(?: (?=\S)|\Z))+")
"""Plain sentences, in which only three rules can find anything: most replies of a good model."""
_LONE = re.compile(r"(?<!\S)[^\w\s]+(?!\S)")
"""Punctuation that stands alone."""
_SPACES = re.compile(r"[ \t\u00a0]{2,}|\t")
_LINES = re.compile(r" *\n *")
_GAPS = re.compile(r"\n{3,}")


@dataclass(frozen=True)
class CleaningResult:
    """A text after cleaning.

    Attributes:
        text: What is left; None if that is not usable.
        rules: The rules that removed something, in the order in which they first did.
        reason: Why there is no text: `empty`, `refusal`, `tangled` (still not clean after the last round), or the rule
            that left nothing.
    """

    text: str | None
    rules: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class CleaningContext:
    """What the rules need to know besides the reply.

    Attributes:
        limit: The most characters that the text may have.
        speakers: The people who may appear as speakers.
        echoes: Detects what repeats the prompt.
    """

    limit: int
    speakers: PromptSpeakers = field(default_factory=PromptSpeakers)
    echoes: EchoDetector = field(default_factory=lambda: EchoDetector(""))


def clean(reply: str, context: CleaningContext) -> CleaningResult:
    """Remove what does not belong in a post.

    Example:
        >>> clean("<|im_start|>assistant\\nAnn: **Hi** all!", CleaningContext(100, PromptSpeakers(own=("Ann",))))
        CleaningResult(text='Hi all!', rules=('special token', 'own name', 'markdown'), reason=None)
        >>> clean("<br><br>", CleaningContext(100)).reason
        'html'
    """
    if len(reply) <= context.limit and _PLAIN.fullmatch(reply) and not _needs_rules(reply, context):
        return CleaningResult(reply)
    return apply_rules(reply, context)


def _needs_rules(text: str, context: CleaningContext) -> bool:
    """Whether a rule would change a text of plain sentences."""
    return _has_repetition(folded_words(text)) or is_refused_post(text) or context.echoes.is_echo(text)


def apply_rules(reply: str, context: CleaningContext) -> CleaningResult:
    """Clean a text by all rules."""
    text = normalise_whitespace(reply)
    if not text:
        return CleaningResult(None, (), "empty")
    applied: list[str] = []
    beginning = _beginning(text, context)
    if beginning != text:
        text = beginning
        applied.append("length")
        if not text:
            return CleaningResult(None, ("length",), "length")
    for _ in range(PASSES):
        before = text
        for name, rule in RULES.items():
            rest = rule(text, context)
            if rest == text or (rest := normalise_whitespace(rest)) == text:
                continue
            if name not in applied:
                applied.append(name)
            if not _WORD.search(rest):
                return CleaningResult(None, tuple(applied), name)
            text = rest
        if text == before:
            if is_refused_post(text):
                return CleaningResult(None, tuple(applied), "refusal")
            return (
                CleaningResult(text, tuple(applied))
                if _WORD.search(text)
                else CleaningResult(None, tuple(applied), "empty")
            )
    return CleaningResult(None, tuple(applied), "tangled")


def normalise_whitespace(text: str) -> str:
    """Text with single spaces, no spaces around lines, and at most one empty line between two."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n\n")
    if "  " in text or "\t" in text or "\u00a0" in text:
        text = _SPACES.sub(" ", text)
    if "\n" in text:
        text = _GAPS.sub("\n\n", _LINES.sub("\n", text))
    return text.strip()


def truncate(text: str, limit: int) -> str:
    """Cut a text to a length: at the end of a sentence if at least half of the length is left, else of a word.

    Example:
        >>> truncate("One is here. Two is there. Three", 28), truncate("abc def", 5), truncate("abcdef", 5)
        ('One is here. Two is there.', 'abc', '')
    """
    if len(text) <= limit:
        return text
    ends = [match.end() for match in _ENDS.finditer(text, 0, limit + 1) if match.end() <= limit]
    if ends and ends[-1] * 2 >= limit:
        return text[: ends[-1]].strip()
    # One more character is examined, to see whether a word that just fits ends there.
    space = max(text.rfind(mark, 0, limit + 1) for mark in (" ", "\n"))
    return text[:space].strip() if space > 0 else ""


def sentences(text: str) -> list[str]:
    """The sentences of a text with the white space after each; joined, they are the text."""
    return [part for part in re.split(r"(?<=[.!?…])(?=\s)|(?<=\n)", text) if part]


def _beginning(text: str, context: CleaningContext) -> str:
    """The beginning of a very long text, which is all that can matter."""
    most = 8 * context.limit + 2000
    return text if len(text) <= most else text[: max(text.rfind(" ", 0, most), text.rfind("\n", 0, most), 0)]


def _without_invisible(text: str, context: CleaningContext) -> str:
    if _ORDINARY.fullmatch(text):
        return text
    text = _COLOUR.sub(" ", text.replace("\t", " "))
    visible = []
    for at, character in enumerate(text):
        if character in _JOINERS:
            # Between letters of other scripts and between emoji, a joiner is part of the spelling.
            around = text[at - 1 : at] + text[at + 1 : at + 2]
            if len(around) == 2 and all(ord(c) > 0x2FF and unicodedata.category(c) not in _INVISIBLE for c in around):
                visible.append(character)
        elif character == "\n" or unicodedata.category(character) not in _INVISIBLE:
            visible.append(character)
    return "".join(visible)


def _without_entities(text: str, context: CleaningContext) -> str:
    while "&" in text and (unescaped := html.unescape(text)) != text:
        text = unescaped
    return text


def _without_special(text: str, context: CleaningContext) -> str:
    if "<" not in text and "[" not in text and "#" not in text:
        return text
    return _cut(text, _SPECIAL)


def _without_html(text: str, context: CleaningContext) -> str:
    if "<" not in text:
        return text
    text = _TAG.sub(_gap, _HIDDEN.sub(" ", text))
    return _STRAY.sub(_seam, _OPEN_TAG.sub("", text))


def _without_markdown(text: str, context: CleaningContext) -> str:
    if "`" in text or "~" in text:
        text = _FENCE.sub(_seam, text)
    if "[" in text:
        text = _LINK.sub(lambda match: _seam(match, match.group(1)), text)
    text = _BLOCK.sub("", text)
    if "*" in text or "_" in text or "`" in text or "~" in text or "](" in text:
        text = _EMPHASIS.sub(lambda match: match.group(2) or match.group(3), text)
        text = _LEFT_OVER.sub(_seam, text)
    return text


def _without_lead_in(text: str, context: CleaningContext) -> str:
    match = _LEAD_IN.match(text)
    return text[match.end() :] if match else text


def _without_roles(text: str, context: CleaningContext) -> str:
    if ":" not in text and "：" not in text:
        return text
    first = _ROLE_FIRST.match(text)
    if first:
        return text[first.end() :]
    later = _ROLE_LATER.search(text)
    return _before(text, later.start()) if later else text


def _without_others(text: str, context: CleaningContext) -> str:
    at = context.speakers.other_start(text)
    return text if at is None else _before(text, at)


def _without_quotes(text: str, context: CleaningContext) -> str:
    closing = _QUOTES.get(text[0])
    if closing is None or len(text) < 2:
        return text
    inner = text[1:-1]
    if text[-1] == closing and text[0] not in inner and closing not in inner:
        return inner
    # A quotation mark that opens the text and is never closed was meant to enclose all of it.
    return text[1:] if text[0] in '"“«„' and closing not in text[1:] else text


def _without_loops(text: str, context: CleaningContext) -> str:
    text = _MARKS.sub(lambda match: match.group(1) * 3, text)
    if not _has_repetition(folded_words(text)) and not _LONE.search(text):
        return text
    earlier: set[str] = set()
    distinct = []
    for part in sentences(text):
        words = " ".join(_WORD.findall(part.casefold()))
        if words in earlier:
            continue
        if words.count(" ") >= USABLE_WORDS - 1:
            earlier.add(words)
        distinct.append(part)
    return _without_phrase_loop("".join(distinct))


def _has_repetition(words: list[str]) -> bool:
    """Whether some three words in a row occur twice, as they do in every repeated sentence and every loop."""
    if len(words) - len(set(words)) < USABLE_WORDS:
        return False
    threes = set(zip(words, words[1:], words[2:], strict=False))
    return len(threes) < len(words) - 2


def _without_phrase_loop(text: str) -> str:
    """Text in which a phrase that is repeated many times in a row occurs once."""
    words = [word.strip(".,;:!?") for word in text.casefold().split()]
    count = len(words)
    # Every word of a phrase that is repeated so often occurs at least as often.
    if sum(times for times in Counter(words).values() if times >= _REPEATS) < 2 * _REPEATS:
        return text
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    for length in range(1, min(_LONGEST_PHRASE, count // _REPEATS) + 1):
        same = 0
        for at in range(length, count):
            same = same + 1 if words[at] == words[at - length] else 0
            if same >= max(length * (_REPEATS - 1), 2 * _REPEATS - 1):
                first = at - same - length + 1
                end = at + 1
                while end < count and words[end] == words[end - length]:
                    end += 1
                rest = text[spans[end][0] :] if end < count else ""
                return text[: spans[first + length - 1][1]] + (" " + rest if rest else "")
    return text


def _without_echoes(text: str, context: CleaningContext) -> str:
    is_echo = context.echoes.is_echo
    if not is_echo(text):
        return text
    rest = normalise_whitespace("".join(part for part in sentences(text) if not is_echo(part)))
    return "" if len(_WORD.findall(rest)) < USABLE_WORDS or is_echo(rest) else rest


def _seam(match: re.Match[str], inner: str = "") -> str:
    """What replaces a removed part (or all of it but `inner`), so that the words around it do not join."""
    before, after = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    if not inner:
        return _gap(match) if before.strip() else ""
    left = " " if before.isalnum() and inner[0].isalnum() else ""
    return left + inner + (" " if after.isalnum() and inner[-1].isalnum() else "")


def _gap(match: re.Match[str]) -> str:
    """A space in place of a removed part, but none before punctuation."""
    after = match.string[match.end() :][:1]
    return "" if not after or after in " \n.,;:!?…)”’" else " "


def _cut(text: str, pattern: re.Pattern[str]) -> str:
    """Text after a match at the beginning, or before a later match."""
    match = pattern.search(text)
    if match is None:
        return text
    if not _WORD.search(text, 0, match.start()):
        return text[match.end() :]
    return _before(text, match.start())


def _before(text: str, at: int) -> str:
    """The text before a position, or nothing if that is not usable."""
    head = text[:at]
    return head if len(_WORD.findall(head)) >= USABLE_WORDS else ""


RULES: dict[str, Callable[[str, CleaningContext], str]] = {
    "invisible": _without_invisible,
    "entity": _without_entities,
    "special token": _without_special,
    "html": _without_html,
    "lead-in": _without_lead_in,
    "role tag": _without_roles,
    "own name": lambda text, context: text[context.speakers.own_label_end(text) :],
    "another speaker": _without_others,
    "markdown": _without_markdown,
    "placeholder": lambda text, context: _PLACEHOLDER.sub(_seam, text),
    "quotes": _without_quotes,
    "loop": _without_loops,
    "echo": _without_echoes,
    "length": lambda text, context: truncate(text, context.limit),
}
"""The rules by name, in the order in which they are applied."""
