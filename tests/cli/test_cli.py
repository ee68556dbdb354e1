from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from populace.cli import COMMANDS, cli
from populace.journal import Journal
from support.commands import populace

TESTS = str(Path(__file__).parent.parent)


def reported(*arguments: str, **environment: str) -> Any:
    done = populace(*arguments, "--json", **environment)
    document = json.loads(done.stdout)
    assert document["status"] == "ok", done.stderr
    return document["data"]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("workspace")
    small = ["--workers", "5", "--days", "3", "--model", "scripted:uniform", "--workspace", str(place)]
    assert populace("run", "norms", *small, "--seed", "1").returncode == 0
    return place


@pytest.fixture
def run_name(workspace: Path) -> str:
    return sorted(path.name for path in (workspace / "runs").iterdir())[0]


def test_every_command_has_one_sentence_of_help() -> None:
    with cli.make_context("populace", ["--help"], resilient_parsing=True) as context:
        for name, text in COMMANDS.items():
            command = cli.get_command(context, name)  # type: ignore[attr-defined]
            assert command.help == text
            assert text.endswith(".")


def test_run_ends_with_a_result_and_the_paths_of_run_and_chart(tmp_path: Path) -> None:
    done = populace("run", "norms", "--workers", "4", "--days", "2", "--model", "scripted:uniform")
    assert done.returncode == 0, done.stderr
    run = re.search(r"run\s+(\S+)", done.stdout)
    chart = re.search(r"chart\s+(\S+\.png)", done.stdout)
    assert run and Path(run.group(1)).is_dir()
    assert chart and Path(chart.group(1)).is_file()
    assert "share blue" in done.stdout
    assert "8: 8 ok" in done.stdout


def test_a_complete_run_that_lost_its_last_step_is_not_called_complete() -> None:
    name = reported("run", "norms", "--workers", "2", "--days", "1", "--model", "scripted:uniform")["run"]
    shutil.rmtree(Path("runs") / name / "steps" / "00001")
    assert f"{name}  damaged: its folder is not as its manifest says" in populace("show", name).stdout
    resumed = populace("resume", name)
    assert resumed.returncode == 4
    assert "its last step is missing" in resumed.stderr


def test_run_reports_one_json_document() -> None:
    found = reported("run", "norms", "--workers", "4", "--days", "2", "--model", "scripted:uniform")
    assert found["state"] == "complete"
    assert found["parameters"]["workers"] == 4
    assert [row["step"] for row in found["metrics"]] == [0, 1, 2]
    assert found["statuses"] == {"ok": 8}


def test_scenario_parameters_are_flags_with_bounds_and_help() -> None:
    shown = populace("run", "norms", "--help").stdout
    assert "--initial-share NUMBER" in shown
    assert re.search(r"The share in blue on the first day\.\s+\[>= 0;\s+<= 1; default: 0\.5\]", shown)
    assert "--swap / --no-swap" in shown


def test_show_opens_one_decision_down_to_prompt_and_draw(workspace: Path, run_name: str) -> None:
    shown = populace("show", run_name, "--step", "2", "--person", "1", "--workspace", str(workspace)).stdout
    for part in ("You are ", "Which shirt do you wear to work today?", "draw", "call", "0.500", "scripted:uniform"):
        assert part in shown
    (found,) = reported("show", run_name, "--step", "2", "--person", "1", "--workspace", str(workspace))
    assert found["distribution"] == {"blue": 0.5, "green": 0.5}


def test_show_lists_all_decisions_of_a_person(workspace: Path, run_name: str) -> None:
    found = reported("show", run_name, "--person", "1", "--workspace", str(workspace))
    assert [decision["step"] for decision in found] == [1, 2, 3]


def test_list_shows_runs_newest_first_with_state_and_calls(workspace: Path, run_name: str) -> None:
    rows = reported("list", "--workspace", str(workspace))
    assert run_name in [row["run"] for row in rows]
    assert {"run", "state", "steps", "model", "seed", "invalid", "calls", "parent"} <= set(rows[0])


def test_list_of_an_empty_workspace_says_how_to_begin(tmp_path: Path) -> None:
    assert "populace run norms" in populace("list", "--workspace", str(tmp_path)).stdout


def test_replay_verifies_without_a_model(workspace: Path, run_name: str) -> None:
    found = reported("replay", run_name, "--verify", "--workspace", str(workspace))
    assert found["steps"] == 3
    assert found["verified"]


def test_fork_and_compare_find_the_difference(workspace: Path, run_name: str) -> None:
    announce = '{"kind": "announce", "at": 2, "text": "Wear green."}'
    place = ["--workspace", str(workspace)]
    forked = reported("fork", run_name, "--at", "2", "--intervention", announce, "--set", "days=4", *place)
    assert forked["parent"] == {"run": run_name, "at": 2}
    compared = populace("compare", run_name, forked["run"], "--json", *place)
    assert compared.returncode == 6
    assert json.loads(compared.stdout)["data"]["parting"]["step"] == 2
    assert populace("compare", run_name, run_name, *place).returncode == 0


def test_interview_and_export(workspace: Path, run_name: str, tmp_path: Path) -> None:
    place = ["--workspace", str(workspace)]
    asked = reported(
        "interview", run_name, "How happy are you?", "--scale", "1-5", "--person", "2", "--step", "1", *place
    )
    assert asked["answers"][0]["value"] in range(1, 6)
    files = reported("export", run_name, str(tmp_path / "out"), *place)["files"]
    assert {Path(file).name for file in files} == {
        "answers.parquet",
        "note.parquet",
        "prompts.parquet",
        "people.parquet",
        "metrics.parquet",
    }


