"""The pages of a survey and of fidelity reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from populace import Scripted, Survey
from populace.base.errors import UnknownNameError
from populace.studio.pages.fidelity import data as fidelity_data
from populace.studio.pages.survey import data
from populace.surveys import SurveyResults
from support.hostile_run import SCRIPT
from support.studio import Visit, visiting

QUESTIONS = {
    "title": "Drinks",
    "carry": False,
    "items": [
        {"id": "tea", "type": "single", "text": f"Tea? {SCRIPT}", "options": ["yes", "no"]},
        {"id": "cups", "type": "rating", "text": "How good?", "low": 1, "high": 5},
        {"id": "why", "type": "text", "text": "Why?"},
    ],
}
PEOPLE = {"id": ["ann", "ben", "cat", "dan"], "sex": ["f", "m", "f", "m"], "age": [20, 30, 40, 50]}
FIGURES = {
    "name": f"panel {SCRIPT}",
    "model": "scripted:cast",
    "headline": "closes 12 % of the gap on attitudes",
    "people": 200,
    "arms": {
        "both": {"kind": "agent", "accuracy": {"value": 0.6, "low": 0.5, "high": 0.7}, "retest": {"value": 0.8}},
        "odd": 3,
    },
    "sensitivity": [{"column": "party", "groups": ["left", "right"], "slope": {"value": 2.0, "low": 1.5, "high": 2.5}}],
    "parity": [{"column": "party", "largest": 0.1, "unequal": ["left"]}],
    "leaks": [f"near-copy: {SCRIPT}"],
}


def answer(request: object) -> object:
    text = str(request)
    if "Tea?" in text:
        return {"yes": 0.9, "no": 0.1} if "sex: f" in text else {"yes": 0.1, "no": 0.9}
    return {str(n): 0.2 for n in range(1, 6)} if "How good?" in text else "Because."


def survey(folder: Path) -> SurveyResults:
    return Survey.read(QUESTIONS).ask(PEOPLE, model=Scripted(answer), seed=1, workspace=folder)  # type: ignore[arg-type]


def test_a_survey_shows_items_marginals_a_crosstab_and_one_person_with_prompts(tmp_path: Path) -> None:
    results = survey(tmp_path)
    name = results.run.name

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{name}")
        await visit.sees_marked("open-survey")
        visit.press("open-survey")
        await visit.sees("One person")
        for text in ("Drinks", "Tea?", "tea: share of each answer"):
            await visit.sees(text)
        await visit.open(f"/survey/{name}?item=tea&by=sex&person=ben")
        await visit.sees("tea by sex, with 95 % intervals")
        assert visit.one("crosstab").rows[0]["value"] == "yes"
        assert [row["item"] for row in visit.one("answers").rows] == ["tea", "cups", "why"]
        await visit.sees("sex: m")
        await visit.open(f"/survey/{name}?item=why&by=sex")
        assert visit.one("marginals").rows[0]["example"] == "Because."
        await visit.sees_marked("open-note")
        await visit.open(f"/survey/{name}?person=nobody")
        await visit.sees("no respondent named 'nobody'")

    visiting(tmp_path, story)


def test_the_data_of_a_survey_are_those_of_its_results(tmp_path: Path) -> None:
    results = survey(tmp_path)
    groups = data.item_answers(results, "why").select("value", "n", "example")
    assert groups.rows() == [("because", 4, "Because.")]
    assert data.group_columns(results)[:2] == ["sex", "age"]
    table = data.person_answers(results, "ann")
    assert table["item"].to_list() == ["tea", "cups", "why"]
    assert table["value"].to_list()[2] == "Because."
    assert data.item_table(results)["valid"].to_list() == [4, 4, 4]
    with pytest.raises(UnknownNameError):
        data.person_answers(results, "eve")


def write_figures(folder: Path) -> None:
    (folder / "fidelity").mkdir()
    (folder / "fidelity" / "gss.json").write_text(json.dumps(FIGURES))
    (folder / "fidelity" / "broken.json").write_text("{")
    (folder / "fidelity" / "other.json").write_text('{"name": 3}')


def test_fidelity_reports_are_listed_and_shown_and_damaged_files_hide_none(tmp_path: Path) -> None:
    write_figures(tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open("/fidelity")
        await visit.sees("gss")
        assert visit.one("reports").rows[0]["headline"] == "closes 12 % of the gap on attitudes"
        await visit.open("/fidelity/gss")
        for text in ("scripted:cast closes 12 %", "Sensitivity", "near-copy"):
            await visit.sees(text)
        assert visit.one("arms").rows[0]["accuracy"] == "0.600 [0.500, 0.700]"
        assert visit.one("sensitivity").rows[0]["slope"] == "2.000 [1.500, 2.500]"
        await visit.open("/fidelity/none")
        await visit.sees("no fidelity report named 'none'")

    visiting(tmp_path, story)


def test_figures_of_a_report_and_the_bars_of_its_chart(tmp_path: Path) -> None:
    write_figures(tmp_path)
    assert list(fidelity_data.report_names(tmp_path)) == ["gss"]
    assert fidelity_data.accuracy_table(FIGURES).rows() == [("both", 0.6), ("retest (ceiling)", 0.8)]
    assert fidelity_data.accuracy_table({"arms": {}}).rows() == []
    with pytest.raises(UnknownNameError):
        fidelity_data.report_figures(tmp_path, "../gss")
