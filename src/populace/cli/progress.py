"""Progress in the terminal: of runs, and of files that are fetched."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from populace.base.foreign import for_terminal
from populace.base.formatting import duration, percent, plural
from populace.broker import money_text
from populace.cli.output import Terminal, err
from populace.engine.observer import Observer
from populace.engine.scenario import Scenario
from populace.engine.simulation import Simulation
from populace.journal import Journal
from populace.models import Artifact, HubFile, model_traits
from populace.models.adapter_names import check_adapter
from populace.models.artifacts import fetch_together
from populace.runs.reader import invalid_share

SECONDS_BETWEEN_LINES = 10.0
"""How often progress is a line where there is no terminal."""
FEW_STEPS = 20
"""A run with at most so many steps prints a line for each of them."""


def new_bar(description: str, console: Terminal = err, *, total: int | None = None, completed: int = 0) -> Progress:
    """A bar with one task, its state in words and the time so far; it is gone at the end."""
    before, after = (TextColumn(part, markup=False) for part in ("{task.description}", "{task.fields[state]}"))
    columns = (before, BarColumn(bar_width=28), after)
    bar = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
    bar.add_task(description, total=total, completed=completed, state="")
    return bar


class PhaseDisplay:
    """Shows what is being done, and for how long, on a terminal; elsewhere nothing is shown.

    Args:
        console: Where it is shown.
    """

    def __init__(self, console: Terminal = err) -> None:
        self._bar = new_bar("", console) if console.is_terminal else None

    def __enter__(self) -> PhaseDisplay:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, phase: str) -> None:
        """Show what is done next."""
        if self._bar is not None:
            self._bar.reset(self._bar.task_ids[0], description=for_terminal(phase))

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take it away for as long as something else is printed."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()


class RunDisplay(Observer):
    """Shows the progress of a run: a bar on a terminal, elsewhere a line now and then.

    It shows steps, calls a second, the share of requests that cost nothing, the share of invalid
    answers, the cost where there is one, and the time left.
    """

    def __init__(self, console: Terminal = err) -> None:
        self._console = console
        self._bar: Progress | None = None
        self._live: Live | None = None
        self._began = self._first_step = time.monotonic()
        self._last_line = 0.0
        self._last_hour: datetime | None = None
        self._planned = 0
        self._replayed = 0
        self.journal: Journal | None = None
        """The journal of the run, once it began: a command that stops says how to go on with it."""

    def on_start(self, simulation: Simulation) -> None:
        """Begin to show."""
        self.journal = simulation.record if isinstance(simulation.record, Journal) else None
        self._began = self._first_step = self._last_line = time.monotonic()
        if self._console.is_terminal:
            self._bar = new_bar("setting up", self._console)
            self._live = Live(self._bar, console=self._console, transient=True)
            self._live.start()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the bar away for as long as something else is shown."""
        live = self._live
        if live is not None:
            live.stop()
        try:
            yield
        finally:
            if live is not None and live is self._live:
                live.start()

    def on_step(self, simulation: Simulation) -> None:
        """Show a step."""
        if simulation.replaying:
            self._replayed = simulation.step
            self._first_step = time.monotonic()
        self._show(simulation)
        if self._live is not None and self._bar is not None:
            lines = simulation.scenario.view()
            self._live.update(Group(self._bar, Text(for_terminal("\n".join(lines)))) if lines else self._bar)

    def on_replies(self, simulation: Simulation) -> None:
        """Show replies."""
        self._show(simulation, between=True)

    def on_end(self, simulation: Simulation) -> None:
        """Stop showing."""
        if self._live is not None:
            self._live.stop()
            self._live = self._bar = None

    def _show(self, simulation: Simulation, *, between: bool = False) -> None:
        where = self._where(simulation)
        if self._bar is not None:
            done = simulation.step + self._share_of_step(simulation) if between else simulation.step
            self._bar.update(
                self._bar.task_ids[0],
                description=where,
                total=simulation.planned,
                completed=done,
                state=self._state(simulation),
            )
            return
        now = time.monotonic()
        is_due = now - self._last_line > SECONDS_BETWEEN_LINES
        if not between:
            few = simulation.planned is not None and simulation.planned <= FEW_STEPS
            is_due = few or (self._is_new_hour(simulation) if self._has_hours(simulation) else is_due)
        state = self._state(simulation)
        if is_due and state:
            self._last_line = now
            self._console.print_line(f"{where}  {state}")

    def _where(self, simulation: Simulation) -> str:
        """The step, how many there will be, and the simulated time where many steps make an hour."""
        number = simulation.step_under_way
        where = f"replaying {number}" if simulation.replaying else f"step {number}" if number else "setting up"
        if simulation.planned and number:
            # A scenario with a rule to stop says only how many steps there can be at most, and that may fall.
            most = "at most " if type(simulation.scenario).stop is not Scenario.stop else ""
            self._planned = min(self._planned or simulation.planned, simulation.planned) if most else simulation.planned
            where += f" of {most}{max(self._planned, number)}"
        return f"{where} · {simulation.scenario.now:%H:%M}" if number and self._has_hours(simulation) else where

    def _has_hours(self, simulation: Simulation) -> bool:
        """Whether progress is shown hour by hour: a long run with several steps in an hour of simulated time."""
        return simulation.scenario.tick < timedelta(hours=1) and (simulation.planned or 0) > FEW_STEPS

    def _is_new_hour(self, simulation: Simulation) -> bool:
        hour = simulation.scenario.now.replace(minute=0, second=0)
        is_new, self._last_hour = hour != self._last_hour, hour
        return is_new

    def _state(self, simulation: Simulation) -> str:
        usage = simulation.broker.usage
        seconds = max(time.monotonic() - self._began, 1e-6)
        parts = []
        if usage.calls:
            parts.append(f"{plural(usage.calls, 'call')}, {usage.calls / seconds:,.1f}/s")
        if usage.reused:
            parts.append(f"{percent(usage.reused_share)} reused")
        if usage.cost:
            parts.append(f"cost {money_text(usage.cost)}")
        if simulation.statuses.total():
            parts.append(f"{percent(invalid_share(simulation.statuses))} invalid")
        left = self._seconds_left(simulation)
        if left is not None:
            parts.append(f"{duration(left)} left")
        return " · ".join(parts)

    def _share_of_step(self, simulation: Simulation) -> float:
        """How far the step is, by the calls under way; a guess, for the bar only."""
        done, waiting = simulation.calls_in_step, simulation.broker.under_way
        return done / (done + waiting) if done + waiting else 0.0

    def _seconds_left(self, simulation: Simulation) -> float | None:
        steps = simulation.step - self._replayed
        if not simulation.planned or steps < 1:
            return None
        pace = (time.monotonic() - self._first_step) / (steps + self._share_of_step(simulation))
        return pace * max(0.0, simulation.planned - simulation.step - self._share_of_step(simulation))


