"""Questions put together from those of the data."""

import re

import numpy as np
import polars as pl
import pytest

from populace.base.errors import TrainingError
from populace.evaluation.decision_tasks import DecisionTask
from populace.evaluation.human_decisions import HumanDecisions
from populace.questions import Choice
from populace.training.plan import DataPart, TrainingPlan
from populace.training.recombined_questions import LearnedQuestion, Recombination, learned_questions
from populace.training.sequences import ModelVocabulary
from populace.training.unfamiliar import question_draw, unfamiliar_questions

AGREE = ("agree", "disagree")
TOPICS = "taxes schools forests bridges farmers doctors trains churches museums rivers lakes factories".split()


def questions(count: int = 12) -> list[LearnedQuestion]:
    return [
        LearnedQuestion(
            topic, f"What do you think? The state spends plenty of money on {topic} near {topic}ville.", AGREE
        )
        for topic in TOPICS[:count]
    ]


def decisions(*tasks: DecisionTask, seen: str | None = None) -> HumanDecisions:
    rows = [(task.id, f"p{number}", task.options[0], seen) for task in tasks for number in range(2)]
    schema = ("task", "person", "answer", "seen")
    table = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        profile=pl.lit(None, pl.String), retest=pl.lit(None, pl.String), order=pl.lit(None, pl.Int64)
    )
    return HumanDecisions({task.id: task for task in tasks}, table)


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", text.lower()))


def test_no_question_is_one_that_somebody_was_asked():
    asked = questions()
    texts = {each.text for each in asked}
    recombination, rng = Recombination(asked, common=0.2), np.random.default_rng(1)
    assert not any(recombination.question(rng)[0] in texts for _ in range(300))


def test_words_that_many_tasks_have_stay_and_half_of_the_others_are_exchanged():
    asked = [LearnedQuestion(topic, f"Do you visit {topic}, {topic}land, {topic}town and {topic}city?", AGREE)
             for topic in TOPICS]  # fmt: skip
    recombination, rng = Recombination(asked, common=0.2), np.random.default_rng(1)
    for _ in range(100):
        text, _ = recombination.question(rng)
        assert text.startswith("Do you visit ")
        kept = max(len(words(text) & words(each.text) - {"you", "visit", "and"}) for each in asked)
        assert kept <= 3  # Of four, two or more are others; one of these may come from the same question.


def test_words_are_the_same_in_the_text_and_in_the_options():
    asked = [
        LearnedQuestion("soup", "On the shelf: Alder: $2; Corvo: $3. Which one do you buy?", ("Alder", "Corvo")),
        LearnedQuestion("tea", "In the window: Elkin: $4; Farrow: $1. What will you take?", ("Elkin", "Farrow")),
    ]
    recombination, rng = Recombination(asked), np.random.default_rng(2)
    both = 0
    for _ in range(200):
        text, options = recombination.question(rng)
        assert len({option.lower() for option in options}) == len(options)
        both += all(option.lower() in text.lower() for option in options)
    assert both > 150, "some have the options of another question"


def test_words_of_a_similar_question_of_the_same_kind_are_exchanged():
    """So that it is not by odd words alone that such a question differs from a learned one."""
    shelves = [("Alder", "Bonny", "Corvo"), ("Delta", "Elkin", "Farrow"), ("Grange", "Hollow", "Ivory")]
    shelf = "On the shelf stand {}, {} and {}. Which one do you take home?"
    priced = [LearnedQuestion(f"shelf {each[0]}", shelf.format(*each), each, "price") for each in shelves]
    others = [LearnedQuestion(each.task, each.text, each.options, "attitude") for each in questions()]
    recombination, rng = Recombination([*priced, *others], common=0.2), np.random.default_rng(3)
    brands = [frozenset(brand.lower() for brand in each) for each in shelves]
    options_of_each = [frozenset(option.lower() for option in recombination.question(rng)[1]) for _ in range(600)]
    mixed = [options for options in options_of_each if options <= frozenset().union(*brands) and options not in brands]
    assert len(mixed) > 10, "brands of one shelf stand on another"
    of_two = [options for options in mixed if sum(bool(options & each) for each in brands) == 2]
    assert len(of_two) > 0.8 * len(mixed), "a question is mixed with one other"


