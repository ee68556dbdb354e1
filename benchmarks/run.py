"""Run every benchmark in a process of its own and print what was seen beside its bar.

    python benchmarks/run.py [name ...]      all by default

The exit code is 1 where a bar was missed. Machines are noisy: whatever can be a ratio is measured side by side.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import HERE, RESULTS, Result, machine

NAMES = (
    "startup",
    "small_runs",
    "million",
    "distinct",
    "demand",
    "served",
    "embedded",
    "survey",
    "growth",
    "memory",
    "people_with_memories",
    "memories_on_ray",
    "town_world",
    "town",
    "studio_town",
    "forum",
    "experiments",
    "ray_cluster",
    "studio",
)


def main() -> int:
    wanted = sys.argv[1:] or NAMES
    unknown = [name for name in wanted if name not in NAMES]
    if unknown:
        print(f"there is no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    print(f"Populace benchmarks on {machine()}\n")
    found: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "results.jsonl"
        for name in wanted:
            print(f"{name}", flush=True)
            variables = os.environ | {"POPULACE_BENCHMARK_RESULTS": str(target)}
            done = subprocess.run([sys.executable, str(HERE / f"{name}.py")], env=variables)
            if done.returncode:
                print(f"  {name} broke off with exit code {done.returncode}")
                return 1
        found = [Result(**json.loads(line)) for line in target.read_text().splitlines()]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "results.json").write_text(json.dumps([result.__dict__ for result in found], indent=2) + "\n")
    missed = [result.what for result in found if result.holds is False]
    print(f"\n{len(missed)} bars missed: {'; '.join(missed)}" if missed else "\nEvery bar holds.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
