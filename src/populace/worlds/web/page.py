"""A web page as people use it here: simplified HTML whose interactive elements have hierarchical names.

The form is that of Lu and others, *Beyond Believability* (arXiv 2503.20749): structure such as lists stays, scripts and
styles go, and every link, button and field has a unique name that holds the names of what it stands in, such as
`results.tea_pot.view`.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from populace.base.errors import WorldError
from populace.base.foreign import for_html, for_line
from populace.worlds.web.markup import VOID_TAGS, markup_tokens

MAX_PAGE_CHARACTERS = 200_000
"""The longest page that is read."""
MAX_PAGE_DEPTH = 200
"""How deep the elements of a page may be nested."""

ElementKind = Literal["link", "button", "input"]

INTERACTIVE: dict[str, ElementKind] = {
    "a": "link",
    "button": "button",
    "select": "button",
    "input": "input",
    "textarea": "input",
}
"""The tags of elements that people can use, and the kind of each."""
_NO_WORD = re.compile(r"[\W_]+")
_LONGEST_WORD = 60


@dataclass(frozen=True)
class Element:
    """An element of a page that people can use.

    Attributes:
        name: Its hierarchical name, unique on the page.
        kind: What it is; people type into an input, and click the others.
    """

    name: str
    kind: ElementKind


@dataclass(frozen=True)
class WebPage:
    """A page as simplified HTML.

    Attributes:
        title: What the page is.
        html: The page.
        elements: What people can use, in the order of the page.

    Example:
        >>> page = WebPage.read('<h1>Tea</h1><input name="search"><a name="tea_pot.view">View</a>')
        >>> page.title, page.clickable, page.inputs
        ('Tea', ('tea_pot.view',), ('search',))
    """

    title: str
    html: str
    elements: tuple[Element, ...]

    @functools.cached_property
    def clickable(self) -> tuple[str, ...]:
        """The names of links and buttons."""
        return tuple(element.name for element in self.elements if element.kind != "input")

    @functools.cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of fields that people type into."""
        return tuple(element.name for element in self.elements if element.kind == "input")

    @classmethod
    def read(cls, html: str) -> WebPage:
        """A page from simplified HTML, as it stands in a log.

        Raises:
            WorldError: If it is too long or too deep, or two elements have one name. An element without a name cannot
                be used, and is not listed.
        """
        if len(html) > MAX_PAGE_CHARACTERS:
            raise WorldError(f"a page has {len(html):,} characters; at most {MAX_PAGE_CHARACTERS:,} are read.")
        title, elements = _title_and_elements(html)
        names = [element.name for element in elements]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise WorldError(f"two elements of a page have the name {twice!r}.", "Names are unique on a page.")
        return cls(for_line(title), html, tuple(elements))


@dataclass(frozen=True)
class PageNode:
    """A node of a page that is to be written.

    Attributes:
        tag: Its tag.
        text: What stands in it, as plain text; it is escaped.
        name: Its part of the names of the elements in it; empty for none.
        children: The nodes in it, after the text.
    """

    tag: str
    text: str = ""
    name: str = ""
    children: Sequence[PageNode] = ()


def render_page(title: str, nodes: Iterable[PageNode]) -> WebPage:
    """The page of some nodes, each interactive element with the names of all that it stands in.

    Example:
        >>> tea = PageNode("li", "Tea & pot ", "tea_pot", [PageNode("a", "View", "view")])
        >>> page = render_page("Results", [PageNode("ul", name="results", children=[tea])])
        >>> print(page.html)
        <h1>Results</h1>
        <ul>
        <li>Tea &amp; pot <a name="results.tea_pot.view">View</a></li>
        </ul>
        >>> page.clickable
        ('results.tea_pot.view',)
    """
    elements: list[Element] = []
    lines = [f"<h1>{for_html(title)}</h1>", *(_html(node, (), elements) for node in nodes)]
    names = [element.name for element in elements]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise WorldError(f"two elements of the page {title!r} have the name {twice!r}.")
    return WebPage(title, "\n".join(lines), tuple(elements))


def element_word(text: str) -> str:
    """A text as a part of a name: small letters and digits of any script, joined by `_`; empty where there are none.

    Example:
        >>> element_word("Tea-Pot, 1.5 l"), element_word("Bücher"), element_word("<!>")
        ('tea_pot_1_5_l', 'bücher', '')
    """
    plain = unicodedata.normalize("NFKC", for_line(text)).casefold()
    return _NO_WORD.sub("_", plain).strip("_")[:_LONGEST_WORD].strip("_")


def element_words(texts: Iterable[str], otherwise: str = "item") -> list[str]:
    """The texts as parts of names, each once: a number is added to one that repeats another.

    Example:
        >>> element_words(["Tea Pot", "tea-pot", "?"])
        ['tea_pot', 'tea_pot_2', 'item']
    """
    seen: set[str] = set()
    words = []
    for text in texts:
        base = word = element_word(text) or otherwise
        number = 1
        while word in seen:
            number += 1
            word = f"{base}_{number}"
        seen.add(word)
        words.append(word)
    return words


def _html(node: PageNode, above: tuple[str, ...], elements: list[Element]) -> str:
    path = (*above, node.name) if node.name else above
    kind = INTERACTIVE.get(node.tag)
    attribute = ""
    if kind is not None:
        name = ".".join(path)
        elements.append(Element(name, kind))
        attribute = f' name="{for_html(name)}"'
    if node.tag in VOID_TAGS:
        return f"<{node.tag}{attribute}>"
    inner = [_html(child, path, elements) for child in node.children]
    between = "\n" if node.tag in ("ul", "ol", "table", "nav", "section") else " "
    body = between.join(inner)
    if between == "\n":
        body = f"{for_html(node.text)}\n{body}\n"
    else:
        body = f"{for_html(node.text)}{body}"
    return f"<{node.tag}{attribute}>{body}</{node.tag}>"


def _title_and_elements(html: str) -> tuple[str, list[Element]]:
    """The text of the first heading or title of a page, and what people can use on it."""
    elements: list[Element] = []
    titles: list[str] = []
    in_title, depth = False, 0
    for token in markup_tokens(html):
        if token.kind == "text":
            if in_title and token.value.strip():
                titles.append(token.value.strip())
            continue
        if token.value in ("h1", "title"):
            in_title = token.kind == "start" and not titles
        if token.kind == "end":
            depth = max(0, depth - 1)
            continue
        depth += token.value not in VOID_TAGS
        if depth > MAX_PAGE_DEPTH:
            raise WorldError(f"the elements of a page are nested more than {MAX_PAGE_DEPTH} deep.")
        name = token.attributes.get("name")
        if token.value in INTERACTIVE and name:
            elements.append(Element(for_line(name), INTERACTIVE[token.value]))
    return " ".join(titles), elements
