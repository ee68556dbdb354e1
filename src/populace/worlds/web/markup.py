"""HTML as tags and text, read in one pass: hostile markup cannot make it slow.

The parser of the standard library needs time that grows with the square of the length for some broken pages.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

VOID_TAGS = frozenset("area base br col embed hr img input link meta source track wbr".split())
"""Tags that hold nothing and are never closed."""

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)([^<>]*+)>")
_ATTRIBUTE = re.compile(r"([^\s\"'=/]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"']++)))?")
_RAW = {tag: re.compile(f"</{tag}", re.IGNORECASE) for tag in ("script", "style")}
_LONGEST_ATTRIBUTES = 10_000


@dataclass(frozen=True)
class MarkupToken:
    """A tag or a text.

    Attributes:
        kind: What it is.
        value: The name of the tag in small letters, or the text with its entities replaced.
        attributes: The attributes of a tag that begins an element.
    """

    kind: Literal["start", "end", "text"]
    value: str
    attributes: dict[str, str] = field(default_factory=dict)


def markup_tokens(page: str) -> Iterator[MarkupToken]:
    """The tags and texts of a page; comments, declarations, and what stands in scripts and styles are left out.

    Example:
        >>> [(token.kind, token.value) for token in markup_tokens("<p>Tea &amp; pot<!-- x --></p>")]
        [('start', 'p'), ('text', 'Tea & pot'), ('end', 'p')]
    """
    place = 0
    words: list[str] = []
    while place < len(page):
        start = page.find("<", place)
        start = len(page) if start < 0 else start
        words.append(page[place:start])
        match = _TAG.match(page, start)
        if match is None and start < len(page) and not page.startswith(("<!", "<?"), start):
            words.append("<")
            place = start + 1
            continue
        text = html.unescape("".join(words))
        words = []
        if text:
            yield MarkupToken("text", text)
        if match is None:
            ending = "-->" if page.startswith("<!--", start) else ">"
            end = page.find(ending, start + 2)
            place = len(page) if end < 0 else end + len(ending)
            continue
        place, name = match.end(), match[2].lower()
        yield MarkupToken("end", name) if match[1] else MarkupToken("start", name, _attributes(match[3]))
        if name in _RAW and not match[1]:
            closing = _RAW[name].search(page, place)
            place = len(page) if closing is None else closing.start()
    if words:
        yield MarkupToken("text", html.unescape("".join(words)))


def _attributes(text: str) -> dict[str, str]:
    """The attributes of a tag; of one that stands twice, the first."""
    values: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(text[:_LONGEST_ATTRIBUTES]):
        value = match[2] or match[3] or match[4] or ""
        values.setdefault(match[1].lower(), html.unescape(value))
    return values
