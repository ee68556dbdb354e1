"""From the HTML of a browser to a simplified page: scripts, styles and wrappers go, structure and text stay.

Links, buttons and fields get hierarchical names: the words of what they stand in, and their own label.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from populace.base.errors import WorldError
from populace.base.foreign import for_html, for_line
from populace.worlds.web.markup import VOID_TAGS, markup_tokens
from populace.worlds.web.page import INTERACTIVE, MAX_PAGE_DEPTH, Element, ElementKind, WebPage, element_word

MAX_RAW_CHARACTERS = 5_000_000
"""The longest page of a browser that is simplified."""

_DROPPED = frozenset("script style noscript svg canvas iframe object template video audio picture head".split())
_STRUCTURE = frozenset(
    "h1 h2 h3 h4 h5 h6 p ul ol li table thead tbody tr th td nav main section form label dl dt dd".split()
)
_LABELS = ("aria-label", "placeholder", "title", "alt", "value", "id", "name")
_PLACES = ("aria-label", "id")
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_LONGEST_LABEL = 60


@dataclass
class _Open:
    """An element that is not closed yet."""

    tag: str
    word: str = ""
    kind: ElementKind | None = None
    label: str = ""
    text: list[str] = field(default_factory=list)
    dropped: bool = False


def simplify_page(html: str) -> WebPage:
    """The simplified page of the HTML that a browser shows.

    Hidden elements are left out, and so is everything that is no text, structure, link, button or field. A name is made
    of the labels or ids of the elements around it (`aria-label`, `id`, the first words of a list item) and its own.

    Raises:
        WorldError: If the page is too long or too deep.

    Example:
        >>> raw = '<div id="nav"><script>x()</script><a href="/" class="b">Home</a></div><p style="color:red">Tea</p>'
        >>> page = simplify_page(raw)
        >>> page.html, page.clickable
        ('<a name="nav.home">Home</a>\\n<p>Tea</p>', ('nav.home',))
    """
    if len(html) > MAX_RAW_CHARACTERS:
        raise WorldError(f"a page has {len(html):,} characters; at most {MAX_RAW_CHARACTERS:,} are simplified.")
    simplifier = _Simplifier()
    simplifier.read(html)
    title = simplifier.title or simplifier.heading
    return WebPage(for_line(title), "\n".join(simplifier.lines), tuple(simplifier.elements))


class _Simplifier:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.elements: list[Element] = []
        self.title = ""
        self.heading = ""
        self._open: list[_Open] = []
        self._line: list[str] = []
        self._names: set[str] = set()
        self._in_title = False

    def read(self, html: str) -> None:
        """Go through a page."""
        for token in markup_tokens(html):
            if token.kind == "start":
                self._start(token.value, token.attributes)
            elif token.kind == "end":
                self._end(token.value)
            else:
                self._text(token.value)
        while self._open:
            self._close(self._open.pop())
        self._flush()

    def _start(self, tag: str, values: dict[str, str]) -> None:
        if tag == "title":
            self._in_title = True
            return
        kind = INTERACTIVE.get(tag)
        hidden = _is_hidden(values)
        label = next((values[name] for name in _LABELS if values.get(name)), "")
        if tag in VOID_TAGS:
            if kind and not hidden and not self._dropping:
                self._write(f'<{tag} name="{for_html(self._name(label or tag, kind))}">')
            elif tag == "img" and values.get("alt") and not self._dropping:
                self._text(values["alt"])
            return
        if len(self._open) >= MAX_PAGE_DEPTH:
            raise WorldError(f"the elements of a page are nested more than {MAX_PAGE_DEPTH} deep.")
        place = next((element_word(values[name]) for name in _PLACES if values.get(name)), "")
        dropped = self._dropping or tag in _DROPPED or hidden
        self._open.append(_Open(tag, "" if kind else place, kind, label if kind else "", dropped=dropped))
        if tag in _STRUCTURE and not dropped:
            self._flush()
            self._line = [f"<{tag}>"]

    def _end(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if not any(each.tag == tag for each in self._open):
            return
        while self._open:
            closed = self._open.pop()
            self._close(closed)
            if closed.tag == tag:
                return

    def _text(self, data: str) -> None:
        text = for_line(data)
        if self._in_title:
            self.title = f"{self.title} {text}".strip()
        if not text or self._in_title or self._dropping:
            return
        inner = next((each for each in reversed(self._open) if each.kind), None)
        if inner is not None:
            inner.text.append(text)
            return
        item = next((each for each in reversed(self._open) if each.tag in ("li", "tr", "h1")), None)
        if item is not None and item.tag == "h1":
            self.heading = f"{self.heading} {text}".strip()
        elif item is not None and not item.word:
            item.word = element_word(text[:_LONGEST_LABEL])
        self._write(for_html(text))

    @property
    def _dropping(self) -> bool:
        return bool(self._open) and self._open[-1].dropped

    def _close(self, closed: _Open) -> None:
        if closed.dropped:
            return
        if closed.kind:
            text = " ".join(closed.text)
            label = text or closed.label or closed.tag
            name = self._name(label[:_LONGEST_LABEL], closed.kind)
            self._write(f'<{closed.tag} name="{for_html(name)}">{for_html(text or closed.label)}</{closed.tag}>')
        elif closed.tag in _STRUCTURE:
            if self._line == [f"<{closed.tag}>"]:
                self._line = []
            else:
                self._write(f"</{closed.tag}>", space="")
                self._flush()

    def _name(self, label: str, kind: ElementKind) -> str:
        """A unique name; the words of what the element stands in come before its own."""
        path = [each.word for each in self._open if each.word]
        base = name = ".".join([*path, element_word(label) or "element"])
        number = 1
        while name in self._names:
            number += 1
            name = f"{base}_{number}"
        self._names.add(name)
        self.elements.append(Element(name, kind))
        return name

    def _write(self, text: str, space: str = " ") -> None:
        last = self._line[-1] if self._line else ""
        apart = bool(last) and (not last.endswith(">") or last.endswith(("</a>", "</button>")))
        self._line.append(space + text if apart else text)

    def _flush(self) -> None:
        line = "".join(self._line).strip()
        if line:
            self.lines.append(line)
        self._line = []


def _is_hidden(values: dict[str, str]) -> bool:
    return (
        "hidden" in values
        or values.get("aria-hidden") == "true"
        or values.get("type") == "hidden"
        or bool(_HIDDEN_STYLE.search(values.get("style", "")))
    )
