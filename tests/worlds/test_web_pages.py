"""Pages are simplified HTML: structure stays, names are hierarchical and unique, and foreign text cannot act."""

from __future__ import annotations

import contextlib
import time

import pytest

from populace.base.errors import WorldError
from populace.worlds.web.page import MAX_PAGE_CHARACTERS, PageNode, WebPage, element_word, element_words, render_page
from populace.worlds.web.simplification import simplify_page

RAW = """
<html><head><title>Tea shop</title><style>p {color: red}</style></head><body>
<nav id="header"><form><input type="hidden" name="token"><input type="text" placeholder="Search"></form>
<a href="/cart">Cart</a></nav>
<div class="x"><script>steal()</script><ul aria-label="Results">
<li>Tea Pot <span>$20</span> <a href="/1">View</a></li>
<li>Tea Cup <a href="/2">View</a><div style="display: none"><a href="/3">Hidden</a></div></li>
</ul><!-- a comment --><button onclick="x()"><img alt="Buy now" src="x"></button></div></body></html>
"""


def test_a_raw_page_keeps_structure_text_and_what_people_can_use() -> None:
    page = simplify_page(RAW)
    assert page.title == "Tea shop"
    assert page.inputs == ("header.search",)
    assert page.clickable == ("header.cart", "results.tea_pot.view", "results.tea_cup.view", "buy_now")
    assert "<li>Tea Pot $20 <a" in page.html and "<ul>" in page.html
    for gone in ("script", "steal", "style", "token", "Hidden", "comment", "href", "onclick"):
        assert gone not in page.html


def test_a_simplified_page_reads_back_as_the_same_page() -> None:
    page = simplify_page(RAW)
    assert WebPage.read(page.html).elements == page.elements


def test_what_a_shop_says_cannot_become_an_element() -> None:
    trap = 'x</li><a name="free.order">Free</a><li>'
    page = render_page(trap, [PageNode("ul", name="r", children=[PageNode("li", trap, element_word(trap))])])
    assert page.elements == () and WebPage.read(page.html).elements == ()
    assert simplify_page(f"<p>{page.html}</p>").elements == ()


def test_names_hold_letters_of_any_script_and_each_stands_once() -> None:
    assert element_words(["Tea\u202e Pot", "TEA-POT", "茶", "!!!", "?"]) == [
        "tea_pot",
        "tea_pot_2",
        "茶",
        "item",
        "item_2",
    ]
    assert len(element_word("x" * 500)) == 60


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ('<a name="x">1</a><a name="x">2</a>', "the name 'x'"),
        ("<div>" * 300, "nested more than"),
        ("x" * (MAX_PAGE_CHARACTERS + 1), "characters"),
    ],
)
def test_a_page_that_cannot_be_used_is_refused(html: str, problem: str) -> None:
    with pytest.raises(WorldError, match=problem):
        WebPage.read(html)


def test_broken_markup_is_read_as_far_as_it_goes() -> None:
    assert WebPage.read('<h1>Tea<ul><li><a name="view">View</li></b></ul>&lt;a name="x"&gt;').clickable == ("view",)
    assert simplify_page("<ul><li>Tea<a href=x>View").clickable == ("tea.view",)


@pytest.mark.parametrize(
    "part", ["<!--", "</", "<a ", "<![CDATA[", "<", "<?", "&#", "<a x='", "<script>", "</a ", "<p>x"]
)
def test_hostile_markup_of_the_greatest_length_is_read_quickly(part: str) -> None:
    page = part * (MAX_PAGE_CHARACTERS // len(part))
    start = time.process_time()
    for read in (WebPage.read, simplify_page):
        with contextlib.suppress(WorldError):
            read(page)
    # The parser of the standard library takes a minute for some of these.
    assert time.process_time() - start < 4
