from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from populace.base.errors import QuestionError, UnknownNameError
from populace.questions import STATUS_DTYPE, Answers, Choice, Form, Number, Question, Rating, Text

SHIRT = Choice("Which shirt?", options=("blue", "green"))


def make_answers(question: Question, values: list[object], status: list[str], **more: object) -> Answers:
    return Answers(
        question,
        pl.Series("id", range(10, 10 + len(values)), dtype=pl.Int64),
        pl.Series("value", values, dtype=question.dtype),
        pl.Series("status", status, dtype=STATUS_DTYPE),
        np.asarray(more.pop("prompt", np.zeros(len(values))), np.int32),
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def shirts() -> Answers:
    return make_answers(
        SHIRT,
        ["blue", None, "green", "blue", None],
        ["ok", "refused", "repaired", "ok", "unparseable"],
        prompt=[0, 0, 1, 1, -1],
        probabilities=np.array([[0.75, 0.25], [0.5, 0.5]]),
        mass=np.array([0.9, 0.8]),
    )


def test_the_table_aligns_people_values_and_statuses(shirts: Answers) -> None:
    assert shirts.frame.rows()[:2] == [(10, "blue", "ok"), (11, None, "refused")]
    assert len(shirts) == 5
    assert shirts.frame.columns == ["id", "value", "status"]


def test_only_ok_and_repaired_answers_are_valid(shirts: Answers) -> None:
    assert shirts.valid.to_list() == [True, False, True, True, False]
    assert repr(shirts) == "<5 answers to 'Which shirt?': 3 valid>"


def test_counts_and_shares_are_of_the_valid_answers(shirts: Answers) -> None:
    assert shirts.count("blue") == 2
    assert shirts.share("blue") == pytest.approx(2 / 3)
    with pytest.raises(UnknownNameError, match="no option of 'Which shirt\\?' named 'red'"):
        shirts.count("red")


def test_the_share_is_zero_where_nobody_answered() -> None:
    assert make_answers(SHIRT, [None], ["timeout"]).share("blue") == 0.0


def test_rates_are_of_everybody_asked_and_name_only_what_occurred(shirts: Answers) -> None:
    assert shirts.rates() == {"ok": 0.4, "repaired": 0.2, "refused": 0.2, "unparseable": 0.2}


def test_the_answer_of_one_person_is_found_by_id(shirts: Answers) -> None:
    assert shirts.of(12) == "green"
    assert shirts.of(11) is None


@pytest.mark.parametrize("who", [99, "mary"])
def test_somebody_who_was_not_asked_is_named(shirts: Answers, who: int | str) -> None:
    with pytest.raises(QuestionError, match=str(who)):
        shirts.of(who)


def test_one_answer_is_given_when_one_person_was_asked(shirts: Answers) -> None:
    assert make_answers(SHIRT, ["green"], ["ok"]).one == "green"
    assert make_answers(SHIRT, [None], ["refused"]).one is None
    with pytest.raises(QuestionError, match="5 people"):
        _ = shirts.one


def test_the_distribution_belongs_to_the_prompt_of_each_person(shirts: Answers) -> None:
    table = shirts.distribution
    assert table.columns == ["id", "blue", "green"]
    assert table.row(0) == (10, 0.75, 0.25)
    assert table.row(2) == (12, 0.5, 0.5)
    assert table.row(4) == (14, None, None)


def test_the_points_of_a_scale_name_the_columns_of_its_distribution() -> None:
    scale = Rating("How happy?", low=1, high=3)
    answers = make_answers(scale, [2], ["ok"], probabilities=np.array([[0.2, 0.5, 0.3]]))
    assert answers.distribution.row(0, named=True) == {"id": 10, "1": 0.2, "2": 0.5, "3": 0.3}


def test_answers_in_words_have_no_distribution() -> None:
    with pytest.raises(QuestionError, match=r"Why\?"):
        _ = make_answers(Text("Why?"), ["Because."], ["ok"]).distribution
    with pytest.raises(QuestionError, match=r"Which shirt\?"):
        _ = make_answers(SHIRT, ["blue"], ["ok"]).distribution


@pytest.fixture
def form() -> Answers:
    question = Form("About you.", questions={"age": Number("Age?", whole=True), "why": Text("Why?")})
    return make_answers(question, ['{"age": 41, "why": "x"}', None], ["ok", "refused"])


def test_a_field_of_a_form_is_empty_where_the_form_is_invalid(form: Answers) -> None:
    assert form.field("age").to_list() == [41, None]
    assert form.field("why").to_list() == ["x", None]


def test_a_field_that_the_form_does_not_have_is_named_with_the_nearest(form: Answers) -> None:
    with pytest.raises(UnknownNameError) as raised:
        form.field("agee")
    assert raised.value.nearest == "age"


def test_only_forms_have_fields(shirts: Answers) -> None:
    with pytest.raises(QuestionError, match=r"Which shirt\?"):
        shirts.field("age")
