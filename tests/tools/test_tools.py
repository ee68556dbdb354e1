"""compare, export, estimate, probe and doctor, as library functions."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import duckdb
import polars as pl
import pytest

from populace import Run, simulate
from populace.base.errors import StorageError, UnknownNameError, UsageError
from populace.broker import Broker, MemoryCallStore, Price
from populace.models import Model
from populace.runs.charts import draw_run, sparkline
from populace.runs.compare import compare
from populace.runs.export import export
from populace.scenarios.norms import Norms
from populace.tools.doctor import diagnose, suspects
from populace.tools.estimate import estimate
from populace.tools.probe import Probe, probe
from populace.tools.probe_chart import draw_probe
from support.models import Counting
from support.scenarios import Clockwork, Shirts, Talk


def test_equal_runs_compare_as_equal(shirts_run: Run) -> None:
    assert compare(shirts_run, simulate(Shirts(), model=Counting(), seed=1)).equal


def test_a_comparison_names_the_first_decision_that_differs(shirts_run: Run) -> None:
    other = shirts_run.fork(3, seed=8, model=Counting())
    found = compare(shirts_run, other)
    assert found.settings == {"seed": (1, 8)}
    assert found.first_difference is not None
    assert (found.first_difference.step, found.first_difference.what) == (3, "answer")
    assert {found.first_difference.first, found.first_difference.second} == {"blue", "green"}
    assert found.metrics["step"].min() >= 3  # type: ignore[operator]


def test_a_comparison_tells_a_changed_prompt_from_a_changed_answer(shirts_run: Run) -> None:
    other = simulate(Shirts(wording="{blue} wore blue."), model=Counting(), seed=1)
    found = compare(shirts_run, other)
    assert found.first_difference is not None
    assert (found.first_difference.step, found.first_difference.what, found.first_difference.person) == (1, "prompt", 0)
    assert "Yesterday 0 wore blue." in found.first_difference.first


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_an_export_is_read_by_duckdb_as_it_is(shirts_run: Run, tmp_path: Path, form: str) -> None:
    export(shirts_run, tmp_path / "out", form)  # type: ignore[arg-type]
    with duckdb.connect() as database:
        query = f"SELECT step, count(*) FROM '{tmp_path}/out/answers.{form}' GROUP BY step ORDER BY step"
        assert database.execute(query).fetchall() == [(1, 12), (2, 12), (3, 12), (4, 12)]
        people = database.execute(f"SELECT count(*) FROM '{tmp_path}/out/people.{form}'").fetchone()
    assert people == (60,)


def test_an_export_to_sqlite_is_one_file_with_every_table(tmp_path: Path) -> None:
    run = simulate(Talk(people_count=2, days=1), model=Counting())
    (path,) = export(run, tmp_path / "out.sqlite", "sqlite")
    with sqlite3.connect(path) as database:
        names = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
        said = database.execute("SELECT count(*) FROM events WHERE kind = 'said'").fetchone()[0]
    assert names == {"answers", "prompts", "people", "events", "metrics", "note"}
    assert said == 2


def test_an_export_does_not_write_over_anything(shirts_run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exists already"):
        export(shirts_run, tmp_path)
    with pytest.raises(UnknownNameError):
        export(shirts_run, tmp_path / "x", "excel")  # type: ignore[arg-type]


def test_an_export_to_a_place_that_cannot_be_written_says_so(shirts_run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        export(shirts_run, tmp_path / "file" / "out")


def test_an_estimate_is_a_range_that_holds_for_a_real_run() -> None:
    found = asyncio.run(estimate(Norms(workers=10, days=4), price=Price(1.0, 2.0)))
    run = simulate(Norms(workers=10, days=4), model=Counting(), seed=9, keep="nothing")
    assert found.decisions.low == found.decisions.high == 40
    assert found.calls.low <= run.usage().calls <= found.calls.high
    assert found.tokens.low <= run.usage().tokens <= found.tokens.high
    assert found.cost is not None
    assert 0 < found.cost.low < found.cost.high
    assert found.seconds is None


def probed(model: Model, **options: object) -> Probe:
    broker = Broker(MemoryCallStore(), opener=lambda spec: model)
    return asyncio.run(probe(Norms, broker, models=[model.spec], **options))  # type: ignore[arg-type]


def test_a_probe_maps_a_response_curve_over_parameters() -> None:
    from populace.models import Request, Scripted

    def crowd(request: Request) -> dict[str, float]:
        share = int(request.messages[-1][1].split("Yesterday ")[2].split(" ")[0]) / 10
        return {"blue": share, "green": 1 - share}

    found = probed(
        Scripted(crowd, spec="scripted:crowd"),
        parameters={"workers": 10, "exact_start": True},
        vary={"initial_share": [0.0, 0.5, 1.0]},
    )
    assert found.curve()["blue"].to_list() == pytest.approx([0.0, 0.5, 1.0], abs=1e-6)
    assert found.curve()["people"].to_list() == [10, 10, 10]


def test_a_probe_varies_columns_and_fields_too() -> None:
    found = probed(Counting(), parameters={"workers": 4}, vary={"shirt": ["blue", "green"], "firsts": [0, 4]})
    assert found.curve().height == 4
    assert found.table.height >= 12


def test_a_probe_of_something_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'firsts'"):
        probed(Counting(), vary={"first_s": [1]})


def test_pictures_are_drawn(shirts_run: Run, tmp_path: Path) -> None:
    found = probed(Counting(), parameters={"workers": 4}, vary={"initial_share": [0.0, 1.0]})
    for path in (draw_run(shirts_run, tmp_path / "run.png"), draw_probe(found, tmp_path / "probe.png")):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_a_sparkline_of_shares_keeps_its_scale() -> None:
    assert sparkline(pl.Series([0.5, 0.5])) == "▅▅"
    assert sparkline(pl.Series([0.0, 10.0])) == "▁█"


@pytest.mark.slow
def test_the_doctor_finds_a_deterministic_scenario_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    found = diagnose("norms", Norms, ["--workers", "4", "--days", "2"])
    assert found.deterministic
    assert found.digests[0] == found.digests[1]


@pytest.mark.slow
def test_the_doctor_finds_what_differs_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    found = diagnose("support.scenarios:Clockwork", Clockwork)
    assert not found.deterministic
    assert found.comparison.first_difference is not None
    assert (found.comparison.first_difference.step, found.comparison.first_difference.what) == (1, "prompt")
    assert any("hash()" in suspect.why for suspect in found.suspects)


def test_suspicious_lines_are_named(tmp_path: Path) -> None:
    from populace.engine.discovery import find_scenario

    path = tmp_path / "odd.py"
    path.write_text(
        "import random, time\nimport numpy as np\nfrom populace import Scenario\n\n\nclass Odd(Scenario):\n"
        "    def setup(self):\n        a = time.time()\n        b = random.random()\n        c = np.random.default_rng()\n"
        "        for x in {1, 2}:\n            print(x)\n        return self.rng.random()\n"
    )
    assert [suspect.line for suspect in suspects(find_scenario(str(path)))] == [8, 9, 10, 11]
