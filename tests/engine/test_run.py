from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from populace import Choice, Run, Text, open_run, simulate
from populace.base.errors import (
    BudgetError,
    InvalidAnswerError,
    ReplayMismatchError,
    ScenarioError,
    ServiceError,
    UsageError,
)
from populace.engine.observer import Observer
from populace.engine.simulation import Simulation
from populace.models import Capabilities, Scripted
from populace.runs.compare import compare
from support.models import Counting, varied
from support.scenarios import Broken, Forms, Shirts, Talk


@pytest.mark.parametrize("scenario", [Shirts(), Talk(), Forms()], ids=lambda s: type(s).__name__)
def test_a_replay_needs_no_model_and_writes_an_equal_journal(scenario: Shirts, tmp_path: Path) -> None:
    run = simulate(scenario, model=Counting(), seed=4)
    replayed = run.replay(verify=True, into=tmp_path / "copy")
    assert replayed.digest == run.digest


@pytest.mark.parametrize("model", ["scripted", "scripted:cast", "scripted:support.models:varied"])
def test_a_model_named_by_a_string_can_be_replayed_and_resumed(model: str, tmp_path: Path) -> None:
    run = simulate(Shirts(), model=model, seed=4, workspace=tmp_path / "whole")
    run.replay(verify=True)
    with pytest.raises(BudgetError):
        simulate(Shirts(), model=model, seed=4, workspace=tmp_path / "part", max_calls=run.usage().calls - 1)
    assert open_run("last", tmp_path / "part").resume(max_calls=None).digest == run.digest


def test_a_changed_prompt_stops_the_replay_at_its_step_and_person(shirts_run: Run) -> None:
    manifest = shirts_run.manifest
    manifest.regimes[0].parameters["wording"] = "Yesterday {blue} of you wore blue."
    with pytest.raises(ReplayMismatchError) as caught:
        shirts_run.replay()
    assert (caught.value.step, caught.value.person) == (1, 0)
    assert "“…Yesterday 0 wore blue. Which…”" in caught.value.what
    assert "Yesterday 0 of you wore blue." in caught.value.what
    assert f"populace fork {shirts_run.name} --at 1" in str(caught.value.hint)


