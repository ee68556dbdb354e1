"""What the doctor says of a model after a few small calls."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from populace.base.errors import ModelKeyError, ScenarioError, UnknownNameError
from populace.broker import CallStore
from populace.engine.discovery import find_scenario
from populace.tools.doctor import diagnose
from populace.tools.model_check import AbilityCheck, check_abilities
from support.commands import populace
from support.fake_server import Act, FakeServer, Seen, failing


def abilities(server: FakeServer, store: CallStore | None = None) -> dict[str, AbilityCheck]:
    return {check.name: check for check in check_abilities(f"{server.url}#fake-1", store)}


def say(text: str) -> Act:
    return Act(changes={"message": {"role": "assistant", "content": text}})


def test_a_server_that_can_do_everything_is_asked_four_times():
    with FakeServer(models={"fake-1": "vllm"}) as server:
        checks = abilities(server)
        assert server.probes + server.chats == 4
    assert {name for name, check in checks.items() if check.state == "yes"} >= {
        "address",
        "key",
        "log-probabilities",
        "JSON schema",
        "seed",
        "first words",
    }
    assert checks["price"].state == checks["context"].state == "unknown"


def test_what_a_server_lacks_is_said_with_what_it_means_for_a_run():
    replies = iter(["one two", "three four"])

    def treat(seen: Seen) -> Act:
        if "response_format" in seen.body:
            return failing(400, "response_format is not supported")
        return say(next(replies))

    with FakeServer(treat, logprobs="refused") as server:
        checks = abilities(server)
    assert {
        name: checks[name].state for name in ("log-probabilities", "JSON schema", "seed", "first words")
    } == dict.fromkeys(("log-probabilities", "JSON schema", "seed", "first words"), "no")
    assert "one sample, not a distribution" in checks["log-probabilities"].meaning
    assert "response_format is not supported" in checks["JSON schema"].result
    assert checks["seed"].result == "two replies to one call differ"


def test_a_schema_that_a_server_ignores_is_not_asked_for_again(tmp_path):
    store = CallStore(tmp_path / "calls.sqlite")
    with FakeServer(lambda seen: say("seven") if "response_format" in seen.body else None) as server:
        assert abilities(server, store)["JSON schema"].result == "ignored"
        facts = store.recall(f"{server.url}#fake-1")
    store.close()
    assert facts is not None and facts["schema"] is False and facts["top_tokens"] == 20


def test_a_reply_that_is_cut_short_says_nothing_about_the_schema():
    cut = Act(changes={"finish_reason": "length", "message": {"role": "assistant", "content": ""}})
    with FakeServer(lambda seen: cut) as server:
        checks = abilities(server)
    assert (checks["JSON schema"].state, checks["seed"].state) == ("unknown", "unknown")


def test_doctor_prints_each_ability_with_its_meaning_and_ends_with_zero(tmp_path):
    with FakeServer(logprobs="ignored") as server:
        done = populace("doctor", "--model", f"{server.url}#fake-1", "--workspace", str(tmp_path))
        data = json.loads(
            populace("doctor", "--model", f"{server.url}#fake-1", "--workspace", str(tmp_path), "--json").stdout
        )["data"]
    assert done.returncode == 0
    assert "✗ log-probabilities" in done.stdout and "one sample, not a distribution" in done.stdout
    assert {check["name"] for check in data["checks"]} >= {"key", "address", "seed", "JSON schema"}


def test_doctor_names_a_missing_key_and_a_string_that_names_no_model(monkeypatch, tmp_path):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    with pytest.raises(ModelKeyError, match="ANTHROPIC_API_KEY"):
        check_abilities("anthropic:claude-x")
    with pytest.raises(UnknownNameError, match="Did you mean anthropic:claude-x"):
        check_abilities("claude-x")
    assert populace("doctor", "--model", "claude-x", "--workspace", str(tmp_path)).returncode == 2


@pytest.mark.parametrize(
    ("settings", "model"), [({}, "scripted:slow"), ({"model": "scripted:first"}, "scripted:first")]
)
def test_trial_runs_of_the_doctor_use_a_script_or_the_model_that_is_named(settings, model, monkeypatch: Any):
    commands: list[list[str]] = []

    def record(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, "", "stopped")

    monkeypatch.setattr("populace.tools.doctor.subprocess.run", record)
    with pytest.raises(ScenarioError, match="stopped"):
        diagnose("norms", find_scenario("norms"), ["--days", "2"], **settings)
    assert commands[0][commands[0].index("--model") + 1] == model
    assert Path(commands[0][0]).name.startswith("python")


def test_a_script_is_named_by_its_model_string() -> None:
    checks = {check.name: check.result for check in check_abilities("scripted:uniform")}
    assert checks["model"] == "scripted:uniform"
