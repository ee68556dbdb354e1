"""People use a web shop: they act on pages, buy or leave, and a change of a page changes what they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from populace import Run, simulate
from populace.base.errors import BudgetError, UsageError, WorldError
from populace.experiments import Experiment
from populace.models import Request, Scripted
from populace.scenarios.norms import Norms
from populace.scenarios.shop import Shop
from populace.scenarios.shop.report import run_sessions

SMALL: dict[str, Any] = {"shoppers": 8, "actions": 15}


def by_rule(seed: int = 1, **parameters: Any) -> Run:
    return simulate(Shop(**parameters), decider="rule", seed=seed, keep="nothing")


def by_cast(workspace: Path, **settings: Any) -> Run:
    return simulate(Shop(**SMALL, reasoning=True), model="scripted:cast", seed=2, workspace=workspace, **settings)


def test_by_rule_everybody_buys_or_leaves_and_every_answer_is_valid() -> None:
    run = by_rule(shoppers=60)
    last = run.metrics.row(-1, named=True)
    assert last["bought"] + last["left"] == 1 and last["bought"] > 0.3
    assert last["refused"] == last["invalid_actions"] == 0
    assert run.manifest.status.state == "complete" and run.steps[-1] < 25
    funnel = dict(Shop.report(run)[0].table.select("people who", "number").iter_rows())
    assert funnel["visited"] == 60 >= funnel["opened a product"] >= funnel["went to the checkout"] >= funnel["bought"]


def test_shipping_that_is_named_late_leaves_more_full_carts() -> None:
    late, early = (by_rule(shoppers=100, shipping=12.0, shipping_early=early) for early in (False, True))
    assert late.metrics["abandoned"][-1] > early.metrics["abandoned"][-1] + 0.1
    assert late.metrics["bought"][-1] < early.metrics["bought"][-1]


def test_the_cast_gives_a_valid_run_that_repeats_at_any_concurrency(tmp_path: Path) -> None:
    runs = [by_cast(tmp_path / str(concurrency), concurrency=concurrency) for concurrency in (1, 64)]
    assert runs[0].digest == runs[1].digest
    assert runs[0].metrics["invalid_actions"][-1] == 0 and runs[0].metrics["bought"][-1] > 0
    assert runs[0].replay(verify=True).steps == runs[0].steps
    thoughts = runs[0].history("actions")["reasoning"]
    assert thoughts.null_count() == 0
    prompt = runs[0].prompts(at=2).filter(pl.col("user").str.contains("Which element"))["user"][0]
    assert "You thought: " in prompt and "What you think: " in prompt and 'name="header.search"' in prompt


def test_a_run_that_stopped_goes_on_with_the_same_shop(tmp_path: Path) -> None:
    whole = by_cast(tmp_path / "whole")
    with pytest.raises(BudgetError):
        by_cast(tmp_path / "part", max_calls=60)
    stopped = Run.open(next((tmp_path / "part" / "runs").iterdir()))
    assert 0 < stopped.steps[-1] < whole.steps[-1]
    resumed = stopped.resume(max_calls=None)
    assert resumed.digest == whole.digest
    assert resumed.history("visitors").equals(whole.history("visitors"))


def test_an_answer_that_names_nothing_on_the_page_is_invalid_counted_and_changes_nothing() -> None:
    def reply(request: Request) -> Any:
        if request.top:
            return {option: float(option in ("click", "A")) for option in request.options}
        return "nonsense"

    silent = Scripted(lambda request: dict.fromkeys(request.options, 0.0) if request.top else "", spec="scripted:none")
    run = simulate(Shop(shoppers=3, actions=2), model=silent, seed=1, keep="nothing")
    assert run.metrics["invalid_actions"][-1] + run.history("actions").filter(pl.col("status") == "done").height == 6
    clicks = simulate(Shop(shoppers=3, actions=2), model=Scripted(reply, spec="scripted:click"), seed=1, keep="nothing")
    assert set(clicks.history("actions")["element"].to_list()) == {"header.home"}


def test_a_catalogue_of_ones_own_is_used_and_kept_with_the_run(tmp_path: Path) -> None:
    file = tmp_path / "goods.csv"
    file.write_text("name,category,price,rating\nGreen Tea,tea,5,4.5\nBlack Tea,tea,6,4.8\n")
    run = simulate(Shop(catalogue=str(file), shoppers=5), decider="rule", seed=1, workspace=tmp_path)
    file.unlink()
    assert "green_tea" in "".join(run.history("actions")["page"].to_list())
    assert Run.open(run.folder).replay(verify=True).metrics.equals(run.metrics)
    file.write_text("name,category,price\nGreen Tea,tea,-5\n")
    with pytest.raises((UsageError, WorldError), match="line 2: the price of 'Green Tea' is -5"):
        Shop(catalogue=str(file))


def test_the_sessions_of_a_run_are_a_log_like_any_other() -> None:
    run = by_rule(shoppers=20)
    sessions = run_sessions(run)
    assert len(sessions) == 20 and sessions.purchase_elements == ("checkout.place_order",)
    outcomes = dict(sessions.outcomes["outcome"].value_counts().iter_rows())
    assert outcomes["purchase"] == round(20 * run.metrics["bought"][-1])
    assert sessions.outcomes["length"].mean() == pytest.approx(run.metrics["mean_length"][-1])
    assert " You are shopping online for" in sessions.table["profile"][0]
    with pytest.raises(WorldError, match="no run of the scenario shop"):
        run_sessions(simulate(Norms(workers=2, days=1), decider="rule", keep="nothing"))


def test_a_change_of_a_page_is_an_experiment(tmp_path: Path) -> None:
    plan = tmp_path / "pages.yaml"
    plan.write_text(
        "question: Does a notice sell?\nscenario: shop\nfactors:\n  first_sort: [relevance, price]\n"
        "parameters: {shoppers: 10, actions: 15}\ndecider: rule\nreplicates: 3\noutcomes: [bought, mean_length]\n"
    )
    results = Experiment.read(plan).run(workspace=tmp_path, workers=1)
    assert results.runs.height == 6
