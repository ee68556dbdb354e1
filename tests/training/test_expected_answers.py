"""What people like somebody answered: targets with less chance in them."""

import json
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from populace.evaluation.decision_tasks import DecisionTask
from populace.evaluation.human_decisions import HumanDecisions
from populace.training import TrainingPlan
from populace.training.decision_division import DecisionDivision
from populace.training.decision_examples import DecisionSource
from populace.training.expected_answers import expected_answers
from populace.training.plan import HeldOut
from populace.training.sequences import ModelVocabulary


def _survey(people: int, items: int, seed: int = 0) -> tuple[HumanDecisions, dict[tuple[str, str], float]]:
    """A survey in which the young say yes more often to even items and less often to odd ones, and the true chances."""
    rng = np.random.default_rng(seed)
    tasks = {f"i{n}": DecisionTask(f"i{n}", "attitude", f"Item {n}?", "CC0", ("yes", "no")) for n in range(items)}
    rows, truth = [], {}
    for person in range(people):
        age, town = int(rng.integers(18, 90)), str(rng.choice(["north", "south"]))
        profile = json.dumps({"age": str(age), "town": town})
        for number, name in enumerate(tasks):
            chance = 0.8 if (age < 50) == (number % 2 == 0) else 0.2
            truth[name, profile] = chance
            rows.append((name, f"p{person}", profile, "yes" if rng.random() < chance else "no"))
    table = pl.DataFrame(rows, schema=["task", "person", "profile", "answer"], orient="row")
    return HumanDecisions.from_table(table, tasks), truth


def _error(expected: pl.DataFrame, truth: dict[tuple[str, str], float]) -> float:
    rows = expected.select("task", "profile", "expected").iter_rows()
    return float(np.mean([abs(shares[0] - truth[task, profile]) for task, profile, shares in rows]))


def test_items_of_a_survey_are_fitted_together_and_near_the_truth() -> None:
    decisions, truth = _survey(people=400, items=24)
    expected = expected_answers(decisions, seed=1)
    # The answers themselves are .32 from the chances, and the shares of all answers .3.
    assert _error(expected, truth) < 0.1
    assert np.allclose(expected["expected"].list.sum(), 1.0)
    assert expected.select("task", "profile").n_unique() == decisions.table.select("task", "profile").n_unique()


def test_nobody_counts_in_what_is_expected_of_them() -> None:
    decisions, _ = _survey(people=80, items=24)
    mine = decisions.table["person"] == "p0"
    profile = decisions.table.filter(mine)["profile"][0]
    turned = pl.when(pl.lit(mine)).then(pl.col("answer").replace({"yes": "no", "no": "yes"})).otherwise("answer")
    other = HumanDecisions(decisions.tasks, decisions.table.with_columns(answer=turned))

    def of_the_person(each: HumanDecisions) -> list[list[float]]:
        rows = expected_answers(each, seed=1).filter(pl.col("profile") == profile)
        return rows.sort("task")["expected"].to_list()

    assert of_the_person(decisions) == of_the_person(other)


def test_what_was_seen_counts_where_it_differs() -> None:
    rng = np.random.default_rng(0)
    task = DecisionTask("coffee", "price", "It costs {price}. Buy?", "CC0", ("yes", "no"))
    prices = rng.integers(1, 11, 1500)
    answers = np.where(rng.random(1500) < 1 / (1 + np.exp(prices - 5.5)), "yes", "no")
    table = pl.DataFrame({
        "task": "coffee", "person": [f"p{n}" for n in range(1500)], "seen": [json.dumps({"price": f"{p} euros"}) for p in prices], "answer": answers,
    })  # fmt: skip
    expected = expected_answers(HumanDecisions.from_table(table, {"coffee": task}))
    chances = {row["seen"]: row["expected"][0] for row in expected.iter_rows(named=True)}
    assert chances['{"price": "1 euros"}'] > 0.85
    assert chances['{"price": "10 euros"}'] < 0.15
    assert abs(chances['{"price": "5 euros"}'] - 0.62) < 0.15


