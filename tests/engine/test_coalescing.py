from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from populace import Field, People, Scenario, simulate
from populace.deciders import scored
from support.models import Counting, leaning
from support.scenarios import SHIRTS, Shirts


class Situations(Scenario):
    """Ten thousand people in forty different situations."""

    people_count: int = Field(10_000, ge=1)

    def setup(self) -> People:
        ids = np.arange(self.people_count)
        return People.named(self.people_count, seed=self.rng).with_columns(age=ids % 8, place=ids // 8 % 5)

    def profile(self) -> str:
        return "You are {age}."

    def length(self) -> int:
        return 1

    async def step(self) -> None:
        await self.ask(self.people, SHIRTS, given="You are at {place}.")


def test_ten_thousand_people_in_forty_situations_are_forty_calls() -> None:
    model = Counting()
    run = simulate(Situations(), model=model, seed=1, keep="nothing")
    assert model.request_count == run.usage().calls == 40
    assert run.answers().height == 10_000


def test_choices_follow_the_distribution_of_their_own_prompt() -> None:
    run = simulate(Situations(), model=Counting(), seed=1, keep="nothing")
    answers = run.answers().join(run.prompts().select("prompt", "probabilities"), on="prompt")
    statistic, freedom = 0.0, 0
    for (_,), part in answers.group_by("prompt"):
        expected = np.array(part["probabilities"][0].to_list()) * part.height
        observed = [(part["value"] == option).sum() for option in SHIRTS.options]
        statistic += float(((observed - expected) ** 2 / expected).sum())
        freedom += 1
    assert 0.001 < stats.chi2.sf(statistic, freedom) < 0.999


@pytest.mark.parametrize("lot", [1, 3, 7, 1000])
def test_the_result_does_not_depend_on_how_prompts_are_cut_into_lots(lot: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate(Situations(people_count=400), model=Counting(), seed=1, keep="nothing")
    monkeypatch.setattr(scored, "_LOT", lot)
    cut = simulate(Situations(people_count=400), model=Counting(), seed=1, keep="nothing")
    assert cut.answers().equals(whole.answers())
    assert cut.prompts().equals(whole.prompts())


def test_a_prompt_that_was_asked_on_an_earlier_day_is_not_asked_again() -> None:
    model = leaning(0.0)
    run = simulate(Shirts(days=5), model=model, seed=1, keep="nothing")
    assert run.usage().calls == 3
    assert run.usage().reused == 12


@pytest.mark.slow
def test_twenty_temperatures_and_a_hundred_seeds_over_recorded_distributions_cost_nothing() -> None:
    model = Counting()
    everything = [simulate(Shirts(people_count=4, days=6), model=model, seed=seed) for seed in range(12)]
    request_count = model.request_count
    assert request_count == sum(run.usage().calls for run in everything) == 3 * 5
    # Every temperature with five seeds, every seed with one temperature: all two thousand pairs would show no more.
    temperatures = np.linspace(0, 2, 20).tolist()
    for seed in range(100):
        society = Shirts(people_count=4, days=2)
        simulate(society, model=model, seed=seed, temperature=temperatures[seed % 20], keep="calls")
    assert model.request_count == request_count
