"""What commands print reads as a person would write it."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import polars as pl
import pytest

from populace import Run, open_run, simulate
from populace.base.errors import StoppedError
from populace.broker import Usage
from populace.cli import main
from populace.cli.output import table
from populace.models import Scripted
from populace.scenarios.norms import Norms
from populace.tools.scaffold import scenario_file
from support.commands import forget_code, populace
from support.forums import forum
from support.models import Counting
from support.scenarios import Shirts


def small_run(place: Path, **settings: object) -> Run:
    return simulate(Norms(workers=2, days=1), model="scripted:uniform", workspace=place, **settings)  # type: ignore[arg-type]


def test_one_is_not_written_as_many(tmp_path: Path) -> None:
    run = simulate(Shirts(people_count=1, days=1), model=Counting(), workspace=tmp_path)
    shown = [populace("show", run.name).stdout, populace("show", run.name, "--step", "1").stdout]
    shown += [populace("replay", run.name).stdout, populace("report", run.name, "--to", "r").stdout, repr(run)]
    shown += [(tmp_path / "r" / f"{run.name}.md").read_text()]
    for many in ("1 steps", "1 people", "1 calls", "1 answers", "1 posts", "1 runs", "1 tokens"):
        assert [text for text in shown if f" {many}" in text] == []
    assert "its only step is done" in shown[0]
    assert "1 person" in shown[1]


def test_a_thread_of_one_post_has_one_post_and_one_person(tmp_path: Path) -> None:
    run = forum(keep="run", posts=1, together=1)
    assert "1 post, 1 person" in populace("show", run.name, "--thread", "1").stdout


def test_a_run_that_stopped_is_shown_with_the_command_that_continues_it(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        small_run(tmp_path, max_calls=1)
    shown = populace("show", "last", "--workspace", str(tmp_path)).stdout
    assert "continue it:  populace resume norms-" in shown
    assert "continue it" not in populace("show", small_run(tmp_path).name, "--workspace", str(tmp_path)).stdout


def test_the_digest_of_a_journal_has_one_name(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    for words in (("show", run.name), ("resume", run.name, "--no-chart"), ("replay", run.name)):
        shown = populace(*words).stdout
        assert f"igest {run.digest[:12]}" in shown and f"ournal {run.digest[:12]}" not in shown


def test_a_comparison_shows_values_as_people_write_them(tmp_path: Path) -> None:
    one = small_run(tmp_path)
    told = {"kind": "announce", "at": 1, "text": "Today is green day.", "steps": 1}
    two = small_run(tmp_path, interventions=[told], variation={"order": "reversed"}, temperature=0.5)
    shown = populace("compare", one.name, two.name).stdout
    assert "–  →  order reversed" in shown
    assert "1  →  0.5" in shown
    assert not any(raw in shown for raw in ("None", "['", "{'", "True", "False"))


def test_a_stopped_run_says_in_python_how_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(StoppedError) as stop:
        simulate(Norms(workers=4, days=3), model="scripted:uniform", workspace=tmp_path, max_calls=1)
    name = next((tmp_path / "runs").iterdir()).name
    assert f"pc.open_run('{name}').resume(), or with: populace resume {name}" in str(stop.value)
    with pytest.raises(StoppedError) as stop:
        simulate(Norms(workers=4, days=3), model="scripted:uniform", keep="nothing", max_calls=1)
    assert "resume" not in str(stop.value)


def test_a_stopped_run_in_another_folder_names_that_folder_in_python_too(tmp_path: Path) -> None:
    place = tmp_path / "other"
    with pytest.raises(StoppedError) as stop:
        simulate(Norms(workers=4, days=3), model="scripted:uniform", workspace=place, max_calls=1)
    (arguments,) = re.findall(r"pc\.open_run(\(.*?\))\.resume\(\), or with", str(stop.value))
    assert open_run(*ast.literal_eval(arguments)).resume().manifest.status.state == "complete"


def test_a_stopped_run_of_a_notebook_names_no_command_that_could_not_load_its_scenario(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    scenario = type("Commute", (Shirts,), {"__module__": "__main__"})
    with pytest.raises(StoppedError) as stop:
        simulate(scenario(), model=Counting(), max_calls=1)
    assert "Continue with pc.open_run('commute-" in str(stop.value)
    assert "populace resume" not in str(stop.value)


def test_a_complete_run_whose_scenario_is_not_trusted_any_more_is_shown_without_its_tables(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(scenario_file("mine"))
    assert populace("run", str(file), "--model", "scripted:uniform", "--no-chart").returncode == 0
    file.write_text(f"{file.read_text()}\nprint(1)\n")
    forget_code()
    result = populace("resume", "last")
    assert result.returncode == 0
    assert "is complete already" in result.stderr and "P121" not in result.stderr
    assert "The tables and pictures of the scenario are not shown: mine-" in " ".join(result.stdout.split())
    result = populace("resume", "last", "--json")
    assert result.returncode == 0
    assert "names code that this workspace does not trust" in json.loads(result.stdout)["warnings"][-1]


def test_a_complete_run_of_a_notebook_can_be_resumed_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    run = simulate(type("Commute", (Shirts,), {"__module__": "__main__"})(), model=Counting())
    forget_code()
    result = populace("resume", run.name)
    assert result.returncode == 0
    assert "is complete already" in result.stderr and "P107" not in result.stderr
    assert "the scenario Commute was defined in a notebook" in " ".join(result.stdout.split())


def test_a_chart_that_cannot_be_written_is_a_warning_of_a_complete_run(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    refusal = mock.patch("matplotlib.figure.Figure.savefig", side_effect=OSError(30, "Read-only file system"))
    with refusal:
        result = populace("resume", run.name)
    assert result.returncode == 0
    assert "pictures of the run were not written" in result.stdout and "P000" not in result.stderr


def test_text_that_a_stream_cannot_write_is_written_as_escapes(tmp_path: Path) -> None:
    model = Scripted(lambda request: {"blue": 1.0}, spec="scripted:é")
    simulate(Norms(workers=2, days=2), model=model, workspace=tmp_path)
    for form, escape in ([], b"\\xe9"), (["--json"], b"\\u00e9"):
        written = io.BytesIO()
        stream = io.TextIOWrapper(written, encoding="ascii")
        with mock.patch("sys.argv", ["populace", "list", *form]), contextlib.redirect_stdout(stream):
            with pytest.raises(SystemExit) as leaving:
                main()
            stream.flush()
        assert leaving.value.code == 0
        assert escape in written.getvalue()


def test_a_run_without_a_request_reused_nothing() -> None:
    assert Usage().reused_share == 0.0
    assert Usage(calls=1, reused=3).reused_share == 0.75


def test_a_table_with_too_many_columns_is_divided_and_no_word_or_number_is_broken(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = [f"acquaintances_{name}" for name in "abcdefghijkl"]
    row = {"step": [3], "time": ["day 1, 05:50"], **{name: [0.1867] for name in names}}
    table(pl.DataFrame(row), "Metrics", keys=2)
    parts = capsys.readouterr().out.split("\n\n")
    assert [part.count("day 1, 05:50") for part in parts] == [1, 1]
    assert sum(part.count("acquaintances") for part in parts) == sum(part.count("0.1867") for part in parts) == 12
    assert max(len(line) for part in parts for line in part.splitlines()) <= 120
    table(pl.DataFrame({name: row[name] for name in ("step", "time", *names[:6])}), "Metrics", keys=2)
    assert "\n\n" not in capsys.readouterr().out
