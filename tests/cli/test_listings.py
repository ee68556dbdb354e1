"""One broken run never breaks a listing: with ten among a hundred, the hundred are shown and the ten are named."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from populace import Run, simulate
from populace.engine.workspace import Workspace
from populace.experiments import Experiment
from populace.journal import Journal
from populace.scenarios.norms import Norms
from populace.studio.library import Library
from support.commands import populace

GOOD = 100


def _edit(path: Path, change: Any) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def _replace_by_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("a file where a folder should be")


def _replace_by_link(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder.parent / "nowhere")


def _loop(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder)


BREAK: dict[str, Any] = {
    "usage": lambda folder: (folder / "usage.jsonl").write_text('{"step": 0, "calls": "many", "seconds": 1}\n'),
    "no-json": lambda folder: (folder / "manifest.json").write_text("not JSON"),
    "regimes": lambda folder: _edit(folder / "manifest.json", lambda data: data.update(regimes=[])),
    "future": lambda folder: _edit(folder / "manifest.json", lambda data: data.update(format=99)),
    "bytes": lambda folder: (folder / "manifest.json").write_bytes(b"\xff\xfe\x00"),
    "a-file": _replace_by_file,
    "dangling": _replace_by_link,
    "loop": _loop,
    "no-manifest": lambda folder: (folder / "manifest.json").unlink(),
    "ring": lambda folder: _edit(
        folder / "manifest.json", lambda data: data.update(parent={"run": folder.name, "at": 1})
    ),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("many")
    run = simulate(Norms(workers=2, days=1), decider="rule", workspace=place)
    original = run.folder.rename(place / "original")
    for number in range(GOOD):
        _copy(original, place / "runs" / f"good-{number:03d}")
    for name, damage in BREAK.items():
        _copy(original, place / "runs" / f"bad-{name}")
        damage(place / "runs" / f"bad-{name}")
    shutil.rmtree(original)
    return place


def _copy(original: Path, folder: Path) -> None:
    shutil.copytree(original, folder)
    _edit(folder / "manifest.json", lambda data: data.update(run=folder.name))
    _edit(folder / "manifest.json", lambda data: data["status"].pop("end"))


def test_list_shows_the_hundred_and_names_the_ten(place: Path) -> None:
    done = populace("list", "--workspace", str(place))
    assert done.returncode == 0, done.stderr
    assert sum(line.strip().startswith("good-") for line in done.stdout.splitlines()) == GOOD
    named = [line for line in done.stdout.splitlines() if line.strip().startswith("not readable")]
    assert len(named) == len(BREAK) == 10
    for name in BREAK:
        (line,) = [line for line in named if f"bad-{name}:" in line]
        assert len(line.partition(": ")[2]) > 10, line
    document = json.loads(populace("list", "--json", "--workspace", str(place)).stdout)
    assert len(document["data"]) == GOOD and len(document["warnings"]) == 10


def test_studios_home_shows_the_hundred_and_names_the_ten(place: Path) -> None:
    library = Library(Workspace(place))
    cards = [library.card(name) for name in library.names()]
    good = [card for card in cards if card.overview is not None]
    bad = {card.name: card.problem for card in cards if card.overview is None}
    assert len(good) == GOOD and all(card.state == "complete" for card in good)
    assert set(bad) == {f"bad-{name}" for name in BREAK}
    assert all(len(problem) > 10 for problem in bad.values())
    assert len(library.matching("good")) == GOOD
    assert library.under_way() == []


def test_experiments_that_cannot_be_read_hide_no_other(tmp_path: Path) -> None:
    made = Experiment(
        name="good", scenario="norms", factors={"initial_share": [0.2, 0.8]}, parameters={"workers": 2, "days": 1},
        decider="rule", replicates=2, outcomes=["share_blue"],
    ).run(workers=1, check=False)  # fmt: skip
    folder = made.folder.path
    for number in range(20):
        shutil.copytree(folder, folder.with_name(f"good-{number}"))
    rows = next((folder / "rows").glob("*.jsonl")).name
    broken: dict[str, Any] = {
        **{name: BREAK[name] for name in ("no-json", "future", "bytes", "a-file", "dangling", "no-manifest")},
        "row": lambda each: (each / "rows" / rows).write_text('{"arm": 7, "replicate": 0, "status": "ok"}\n'),
        "row-text": lambda each: (each / "rows" / rows).write_text("[]\n[]\n"),
        "plan": lambda each: _edit(each / "manifest.json", lambda data: data.update(experiment={})),
        "arms": lambda each: _edit(each / "manifest.json", lambda data: data.update(arms=[{}])),
    }
    for name, damage in broken.items():
        shutil.copytree(folder, folder.with_name(f"bad-{name}"))
        damage(folder.with_name(f"bad-{name}"))
    document = json.loads(populace("experiment", "--list", "--json").stdout)
    assert len(document["data"]) == 21
    assert all(any(f"bad-{name}:" in text for text in document["warnings"]) for name in broken)
    cards = Library(Workspace(tmp_path)).experiments()
    good = [card for card in cards if not card.problem]
    assert {card.name for card in cards if card.problem} >= {
        f"bad-{name}" for name in broken if name not in ("plan", "arms")
    }
    assert len(good) >= 21


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_a_metric_that_is_no_number_is_shown_and_listed(value: float | None) -> None:
    run = simulate(Norms(workers=2, days=1), decider="rule")
    _with_metric(run, value)
    assert run.name in populace("list").stdout
    assert populace("show", run.name).returncode == 0
    assert Library(Workspace()).card(run.name).overview is not None


def _with_metric(run: Run, value: float | None) -> None:
    """The run with one more step, in which the metrics have this value."""
    metrics = run.metrics.tail(1).with_columns(pl.lit(value, pl.Float64).alias("share_blue"), step=pl.lit(2, pl.Int64))
    journal = Journal(run.folder)
    journal.commit(2, {"metrics": metrics}, run.record.facts(1), {"seconds": 0.1})
    journal.set_status(steps=2)


def test_a_seed_beyond_64_bits_does_not_break_the_list() -> None:
    simulate(Norms(workers=2, days=1), decider="rule", seed=2**70)
    simulate(Norms(workers=2, days=1), decider="rule", seed=1)
    done = populace("list")
    assert done.returncode == 0 and str(2**70) in done.stdout


def test_calls_of_a_step_that_was_abandoned_are_counted_until_the_end(tmp_path: Path) -> None:
    place = ["--workspace", str(tmp_path)]
    start = ["run", "norms", "--workers", "4", "--days", "2", "--model", "scripted:uniform", "--no-chart", *place]
    assert populace(*start, "--max-calls", "1").returncode == 5

    def calls() -> int:
        (row,) = json.loads(populace("list", "--json", *place).stdout)["data"]
        return int(row["calls"])

    assert calls() == 1
    assert "1 call in a step that was abandoned" in populace("show", "last", *place).stdout
    assert populace("resume", "last", "--no-chart", *place).returncode == 0
    run = Run(Workspace(tmp_path).open("last"))
    with contextlib.closing(Workspace(tmp_path).store()) as store:
        assert calls() == run.usage().calls + 1 == len(store)
