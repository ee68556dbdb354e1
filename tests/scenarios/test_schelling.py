from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace import Run, simulate
from populace.models import Request, Scripted
from populace.scenarios.schelling import Schelling
from populace.scenarios.schelling.schelling import GROUPS
from support.models import Counting

SEEDS = 6
THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6)


def by_rule(seed: int = 1, **parameters: object) -> Run:
    return simulate(Schelling(**parameters), decider="rule", seed=seed, keep="nothing")


def on(model: object = None, **parameters: object) -> Run:
    settled = {"width": 8, "height": 8, "days": 2, **parameters}
    return simulate(Schelling(**settled), model=model or Counting(), seed=3, keep="nothing")  # type: ignore[arg-type]


def mesa_similarity(threshold: float, seed: int, days: int) -> float:
    from mesa.examples.basic.schelling.model import Schelling as MesaSchelling

    model = MesaSchelling(width=20, height=20, density=0.8, minority_pc=0.5, homophily=threshold, seed=seed)
    while model.running and model.steps < days:
        model.step()
    around = [(agent.type, [n.type for n in agent.cell.get_neighborhood(radius=1).agents]) for agent in model.agents]
    return float(np.mean([np.mean([other == own for other in others]) for own, others in around if others]))


def test_similarity_rises_with_the_threshold_as_in_mesas_own_model() -> None:
    ours = np.array(
        [
            [by_rule(s, threshold=t, decide_by="threshold", days=60).metrics["similarity"][-1] for s in range(SEEDS)]
            for t in THRESHOLDS
        ]
    )
    theirs = np.array([[mesa_similarity(t, s, 60) for s in range(SEEDS)] for t in THRESHOLDS])
    # Four standard errors of the difference of two means over the seeds: by chance it is left once in 16,000 times.
    error = np.sqrt((ours.var(axis=1, ddof=1) + theirs.var(axis=1, ddof=1)) / SEEDS)
    assert (np.abs(ours.mean(axis=1) - theirs.mean(axis=1)) <= 4 * error).all()
    assert (np.diff(ours.mean(axis=1)) > 0).all()
    assert (np.diff(theirs.mean(axis=1)) > 0).all()
    assert error.max() < 0.025, "the seeds are too few to tell the two models apart"


def test_people_content_with_a_third_of_like_neighbours_end_among_seven_in_ten() -> None:
    run = by_rule(threshold=0.3, decide_by="threshold")
    assert run.metrics["similarity"][0] == pytest.approx(0.5, abs=0.06)
    assert run.metrics["similarity"][-1] > 0.65
    assert run.metrics["segregation"][-1] > 0.3
    assert run.manifest.status.reason == "everybody is content"


@settings(max_examples=20, deadline=None)
@given(
    density=st.floats(0.3, 1.0),
    threshold=st.floats(0, 1),
    groups=st.integers(2, 4),
    torus=st.booleans(),
    seed=st.integers(0, 99),
)
def test_nobody_shares_a_cell_and_nobody_changes_group(
    density: float, threshold: float, groups: int, torus: bool, seed: int
) -> None:
    run = by_rule(
        seed, width=7, height=6, density=density, threshold=threshold, groups=groups, torus=torus, days=3, minority=0.3
    )
    before, after = run.people(0), run.people()
    assert after["cell"].n_unique() == len(after) == len(before)
    assert after["cell"].is_between(0, 41).all()
    assert (after["group"] == before["group"]).all()


def test_only_those_with_too_few_like_neighbours_move() -> None:
    run = by_rule(threshold=0.5, decide_by="threshold", days=1)
    before, after = run.people(0).frame, run.people(1).frame
    moved = (before["cell"] != after["cell"]).to_numpy()
    unhappy = ((before["like"] / before["neighbours"]).fill_nan(0) < 0.5).to_numpy()
    assert not (moved & ~unhappy).any()
    assert moved.sum() == run.metrics["moves"][1] > 0


def test_the_choice_by_rule_is_the_threshold_rule() -> None:
    chosen, given_ = by_rule(decide_by="choice"), by_rule(decide_by="threshold")
    assert chosen.metrics.equals(given_.metrics)
    assert chosen.answers().height > 0 == given_.answers().height


def test_the_threshold_asked_of_the_rule_is_the_given_one() -> None:
    assert by_rule(decide_by="asked").metrics.equals(by_rule(decide_by="threshold").metrics)


def test_the_threshold_is_asked_once_and_followed() -> None:
    def wants_eight(request: Request) -> dict[str, float]:
        assert "at least how many" in request.messages[-1][1]
        return {option: float(index == 8) for index, option in enumerate(request.options)}

    run = on(Scripted(wants_eight), decide_by="asked")
    assert set(run.people()["threshold"].to_list()) == {0.8}
    assert run.answers(0).height == len(run.people())
    assert run.answers().height == len(run.people())
    assert run.metrics["mean_threshold"].to_list() == pytest.approx([0.8] * 3)


