from __future__ import annotations

import io
import re

import pytest

from populace import simulate
from populace.cli import progress
from populace.cli.output import Terminal
from populace.cli.progress import PhaseDisplay, RunDisplay
from populace.scenarios.forum import Forum
from populace.scenarios.party import Party


def lines_of(scenario: object, model: str = "scripted:cast", **settings: object) -> list[str]:
    text = io.StringIO()
    display = RunDisplay(Terminal(file=text, width=200))
    simulate(scenario, model=model, seed=4, keep="nothing", observer=display, **settings)  # type: ignore[arg-type]
    return text.getvalue().splitlines()


def test_the_steps_of_a_forum_are_shown_in_order_and_their_bound_never_rises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1.0)
    lines = lines_of(Forum())
    assert lines[0].startswith("setting up")
    steps = [int(match[1]) for line in lines if (match := re.match(r"step (\d+) of at most", line))]
    bounds = [int(match[1]) for line in lines if (match := re.search(r"at most (\d+)", line))]
    assert steps == sorted(steps)
    assert steps[0] == 1
    assert bounds == sorted(bounds, reverse=True)


def test_a_long_run_prints_a_line_for_each_simulated_hour() -> None:
    lines = lines_of(Party(days=1), decider="rule")
    assert 15 <= len(lines) <= 21
    hours = [re.search(r"· (\d\d):00 ", line)[1] for line in lines if line.startswith("step")]  # type: ignore[index]
    assert hours == [f"{hour % 24:02d}" for hour in range(6, 25)]


def test_a_phase_is_shown_on_a_terminal_alone_and_makes_way_for_what_is_printed() -> None:
    screen, file = io.StringIO(), io.StringIO()
    with PhaseDisplay(Terminal(file=screen, width=80, force_terminal=True)) as display:
        display.show("seed 1: training")
        with display.hidden():
            assert screen.getvalue().endswith("\x1b[2K"), "the line is empty"
        display.show("seed 2: training")
    assert "seed 1: training" in screen.getvalue() and "seed 2: training" in screen.getvalue()
    with PhaseDisplay(Terminal(file=file, width=80)) as display:
        display.show("seed 1: training")
        with display.hidden():
            pass
    assert file.getvalue() == ""
