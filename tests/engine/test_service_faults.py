"""A server that misbehaves in many ways: no failure becomes an answer, and a resumed run is the run that would have been."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import populace as pc
from populace.base.errors import ModelError, ServiceError
from populace.deciders import scored
from populace.engine.ask_again import DecisionChanges
from populace.experiments import Experiment
from populace.journal import Journal
from populace.runs.caveats import basis_caveats, caveats, run_basis
from support.commands import populace
from support.fake_server import BROKEN, RESET, TOO_LONG, WELL, Act, FakeServer, Seen, failing
from support.faults import ESTIMATED, HARMLESS, STOPPING
from support.scenarios import Shirts, Talk

KEY = "sk-planted-77aa5c1e"
QUICK: dict[str, Any] = {"retries": 0, "timeout_s": 0.4}
PATIENT: dict[str, Any] = {"retries": 4, "timeout_s": 30.0}


class Payments:
    """Lets a server misbehave from one call on, and counts the requests that it answers well."""

    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.answers: Counter[str] = Counter()
        self.fault: Callable[[Seen, int], Act | None] = lambda seen, number: None
        self.calls = 0
        server.acts = self.act

    def act(self, seen: Seen) -> Act | None:
        number, self.calls = self.calls, self.calls + 1
        act = self.fault(seen, number)
        if act is None:
            self.answers[seen.digest] += 1
        return act

    def fail(self, act: Act, since: int = 1, until: float = float("inf")) -> None:
        """Misbehave from one call on, up to another."""
        self.fault = lambda seen, number: act if since <= number < until else None

    def heal(self) -> None:
        """Behave well from now on."""
        self.fault = lambda seen, number: None


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(models={"fake-1": "fake", "fake-2": "fake"}) as server:
        yield server


@pytest.fixture
def payments(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Payments:
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    server.listing = WELL
    return Payments(server)


@pytest.fixture(scope="module")
def undisturbed(server: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the run that no fault disturbed."""
    server.acts = lambda seen: None
    folder = tmp_path_factory.mktemp("undisturbed")
    return start(server, workspace=folder, **PATIENT).digest


def start(server: FakeServer, **settings: Any) -> pc.Run:
    return pc.simulate(Talk(people_count=3, days=2), model=f"{server.url}#fake-1", seed=1, **settings)


def stopped_run(server: FakeServer) -> pc.Run:
    """The run after it stopped, of which no committed step holds a failure."""
    with pytest.raises((ServiceError, ModelError)) as caught:
        start(server, **QUICK)
    assert KEY not in str(caught.value)
    run = pc.open_run("last")
    status = run.manifest.status
    assert status.stop is not None
    assert (status.state, status.stop.kind) == ("stopped", "service")
    assert set(run.statuses) <= {"ok"}
    return run


def resumed_digest(run: pc.Run) -> str:
    run.resume(**PATIENT)
    assert Journal(run.folder).manifest.status.state == "complete"
    return run.digest


def caveat_ids(run: pc.Run) -> set[str]:
    return {caveat.id for caveat in basis_caveats(run_basis(run))}


