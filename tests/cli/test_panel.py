"""The commands `panel` and `tasks`: from files to a report, and what the card of a run then quotes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from populace import Run, validity
from populace.cli import cli


def write_panel(folder: Path) -> list[str]:
    rng = np.random.default_rng(1)
    party = rng.integers(0, 2, 120)
    waves = []
    for wave in (1, 2):
        tea, milk = (np.where(rng.random(120) < 0.85, party, 1 - party) for _ in range(2))
        words = np.array(["yes", "no"])
        waves.append(
            pl.DataFrame(
                {
                    "person": [f"p{n}" for n in range(120)],
                    "wave": wave,
                    "party": np.array(["left", "right"])[party],
                    "tea": words[tea],
                    "milk": words[milk],
                }
            )
        )
    pl.concat(waves).write_csv(folder / "panel.csv")
    (folder / "items.csv").write_text("id,text,options,role\ntea,Tea?,yes|no,target\nmilk,Milk?,yes|no,context\n")
    (folder / "held.txt").write_text("".join(f"p{n}\n" for n in range(30)))
    return [
        "panel", str(folder / "panel.csv"), "--items", str(folder / "items.csv"), "--held-out",
        str(folder / "held.txt"), "--flip", "party=left|right", "--arm", "both", "--workspace", str(folder), "--to", str(folder / "out"),
    ]  # fmt: skip


def test_a_model_is_asked_kept_and_evaluated_and_the_card_of_a_run_quotes_it(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    words = write_panel(tmp_path)
    runner = CliRunner()
    asked = runner.invoke(cli, [*words, "--model", "scripted:cast", "--only-ask"])
    assert asked.exit_code == 0, asked.output
    answers = str(tmp_path / "out" / "answers.parquet")
    extra = ["--answers", answers, "--floors", str(tmp_path / "floors.parquet"), "--subject", "drinks"]
    done = runner.invoke(cli, [*words, *extra])
    assert done.exit_code == 0, done.output
    figures = json.loads((tmp_path / "out" / "fidelity-panel.json").read_text())
    assert figures["model"] == "scripted:cast"
    assert list(figures["arms"]) == ["both", "regression, both", "boosting, both"]
    assert figures["arms"]["regression, both"]["accuracy"]["value"] > 0.7
    assert figures["sensitivity"][0]["column"] == "party" and figures["parity"][0]["column"] == "party"
    again = runner.invoke(cli, [*words, *extra])
    assert json.loads((tmp_path / "out" / "fidelity-panel.json").read_text()) == figures, again.output
    (tmp_path / "floors.parquet").unlink()
    other_seed = runner.invoke(cli, [*words, *extra, "--seed", "5"])
    assert other_seed.exit_code == 0, other_seed.output
    anew = json.loads((tmp_path / "out" / "fidelity-panel.json").read_text())["arms"]["regression, both"]
    assert anew["accuracy"]["value"] == figures["arms"]["regression, both"]["accuracy"]["value"]
    (tmp_path / "held.txt").write_text("".join(f"p{n}\n" for n in range(29)))
    of_others = runner.invoke(cli, [*words, *extra])
    assert "fitted for other people" in f"{of_others.exception}"
    (run,) = [Run.open(path) for path in (tmp_path / "runs").iterdir()]
    assert "on drinks" in validity(run)["likeness to people"].shown


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--people", "500"], "500 people cannot be held out of 120"),
        (["--flip", "sex=f|m"], "no column of the profiles named 'sex'"),
        (["--answers", "ANSWERS", "--only-ask"], "exclude each other"),
        (["--trained", "ANSWERS"], "manifest of an adapter"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path: Path, extra: list[str], message: str) -> None:
    words = write_panel(tmp_path)
    if "--people" in extra:
        place = words.index("--held-out")
        del words[place : place + 2]
    (tmp_path / "answers.csv").write_text("person,arm,item\n")
    extra = [str(tmp_path / "answers.csv") if word == "ANSWERS" else word for word in extra]
    done = CliRunner().invoke(cli, [*words, *extra, "--model", "scripted:cast"])
    assert done.exception is not None and message in f"{done.exception} {done.output}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("p0 alone is right", "the group 'right' of 'party' has one person"),
        ("nobody is asked again about tea", "answered an item that is predicted in both waves"),
        ("there is one wave", "there is no wave '2'"),
    ],
)
def test_a_group_of_one_and_a_wave_without_retest_are_refused_before_a_model_is_asked(
    tmp_path: Path, change: str, message: str
) -> None:
    words = write_panel(tmp_path)
    panel = pl.read_csv(tmp_path / "panel.csv")
    changed = {
        "p0 alone is right": panel.with_columns(
            party=pl.when(pl.col("person") == "p0").then(pl.lit("right")).otherwise(pl.lit("left"))
        ),
        "nobody is asked again about tea": panel.with_columns(tea=pl.when(pl.col("wave") == 1).then("tea")),
        "there is one wave": panel.filter(pl.col("wave") == 1),
    }
    changed[change].write_csv(tmp_path / "panel.csv")
    done = CliRunner().invoke(cli, [*words, "--model", "scripted:cast"])
    assert message in f"{done.exception}"
    assert not (tmp_path / "runs").exists()


def test_without_the_library_of_the_floors_a_model_is_asked_only_where_nothing_else_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    words = [*write_panel(tmp_path), "--model", "scripted:cast"]
    done = CliRunner().invoke(cli, words)
    assert "needs sklearn" in f"{done.exception}" and not (tmp_path / "runs").exists()
    assert CliRunner().invoke(cli, [*words, "--only-ask"]).exit_code == 0


def test_tasks_are_asked_and_compared(tmp_path: Path) -> None:
    card = {"id": "give", "family": "game", "question": "How much?", "options": ["0", "5", "10"], "licence": "CC0"}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(card) + "\n")
    (tmp_path / "decisions.csv").write_text("task,person,answer\ngive,a,0\ngive,b,5\n")
    words = ["tasks", str(tmp_path), "--model", "scripted:uniform", "--workspace", str(tmp_path), "--to", str(tmp_path)]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    bad = CliRunner().invoke(cli, [*words, "--effect", "give"])
    assert "TASK=CONTROL|TREATMENT" in f"{bad.exception}"
    table = pl.read_csv(tmp_path / "tasks.csv")
    assert table["total_variation"].to_list() == [pytest.approx(0.333)]


def test_effects_of_conditions_are_compared(tmp_path: Path) -> None:
    card = {"id": "go", "family": "experiment", "question": "{text} Go?", "options": ["yes", "no"], "licence": "CC0"}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(card) + "\n")
    rows = [
        {"task": "go", "person": f"p{n}", "answer": "yes" if n % 3 or n % 2 else "no",
         "seen": json.dumps({"condition": "ab"[n % 2], "text": "xy"[n % 2]})}
        for n in range(60)
    ]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "decisions.csv")
    words = ["tasks", str(tmp_path), "--model", "scripted:cast", "--workspace", str(tmp_path), "--to", str(tmp_path)]
    for effect, guess in (("goo=a|b", "go"), ("go=a|c", "condition of the task 'go'")):
        bad = CliRunner().invoke(cli, [*words, "--effect", effect])
        assert guess in f"{bad.exception}" and not (tmp_path / "runs").exists()
    done = CliRunner().invoke(cli, [*words, "--effect", "go=a|b"])
    assert done.exit_code == 0, done.output
    assert "the signs of" in done.output and "nan" not in done.output
    assert pl.read_csv(tmp_path / "effects.csv")["effect"].to_list() == ["b less a"]
