"""A command that a failing service stops says which run stopped, and with which command it goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from populace.base.errors import ServiceError
from populace.cli import cli
from populace.engine.workspace import Workspace
from populace.worlds.web.session_generator import generate_sessions
from support.fake_server import BROKEN, FakeServer
from support.forums import SMALL


def call(*arguments: str) -> str:
    done = CliRunner().invoke(cli, list(arguments), catch_exceptions=False, standalone_mode=False)
    if done.exception:
        raise done.exception
    return done.output


def stopped(*arguments: str) -> str:
    """What the error of a command says, which ends with a service failure."""
    with pytest.raises(ServiceError) as caught:
        call(*arguments)
    return str(caught.value)


@pytest.fixture
def run(tmp_path: Path) -> str:
    (tmp_path / "my.yaml").write_text(yaml.safe_dump(SMALL | {"posts": 3}))
    call("run", "forum", "--design", str(tmp_path / "my.yaml"), "--no-expand", "--no-chart", "--model",
         "scripted:support.forums:scripted_reply")  # fmt: skip
    return Workspace(tmp_path).names()[0]


@pytest.fixture
def broken() -> Iterator[str]:
    with FakeServer(lambda seen: BROKEN) as server:
        yield f"{server.url}#fake-1"


def test_multiverse_names_the_stopped_run_and_how_to_compare_all(run: str, broken: str, tmp_path: Path) -> None:
    text = stopped("multiverse", run, "--n", "2", "--model", broken, "--retries", "0")
    [name] = [each for each in Workspace(tmp_path).names() if each != run]
    assert f"populace resume {name}" in text
    assert f"populace multiverse {run} --n 2 --model '{broken}' --retries 0" in text


def test_whatif_names_the_stopped_run(run: str, broken: str, tmp_path: Path) -> None:
    text = stopped("whatif", run, "--post", "1", "--as", "a troll", "--model", broken, "--retries", "0")
    [name] = [each for each in Workspace(tmp_path).names() if each != run]
    assert f"Continue with: populace resume {name}" in text


def test_judging_a_multiverse_and_a_run_goes_on_with_the_same_command(run: str, broken: str) -> None:
    text = stopped("multiverse", run, "--n", "1", "--model", "scripted:uniform", "--judge", broken)
    assert f"Go on with: populace multiverse {run} --n 1" in text
    text = stopped("judge", run, "--ask", "civil", "--model", broken, "--retries", "0")
    assert f"Go on with: populace judge {run} --ask civil --model '{broken}' --retries 0" in text


def test_rating_by_a_model_goes_on_with_the_same_command(run: str, broken: str, tmp_path: Path) -> None:
    posts = [{"author": name, "text": f"Bees and honey, says {name}."} for name in ("ann", "bo", "cy")]
    thread = {"community": SMALL["name"], "title": "A hive", "posts": posts}
    (tmp_path / "real.jsonl").write_text(json.dumps(thread) + "\n")
    text = stopped("discern", run, "--real", "real.jsonl", "--model", broken, "--retries", "0")
    assert f"Go on with: populace discern {run} --real real.jsonl" in text


def test_a_probe_goes_on_with_the_same_command(broken: str) -> None:
    words = ["probe", "norms", "--model", broken, "--people", "2", "--vary", "initial_share=0,1", "--retries", "0"]
    assert "Go on with: populace probe norms" in stopped(*words)


def test_reasoning_about_sessions_goes_on_with_the_same_command(broken: str) -> None:
    generate_sessions(2, shops=1, visits=1, seed=0).write("log.jsonl")
    text = stopped("sessions", "log.jsonl", "--reason", broken, "--retries", "0")
    assert "Go on with: populace sessions log.jsonl --reason" in text


def test_a_causal_study_names_the_command_that_goes_on(broken: str, tmp_path: Path) -> None:
    study = {
        "treatment": {"name": "price", "levels": [1, 2], "statement": "It costs {price} dollars."},
        "setting": "You see apples.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes",
    }  # fmt: skip
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study))
    text = stopped("causal", "study.yaml", "--model", broken, "--retries", "0")
    assert f"Go on with: populace causal study.yaml --model '{broken}' --retries 0" in text
