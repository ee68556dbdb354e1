"""The whole of Studio in a real browser: a run on the embedded model is started, watched, opened, forked and compared.

`make audit` keeps screenshots in `.artefacts/studio` beside the tests, to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from populace import simulate
from populace.engine.workspace import Workspace
from populace.scenarios.forum import Forum
from populace.scenarios.party import Party
from support.audit import IN_FULL
from support.society import resident
from support.studio import SETTLED, chromium, new_page, served

pytestmark = [pytest.mark.slow, pytest.mark.audit, pytest.mark.xdist_group("browser")]

SHOTS = Path(__file__).parents[2] / ".artefacts" / "studio"
LONG_MS = 120_000
DRAWN_ANEW = "new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn, 30))))"
"""Ends once the browser has drawn the page twice, so that what follows the width of the window has followed it."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with new_page(browser) as page:
        page.set_default_timeout(60_000)
        yield page


def at(name: str) -> str:
    """What `tested` named."""
    return f"[data-testid='{name}']"


def keep(page: Any, name: str) -> None:
    """Check the page at the width of a phone; an audit has a screenshot of it there and at the width of a desk."""
    shoot(page, name)
    page.set_viewport_size({"width": 390, "height": 844})
    page.evaluate(DRAWN_ANEW)
    shoot(page, f"{name}-phone")
    # Nothing may be wider than the phone: what is wide scrolls in itself.
    assert page.evaluate("document.documentElement.scrollWidth") <= 391, name
    page.set_viewport_size({"width": 1280, "height": 900})


def shoot(page: Any, name: str) -> None:
    """In an audit a screenshot, once the page has settled."""
    if IN_FULL:
        page.evaluate(SETTLED)
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


def fill(page: Any, name: str, value: str) -> None:
    """Put a value into a field."""
    kinds = (f"input{at(name)}", f"textarea{at(name)}", f"{at(name)} input", f"{at(name)} textarea")
    field = page.locator(", ".join(kinds)).first
    field.fill(value)
    field.blur()


def fill_until_kept(page: Any, name: str, value: str, address: str) -> None:
    """Put a value into a field, again where the page was drawn anew meanwhile, until the address holds it."""
    from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

    for _ in range(LONG_MS // 4_000):
        fill(page, name, "")
        fill(page, name, value)
        try:
            page.wait_for_url(address, timeout=4_000)
            return
        except PlaywrightTimeoutError:
            continue
    raise AssertionError(f"the address never holds {address}: {page.url}")


@pytest.mark.embedded
def test_norms_on_the_embedded_model_from_the_form_to_a_comparison(tmp_path: Path, page: Any) -> None:
    with served(tmp_path) as (home, _):
        page.goto(home)
        page.wait_for_selector("text=There are no runs yet")
        keep(page, "01-home-of-a-newcomer")

        page.click("text=New run")
        page.click(at("scenario-norms"))
        # The form of the scenario takes the place of the list; a field that is filled in before is drawn anew.
        page.wait_for_url("**scenario=norms**", timeout=LONG_MS)
        for name, field in (("workers", "parameter-workers"), ("days", "parameter-days")):
            fill_until_kept(page, field, "2", f"**{name}=2**")
        page.wait_for_selector("text=4 decisions", timeout=LONG_MS)
        keep(page, "02-new-run")
        page.click(at("start-run"))

        page.wait_for_url("**/run/norms-*", timeout=LONG_MS)
        page.wait_for_selector(f"{at('head')} >> text=complete", timeout=LONG_MS)
        (name,) = Workspace(tmp_path).names()
        keep(page, "03-run")

        page.click(at("tab-people"))
        page.locator(f"{at('people')} a").first.click()
        page.wait_for_url("**/person/**")
        page.wait_for_selector(at("profile"))
        keep(page, "04-person")
        page.locator(f"{at('decisions')} a").first.click()
        page.wait_for_url("**/decision?**")
        page.wait_for_selector("text=Exact prompt")
        page.wait_for_selector("text=The random number")
        keep(page, "05-decision")

        page.goto(f"{home}run/{name}?step=1")
        page.click(at("fork-here"))
        page.wait_for_url("**/fork?**")
        page.click(at("change-kind"))
        page.click(".q-menu >> text=Announce")
        fill(page, "announce-text", "From today everybody wears green.")
        page.click(at("change-add"))
        page.wait_for_selector(at("change-0"))
        keep(page, "06-fork")
        page.click(at("fork-start"))
        page.wait_for_url("**/compare?**", timeout=LONG_MS)
        fork = next(each for each in Workspace(tmp_path).names() if each != name)
        page.wait_for_selector(f"{at(f'compared-{fork}')} >> text=complete", timeout=LONG_MS)
        page.wait_for_selector(f"{at(f'parting-{fork}')} >> text=From today everybody wears green.")
        keep(page, "07-compare")
    assert Workspace(tmp_path).open(fork).manifest.interventions[0].text == "From today everybody wears green."


def test_the_town_plays(tmp_path: Path, page: Any) -> None:
    run = simulate(Party(days=1, embedder="hashing"), model=resident(passes=1.0, talks=1.0), seed=1, workspace=tmp_path)
    with served(tmp_path) as (home, _):
        page.goto(f"{home}town/{run.name}?time=43200&speed=600")
        page.wait_for_selector("canvas")
        keep(page, "08-town")
        page.keyboard.press("Space")
        before = page.url
        page.wait_for_function("() => !location.search.includes('time=43200')")
        assert page.url != before
        page.keyboard.press("Space")
        page.goto(f"{home}town/{run.name}?time=72000&layer=news")
        page.wait_for_selector("canvas")
        keep(page, "09-town-news")
        page.goto(f"{home}town/{run.name}?time=72000&layer=heat")
        page.wait_for_selector("canvas")
        keep(page, "10-town-presence")


def test_what_if_on_a_post_and_five_scores(tmp_path: Path, page: Any) -> None:
    run = simulate(Forum(expand=False), model="scripted:uniform", seed=1, workspace=tmp_path)
    with served(tmp_path) as (home, _):
        page.goto(f"{home}forum/{run.name}")
        page.wait_for_selector("text=The Mending Bench")
        keep(page, "11-forum")
        page.goto(f"{home}forum/{run.name}?thread=1")
        keep(page, "12-thread")
        page.click(at("whatif-1"))
        page.click(f"{at('whatif-who')} >> text=words")
        fill(page, "whatif-words", "Let us stay with the clock.")
        page.click(at("whatif-start"))
        page.wait_for_url("**/whatif?**", timeout=LONG_MS)
        page.wait_for_selector("text=Let us stay with the clock.", timeout=LONG_MS)
        keep(page, "13-what-if")

        page.goto(f"{home}feedback?run={run.name}&kind=utterance")
        fill(page, "rater", "Ann")
        page.click(at("begin"))
        page.wait_for_selector(at("score-1"))
        keep(page, "14-feedback")
        for number in range(5):
            page.wait_for_selector(f"text={number} of")
            page.keyboard.press(str(number + 1))
        page.wait_for_selector("text=5 of")
    lines = (tmp_path / "feedback" / "Ann.jsonl").read_text().splitlines()
    assert len(lines) == 5
