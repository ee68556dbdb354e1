from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from populace.base.errors import UsageError
from populace.cli import cli
from populace.engine.workspace import Workspace
from populace.scenarios.forum import ForumDesign
from support.forums import SMALL

SCRIPT = ["--model", "scripted:support.forums:scripted_reply"]


def call(*arguments: str) -> str:
    done = CliRunner().invoke(cli, list(arguments), catch_exceptions=False, standalone_mode=False)
    if done.exception:
        raise done.exception
    return done.output


@pytest.fixture
def run(tmp_path: Path) -> str:
    import yaml

    (tmp_path / "my.yaml").write_text(yaml.safe_dump(SMALL | {"posts": 3}))
    call("run", "forum", "--design", str(tmp_path / "my.yaml"), "--no-expand", "--no-chart", *SCRIPT)
    return next(path.name for path in (tmp_path / "runs").iterdir())


def test_a_design_file_becomes_a_run(run: str) -> None:
    assert run.startswith("forum-")


def test_whatif_shows_the_thread_with_its_new_end(run: str) -> None:
    shown = call("whatif", run, "--post", "1", "--as", "a troll", "--say", "Bees are boring.")
    assert "Troll: Bees are boring." in shown


def test_whatif_wants_an_utterance_and_a_responder(run: str) -> None:
    with pytest.raises(UsageError, match="--post needs the number"):
        call("whatif", run, "--as", "a troll")
    with pytest.raises(UsageError, match="nobody is named who answers"):
        call("whatif", run, "--post", "1")
    with pytest.raises(UsageError, match="no post 99"):
        call("whatif", run, "--post", "99", "--as", "a troll")


def test_multiverse_lays_the_runs_side_by_side(run: str) -> None:
    assert "topics apart" in call("multiverse", run, "--n", "2")
    assert "calls of each" in call("multiverse", run, "--n", "2", "--post", "1")


def test_multiverse_compares_violations_where_a_judge_is_named(run: str) -> None:
    done = CliRunner().invoke(cli, ["multiverse", run, "--n", "1", "--judge", "scripted:first", "--json"])
    told = json.loads(done.stdout)["data"]["compare"]
    assert [row["violations"] for row in told] == [1.0, 1.0]


def test_new_writes_a_design_that_can_be_run(tmp_path: Path) -> None:
    assert "populace run forum --design mine.yaml" in call("new", "mine", "--community")
    design = ForumDesign.read(tmp_path / "mine.yaml")
    assert (design.name, design.trolls, design.moderators) == ("The Long Bed", 2, 1)
    with pytest.raises(UsageError, match="exists already"):
        call("new", "mine", "--community")


def test_a_what_if_does_not_take_the_place_of_the_last_run(run: str, tmp_path: Path) -> None:
    call("whatif", "last", "--post", "1", "--say", "Bees are boring.")
    call("multiverse", "last", "--n", "1")
    assert len(Workspace(tmp_path).names()) == 3
    assert Workspace(tmp_path).open("last").folder.name == run


def test_a_reply_that_cannot_be_read_is_reported(run: str) -> None:
    shown = call("whatif", run, "--post", "1", "--as", "a troll", "--model", "scripted:support.forums:silent")
    assert "could not be read and" in shown
    assert "missing from the forum" in shown


def test_posts_of_a_multiverse_that_cannot_be_read_are_reported(run: str) -> None:
    shown = call("multiverse", run, "--n", "1", "--model", "scripted:support.forums:silent")
    assert "could not be read and" in shown
