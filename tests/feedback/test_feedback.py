from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from populace import Run, simulate
from populace.base.errors import PopulaceError, UnknownNameError, UsageError
from populace.cli import cli
from populace.engine.workspace import Workspace
from populace.experiments import Experiment
from populace.feedback import FeedbackStore, Item, Queue, QueueSample, parse_rewrite
from populace.feedback.feedback import check_rater
from populace.models import Scripted
from populace.scenarios.norms import Norms
from support.models import varied
from support.scenarios import Forms, Shirts, Talk


def made(scenario: Any, seed: int = 1, **options: Any) -> Run:
    return simulate(scenario, model=Scripted(varied, spec="scripted:varied"), seed=seed, **options)


def drawn(*runs: Run, kind: str = "decision", size: int = 12, seed: int = 0) -> QueueSample:
    place = Workspace()
    return Queue.of(place, [run.name for run in runs], kind, size).draw(place, seed)


def one(kind: str = "decision", **asked: Any) -> Item:
    question = {"kind": "choice", "text": "Which?", "values": ["x", "y"], "words": ["blue", "green"]} | asked
    return Item("k", "r", "", "", 1, "1/0", 0, kind, "decision", "m", "You.", "Which?", "", "blue", "x", question)  # type: ignore[arg-type]


def test_an_item_is_a_decision_of_the_run_with_its_exact_prompt() -> None:
    run = made(Shirts())
    items = drawn(run).items
    assert len(items) == 12
    for item in items:
        decision = next(d for d in run.decisions(item.step, item.person) if d.path == item.path)
        assert (item.value, item.user, item.system) == (
            decision.value,
            decision.prompts[0]["user"],
            decision.prompts[0]["system"],
        )
        assert item.messages[-1] == {"role": "user", "content": item.user}


def test_a_queue_is_drawn_evenly_over_its_runs_and_by_its_seed() -> None:
    runs = [made(Shirts(), seed=seed) for seed in (1, 2, 3)]
    first, again, other = drawn(*runs), drawn(*runs), drawn(*runs, seed=1)
    assert first == again != other
    assert pl.Series([item.run for item in first.items]).value_counts()["count"].to_list() == [4, 4, 4]


def test_a_run_with_few_answers_leaves_its_place_to_others() -> None:
    small, large = made(Shirts(people_count=1, days=2), seed=1), made(Shirts(), seed=2)
    found = [item.run for item in drawn(small, large, size=10).items]
    assert found.count(small.name) == 2 and len(found) == 10


def test_the_same_answer_to_the_same_prompt_is_judged_once() -> None:
    run = simulate(Shirts(groups=1, days=1), model="scripted:uniform", seed=1)
    assert len(drawn(run, size=12).items) == 2


def test_utterances_and_decisions_are_told_apart() -> None:
    run = made(Talk())
    assert {item.question["kind"] for item in drawn(run, kind="utterance").items} == {"text"}
    assert {item.question["kind"] for item in drawn(run).items} == {"rating"}


def test_what_a_rule_decided_is_not_judged() -> None:
    run = simulate(Shirts(), decider="rule", seed=1)
    assert drawn(run).items == ()


def test_the_order_is_each_raters_own_and_the_same_again() -> None:
    found = drawn(made(Shirts()))
    ada, ben = found.in_rater_order("ada", 0), found.in_rater_order("ben", 0)
    assert ada == found.in_rater_order("ada", 0)
    assert ada != ben and sorted(ada, key=lambda i: i.key) == sorted(ben, key=lambda i: i.key)


def test_a_run_that_goes_on_gives_the_same_answers_later() -> None:
    place, run = Workspace(), made(Shirts(days=4))
    queue = Queue.of(place, [run.name])
    early = Queue(tuple(type(s)(s.run, 2) for s in queue.sources), size=5)
    assert {item.step for item in early.draw(place).items} <= {1, 2}


