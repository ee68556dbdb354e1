"""What a post must not hold, taken away by rule.

A model that is to write as one person also writes role tags, markup, its own instructions and the lines of others.
Each rule takes one of these away and never adds a word; the rules are applied until none of them finds anything, so
cleaning a clean text changes nothing. A rule that leaves no good part behind leaves nothing, and is then the reason
why there is no text.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from populace.questions.echo import EchoDetector, folded_words
from populace.questions.post_refusals import is_refused_post
from populace.questions.speakers import PromptSpeakers

GOOD_PART = 3
"""So many words before a cut are worth keeping."""
PASSES = 12
"""A text that is still not clean after so many rounds is given up."""
_REPEATS = 4
_LONGEST_PHRASE = 20
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co"})
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_JOINERS = "\u200c\u200d"
_ORDINARY = re.compile(r"[\n -~\u00a1-\u00ac\u00ae-\u024f\u2010-\u2015\u2018-\u201f\u2026]*")
"""Characters of everyday Latin text, none of which is invisible; most replies hold no others."""

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
"""Plain words and sentences, in which no rule but three can find anything: most replies of a model that behaves."""
_LONE = re.compile(r"(?<!\S)[^\w\s]+(?!\S)")
"""Marks that stand alone."""
_SPACES = re.compile(r"[ \t\u00a0]{2,}|\t")
_LINES = re.compile(r" *\n *")
_GAPS = re.compile(r"\n{3,}")


@dataclass(frozen=True)
class CleaningResult:
    """A text after cleaning.

    Attributes:
        text: What is left; None where nothing usable is.
        rules: The rules that took something away, in the order in which they first did.
        reason: Why there is no text: `empty`, `refusal`, `tangled`, or the rule that left nothing.
    """

    text: str | None
    rules: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class CleaningContext:
    """What cleaning must know.

    Attributes:
        limit: The most characters that may be left.
        speakers: Who might be taken to speak.
        told: What the writer was told, which must not come back.
    """

    limit: int
    speakers: PromptSpeakers = field(default_factory=PromptSpeakers)
    told: EchoDetector = field(default_factory=lambda: EchoDetector(""))


def clean(reply: str, context: CleaningContext) -> CleaningResult:
    """Take away what a post must not hold.

    Example:
        >>> clean("<|im_start|>assistant\\nAnn: **Hi** all!", CleaningContext(100, PromptSpeakers(own=("Ann",))))
        CleaningResult(text='Hi all!', rules=('special token', 'own name', 'markdown'), reason=None)
        >>> clean("<br><br>", CleaningContext(100)).reason
        'html'
    """
    if len(reply) <= context.limit and _PLAIN.fullmatch(reply) and not _amiss(reply, context):
        return CleaningResult(reply)
    return apply_rules(reply, context)


def _amiss(text: str, context: CleaningContext) -> bool:
    """Whether there is anything about plain words that a rule would see."""
    return _says_again(folded_words(text)) or is_refused_post(text) or context.told.shares(text)


def apply_rules(reply: str, context: CleaningContext) -> CleaningResult:
    """Clean a text that may hold anything."""
    text = normalise_whitespace(reply)
    if not text:
        return CleaningResult(None, (), "empty")
    fired: list[str] = []
    short = _bounded(text, context)
    if short != text:
        text = short
        fired.append("length")
        if not text:
            return CleaningResult(None, ("length",), "length")
    for _ in range(PASSES):
        before = text
        for name, rule in RULES.items():
            left = rule(text, context)
            if left == text or (left := normalise_whitespace(left)) == text:
                continue
            if name not in fired:
                fired.append(name)
            if not _WORD.search(left):
                return CleaningResult(None, tuple(fired), name)
            text = left
        if text == before:
            if is_refused_post(text):
                return CleaningResult(None, tuple(fired), "refusal")
            return (
                CleaningResult(text, tuple(fired))
                if _WORD.search(text)
                else CleaningResult(None, tuple(fired), "empty")
            )
    return CleaningResult(None, tuple(fired), "tangled")


def normalise_whitespace(text: str) -> str:
    """Single spaces, lines without spaces around them, at most one empty line between two."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n\n")
    if "  " in text or "\t" in text or "\u00a0" in text:
        text = _SPACES.sub(" ", text)
    if "\n" in text:
        text = _GAPS.sub("\n\n", _LINES.sub("\n", text))
    return text.strip()


