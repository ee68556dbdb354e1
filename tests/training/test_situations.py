import numpy as np
import pytest

from populace.training.sequences import ModelVocabulary
from populace.training.situation_texts import PAIRS
from populace.training.situations import ASSUMPTIONS, SituationSource


@pytest.fixture(scope="module")
def examples(tiny_base):
    source = SituationSource(ModelVocabulary(tiny_base), parts=2, stories=40, seed=5)
    return source.examples(0).table


def test_every_kind_of_situation_is_there_and_its_shares_are_chances(examples):
    assert set(examples["task"]) == {
        f"situation_{name}" for name in ("others", "prices", "illness", "traits", "distance")
    }
    shares = np.array(examples["shares"].to_list())
    assert ((shares > 0) & (shares < 1)).all()
    assert np.allclose(shares.sum(1), 1)


def test_kinds_can_be_chosen(tiny_base):
    source = SituationSource(ModelVocabulary(tiny_base), parts=1, stories=6, seed=5, kinds=("prices", "distance"))
    assert set(source.examples(0).table["task"]) <= {"situation_prices", "situation_distance"}


def test_the_pair_of_the_office_is_not_among_the_words():
    assert {"blue", "green"} not in [set(pair) for pair in PAIRS]
    assert len({frozenset(pair) for pair in PAIRS}) > 90


def test_no_situation_has_the_story_of_a_shipped_scenario(examples):
    text = " ".join([*examples["user"], *examples["system"]]).lower()
    assert not [word for word in ("shirt", "dewberry", "party", "office with") if word in text]


def test_a_part_is_the_same_each_time_and_another_in_another_pass(tiny_base):
    source = SituationSource(ModelVocabulary(tiny_base), parts=2, stories=2, seed=5)
    assert source.examples(0).table.equals(source.examples(0).table)
    assert not source.examples(0).table.equals(source.examples(0, 1).table)
    assert not source.examples(0).table.equals(source.examples(1).table)


def test_each_assumption_names_a_source_and_what_is_ours():
    for assumption in ASSUMPTIONS:
        assert any(char.isdigit() for char in assumption.source), "a year"
        assert assumption.ours
