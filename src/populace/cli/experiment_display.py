"""The progress of an experiment on a terminal."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.progress import Progress

from populace.base.formatting import duration, plural
from populace.cli.output import err
from populace.cli.progress import SECONDS_BETWEEN_LINES, new_bar
from populace.experiments import ExperimentObserver, ExperimentPlan


class ExperimentDisplay(ExperimentObserver):
    """Shows the progress of an experiment: a bar on a terminal, elsewhere a line now and then."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._done = self._failed = self._before = self._total = 0
        self._began = self._last_line = 0.0

    def on_start(self, experiment: ExperimentPlan, folder: Path, total: int, done: int) -> None:
        """Begin to show."""
        self._began = self._last_line = time.monotonic()
        self._done = self._before = done
        self._total = total
        if done:
            err.print_line(f"{done:,} of {plural(total, 'run')} done before")
        if err.is_terminal and done < total:
            self._bar = new_bar("runs", total=total, completed=done)
            self._bar.start()

    def on_cluster(self, nodes: int, workers: int, dashboard: str) -> None:
        """Say where the runs go."""
        where = f"dashboard {dashboard}" if dashboard else "no dashboard: it comes with pip install 'ray[default]'"
        err.print_line(f"on Ray: {plural(nodes, 'node')}, {plural(workers, 'worker')} · {where}")

    def on_progress(self, rows: Sequence[dict[str, Any]], total: int) -> None:
        """Show runs that ended."""
        self._done += len(rows)
        self._total = total
        self._failed += sum(row["status"] == "failed" for row in rows)
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done, total=total, state=self._state(now))
        elif now - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = now
            err.print_line(f"{self._done:,} of {plural(total, 'run')}  {self._state(now)}")

    def on_end(self) -> None:
        """Stop showing."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _state(self, now: float) -> str:
        new = self._done - self._before
        pace = new / max(now - self._began, 1e-6)
        parts = [f"{self._done:,} of {self._total:,}", f"{pace:,.1f}/s", f"{self._failed} failed"]
        if new:
            parts.append(f"{duration((self._total - self._done) / pace)} left")
        return " · ".join(parts)
