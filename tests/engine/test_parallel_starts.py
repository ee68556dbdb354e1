"""Rounds of eight simultaneous starts of the same run, fifty in an audit: none fails, and each has a folder of its own."""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from populace import open_run, simulate
from populace.journal import Journal, verify_journal
from populace.scenarios.norms import Norms
from support.audit import size
from support.starts import start_rounds

ROUNDS, STARTS = size(8, 50), 8


@pytest.mark.audit
def test_rounds_of_eight_simultaneous_starts_of_the_same_run_have_no_failure(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["support.starts"])
    barrier, outcomes = context.Barrier(STARTS), context.Queue()
    arguments = (str(tmp_path), ROUNDS, barrier, outcomes)
    processes = [context.Process(target=start_rounds, args=arguments) for _ in range(STARTS)]
    for process in processes:
        process.start()
    results = [outcomes.get(timeout=120) for _ in range(ROUNDS * STARTS)]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    names: dict[int, set[str]] = defaultdict(set)
    for number, name, digest in results:
        assert name, digest
        names[number].add(name)
    assert {len(each) for each in names.values()} == {STARTS}
    assert len({(number % 2, digest) for number, _, digest in results}) == 2
    for number in (0, ROUNDS - 1):
        folders = sorted((tmp_path / str(number) / "runs").iterdir())
        assert {folder.name for folder in folders} == names[number]
        assert all(verify_journal(Journal(folder)) for folder in folders)


def test_threads_of_one_process_start_the_same_run_at_once(tmp_path: Path) -> None:
    def start(_: int) -> str:
        return simulate(Norms(workers=2, days=1), decider="rule", seed=1, workspace=tmp_path).name

    with ThreadPoolExecutor(STARTS) as pool:
        names = list(pool.map(start, range(STARTS * 4)))
    assert len(set(names)) == STARTS * 4
    assert open_run(names[0], tmp_path).manifest.run == names[0]
