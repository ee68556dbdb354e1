from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from populace import Run, simulate
from populace.base.errors import DamagedRunError, RunBusyError, RunNotFoundError, RunVersionError, StorageError
from populace.engine.observer import Observer
from populace.journal import Journal, segments
from support.models import Counting
from support.scenarios import Shirts, Talk


def segment(run: Run, step: int) -> Path:
    return run.folder / "steps" / f"{step:05d}"


def test_any_parquet_reader_opens_the_answers(shirts_run: Run) -> None:
    read = pl.scan_parquet(shirts_run.folder / "steps" / "*" / "answers.parquet").collect()
    assert read.height == 12 * 4
    assert set(read["value"]) == {"blue", "green"}


def test_a_step_keeps_only_the_columns_that_it_changed(shirts_run: Run) -> None:
    assert pl.read_parquet(segment(shirts_run, 0) / "people.parquet").columns == ["id", "name", "sex", "group", "shirt"]
    assert pl.read_parquet(segment(shirts_run, 2) / "people.parquet").columns == ["id", "shirt"]


def test_people_are_put_together_from_the_steps_before(shirts_run: Run) -> None:
    shirts = shirts_run.answers(at=3)["value"].to_list()
    people = shirts_run.people(at=3)
    assert people["shirt"].cast(pl.String).to_list() == shirts
    assert people.columns == ["id", "name", "sex", "group", "shirt"]


def test_the_manifest_is_there_before_the_first_step_and_only_its_status_changes(tmp_path: Path) -> None:
    statuses: list[dict[str, object]] = []

    class Look(Observer):
        def on_start(self, simulation: object) -> None:
            self.on_step(simulation)

        def on_step(self, simulation: object) -> None:
            folder = next((tmp_path / "runs").iterdir())
            statuses.append(json.loads((folder / "manifest.json").read_text()))

    run = simulate(Shirts(days=2), model=Counting(), observer=Look())
    statuses.append(json.loads((run.folder / "manifest.json").read_text()))
    assert [entry["status"]["state"] for entry in (statuses[0], statuses[-1])] == ["running", "complete"]  # type: ignore[index]
    assert all({**entry, "status": None} == {**statuses[0], "status": None} for entry in statuses)


def test_the_manifest_says_enough_to_repeat_the_run(shirts_run: Run) -> None:
    manifest = json.loads((shirts_run.folder / "manifest.json").read_text())
    assert manifest["regimes"][0]["seed"] == 1
    assert manifest["regimes"][0]["parameters"]["people_count"] == 12
    assert manifest["models"]["scripted:counting"].startswith("scripted:counting@")
    assert {"python", "populace", "polars", "platform"} <= set(manifest["environment"])
    assert manifest["scenario_hash"]


@pytest.mark.parametrize(("table", "step"), [("answers", 2), ("people", 0), ("prompts", 4), ("metrics", 1)])
def test_a_truncated_file_is_named(shirts_run: Run, table: str, step: int) -> None:
    path = segment(shirts_run, step) / f"{table}.parquet"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DamagedRunError, match=rf"{shirts_run.name}, step {step}: {table}.parquet was truncated"):
        Run.open(shirts_run.folder).replay()


def test_an_edited_file_of_the_same_size_is_named(shirts_run: Run) -> None:
    path = segment(shirts_run, 3) / "answers.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(DamagedRunError, match=r"step 3: answers.parquet was edited"):
        Run.open(shirts_run.folder).replay()


def test_a_step_that_was_swapped_for_that_of_another_run_is_found(shirts_run: Run) -> None:
    other = simulate(Shirts(), model=Counting(), seed=2)
    shutil.rmtree(segment(shirts_run, 2))
    shutil.copytree(segment(other, 2), segment(shirts_run, 2))
    with pytest.raises(DamagedRunError, match=r"step 2: it does not follow from the step before"):
        Run.open(shirts_run.folder).replay()


def test_a_missing_step_is_named(shirts_run: Run) -> None:
    shutil.rmtree(segment(shirts_run, 2))
    with pytest.raises(DamagedRunError, match=r"step 2 is missing, and step 3 is there"):
        _ = Run.open(shirts_run.folder).steps


def test_a_half_written_segment_does_not_count(shirts_run: Run) -> None:
    (segment(shirts_run, 4) / "COMMIT").unlink()
    beside = shirts_run.folder / "steps" / ".00005-99"
    beside.mkdir()
    (beside / "answers.parquet").write_bytes(b"half")
    assert Run.open(shirts_run.folder).steps == [0, 1, 2, 3]


