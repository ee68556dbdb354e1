"""A hundred thousand people, every prompt different, with call store and journal."""

from __future__ import annotations

import tempfile

from measure import Result, Steps, peak_memory_gb, report

from populace import Scripted, simulate
from populace.models import Reply, Request
from populace.scenarios.norms import Norms

PEOPLE = 100_000
REPLY = Reply("blue", (("blue", -0.6), ("green", -0.8)), "length", 100, 1)


def answer(request: Request) -> Reply:
    return REPLY


def main() -> None:
    observer = Steps()
    with tempfile.TemporaryDirectory() as folder:
        scenario = Norms(workers=PEOPLE, days=5, personas="none")
        run = simulate(scenario, model=Scripted(answer), seed=1, workspace=folder, observer=observer)
        calls = run.usage().calls
        store = (run.folder.parent.parent / "calls.sqlite").stat().st_size / 1e6
    rates = [PEOPLE / seconds for seconds in observer.seconds]
    report(
        [
            Result("all prompts distinct: decisions a second", max(rates), "decisions/s", 120_000,
                   detail=f"best of {len(rates)} steps (mean {sum(rates) / len(rates):,.0f}), {calls:,} calls"),
            Result("all prompts distinct: peak memory", peak_memory_gb(), "GB", detail=f"call store {store:.0f} MB"),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
