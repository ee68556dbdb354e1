from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from populace import simulate
from populace.base.errors import UsageError
from populace.experiments import Experiment, check_robustness
from populace.experiments.robustness import _survives
from support.commands import populace
from support.planted import Sides

LOW = "scripted:support.planted:low"
POSITION = "scripted:first"
TURNED = {"options reversed": {"order": "reversed"}, "sentences on lines": {"space": "lines"}}
WIND: dict[str, Any] = {
    "name": "wind",
    "scenario": Sides,
    "factors": {"wind": [-1.0, 1.0]},
    "model": LOW,
    "replicates": 10,
    "outcomes": ["share_left"],
}


def test_an_effect_of_the_situation_survives_every_variation() -> None:
    found = check_robustness(Experiment(**WIND).run(workers=1), variations=TURNED, workers=1)
    assert list(found.survival.values()) == ["yes"]
    assert set(found.variations) == {"options reversed"}
    assert found.left_out == ("sentences on lines",)
    row = found.conclusions.row(0, named=True)
    assert row["conclusion"] == "share_left: wind=1.0 is above wind=-1.0"
    assert row["effect"] == pytest.approx(row["effect_again"], abs=0.1)
    assert row["n"] == 10
    assert found.table().columns == ["conclusion", "as written", "options reversed", "survives"]
    text = "Of 1 conclusion of wind, 1 survives the only variation, 0 do not, 0 are undecided"
    assert text in str(found).replace(found.study, "wind") and "use the same seeds" in str(found)


def test_an_effect_that_is_only_of_the_position_is_lost() -> None:
    # This model takes what is shown first: telling it to some and not to others has no effect, and its order has all.
    frail = Experiment(
        **(
            WIND
            | {
                "name": "frail",
                "model": "scripted:support.planted:fickle",
                "factors": {"wind": [0.0, 1.0]},
            }
        )
    ).run(workers=1)
    found = check_robustness(frail, variations={"polite": {"wording": "polite"}}, workers=1)
    assert list(found.survival.values()) == ["no"]
    assert "lost under polite" in str(found)


def test_the_same_seeds_are_used_under_every_variation() -> None:
    first = Experiment(**WIND).run(workers=1)
    check_robustness(first, variations=TURNED, workers=1)
    again = Experiment(**(WIND | {"name": "wind-options-reversed", "variation": {"order": "reversed"}})).run(workers=1)
    assert again.runs["seed"].to_list() == first.runs["seed"].to_list()


def test_a_run_whose_metric_hangs_on_the_order_does_not_survive_it() -> None:
    run = simulate(Sides(), model=POSITION, seed=2)
    found = check_robustness(run, variations={**TURNED, "polite": {"wording": "polite"}}, seeds=6, workers=1)
    verdicts = dict(found.conclusions.select("variation", "survives").iter_rows())
    assert verdicts == {"options reversed": "no", "polite": "yes"}
    (spread,) = found.spread.iter_rows(named=True)
    assert (spread["run"], spread["sd_over_seeds"]) == (1.0, 0.0)
    assert spread["sd_over_variations"] > 0.5


def test_what_is_not_told_apart_is_undecided() -> None:
    assert _survives(1, 1, differs=True) == "yes"
    assert _survives(1, -1, differs=True) == "no"
    assert _survives(1, 0, differs=True) == "no"
    assert _survives(1, 0, differs=False) == "undecided"
    assert _survives(0, 0, differs=False) == "yes"
    assert _survives(0, 1, differs=False) == "undecided"


def test_a_run_of_the_rule_and_a_fork_are_refused() -> None:
    with pytest.raises(UsageError, match="decider is rule"):
        check_robustness(simulate(Sides(), decider="rule"))
    run = simulate(Sides(), model=POSITION)
    with pytest.raises(UsageError, match="fork"):
        check_robustness(run.fork(1, seed=9, model=LOW))
    with pytest.raises(UsageError, match="none of the variations"):
        check_robustness(run, variations={"lines": {"space": "lines"}}, workers=1)


@pytest.mark.slow
def test_the_command_repeats_a_run_and_reports_one_document() -> None:
    assert populace("run", "norms", "--model", POSITION, "--workers", "4", "--days", "1").returncode == 0
    done = populace("robust", "last", "--seeds", "6", "--variation", "options reversed", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["data"]
    assert found["survived"]["share_blue ends at 1 ± 0"] == "no"
    shown = populace("robust", "last", "--seeds", "6", "--variation", "options reversed")
    assert "survive" in shown.stdout
    wrong = populace("robust", "last", "--variation", "options revered")
    assert wrong.returncode == 2
    assert "options reversed" in wrong.stderr


def test_results_of_a_run_are_a_table(tmp_path: Any) -> None:
    run = simulate(Sides(), model=LOW, seed=2)
    found = check_robustness(run, variations={"polite": {"wording": "polite"}}, seeds=6, workers=1)
    assert isinstance(found.table(), pl.DataFrame)
    row = found.conclusions.row(0, named=True)
    assert row["low"] < 0.16 < row["high"]
    assert row["survives"] in ("no", "undecided")
