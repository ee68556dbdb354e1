"""Simulated times in words."""

from datetime import datetime

from populace.runs.reader import RunReader


def step_time(run: RunReader, step: int) -> str:
    """A step with the simulated time after it.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> step_time(simulate(Norms(workers=3, days=1), decider="rule", keep="nothing"), 1)
        'step 1 · Tue 6 Jan 2026, 08:00'
    """
    return f"step {step} · {time_text(run.record.facts(step)['now'])}"


def time_text(iso: str) -> str:
    """A simulated time in words; midnight is a day.

    Example:
        >>> time_text("2024-01-01T09:30:00")
        'Mon 1 Jan 2024, 09:30'
    """
    time = datetime.fromisoformat(iso)
    day = f"{time:%a} {time.day} {time:%b %Y}"
    return day if (time.hour, time.minute) == (0, 0) else f"{day}, {time:%H:%M}"
