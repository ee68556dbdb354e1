from __future__ import annotations

import shutil
from typing import Any

import pytest

from populace import Announce, Run, simulate
from populace.base.errors import UsageError
from populace.engine.workspace import Workspace
from populace.models import Scripted
from populace.runs import side_by_side as view
from populace.runs.compare import first_decision_difference
from populace.runs.reader import RunReader
from populace.scenarios.norms import Norms
from support.models import varied
from support.scenarios import Forms, Shirts, Talk


def made(scenario: Any = None, seed: int = 1, **options: Any) -> Run:
    model = Scripted(varied, spec="scripted:support.models:varied")
    return simulate(scenario or Shirts(), model=model, seed=seed, **options)


def opened(*names: str) -> view.SideBySide:
    place = Workspace()
    return view.side_by_side(names, lambda name: RunReader(place.open(name)))


def test_runs_that_differ_in_their_seed_only_are_one_group() -> None:
    side = opened(*(made(seed=seed).name for seed in (1, 2, 3)), made(Shirts(groups=2), seed=1).name)
    assert [len(group.runs) for group in side.groups] == [3, 1]
    assert side.groups[0].label == "groups=3: 3 seeds"
    assert side.groups[1].label == side.runs[3].name


def test_forks_with_the_same_intervention_are_one_group() -> None:
    parent = made()
    told = [Announce(at=3, text="Wear green.")]
    forks = [parent.fork(3, seed=seed, interventions=told).name for seed in (8, 9)]
    other = parent.fork(3, seed=9, interventions=[Announce(at=3, text="Wear blue.")]).name
    side = opened(parent.name, *forks, other)
    assert [len(group.runs) for group in side.groups] == [1, 2, 1]


def test_a_group_is_a_mean_with_an_interval_that_holds_it() -> None:
    side = opened(*(made(seed=seed).name for seed in (1, 2, 3)))
    found = view.overlay(side, "share_blue")
    assert found.lines == ["mean of 3 seeds"] and "95 % t interval" in found.note
    low, high = found.bands["mean of 3 seeds"]
    last = found.table.row(-1, named=True)
    ends = [side.metrics[run.name]["share_blue"][-1] for run in side.runs]
    assert last["mean of 3 seeds"] == pytest.approx(sum(ends) / 3)
    assert last[low] < last["mean of 3 seeds"] < last[high]


def test_single_runs_can_be_seen_instead() -> None:
    side = opened(*(made(seed=seed).name for seed in (1, 2)))
    found = view.overlay(side, "share_blue", bands=False)
    assert found.lines == [run.name for run in side.runs] and not found.bands


def test_the_same_run_made_twice_is_no_evidence_of_spread() -> None:
    side = opened(made(seed=1).name, made(seed=1).name)
    assert len(side.groups) == 1
    assert view.overlay(side, "share_blue").bands == {}


def test_without_the_extra_the_lines_stay_and_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise UsageError("this analysis needs scipy.", "Install it with: pip install 'populace[analysis]'")

    monkeypatch.setattr("populace.statistics.intervals.library", absent)
    side = opened(*(made(seed=seed).name for seed in (1, 2)))
    found = view.overlay(side, "share_blue")
    assert len(found.lines) == 2 and "populace[analysis]" in found.note
    assert view.metric_differences(side, side.runs[0].name, 4).height == 1


def test_a_fork_is_told_with_its_step_and_parts_there() -> None:
    parent = made()
    fork = parent.fork(3, seed=9)
    side = opened(parent.name, fork.name)
    assert view.fork_relations(side.runs) == [view.ForkRelation(fork.name, parent.name, 3, here=True)]
    (parted,) = view.differences_from(side.runs[0], side.runs[1:])
    assert parted.difference is not None and parted.difference.step == 3
    assert parted.difference.what == "answer" and parted.difference.person is not None
    overlay = view.overlay(side, "share_blue")
    shared = overlay.table.filter(overlay.table["step"] < 3)
    assert shared[parent.name].to_list() == shared[fork.name].to_list()


