"""A worker on a node of a cluster: runs end there, and rows, spending, replies and kept runs go to the one folder.

Nothing is expected of the file system of the node: the worker has a folder of its own, which is removed with it.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from populace.base import trust
from populace.base.errors import UntrustedCodeError
from populace.broker import CallSettings
from populace.broker.remote_store import RemoteCallStore
from populace.cluster import Origin
from populace.engine.discovery import source_code
from populace.engine.workspace import Workspace, use_store
from populace.experiments.code import plan_code
from populace.experiments.folder import RunRow
from populace.experiments.spending import RunKey, Spending
from populace.experiments.worker import RunJob, Worker
from populace.models import model_traits

_SECONDS_BETWEEN_COUNTS = 0.25


class ClusterWorker:
    """Executes batches of runs, in one process on a node.

    Args:
        setup: Manifest of the experiment, what is kept, and the code that is trusted, as JSON.
        origin: Reaches the process that holds the experiment's folder.
    """

    def __init__(self, setup: bytes, origin: Origin) -> None:
        data = json.loads(setup)
        trust.allow(_trusted(data["manifest"]["experiment"], data["trusted"]))
        self._place = tempfile.TemporaryDirectory(prefix="populace-worker-")
        workspace = Workspace(self._place.name)
        self._folder = workspace.experiments / data["name"]
        self._folder.mkdir(parents=True)
        (self._folder / "manifest.json").write_text(json.dumps(data["manifest"]), encoding="utf-8")
        use_store(workspace.calls_file, RemoteCallStore(origin))
        self._stop = threading.Event()
        self._turn = threading.Lock()
        free = all(arm["decider"] == "rule" or model_traits(arm["model"]).scripted for arm in data["manifest"]["arms"])
        ledger = RemoteLedger(origin, free=free)
        self._worker = Worker(self._folder, workspace.folder, data["keep"], self._stop.is_set, ledger)

    def ready(self, content: bytes) -> bytes:
        """Say that it works, and in which process."""
        return str(os.getpid()).encode()

    def run(self, content: bytes) -> bytes:
        """Execute a batch; batches that wait for the worker are executed one after the other."""
        data = json.loads(content)
        jobs = [RunJob(job[0], tuple(job[1]), *job[2:]) for job in data["jobs"]]
        with self._turn:
            result = self._worker.run(jobs, CallSettings(**data["limits"]))
            shutil.rmtree(self._folder / "runs", ignore_errors=True)
        return json.dumps({"rows": result.rows, "stop": result.stop}).encode()

    def halt(self, content: bytes) -> bytes:
        """Let the run under way end at its next step."""
        self._stop.set()
        return b""


class RemoteLedger:
    """Sends what a worker would write into the folder of the experiment to the process that holds it.

    Args:
        origin: Reaches that process.
        free: Whether no run costs anything, so that what it spends need not be known at once.
    """

    def __init__(self, origin: Origin, *, free: bool) -> None:
        self._origin, self._free = origin, free
        self._key: RunKey = (0, 0)
        self._counted = 0.0

    def begin(self, key: RunKey) -> None:
        """Begin the record of what a run spends."""
        self._key = key

    def count(self, spending: Spending) -> None:
        """Record what the run under way has spent so far; where it costs something, before the run goes on."""
        content = json.dumps([self._key, spending]).encode()
        if not self._free:
            self._origin.ask("count", content)
        elif time.monotonic() - self._counted > _SECONDS_BETWEEN_COUNTS:
            self._counted = time.monotonic()
            self._origin.tell("count", content)

    def abandon(self) -> None:
        """Leave the record as it is."""
        self._origin.tell("abandon")

    def write(self, row: RunRow) -> None:
        """Send the row of a run that ended."""
        self._origin.tell("row", json.dumps(row).encode())

    def earlier_spending(self) -> dict[RunKey, Spending]:
        """What runs spent that have no row yet, or had to be begun again."""
        return {(arm, replicate): Spending(*spent) for arm, replicate, spent in json.loads(self._origin.ask("earlier"))}

    def keep(self, run: Path) -> None:
        """Send the folder of a run."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(run, run.name)
        self._origin.ask("keep", packed.getvalue())

    def flush(self) -> None:
        """Wait until the rows are on the disk of the process that holds the folder."""
        self._origin.ask("flush")

    def close(self) -> None:
        """Nothing to close."""


def trusted_code(experiment: dict[str, Any]) -> list[trust.Code]:
    """The code that the runs of an experiment import."""
    return list(dict.fromkeys([*source_code(experiment["scenario"]), *plan_code(experiment)]))


def _trusted(experiment: dict[str, Any], digests: list[str]) -> list[trust.Code]:
    """The code on this node, if it is what was trusted where the experiment was started."""
    codes = trusted_code(experiment)
    for code in codes:
        if code.digest not in digests:
            raise UntrustedCodeError(
                f"on a node of the cluster, {code.describe()}: that is not the code that was trusted.",
                "Put the same files at the same place on every node, or on a file system that they share.",
            )
    return codes