@pytest.mark.parametrize("kind", STOPPING)
def test_a_fault_stops_the_run_and_resuming_gives_the_run_that_would_have_been(
    kind: str, server: FakeServer, payments: Payments, undisturbed: str, tmp_path: Path
) -> None:
    payments.fail(STOPPING[kind])
    run = stopped_run(server)
    payments.heal()
    assert resumed_digest(run) == undisturbed
    assert set(payments.answers.values()) == {1}, "nothing is paid for twice"
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize("kind", ["gzip bomb", "deflate bomb", "large", "endless"])
def test_no_more_of_a_body_is_read_than_the_limit(
    kind: str, server: FakeServer, payments: Payments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("populace.models.bounded_http.MAX_REPLY_BYTES", 1 << 20)
    payments.fail(STOPPING[kind])
    tracemalloc.start()
    try:
        with pytest.raises(ServiceError, match="the reply is larger than 1 MiB"):
            start(server, retries=0, timeout_s=30.0, concurrency=1)
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("call", range(9))
def test_a_server_that_dies_at_any_call_leaves_no_trace(
    call: int, server: FakeServer, payments: Payments, undisturbed: str
) -> None:
    payments.fail(RESET, since=call)
    run = stopped_run(server)
    payments.heal()
    assert resumed_digest(run) == undisturbed
    assert set(payments.answers.values()) == {1}


@pytest.mark.parametrize("call", range(0, 9, 2))
def test_a_server_that_dies_while_two_lots_are_asked_leaves_no_trace(
    call: int, server: FakeServer, payments: Payments, undisturbed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scored, "_LOT", 1)
    payments.fail(RESET, since=call)
    run = stopped_run(server)
    payments.heal()
    assert resumed_digest(run) == undisturbed
    assert set(payments.answers.values()) == {1}


def test_a_server_that_is_still_down_leaves_the_run_as_it_was(
    server: FakeServer, payments: Payments, undisturbed: str
) -> None:
    payments.fail(BROKEN, since=4)
    run = stopped_run(server)
    for _ in range(2):
        with pytest.raises(ServiceError):
            run.resume(**QUICK)
    server.listing = failing(503)
    with pytest.raises(ServiceError):
        run.resume(**QUICK)
    server.listing = Act(manner="reset")
    with pytest.raises(ModelError, match="no server answers"):
        run.resume(**QUICK)
    assert pc.open_run("last").manifest.status.state == "stopped"
    server.listing = WELL
    payments.heal()
    assert resumed_digest(run) == undisturbed
    assert set(payments.answers.values()) == {1}


@pytest.mark.parametrize("kind", HARMLESS)
def test_what_is_only_strange_changes_nothing(
    kind: str, server: FakeServer, payments: Payments, undisturbed: str
) -> None:
    payments.fail(HARMLESS[kind])
    assert start(server, **PATIENT).digest == undisturbed


@pytest.mark.parametrize("kind", ESTIMATED)
def test_tokens_that_a_server_does_not_count_are_estimated_marked_and_limited(
    kind: str, server: FakeServer, payments: Payments
) -> None:
    payments.fail(ESTIMATED[kind], since=0)
    run = start(server, **PATIENT)
    usage = run.usage()
    assert usage.estimated == usage.calls == 9
    honest = sum(len(each["content"]) for seen in server.seen[-9:] for each in seen.body["messages"]) / 4
    assert usage.prompt_tokens >= honest
    assert "estimated-tokens" in caveat_ids(run)
    with pytest.raises(pc.PopulaceError, match="the budget of 100 tokens is reached"):
        pc.simulate(Talk(people_count=3, days=2), model=f"{server.url}#fake-1", seed=2, max_tokens=100, **PATIENT)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_and_the_other_server_sees_nothing(
    status: int, server: FakeServer, payments: Payments, undisturbed: str
) -> None:
    with FakeServer() as other:
        payments.fail(Act(status, b"", headers={"Location": f"{other.url}/chat/completions"}), since=2)
        run = stopped_run(server)
        server.listing = Act(status, b"", headers={"Location": f"{other.url}/models"})
        with pytest.raises(ModelError, match="redirects to '127.0.0.1'"):
            run.resume(**QUICK)
        server.listing = WELL
        assert (other.listed, other.chats, other.probes, other.keys) == (0, 0, 0, set())
    assert "redirects" in run.manifest.status.reason
    payments.heal()
    assert resumed_digest(run) == undisturbed
    assert set(payments.answers.values()) == {1}


def test_faults_that_pass_are_not_seen_in_the_run(
    server: FakeServer, payments: Payments, undisturbed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    troubles = [act for kind, act in STOPPING.items() if kind not in SLOW | FINAL]
    once = iter(troubles)
    payments.fault = lambda seen, number: next(once, None) if number % 2 else None
    pause = asyncio.sleep
    monkeypatch.setattr("populace.models.openai_compatible.asyncio.sleep", lambda seconds: pause(0))
    assert start(server, retries=len(troubles), timeout_s=30.0, concurrency=1).digest == undisturbed


SLOW = {"hang", "drip", "drip of headers", "endless", "429 wait an hour", "429 wait for ever"}
FINAL = {"no credit", "key refused", "key forbidden", "model gone", "400 without a reason", "422"}


def test_a_key_that_an_error_repeats_stays_out_of_messages_and_files(
    server: FakeServer, payments: Payments, tmp_path: Path
) -> None:
    for act in (
        failing(400, f"The key {KEY} may not."),
        Act(body={"error": {"message": f"{KEY} is unknown here."}}),
        failing(500, KEY, Retry_After=KEY),
    ):
        payments.fail(replace(act, headers={**act.headers, "X-Key": KEY}))
        stopped_run(server)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_with_record_a_failure_is_a_missing_answer_and_every_report_says_so(
    server: FakeServer, payments: Payments
) -> None:
    payments.fail(BROKEN, since=4, until=6)
    run = start(server, on_failure="record", **QUICK)
    assert run.statuses == {"ok": 10, "unanswered": 2}
    assert run.manifest.status.state == "complete"
    assert {"service-failures", "recorded-failures"} <= caveat_ids(run)
    assert "2 answers are missing because the service of the model failed" in str(caveats(run))
    assert run.fork(2, on_failure="stop", **PATIENT).manifest.regime.on_failure != "record"


def test_a_scenario_may_record_failures_by_default(
    server: FakeServer, payments: Payments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Talk, "on_failure", "record")
    payments.fail(BROKEN, since=4, until=6)
    assert start(server, **QUICK).statuses["unanswered"] == 2
    payments.calls = 0
    with pytest.raises(ServiceError):
        pc.simulate(Talk(people_count=3, days=2), model=f"{server.url}#fake-1", seed=9, on_failure="stop", **QUICK)


def test_a_prompt_that_is_too_long_is_an_answer_that_is_missing_and_named(
    server: FakeServer, payments: Payments
) -> None:
    payments.fail(TOO_LONG, since=4, until=5)
    run = start(server, **QUICK)
    assert run.statuses == {"ok": 11, "unanswered": 1}
    assert run.prompts().filter(status="rejected").height == 1
    assert "1 answers are missing because the model rejected the prompt" in str(caveats(run))
    assert run.replay(verify=True).record.facts(1) == run.record.facts(1)


@pytest.mark.parametrize("act", [TOO_LONG, failing(413, "Payload too large.")])
def test_a_server_that_rejects_every_prompt_stops_the_run(act: Act, server: FakeServer, payments: Payments) -> None:
    payments.fail(act, since=0)
    with pytest.raises(ServiceError, match="rejected every prompt"):
        start(server, **QUICK)
    assert pc.open_run("last").steps == [0]


def test_a_server_that_begins_to_reject_everything_stops_a_large_run(server: FakeServer, payments: Payments) -> None:
    payments.fail(TOO_LONG, since=30)
    with pytest.raises(ServiceError, match="rejected every prompt"):
        pc.simulate(Shirts(people_count=30, groups=30, days=3), model=f"{server.url}#fake-1", **QUICK)
    assert pc.open_run("last").steps == [0, 1]


def test_an_experiment_stops_and_goes_on_as_if_nothing_had_been(
    server: FakeServer, payments: Payments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause = asyncio.sleep
    monkeypatch.setattr("populace.models.openai_compatible.asyncio.sleep", lambda seconds: pause(0))
    experiment = Experiment(
        name="days",
        scenario="support.scenarios:Shirts",
        factors={"groups": [1, 3]},
        parameters={"people_count": 3, "days": 2},
        model=f"{server.url}#fake-1",
        replicates=2,
        outcomes=["share_blue"],
        keep="calls",
    )
    undisturbed = experiment.run(workspace=tmp_path / "undisturbed", workers=1, check=False)
    payments.answers.clear()
    for since in (0, 3, 5):
        payments.calls = 0
        payments.fail(RESET, since=since)
        server.listing = Act(manner="reset") if since == 0 else WELL
        results = experiment.run(workspace=tmp_path / "disturbed", workers=1, check=False)
        assert results.state == "stopped"
        assert results.failures.height == 0, "no run counts as failed"
    payments.heal()
    results = experiment.run(workspace=tmp_path / "disturbed", workers=1, check=False)
    assert results.state == "complete"
    assert results.outcome().equals(undisturbed.outcome())
    assert set(payments.answers.values()) == {1}


def test_interviews_and_repeated_decisions_raise_and_record_nothing(server: FakeServer, payments: Payments) -> None:
    run = start(server, **PATIENT)
    question = pc.Choice("Tea or coffee?", options=("tea", "coffee"))
    payments.fail(BROKEN, since=0)
    calls = pc.CallSettings(**QUICK)
    with pytest.raises(ServiceError):
        run.at(1).interview(question, calls=calls)
    with pytest.raises(ServiceError):
        run.at(1).ask_again(0, path="1/0:0/0", changes=DecisionChanges(wording="Well?"), calls=calls)
    assert run.interviews() == []
    payments.heal()
    assert run.at(1).interview(question, calls=calls).statuses() == {"ok": 3}


def test_the_command_line_says_how_to_go_on(
    server: FakeServer, payments: Payments, tmp_path: Path, undisturbed: str
) -> None:
    folder = tmp_path / "a workspace"
    command = ["run", "support.scenarios:Talk", "--people-count", "3", "--days", "2", "--seed", "1", "--no-chart"]
    command += ["--model", f"{server.url}#fake-1", "--retries", "0", "--workspace", str(folder)]
    payments.fail(BROKEN, since=4)
    result = populace(*command)
    name = pc.open_run("last", folder).name
    assert result.returncode == 5
    text = " ".join((result.stdout + result.stderr).split())
    assert f"populace resume {name} --workspace '{folder}'" in text
    payments.fail(STOPPING["key refused"], since=4)
    result = populace("resume", name, "--retries", "0", "--workspace", str(folder))
    assert result.returncode == 3
    assert f"populace resume {name} --workspace '{folder}'" in " ".join((result.stdout + result.stderr).split())
    payments.heal()
    assert populace("resume", name, "--no-chart", "--workspace", str(folder)).returncode == 0
    assert pc.open_run(name, folder).digest == undisturbed