def test_a_changed_question_stops_the_replay(shirts_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.scenarios.SHIRTS", Choice("Which hat?", options=("blue", "green")))
    with pytest.raises(ReplayMismatchError, match=r"step 1.*holds 'Which shirt\?', the scenario asks 'Which hat\?'"):
        shirts_run.replay()


def test_other_people_stop_the_replay(shirts_run: Run) -> None:
    shirts_run.manifest.regimes[0].parameters["people_count"] = 11
    with pytest.raises(ReplayMismatchError, match="12 people were asked, now 11"):
        shirts_run.replay()


def test_changed_mechanics_are_found_by_verify(shirts_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shirts, "share_blue", lambda self: 0.5)
    monkeypatch.setattr(Shirts, "metrics", classmethod(lambda cls: {"share_blue": lambda self: 0.5}))
    with pytest.raises(ReplayMismatchError, match=r"step 0: the replay made other metrics: share_blue in row 0"):
        shirts_run.replay(verify=True)


def test_an_answer_that_was_not_drawn_from_its_distribution_is_found_by_verify(tmp_path: Path) -> None:
    run = simulate(Shirts(days=1), model=Counting(), seed=1, keep="nothing")
    tables, facts, usage = run.record._steps[1]  # type: ignore[attr-defined]
    answers = run.record.table(1, "answers")
    assert answers is not None
    flipped = answers.with_columns(value=pl.lit("blue"))
    run.record._steps[1] = ({**tables, "answers": flipped}, facts, usage)  # type: ignore[attr-defined]
    with pytest.raises(ReplayMismatchError, match="is not what the recorded distribution and seed give"):
        run.replay(verify=True)


def test_a_run_that_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    model = Counting()
    with pytest.raises(BudgetError):
        simulate(Shirts(), model=model, seed=1, max_calls=7)
    stopped = Run.open(next((tmp_path / "runs").iterdir()))
    assert stopped.manifest.status.state == "stopped"
    assert stopped.manifest.status.steps < 4
    resumed = stopped.resume(model=model)
    whole = simulate(Shirts(), model=Counting(), seed=1, workspace=tmp_path / "whole")
    assert resumed.digest == whole.digest
    assert model.request_count == whole.usage().calls


def test_resuming_a_complete_run_changes_nothing(shirts_run: Run) -> None:
    model = Counting()
    assert shirts_run.resume(model=model).digest == shirts_run.digest
    assert model.request_count == 0


def test_a_fork_repeats_every_answer_before_the_fork_point(shirts_run: Run) -> None:
    forked = shirts_run.fork(3, seed=8, model=Counting())
    assert forked.answers(until=3).equals(shirts_run.answers(until=3))
    assert not forked.answers(at=3).equals(shirts_run.answers(at=3))
    assert forked.usage(until=3).calls == 0


def test_a_fork_of_a_run_that_is_over_is_not_over_when_it_begins(shirts_run: Run) -> None:
    states: list[str] = []

    class Looking(Observer):
        def on_start(self, simulation: Simulation) -> None:
            states.append(simulation.record.manifest.status.state)

    assert shirts_run.manifest.status.state == "complete"
    assert shirts_run.fork(2, model=Counting(), observer=Looking()).manifest.status.state == "complete"
    assert states == ["running"]


def test_a_fork_without_changes_is_the_same_run(shirts_run: Run) -> None:
    forked = shirts_run.fork(2, model=Counting())
    assert compare(shirts_run, forked).equal
    assert forked.digest == shirts_run.digest


def test_a_fork_of_a_fork_shares_both_histories(shirts_run: Run) -> None:
    forked = shirts_run.fork(2, seed=8, model=Counting())
    again = forked.fork(4, seed=9, model=Counting())
    assert again.answers(until=2).equals(shirts_run.answers(until=2))
    assert again.answers(until=4).equals(forked.answers(until=4))
    assert again.replay(verify=True).steps == [0, 1, 2, 3, 4]


def test_a_fork_can_change_parameters_model_and_temperature(shirts_run: Run) -> None:
    always = Scripted(lambda request: {"blue": 0.9, "green": 0.1}, spec="scripted:always")
    forked = shirts_run.fork(3, parameters={"days": 6}, model=always, temperature=0.0)
    assert forked.steps[-1] == 6
    assert forked.answers(at=3)["value"].unique().to_list() == ["blue"]
    assert forked.manifest.regime.model == "scripted:always"


def test_a_fork_can_hand_over_to_the_rule(shirts_run: Run) -> None:
    forked = shirts_run.fork(2, decider="rule")
    assert forked.answers(at=4).filter(value="blue").height == 4
    assert forked.usage().calls == 0


def test_a_fork_has_its_own_date_and_not_its_parents(shirts_run: Run) -> None:
    shirts_run.manifest.created = "2020-01-01T00:00:00+00:00"
    assert shirts_run.fork(1, decider="rule").manifest.created > "2026"


@pytest.mark.parametrize("at", [0, 6])
def test_a_fork_outside_the_run_is_refused(shirts_run: Run, at: int) -> None:
    with pytest.raises(UsageError, match="can be forked at 1 to 5"):
        shirts_run.fork(at)


def test_an_interview_does_not_change_the_run(shirts_run: Run) -> None:
    before = {path: path.read_bytes() for path in shirts_run.folder.rglob("*") if path.is_file()}
    name = shirts_run.people()["name"][4]
    answers = shirts_run.at(2).interview(Text("How was it?"), people=[name], model=Counting())
    assert answers.ids.to_list() == [4]
    assert answers.one.startswith("I say")
    after = {path: path.read_bytes() for path in shirts_run.folder.rglob("*") if path.is_file()}
    interviews_file = shirts_run.folder / "interviews.jsonl"
    assert {path for path in after if after[path] != before.get(path)} == {interviews_file}
    assert shirts_run.interviews()[0]["step"] == 2


def test_an_interview_is_held_with_people_as_they_were_at_the_step(shirts_run: Run) -> None:
    heard: list[str] = []

    def listen(request: object) -> dict[str, float]:
        heard.append(str(request))
        return {"yes": 1.0, "no": 0.0}

    shirts_run.at(1).interview(
        Choice("Are you well?", options=("yes", "no")),
        people=[0],
        given="You wear {shirt}.",
        model=Scripted(listen, spec="scripted:listen"),
    )
    worn = shirts_run.people(1).person(0).shirt
    assert f"You wear {worn}." in heard[0]


def test_rules_models_and_recordings_are_mixed_by_a_column(shirts_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = Shirts.setup

    def mixed(self: Shirts) -> object:
        people = setup(self)
        return people.with_columns(decider=["rule", "model", "replay"] * 4, model=[None, "scripted:counting", None] * 4)

    monkeypatch.setattr(Shirts, "setup", mixed)
    run = simulate(Shirts(), model=Counting(), seed=1, recording=shirts_run)
    first = run.answers(at=1).sort("person")
    recorded_answers = shirts_run.answers(at=1).sort("person")
    assert first["value"][2::3].to_list() == recorded_answers["value"][2::3].to_list()
    assert first["value"][0::3].to_list() == ["blue" if i % 3 == 0 else "green" for i in range(0, 12, 3)]
    assert run.prompts(at=1)["model"].unique().to_list() == ["scripted:counting"]
    assert run.replay(verify=True).steps == run.steps


def test_people_may_have_a_model_each(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = Shirts.setup
    models = ["scripted:uniform", "scripted:first"]
    monkeypatch.setattr(Shirts, "setup", lambda self: setup(self).with_columns(model=models * 6))
    run = simulate(Shirts(days=1), model="scripted:uniform", seed=1)
    by_first = run.answers().filter(pl.col("person") % 2 == 1)
    assert by_first["value"].unique().to_list() == ["blue"]
    assert run.prompts()["model"].unique().sort().to_list() == sorted(models)


def test_invalid_answers_are_counted_and_change_nothing() -> None:
    model = Scripted(varied, failures=0.2, refusals=0.2, garbage=0.2, spec="scripted:troubled")
    run = simulate(Shirts(people_count=60, groups=60, days=1), model=model, seed=1, on_failure="record")
    counts = run.statuses
    assert counts["unanswered"] and counts["unparseable"] and counts["refused"] and counts["ok"]
    people = run.answers().filter(pl.col("value").is_null())["person"]
    assert run.people().take(people)["shirt"].cast(pl.String).unique().to_list() == ["green"]
    assert 0 < run.invalid_share < 1


def test_invalid_answers_stop_the_run_where_the_scenario_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shirts, "invalid", "raise")
    with pytest.raises(InvalidAnswerError, match=r"1/0: the answer of person \d+ to 'Which shirt\?' is unparseable"):
        simulate(Shirts(), model=Scripted(lambda request: "banana", spec="scripted:banana"))


def test_a_model_that_only_fails_stops_the_run_rather_than_recording_failures(tmp_path: Path) -> None:
    model = Scripted(varied, failures=1.0, spec="scripted:down")
    with pytest.raises(ServiceError, match="the service of scripted:down failed: the script failed on purpose"):
        simulate(Shirts(people_count=30, groups=30), model=model)
    run = Run.open(next((tmp_path / "runs").iterdir()))
    assert run.manifest.status.state == "stopped"
    assert run.steps == [0]


def test_a_model_without_log_probabilities_samples_and_says_so() -> None:
    able = Capabilities(top_tokens=0, seed=True)
    run = simulate(Shirts(days=2), model=Scripted(varied, capabilities=able, spec="scripted:plain"), seed=1)
    assert run.count("sampled") == 24
    assert run.prompts()["method"].unique().to_list() == ["sampled"]
    assert run.replay(verify=True).steps == [0, 1, 2]


def test_an_unreadable_reply_is_put_back_to_the_same_model_and_counted() -> None:
    def slow_learner(request: object) -> str:
        return "blue" if len(request.messages) > 2 else "well, maybe"  # type: ignore[attr-defined]

    able = Capabilities(top_tokens=0, seed=True)
    model = Scripted(slow_learner, capabilities=able, spec="scripted:learner")
    run = simulate(Shirts(days=1), model=model, seed=1)
    assert run.statuses == {"repaired": 12}
    assert run.prompts()["replies"][0].to_list() == ["well, maybe", "blue"]
    assert run.usage().purposes["decision: repair"] > 0


def test_a_scenario_that_breaks_is_blamed_with_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"scenarios.py, line \d+, in step 2: ZeroDivisionError: planned"):
        simulate(Broken(), model=Counting())
    run = Run.open(next((tmp_path / "runs").iterdir()))
    assert run.manifest.status.state == "failed"
    assert run.steps == [0, 1]


def test_a_run_can_be_started_inside_an_event_loop() -> None:
    import asyncio

    async def notebook() -> Run:
        return simulate(Shirts(days=1), model=Counting(), keep="nothing")

    assert asyncio.run(notebook()).steps == [0, 1]


def test_a_decision_can_be_opened_down_to_its_draw(shirts_run: Run) -> None:
    decision = shirts_run.decisions(2, 5)[0]
    assert decision.distribution is not None
    assert decision.draw is not None
    expected = "blue" if decision.draw < decision.distribution["blue"] else "green"
    assert decision.value == expected
    assert decision.prompts[0]["system"] == "You belong to group 2."
    assert "Yesterday" in decision.prompts[0]["user"]


def test_a_script_that_forks_its_own_run_is_not_loaded_again(tmp_path: Path) -> None:
    import subprocess
    import sys

    script = tmp_path / "study.py"
    script.write_text(
        "from populace import Choice, Field, People, Scenario, simulate\n\n\n"
        "class Study(Scenario):\n"
        "    steps: int = Field(3, ge=1)\n\n"
        "    def setup(self):\n        return People.named(2, seed=self.rng)\n\n"
        "    async def step(self):\n"
        "        await self.ask(self.people, Choice('Tea?', options=('yes', 'no')))\n\n\n"
        "print('loaded')\n"
        "run = simulate(Study(), model='scripted:uniform')\n"
        "print(run.fork(2, seed=1).steps, run.replay(verify=True).steps)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "loaded\n[0, 1, 2, 3] [0, 1, 2, 3]\n", done.stderr


def test_events_have_their_columns_also_where_nothing_happened() -> None:
    run = simulate(Shirts(days=1), decider="rule", keep="nothing")
    assert run.events.columns == ["step", "kind", "person", "data"]
    assert run.events.filter(kind="said").height == 0
