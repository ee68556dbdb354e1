"""A run is killed at random moments, at fifty of them in an audit, and resumed; nothing that was paid for is paid for again."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from populace import Run, simulate
from populace.engine.step_commits import MANY_ROWS
from support.audit import size
from support.scenarios import Shirts

TESTS = Path(__file__).parents[1]
CONCURRENCY = 4
SCENARIO = Shirts(people_count=24, groups=24, days=5)
# Starting an interpreter takes a second, so one process starts all runs, each in a process forked from it. It has
# imported everything and started no thread.
STARTER = """
import os, signal, sys
from populace import simulate
from populace.engine import step_commits
from support.scenarios import Shirts
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
for line in sys.stdin:
    url, workspace, concurrency, many_rows = line.rstrip().split("\\t")
    child = os.fork()
    if child == 0:
        step_commits.MANY_ROWS = int(many_rows)
        scenario = Shirts(people_count=24, groups=24, days=5)
        simulate(scenario, model=url, seed=1, workspace=workspace, concurrency=int(concurrency))
        os._exit(0)
    print(child, flush=True)
"""


@dataclass
class Server:
    url: str
    log: Path

    def requests_since(self, since: int) -> list[str]:
        """The chat requests that were begun since an offset of the log, by the hash of their bodies."""
        lines = self.log.read_text()[since:].splitlines()
        return [line.split()[1] for line in lines if line.startswith("started")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    port, log = folder / "port", folder / "log"
    command = [sys.executable, str(TESTS / "support" / "fake_server.py"), "--port-file", str(port)]
    with subprocess.Popen([*command, "--log", str(log), "--latency", "0.01"]) as process:
        while not port.is_file() or not port.read_text().strip():
            time.sleep(0.01)
        yield Server(f"http://127.0.0.1:{port.read_text().strip()}/v1", log)
        process.kill()


@pytest.fixture(scope="module")
def uninterrupted(server: Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, float]:
    start = time.monotonic()
    place = tmp_path_factory.mktemp("uninterrupted")
    run = simulate(SCENARIO, model=server.url, seed=1, workspace=place, concurrency=CONCURRENCY)
    return run, time.monotonic() - start


@pytest.fixture(scope="module")
def starter() -> Iterator[subprocess.Popen[str]]:
    variables = os.environ | {"PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", STARTER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def killed_after(
    seconds: float, url: str, workspace: Path, starter: subprocess.Popen[str], *, many_rows: int = MANY_ROWS
) -> None:
    """Start the run in a process of its own, and kill it with -9 so many seconds after it began.

    With as many rows in a step, it is written while the next one begins.
    """
    assert starter.stdin is not None
    assert starter.stdout is not None
    starter.stdin.write(f"{url}\t{workspace}\t{CONCURRENCY}\t{many_rows}\n")
    starter.stdin.flush()
    process = int(starter.stdout.readline())
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
        while True:
            os.kill(process, 0)
            time.sleep(0.001)


def stored(workspace: Path) -> int:
    """How many replies are in the call store, read as another process would."""
    path = workspace / "calls.sqlite"
    if not path.is_file():
        return 0
    with sqlite3.connect(path) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return database.execute("SELECT count(*) FROM calls").fetchone()[0] if "calls" in tables else 0


@pytest.mark.slow
@pytest.mark.audit
@pytest.mark.xdist_group("kill")
@pytest.mark.parametrize("moment", range(size(10, 50)))
def test_a_run_that_is_killed_resumes_to_the_same_journal_and_asks_nothing_twice(
    moment: int,
    server: Server,
    uninterrupted: tuple[Run, float],
    starter: subprocess.Popen[str],
    tmp_path: Path,
) -> None:
    whole, seconds = uninterrupted
    offset = server.log.stat().st_size
    rows = 0 if moment % 2 else MANY_ROWS
    killed_after(random.Random(moment).uniform(0.0, seconds), server.url, tmp_path, starter, many_rows=rows)
    time.sleep(0.03)
    stored_calls, request_count = stored(tmp_path), len(server.requests_since(offset))
    folders = list((tmp_path / "runs").glob("*")) if (tmp_path / "runs").is_dir() else []
    if folders and (folders[0] / "manifest.json").is_file():
        resumed = Run.open(folders[0]).resume(concurrency=CONCURRENCY)
    else:
        resumed = simulate(SCENARIO, model=server.url, seed=1, workspace=tmp_path, concurrency=CONCURRENCY)
    assert resumed.digest == whole.digest
    counts = Counter(server.requests_since(offset))
    twice = sum(count - 1 for count in counts.values())
    in_flight = request_count - stored_calls
    assert max(counts.values()) <= 2
    assert twice <= in_flight <= CONCURRENCY
    assert len(counts) == whole.usage().calls