def truncate(text: str, limit: int) -> str:
    """As much of a text as fits: to the end of a sentence where that keeps half of it, else to the end of a word.

    Example:
        >>> truncate("One is here. Two is there. Three", 28), truncate("abc def", 5), truncate("abcdef", 5)
        ('One is here. Two is there.', 'abc', '')
    """
    if len(text) <= limit:
        return text
    ends = [found.end() for found in _ENDS.finditer(text, 0, limit + 1) if found.end() <= limit]
    if ends and ends[-1] * 2 >= limit:
        return text[: ends[-1]].strip()
    # One character more is looked at, so that a word that just fits is known to end there.
    space = max(text.rfind(mark, 0, limit + 1) for mark in (" ", "\n"))
    return text[:space].strip() if space > 0 else ""


def sentences(text: str) -> list[str]:
    """The sentences of a text with the white space that follows each; joined they are the text."""
    return [part for part in re.split(r"(?<=[.!?…])(?=\s)|(?<=\n)", text) if part]


def _bounded(text: str, context: CleaningContext) -> str:
    """No more of an endless text than could matter."""
    most = 8 * context.limit + 2000
    return text if len(text) <= most else text[: max(text.rfind(" ", 0, most), text.rfind("\n", 0, most), 0)]


def _visible(text: str, context: CleaningContext) -> str:
    if _ORDINARY.fullmatch(text):
        return text
    text = _COLOUR.sub(" ", text.replace("\t", " "))
    kept = []
    for at, character in enumerate(text):
        if character in _JOINERS:
            # Between letters of other scripts and between pictures a joiner is part of the spelling.
            around = text[at - 1 : at] + text[at + 1 : at + 2]
            if len(around) == 2 and all(ord(c) > 0x2FF and unicodedata.category(c) not in _INVISIBLE for c in around):
                kept.append(character)
        elif character == "\n" or unicodedata.category(character) not in _INVISIBLE:
            kept.append(character)
    return "".join(kept)


def _resolved(text: str, context: CleaningContext) -> str:
    while "&" in text:
        plain = html.unescape(text)
        if plain == text:
            break
        text = plain
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
        text = _LINK.sub(lambda found: _seam(found, found.group(1)), text)
    text = _BLOCK.sub("", text)
    if "*" in text or "_" in text or "`" in text or "~" in text or "](" in text:
        text = _EMPHASIS.sub(lambda found: found.group(2) or found.group(3), text)
        text = _LEFT_OVER.sub(_seam, text)
    return text


def _without_lead_in(text: str, context: CleaningContext) -> str:
    found = _LEAD_IN.match(text)
    return text[found.end() :] if found else text


def _without_placeholders(text: str, context: CleaningContext) -> str:
    return _PLACEHOLDER.sub(_seam, text) if "[" in text else text


def _without_roles(text: str, context: CleaningContext) -> str:
    if ":" not in text and "：" not in text:
        return text
    found = _ROLE_FIRST.match(text)
    if found:
        return text[found.end() :]
    later = _ROLE_LATER.search(text)
    return _before(text, later.start()) if later else text


def _without_own_name(text: str, context: CleaningContext) -> str:
    return text[context.speakers.own_prefix(text) :]


def _without_others(text: str, context: CleaningContext) -> str:
    at = context.speakers.other_from(text)
    return text if at is None else _before(text, at)


def _unquoted(text: str, context: CleaningContext) -> str:
    closing = _QUOTES.get(text[0])
    if closing is None or len(text) < 2:
        return text
    inner = text[1:-1]
    if text[-1] == closing and text[0] not in inner and closing not in inner:
        return inner
    # A quote that opens the text and never closes was to wrap it.
    return text[1:] if text[0] in '"“«„' and closing not in text[1:] else text


