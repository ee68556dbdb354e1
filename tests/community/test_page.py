from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from populace.base.errors import UsageError
from populace.community import Community
from populace.community.judges import judge_posts
from populace.community.page import render_page, write_page
from populace.community.word_filter import WordFilter
from support.board import board
from support.board import judge as scripted_judge

HOSTILE = [
    "<script>document.title='owned'</script>",
    '"><img src=http://evil.example/x.png onerror="document.title=1">',
    "</details></article></main><h1>Mine</h1>",
    "\u202eright to left\x00\x1b[2J\u2028",
    "&lt;b&gt; & <b>bold</b> ]]> <!-- --> </style><style>*{display:none}</style>",
    "a\nb\r\nc javascript:alert(1) {text}",
]


def with_texts(texts: list[str], **columns: Any) -> Community:
    """The board with its first posts written over."""
    run = board(seed=1, threads=len(texts))
    table = run.record._steps[1][0]["tables/posts"]  # type: ignore[attr-defined]
    changed = table.with_columns(text=pl.Series(texts), **columns)
    run.record._steps[1][0]["tables/posts"] = changed  # type: ignore[attr-defined]
    return Community(run)


class Parsed(HTMLParser):
    """The tags of a page, whether they are closed in order, and its text."""

    VOID = ("meta", "link", "input", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_hostile_text_is_shown_as_text() -> None:
    parsed = Parsed(render_page(with_texts(HOSTILE, title=pl.Series(HOSTILE))))
    assert not parsed.open
    names = {tag for tag, _ in parsed.tags}
    assert not names & {"script", "img", "b", "iframe", "form"}
    assert all(not name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    assert "<script>document.title='owned'</script>" in parsed.text
    assert not set(parsed.text) & set("\x00\x1b\u2028\r")
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_what_people_wrote_stands_in_an_element_that_isolates_its_direction() -> None:
    html = render_page(with_texts(HOSTILE))
    assert re.search(r'<bdi dir="auto">\ufffdright to left', html)


def test_the_page_refers_to_nothing_outside_itself() -> None:
    parsed = Parsed(render_page(with_texts(["plain"])))
    for tag, attributes in parsed.tags:
        for name in ("src", "href", "srcset", "action", "poster", "data"):
            value = attributes.get(name)
            assert value is None or value.startswith("#") or (tag == "link" and value == "data:,")
    assert "url(" not in render_page(with_texts(["plain"]))


def test_the_page_says_that_it_is_generated_and_what_was_not() -> None:
    community = with_texts(["by the model", "by hand"], origin=pl.Series(["model", "hand"]))
    html = render_page(community)
    assert "a script wrote the text" in html
    assert html.count('data-written-by="hand"') == 1
    assert html.count("written by hand") == 1
    assert "do not fill a live platform with it" in html


def test_the_page_names_no_login_and_no_server() -> None:
    community = with_texts(["plain"])
    manifest = community.run.manifest
    manifest.environment["author"] = "ann@lab-7"
    manifest.regimes[-1] = manifest.regime.model_copy(update={"model": "http://10.1.2.3:8000/v1#llama-3"})
    html = render_page(community)
    assert "ann@lab-7" not in html
    assert "10.1.2.3" not in html
    assert "llama-3" in html
    assert "a language model wrote the text" in html


def test_the_filter_hides_behind_a_click_and_changes_nothing() -> None:
    community = with_texts(["You IDIOT.", "A balcony."])
    html = render_page(community)
    assert html.count('class="veil"') == 1
    assert "You IDIOT." in html
    assert render_page(community, word_filter=WordFilter([])).count('class="veil"') == 0
    assert render_page(community, word_filter=WordFilter(["balcony"])).count('class="veil"') >= 1


def test_a_title_that_is_hidden_is_read_after_the_same_click() -> None:
    html = render_page(with_texts(["Fine."], title=pl.Series(["Idiot!"])))
    assert "Title hidden by the filter" in html
    assert html.index('class="veil"') < html.index("Idiot!")
    assert html.count("Idiot!") == 1


def test_the_filter_takes_whole_words_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("# mine\nshut  up\n\nCafé\n")
    word_filter = WordFilter.read(tmp_path / "words.txt")
    texts = pl.Series(["Shut up!", "shut\nup", "shutup", "café", "cafés", None])
    assert WordFilter(["shut up", "café"]).hides(texts).to_list() == [True, True, False, True, False, False]
    assert len(word_filter.words) == 2
    with pytest.raises(UsageError, match="cannot be read"):
        WordFilter.read(tmp_path / "none.txt")


def test_violations_are_flagged_once_judged() -> None:
    community = Community(board(seed=1, offence=0.8))
    assert "breaks rule 2" not in render_page(community)
    html = render_page(community, verdicts=judge_posts(community, scripted_judge()).verdicts())
    advertisements = int(community.posts["text"].str.contains("cheap soil").sum())
    assert html.count(">breaks rule 2<") == advertisements > 0
    assert f"broken {advertisements} times" in html
    assert "only flagged" in html


def test_a_page_is_not_written_over_anything(tmp_path: Path) -> None:
    (tmp_path / "c.html").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        write_page(with_texts(["x"]), tmp_path / "c.html")


@pytest.mark.slow
def test_in_a_browser_the_page_asks_for_nothing_folds_and_fits_a_phone(tmp_path: Path) -> None:
    sync = pytest.importorskip("playwright.sync_api").sync_playwright
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    texts = [*HOSTILE, "x" * 400, "You idiot."]
    file = write_page(with_texts(texts, title=pl.Series(texts)), tmp_path / "c.html")
    with sync() as browsers:
        browser = browsers.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        requests: list[str] = []
        messages: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: messages.append(message.text))
        for width, scheme in ((1280, "light"), (360, "dark")):
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            page.goto(file.as_uri())
            page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert "owned" not in page.title()
            first = page.locator(".thread > details").first
            first.locator(":scope > summary").click()
            assert not first.evaluate("each => each.open")
            first.locator(":scope > summary").click()
            first.locator(".who").first.click()
            assert page.locator(":popover-open").count() == 1
            page.keyboard.press("Escape")
            page.locator("label", has_text="New").click()
            tops = page.locator(".thread").evaluate_all(
                "all => all.map(t => [t.id, t.getBoundingClientRect().top]).sort((a, b) => a[1] - b[1]).map(t => t[0])"
            )
            assert tops == [f"thread-{number}" for number in range(len(texts), 0, -1)]
            dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, re.findall(r"\d+", dark)[:3])) < 150) == (scheme == "dark")
        assert set(requests) == {file.as_uri()}
        assert messages == []
        browser.close()