def test_estimate_spends_nothing_and_gives_a_range(tmp_path: Path) -> None:
    found = reported("estimate", "norms", "--model", "openai:some-model")
    assert found["decisions"] == [140, 140]
    assert found["calls"][0] < found["calls"][1] <= 140
    assert found["cost"] is None


def test_probe_draws_response_curves(tmp_path: Path) -> None:
    found = reported(
        "probe", "norms", "--vary", "initial_share=0:1:0.5", "--vary", "personas=graded,none", "--workers", "4",
        "--model", "scripted:uniform", "--model", "scripted:first", "--chart", str(tmp_path / "curve.png"),
    )  # fmt: skip
    assert len(found["curve"]) == 3 * 2 * 2
    assert (tmp_path / "curve.png").is_file()


def test_new_writes_a_scenario_that_runs_and_is_deterministic(tmp_path: Path) -> None:
    assert populace("new", "my_town").returncode == 0
    assert reported("run", "my_town.py", "--model", "scripted:uniform", "--days", "2")["steps"] == 2
    examined = populace("doctor", "my_town.py", "--days", "2")
    assert examined.returncode == 0, examined.stdout + examined.stderr
    assert "is deterministic" in examined.stdout


def test_doctor_without_a_scenario_checks_the_machine() -> None:
    rows = {row["check"]: row for row in json.loads(populace("doctor", "--json").stdout)["data"]}
    assert {"python", "polars", "xllamacpp", "embedded model", "call store", "disk"} <= set(rows)


def test_doctor_ends_with_six_where_a_scenario_does_not_repeat() -> None:
    done = populace("doctor", "support.scenarios:Clockwork", PYTHONPATH=TESTS)
    assert done.returncode == 6
    assert "not deterministic" in done.stdout
    assert "hash() differs between processes" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["run", "norm"], 2, r"no scenario named 'norm'\.\s+Did you mean 'norms'"),
        (["rnu", "norms"], 2, r"no command named 'rnu'\.\s+Did you mean 'run'"),
        (["verify", "last"], 2, r"Did you mean `populace replay RUN --verify`\?"),
        (["run", "norms", "--dayz", "3"], 2, r"no option --dayz\. Did you mean --days"),
        (["run", "norms", "--days", "0"], 2, r"days = '0'.*greater than or equal to 1"),
        (["run", "norms", "--days", "many"], 2, r"days = 'many'"),
        (["run", "norms", "--model", "embeded"], 2, r"no model named 'embeded'"),
        (["run", "norms", "--model", "embedded:nowhere.gguf"], 3, r"there is no model file nowhere\.gguf"),
        (["run", "norms", "--model", "http://127.0.0.1:9/v1"], 3, r"no server answers at http://127\.0\.0\.1:9/v1"),
        (["run", "norms", "--model", "scripted:no.such:thing"], 3, r"could not be loaded"),
        (["run", "nowhere.py"], 2, r"there is no file nowhere\.py"),
        (["show", "nothing"], 4, r"no run 'nothing'"),
        (["fork", "nothing", "--at", "1"], 4, r"no run 'nothing'"),
        (["run", "norms", "--model", "scripted:uniform", "--intervention", "{}"], 2, r"intervention"),
        (["run", "norms", "--model", "openai:x", "--max-money", "1"], 2, r"no price is known for openai:x"),
        (["probe", "norms", "--vary", "initial_share", "--model", "scripted:uniform"], 2, r"NAME=VALUES"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_paragraph_and_an_exit_code(
    arguments: list[str], code: int, says: str, tmp_path: Path
) -> None:
    done = populace(*arguments)
    assert done.returncode == code, done.stderr
    assert re.search(says, done.stderr), done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists() or not any((tmp_path / "runs").iterdir())


def test_an_error_is_a_json_document_too() -> None:
    done = populace("run", "norm", "--json")
    error = json.loads(done.stdout)
    assert error["status"] == "error"
    assert error["error"]["code"] == "P101"


def test_a_budget_stops_the_run_and_prints_how_to_go_on(tmp_path: Path) -> None:
    done = populace("run", "norms", "--model", "scripted:uniform", "--max-calls", "30")
    assert done.returncode == 5
    found = re.search(r"populace (resume \S+)", done.stderr)
    assert found
    resumed = reported(*found.group(1).split())
    assert resumed["state"] == "complete"
    assert resumed["usage"]["calls"] < 140


def wait_for_steps(folder: Path, steps: int) -> Path:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        runs = list(folder.glob("runs/*/manifest.json"))
        if runs and len(Journal(runs[0].parent).steps()) > steps:
            return runs[0].parent
        time.sleep(0.02)
    raise AssertionError("the run did not get there")


def test_ctrl_c_abandons_the_step_and_prints_how_to_go_on(tmp_path: Path) -> None:
    arguments = ["run", "norms", "--model", "scripted:slow", "--days", "100000", "--concurrency", "1"]
    variables = os.environ | {"PYTHONPATH": TESTS}
    command = [sys.executable, "-m", "populace", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables) as process:
        folder = wait_for_steps(tmp_path, 2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert f"populace resume {folder.name}" in said
    assert "Traceback" not in said
    assert Journal(folder).manifest.status.state == "stopped"


def test_a_run_that_was_killed_is_shown_as_died(tmp_path: Path) -> None:
    arguments = ["run", "norms", "--model", "scripted:slow", "--days", "100000"]
    command = [sys.executable, "-m", "populace", *arguments]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        folder = wait_for_steps(tmp_path, 1)
        process.kill()
    assert reported("show", folder.name)["state"] == "died"


def test_help_of_the_program_names_every_command() -> None:
    shown = populace("--help").stdout
    assert all(f"  {name} " in shown for name in COMMANDS)


def test_output_into_a_closed_pipe_is_not_an_error(workspace: Path) -> None:
    line = f"{sys.executable} -m populace list --workspace {workspace} | true"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