def test_few_decisions_and_rare_options_have_plain_shares() -> None:
    task = DecisionTask("t", "game", "You see {x}.", "CC0", ("a", "b", "c"))
    few = pl.DataFrame(
        {"task": "t", "person": ["p", "q", "r", "s"], "seen": '{"x": "1"}', "answer": ["a", "a", "b", "a"]}
    )
    row = expected_answers(HumanDecisions.from_table(few, {"t": task})).row(0, named=True)
    assert row["expected"][0] > row["expected"][1] > 0
    assert row["expected"][2] > 0
    many = pl.DataFrame({
        "task": "t", "person": [f"p{n}" for n in range(300)], "seen": [f'{{"x": "{n % 7}"}}' for n in range(300)],
        "answer": ["c" if n == 7 else "ab"[n % 2] for n in range(300)],
    })  # fmt: skip
    expected = np.array(expected_answers(HumanDecisions.from_table(many, {"t": task}))["expected"].to_list())
    assert np.allclose(expected.sum(1), 1.0)
    assert (expected[:, 2] > 0).all()
    assert (expected[:, 2] < 0.05).all()


def test_a_field_that_is_known_of_a_few_only_does_no_harm() -> None:
    task = DecisionTask("t", "game", "You see {x} and {y}.", "CC0", ("a", "b"))
    seen = [json.dumps({"x": str(n % 5), **({"y": "3"} if n == 0 else {})}) for n in range(200)]
    table = pl.DataFrame(
        {
            "task": "t",
            "person": [f"p{n}" for n in range(200)],
            "seen": seen,
            "answer": ["ab"[n % 2] for n in range(200)],
        }
    )
    shares = np.array(expected_answers(HumanDecisions.from_table(table, {"t": task}))["expected"].to_list())
    assert np.allclose(shares.sum(1), 1.0)


def test_targets_mix_what_is_expected_with_what_was_chosen(tiny_base: Path) -> None:
    decisions, _ = _survey(people=60, items=20)
    vocabulary = ModelVocabulary(tiny_base)
    expected = expected_answers(decisions, seed=1)
    source = DecisionSource(decisions, vocabulary, varied=False, expected=expected, expected_share=0.75)
    plain = DecisionSource(decisions, vocabulary, varied=False)
    shares, rows = source.plain_examples(0)
    chosen, _ = plain.plain_examples(0)
    wanted = rows.join(expected, on=["task", "profile", "seen"], how="left", maintain_order="left")["expected"]
    mixed = 0.75 * np.array(wanted.to_list()) + 0.25 * np.array(chosen.table["shares"].to_list())
    assert np.allclose(np.array(shares.table["shares"].to_list()), mixed)


def test_they_are_computed_once_for_a_folder_and_anew_for_another_seed(tmp_path: Path) -> None:
    decisions, _ = _survey(people=60, items=20)
    decisions.table.write_parquet(tmp_path / "decisions.parquet")
    cards = [
        {"id": t.id, "family": t.family, "question": t.question, "licence": t.licence, "options": list(t.options)}
        for t in decisions.tasks.values()
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(card) + "\n" for card in cards))
    division = DecisionDivision.read(tmp_path, HeldOut(), ("CC0",))
    messages: list[str] = []
    first = division.expected(tmp_path / "out", 1, messages.append)
    assert messages == ["group 1 of 1: 20 tasks with the same profiles"]
    assert division.expected(tmp_path / "out", 1, messages.append).equals(first)
    assert len(messages) == 1
    assert not division.expected(tmp_path / "out", 2, messages.append).equals(first)
    situations = division.training.table.select("task", "profile").unique()
    assert first.select("task", "profile").sort("task", "profile").equals(situations.sort("task", "profile"))


def test_a_plan_says_how_much_of_it() -> None:
    with pytest.raises(ValueError, match="`expected`, `smoothing`, `least` and `retested` belong to `decisions`"):
        TrainingPlan(name="mine", data=[{"situations": 2, "expected": 0.5}], licences=["CC0"])
    plan = TrainingPlan(name="mine", data=[{"decisions": "x", "expected": 0.5}], licences=["CC0"])
    assert plan.data[0].expected == 0.5


def test_a_source_in_files_gives_the_same_examples_and_is_small_to_send(tiny_base: Path, tmp_path: Path) -> None:
    decisions, _ = _survey(people=200, items=20)
    expected = expected_answers(decisions, seed=1)
    source = DecisionSource(decisions, ModelVocabulary(tiny_base), size=1000, expected=expected, expected_share=0.5)
    stored = source.stored_in(tmp_path / "source")
    # What fits into a pipe is sent at once: many processes then start side by side, and not one after the other.
    assert len(pickle.dumps(stored)) < 10_000 < len(pickle.dumps(source))
    assert stored.tasks == source.tasks
    for part in range(source.parts):
        assert stored.examples(part, 1).table.equals(source.examples(part, 1).table)