def test_what_a_fork_shares_is_compared_without_opening_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    parent = made(Shirts(days=6))
    fork = parent.fork(6, seed=9)
    seen: list[int] = []
    table = type(parent.record).table
    monkeypatch.setattr(
        type(parent.record), "table", lambda self, step, name: seen.append(step) or table(self, step, name)
    )
    assert first_decision_difference(parent, fork) is not None
    assert set(seen) == {6}


def test_equal_runs_are_told_to_be_equal() -> None:
    side = opened(made(seed=1).name, made(seed=1).name)
    (parted,) = view.differences_from(side.runs[0], side.runs[1:])
    assert parted.difference is None and "4 shared steps is equal" in parted.note


def test_differences_have_intervals_where_both_sides_have_several_runs() -> None:
    runs = [made(Shirts(groups=groups), seed=seed).name for groups in (3, 2) for seed in (1, 2, 3)]
    side = opened(*runs)
    found = view.metric_differences(side, runs[0], 4)
    first, second = found.rows(named=True)
    assert first["difference"] is None and first["n"] == 3
    assert second["difference"] == pytest.approx(second["value"] - first["value"])
    assert second["low"] < second["difference"] < second["high"]


def test_forks_are_paired_with_their_parents() -> None:
    parents = [made(seed=seed) for seed in (1, 2, 3)]
    forks = [parent.fork(4, parameters={"wording": "Yesterday it rained, and {blue} wore blue."}) for parent in parents]
    side = opened(*(run.name for run in (*parents, *forks)))
    assert [len(group.runs) for group in side.groups] == [3, 3]
    row = view.metric_differences(side, parents[0].name, 3).row(1, named=True)
    assert row["difference"] == 0.0
    assert row["low"] < 0 < row["high"], "three equal pairs show no precision"


def test_single_runs_differ_without_an_interval() -> None:
    side = opened(made(seed=1).name, made(Shirts(groups=2), seed=1).name)
    row = view.metric_differences(side, side.runs[0].name, 4).row(1, named=True)
    assert row["difference"] is not None and row["low"] is None


def test_settings_that_differ_stand_first() -> None:
    side = opened(made(seed=1).name, made(Shirts(groups=2), seed=2).name)
    table = view.settings_table(side.runs)
    assert table.filter("differs")["setting"].to_list() == ["seed", "groups"]
    assert table["differs"].to_list() == sorted(table["differs"], reverse=True)


def test_runs_of_different_scenarios_say_what_cannot_be_compared() -> None:
    side = opened(made().name, made(Talk()).name)
    said = " ".join(view.remarks(side))
    assert "2 scenarios" in said and "share_blue" in said and "mean_mood" in said
    assert view.common_metrics(side) == []
    (parted,) = view.differences_from(side.runs[0], side.runs[1:])
    assert parted.difference is None and "Another scenario" in parted.note


def test_a_run_that_is_not_there_is_told_and_others_are_shown() -> None:
    kept, gone = made(seed=1), made(seed=2)
    shutil.rmtree(gone.folder)
    side = opened(kept.name, gone.name, "../../etc")
    assert [run.name for run in side.runs] == [kept.name]
    assert [each.name for each in side.missing] == [gone.name, "../../etc"]
    assert view.common_metrics(side) == ["share_blue"]


def test_a_fork_whose_parent_went_away_is_told() -> None:
    parent = made()
    fork = parent.fork(3, seed=9)
    shutil.rmtree(parent.folder)
    side = opened(fork.name)
    assert not side.runs and "which is not there" in side.missing[0].what


def test_a_run_without_numbers_has_nothing_to_draw() -> None:
    side = opened(made(Forms()).name)
    assert view.common_metrics(side) == [] and view.metric_differences(side, side.runs[0].name, 1).height == 0


def test_a_difference_of_texts_is_told_line_by_line() -> None:
    assert view.line_diff("a\nb", "a\nc") == [(" ", "a"), ("-", "b"), ("+", "c")]
    assert len(view.line_diff("x\n" * 1_000_000, "y" * 1_000_000)) < 1000


def test_norms_of_several_seeds_reads_well() -> None:
    names = [simulate(Norms(workers=6, days=3), model="scripted:uniform", seed=seed).name for seed in (1, 2, 3)]
    side = opened(*names)
    assert len(side.groups) == 1 and view.remarks(side) == [] and view.last_common_step(side.runs) == 3
