from __future__ import annotations

import numpy as np
import pytest

from populace import Run, simulate
from populace.scenarios.epidemic import Epidemic
from populace.scenarios.epidemic.epidemic import REFERENCE
from support.models import Counting


def by_rule(seed: int = 1, **parameters: object) -> Run:
    return simulate(Epidemic(**parameters), decider="rule", seed=seed, keep="nothing")


def ends(arm: str, runs: int = 12) -> dict[str, float]:
    last = [by_rule(seed, arm=arm).metrics.tail(1).to_dicts()[0] for seed in range(runs)]
    return {
        name: float(np.mean([row[name] for row in last])) for name in ("ever_infected", "peak_infected", "most_at_home")
    }


def test_everybody_is_susceptible_infectious_or_recovered() -> None:
    metrics = by_rule(residents=50).metrics
    total = metrics["susceptible"] + metrics["infectious"] + metrics["recovered"]
    assert total.unique().to_list() == [50.0]


def test_who_was_infected_never_becomes_susceptible_again() -> None:
    metrics = by_rule().metrics
    assert metrics["ever_infected"].is_sorted()
    assert metrics["susceptible"].is_sorted(descending=True)


def test_the_illness_lasts_six_days() -> None:
    run = by_rule(infection=0.0, days=10)
    assert run.metrics["infectious"].to_list()[:8] == [2, 2, 2, 2, 2, 2, 0, 0]


def test_a_run_ends_two_days_after_the_last_infection_is_over() -> None:
    run = by_rule(infection=0.0)
    assert run.manifest.status.reason == "nobody has been infected for two days"
    assert run.steps[-1] == 7


def test_nobody_meets_anybody_who_stays_at_home() -> None:
    run = by_rule(arm="health", stays_with_cough=1.0, stays_with_fever=1.0, contacts=1, infection=0.0)
    assert run.people(2).where(day=3).count(home="no") == 2
    assert run.people(3).where(day=4).count(home="yes") == 2


@pytest.mark.slow
def test_the_arms_of_the_rule_twin_are_ordered_as_published() -> None:
    none, health, news = (ends(arm) for arm in ("none", "health", "news"))
    assert none["ever_infected"] >= health["ever_infected"] > news["ever_infected"] + 10
    assert none["peak_infected"] >= health["peak_infected"] > news["peak_infected"] + 20
    assert none["most_at_home"] == 0 < health["most_at_home"] < news["most_at_home"]
    assert none["ever_infected"] == pytest.approx(REFERENCE["ever_infected"][0], abs=1)


@pytest.mark.parametrize(
    ("arm", "says", "does_not"),
    [("none", "Dewberry", "You feel"), ("health", "You feel", "news says"), ("news", "news says", "{")],
)
def test_each_arm_is_told_what_it_is_meant_to_know(arm: str, says: str, does_not: str) -> None:
    run = simulate(Epidemic(residents=5, days=1, arm=arm), model=Counting(), keep="nothing")
    user = run.prompts(at=1)["user"][0]
    assert says in user
    assert does_not not in user


def test_the_health_line_follows_the_day_of_infection() -> None:
    run = simulate(
        Epidemic(residents=4, infected=4, infection=0.0, days=6, arm="health"), model=Counting(), keep="nothing"
    )
    felt = [run.prompts(at=step)["user"][0].split("living. ")[1].split("\n")[0] for step in range(1, 7)]
    normal, cough, fever = "You feel normal.", "You have a light cough.", "You have a fever and a cough."
    assert felt == [normal, normal, cough, fever, fever, cough]


def test_the_news_counts_those_on_the_fourth_day() -> None:
    run = simulate(Epidemic(residents=4, infected=2, infection=0.0, days=5), model=Counting(), keep="nothing")
    assert "50.0 %" in run.prompts(at=4)["user"][0]
    assert "0.0 %" in run.prompts(at=3)["user"][0]


def test_without_personas_people_who_feel_the_same_share_a_prompt() -> None:
    run = simulate(Epidemic(residents=1000, days=1, personas=False), model=Counting(), keep="nothing")
    assert run.usage().calls == 1


def test_the_report_puts_the_published_runs_beside_this_one() -> None:
    run = by_rule(arm="news")
    (finding,) = Epidemic.report(run)
    assert finding.table["produced_by"].to_list()[-1] == "this run: the rule"
    assert finding.table.head(3)["ever_infected"].to_list() == [99.8, 99.2, 57.5]


def test_a_thousand_people_are_scaled_to_a_hundred_in_the_report() -> None:
    run = by_rule(residents=1000, arm="none", infected=20)
    assert Epidemic.report(run)[0].table["ever_infected"].to_list()[-1] <= 100