def test_a_queue_is_found_again_by_its_name_which_tells_nothing() -> None:
    place, run = Workspace(), made(Shirts())
    queue = Queue.of(place, [run.name], "decision", 9)
    queue.save(place)
    assert Queue.open(place, queue.name) == queue
    assert run.name not in queue.name
    with pytest.raises(UnknownNameError):
        Queue.open(place, "../../etc")


def test_a_run_that_went_away_is_told_as_a_number_and_the_others_stay(tmp_path: Path) -> None:
    place, gone, kept = Workspace(), made(Shirts(), seed=1), made(Shirts(), seed=2)
    queue = Queue.of(place, [gone.name, kept.name], size=6)
    gone.folder.rename(tmp_path / "elsewhere")
    found = queue.draw(place)
    assert found.missing == 1
    assert {item.run for item in found.items} == {kept.name}


def test_the_runs_that_an_experiment_kept_are_judged_with_their_arms() -> None:
    place = Workspace()
    results = Experiment(
        name="e", scenario="norms", factors={"personas": ["none", "graded"]}, parameters={"workers": 4, "days": 2},
        model="scripted:uniform", replicates=2, outcomes=["share_blue"], keep="run",
    ).run(workers=1)  # fmt: skip
    found = Queue.of(place, [results.name], size=8).draw(place)
    assert {item.arm for item in found.items} == {"personas=none", "personas=graded"}
    assert {item.experiment for item in found.items} == {results.name}


def test_an_experiment_that_kept_no_run_says_so() -> None:
    results = Experiment(
        name="e", scenario="norms", factors={"personas": ["none", "graded"]}, parameters={"workers": 4, "days": 2},
        model="scripted:uniform", replicates=2, outcomes=["share_blue"],
    ).run(workers=1)  # fmt: skip
    with pytest.raises(UsageError, match="kept none"):
        Queue.of(Workspace(), [results.name])


def test_a_line_holds_all_that_learning_needs() -> None:
    run = made(Shirts())
    item = drawn(run).items[0]
    FeedbackStore().score(item, "ada", 4, queue="q", seed=3)
    line = json.loads((Path("feedback") / "ada.jsonl").read_text())
    assert line["schema"] == 1 and line["score"] == 4 and line["rater"] == "ada" and line["held"]
    assert (line["run"], line["step"], line["path"], line["person"]) == (run.name, item.step, item.path, item.person)
    assert line["messages"] == item.messages and line["reply"] == item.reply and line["value"] == item.value


def test_the_last_word_about_an_answer_holds() -> None:
    feedback, items = FeedbackStore(), drawn(made(Shirts())).items
    feedback.score(items[0], "ada", 2)
    feedback.score(items[0], "ada", 5)
    feedback.skip(items[1], "ada")
    feedback.score(items[2], "ada", 1)
    feedback.withdraw(items[2], "ada")
    table = feedback.table()
    assert table.select("item", "verdict", "score").rows() == [
        (items[0].key, "scored", 5),
        (items[1].key, "skipped", None),
    ]


def test_two_raters_are_kept_apart() -> None:
    feedback, items = FeedbackStore(), drawn(made(Shirts())).items
    feedback.score(items[0], "ada", 2)
    feedback.score(items[0], "ben", 4)
    assert {rater: feedback.judgements(rater)[items[0].key]["score"] for rater in feedback.raters()} == {
        "ada": 2,
        "ben": 4,
    }


