"""Experiments, models and minds on a real Ray cluster of two and three nodes on this machine."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from populace import Run, memories_on, simulate
from populace.base.errors import ClusterError, ClusterLostError, InterruptedRunError, UsageError
from populace.broker import CallStore
from populace.engine.observer import Observer
from populace.engine.simulation import Simulation
from populace.experiments import Experiment, ExperimentObserver, ExperimentPlan, Results
from populace.scenarios.party import Party
from support.audit import IN_FULL
from support.ray_cluster import RayCluster
from support.scenarios import Shirts

pytestmark = pytest.mark.xdist_group("ray")  # One cluster for all of them.
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
in_full = pytest.mark.skipif(not IN_FULL, reason="takes minutes: `make audit` runs it")

SHIRTS: dict[str, Any] = {
    "name": "shirts",
    "scenario": Shirts,
    "factors": {"wording": ["Yesterday {blue} wore blue.", "It rains, and {blue} wore blue."]},
    "parameters": {"people_count": 3, "days": 2},
    "model": "scripted:support.models:unhurried",
    "replicates": 8,
    "outcomes": ["share_blue", "answers(blue)"],
    "keep": "calls",
}


def shirts(**changes: Any) -> Experiment:
    return Experiment(**(SHIRTS | changes))


class Disturbance(ExperimentObserver):
    """Does something once, after some runs have ended."""

    def __init__(self, disturb: Callable[[], None], after: int = 3) -> None:
        self.disturb, self.after, self.count = disturb, after, 0
        self.cluster: tuple[int, int, str] | None = None

    def on_cluster(self, nodes: int, workers: int, dashboard: str) -> None:
        self.cluster = (nodes, workers, dashboard)

    def on_progress(self, rows: Sequence[dict[str, Any]], total: int) -> None:
        before, self.count = self.count, self.count + len(rows)
        if before < self.after <= self.count:
            self.disturb()


def table(results: Results) -> str:
    return results.runs.drop("calls", "reused", "tokens").write_json()


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with RayCluster(2) as started:
        yield started


@needs_ray
def test_a_node_is_killed_and_the_table_is_that_of_this_process_and_every_call_is_paid_once(
    cluster: RayCluster, tmp_path: Path
) -> None:
    here = shirts().run(workers=1, workspace=tmp_path / "here")
    observer = Disturbance(cluster.kill_node)
    there = shirts().run(on=cluster.address, workspace=tmp_path / "there", observer=observer)
    assert observer.cluster == (2, 2, "")
    assert (there.state, there.failures.height) == ("complete", 0)
    assert (there.digest, table(there)) == (here.digest, table(here))
    calls = [CallStore(tmp_path / place / "calls.sqlite") for place in ("here", "there")]
    assert len(calls[0]) == len(calls[1])
    for store in calls:
        store.close()


@needs_ray
def test_a_model_on_two_nodes_answers_like_the_model_here_and_one_copy_may_be_lost(
    cluster: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    cluster.add_node()
    parameters: dict[str, Any] = {"people_count": 40, "groups": 40, "days": 2}
    mortal = tmp_path / "mortal"
    monkeypatch.setenv("POPULACE_TEST_DEATH", str(mortal))
    here, there = (
        simulate(Shirts(**parameters), model=model, seed=5, workspace=tmp_path / name)
        for name, model in (
            ("here", "scripted:support.models:mortal"),
            ("there", "ray:scripted:support.models:mortal*2"),
        )
    )
    assert mortal.exists()
    assert there.answers().equals(here.answers())
    assert there.usage().calls == here.usage().calls
    assert list(there.manifest.models.values()) == list(here.manifest.models.values())


def tables(run: Run) -> dict[str, bytes]:
    """Everything that the steps of a run recorded, byte for byte."""
    return {str(file.relative_to(run.folder)): file.read_bytes() for file in sorted(run.folder.glob("steps/**/*.*"))}


def town() -> Party:
    return Party(residents=3, days=1, embedder="hashing")


@needs_ray
def test_a_town_whose_memories_lie_on_two_nodes_writes_the_journal_of_a_town_here(
    cluster: RayCluster, tmp_path: Path
) -> None:
    here = simulate(town(), model="scripted:cast", seed=3, workspace=tmp_path / "here")
    with memories_on(f"{cluster.address}*2"):
        there = simulate(town(), model="scripted:cast", seed=3, workspace=tmp_path / "there")
    assert here.metrics["memories"][-1] > 30
    assert len(tables(here)) > 100
    assert tables(there) == tables(here)


@needs_ray
def test_an_experiment_whose_cluster_loses_its_head_stops_with_words_and_goes_on_elsewhere(
    cluster: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "2")
    long = shirts(replicates=500, keep="nothing")
    stopped = long.run(on=cluster.address, workspace=tmp_path, check=False, observer=Disturbance(cluster.kill_head))
    assert stopped.state == "stopped" and "was lost" in stopped.reason
    ended = stopped.runs.height
    assert 0 < ended < 1000

    class Resumed(ExperimentObserver):
        done = 0

        def on_start(self, experiment: ExperimentPlan, folder: Path, total: int, done: int) -> None:
            self.done = done
            raise KeyboardInterrupt

    resumed = Resumed()
    with pytest.raises(InterruptedRunError):
        long.run(workers=1, workspace=tmp_path, observer=resumed)
    assert resumed.done == ended


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9"])
def test_an_address_that_does_not_answer_is_an_error_within_seconds_and_leaves_nothing(
    tmp_path: Path, address: str
) -> None:
    began = time.monotonic()
    with pytest.raises(ClusterError, match=r"no Ray cluster answers at .*127.0.0.1:9"):
        shirts().run(on=address, workspace=tmp_path)
    assert time.monotonic() - began < 20
    assert not (tmp_path / "experiments").exists()


@pytest.mark.parametrize(
    "address", ["", "dask", "http://host:80", "ray://", "host", "host:port", "host:0", "host:99999"]
)
def test_what_is_no_address_is_refused_with_the_forms_that_are(tmp_path: Path, address: str) -> None:
    with pytest.raises(UsageError, match="is no address of a cluster"):
        shirts().run(on=address, workspace=tmp_path)


MARKET: dict[str, Any] = {
    "name": "market",
    "scenario": "market",
    "parameters": {"rounds": 6},
    "factors": {"sellers": [2, 3]},
    "model": "scripted:uniform",
    "replicates": 6,
    "outcomes": ["mean_price", "coordination"],
}
TOWN: dict[str, Any] = {
    "name": "town",
    "scenario": "party",
    "parameters": {"residents": 5, "days": 1},
    "factors": {"told": [True, False]},
    "model": "scripted:cast",
    "replicates": 3,
    "outcomes": ["know", "conversations", "memories"],
}


@needs_ray
@in_full
@pytest.mark.audit
@pytest.mark.parametrize("data", [SHIRTS, MARKET, TOWN], ids=lambda data: data["name"])
def test_one_process_two_processes_and_two_and_three_nodes_of_which_one_is_killed_make_one_table(
    tmp_path: Path, data: dict[str, Any]
) -> None:
    def experiment() -> Experiment:
        return Experiment(**data)

    digests = {name: experiment().run(workers=n, workspace=tmp_path / name).digest for name, n in (("1", 1), ("2", 2))}
    with RayCluster(2) as cluster:
        digests["two nodes"] = experiment().run(on=cluster.address, workspace=tmp_path / "r2").digest
        digests["client"] = experiment().run(on=cluster.client_address, workspace=tmp_path / "client").digest
        cluster.add_node()
        digests["three nodes"] = experiment().run(on=cluster.address, workspace=tmp_path / "r3").digest
        killed = experiment().run(
            on=cluster.address, workspace=tmp_path / "killed", observer=Disturbance(cluster.kill_node, after=2)
        )
        digests["one of three killed"] = killed.digest
    assert set(digests.values()) == {digests["1"]}, digests
    assert killed.failures.height == 0


@needs_ray
@in_full
@pytest.mark.audit
def test_kept_runs_of_a_cluster_equal_those_of_this_process_and_share_its_call_store(tmp_path: Path) -> None:
    with RayCluster(2) as cluster:
        made = [
            shirts(keep="run", replicates=2, fork_at=2).run(workspace=tmp_path / name, check=False, **how)
            for name, how in (("here", {"workers": 1}), ("there", {"on": cluster.address}))
        ]
    here, there = made
    assert there.digest == here.digest and there.runs["run"].to_list() == here.runs["run"].to_list()
    for name in there.runs["run"]:
        pair = [Run.open(results.folder.path / "runs" / name) for results in made]
        assert pair[0].answers().equals(pair[1].answers())
        assert pair[1].replay(verify=True).steps == pair[0].steps
    assert not list((there.folder.path / "scratch").glob("*"))


class NodeLoss(Observer):
    """Kills a node after some steps."""

    def __init__(self, cluster: RayCluster) -> None:
        self.cluster = cluster

    def on_step(self, simulation: Simulation) -> None:
        if simulation.step == 40:
            self.cluster.kill_node()


@needs_ray
@in_full
@pytest.mark.audit
def test_a_town_that_loses_a_node_with_memories_stops_and_is_resumed_to_the_same_journal(tmp_path: Path) -> None:
    here = simulate(town(), model="scripted:cast", seed=3, workspace=tmp_path / "here")
    with RayCluster(3) as cluster:
        with pytest.raises(ClusterLostError, match="held memories was lost"), memories_on(f"{cluster.address}*3"):
            simulate(town(), model="scripted:cast", seed=3, workspace=tmp_path / "there", observer=NodeLoss(cluster))
        (stopped,) = (tmp_path / "there" / "runs").iterdir()
        run = Run.open(stopped)
        assert run.manifest.status.state == "stopped"
        with memories_on(f"{cluster.address}*2"):
            run.resume()
    assert tables(run) == tables(here)