def test_who_gives_no_readable_threshold_keeps_the_given_one() -> None:
    run = on(Scripted(lambda request: "no idea"), decide_by="asked", threshold=0.25)
    assert set(run.people()["threshold"].to_list()) == {0.25}
    assert run.invalid_share == 1.0


def leaves_when_outnumbered(request: Request) -> dict[str, float]:
    told = request.messages[-1][1].split("neighbours: ")[1]
    like, unlike = int(told.split(" of them")[0]), int(told.split("and ")[1].split(" to")[0])
    return {"move": float(like < max(unlike, 1)), "stay": float(like >= max(unlike, 1))}


def test_a_model_that_leaves_when_outnumbered_does_what_the_rule_of_one_half_does() -> None:
    model = on(Scripted(leaves_when_outnumbered), days=4, width=12, height=12, density=0.7)
    rule = simulate(
        Schelling(threshold=0.5, days=4, width=12, height=12, density=0.7), decider="rule", seed=3, keep="nothing"
    )
    assert model.metrics["similarity"].to_list() == rule.metrics["similarity"].to_list()


def test_a_model_that_always_stays_changes_nothing() -> None:
    run = on(Scripted(lambda request: {"stay": 1.0, "move": 0.0}))
    assert run.metrics["moves"].to_list() == [0, 0, 0]
    assert run.people()["cell"].equals(run.people(0)["cell"])


def test_equal_neighbourhoods_are_asked_once() -> None:
    run = on(width=30, height=30, days=1)
    distinct = run.people(0).frame.select("group", "like", "neighbours").unique().height
    assert run.usage().calls == distinct < len(run.people()) / 5


@pytest.mark.parametrize("words", ["neutral", "colour", "team", "ethnic"])
@pytest.mark.parametrize("wording", ["plain", "short", "formal"])
@pytest.mark.parametrize("decide_by", ["asked", "choice"])
def test_every_wording_says_who_is_who(words: str, wording: str, decide_by: str) -> None:
    run = on(words=words, wording=wording, decide_by=decide_by, days=1, groups=3)
    users = run.prompts()["user"].to_list()
    assert not any("{" in user for user in users)
    own = [[name for name in GROUPS[words] if name in user] for user in users]
    assert all(len(names) == 1 for names in own)
    assert {names[0] for names in own} == set(GROUPS[words][:3])
    # The short wording of the question about a threshold names no others.
    assert {"other groups" in user for user in users} == {(wording, decide_by) != ("short", "asked")}


def test_swapped_words_change_the_words_and_nothing_else() -> None:
    plain, swapped = on(days=1), on(days=1, swap=True)
    assert plain.people(0).frame.equals(swapped.people(0).frame)

    def said(run: Run, group: int) -> set[str]:
        answers = run.answers(1).join(run.people(0).frame.select(pl.col("id").alias("person"), "group"), on="person")
        asked = run.prompts(1).select("prompt", "user")
        joined = answers.join(asked, on="prompt").filter(pl.col("group") == group)
        return {user.split("belong to ")[1].split(";")[0] for user in joined["user"]}

    assert said(plain, 0) == said(swapped, 1) == {"group K"}
    assert said(plain, 1) == said(swapped, 0) == {"group M"}


def test_both_orders_are_asked_where_that_is_wanted() -> None:
    assert on(order="rotate", days=1).prompts()["arrangement"].unique().sort().to_list() == ["0 1", "1 0"]


def test_the_grid_is_seen_while_it_runs() -> None:
    scenario = Schelling(width=10, height=6, days=1)
    simulate(scenario, decider="rule", seed=1, keep="nothing")
    lines = scenario.view()
    assert len(lines) == 2 + 6
    assert set("".join(lines[2:])) <= set("○●· ")
    assert sum(line.count("○") + line.count("●") for line in lines[2:]) == len(scenario.people)


def test_the_report_shows_the_step_of_a_threshold() -> None:
    who, left = Schelling.report(by_rule(threshold=0.4, decide_by="choice"))
    assert who.table["similarity"][1] > who.table["similarity"][0]
    assert left.table["left"].to_list() == [1.0, 1.0, 0.0, 0.0, 0.0]


def test_the_report_of_asked_thresholds_counts_them() -> None:
    run = on(decide_by="asked")
    assert Schelling.report(run)[1].table["people"].sum() == len(run.people())


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    (made,) = Schelling.pictures(by_rule(width=8, height=8), tmp_path)
    assert made.stat().st_size > 1000
