"""The command `survey` checks what it is told before anybody is asked."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from populace.cli import cli
from populace.engine.workspace import Workspace
from populace.runs.reader import RunReader


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--by", "sexx"], "Did you mean 'sex'?"),
        (["--to", "answers.xlsx"], "does not say a format"),
        (["--to", "PEOPLE"], "exists already"),
        (["--weight", "age", "--margins", "MARGINS"], "margins.yaml, line 1: nobody has sex = 'x'"),
    ],
)
def test_what_cannot_be_done_is_said_before_anybody_is_asked(tmp_path: Path, extra: list[str], message: str) -> None:
    people, items, margins = (tmp_path / name for name in ("people.csv", "items.csv", "margins.yaml"))
    people.write_text("id,age,sex\n1,20,f\n2,30,m\n")
    items.write_text("id,text,options\ntea,Tea?,yes|no\n")
    margins.write_text("sex: {f: 0.5, x: 0.5}\n")
    files = {"PEOPLE": str(people), "MARGINS": str(margins)}
    words = ["survey", str(people), str(items), "--model", "scripted:uniform", "--workspace", str(tmp_path)]
    done = CliRunner().invoke(cli, [*words, *(files.get(word, word) for word in extra)])
    assert message in f"{done.exception} {getattr(done.exception, 'hint', '')}"
    assert not (tmp_path / "runs").exists()


def survey(tmp_path: Path, people: str, *words: str) -> str:
    items = tmp_path / "items.csv"
    items.write_text("id,text,options\ntea,Tea?,yes|no\nreason,Why?,\n")
    call = ["survey", people, str(items), "--model", "scripted:cast", "--workspace", str(tmp_path), *words]
    done = CliRunner().invoke(cli, call)
    return f"{done.output} {done.exception or ''}"


def test_the_people_of_a_scenario_and_of_a_run_can_be_asked(tmp_path: Path) -> None:
    assert "respondents=norms" in survey(tmp_path, "norms")
    (run,) = (tmp_path / "runs").iterdir()
    assert "would fill the column 'tea', which the respondents have" in survey(tmp_path, run.name)
    assert "nobody is no file of respondents, no scenario and no run" in survey(tmp_path, "nobody")
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_a_report_holds_marginals_crosstabs_and_groups_of_open_answers(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("id,sex\n1,f\n2,m\n3,f\n")
    shown = survey(tmp_path, str(people), "--by", "sex", "--report", str(tmp_path / "report"), "--about", "sex")
    assert "respondents=people.csv" in shown
    assert "tea by sex" in shown
    (text,) = (each.read_text() for each in (tmp_path / "report").glob("*.md"))
    for heading in ("### Answers\n", "### Answers in own words: reason", "### tea by sex", "### reason by sex"):
        assert heading in text
    # The command that the report gives repeats the survey.
    words = next(shlex.split(line) for line in text.splitlines() if line.startswith("populace run survey"))
    again = CliRunner().invoke(cli, [*words[1:], "--workspace", str(tmp_path)])
    assert again.exit_code == 0, again.output
    first, second = (RunReader(Workspace(tmp_path).open(each.name)) for each in (tmp_path / "runs").iterdir())
    assert first.digest == second.digest


def test_the_scales_of_an_instrument_are_shown_and_written_with_the_answers(tmp_path: Path) -> None:
    people, target = tmp_path / "people.csv", tmp_path / "answers.csv"
    people.write_text("id,trust,w\n" + "".join(f"{n},high,{1 + n % 3}\n" for n in range(12)))
    words = ["survey", str(people), "games", "--model", "scripted:cast", "--workspace", str(tmp_path), "--weight", "w"]
    done = CliRunner().invoke(cli, [*words, "--to", str(target), "--json"])
    assert done.exit_code == 0, done.output
    table = pl.read_csv(target)
    # The respondents have a column `trust` of their own.
    assert table.columns[-5:] == ["giving", "trust_score", "trustworthiness", "contribution", "cooperation"]
    scales = json.loads(done.stdout)["data"]["findings"]["Scales"]
    assert scales[0]["mean"] == pytest.approx((table["dictator"] / 100 * table["w"]).sum() / table["w"].sum())
    assert scales[0]["low"] < scales[0]["mean"] < scales[0]["high"]


def test_the_estimands_of_an_instrument_are_shown_where_both_conditions_were_asked(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    words = ["survey", str(people), "vignettes", "--model", "scripted:cast", "--about", "age", "--workspace"]
    for conditions, known in ((("first", "second"), ["framing", "identifiable_victim"]), (("first",), None)):
        rows = [f"{n},30,{conditions[n % len(conditions)]}" for n in range(8)]
        people.write_text("\n".join(["id,age,condition", *rows]))
        done = CliRunner().invoke(cli, [*words, str(tmp_path), "--json"])
        findings = json.loads(done.stdout)["data"]["findings"]
        assert [each["estimand"] for each in findings.get("Estimands", [])] == (known or [])
