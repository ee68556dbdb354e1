"""The day of `people_with_memories.py` with memories here and on a Ray cluster of two nodes: the journals are equal.

python benchmarks/memories_on_ray.py [people]      100,000 by default
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from contextlib import nullcontext

from measure import HERE, Result, peak_memory_gb, report
from people_with_memories import HOURS, Messages, answer

import populace as pc

sys.path.append(str(HERE.parent / "tests"))
from support.ray_cluster import RayCluster

PEOPLE, NODES = 100_000, 2


def day(people: int, place: str | None) -> tuple[str, float]:
    """The digest of the journal of a day, and its seconds."""
    with tempfile.TemporaryDirectory() as folder, pc.memories_on(place) if place else nullcontext():
        began = time.perf_counter()
        run = pc.simulate(Messages(people_count=people), model=pc.Scripted(answer), seed=1, workspace=folder)
        if run.statuses != {"ok": people * HOURS}:
            raise RuntimeError(str(run.statuses))
        return run.digest, time.perf_counter() - began


def main() -> None:
    if importlib.util.find_spec("ray") is None:
        print("  Ray is not installed: pip install 'populace[ray]'")
        return
    people = int(sys.argv[1]) if len(sys.argv) > 1 else PEOPLE
    with RayCluster(NODES, apart=False) as cluster:
        there, on_ray = day(people, f"{cluster.address}*{NODES}")
    memory = peak_memory_gb()
    here, in_process = day(people, None)
    if here != there:
        raise RuntimeError(f"the journals differ: {here} here, {there} on Ray")
    detail = (
        f"equal journals, digest {here[:12]}; {in_process:.0f} s with memories here; {memory:.1f} GB in this process"
    )
    what = f"a day of messages among {people:,}, memories on {NODES} nodes"
    report([Result(what, on_ray / 60, "minutes", 30, at_most=True, detail=detail)])


if __name__ == "__main__":
    main()
