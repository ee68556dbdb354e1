from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from populace.base.errors import RunNotFoundError, UsageError
from populace.engine.workspace import Workspace
from populace.experiments import Experiment, Results
from populace.experiments.folder import ExperimentFolder
from populace.studio.pages.experiment import data as view
from populace.studio.pages.experiment.forest import forest


def made(**changes: Any) -> Results:
    plan: dict[str, Any] = {
        "name": "shirts", "question": "Do groups matter?", "scenario": "support.scenarios:Shirts",
        "factors": {"groups": [1, 3]}, "model": "scripted:support.models:varied", "replicates": 4,
        "outcomes": ["share_blue", "mean(share_blue)"],
    }  # fmt: skip
    return Experiment(**(plan | changes)).run(workers=1)


def test_the_overview_tells_where_it_stands_and_how_to_go_on() -> None:
    results = made()
    found = view.experiment_overview(view.open_results(Workspace(), results.name))
    assert (found.state, found.done, found.total, found.failed) == ("complete", 8, 8, 0)
    assert found.resume.startswith("populace experiment shirts.yaml --workspace")
    assert "scripted:support.models:varied" in found.file
    assert list(found.outcomes) == ["share_blue", "mean(share_blue)"]


def test_the_file_to_go_on_with_makes_the_same_experiment(tmp_path: Any) -> None:
    results = made()
    (tmp_path / "shirts.yaml").write_text(view.experiment_overview(results).file)
    assert Experiment.read(tmp_path / "shirts.yaml").label == results.name


def test_an_experiment_whose_process_is_gone_is_told_to_have_died() -> None:
    results = made()
    results.folder.write(state="running")
    assert view.experiment_overview(Results(results.folder)).state == "died"
    with results.folder.locked():
        assert view.experiment_overview(Results(results.folder)).state == "running"


def test_nothing_outside_the_workspace_can_be_named() -> None:
    results = made()
    for name in ("../experiments/" + results.name, str(results.folder.path), "nothing", ""):
        with pytest.raises(RunNotFoundError):
            view.open_results(Workspace(), name)


def test_effects_follow_the_reference() -> None:
    results = made()
    one, two = (view.effects(results, "share_blue", arm).table for arm in ("groups=1", "groups=3"))
    assert one is not None and two is not None
    assert one["effect"][0] == pytest.approx(-two["effect"][0])
    assert one["low"][0] <= one["effect"][0] <= one["high"][0]


def test_without_the_extra_effects_become_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise UsageError("this analysis needs scipy.", "Install it with: pip install 'populace[analysis]'")

    results = made()
    monkeypatch.setattr("populace.statistics.intervals.library", absent)
    for found in (view.effects(results, "share_blue"), view.summary(results, "share_blue")):
        assert found.table is None and "populace[analysis]" in found.note
    assert "populace[analysis]" in view.over_time(results)["share_blue"].note
    assert view.distribution(results, "share_blue").height == 8


def test_every_run_is_a_dot_and_every_arm_a_band() -> None:
    results = made()
    assert view.distribution(results, "share_blue").group_by("arm").len()["len"].to_list() == [4, 4]
    over = view.over_time(results)["share_blue"]
    assert over.lines == ["groups=1", "groups=3"] and set(over.bands) == set(over.lines)
    assert over.table["step"].to_list() == [0, 1, 2, 3, 4]


def test_failed_runs_are_counted_and_the_command_retries_them() -> None:
    results = made(scenario="support.scenarios:Fragile", factors={"mood": ["calm", "broken"]}, replicates=2)
    found = view.experiment_overview(results)
    assert found.failed == 2 and "--retry" in found.resume
    effects = view.effects(results, "share_blue")
    assert effects.table is None and effects.note


def test_kept_runs_come_with_the_command_that_shows_them() -> None:
    results = made(keep="run", replicates=2)
    kept = view.kept_runs(results)
    assert kept.height == 4 and all(
        f"populace show {run}" in line for run, line in kept.select("run", "command").rows()
    )
    assert view.kept_runs(made(name="other")).height == 0


def test_the_card_is_made_from_what_runs_left() -> None:
    card = view.validity_card(made())
    assert card is not None and card["replicates"].verdict == "fail"


def test_an_experiment_without_a_run_is_shown_all_the_same() -> None:
    experiment = made().experiment
    folder = ExperimentFolder.make(
        Experiment(**(experiment.data() | {"name": "fresh"})), experiment.arms(), Workspace()
    )
    results = Results(folder)
    assert view.experiment_overview(results).done == 0 and view.validity_card(results) is None
    assert view.effects(results, "share_blue").table is None
    assert view.over_time(results) == {} and view.distribution(results, "share_blue").height == 0


def test_a_forest_breaks_between_intervals() -> None:
    table = pl.DataFrame({"arm": ["a", "b"], "effect": [0.5, -1.0], "low": [0.1, None], "high": [0.9, None]})
    made = forest(table, "effect", labels={"b": "the other"}, zero=True)
    lines = next(series for series in made["series"] if series["type"] == "line")
    assert lines["data"] == [[0.1, "a"], [0.9, "a"], [None, None]]
    assert made["yAxis"]["data"] == ["a", "the other"]
