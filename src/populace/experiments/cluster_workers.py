"""Workers on the nodes of a cluster that execute runs of an experiment."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
import shutil
import tarfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path, PurePosixPath
from typing import Any

from populace.base.errors import ClusterError, ClusterLostError, StorageError, WorkerLostError
from populace.broker import CallStore
from populace.broker.remote_store import serve_store
from populace.cluster import Cluster, Node, RemotePart
from populace.engine.workspace import Workspace
from populace.experiments.budget import Lease
from populace.experiments.cluster_worker import trusted_code
from populace.experiments.folder import ExperimentFolder, RowWriter
from populace.experiments.plan import Keep
from populace.experiments.spending import Spending, SpendingWriter, abandoned_spending
from populace.experiments.worker import BatchResult, EarlyStop, RunJob

_TARGET = "populace.experiments.cluster_worker:ClusterWorker"
_READY_S = 120.0
_END_S = 60.0
_RUN_NAME = re.compile(r"(arm\d+|history)-replicate\d+")


class _Place:
    """A worker on a node."""

    def __init__(self, part: RemotePart) -> None:
        self.part = part
        self.ready = part.call("ready")
        self.under_way: set[Future[bytes]] = set()

    @property
    def lost(self) -> bool:
        return self.ready.done() and self.ready.exception() is not None

    @property
    def at_work(self) -> bool:
        return self.ready.done() and self.ready.exception() is None


class ClusterWorkers:
    """Workers on a cluster, one for each processor, or one for each node.

    Args:
        cluster: The cluster; it is closed with the workers.
        folder: The experiment's folder.
        workspace: Where the call store is.
        keep: What is kept of a run.
        workers: How many workers at most; one for each processor by default.
        one_a_node: Whether a run uses all processors of a node.
    """

    shares_fate = False

    def __init__(
        self,
        cluster: Cluster,
        folder: ExperimentFolder,
        workspace: Path,
        keep: Keep,
        *,
        workers: int | None = None,
        one_a_node: bool = False,
    ) -> None:
        self._cluster, self._folder = cluster, folder
        self._most, self._one_a_node = workers, one_a_node
        self._store_file = Workspace(workspace)
        self._store: CallStore | None = None
        self._rows = RowWriter(folder.path)
        self._spending: list[SpendingWriter] = []
        trusted = [code.digest for code in trusted_code(folder.manifest.experiment)]
        manifest = json.loads(folder.manifest.model_dump_json())
        setup = {"manifest": manifest, "name": folder.path.name, "keep": keep, "trusted": trusted}
        self._setup = json.dumps(setup).encode()
        self._places: list[_Place] = []
        self._received = itertools.count()
        self._start(cluster.nodes)
        self._wait_for_one()

    @property
    def workers(self) -> int:
        """How many workers are at work."""
        return max(1, sum(place.at_work for place in self._places))

    @property
    def planned(self) -> int:
        """How many workers there will be once all of them have started."""
        return sum(not place.lost for place in self._places)

    def submit(self, batch: Sequence[RunJob], lease: Lease) -> Future[bytes]:
        """Begin to execute a batch on the worker with the least to do."""
        data = {"jobs": [tuple(job) for job in batch], "limits": lease.limits.model_dump(exclude_defaults=True)}
        self._wait_for_one()
        place = min((each for each in self._places if each.at_work), key=lambda each: len(each.under_way))
        future = place.part.call("run", json.dumps(data).encode())
        place.under_way.add(future)
        return future

    def result(self, future: Future[bytes]) -> BatchResult:
        """What became of a batch."""
        place = next(each for each in self._places if future in each.under_way)
        place.under_way.discard(future)
        try:
            data = json.loads(future.result())
        except WorkerLostError:
            self._lose(place)
            raise
        return BatchResult(data["rows"], data["stop"] and EarlyStop(*data["stop"]))

    def restore(self) -> None:
        """Start workers where there are fewer than there could be."""
        self._start(self._cluster.living_nodes())
        self._wait_for_one()

    def halt(self) -> None:
        """Let the runs under way end at their next step."""
        with contextlib.suppress(ClusterLostError):
            for place in self._places:
                place.part.call("halt")

    def close(self) -> None:
        """Wait for runs that were halted, and end the workers and the connection."""
        under_way = [future for place in self._places for future in place.under_way]
        if under_way:
            self.halt()
            wait(under_way, timeout=_END_S)
        self._cluster.close()
        self._rows.close()
        for spending in self._spending:
            spending.close()
        if self._store is not None:
            self._store.close()

    def _lose(self, place: _Place) -> None:
        """Count a worker as lost; its other batches end in the same way."""
        if not place.lost:
            place.ready = Future()
            place.ready.set_exception(WorkerLostError("a worker was lost."))

    def _start(self, nodes: Sequence[Node]) -> None:
        """Start workers on these nodes until each has as many as it has processors."""
        have = Counter(place.part.node for place in self._places if not place.lost)
        room = {node.id: (1 if self._one_a_node else node.cpus) - have[node.id] for node in nodes if node.cpus > 0}
        cpus = {node.id: node.cpus if self._one_a_node else 1 for node in nodes}
        # Round after round over the nodes, so that a few workers are spread over all of them.
        rounds = [
            [node for node, places in room.items() if places > turn] for turn in range(max(room.values(), default=0))
        ]
        wanted = [node for each in rounds for node in each]
        if self._most is not None:
            wanted = wanted[: max(0, self._most - have.total())]
        for node in wanted:
            spending = SpendingWriter(self._folder.path)
            self._spending.append(spending)
            part = self._cluster.start(_TARGET, self._setup, cpus=cpus[node], node=node, answer=_Clerk(self, spending))
            self._places.append(_Place(part))

    def _wait_for_one(self) -> None:
        """Wait until a worker is at work; an error that is not a loss is raised at once."""
        while True:
            waiting = [place.ready for place in self._places if not place.ready.done()]
            for place in self._places:
                error = place.ready.exception() if place.ready.done() else None
                if error is not None and not isinstance(error, WorkerLostError):
                    raise error
            if any(place.at_work for place in self._places):
                return
            if not waiting:
                raise ClusterLostError("no node of the Ray cluster is left on which a run could go on.")
            if not wait(waiting, _READY_S, FIRST_COMPLETED).done:
                raise ClusterError(
                    f"no processor of {self._cluster.address.text} became free in {_READY_S:.0f} seconds.",
                    "`ray status` shows who uses it.",
                )

    def store(self) -> CallStore:
        """The call store of the workspace, opened on first use."""
        if self._store is None:
            self._store = self._store_file.store()
        return self._store

    def keep_run(self, packed: bytes) -> None:
        """Put the folder of a run that a worker sent into its place."""
        place = self._folder.path / "scratch" / f"received-{next(self._received)}"
        try:
            # Uncompressed only: what arrives takes as much room as it took on the way.
            with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as archive:
                name = _run_name(archive.getmembers())
                _unpack(archive, place)
        except (tarfile.TarError, FileExistsError, IsADirectoryError, NotADirectoryError, ValueError) as error:
            shutil.rmtree(place, ignore_errors=True)
            raise StorageError(f"a worker sent something that is no folder of a run: {error}.") from error
        target = self._folder.path / "runs" / name
        target.parent.mkdir(exist_ok=True)
        if target.exists():
            # The folder of an attempt that was lost before its row arrived.
            shutil.rmtree(target)
        (place / name).rename(target)
        place.rmdir()

    def write_row(self, row: dict[str, Any]) -> None:
        """Write the row of a run that ended."""
        self._rows.write(row)

    def flush(self) -> None:
        """Wait until the rows are on the disk."""
        self._rows.flush()

    def earlier(self) -> list[tuple[int, int, Spending]]:
        """What runs spent that have no row yet, or had to be begun again."""
        return [(*key, spending) for key, spending in abandoned_spending(self._folder.path).items()]


def _run_name(members: Sequence[tarfile.TarInfo]) -> str:
    """The name of the run whose plain files and folders these are; TarError where they are something else."""
    names = {PurePosixPath(member.name).parts[:1] for member in members}
    name = "".join(next(iter(names), ()))
    plain = all(
        (member.isdir() or (member.isfile() and "/" in member.name)) and ".." not in member.name.split("/")
        for member in members
    )
    if len(names) != 1 or not _RUN_NAME.fullmatch(name) or not plain:
        raise tarfile.TarError("it holds other things")
    return name


def _unpack(archive: tarfile.TarFile, place: Path) -> None:
    """Write the files of an archive that `_run_name` has looked at; rights and owners in it do not count.

    Not `extractall`: the Python 3.11 of Debian 12 cannot be asked to leave those out.
    """
    place.mkdir(parents=True)
    for member in archive.getmembers():
        path = place / member.name
        content = archive.extractfile(member)
        (path if content is None else path.parent).mkdir(parents=True, exist_ok=True)
        if content is not None:
            path.write_bytes(content.read())


class _Clerk:
    """Answers the letters of one worker."""

    def __init__(self, workers: ClusterWorkers, spending: SpendingWriter) -> None:
        self._workers, self._spending = workers, spending

    def __call__(self, name: str, content: bytes) -> bytes:
        if name.startswith("store."):
            return serve_store(self._workers.store(), name.removeprefix("store."), content)
        answer: bytes = getattr(self, f"_{name}")(content) or b""
        return answer

    def _count(self, content: bytes) -> None:
        key, spent = json.loads(content)
        self._spending.begin(tuple(key))
        self._spending.count(Spending(*spent))

    def _abandon(self, content: bytes) -> None:
        self._spending.abandon()

    def _row(self, content: bytes) -> None:
        row = json.loads(content)
        self._workers.write_row(row)
        if row["status"] == "complete":
            self._spending.settle()
        else:
            self._spending.abandon()

    def _earlier(self, content: bytes) -> bytes:
        return json.dumps(self._workers.earlier()).encode()

    def _keep(self, content: bytes) -> None:
        self._workers.keep_run(content)

    def _flush(self, content: bytes) -> None:
        self._workers.flush()