def fetch_missing_models(*models: str) -> None:
    """Fetch the files that models need, where they are not in the cache; the empty name needs none.

    Nothing is fetched if an adapter that one of them names is not there.
    """
    all_traits = [model_traits(model) for model in dict.fromkeys(filter(None, models))]
    for traits in all_traits:
        check_adapter(traits.adapter)
    for traits in all_traits:
        fetch_artifacts(*([traits.artifact] if traits.artifact else []))
        for file in (traits.hub_file, traits.adapter_file):
            if file is not None and not file.present():
                fetch_hub_file(file)


def fetch_artifacts(*artifacts: Artifact) -> None:
    """Fetch files that are not in the cache yet, those of one source together, with a progress bar."""
    missing = [artifact for artifact in artifacts if not artifact.present()]
    if not missing:
        return
    with _download_bar(missing[0].name) as progress:
        paths = fetch_together(missing, progress)
    for artifact, path in zip(missing, paths, strict=True):
        err.print_line(f"fetched and verified {artifact.name}: {path}")


def fetch_hub_file(file: HubFile, *, refresh: bool = False) -> None:
    """Fetch a file of the Hugging Face hub with a progress bar."""
    with _download_bar(file.name) as progress:
        path = file.fetch(progress, refresh=refresh)
    err.print_line(f"fetched and verified {file.name}: {path}")


@contextmanager
def _download_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    columns = (TextColumn("fetching {task.description}", markup=False), BarColumn(bar_width=28), DownloadColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