@settings(max_examples=25, deadline=None)
@given(cut=st.integers(1, 600))
def test_a_line_that_a_kill_tore_costs_that_line_only(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    feedback = FeedbackStore(tmp_path_factory.mktemp("torn"))
    items = [Item(**(one().__dict__ | {"key": key})) for key in "abc"]
    feedback.score(items[0], "ada", 1)
    feedback.score(items[1], "ada", 2)
    path = feedback.folder / "ada.jsonl"
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    cut = min(cut, len(whole) - second)
    path.write_bytes(whole[: len(whole) - cut])
    before = set(feedback.judgements("ada"))
    assert before == ({"a", "b"} if cut == 1 else {"a"})
    feedback.score(items[2], "ada", 3)
    assert set(feedback.judgements("ada")) == before | {"c"}
    assert feedback.unreadable() == (1 if 1 < cut < len(whole) - second else 0)


def test_a_file_of_a_newer_version_is_refused() -> None:
    folder = Path("feedback")
    folder.mkdir()
    (folder / "ada.jsonl").write_text(json.dumps({"schema": 2, "item": "x"}) + "\n")
    with pytest.raises(UsageError, match="newer"):
        FeedbackStore().table()


WRONG = {
    "item": [1, None, [1], {"a": 1}], "rater": [None, 5], "verdict": [None, 5, "liked"], "person": [None, [1], 0.5, 2**63],
    "score": ["x", float("nan"), 10**30, 3.5, 0, 6, True], "step": ["x", 2**63, [1]], "seed": ["x"], "run": [[1], 5],
    "messages": [5, ["x"], [{"role": 1, "content": "x"}], [{}]], "held": [5], "schema": ["x", True, None, -(2**64)],
    "arm": [{}], "model": [5], "rewrite": [[1]], "value": [5], "kind": [[1]],
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_line_that_is_no_feedback_is_named_and_the_others_count(name: str, value: Any) -> None:
    feedback = FeedbackStore()
    feedback.score(one(), "ada", 4)
    feedback.score(one(), "ben", 2)
    path = feedback.folder / "ada.jsonl"
    line = json.loads(path.read_text()) | {"item": "other", name: value}
    path.write_text(path.read_text() + json.dumps(line) + "\n")
    result = CliRunner().invoke(cli, ["feedback", "--by", "run"])
    assert result.exit_code == 0, result.output
    assert feedback.counts()["scored"].to_list() == [1, 1]
    (problem,) = feedback.problems()
    assert problem.startswith(f"ada.jsonl, line 2: this is not feedback: {name}: ")
    assert "ada.jsonl, line 2" in result.output and feedback.unreadable() == 0


@pytest.mark.parametrize("name", ["item", "rater", "verdict", "person", "schema"])
def test_a_line_without_what_it_needs_is_named(name: str) -> None:
    feedback = FeedbackStore()
    feedback.score(one(), "ada", 4)
    path = feedback.folder / "ada.jsonl"
    line = json.loads(path.read_text())
    del line[name]
    path.write_text(json.dumps(line) + "\n[1]\n5\n")
    assert feedback.table().is_empty()
    assert [each.partition(": this is")[0] for each in feedback.problems()] == [
        f"ada.jsonl, line {n}" for n in (1, 2, 3)
    ]
    assert feedback.problems(1)[1:] == ["2 more lines or files."]


def test_a_file_that_is_no_raters_is_named_and_the_others_count() -> None:
    feedback = FeedbackStore()
    feedback.score(one(), "ada", 4)
    (feedback.folder / "bad name!.jsonl").write_text("{}\n")
    (feedback.folder / "cy.jsonl").mkdir()
    assert feedback.counts()["rater"].to_list() == ["ada"]
    assert feedback.problems() == ["bad name!.jsonl: this cannot be the file of a rater."]
    assert CliRunner().invoke(cli, ["feedback"]).exit_code == 0


def test_a_copy_under_another_name_does_not_count_a_rater_twice() -> None:
    feedback = FeedbackStore()
    feedback.score(one(), "ada", 4)
    (feedback.folder / "ben.jsonl").write_text((feedback.folder / "ada.jsonl").read_text())
    assert feedback.counts().select("rater", "scored").rows() == [("ada", 1)]
    assert feedback.problems() == ["ben.jsonl, line 1: this is feedback of another rater than the file's."]


@pytest.mark.parametrize("name", ["", "  ", "../ada", "a/b", ".hidden", "a" * 65, "a\n", "a\0b", "-x"])
def test_a_name_that_could_leave_the_folder_is_refused(name: str) -> None:
    if name == "a\n":
        assert check_rater(name) == "a"
        return
    with pytest.raises(UsageError):
        check_rater(name)


def test_names_of_any_alphabet_are_welcome() -> None:
    assert check_rater(" Zoë ") == "Zoë"


def test_a_rewriting_is_one_of_the_options_where_there_are_options() -> None:
    assert parse_rewrite(one(), "green") == "green"
    with pytest.raises(UsageError, match="none of the options"):
        parse_rewrite(one(), "red")


def test_a_lettered_option_is_rewritten_by_its_letter() -> None:
    item = Item(**(one().__dict__ | {"labels": True, "arrangement": (1, 0), "reply": "B"}))
    assert item.options == {"A. green": "A", "B. blue": "B"}
    assert item.display_text == "B. blue"
    assert parse_rewrite(item, "A. green") == "A"


def test_words_numbers_and_forms_are_checked() -> None:
    run = made(Forms())
    by_kind = {
        item.question["kind"]: item
        for kind in ("decision", "utterance")
        for item in drawn(run, kind=kind, size=60).items
    }
    assert set(by_kind) == {"choice", "number", "text", "form"}
    assert parse_rewrite(by_kind["text"], " Because.\x00 \ud800") == "Because. ?"
    assert parse_rewrite(by_kind["number"], "7") == "7"
    assert parse_rewrite(by_kind["form"], '{"cups": 1, "sugar": "no"}')
    for kind, text in (
        ("text", " \x07"),
        ("number", "99"),
        ("form", "{"),
        ("form", '{"cups": 1}'),
        ("text", "x" * 20_001),
    ):
        with pytest.raises(UsageError):
            parse_rewrite(by_kind[kind], text)


def test_agreement_says_when_there_is_too_little() -> None:
    feedback, items = FeedbackStore(), drawn(made(Shirts())).items
    assert feedback.agreement().note == "No scores yet."
    feedback.score(items[0], "ada", 2)
    assert feedback.agreement().measures is None and "needs two" in feedback.agreement().note
    feedback.score(items[0], "ben", 2)
    assert feedback.agreement().measures is None and "1 answer was" in feedback.agreement().note


def test_raters_who_agree_have_an_alpha_of_one() -> None:
    feedback, items = FeedbackStore(), drawn(made(Shirts())).items
    for number, item in enumerate(items[:6]):
        for rater in ("ada", "ben"):
            feedback.score(item, rater, 1 + number % 5)
    feedback.score(items[7], "ada", 3)
    found = feedback.agreement().measures
    assert found is not None
    assert found.alpha.value == 1.0 and found.items == 6 and found.raters == 2 and found.single == 1


def test_equal_scores_throughout_are_told_and_give_no_number() -> None:
    feedback, items = FeedbackStore(), drawn(made(Shirts())).items
    for item in items[:3]:
        for rater in ("ada", "ben"):
            feedback.score(item, rater, 3)
    assert "the same" in feedback.agreement().note


def test_the_command_makes_a_queue_and_tells_what_was_judged() -> None:
    run = made(Norms(workers=6, days=3))
    say = CliRunner().invoke(cli, ["feedback", run.name, "--size", "5", "--json"], standalone_mode=False)
    queue = json.loads(say.output)["data"]
    assert queue["answers"] == 5 and run.name not in queue["link"]
    items = Queue.open(Workspace(), queue["queue"]).draw(Workspace()).items
    for rater in ("ada", "ben"):
        for number, item in enumerate(items):
            FeedbackStore().score(item, rater, 1 + number)
    told = json.loads(CliRunner().invoke(cli, ["feedback", "--by", "run", "--json"], standalone_mode=False).output)
    assert [row["scored"] for row in told["data"]["raters"]] == [5, 5]
    assert told["data"]["agreement"]["measures"][0]["value"] == 1.0
    assert told["data"]["scores"][0]["mean"] == 3.0
    assert "alpha 1" in CliRunner().invoke(cli, ["feedback"], standalone_mode=False).output


def test_runs_without_such_answers_make_no_queue() -> None:
    run = simulate(Shirts(), decider="rule", seed=1)
    with pytest.raises(PopulaceError, match="hold no decision"):
        CliRunner().invoke(cli, ["feedback", run.name], standalone_mode=False, catch_exceptions=False)
    assert not Path("feedback").exists()
