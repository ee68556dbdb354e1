"""Parsing of replies: which texts count as equal, and which as a refusal.

Parsing is conservative on purpose: whatever is not clearly an answer is not read as one.
"""

from __future__ import annotations

import re
import unicodedata

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
