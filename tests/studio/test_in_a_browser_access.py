"""In a real browser: every page can be read and used without a mouse, without eyes, and with weak eyes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from populace import simulate
from populace.experiments import Experiment
from populace.scenarios.forum import Forum
from populace.scenarios.norms import Norms
from populace.scenarios.party import Party
from support.audit import IN_FULL
from support.studies import studied
from support.studio import browsing, open_page, served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

SHOTS = Path(__file__).parents[2] / ".artefacts" / "studio" / "modes"
PROBLEMS = (Path(__file__).parents[1] / "support" / "access.js").read_text()
WALK = (Path(__file__).parents[1] / "support" / "keyboard.js").read_text()
FEW = ("new", "run-people", "fork", "judging")
"""The pages that are walked outside of an audit: those with the most kinds of controls."""
FOCUS = """() => {
  const focused = document.activeElement, style = getComputedStyle(focused);
  const parts = [focused, ...focused.querySelectorAll("*"), focused.parentElement, focused.closest(".q-field")].filter(Boolean);
  return parts.some(each => {
    const own = getComputedStyle(each), after = getComputedStyle(each, "::after"), before = getComputedStyle(each, "::before");
    return own.outlineStyle !== "none" && parseFloat(own.outlineWidth) > 0 || parseFloat(own.opacity) > 0 &&
      each.matches(".q-focus-helper, .q-field--focused, .q-field--highlighted");
  });
}"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("access")
    norms = simulate(Norms(workers=30, days=3), model="scripted:uniform", seed=2, workspace=folder)
    norms.fork(2, seed=9)
    town = Party(residents=8, days=1)
    simulate(town, decider="rule", seed=3, workspace=folder)
    simulate(Forum(expand=False), model="scripted:cast", seed=1, workspace=folder)
    plan: dict[str, Any] = {"name": "shirts", "question": "Do groups matter?", "scenario": "norms", "replicates": 2}
    plan |= {"factors": {"workers": [3, 4]}, "model": "scripted:uniform", "outcomes": ["share_blue"]}
    Experiment(**plan).run(workers=1, workspace=folder)
    studied(folder)
    broken = folder / "runs" / "broken"
    broken.mkdir()
    (broken / "manifest.json").write_text("{}")
    return folder


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with browsing() as page:
        page.set_default_timeout(60_000)
        yield page


@pytest.fixture(scope="module")
def home(workspace: Path) -> Iterator[str]:
    with served(workspace) as (address, _):
        yield address


def addresses(workspace: Path) -> dict[str, str]:
    """Every kind of page, with what it looks like when it is full."""
    runs = sorted(path.name for path in (workspace / "runs").iterdir())
    norms, fork, town, forum = (
        *[name for name in runs if name.startswith("norms")],
        next(name for name in runs if name.startswith("party")),
        next(name for name in runs if name.startswith("forum")),
    )
    experiment = next((workspace / "experiments").iterdir()).name
    return {
        "home": "",
        "new": "new?scenario=norms&model=scripted:uniform",
        **{f"run-{tab}": f"run/{norms}?tab={tab}" for tab in ("people", "answers", "usage", "settings", "metrics")},
        "run-events": f"run/{town}?tab=events&step=60",
        "person": f"run/{norms}/person/1",
        "resident": f"run/{town}/person/1",
        "decision": f"run/{norms}/decision?step=2&person=1",
        "fork": f"run/{norms}/fork?at=2",
        "compare": f"compare?runs={norms},{fork}",
        "experiment": f"experiment/{experiment}",
        "town": f"town/{town}?time=43200",
        "town-news": f"town/{town}?time=72000&layer=news",
        "town-heat": f"town/{town}?time=72000&layer=heat",
        "forum": f"forum/{forum}",
        "thread": f"forum/{forum}?thread=1",
        "what-if": f"forum/{forum}/whatif?post=1",
        "discern": "discern",
        "feedback": "feedback",
        "judging": f"feedback?run={norms}",
        "missing": "nowhere",
        "gone": "run/none",
    }


@pytest.mark.audit
def test_every_page_is_readable_in_light_and_in_dark(workspace: Path, home: str, page: Any) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    problems: dict[str, list[str]] = {}
    for name, address in addresses(workspace).items():
        for mode in ("light", "dark"):
            page.emulate_media(color_scheme=mode, reduced_motion="reduce")
            if mode == "light":
                open_page(page, home + address)
            page.wait_for_function(f"document.body.classList.contains('body--dark') === {str(mode == 'dark').lower()}")
            seen = page.evaluate(PROBLEMS)
            assert seen["texts"] > 5, name
            if seen["problems"]:
                problems[f"{name}, {mode}"] = seen["problems"]
            if IN_FULL:
                page.screenshot(path=SHOTS / f"{name}-{mode}.png", full_page=True)
    assert problems == {}, "\n".join(f"{name}: {each}" for name, found in problems.items() for each in found)


def test_a_table_is_sorted_and_a_page_is_walked_by_keyboard(workspace: Path, home: str, page: Any) -> None:
    norms = addresses(workspace)["run-people"]
    page.goto(home + norms)
    heading = page.locator("[data-testid=people] th", has_text="name")
    heading.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("new URLSearchParams(location.search).get('sort') === 'name'")
    assert heading.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    page.wait_for_function("new URLSearchParams(location.search).get('sort') === '-name'")
    slider = page.locator("[data-testid=slider]")
    before = slider.get_attribute("aria-valuetext")
    assert "step 3" in before
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("document.querySelector('[data-testid=slider]').ariaValueText.includes('step 2')")
    page.goto(home)
    page.wait_for_selector("main .panel")
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUS), page.evaluate("document.activeElement.outerHTML.slice(0, 300)")


@pytest.mark.audit
def test_every_control_of_every_page_is_reached_by_tab_and_shows_the_focus(
    workspace: Path, home: str, page: Any
) -> None:
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    problems = []
    for name, address in addresses(workspace).items():
        if not (IN_FULL or name in FEW):
            continue
        open_page(page, home + address)
        pressed, seen = 0, page.evaluate(WALK)
        # A page that is still being drawn gets more controls meanwhile, and may take the focus away once.
        while seen["missed"] and pressed < 2 * seen["count"] + 10:
            page.keyboard.press("Tab")
            pressed, seen = pressed + 1, page.evaluate(WALK)
        problems += [f"{name}: Tab does not reach {each}" for each in seen["missed"]]
        problems += [f"{name}: nothing shows that the focus is on {each}" for each in seen["blind"]]
    assert not problems, "\n".join(problems)
