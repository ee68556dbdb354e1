"""Workers of a cluster whose nodes are threads of this process: what they send, and what becomes of a lost one."""

from __future__ import annotations

import io
import json
import tarfile
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from populace.base.errors import ClusterLostError, StorageError, UntrustedCodeError, WorkerLostError
from populace.broker import CallStore
from populace.cluster import ClusterAddress, Node
from populace.engine.workspace import Workspace
from populace.experiments import Experiment, ExperimentObserver, Results
from populace.experiments.cluster_worker import ClusterWorker
from populace.experiments.cluster_workers import ClusterWorkers
from populace.experiments.execution import Ending, ReplicateRounds
from populace.experiments.folder import ExperimentFolder
from populace.experiments.pool import WorkerPool
from support.scenarios import Shirts

SHIRTS: dict[str, Any] = {
    "name": "shirts",
    "scenario": Shirts,
    "factors": {"wording": ["Yesterday {blue} wore blue.", "It rains, and {blue} wore blue."]},
    "parameters": {"people_count": 3, "days": 2},
    "model": "scripted:support.models:varied",
    "replicates": 4,
    "outcomes": ["share_blue"],
    "keep": "calls",
}


class ThreadPart:
    """A part in a thread of this process."""

    def __init__(self, setup: bytes, node: str, answer: Callable[[str, bytes], bytes], living: set[str]) -> None:
        self.node, self._setup, self._answer, self._living = node, setup, answer, living
        self._thread = ThreadPoolExecutor(1)
        self._part: ClusterWorker | None = None

    def call(self, method: str, content: bytes = b"") -> Future[bytes]:
        return self._thread.submit(self._do, method, content)

    def ask(self, name: str, content: bytes = b"") -> bytes:
        if self.node not in self._living:
            raise WorkerLostError("a worker was lost.")
        return self._answer(name, content)

    tell = ask

    def _do(self, method: str, content: bytes) -> bytes:
        if self.node not in self._living:
            raise WorkerLostError("a worker was lost.")
        self._part = self._part or ClusterWorker(self._setup, self)
        result: bytes = getattr(self._part, method)(content)
        if self.node not in self._living:
            raise WorkerLostError("a worker was lost.")
        return result


class Threads:
    """A cluster of two nodes."""

    address = ClusterAddress("threads")
    dashboard = ""

    def __init__(self) -> None:
        self.nodes = [Node("a", "a", 1, 0), Node("b", "b", 1, 0)]
        self.living = {"a", "b"}
        # As in a real cluster, letters are answered one after the other.
        self._turn = threading.Lock()

    def start(self, target: str, setup: bytes, *, node: str, answer: Any, **_: Any) -> ThreadPart:
        def answer_alone(name: str, content: bytes) -> bytes:
            with self._turn:
                result: bytes = answer(name, content)
                return result

        return ThreadPart(setup, node, answer_alone, self.living)

    def living_nodes(self) -> list[Node]:
        return [node for node in self.nodes if node.id in self.living]

    def close(self) -> None:
        pass


def run(
    experiment: Experiment, workspace: Path, cluster: Threads, observer: ExperimentObserver
) -> tuple[Ending, Results]:
    place = Workspace(workspace)
    folder = ExperimentFolder.find_existing(experiment, place) or ExperimentFolder.make(
        experiment, experiment.arms(), place
    )
    keep = experiment.keep or "nothing"
    workers = ClusterWorkers(cluster, folder, workspace, keep)  # type: ignore[arg-type]
    pool = WorkerPool(folder, workspace, keep, workers)
    try:
        ending = ReplicateRounds(experiment, experiment.arms(), folder, pool, False, observer).to_the_end()
    finally:
        pool.close()
    folder.write(state=ending.state, reason=ending.reason, stop=ending.kind)
    return ending, Results(folder)


class Loss(ExperimentObserver):
    """Nodes are lost when some runs have ended."""

    def __init__(self, cluster: Threads, *nodes: str, after: int = 2) -> None:
        self.cluster, self.nodes, self.after, self.count = cluster, set(nodes), after, 0

    def on_progress(self, rows: Any, total: int) -> None:
        self.count += len(rows)
        if self.count >= self.after:
            self.cluster.living -= self.nodes


@pytest.fixture
def cluster() -> Threads:
    return Threads()


@pytest.mark.parametrize("changes", [{}, {"keep": "nothing"}, {"keep": "run"}, {"keep": "run", "fork_at": 2},
                                     {"stop": {"max_calls": 500}}])  # fmt: skip
