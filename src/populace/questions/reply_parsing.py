"""Parsing of replies: which texts count as equal, and which as a refusal.

Parsing is conservative on purpose: whatever is not clearly an answer is not read as one.
"""

import json
import re
import unicodedata
from typing import Any

_OUTER = " \t\r\n\"'`*_“”‘’«»„‚…"
_OUTER_PUNCTUATION = _OUTER + ".,;:!()[]{}<>-–—"
_DASHES = "-–—−"
_OPENING = 40
"""A refusal begins within this many characters; later in a reply the same words mean something else."""
_SPACES = re.compile(r"\s+")
_MARKER = re.compile(
    r"(?:^|[.!]\s)\W*(?:(?:so|thus|hence|therefore|my|the|and|final)\W+)*"
    r"(?:answer|response|choice|reply)(?:\s+is)?\s*[:=]\s*(.+)",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"""\b(?:
      i\s*(?:'|’)?\s*a?m\s+(?:sorry|unable|not\s+able|not\s+comfortable|not\s+going\s+to\s+(?:answer|respond))
    | i\s+apologi[sz]e
    | i\s+(?:can\s*not|can't|can’t|won't|won’t|will\s+not|refuse\s+to|decline\s+to|must\s+decline)
      (?:\s*[.,;!]|\s*$|\s+(?:answer|assist|help|respond|choose|provide|comply|do\s+that|engage|fulfil|give|participate))
    | as\s+an?\s+(?:ai|artificial|large\s+language|language\s+model)
    | i\s+(?:do\s+not|don't|don’t)\s+have\s+(?:personal|any)\s+(?:opinions?|preferences?|feelings?|beliefs?)
    | (?:prefer|would\s+rather)\s+not\s+(?:to\s+)?(?:answer|say|respond)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_POST_REFUSAL = re.compile(
    r"""\b(?:
      as\s+an?\s+(?:ai|artificial\s+intelligence|large\s+language\s+model|language\s+model)\b
    | i\s*(?:'|’|\s+a)m\s+(?:just\s+|only\s+)?an?\s+(?:ai|large\s+language\s+model|language\s+model)\b
    | i\s*(?:can(?:no|'|’)?t|can\s+not|won(?:'|’)t|will\s+not|must\s+decline\s+to
        |(?:am|'m|’m)\s+(?:unable|not\s+able)\s+to
        |(?:am|'m|’m)\s+not\s+comfortable(?:\s+with)?)\s+
      (?:assist|comply|fulfil|answer\s+that|help\s+(?:you\s+)?with\s+(?:that|this)|role-?play|roleplaying
        |provide\s+(?:that|this|such|assistance)|engage\s+in|participate\s+in\s+(?:that|this|such)
        |(?:generat|creat|writ|produc)(?:e|ing)\s+(?:that|this|such|content|an?\s+(?:post|reply|response|comment|message)))
    | i\s+do(?:n(?:'|’)t|\s+not)\s+have\s+personal\s+(?:opinions?|experiences?|preferences?|feelings?|beliefs?)
    )""",
    re.IGNORECASE | re.VERBOSE,
)  # fmt: skip
_POST_REFUSAL_HINTS = (" ai", "\nai", "model", "intelligence", "can", "won", "not", "decline", "unable", "personal")
"""Every refusal contains one of these and most posts contain none: a quick test before the slow one."""


def normal_form(text: str) -> str:
    """Text in a normal form: Unicode NFKC, lower case, single spaces, no surrounding quotes or emphasis.

    Example:
        >>> normal_form(" *Very   Good* ")
        'very good'
    """
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text)).strip(_OUTER).casefold()


def bare_form(text: str) -> str:
    """As `normal_form`, and without surrounding punctuation; a minus before a digit is not punctuation.

    Example:
        >>> bare_form("Yes!"), bare_form("-3.")
        ('yes', '-3')
    """
    shape = normal_form(text)
    core = shape.strip(_OUTER_PUNCTUATION)
    before = shape[: shape.find(core)]
    if core[:1].isdigit() and any(dash in before for dash in _DASHES):
        return f"-{core}" if before[-1] in _DASHES else shape
    return core


def text_after_marker(text: str) -> str | None:
    """The text after the last marker such as `Answer:` or `Response:`, or None."""
    matches = [match for line in text.splitlines() if (match := _MARKER.search(line))]
    return matches[-1].group(1) if matches else None


def is_refusal(text: str) -> bool:
    """Whether the reply declines to answer, by its opening words.

    Example:
        >>> is_refusal("I'm sorry, but I can't choose."), is_refusal("Blue, as I am not sorry")
        (True, False)
    """
    match = _REFUSAL.search(unicodedata.normalize("NFKC", text))
    return match is not None and match.start() <= _OPENING


def is_refused_post(text: str) -> bool:
    """Whether a post is a refusal to write one; an apology alone is not.

    Example:
        >>> is_refused_post("As an AI, I cannot help with that."), is_refused_post("I'm sorry to hear that.")
        (True, False)
    """
    folded = text.casefold()
    return any(hint in folded for hint in _POST_REFUSAL_HINTS) and _POST_REFUSAL.search(text) is not None


def mentions(text: str, words: list[str]) -> set[int]:
    """The indices of the words that occur in the text as whole words; a longer word hides those inside it."""
    rest = normal_form(text)
    indices = set()
    for index in sorted(range(len(words)), key=lambda i: -len(words[i])):
        pattern = re.compile(rf"(?<!\w){re.escape(normal_form(words[index]))}(?!\w)")
        if pattern.search(rest):
            indices.add(index)
            rest = pattern.sub(" ", rest)
    return indices


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key occurs twice")
    return result


def json_objects(reply: str) -> list[dict[str, Any]]:
    """The outermost JSON objects in a reply."""
    decoder = json.JSONDecoder(object_pairs_hook=_without_repeats)
    objects: list[dict[str, Any]] = []
    at = reply.find("{")
    while at != -1:
        try:
            value, end = decoder.raw_decode(reply, at)
        except (ValueError, RecursionError):
            at = reply.find("{", at + 1)
            continue
        objects.append(value)
        at = reply.find("{", end)
    return objects
