"""Folders written by earlier versions are still read, replayed, resumed and forked.

`data/runs-of-format-1.tar.xz` holds four runs that version 0.1.0 wrote before its journal got a redesign, and what that
version read from them: `parent` (norms), `fork` (of it, with an intervention of every kind), `discussion` (with minds)
and `stopped` (norms, ended by a budget).
"""

from __future__ import annotations

import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import populace
from populace import Run
from populace.base.errors import JournalError, PopulaceError, ReplayMismatchError
from populace.cli import cli

ARCHIVE = Path(__file__).parent.parent / "data" / "runs-of-format-1.tar.xz"
EXAMPLE = next(Path(populace.__file__).parent.rglob("norms-example.zip"))
EVERY = ("parent", "fork", "discussion", "stopped")


@pytest.fixture
def known(tmp_path: Path) -> dict[str, Any]:
    """The old runs are in the workspace; what the old version read from each, by its part in this test."""
    with tarfile.open(ARCHIVE) as archive:
        # The Python 3.11 of Debian 12 has no filters; later ones ask for one.
        archive.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return json.loads((tmp_path / "expected.json").read_text())


def old(known: dict[str, Any], which: str) -> Run:
    return Run.open(Path("runs") / known[which]["name"])


def facts(run: Run) -> dict[str, Any]:
    """What a run tells, whatever else later versions record beside it."""
    answers = run.answers().select("step", "person", "purpose", "status", "value")
    return {
        "metrics": run.metrics.to_dicts(),
        "names": run.people()["name"].to_list(),
        "calls": run.usage().calls,
        "answers": [list(row) for row in answers.rows()],
        "prompts": run.prompts()["user"].to_list(),
    }


@pytest.mark.parametrize("which", EVERY)
def test_an_old_run_reads_as_the_version_that_wrote_it_read_it(known: dict[str, Any], which: str) -> None:
    run, then = old(known, which), known[which]
    status = run.manifest.status
    assert (run.digest, status.state, status.reason) == (then["digest"], then["state"], then["reason"])
    assert run.steps == then["steps"]
    assert run.answers().height > 0
    assert facts(run) == {name: then[name] for name in facts(run)}
    assert dict(run.statuses) == then["statuses"]
    decision = run.decisions(run.steps[-1], 0)[0]
    prompt = decision.prompts[0]
    assert [decision.value, prompt["model"], prompt["user"]] == then["decision"]


@pytest.mark.parametrize("which", [which for which in EVERY if which != "discussion"])
def test_an_old_run_replays_to_the_same_tables(known: dict[str, Any], which: str) -> None:
    run = old(known, which)
    again = run.replay(verify=True)
    assert again.metrics.equals(run.metrics)
    assert again.people().frame.equals(run.people().frame)
    then = run.answers()
    assert again.answers().select(then.columns).equals(then), "columns that are recorded since then do not count"


def test_an_old_run_of_a_scenario_with_other_words_today_is_read_and_its_replay_says_why_it_stops(
    known: dict[str, Any],
) -> None:
    with pytest.raises(ReplayMismatchError, match="the scenario or Populace changed after the recording") as refused:
        old(known, "discussion").replay(verify=True)
    assert "populace show discussion-" in str(refused.value)


def test_the_interventions_of_an_old_fork_are_seen_in_its_replay(known: dict[str, Any]) -> None:
    fork = old(known, "fork")
    assert fork.manifest.parent is not None
    assert (fork.manifest.parent.run, fork.manifest.parent.at) == (known["parent"]["name"], 2)
    again = fork.replay(verify=True)
    for run in (fork, again):
        users = [run.prompts(step)["user"] for step in (1, 2, 3, 4)]
        assert [user.str.contains("It is cold today.").any() for user in users] == [False, True, True, False]
        assert [user.str.contains("people in the office wore blue").any() for user in users] == [
            True,
            True,
            False,
            False,
        ]
        assert not users[1].str.contains("you wore blue").any()
        assert [run.people(step).ids.to_list() for step in (2, 3)] == [[0, 1, 2, 3, 4], [0, 1, 3, 4, 5]]
        assert run.people()["name"][-1] == "Zoe"
        models = [run.decisions(4, person)[0].prompts[0]["model"] for person in (0, 1, 3)]
        assert models == ["scripted:first", "scripted:first", "scripted:uniform"]


def test_an_old_fork_is_forked_as_before(known: dict[str, Any]) -> None:
    further = old(known, "fork").fork(at=3, seed=9)
    assert further.manifest.status.state == "complete"
    assert facts(further) == known["fork"]["forked at 3 with seed 9"]
    assert len(further.manifest.interventions) == 6
    assert further.replay(verify=True).metrics.equals(further.metrics)


def test_an_old_run_that_stopped_is_resumed_as_before(known: dict[str, Any]) -> None:
    run = old(known, "stopped")
    run.resume()
    assert run.manifest.status.state == "complete"
    again = Run.open(run.folder)
    assert facts(again) == known["stopped"]["resumed"]
    assert [again.decisions(step, 0)[0].status for step in (1, 4)] == ["ok", "ok"]
    assert again.replay(verify=True).metrics.equals(again.metrics)


@pytest.mark.parametrize("which", EVERY)
def test_an_old_run_is_shown(known: dict[str, Any], which: str) -> None:
    done = CliRunner().invoke(cli, ["show", known[which]["name"], "--json"])
    assert done.exit_code == 0, done.output
    data = json.loads(done.output)["data"]
    assert data["run"] == known[which]["name"]


def test_old_runs_are_listed(known: dict[str, Any]) -> None:
    done = CliRunner().invoke(cli, ["list", "--json"])
    assert done.exit_code == 0, done.output
    assert {row["run"] for row in json.loads(done.output)["data"]} == {known[which]["name"] for which in EVERY}


def test_the_example_that_ships_is_read_replayed_and_forked(tmp_path: Path) -> None:
    with zipfile.ZipFile(EXAMPLE) as archive:
        archive.extractall(tmp_path / "runs")
    run = Run.open(tmp_path / "runs" / "norms-example")
    assert len(run.steps) == run.metrics.height == 8
    assert run.answers().height == 140
    assert run.decisions(1, 0)[0].distribution is not None
    assert run.replay(verify=True).metrics.equals(run.metrics)
    fork = run.fork(at=7, model="scripted:uniform")
    assert fork.manifest.status.state == "complete"
    assert fork.metrics.head(7).equals(run.metrics.head(7))


def test_a_manifest_of_a_newer_format_is_refused_and_the_message_names_it(known: dict[str, Any]) -> None:
    manifest = Path("runs") / known["parent"]["name"] / "manifest.json"
    data = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(data | {"format": 99}))
    with pytest.raises(PopulaceError, match="was written in format 99; this Populace reads up to 1") as caught:
        old(known, "parent")
    assert isinstance(caught.value, JournalError)
