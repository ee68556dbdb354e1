"""How replies are read: what counts as the same words, and what counts as a refusal.

Reading is conservative on purpose. Whatever is not clearly an answer is not turned into one.
"""

from __future__ import annotations

import re
import unicodedata

_OUTER = " \t\r\n\"'`*_“”‘’«»„‚…"
_OUTER_PUNCTUATION = _OUTER + ".,;:!()[]{}<>-–—"
_DASHES = "-–—−"
_OPENING = 40
"""A refusal begins within so many characters; later on the same words mean something else."""
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
    """Text in one form: Unicode compatibility form, lower case, single spaces, no surrounding quotes or marks."""
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text)).strip(_OUTER).casefold()


def bare_form(text: str) -> str:
    """As `normal_form`, without surrounding punctuation either; a minus before a digit is not punctuation."""
    shape = normal_form(text)
    core = shape.strip(_OUTER_PUNCTUATION)
    before = shape[: shape.find(core)]
    if core[:1].isdigit() and any(dash in before for dash in _DASHES):
        return f"-{core}" if before[-1] in _DASHES else shape
    return core


def text_after_marker(text: str) -> str | None:
    """What stands behind the last marker such as `Answer:` or `Response:`, or None."""
    found = None
    for line in text.splitlines():
        match = _MARKER.search(line)
        if match:
            found = match.group(1)
    return found


def is_refusal(text: str) -> bool:
    """Whether the reply declines to answer, by its opening words.

    Example:
        >>> is_refusal("I'm sorry, but I can't choose."), is_refusal("Blue, as I am not sorry")
        (True, False)
    """
    found = _REFUSAL.search(unicodedata.normalize("NFKC", text))
    return found is not None and found.start() <= _OPENING


def mentions(text: str, words: list[str]) -> set[int]:
    """Which of the words stand in the text as whole words; a longer one hides those inside it."""
    rest = normal_form(text)
    found = set()
    for index in sorted(range(len(words)), key=lambda i: -len(words[i])):
        pattern = re.compile(rf"(?<!\w){re.escape(normal_form(words[index]))}(?!\w)")
        if pattern.search(rest):
            found.add(index)
            rest = pattern.sub(" ", rest)
    return found
