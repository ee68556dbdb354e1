"""The manifest says where the journal ends: what is missing, added or changed is noticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from populace import Run, open_run, simulate
from populace.base.errors import DamagedRunError
from populace.journal import Journal, check_end, verify_journal
from populace.runs.overview import overview
from support.commands import populace
from support.models import Counting
from support.scenarios import Shirts


@pytest.fixture
def run() -> Run:
    return simulate(Shirts(), model=Counting(), seed=1)


def change_manifest(run: Run, **changes: Any) -> None:
    path = run.folder / "manifest.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | changes))


def last_step(run: Run) -> Path:
    return run.folder / "steps" / f"{run.steps[-1]:05d}"


def test_a_finished_run_is_bound(run: Run) -> None:
    assert verify_journal(Journal(run.folder)) is True
    assert overview(run).bound and not overview(run).damage


def test_a_missing_last_step_is_noticed_by_replay_and_show(run: Run) -> None:
    shutil.rmtree(last_step(run))
    with pytest.raises(DamagedRunError, match="its last step is missing or was changed"):
        open_run(run.name).replay(verify=True)
    assert populace("replay", run.name, "--verify").returncode == 4
    shown = populace("show", run.name)
    assert f"{run.name}  damaged" in shown.stdout
    assert "its last step is missing" in " ".join(shown.stdout.split())
    assert "damaged" in populace("list").stdout


def test_an_added_last_step_is_noticed(run: Run) -> None:
    number, journal = run.steps[-1] + 1, Journal(run.folder)
    journal.commit(number, {"metrics": run.metrics}, run.record.facts(number - 1), {})
    with pytest.raises(DamagedRunError, match="1 step was added after its end"):
        check_end(Journal(run.folder))


def test_a_changed_last_step_is_noticed(run: Run) -> None:
    commit = last_step(run) / "COMMIT"
    commit.write_text(commit.read_text().replace('"ok"', '"refused"'))
    with pytest.raises(DamagedRunError, match="its last step is missing or was changed"):
        verify_journal(Journal(run.folder))


@pytest.mark.parametrize("changes", [{"created": "2020"}, {"models": {}}, {"environment": {"author": "somebody"}}])
def test_settings_that_were_changed_afterwards_are_noticed(run: Run, changes: dict[str, Any]) -> None:
    change_manifest(run, **changes)
    with pytest.raises(DamagedRunError, match="the settings in its manifest were changed"):
        verify_journal(Journal(run.folder))


@pytest.mark.parametrize("change", [lambda text: text.replace("1", "2", 1), lambda text: text + text, lambda text: ""])
def test_usage_that_was_changed_afterwards_is_noticed(run: Run, change: Any) -> None:
    usage = run.folder / "usage.jsonl"
    usage.write_text(change(usage.read_text()))
    with pytest.raises(DamagedRunError, match=r"usage\.jsonl"):
        verify_journal(Journal(run.folder))


def test_a_run_whose_process_died_between_a_step_and_its_manifest_is_resumed(run: Run) -> None:
    digest, last = run.digest, run.steps[-1]
    stopped = simulate(Shirts(), model=Counting(), seed=1)
    journal = stopped.journal
    before = journal.commit_of(last - 1)
    end = {**json.loads((stopped.folder / "manifest.json").read_text())["status"]["end"], "digest": before.digest}
    lines = (stopped.folder / "usage.jsonl").read_bytes().splitlines(keepends=True)
    end["usage"] = [len(b"".join(lines[:last])), _hash(b"".join(lines[:last]))]
    change_manifest(stopped, status={"state": "running", "steps": last - 1, "end": end})
    resumed = open_run(stopped.name).resume(model=Counting())
    assert resumed.digest == digest
    assert verify_journal(Journal(stopped.folder)) is True


def test_a_folder_of_an_earlier_version_is_read_and_says_that_its_end_is_not_bound(run: Run) -> None:
    status = json.loads((run.folder / "manifest.json").read_text())["status"]
    del status["end"]
    change_manifest(run, status=status)
    assert verify_journal(Journal(run.folder)) is False
    assert "end of this journal is not bound" in populace("show", run.name).stdout
    assert "not bound" in populace("replay", run.name, "--verify").stdout


def test_a_fork_is_bound_before_its_first_own_step_and_after_it(run: Run) -> None:
    fork = run.fork(2, seed=5, model=Counting())
    assert verify_journal(Journal(fork.folder)) is True
    shutil.rmtree(last_step(fork))
    with pytest.raises(DamagedRunError, match="missing"):
        verify_journal(Journal(fork.folder))


def _hash(data: bytes) -> str:
    import hashlib

    return hashlib.blake2b(data, digest_size=16).hexdigest()