def test_half_a_sentence_goes_on_as_another_one_does():
    asked = [
        LearnedQuestion("a", "My neighbours often help me carry heavy things.", AGREE),
        LearnedQuestion("b", "Those trains never leave this town before noon.", AGREE),
    ]
    texts = {Recombination(asked).question(np.random.default_rng(seed))[0] for seed in range(60)}
    assert "My neighbours often help this town before noon." in texts
    assert "Those trains never leave me carry heavy things." in texts


def test_a_question_about_a_situation_is_not_cut_in_half():
    """Its last sentence asks what to do; what was decided about lies before it, and is known."""
    story = "You own a red shop with nine rooms and three clerks in a quiet street by the harbour. What do you do now?"
    asked = [LearnedQuestion("a", story, AGREE), LearnedQuestion("b", "Those trains never leave before noon.", AGREE)]
    recombination = Recombination(asked)
    texts = [recombination.question(np.random.default_rng(seed))[0] for seed in range(100)]
    assert not any("quiet street by the harbour" in text and "red shop" in text and "clerks" in text for text in texts)


def test_a_task_in_which_people_saw_different_things_counts_once():
    """Its words are in many prompts, but they are words of one task."""
    many = [LearnedQuestion("game", f"You cooperate or defect in round {number}.", AGREE) for number in range(50)]
    recombination, rng = Recombination([*many, *questions()], common=0.2), np.random.default_rng(1)
    texts = [recombination.question(rng)[0] for _ in range(200)]
    assert not any("cooperate or defect in round" in text for text in texts)


def test_tasks_are_taken_as_people_saw_them_and_without_what_cannot_be_asked():
    shop = DecisionTask("shop", "price", "The price is {price}. Do you buy?", "CC0", ("yes", "no"))
    number = DecisionTask("number", "game", "How many?", "CC0", bounds=(0, 9))
    braces = DecisionTask("braces", "attitude", "Do you like {{}}?", "CC0", AGREE)
    assert [each.text for each in learned_questions(decisions(shop, seen='{"price": "$3"}'))] == [
        "The price is $3. Do you buy?"
    ]
    assert learned_questions(HumanDecisions({"number": number}, decisions(shop).table.clear())) == []
    assert learned_questions(decisions(braces)) == []


def test_too_few_words_are_an_error():
    with pytest.raises(TrainingError, match="too few words"):
        Recombination([LearnedQuestion("a", "Why?", AGREE)]).question(np.random.default_rng(1))


def test_unfamiliar_questions_are_put_together_from_those_of_the_data(tiny_base):
    tasks = [DecisionTask(each.task, "attitude", each.text, "CC0", each.options) for each in questions()]
    draw = question_draw("recombined", [decisions(*tasks)])
    table = unfamiliar_questions(ModelVocabulary(tiny_base), 0, 1, draw=draw)
    assert table["user"].n_unique() > 200
    assert not set(table["user"]) & {each.text for each in questions()}


def test_a_plan_needs_decisions_to_put_questions_together():
    with pytest.raises(ValueError, match="asked: recombined"):
        TrainingPlan(name="mine", licences=["CC0-1.0"], data=[DataPart(unfamiliar=2, asked="recombined")])


def test_what_cannot_be_asked_is_left_out():
    many = DecisionTask("many", "price", "Which of these?", "CC0", tuple(f"item {number}" for number in range(30)))
    good = DecisionTask("good", "price", "Which shelf has the brown bread?", "CC0", AGREE)
    assert [each.task for each in learned_questions(decisions(many, good))] == ["good"]


def test_options_that_an_exchange_makes_alike_are_drawn_again():
    asked = [
        LearnedQuestion("a", "Do you take lamp or chair?", ("lamp", "(chair)")),
        LearnedQuestion("b", "Does bread or butter come home?", ("bread", "butter")),
    ]
    recombination = Recombination(asked)
    for seed in range(200):
        text, options = recombination.question(np.random.default_rng(seed))
        Choice(text, options=options)


def test_without_questions_there_is_nothing_to_put_together():
    with pytest.raises(TrainingError, match="no questions can be put together"):
        Recombination([])


def test_a_plan_without_a_survey_asks_as_in_everyday_life():
    price = DecisionTask("price", "price", "Do you buy it?", "CC0", ("yes", "no"))
    assert question_draw("survey", [decisions(price)]) is None


def test_questions_in_the_words_of_decisions_have_their_licence(tiny_base):
    table = unfamiliar_questions(
        ModelVocabulary(tiny_base), 0, 1, draw=Recombination(questions()).question, licence="MIT"
    )
    assert table["licence"].unique().to_list() == ["MIT"]