def test_a_lost_node_changes_neither_the_table_nor_what_was_paid(
    cluster: Threads, tmp_path: Path, changes: dict[str, Any]
) -> None:
    def experiment() -> Experiment:
        return Experiment(**(SHIRTS | changes))

    here = experiment().run(workers=1, workspace=tmp_path / "here", check=False)
    ending, there = run(experiment(), tmp_path / "there", cluster, Loss(cluster, "b"))
    assert (ending, there.failures.height) == (Ending("complete", "4 replicates of 2 arms"), 0)
    assert there.digest == here.digest
    assert there.runs["run"].to_list() == here.runs["run"].to_list()
    if "keep" not in changes or changes["keep"] == "run":
        stores = [CallStore(tmp_path / place / "calls.sqlite") for place in ("here", "there")]
        # What was stored at the moment of the loss is paid, and may be missing in the row of the run that was lost.
        assert len(stores[0]) == len(stores[1]) >= there.runs["calls"].sum()
        for store in stores:
            store.close()
    if changes.get("keep") == "run":
        assert sorted(path.name for path in (there.folder.path / "runs").iterdir()) == sorted(
            path.name for path in (here.folder.path / "runs").iterdir()
        )


def test_a_budget_is_kept_over_all_workers_and_the_rest_is_done_later(cluster: Threads, tmp_path: Path) -> None:
    ending, stopped = run(Experiment(**(SHIRTS | {"stop": {"max_calls": 5}})), tmp_path, cluster, ExperimentObserver())
    assert (ending.state, ending.kind) == ("stopped", "budget")
    assert stopped.runs["calls"].sum() <= 5


def test_an_experiment_without_a_node_stops_and_goes_on_later(cluster: Threads, tmp_path: Path) -> None:
    experiment = Experiment(**SHIRTS)
    ending, stopped = run(experiment, tmp_path, cluster, Loss(cluster, "a", "b", after=1))
    assert (ending.state, ending.kind) == ("stopped", "service")
    assert "no node of the Ray cluster is left" in ending.reason
    assert 0 < stopped.runs.height < 8
    complete = experiment.run(workers=1, workspace=tmp_path)
    assert complete.digest == experiment.run(workers=1, workspace=tmp_path / "other").digest


def test_code_that_differs_on_a_node_is_not_imported(tmp_path: Path) -> None:
    experiment = Experiment(**SHIRTS)
    folder = ExperimentFolder.make(experiment, experiment.arms(), Workspace(tmp_path))
    setup = {"manifest": json.loads(folder.manifest.model_dump_json()), "name": "shirts", "keep": "calls"}
    with pytest.raises(UntrustedCodeError, match="not the code that was trusted"):
        ClusterWorker(json.dumps(setup | {"trusted": ["0" * 64]}).encode(), ThreadPart(b"", "a", lambda *_: b"", {"a"}))


def packed(*names: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, link
            archive.addfile(member, io.BytesIO())
    return content.getvalue()


@pytest.mark.parametrize(
    "sent",
    [
        packed("../escape"),
        packed("/etc/passwd"),
        packed("arm0-replicate0/x", "arm1-replicate0/x"),
        packed("arm0-replicate0/../../escape"),
        packed("arm0-replicate0/x", kind=tarfile.SYMTYPE, link="/etc/passwd"),
        packed("arm0-replicate0/x", kind=tarfile.LNKTYPE, link="../../manifest.json"),
        packed("arm0-replicate0/x", kind=tarfile.FIFOTYPE),
        packed("somewhere/x"),
        packed("arm0-replicate0/x", "arm0-replicate0/x/y"),
        packed("arm0-replicate0/x/y", "arm0-replicate0/x"),
        packed("arm0-replicate0"),
        packed(),
        b"no archive",
    ],
)
def test_what_a_worker_sends_as_a_run_and_is_none_is_not_unpacked(
    cluster: Threads, tmp_path: Path, sent: bytes
) -> None:
    experiment = Experiment(**SHIRTS)
    folder = ExperimentFolder.make(experiment, experiment.arms(), Workspace(tmp_path))
    workers = ClusterWorkers(cluster, folder, tmp_path, "run")  # type: ignore[arg-type]
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StorageError, match="no folder of a run"):
        workers.keep_run(sent)
    assert [path for path in sorted(tmp_path.rglob("*")) if path.is_file()] == [
        path for path in before if path.is_file()
    ]
    workers.close()


def test_a_loss_before_anything_began_is_said(tmp_path: Path) -> None:
    cluster = Threads()
    cluster.living.clear()
    experiment = Experiment(**SHIRTS)
    folder = ExperimentFolder.make(experiment, experiment.arms(), Workspace(tmp_path))
    with pytest.raises(ClusterLostError, match="no node"):
        ClusterWorkers(cluster, folder, tmp_path, "calls")  # type: ignore[arg-type]
