"""How the time of a step grows with people, and whether it grows with the number of the step."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from measure import MEMORY, RESULTS, Result, Steps, report

from populace import simulate
from populace.scenarios.norms import Norms

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
STEPS = 1_000
REPEAT = 3


def steps(people: int, days: int, place: str | None = None) -> Steps:
    observer = Steps()
    with tempfile.TemporaryDirectory(dir=place) as folder:
        scenario = Norms(workers=people, days=days, names=False)
        simulate(scenario, model="scripted:uniform", seed=1, workspace=folder, observer=observer)
    return observer


def early_and_late(times: list[float]) -> tuple[float, float]:
    """The usual time of a step near the beginning and near the end, in milliseconds."""
    return float(np.median(times[10:210])) * 1e3, float(np.median(times[-200:])) * 1e3


def changes(pairs: list[tuple[float, float]]) -> str:
    return ", ".join(f"{early:.2f} to {late:.2f} ms" for early, late in pairs)


def draw(by_people: list[float], by_step: list[float]) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.loglog(SIZES, by_people, "o-", color="#0072B2", label="seen")
    left.loglog(SIZES, [by_people[-1] * n / SIZES[-1] for n in SIZES], "--", color="#D55E00", label="proportional")
    left.set(xlabel="people", ylabel="seconds a step", title="Time a step against people")
    left.legend()
    right.plot(range(1, len(by_step) + 1), np.array(by_step) * 1e3, ".", markersize=2, color="#0072B2")
    right.set(xlabel="step", ylabel="milliseconds", title="Processor time of a step against its number (1,000 people)")
    right.set_ylim(0, np.quantile(by_step, 0.99) * 1e3 * 1.5)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "growth.png"
    figure.savefig(path, dpi=150)
    return path


def main() -> None:
    by_people = [min(steps(people, 4).seconds) for people in SIZES]
    long_runs = [steps(1_000, STEPS, MEMORY) for _ in range(REPEAT)]
    on_disk = early_and_late(steps(1_000, STEPS).processor_seconds)
    large = np.array(SIZES) >= 100_000
    slope = float(np.polyfit(np.log(np.array(SIZES)[large]), np.log(np.array(by_people)[large]), 1)[0])
    processor = [early_and_late(run.processor_seconds) for run in long_runs]
    clock = [early_and_late(run.seconds) for run in long_runs]
    place = "memory" if MEMORY else "the temporary folder"
    path = draw(by_people, long_runs[0].processor_seconds)
    report(
        [
            Result("growth with people: exponent from 10⁵ to 10⁶", slope, "", 1.1, at_most=True,
                   detail=", ".join(f"{n:,}: {s * 1e3:.1f} ms" for n, s in zip(SIZES, by_people, strict=True))),
            Result("growth with steps: last 200 beside steps 10 to 210",
                   float(np.median([late / early for early, late in processor])), "times", 1.2, at_most=True,
                   detail=f"processor time, median of {REPEAT}, files in {place}: "
                   f"{changes(processor)}; by the clock {changes(clock)}; in the temporary folder, where files that "
                   f"others deleted count too, {changes([on_disk])}; plot {path.name}"),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
