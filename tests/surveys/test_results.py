"""Survey data: shares with intervals, weights, and files with labels."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import populace as pc
from populace.base.errors import QuestionnaireError, UnknownNameError, UsageError
from populace.surveys import rake, read_respondents, write_results
from populace.surveys.files import coded_table
from populace.surveys.open_answers import OTHER, answer_groups

ITEMS = [
    {"id": "tea", "type": "single", "text": "Do you like tea?", "options": ["yes", "no"]},
    {"id": "kinds", "type": "multiple", "text": "Which?", "options": ["green", "black"]},
    {"id": "cups", "type": "rating", "text": "How many?", "low": 1, "high": 3},
    {"id": "why", "type": "text", "text": "Why?"},
]
PEOPLE = {"sex": ["f", "f", "f", "m"], "w": [1.0, 1.0, 1.0, 5.0]}


def model() -> pc.Scripted:
    """Women say yes, men no; everybody says 2."""

    def reply(request: Any) -> Any:
        woman = "sex: f" in request.messages[0][1]
        if not request.options:
            return "=1+1"
        value = "2" if "2" in request.options else "yes" if woman else "no"
        return {option: float(option == value) for option in request.options}

    return pc.Scripted(reply)


@pytest.fixture
def results(tmp_path: Path) -> pc.SurveyResults:
    survey = pc.Survey.read({"items": ITEMS})
    return survey.ask(PEOPLE, model=model(), workspace=tmp_path, weight="w", keep="nothing")


def test_shares_are_weighted_and_their_intervals_use_the_effective_size(results: pc.SurveyResults) -> None:
    value, n, share, low, high = results.marginals("tea").row(0)[1:]
    assert (value, n, share) == ("yes", 3, 3 / 8)
    size = 8**2 / 28
    z = 1.959963984540054
    half = z * math.sqrt(share * (1 - share) / size + z * z / (4 * size**2)) / (1 + z * z / size)
    assert high - low == pytest.approx(2 * half)


def test_a_crosstab_has_the_shares_of_each_group(results: pc.SurveyResults) -> None:
    table = results.crosstab("tea", "sex")
    assert table.select("sex", "value", "n", "share").rows() == [
        ("f", "yes", 3, 1.0),
        ("f", "no", 0, 0.0),
        ("m", "yes", 0, 0.0),
        ("m", "no", 1, 1.0),
    ]
    assert (table["low"] >= 0).all()
    assert (table["high"] <= 1).all()
    text = results.crosstab_text("tea", "sex")
    assert text.columns == ["variable", "value", "f (n = 3)", "m (n = 1)"]
    with pytest.raises(UnknownNameError, match="sex"):
        results.crosstab("tea", "sxe")


def test_every_group_of_a_crosstab_lists_the_values_that_anybody_gave(tmp_path: Path) -> None:
    def places(request: Any) -> dict[str, float]:
        best = "home" if "sex: f" in request.messages[0][1] else "work"
        value = best if best in request.options else request.options[0]
        return {option: float(option == value) for option in request.options}

    item = {"id": "place", "type": "ranking", "text": "Where?", "options": ["home", "work"]}
    survey = pc.Survey.read({"items": [item]})
    results = survey.ask(PEOPLE, model=pc.Scripted(places), workspace=tmp_path, keep="nothing")
    assert results.crosstab("place_1", "sex").select("sex", "value", "n").rows() == [
        ("f", "1", 3),
        ("f", "2", 0),
        ("m", "1", 0),
        ("m", "2", 1),
    ]
    assert results.crosstab_text("place", "sex")["variable"].unique(maintain_order=True).to_list() == [
        "place: home",
        "place: work",
    ]
    assert set(results.marginals_text()["variable"]) == {"place: home", "place: work"}
    assert set(results.marginals()["variable"]) == {"place_1", "place_2"}


def test_a_group_of_one_person_and_one_whose_weights_are_zero_are_told_for_what_they_are(tmp_path: Path) -> None:
    people = {"id": [1, 2, 3, 4], "sex": ["f", "f", "m", "x"], "w": [1.0, 1.0, 1.0, 0.0]}
    items = [{"id": "cups", "type": "number", "text": "Cups?", "low": 0.5, "high": 9.5}, ITEMS[0]]
    survey = pc.Survey.read({"items": items})
    results = survey.ask(people, weight="w", model="scripted:uniform", workspace=tmp_path, keep="nothing", seed=1)
    f, one, none = results.crosstab("cups", "sex").select("n", "share", "low", "high").rows()
    assert f[0] == 2 and f[2] < f[1] < f[3]
    assert one[0] == 1 and one[1] is not None and one[2:] == (None, None)
    assert none == (1, None, None, None)
    assert results.crosstab_text("cups", "sex").row(0)[3:] == (str(round(one[1], 2)), "–")
    assert results.crosstab(items[1]["id"], "sex").filter(sex="m")["n"].sum() == 1


def test_means_of_few_answers_use_t_and_equal_answers_show_no_precision(tmp_path: Path) -> None:
    """The normal quantile covered .72 for two answers and .88 for five; equal answers had an interval of no width."""
    people = {"id": [1, 2, 3, 4], "one": [1.0, 1.0, 1.0, 1.0], "huge": [1.0, 1.0, 1.0, 1e6]}
    survey = pc.Survey.read({"items": [{"id": "cups", "type": "number", "text": "Cups?", "low": 0.5, "high": 9.5}]})
    results = survey.ask(people, weight="one", model="scripted:uniform", workspace=tmp_path, keep="nothing", seed=1)
    values = results.table["cups"].to_numpy()
    mean, low, high = results.marginals("cups").select("share", "low", "high").row(0)
    known = stats.ttest_1samp(values, 0).confidence_interval()
    assert (mean, low, high) == pytest.approx((values.mean(), known.low, known.high))
    assert "4 respondents tell as much as 4.0 of equal weight" in results.marginals_note
    heavy = pc.SurveyResults(results.run, weight="huge")
    assert heavy.marginals("cups").select("low", "high").row(0) == (None, None)
    same = survey.ask(people, model="scripted:first", workspace=tmp_path, keep="nothing")
    assert same.marginals("cups").select("low", "high").row(0) == (None, None)


def test_raking_meets_the_margins() -> None:
    rng = np.random.default_rng(1)
    people = pl.DataFrame({"sex": rng.choice(["f", "m"], 500, p=[0.7, 0.3]), "old": rng.choice(["y", "n"], 500)})
    weights = rake(people, {"sex": {"f": 51, "m": 49}, "old": {"y": 0.3, "n": 0.7}})
    weighted = people.with_columns(weights)
    assert weights.mean() == pytest.approx(1)
    for column, value, share in [("sex", "f", 0.51), ("old", "y", 0.3)]:
        total = weighted.filter(pl.col(column) == value)["weight"].sum() / weighted["weight"].sum()
        assert total == pytest.approx(share)


@pytest.mark.parametrize(
    ("margins", "words"),
    [
        ({"sex": {"f": 0.5, "x": 0.5}}, "nobody has sex = 'x'"),
        ({"sex": {"f": 1.0}}, "sex = 'm'"),
        ({"sex": {"f": 0.5, "m": -0.5}}, "above 0"),
        ({"region": {"n": 1.0}}, "'region'"),
        ({}, "no margins"),
        ({"sex": {"f": 0.9, "m": 0.1}, "work": {"yes": 0.1, "no": 0.9}}, "cannot all be met"),
    ],
)
def test_margins_that_cannot_be_met_are_refused(margins: dict[str, dict[str, float]], words: str) -> None:
    people = pl.DataFrame({"sex": ["f", "f", "m"], "work": ["yes", "yes", "no"]})
    with pytest.raises(QuestionnaireError, match=words):
        rake(people, margins)


@pytest.mark.parametrize("weights", [[1.0, -1.0], [0.0, 0.0], [1.0, math.nan], [1.0, None], ["a", "b"]])
def test_weights_that_are_no_weights_are_refused(tmp_path: Path, weights: list[Any]) -> None:
    survey = pc.Survey.read({"items": ITEMS})
    with pytest.raises(QuestionnaireError, match="weight"):
        survey.ask({"id": [1, 2], "w": weights}, weight="w", model=model(), workspace=tmp_path, keep="nothing")


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_labels_survive_a_round_trip_through_spss_and_stata(
    results: pc.SurveyResults, tmp_path: Path, ending: str
) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")
    file = write_results(results, tmp_path / f"tea.{ending}")
    read = pyreadstat.read_sav if ending == "sav" else pyreadstat.read_dta
    columns, meta = read(str(file), output_format="polars")
    assert list(columns["tea"]) == [1, 1, 1, 2]
    assert meta.column_names_to_labels["tea"] == "Do you like tea?"
    assert meta.variable_value_labels["tea"] == {1: "yes", 2: "no"}
    assert meta.variable_value_labels["kinds_1"] == {0: "no", 1: "yes"}
    again = read_respondents(file)
    assert again["tea"].to_list() == ["yes", "yes", "yes", "no"]
    assert again["cups"].to_list() == [2, 2, 2, 2]


def test_a_csv_file_holds_no_formula_and_parquet_holds_the_values(results: pc.SurveyResults, tmp_path: Path) -> None:
    text = write_results(results, tmp_path / "tea.csv").read_text()
    assert ",=1+1" not in text
    assert pl.read_parquet(write_results(results, tmp_path / "tea.parquet")).equals(results.table)
    with pytest.raises(UsageError, match="exists already"):
        write_results(results, tmp_path / "tea.csv")
    with pytest.raises(UsageError, match=r"\.sav"):
        write_results(results, tmp_path / "tea.xlsx")


def test_codes_follow_the_order_of_the_options(results: pc.SurveyResults) -> None:
    table, labels, codes = coded_table(results)
    assert table["tea"].to_list() == [1, 1, 1, 2]
    assert labels["kinds_2"] == "Which? black"
    assert codes["tea"] == {1: "yes", 2: "no"}


def test_open_answers_are_grouped_by_a_word_that_many_share() -> None:
    texts = [
        "It tastes good.",
        "The taste!",
        "A matter of taste",
        "Out of habit",
        "Habits, mostly",
        "Rain",
        None,
        "Yes.",
        "yes",
    ]
    groups = answer_groups(pl.Series("why", texts, pl.String), "Why do you drink it?")
    assert groups.to_list() == ["taste"] * 3 + ["habit"] * 2 + [OTHER, None, "yes", "yes"]


def test_words_of_the_question_and_words_that_say_little_make_no_group() -> None:
    texts = pl.Series(["I really drink it for company", "I really drink it for work", "drink, drink", "drink drink"])
    assert answer_groups(texts, "Why do you drink?").to_list() == [OTHER, OTHER, "drink drink", "drink drink"]


def test_rare_words_make_no_group_and_there_are_at_most_twelve() -> None:
    many = pl.Series([f"word{n % 20}" for n in range(400)] + ["odd", "odd"])
    groups = answer_groups(many)
    assert groups.n_unique() == 13
    assert groups.tail(2).to_list() == [OTHER, OTHER]


def test_groups_of_open_answers_do_not_depend_on_the_order_of_people() -> None:
    texts = pl.Series(["tea time", "tea break", "coffee break", "coffee time", "milk"] * 7)
    order = np.random.default_rng(1).permutation(35)
    assert answer_groups(texts)[order].to_list() == answer_groups(texts[order]).to_list()


def test_open_answers_have_weighted_shares_an_example_and_a_crosstab(tmp_path: Path) -> None:
    def reply(request: Any) -> str:
        return "For the taste." if "sex: f" in request.messages[0][1] else "Habit."

    survey = pc.Survey.read({"items": [ITEMS[3]]})
    results = survey.ask(PEOPLE, model=pc.Scripted(reply), workspace=tmp_path, weight="w", keep="nothing")
    assert results.open_answers("why").select("group", "n", "share", "example").rows() == [
        ("taste", 3, 3 / 8, "For the taste."),
        (OTHER, 1, 5 / 8, "Habit."),
    ]
    assert results.crosstab("why", "sex").filter(pl.col("n") > 0).select("sex", "value", "n").rows() == [
        ("f", "taste", 3),
        ("m", OTHER, 1),
    ]
    assert results.marginals().height == 0
    with pytest.raises(UnknownNameError):
        results.open_answers("tea")


def test_a_group_without_answers_has_its_column_in_a_crosstab_of_means(tmp_path: Path) -> None:
    item = {"id": "n", "type": "number", "text": "How many?", "low": 0, "high": 9, "show_if": {"sex": "f"}}
    survey = pc.Survey.read({"items": [item]})
    results = survey.ask(PEOPLE, model=pc.Scripted(lambda request: "2.5"), workspace=tmp_path, keep="nothing")
    assert results.crosstab_text("n", "sex").columns == ["variable", "value", "f (n = 3)", "m (n = 0)"]