def test_an_unreadable_commit_is_named(shirts_run: Run) -> None:
    (segment(shirts_run, 1) / "COMMIT").write_text("{not json")
    with pytest.raises(DamagedRunError, match=r"step 1: COMMIT cannot be read"):
        Run.open(shirts_run.folder).replay()


def test_a_run_of_a_newer_format_is_refused_before_its_fields_are_read(shirts_run: Run) -> None:
    (shirts_run.folder / "manifest.json").write_text('{"format": 99, "whatever": true}')
    with pytest.raises(RunVersionError, match=r"format 99.*up to 1.*Upgrade"):
        Run.open(shirts_run.folder)


def test_a_folder_without_a_manifest_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(RunNotFoundError, match="no manifest"):
        Run.open(tmp_path)


def test_a_second_process_cannot_write_the_same_run(shirts_run: Run) -> None:
    shirts_run.journal.set_status(state="stopped")
    code = (
        "import sys, time; from pathlib import Path; from populace.journal import Journal;"
        "journal = Journal(Path(sys.argv[1])); journal.lock(); print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(shirts_run.folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunBusyError, match=rf"written by another process \(pid {holder.pid}\)"):
            Run.open(shirts_run.folder).resume(model=Counting())
        assert Run.open(shirts_run.folder).journal.busy()
        holder.kill()
    assert not Run.open(shirts_run.folder).journal.busy()


def test_a_full_disk_stops_the_run_and_loses_no_committed_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = segments._write_tables

    def full(tables: Mapping[str, pl.DataFrame], folder: str) -> dict[str, tuple[int, str]]:
        if "00003" in folder:
            raise OSError(28, "No space left on device")
        return write(tables, folder)

    monkeypatch.setattr(segments, "_write_tables", full)
    with pytest.raises(StorageError, match=r"the disk is full.*resume"):
        simulate(Shirts(), model=Counting(), seed=1)
    monkeypatch.undo()
    folder = next((tmp_path / "runs").iterdir())
    stopped = Run.open(folder)
    assert stopped.steps == [0, 1, 2]
    whole = simulate(Shirts(), model=Counting(), seed=1, workspace=tmp_path / "whole")
    assert stopped.resume(model=Counting()).digest == whole.digest


def test_world_tables_and_events_are_recorded_with_the_step_that_made_them() -> None:
    run = simulate(Talk(people_count=2, days=2), model=Counting(), seed=1)
    lines = run.events.filter(pl.col("kind") == "said")
    assert lines["step"].to_list() == [1, 1, 2, 2]
    assert lines["person"].to_list() == [0, 1, 0, 1]
    assert json.loads(lines["data"][0])["text"].startswith("I say")


def test_a_fork_without_its_parent_says_which_run_is_missing(shirts_run: Run) -> None:
    forked = shirts_run.fork(3, model=Counting(), seed=8)
    shirts_run.folder.rename(shirts_run.folder.with_name("elsewhere"))
    with pytest.raises(RunNotFoundError, match=rf"{forked.name} is a fork of {shirts_run.name}, which is not there"):
        Run.open(forked.folder).people(0)


def test_segments_carry_no_time_of_day(shirts_run: Run) -> None:
    before = {path: path.read_bytes() for path in (shirts_run.folder / "steps").rglob("*.parquet")}
    again = simulate(Shirts(), model=Counting(), seed=1)
    after = {path: path.read_bytes() for path in (again.folder / "steps").rglob("*.parquet")}
    assert list(before.values()) == list(after.values())


def test_the_folder_of_a_journal_is_written_beside_and_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = tmp_path / "steps"
    steps.mkdir()
    monkeypatch.setattr(segments.os, "replace", lambda *_: (_ for _ in ()).throw(OSError(5, "broken")))
    with pytest.raises(StorageError):
        segments.write_segment(steps, 0, {"metrics": pl.DataFrame({"step": [0]})}, "start", {})
    assert segments.committed_steps(steps) == []


def test_a_journal_reads_its_parents_steps_where_they_are(shirts_run: Run) -> None:
    forked = shirts_run.fork(2, model=Counting(), seed=8)
    journal = Journal(forked.folder)
    assert journal.holder(1).folder == shirts_run.folder
    assert journal.holder(2).folder == forked.folder
    assert sorted(path.name for path in (forked.folder / "steps").iterdir()) == ["00002", "00003", "00004"]


def test_a_step_that_is_committed_while_the_folder_is_listed_is_no_damage(
    shirts_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, isfile = [str(segment(shirts_run, 2) / "COMMIT")], os.path.isfile
    monkeypatch.setattr(os.path, "isfile", lambda path: isfile(path) if str(path) not in late else bool(late.clear()))
    assert list(Journal(shirts_run.folder).steps()) == [0, 1]
    assert late == []
