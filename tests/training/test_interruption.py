"""Interrupted commands say how to go on, and end with the files of a command that was not interrupted."""

from __future__ import annotations

import fcntl
import json
import os
import pkgutil
import shlex
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from populace.training.correction import Correction
from populace.training.correction_plan import CorrectionPlan
from populace.training.supervised import _deferred_interrupts
from support.audit import IN_FULL
from support.commands import populace
from support.corpora import small_corpus
from support.quick_collection import quick_collection
from support.signalled_commands import Moment, run_apart
from support.tiny_models import tiny_folder
from training.test_correction import SCENARIO
from training.test_human_targets import corpus

TRAINING_FILES = [
    "tiny.gguf", "curve.csv", "manifest.json", "figures.csv", "figures.json", "adapter/adapter_model.safetensors",
    "state.safetensors",
]  # fmt: skip
CORRECTION_FILES = [
    "results.jsonl", "correction-soup.html", "seed-1/feedback/round-1/soup.gguf", "seed-1/control/round-1/soup.gguf"
]  # fmt: skip
TRAINING_MOMENTS = {
    "reading the data": ("populace.training.decision_division:HumanDecisions.read", 1),
    "building examples": ("populace.training.decision_examples:DecisionSource.examples", 2),
    "a step": ("torch.optim:AdamW.step", 2),
    "a look at unseen people": ("populace.training.supervised:Trainer.loss_on", 2),
    "writing the state": ("populace.training.supervised:write_state", 2),
    "writing the adapter": ("populace.training.planned_training:from_peft", 1),
    "scoring": ("populace.training.decision_division:score_decisions", 1),
}
CORRECTION_MOMENTS = {
    "a run": ("populace.engine.simulation:Simulation._advance", 2),
    "scoring": ("populace.training.lessons:Lessons.score", 1),
    "the distance elsewhere": ("populace.training.correction:option_shares", 2),
    "building examples": ("populace.training.target_learning:DecisionTargets.examples", 1),
    "a step": ("torch.optim:AdamW.step", 2),
    "writing the adapter": ("populace.training.correction:from_peft", 1),
    "between adapter and result": ("populace.training.correction:Correction._append", 1),
    "the report": ("populace.experiments.reports.document:ReportDocument.write", 1),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with plans for both commands."""
    folder = tmp_path_factory.mktemp("interruption")
    tiny_folder(folder / "base", seed=6)
    small_corpus(folder / "corpus")
    corpus(folder / "people", {"": 0.1})
    (folder / "meals.py").write_text(SCENARIO)
    training = {
        "name": "tiny",
        "base": "base",
        "licences": ["CC0-1.0", "MIT"],
        "data": [{"decisions": "corpus", "passes": 2}],
        "settings": {"rank": 2, "length": 640, "batch": 4, "pool": 1, "check_every": 1},
    }
    correction = {
        "name": "soup",
        "base": "base",
        "scenario": {"name": "meals.py:Meals"},
        "held_out": {"name": "meals.py:Meals", "parameters": {"text": "Drink?"}},
        "score": {"human": {"decisions": "people", "licences": ["CC0-1.0"]}},
        "method": "supervised",
        "rounds": 1,
        "decisions": 12,
        "seeds": [1],
        "rank": 4,
        "supervised": {"learning_rate": 0.03, "passes": 2, "batch": 2, "length": 256},
    }
    (folder / "training.yaml").write_text(json.dumps(training))
    (folder / "correction.yaml").write_text(json.dumps(correction))
    with quick_collection():
        yield folder


def words_of(command: str, place: Path, folder: Path) -> tuple[str, ...]:
    plan = {"train": "training.yaml", "correct": "correction.yaml"}[command]
    trust = ("--trust", "--workspace", str(place)) if command == "correct" else ()
    return command, str(place / plan), "--device", "cpu", "--to", str(folder), *trust


def content(folder: Path, names: list[str]) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


@pytest.fixture(scope="module")
def whole(place: Path) -> dict[str, dict[str, bytes]]:
    """What the commands write when nothing interrupts them."""
    files = {"train": TRAINING_FILES, "correct": CORRECTION_FILES}
    for command in files:
        done = populace(*words_of(command, place, place / command))
        assert done.returncode == 0, done.stderr
    return {command: content(place / command, names) for command, names in files.items()}


CASES = [
    *(("train", name, each) for name, each in TRAINING_MOMENTS.items()),
    *(("correct", name, each) for name, each in CORRECTION_MOMENTS.items()),
]
USUAL = {
    ("train", "a step"): signal.SIGINT,
    ("correct", "a run"): signal.SIGTERM,
    ("correct", "a step"): signal.SIGTERM,
}
"""What is tried where this is no audit."""


@pytest.mark.parametrize("target", [target for target, _ in (*TRAINING_MOMENTS.values(), *CORRECTION_MOMENTS.values())])
def test_every_moment_of_an_interruption_names_code_that_exists(target: str) -> None:
    assert callable(pkgutil.resolve_name(target))


@pytest.mark.parametrize(
    ("command", "moment"),
    [
        pytest.param(command, Moment(*each, number), id=f"{command}-{name}-{number.name}")
        for command, name, each in CASES
        for number in (signal.SIGINT, signal.SIGTERM)
        if IN_FULL or USUAL.get((command, name)) == number
    ],
)
def test_an_interrupted_command_says_how_to_go_on_and_then_ends_as_if_it_was_not(
    place: Path, tmp_path: Path, whole: dict[str, dict[str, bytes]], command: str, moment: Moment
) -> None:
    words = words_of(command, place, tmp_path)
    with moment.armed():
        stopped = populace(*words)
    assert stopped.returncode == 130, stopped.stderr
    text = " ".join(stopped.stderr.split())
    assert "was interrupted." in text
    assert text.endswith(f"Go on with: {shlex.join(['populace', *words])}")
    assert "Traceback" not in text
    again = populace(*words)
    assert again.returncode == 0, again.stderr
    assert content(tmp_path, list(whole[command])) == whole[command]


@pytest.mark.audit
@pytest.mark.skipif(not IN_FULL, reason="a process with PyTorch takes five seconds to start")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize(("command", "name", "moment"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_a_process_that_is_interrupted_or_killed_loses_nothing(
    place: Path,
    tmp_path: Path,
    whole: dict[str, dict[str, bytes]],
    command: str,
    name: str,
    moment: tuple[str, int],
    number: signal.Signals,
) -> None:
    words = words_of(command, place, tmp_path / "out")
    stopped = run_apart(tmp_path, words, Moment(*moment, number))
    assert stopped.code == (-signal.SIGKILL if number == signal.SIGKILL else 130), stopped.errors
    assert run_apart(tmp_path, words).code == 0
    assert content(tmp_path / "out", list(whole[command])) == whole[command]


def test_arms_share_the_simulation_of_the_base_and_a_command_given_again_makes_no_run_again(
    place: Path, whole: dict[str, dict[str, bytes]]
) -> None:
    runs = place / "correct" / "workspace" / "runs"
    names = sorted(each.name for each in runs.iterdir())
    assert len(names) == 4, "the held-out scenario, the base, and one for each arm"
    results = place / "correct" / "results.jsonl"
    kept = results.read_text()
    results.write_text("")
    Correction(CorrectionPlan.read(place / "correction.yaml"), place / "correct").run()
    assert sorted(each.name for each in runs.iterdir()) == names
    assert results.read_text() == kept


@pytest.mark.parametrize("command", ["train", "correct"])
def test_two_processes_do_not_train_in_one_folder(place: Path, tmp_path: Path, command: str) -> None:
    with (tmp_path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        refused = populace(*words_of(command, place, tmp_path))
    assert refused.returncode == 4
    assert f"another process is training in {tmp_path}" in " ".join(refused.stderr.split())


@pytest.mark.parametrize("command", ["train", "correct"])
def test_a_folder_that_cannot_be_written_is_named(place: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "file").write_text("")
    refused = populace(*words_of(command, place, tmp_path / "file" / "out"))
    assert refused.returncode == 4
    assert "cannot be written" in refused.stderr


def test_ctrl_c_while_processes_start_or_end_comes_afterwards_and_is_not_lost() -> None:
    steps: list[str] = []
    # Not always Python's own: some libraries put one around it when they are imported.
    handler = signal.getsignal(signal.SIGINT)

    def end_processes() -> None:
        with _deferred_interrupts():
            # To the process and not to this thread: another thread may take it.
            sender = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT))
            sender.start()
            sender.join()
            steps.append("it goes on")

    with pytest.raises(KeyboardInterrupt):
        end_processes()
    assert steps == ["it goes on"]
    with _deferred_interrupts():
        steps.append("nothing happened")
    assert signal.getsignal(signal.SIGINT) is handler
