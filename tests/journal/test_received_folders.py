"""Names inside a run folder cannot leave it, and parents cannot form a ring."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from populace import Run, open_run, simulate
from populace.base.errors import DamagedRunError, PopulaceError, RunNotFoundError
from populace.journal import Journal
from populace.journal.journal import MAX_FORKS
from populace.scenarios.norms import Norms
from support.commands import populace


@pytest.fixture
def run() -> Run:
    return simulate(Norms(workers=3, days=1), decider="rule", seed=1)


def change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    "name", ["tables/../../../x.parquet", "../x.parquet", "/tmp/x.parquet", "tables/\0.parquet", ".."]
)
def test_a_commit_that_names_a_file_elsewhere_is_refused_and_export_writes_nothing(
    run: Run, tmp_path: Path, name: str
) -> None:
    commit = run.folder / "steps" / "00001" / "COMMIT"
    files = json.loads(commit.read_text())["files"]
    change(commit, files=files | {name: [1, "0"]})
    target = tmp_path / "a" / "b" / "export"
    done = populace("export", run.name, str(target))
    assert done.returncode == 4 and "COMMIT cannot be read" in done.stderr
    assert list(tmp_path.rglob("x.parquet")) == []


@pytest.mark.parametrize("name", ["../..", "/", "", ".", "a/b", "x\0", "é" * 200, "\x1b[31m"])
def test_a_parent_that_is_no_folder_beside_the_run_is_refused(run: Run, name: str) -> None:
    change(run.folder / "manifest.json", parent={"run": name, "at": 1})
    with pytest.raises(DamagedRunError, match=r"parent\.run"):
        Journal(run.folder)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_runs_that_are_their_own_ancestors_are_refused(run: Run, length: int) -> None:
    names = [run.name, *(f"copy-{number}" for number in range(1, length))]
    for name in names[1:]:
        shutil.copytree(run.folder, run.folder.parent / name)
    for name, parent in zip(names, [*names[1:], names[0]], strict=True):
        change(run.folder.parent / name / "manifest.json", parent={"run": parent, "at": 5})
        shutil.rmtree(run.folder.parent / name / "steps")
    for command in (("show", run.name), ("why", run.name, "--step", "1", "--person", "0"), ("export", run.name, "out")):
        done = populace(*command)
        assert done.returncode == 4 and "is a fork of" in done.stderr, done.stderr
    listing = populace("list")
    assert listing.returncode == 0
    assert all(name in listing.stdout for name in names)


def test_a_chain_of_ten_thousand_forks_is_refused_at_once(run: Run) -> None:
    text = (run.folder / "manifest.json").read_text()
    data = json.loads(text)
    for number in range(10_000):
        folder = run.folder.parent / f"fork-{number}"
        folder.mkdir()
        if number < 10 or number >= 10_000 - MAX_FORKS - 10:
            parent = {"run": f"fork-{number - 1}" if number else run.name, "at": 1}
            (folder / "manifest.json").write_text(json.dumps(data | {"run": folder.name, "parent": parent}))
    with pytest.raises(DamagedRunError, match="more than 1000 forks"):
        open_run("fork-9999").people()


def test_a_chain_of_forks_within_the_limit_is_read(run: Run) -> None:
    last = run
    for seed in range(12):
        last = last.fork(1, seed=seed)
    assert open_run(last.name).people().count() == 3


def test_a_fork_after_the_end_of_its_parent_is_refused(run: Run) -> None:
    fork = run.fork(2)
    change(fork.folder / "manifest.json", parent={"run": run.name, "at": 10**12})
    shutil.rmtree(fork.folder / "steps")
    with pytest.raises(DamagedRunError, match="has only 2 steps"):
        _ = open_run(fork.name).steps


@pytest.mark.parametrize(
    "name", ["usage.jsonl", "steps", ".lock", ".pause", "interviews.jsonl", "manifest.json", "chart.png"]
)
def test_a_link_out_of_the_run_folder_is_refused_and_nothing_is_written_there(
    run: Run, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = outside / name
    place = run.folder / name
    if place.exists():
        place.rename(target)
    else:
        target.write_text("keep me")
    place.symlink_to(target)
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    for command in ("show", "resume", "replay"):
        assert populace(command, run.name).returncode == 4
    with pytest.raises(DamagedRunError, match="leads out of its folder"):
        open_run(run.name).resume()
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before


def test_a_table_that_is_a_link_is_refused(run: Run, tmp_path: Path) -> None:
    table = run.folder / "steps" / "00001" / "metrics.parquet"
    table.rename(tmp_path / "metrics.parquet")
    table.symlink_to(tmp_path / "metrics.parquet")
    with pytest.raises(DamagedRunError, match="a link to another place"):
        _ = open_run(run.name).metrics


def test_a_run_folder_that_is_itself_a_link_is_read(run: Run, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / run.name
    moved.parent.mkdir()
    run.folder.rename(moved)
    run.folder.symlink_to(moved)
    assert open_run(run.name).steps == [0, 1]


@pytest.mark.parametrize(
    "changes",
    [
        {"regimes": []},
        {"regimes": [{"since": -1}]},
        {"run": "../x"},
        {"format": True},
        {"format": 10**30},
        {"parent": {"run": "x", "at": 0}},
        {"status": {"steps": "many"}},
    ],
)
def test_a_manifest_that_no_run_has_is_refused(run: Run, changes: dict[str, Any]) -> None:
    change(run.folder / "manifest.json", **changes)
    with pytest.raises(PopulaceError) as caught:
        Journal(run.folder)
    assert caught.value.code.startswith("P50")


def test_names_that_no_file_system_has_are_not_found(run: Run) -> None:
    for name in ("x\0y", "a" * 300, "../" * 2000, "\ud800"):
        with pytest.raises(RunNotFoundError):
            open_run(name)


def test_a_line_of_usage_that_was_cut_off_is_ended_before_the_next_is_written(run: Run) -> None:
    usage = run.folder / "usage.jsonl"
    usage.write_text(usage.read_text() + '{"step": 7, "calls"')
    journal = Journal(run.folder)
    journal.commit(2, {"metrics": run.metrics}, run.record.facts(1), {"calls": 1, "seconds": 0})
    assert [line["step"] for line in journal.usage()] == [0, 1, 2]
    assert os.path.getsize(usage) == journal.manifest.status.end.usage[0]  # type: ignore[union-attr]
