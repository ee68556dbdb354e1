from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from populace.base.errors import UnknownNameError, UsageError
from populace.experiments import Experiment, Results, planned_effects, report
from populace.statistics import adjust
from support.commands import populace

SETTINGS: dict[str, Any] = {
    "name": "planned",
    "scenario": "norms",
    "factors": {"initial_share": [0.2, 0.8], "counts": [True, False]},
    "parameters": {"workers": 4, "days": 2},
    "decider": "rule",
    "replicates": 3,
    "outcomes": ["share_blue", "consensus"],
}
PLAN: dict[str, Any] = {"contrasts": [{"outcome": "share_blue", "factor": "initial_share"}]}


def experiment(plan: dict[str, Any] | None = PLAN, **changes: Any) -> Experiment:
    return Experiment(**(SETTINGS | ({"analysis_plan": plan} if plan else {}) | changes))


def test_a_plan_is_frozen_before_data_and_says_of_each_comparison_whether_it_was_planned() -> None:
    frozen = experiment().freeze()
    assert frozen.runs == 0 and frozen.hash == experiment().analysis_plan.hash  # type: ignore[union-attr]
    results = experiment().run(workers=1)
    assert results.analysis_plan == frozen, "running does not freeze it again"
    assert results.effects(factor="initial_share")["planned"].to_list() == ["planned"]
    assert results.effects(factor="counts")["planned"].to_list() == ["not planned"]
    assert set(results.effects("consensus")["planned"]) == {"not planned"}
    assert experiment(None, name="free").run(workers=1).effects()["planned"][0] == "no plan"


def test_a_contrast_added_after_data_is_marked_in_every_output(tmp_path: Path) -> None:
    experiment().run(workers=1)
    longer = {"contrasts": [*PLAN["contrasts"], {"outcome": "share_blue"}]}
    changed = experiment(longer)
    assert changed.label == experiment().label, "a plan changes no run"
    assert changed.analysis_plan.hash != experiment().analysis_plan.hash  # type: ignore[union-attr]
    results = changed.run(workers=1)
    assert [plan.runs for plan in results.folder.manifest.plans] == [0, 12]
    assert set(results.effects()["planned"]) == {"added after data"}
    assert results.effects(factor="initial_share")["planned"][0] == "planned"
    text = report(results).markdown
    assert "added after data" in text and changed.analysis_plan.hash in text  # type: ignore[union-attr]
    (tmp_path / "planned.yaml").write_text(yaml.safe_dump(changed.data()))
    done = populace("experiment", "planned.yaml", "--workers", "1")
    assert "added" in done.stdout and "analysis plan" in done.stdout
    document = json.loads(populace("experiment", "planned.yaml", "--workers", "1", "--json").stdout)["data"]
    assert document["effects"]["share_blue"][0]["planned"] == "added after data"
    assert len(document["plans"]) == 2


def test_the_comparisons_of_a_plan_stand_in_every_output_at_its_own_level(tmp_path: Path) -> None:
    """The command and the report showed arms that were not planned, with 99 % intervals called 95 %."""
    contrasts = [{"outcome": "share_blue", "factor": name} for name in ("initial_share", "counts")]
    asked = experiment({"contrasts": [*contrasts, contrasts[0] | {"of": 0.8}], "alpha": 0.01})
    results = asked.run(workers=1)
    table = planned_effects(results)
    assert table["contrast"].to_list() == ["initial_share: 0.8 against 0.2", "counts: false against true"]
    assert set(table["planned"]) == {"planned"}
    single = results.effects(factor="initial_share")
    assert (table["effect"][0], table["low"][0]) == (single["effect"][0], single["low"][0])
    assert table["p_adjusted"].to_list() == adjust(table["p"]).tolist(), "both factors are one family"
    assert results.effects(factor="counts", level=0.995)["low"][0] == table["low_all"][1]
    text = report(results).markdown.replace("\\", "")
    assert "| share_blue | initial_share: 0.8 against 0.2 |" in text
    assert "The bar is the 99 % interval" in text
    (tmp_path / "planned.yaml").write_text(yaml.safe_dump(asked.data()))
    shown = populace("experiment", "planned.yaml", "--workers", "1").stdout
    assert "Effects on share_blue, 99 % intervals" in shown and "Planned comparisons, 99 % intervals" in shown


def test_a_planned_comparison_that_cannot_be_made_says_why() -> None:
    asked = experiment({"contrasts": [{"outcome": "share_blue", "factor": "initial_share", "baseline": 0.8}]})
    results = asked.run(workers=1)
    assert planned_effects(results)["contrast"].to_list() == ["initial_share: 0.2 against 0.8"]
    lost = Results(results.folder)
    lost.__dict__["runs"] = results.runs.with_columns(share_blue=pl.lit(None, dtype=pl.Float64))
    (row,) = planned_effects(lost).iter_rows(named=True)
    assert row["effect"] is None and row["warning"]


def test_the_command_freezes_a_plan_and_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "planned.yaml").write_text(yaml.safe_dump(experiment().data()))
    done = json.loads(populace("experiment", "planned.yaml", "--freeze", "--json").stdout)["data"]
    assert done["runs"] == 0 and done["hash"] == experiment().analysis_plan.hash  # type: ignore[union-attr]


def test_planned_looks_spend_alpha_and_exclusions_count_as_missing() -> None:
    never = {"column": "answers_unparseable", "above": 0}  # no run has such an answer, so there is no such column
    plan = PLAN | {"looks": [3, 6], "exclusions": [{"column": "replicate", "above": 4}, never]}
    first = experiment(plan).run(workers=1).effects(factor="initial_share").row(0, named=True)
    second = experiment(plan, replicates=6).run(workers=1).effects(factor="initial_share")
    assert "looked at" not in second["warning"][0]
    assert first["looks"] == 1
    assert second["missing"][0] == 4 and second["n"][0] == 5


def test_levels_are_named_as_numbers_too() -> None:
    contrast = {"outcome": "share_blue", "factor": "initial_share", "of": 0.8, "baseline": 0.2}
    assert (
        experiment(PLAN | {"contrasts": [contrast]}).analysis_plan
        == experiment(PLAN | {"contrasts": [contrast | {"of": "0.8", "baseline": "0.2"}]}).analysis_plan
    )


@pytest.mark.parametrize(
    ("plan", "error", "words"),
    [
        ({"contrasts": ["share_bleu"]}, UnknownNameError, "Did you mean 'share_blue'"),
        ({"contrasts": [{"outcome": "share_blue", "factor": "start"}]}, UnknownNameError, "factor"),
        ({"contrasts": [{"outcome": "share_blue", "factor": "initial_share", "of": "0.5"}]}, UnknownNameError, "level"),
        ({"contrasts": [{"outcome": "share_blue", "baseline": "nobody"}]}, UnknownNameError, "arm"),
        ({"contrasts": ["share_blue"], "looks": [20, 10]}, UsageError, "increase"),
        ({"contrasts": ["share_blue"], "alpha": 1.5}, UsageError, "alpha"),
        ({"contrasts": []}, UsageError, "at least"),
        ({"contrasts": ["share_blue"], "alhpa": 0.1}, UnknownNameError, "alpha"),
        ({"contrasts": ["share_blue"], "exclusions": [{"column": "steps"}]}, UsageError, "above or below"),
        (
            {"contrasts": ["share_blue"], "exclusions": [{"column": "anwsers_ok", "above": 1}]},
            UnknownNameError,
            "answers_ok",
        ),
    ],
)
def test_a_plan_that_names_what_is_not_there_is_refused(
    plan: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        experiment(plan)
