"""One million people, norms, scripted distributions, the journal written."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping

from measure import Result, Steps, peak_memory_gb, report

from populace import Scripted, simulate
from populace.models import Request
from populace.scenarios.norms import Norms

PEOPLE = 1_000_000


def follow(request: Request) -> Mapping[str, float]:
    """Whoever is told that more wore blue leans to blue."""
    return {"blue": 0.55, "green": 0.45} if "conformist" in request.messages[0][1] else {"blue": 0.5, "green": 0.5}


def main() -> None:
    observer = Steps()
    with tempfile.TemporaryDirectory() as folder:
        scenario = Norms(workers=PEOPLE, days=6, names=False)
        run = simulate(scenario, model=Scripted(follow), seed=1, workspace=folder, observer=observer)
        prompts = run.usage().calls
        size = sum(path.stat().st_size for path in run.folder.rglob("*") if path.is_file()) / 1e6
    mean = sum(observer.seconds) / len(observer.seconds)
    report(
        [
            Result("a million people: decisions a second", PEOPLE / mean, "decisions/s", 8_000_000,
                   detail=f"mean of {len(observer.seconds)} steps, {prompts} distinct prompts, journal {size:.0f} MB"),
            Result("a million people: peak memory", peak_memory_gb(), "GB", 1.5, at_most=True),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
