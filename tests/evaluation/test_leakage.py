"""Leaks: planted ones of each kind are found, and none on clean splits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from populace.base.errors import HumanDataError
from populace.evaluation import Arm, EvaluationItem, HumanAnswers, find_leaks
from populace.evaluation.leakage import prompt_leaks, refuse_answers

TEXTS = (
    "Do you favor or oppose the death penalty for persons convicted of murder?",
    "Would you say that most people can be trusted?",
    "How much confidence do you have in the press?",
    "Should marijuana be made legal or not?",
)
ITEMS = tuple(EvaluationItem(f"q{place}", text, ("yes", "no", "depends")) for place, text in enumerate(TEXTS))


def panel(seed: int, prefix: str, count: int = 200) -> HumanAnswers:
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(count, 1))
    answers = np.digitize(latent + rng.normal(size=(count, 4)), [-0.5, 0.8])
    profiles = pl.DataFrame(
        {
            "age": rng.integers(18, 90, count),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, count)],
            "party": np.digitize(latent[:, 0] + rng.normal(size=count), [-1, 0, 1]).astype(str),
        }
    )
    people = tuple(f"{prefix}{n}" for n in range(count))
    return HumanAnswers(people, ITEMS, answers, np.full_like(answers, -1), profiles)


def arms(human: HumanAnswers) -> list[Arm]:
    return [Arm.standard(name, human, ["q2", "q3"]) for name in ("demographics", "answers", "both")]


@pytest.mark.parametrize("seed", range(8))
def test_clean_splits_have_no_leak(seed: int) -> None:
    human, others = panel(seed, "p"), panel(seed + 100, "o")
    manifest = {"data": [{"name": "corpus", "tasks": ["q2", "other"], "people": ["o1", "x"]}]}
    assert find_leaks(human, others, arms(human), ["q0", "q1"], manifests=[manifest]) == []


def test_an_answer_among_what_is_known_is_found_and_refused() -> None:
    human, others = panel(1, "p"), panel(2, "o")
    (leak,) = find_leaks(human, others, [Arm("answers", context=("q0", "q2"))], ["q0", "q1"])
    assert (leak.kind, leak.item, leak.where) == ("answer", "q0", "q0")
    with pytest.raises(HumanDataError, match="the answer stands in the prompt: answer: arm answers knows item 'q0'"):
        refuse_answers([leak])


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_column_that_holds_the_answer_is_found_also_as_a_code(noise: float) -> None:
    sides = []
    for human in (panel(3, "p"), panel(4, "o")):
        rng = np.random.default_rng(5)
        code = np.where(rng.random(200) < noise, 9, (human.answers[:, 1] * 7 + 3) % 10)
        sides.append(replace(human, profiles=human.profiles.with_columns(code=pl.Series(code))))
    leaks = find_leaks(*sides, arms(sides[0]), ["q0", "q1"])
    assert {(leak.kind, leak.item, leak.where, leak.arm) for leak in leaks} == {
        ("answer", "q1", "code", "demographics"),
        ("answer", "q1", "code", "both"),
    }


def test_a_near_copy_is_found_by_its_words_and_by_its_answers() -> None:
    text = "Do you favor or oppose the death penalty for persons who are convicted of murder?"
    copy = EvaluationItem("again", text, ("yes", "no", "depends"))
    twin = EvaluationItem("twin", "Something else altogether", ("1", "2", "3"))
    sides = []
    for human in (panel(6, "p"), panel(7, "o")):
        random = np.random.default_rng(8).integers(0, 3, (200, 1))
        answers = np.hstack([human.answers, random, 2 - human.answers[:, 1:2]])
        sides.append(replace(human, items=(*ITEMS, copy, twin), answers=answers, retest=np.full_like(answers, -1)))
    leaks = find_leaks(*sides, [Arm("answers", context=("q2", "again", "twin"))], ["q0", "q1"])
    assert [(leak.kind, leak.item, leak.where) for leak in leaks] == [
        ("near-copy", "q0", "again"),
        ("near-copy", "q1", "twin"),
    ]
    assert refuse_answers(leaks) == leaks


def test_items_and_people_of_training_data_are_found_by_the_manifest() -> None:
    human, others = panel(1, "p"), panel(2, "o")
    manifest = {"data": [{"name": "corpus", "tasks": ["gss_q1", "x"], "people": ["p3", "p4", "o1"]}, "odd"]}
    leaks = find_leaks(human, others, arms(human), ["q0", "q1"], manifests=[manifest, {}])
    assert [(leak.kind, leak.item) for leak in leaks] == [("training", "q1"), ("training", "*")]
    assert "2 held-out people" in leaks[1].detail
    assert find_leaks(human, others, [], ["q0"], manifests=[{"data": [{"tasks": 3, "people": 12}]}]) == []


def test_an_answer_in_a_transcript_is_found_and_a_clean_transcript_is_not() -> None:
    human = panel(1, "p", 3)
    answer = human.items[1].options[human.answers[0, 1]]
    texts = [
        f"So. Would you say that most people can be trusted? Well, {answer}. I grew up in a village.",
        "I grew up in a village and trust nobody. No. Yes. It depends.",
        "",
    ]
    table = pl.DataFrame({"person": list(human.people), "item": ["q1"] * 3, "context": texts})
    (leak,) = prompt_leaks(human, table)
    assert (leak.kind, leak.item) == ("answer", "q1") and "1 people" in leak.detail
