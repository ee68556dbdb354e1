from __future__ import annotations

import polars as pl
import pytest

from populace import Run, simulate
from populace.models import Request, Scripted
from populace.scenarios.norms import Norms
from support.models import Counting, leaning


def run(model: object = None, **parameters: object) -> Run:
    return simulate(Norms(**parameters), model=model or Counting(), seed=3, keep="nothing")  # type: ignore[arg-type]


def prompt(run: Run) -> dict[str, str]:
    return run.prompts(at=1).row(0, named=True)


def test_twenty_workers_choose_for_seven_days_by_default() -> None:
    made = run()
    assert made.answers().height == 20 * 7
    assert made.metrics.columns == ["step", "share_blue", "consensus", "days_to_consensus", "alternation"]


def test_conformity_is_graded_as_in_the_source() -> None:
    traits = run(days=1).people(0)["trait"].cast(pl.String).value_counts().sort("count", "trait")
    assert sorted(traits["count"].to_list()) == [2, 2, 4, 4, 8]


@pytest.mark.parametrize(
    ("personas", "says", "does_not"),
    [
        ("graded", "conformist person", "pressure"),
        ("none", "You are ", "conformist"),
        ("extended", "You are", "{"),
    ],
)
def test_personas_are_on_off_or_extended(personas: str, says: str, does_not: str) -> None:
    system = prompt(run(days=1, personas=personas))["system"]
    assert says in system
    assert does_not not in system


def test_extended_personas_name_all_five_factors() -> None:
    system = prompt(run(days=1, personas="extended"))["system"]
    assert system.count(",") >= 5


def test_the_words_are_swapped_and_the_answers_swapped_back() -> None:
    likes_the_word_blue = leaning(1.0)
    plain = run(likes_the_word_blue, days=1)
    swapped = run(likes_the_word_blue, days=1, swap=True)
    assert plain.answers()["value"].unique().to_list() == ["blue"]
    assert swapped.answers()["value"].unique().to_list() == ["green"]
    worn = swapped.people(0).person(0).shirt
    assert f"Yesterday you wore {'green' if worn == 'blue' else 'blue'}" in prompt(swapped)["user"]


def test_a_model_that_takes_the_first_option_is_balanced_by_rotation() -> None:
    first = simulate(Norms(days=1, order="rotate"), model="scripted:first", seed=3, keep="nothing")
    assert first.prompts()["arrangement"].unique().sort().to_list() == ["0 1", "1 0"]
    values = first.answers()["value"].value_counts()
    assert values.height == 2


def test_what_others_wore_may_come_first() -> None:
    user = prompt(run(days=1, others_first=True))["user"]
    assert user.index("of the 20 people") < user.index("Yesterday you wore")


def test_lines_can_be_left_out() -> None:
    user = prompt(run(days=1, own=False, counts=False))["user"]
    assert "Yesterday" not in user


def test_the_initial_share_is_exact_where_that_is_asked() -> None:
    assert run(days=1, initial_share=0.3, exact_start=True).people(0).count(shirt="blue") == 6


def test_consensus_and_its_day_are_measured() -> None:
    made = run(leaning(1.0), days=3)
    assert made.metrics["consensus"].to_list()[1:] == [1.0, 1.0, 1.0]
    assert made.metrics["days_to_consensus"].to_list()[-1] == 1.0


def test_alternation_is_measured() -> None:
    def contrary(request: Request) -> dict[str, float]:
        return (
            {"green": 1.0, "blue": 0.0} if "you wore blue" in request.messages[-1][1] else {"blue": 1.0, "green": 0.0}
        )

    made = run(Scripted(contrary, spec="scripted:contrary"), days=6, initial_share=0.9, exact_start=True)
    assert made.metrics["alternation"].to_list()[-1] == pytest.approx(1.0)


def test_the_threshold_rule_brings_a_majority_to_consensus() -> None:
    made = simulate(Norms(personas="none", initial_share=0.8, exact_start=True), decider="rule", seed=1, keep="nothing")
    assert made.metrics["share_blue"].to_list()[-1] == 1.0
    assert made.usage().calls == 0


def test_those_who_never_conform_keep_a_threshold_population_apart() -> None:
    made = simulate(Norms(initial_share=0.8, exact_start=True), decider="rule", seed=1, keep="nothing")
    last = made.people()
    assert (
        last.where(trait="a non-conformist")["shirt"] == made.people(0).where(trait="a non-conformist")["shirt"]
    ).all()


def test_reasoning_is_generated_first_and_recorded() -> None:
    made = run(days=1, workers=3, reason=True)
    assert made.prompts()["reasoning"].null_count() == 0
    assert made.usage().purposes["decision: reasoning"] == 3


def test_the_rule_knows_no_counts_where_nobody_is_told_them() -> None:
    settings = {"personas": "none", "initial_share": 0.8, "exact_start": True}
    told = simulate(Norms(**settings), decider="rule", seed=1, keep="nothing")
    untold = simulate(Norms(**settings, counts=False), decider="rule", seed=1, keep="nothing")
    assert told.metrics["share_blue"][-1] == 1.0
    assert untold.metrics["share_blue"].to_list() == [0.8] * 8
