from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from populace import Run
from populace.experiments import Experiment, ExperimentObserver
from support.ray_cluster import RayCluster
from support.scenarios import Shirts

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")

SHIRTS: dict[str, Any] = {
    "name": "shirts",
    "scenario": Shirts,
    "factors": {"wording": ["Yesterday {blue} wore blue.", "It rains, and {blue} wore blue."]},
    "parameters": {"people_count": 3, "days": 2},
    "model": "scripted:support.models:varied",
    "replicates": 4,
    "outcomes": ["share_blue", "answers(blue)"],
}


def shirts(**changes: Any) -> Experiment:
    return Experiment(**(SHIRTS | changes))


class Nodes(ExperimentObserver):
    def __init__(self) -> None:
        self.seen: list[tuple[int, int, str]] = []

    def on_cluster(self, nodes: int, workers: int, dashboard: str) -> None:
        self.seen.append((nodes, workers, dashboard))


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with RayCluster(2) as started:
        yield started


def test_two_nodes_make_the_same_table_as_this_process_and_use_its_call_store(
    cluster: RayCluster, tmp_path: Path
) -> None:
    here = shirts(keep="calls").run(workers=1, workspace=tmp_path / "here")
    observer = Nodes()
    there = shirts(keep="calls").run(on=cluster.address, workspace=tmp_path / "there", observer=observer)
    assert there.failures.height == 0
    assert there.digest == here.digest
    assert (
        there.runs.drop("calls", "reused", "tokens").write_json()
        == here.runs.drop("calls", "reused", "tokens").write_json()
    )
    assert observer.seen == [(2, 2, "")]
    again = shirts(keep="calls", name="again").run(workers=1, workspace=tmp_path / "there")
    assert again.runs["calls"].sum() == 0


def test_kept_runs_of_a_cluster_lie_in_the_folder_and_equal_those_of_this_process(
    cluster: RayCluster, tmp_path: Path
) -> None:
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
