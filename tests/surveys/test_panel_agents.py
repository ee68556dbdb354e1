"""Agents in place of people: of a panel, and of a corpus of decisions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from populace import Scripted
from populace.base.errors import HumanDataError, QuestionnaireError
from populace.evaluation import (
    Arm,
    DecisionTask,
    EvaluationItem,
    GroupFlip,
    HumanAnswers,
    HumanDecisions,
    PanelStudy,
)  # fmt: skip
from populace.evaluation.task_comparison import compare_tasks
from populace.evaluation.task_situations import task_situations
from populace.surveys import Survey
from populace.surveys.panel_agents import ask_panel
from populace.surveys.task_agents import ask_tasks

ITEMS = (
    EvaluationItem("tea", "Tea?", ("yes", "no")),
    EvaluationItem("sky", "Sky?", ("red", "green", "blue")),
    EvaluationItem("milk", "Milk?", ("yes", "no")),
)


def people(count: int, prefix: str, seed: int) -> HumanAnswers:
    rng = np.random.default_rng(seed)
    sex = np.arange(count) % 2
    answers = np.column_stack([(rng.random(count) < 0.2 + 0.6 * sex), rng.integers(0, 3, count), sex]).astype(np.int64)
    answers[0, 1] = -1
    profiles = pl.DataFrame({"sex": np.array(["f", "m"])[sex], "age": 20 + np.arange(count) % 50})
    return HumanAnswers(tuple(f"{prefix}{n}" for n in range(count)), ITEMS, answers, answers.copy(), profiles)


HELD, OTHERS = people(6, "p", 1), people(80, "o", 2)


def by_sex(request: object) -> dict[str, float]:
    """Men say no to tea; all other answers are the first option."""
    text = str(request)
    if "Tea?" in text:
        share = 0.9 if "sex: m" in text else 0.1
        return {"yes": 1 - share, "no": share}
    return {"red": 1.0, "green": 0.0, "blue": 0.0} if "Sky?" in text else {"yes": 1.0, "no": 0.0}


def test_each_arm_is_asked_what_the_person_answered_and_knows_what_it_may() -> None:
    arms = [Arm.standard(name, HELD, ["milk"]) for name in ("demographics", "answers", "both")]
    flip = GroupFlip.read("sex=f|m")
    study = PanelStudy("s", HELD, OTHERS, ("tea", "sky"), tuple(arms), (flip,))
    answers = ask_panel(
        HELD, arms, study.targets, everything=study.flip_arms, most_people=2, model=Scripted(by_sex), keep="nothing"
    )
    assert answers.filter(pl.col("arm") == "both").height == 11
    assert answers.filter(pl.col("arm") == "sex: m").height == 4
    known = study.predictions(answers, "demographics").distributions[0]
    assert known[:, 0].tolist() == pytest.approx([0.9, 0.1] * 3)
    assert np.isnan(study.predictions(answers, "both").distributions[1][0]).all()
    assert study.predictions(answers, "answers").distributions[0][:, 0].tolist() == pytest.approx([0.9] * 6)
    (moved,) = study.sensitivities(answers)
    tea = moved.table.filter(pl.col("item") == "tea", pl.col("option") == "no")
    assert tea["agents"].item() == pytest.approx(0.8)
    assert moved.people == (43, 43)
    with pytest.raises(HumanDataError, match="no answers of the arm 'all'"):
        study.predictions(answers, "all")


def test_an_arm_that_knows_an_item_that_it_is_asked_is_refused() -> None:
    with pytest.raises(HumanDataError, match="knows the answers to item 'milk', which it is asked"):
        ask_panel(HELD, [Arm.standard("answers", HELD, ["milk"])], ["tea", "milk"], model="scripted:cast")


def test_floors_know_what_the_arm_knows() -> None:
    pytest.importorskip("sklearn")
    arms = (Arm.standard("demographics", HELD, ["milk"]), Arm("nothing"))
    study = PanelStudy("s", HELD, OTHERS, ("tea",), arms)
    knowing, ignorant = study.floors(kinds=("regression",))
    assert (knowing.name, ignorant.name) == ("regression, demographics", "regression, nothing")
    assert len({round(x, 6) for x in knowing.distributions[0][:, 0].tolist()}) > 1
    assert len({round(x, 6) for x in ignorant.distributions[0][:, 0].tolist()}) == 1


def test_situations_are_asked_once_in_both_orders_and_compared_with_people() -> None:
    tasks = {
        "give": DecisionTask("give", "game", "You have {amount}. What do you give?", "CC0", ("0", "5", "10")),
        "tea": DecisionTask("tea", "attitude", "Tea?", "CC0", ("yes", "no")),
    }
    table = pl.DataFrame(
        {
            "task": ["give"] * 4 + ["tea"] * 2,
            "person": list("abcdef"),
            "seen": ['{"amount": "10"}'] * 2 + ['{"amount": "20"}'] * 2 + [None] * 2,
            "profile": ['{"age": 30, "sex": null}'] * 4 + [None] * 2,
            "answer": ["0", "5", "10", "10", "yes", "no"],
        }
    )
    decisions = HumanDecisions.from_table(table, tasks)
    situations = task_situations(decisions)
    assert situations["decisions"].to_list() == [2, 2, 2]
    assert situations["persona"].to_list() == ["About you:\n- age: 30"] * 2 + [""]
    model = Scripted(lambda r: {"yes": 0.5, "no": 0.5} if "Tea?" in str(r) else {"0": 0.0, "5": 1.0, "10": 0.0})
    answers = ask_tasks(decisions, model=model, keep="nothing")
    assert answers.height == 6
    give, tea = compare_tasks(decisions, answers)
    assert give.human.tolist() == [0.25, 0.25, 0.5]
    assert (give.human_mean.value, give.agents_mean.value) == pytest.approx((6.25, 5.0))
    assert (give.total_variation, give.wasserstein) == pytest.approx((0.75, (0.25 * 5 + 0.5 * 5) / 10))
    assert tea.log_loss.value == pytest.approx(np.log(2)) and tea.total_variation == pytest.approx(0.0)
    assert give.order_effect == pytest.approx(0.0)


def test_a_text_that_names_a_column_with_a_reserved_name_says_so(tmp_path: Path) -> None:
    survey = Survey.read({"items": [{"id": "a", "type": "text", "text": "{question}"}]})
    with pytest.raises(QuestionnaireError, match="names the column 'question', which prompts use otherwise"):
        survey.ask({"question": ["x"]}, model="scripted:cast", workspace=tmp_path)


def test_one_held_out_person_is_refused_before_a_model_is_asked() -> None:
    with pytest.raises(HumanDataError, match="one person alone"):
        PanelStudy("s", HELD.take([0]), OTHERS, ("tea",), (Arm.standard("demographics", HELD, ()),))
