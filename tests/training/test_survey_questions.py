"""Made-up questions in the form of a survey."""

import functools

import numpy as np
import pytest

from populace.evaluation.decision_tasks import DecisionTask
from populace.training.plan import DataPart, TrainingPlan
from populace.training.sequences import ModelVocabulary
from populace.training.survey_questions import SurveyForm, survey_forms, survey_question
from populace.training.survey_texts import ACTIVITIES, SELF_STATEMENTS, STATEMENTS, THINGS, YES_NO
from populace.training.unfamiliar import unfamiliar_questions

AGREE = ("strongly agree", "agree", "disagree", "strongly disagree")


def card(name: str, question: str, options: tuple[str, ...], family: str = "attitude") -> DecisionTask:
    return DecisionTask(name, family, question, "CC0", options)


def test_a_form_has_the_introduction_and_the_scale_of_a_learned_question():
    tasks = [
        card("a", "Here are some views. Do you agree? Taxes are too high.", AGREE),
        card("b", "Have you ever voted?", ("yes", "no")),
        card("c", "How often do you pray?", ("often", "sometimes", "never")),
    ]
    forms = survey_forms(tasks)
    assert [form.introduction for form in forms] == ["Here are some views. Do you agree?", "", ""]
    assert [form.options for form in forms] == [AGREE, ("yes", "no"), ("often", "sometimes", "never")]


def test_only_attitudes_that_everybody_saw_alike_lend_their_form():
    tasks = [
        card("game", "What do you do? I agree.", AGREE, family="game"),
        card("fields", "With {n} others: I agree.", AGREE),
        card("unknown scale", "Which is it?", ("blue", "green")),
        DecisionTask("number", "attitude", "How many? I agree.", "CC0", bounds=(0, 9)),
    ]
    assert survey_forms(tasks) == ()


def test_notes_for_interviewers_are_no_introduction():
    (form,) = survey_forms([card("long", f"{'Hand card. ' * 80}Taxes are too high.", AGREE)])
    assert form.introduction == ""


@pytest.mark.parametrize(
    ("options", "content"),
    [
        (AGREE, (*STATEMENTS, *SELF_STATEMENTS)),
        (("true", "false"), SELF_STATEMENTS),
        (("yes", "no"), YES_NO),
        (("often", "sometimes", "never"), ACTIVITIES),
        (("very important", "not important at all"), THINGS),
    ],
)
def test_the_content_fits_the_scale_and_is_made_up(options, content):
    forms = survey_forms([card("x", "About something. And this.", options)])
    rng = np.random.default_rng(1)
    for _ in range(30):
        text, shown = survey_question(rng, forms)
        assert shown == options
        assert any(each.lower() in text.lower() for each in content)
        assert "{" not in text
        assert "And this." not in text


def test_half_of_the_questions_have_an_introduction():
    forms = [SurveyForm(0, "About pets.", AGREE)]
    rng = np.random.default_rng(1)
    share = np.mean([survey_question(rng, forms)[0].startswith("About pets. ") for _ in range(400)])
    assert 0.4 < share < 0.6


def test_unfamiliar_questions_are_asked_in_the_forms_of_a_survey(tiny_base):
    forms = survey_forms([card("x", "About something. And this.", AGREE)])
    table = unfamiliar_questions(ModelVocabulary(tiny_base), 0, 1, draw=functools.partial(survey_question, forms=forms))
    assert table["answers"].list.len().unique().to_list() == [4]
    assert table["user"].n_unique() > 60


def test_a_plan_that_lacks_what_such_questions_need_is_refused():
    known = {"name": "mine", "licences": ["CC0-1.0"]}
    with pytest.raises(ValueError, match="cannot be flattened"):
        TrainingPlan(data=[{"unfamiliar": 2, "keeps_to": "uniform", "flattening": 3}], **known)
    with pytest.raises(ValueError, match="`asked: survey` needs `decisions`"):
        TrainingPlan(data=[{"unfamiliar": 2, "asked": "survey"}], **known)
    with pytest.raises(ValueError, match="belong to `unfamiliar`"):
        DataPart(situations=2, flattening=3)
