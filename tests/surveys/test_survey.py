"""A survey puts a questionnaire to respondents: who is asked what, and what the answers fill."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import populace as pc
from populace.base.errors import BudgetError, ParameterError, QuestionnaireError, ScenarioError, UnknownNameError
from populace.engine.discovery import find_scenario
from populace.models import Request
from populace.scenarios.norms import Norms
from populace.surveys import SurveyResults, read_respondents
from populace.surveys.survey import RespondentSettings

PEOPLE = {"id": list(range(40)), "age": [18 + who for who in range(40)], "sex": ["f", "m"] * 20}

ALL_TYPES: dict[str, Any] = {
    "title": "Coffee",
    "blocks": [
        {
            "items": [
                {"id": "drinks", "type": "single", "text": "Coffee?", "options": ["yes", "no"], "skip": {"no": "why"}},
                {"id": "cups", "type": "number", "text": "How many cups?", "low": 0, "high": 9, "whole": True},
                {"id": "liking", "type": "rating", "text": "How good?", "low": 1, "high": 7},
            ]
        },
        {
            "order": "random",
            "items": [
                {"id": "kinds", "type": "multiple", "text": "Which?", "options": ["espresso", "filter", "latte"]},
                {"id": "two", "type": "multiple", "text": "Best two?", "options": ["home", "work", "café"], "most": 2},
                {"id": "rank", "type": "ranking", "text": "Order?", "options": ["home", "work", "café"]},
                {"id": "views", "type": "grid", "text": "Agree?", "rows": {"hot": "Hot.", "dear": "Dear."},
                 "options": ["agree", "disagree"]},
                {"id": "spend", "type": "allocation", "text": "Divide.", "options": ["beans", "cake"]},
            ],
        },
        {"items": [{"id": "why", "type": "text", "text": "You said {drinks}. Why?"}]},
    ],
}  # fmt: skip


def reply(request: Request) -> Any:
    """Even chances for options, and something valid for the rest."""
    if request.schema:
        return json.dumps({"beans": 70, "cake": 30})
    if request.options:
        return dict.fromkeys(request.options, 1 / len(request.options))
    return "3" if "Answer with a whole number" in request.messages[-1][1] else "Because I do."


def ask(questionnaire: dict[str, Any], people: Any = PEOPLE, model: Any = None, **settings: Any) -> SurveyResults:
    settings = {"seed": 1, "keep": "nothing", **settings}
    return pc.Survey.read(questionnaire).ask(people, model=model or pc.Scripted(reply), **settings)


def always(*words: str) -> pc.Scripted:
    """A model that gives the first of some words that is an option."""
    return pc.Scripted(
        lambda request: {o: float(o == next((w for w in words if w in request.options), "")) for o in request.options}
    )


def test_every_type_of_item_fills_its_columns(tmp_path: Path) -> None:
    table = ask(ALL_TYPES, workspace=tmp_path).table.filter(pl.col("drinks") == "yes")
    assert table.height > 5
    assert table.select(pl.exclude("id", "age", "sex")).null_count().sum_horizontal().sum() == 0
    assert set(table["liking"]) <= set(range(1, 8))
    assert table["spend_1"].to_list() == [70] * table.height
    assert (table["rank_1"] + table["rank_2"] + table["rank_3"] == 6).all()
    assert table.select("two_1", "two_2", "two_3").sum_horizontal().max() <= 2
    assert table["why"].unique().to_list() == ["Because I do."]
    assert table["survey_state"].unique().to_list() == ["complete"]


def test_a_skip_leaves_out_what_lies_between(tmp_path: Path) -> None:
    skipped = ask(ALL_TYPES, workspace=tmp_path).table.filter(pl.col("drinks") == "no")
    assert skipped.height > 5
    between = skipped.select(pl.exclude("id", "age", "sex", "drinks", "why", "survey_state"))
    assert between.null_count().transpose()["column_0"].to_list() == [skipped.height] * between.width
    assert skipped["why"].null_count() == 0


def test_conditions_and_screening_decide_who_is_asked(tmp_path: Path) -> None:
    questionnaire = {
        "items": [
            {"id": "old", "type": "single", "text": "Old?", "options": ["yes", "no"], "show_if": {"age": {"ge": 30}},
             "screen_out_if": {"any": [{"sex": "m"}, {"age": {"gt": 50}}]}},
            {"id": "next", "type": "single", "text": "Next?", "options": ["yes", "no"]},
        ]
    }  # fmt: skip
    table = ask(questionnaire, workspace=tmp_path).table
    asked = pl.col("age") >= 30
    out = asked & ((pl.col("sex") == "m") | (pl.col("age") > 50))
    assert table.filter(asked)["old"].null_count() == 0
    assert table.filter(~asked)["old"].drop_nulls().len() == 0
    assert set(table.filter(out)["survey_state"]) == {"screened out"}
    assert table.filter(out)["next"].drop_nulls().len() == 0
    assert table.filter(~out)["next"].null_count() == 0


def test_earlier_answers_are_carried_into_later_prompts_only_where_that_is_wanted(tmp_path: Path) -> None:
    items = [
        {"id": "tea", "type": "single", "text": "Do you like tea?", "options": ["yes", "no"]},
        {"id": "milk", "type": "single", "text": "With milk?", "options": ["yes", "no"]},
    ]
    last = {
        carry: ask({"items": items, "carry": carry}, model=always("yes"), workspace=tmp_path).run.prompts(at=2)["user"]
        for carry in (True, False)
    }
    assert all("- Do you like tea? yes" in text for text in last[True])
    assert not any("Do you like tea?" in text for text in last[False])


def test_an_earlier_answer_is_piped_into_a_text_and_its_absence_is_said(tmp_path: Path) -> None:
    items = [
        {"id": "tea", "type": "single", "text": "Tea?", "options": ["yes", "no"], "show_if": {"sex": "f"}},
        {"id": "why", "type": "single", "text": "You said {tea}, at {age}. Sure?", "options": ["yes", "no"]},
    ]
    results = ask({"items": items, "profile": "You are {age}."}, model=always("yes"), workspace=tmp_path)
    prompts = results.run.prompts(at=2)["user"].to_list()
    assert any("You said yes, at 18." in text for text in prompts)
    assert any("You said (no answer), at 19." in text for text in prompts)


def test_profiles_list_the_columns_that_are_known_and_wanted(tmp_path: Path) -> None:
    people = {"age": [30, None], "birth_place": ["Ghent", "Bruges"], "secret": ["x", "y"]}
    items = [{"id": "tea", "type": "single", "text": "Tea?", "options": ["yes", "no"]}]
    results = ask({"items": items}, people, workspace=tmp_path, about=("age", "birth_place"))
    assert results.run.prompts()["system"].to_list() == [
        "About you:\n- age: 30\n- birth place: Ghent",
        "About you:\n- birth place: Bruges",
    ]


def test_an_invalid_answer_leaves_a_gap_and_is_counted_by_item(tmp_path: Path) -> None:
    items = [
        {"id": "tea", "type": "number", "text": "How much?", "low": 0, "high": 5},
        {"id": "rank", "type": "ranking", "text": "Order?", "options": ["a", "b"]},
    ]
    model = pc.Scripted(lambda request: {"a": 1.0} if request.options else "a lot")
    results = ask({"items": items}, model=model, workspace=tmp_path)
    assert results.table["tea"].null_count() == 40
    assert results.statuses.rows() == [("tea", 40, 0, 40), ("rank", 40, 40, 0)]
    assert results.marginals("tea").height == 0


def test_concurrency_changes_nothing_and_a_stopped_survey_is_resumed_to_the_same_journal(tmp_path: Path) -> None:
    digests = {ask(ALL_TYPES, workspace=tmp_path / str(n), keep="run", concurrency=n).run.digest for n in (1, 64)}
    with pytest.raises(BudgetError):
        ask(ALL_TYPES, workspace=tmp_path / "stopped", keep="run", max_calls=100)
    run = pc.open_run("last", tmp_path / "stopped").resume(model=pc.Scripted(reply))
    assert digests == {run.digest}
    assert run.manifest.status.state == "complete"
    run.replay(verify=True)


def test_respondents_that_changed_on_disk_are_noticed(tmp_path: Path) -> None:
    with pytest.raises(BudgetError):
        ask(ALL_TYPES, workspace=tmp_path, keep="run", max_calls=1)
    (file,) = (tmp_path / "respondents").glob("*.parquet")
    pl.DataFrame({"id": [1]}).write_parquet(file)
    with pytest.raises(QuestionnaireError, match="not the table of respondents"):
        pc.open_run("last", tmp_path).resume(model=pc.Scripted(reply))


@pytest.mark.parametrize(
    ("people", "words"),
    [
        ({"id": [1, None]}, "no id"),
        ({"id": [1, 1]}, "1"),
        ({"id": []}, "no respondents"),
        ({"id": [1], "tea": ["x"]}, "which the respondents have"),
        (3, "int"),
    ],
)
def test_respondents_that_cannot_be_asked_are_refused(tmp_path: Path, people: Any, words: str) -> None:
    items = [{"id": "tea", "type": "single", "text": "Tea?", "options": ["yes", "no"]}]
    with pytest.raises(QuestionnaireError, match=words):
        ask({"items": items}, people, workspace=tmp_path)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("1,2\n\n2,2\n", r"people\.csv, line 3: 1 of 3 respondents have no id"),
        ("1,2\n,2\n", r"people\.csv, line 3: 1 of 2 respondents have no id"),
        ('"a\nb",2\n" ",2\n', r"people\.csv, line 4: 1 of 2 respondents have no id"),
        ("a,2\nb,2\na,1\n", r"people\.csv, line 4: the id 'a' stands for another respondent already"),
        ("1,2\n2,-1\n3,-2\n", r"people\.csv, line 3: the weight of respondent 2 in the column 'w' is -1"),
        ("1,2\n2,two\n", r"people\.csv, line 3: the weight of respondent 2 in the column 'w' is 'two'"),
        ("1,2\n2,\n", r"people\.csv, line 3: respondent 2 has no weight"),
        ("1,2\n2,inf\n", r"people\.csv, line 3: the weight of respondent 2 in the column 'w' is inf"),
        ("1,0\n2,0\n", r"all weights in the column 'w' are zero"),
    ],
)
def test_a_respondent_without_id_or_weight_is_named_with_the_line_of_the_file(
    tmp_path: Path, rows: str, words: str
) -> None:
    file = tmp_path / "people.csv"
    file.write_text(f"id,w\n{rows}")
    items = [{"id": "tea", "type": "single", "text": "Tea?", "options": ["yes", "no"]}]
    for margins in (None, {"id": {"1": 1}}):
        with pytest.raises(QuestionnaireError, match=words):
            ask({"items": items}, file, weight="w", margins=margins, workspace=tmp_path)


def test_a_row_of_a_parquet_file_is_named_by_its_number(tmp_path: Path) -> None:
    pl.DataFrame({"id": [1.0, float("nan")]}).write_parquet(tmp_path / "people.parquet")
    with pytest.raises(QuestionnaireError, match=r"people\.parquet, row 2: 1 of 2 respondents have no id"):
        read_respondents(tmp_path / "people.parquet")


def test_a_condition_on_a_column_that_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    items = [{"id": "tea", "type": "single", "text": "Tea?", "options": ["yes", "no"], "show_if": {"aeg": 3}}]
    with pytest.raises(UnknownNameError, match="age"):
        ask({"items": items}, workspace=tmp_path)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"age": {"ge": "old"}}, "compares 'age' with 'old', and it holds numbers"),
        ({"age": "30"}, "it holds numbers"),
        ({"sex": {"ge": 3}}, "it holds words"),
        ({"kinds_1": "perhaps"}, "it holds yes or no"),
        ({"kinds": "black"}, "fills several columns"),
        ({"tea": ["yes", "perhaps"]}, "'perhaps', which is not one of its options"),
        ({"liking": {"ne": 9}}, "its scale runs from 1 to 5"),
    ],
)
def test_a_condition_that_can_never_hold_is_refused_before_there_is_a_run(
    tmp_path: Path, condition: dict[str, Any], words: str
) -> None:
    items = [
        {"id": "tea", "type": "single", "text": "Tea?", "options": ["yes", "no"]},
        {"id": "kinds", "type": "multiple", "text": "Kinds?", "options": ["black", "green"]},
        {"id": "liking", "type": "rating", "text": "How much?", "low": 1, "high": 5},
        {"id": "last", "type": "text", "text": "Why?", "show_if": condition},
    ]
    people = {"age": [30, 40], "sex": ["female", "male"]}
    with pytest.raises(QuestionnaireError) as caught:
        ask({"items": items}, people, workspace=tmp_path, keep="run")
    assert words in str(caught.value)
    assert not (tmp_path / "runs").exists()


def test_a_condition_may_say_yes_of_an_option_that_was_chosen(tmp_path: Path) -> None:
    items = [
        {"id": "kinds", "type": "multiple", "text": "Kinds?", "options": ["black", "green"]},
        {"id": "why", "type": "single", "text": "Why?", "options": ["a", "b"], "show_if": {"kinds_1": "yes"}},
        {"id": "why_not", "type": "single", "text": "Why not?", "options": ["a", "b"], "show_if": {"kinds_2": "no"}},
    ]

    def chosen(request: Request) -> dict[str, float]:
        wanted = "a" if "a" in request.options else "yes" if "black" in request.messages[-1][1] else "no"
        return {option: float(option == wanted) for option in request.options}

    model = pc.Scripted(chosen)
    table = ask({"items": items}, {"age": [30, 40]}, model, workspace=tmp_path).table
    assert table["kinds_1"].to_list() == [True, True]
    assert table["kinds_2"].to_list() == [False, False]
    assert table.select("why", "why_not").null_count().row(0) == (0, 0)


def test_a_value_that_nobody_has_is_explained_once(tmp_path: Path) -> None:
    items = [{"id": "why", "type": "text", "text": "Why?", "show_if": {"sex": "femal"}}]
    with pytest.warns(UserWarning, match="Did you mean 'female'") as caught:
        ask({"items": items}, {"sex": ["female", "male"]}, workspace=tmp_path)
    assert len(caught) == 1


def test_a_file_that_separates_columns_by_semicolons_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("id;age\np1;30\n")
    with pytest.raises(QuestionnaireError, match="its only column is 'id;age'"):
        read_respondents(file)


def test_a_scenario_stands_for_the_people_with_whom_its_run_begins(tmp_path: Path) -> None:
    items = [{"id": "tea", "type": "single", "text": "Tea?", "options": ["yes", "no"]}]
    results = ask({"items": items}, Norms(workers=4), workspace=tmp_path)
    assert results.table.height == 4
    assert results.respondents.name == "norms"
    with pytest.raises(ScenarioError, match="asks a model before its first step"):
        read_respondents(find_scenario("forum")())


def test_respondents_without_ids_are_numbered_like_people(tmp_path: Path) -> None:
    people = {"age": [20, 40]}
    questionnaire = {"items": [{"id": "tea", "type": "single", "text": "Tea?", "options": ["yes", "no"]}]}
    assert ask(questionnaire, people, workspace=tmp_path).table["id"].to_list() == pc.People(people).ids.to_list()
    named = {"person": ["b", "a"], **people}
    assert ask(questionnaire, named, id="person", workspace=tmp_path).table["id"].to_list() == ["b", "a"]


def test_ask_and_scenario_take_the_same_settings_of_respondents_and_refuse_others(tmp_path: Path) -> None:
    survey = pc.Survey.read({"items": [{"id": "tea", "type": "single", "text": "Tea?", "options": ["yes", "no"]}]})
    settings = set(RespondentSettings.model_fields)
    for function in (survey.ask, survey.scenario):
        assert settings <= set(inspect.signature(function).parameters)
    assert {"model", "seed", "max_calls", "keep"} <= set(inspect.signature(survey.ask).parameters)
    with pytest.raises(UnknownNameError, match="no parameter of scenario named 'weigth'"):
        survey.scenario({"age": [20]}, workspace=tmp_path, weigth="w")
    with pytest.raises(ParameterError, match="about"):
        survey.ask({"age": [20]}, workspace=tmp_path, about="age")