def _without_loops(text: str, context: CleaningContext) -> str:
    text = _MARKS.sub(lambda found: found.group(1) * 3, text)
    if not _says_again(folded_words(text)) and not _LONE.search(text):
        return text
    parts = sentences(text)
    seen: set[str] = set()
    kept = []
    for part in parts:
        said = " ".join(_WORD.findall(part.casefold()))
        if said in seen:
            continue
        if said.count(" ") >= GOOD_PART - 1:
            seen.add(said)
        kept.append(part)
    if len(kept) < len(parts):
        text = "".join(kept)
    return _unwound(text)


def _says_again(words: list[str]) -> bool:
    """Whether three words in a row come twice, as they do in whatever is said again or comes in a loop."""
    if len(words) - len(set(words)) < GOOD_PART:
        return False
    threes = set(zip(words, words[1:], words[2:], strict=False))
    return len(threes) < len(words) - 2


def _unwound(text: str) -> str:
    """A phrase that comes again and again stands once."""
    words = [word.strip(".,;:!?") for word in text.casefold().split()]
    count = len(words)
    # In a phrase that comes so often, every word does.
    if sum(often for often in Counter(words).values() if often >= _REPEATS) < 2 * _REPEATS:
        return text
    spots = [(found.start(), found.end()) for found in re.finditer(r"\S+", text)]
    for length in range(1, min(_LONGEST_PHRASE, count // _REPEATS) + 1):
        same = 0
        for at in range(length, count):
            same = same + 1 if words[at] == words[at - length] else 0
            if same >= max(length * (_REPEATS - 1), 2 * _REPEATS - 1):
                first = at - same - length + 1
                end = at + 1
                while end < count and words[end] == words[end - length]:
                    end += 1
                rest = text[spots[end][0] :] if end < count else ""
                return text[: spots[first + length - 1][1]] + (" " + rest if rest else "")
    return text


def _without_echoes(text: str, context: CleaningContext) -> str:
    told = context.told
    if not told.shares(text):
        return text
    left = normalise_whitespace("".join(part for part in sentences(text) if not told.shares(part)))
    return "" if len(_WORD.findall(left)) < GOOD_PART or told.shares(left) else left


def _within(text: str, context: CleaningContext) -> str:
    return truncate(text, context.limit)


def _seam(found: re.Match[str], kept: str = "") -> str:
    """What takes the place of something that was taken away, so that the words around it do not grow together."""
    before, after = found.string[: found.start()][-1:], found.string[found.end() :][:1]
    if not kept:
        return _gap(found) if before.strip() else ""
    left = " " if before.isalnum() and kept[0].isalnum() else ""
    return left + kept + (" " if after.isalnum() and kept[-1].isalnum() else "")


def _gap(found: re.Match[str]) -> str:
    """A space in the place of a tag, but none before a mark."""
    after = found.string[found.end() :][:1]
    return "" if not after or after in " \n.,;:!?…)”’" else " "


def _cut(text: str, mark: re.Pattern[str]) -> str:
    """Without a mark at the beginning; up to one that comes later."""
    found = mark.search(text)
    if found is None:
        return text
    if not _WORD.search(text, 0, found.start()):
        return text[found.end() :]
    return _before(text, found.start())


def _before(text: str, at: int) -> str:
    """What stands before a place, where that is a good part."""
    kept = text[:at]
    return kept if len(_WORD.findall(kept)) >= GOOD_PART else ""


RULES: dict[str, Callable[[str, CleaningContext], str]] = {
    "invisible": _visible,
    "entity": _resolved,
    "special token": _without_special,
    "html": _without_html,
    "lead-in": _without_lead_in,
    "role tag": _without_roles,
    "own name": _without_own_name,
    "another speaker": _without_others,
    "markdown": _without_markdown,
    "placeholder": _without_placeholders,
    "quotes": _unquoted,
    "loop": _without_loops,
    "echo": _without_echoes,
    "length": _within,
}
"""The rules by name, in the order in which they are applied."""
