import numpy as np
import pytest

from populace.training.examples import TrainingExamples
from populace.training.sequences import REST, ModelVocabulary, pack


@pytest.fixture(scope="module")
def vocabulary(tiny_base):
    return ModelVocabulary(tiny_base)


def example(system="You are old.", user="Tea?", answers=(" yes", " no"), shares=(1.0, 0.0), **more):
    return {"system": system, "user": user, "lead": "Answer:", "answers": list(answers), "shares": list(shares), **more}


def packed(vocabulary, *rows, length=512, **options):
    return pack(TrainingExamples.of(rows), vocabulary, length, **options)


def target_text(vocabulary, sequences):
    return "".join(vocabulary.tokenizer.texts[token] for token in sequences.target_tokens.tolist())


def test_only_the_tokens_of_the_answer_and_the_end_are_targets(vocabulary):
    sequences = packed(vocabulary, example())
    assert target_text(vocabulary, sequences) == " yes<|im_end|>"
    weights = sequences.target_weights.tolist()
    assert weights[0] == 1.0 and np.allclose(weights[1:], REST)


def test_what_is_learned_stands_right_after_the_lead(vocabulary):
    sequences = packed(vocabulary, example())
    first = sequences.target_places[0]
    before = vocabulary.tokenizer.decode(sequences.tokens[0, : first + 1].tolist())
    assert before.endswith("assistant\nAnswer:")


def test_one_changed_word_of_the_context_leaves_the_targets_where_they_are(vocabulary):
    one, other = (packed(vocabulary, example(user=text)) for text in ("Tea?", "Tee?"))
    for name in ("target_places", "target_tokens", "target_weights"):
        assert (getattr(one, name) == getattr(other, name)).all()
    assert (one.tokens != other.tokens).sum() == 1


def test_several_possible_answers_are_learned_by_their_first_tokens_with_their_shares(vocabulary):
    sequences = packed(vocabulary, example(answers=("yes", "no", "perhaps"), shares=(0.5, 0.3, 0.2), weight=2.0))
    assert target_text(vocabulary, sequences) == "ynp"
    assert sequences.target_weights.tolist() == pytest.approx([1.0, 0.6, 0.4])
    assert len(set(sequences.target_places.tolist())) == 1


def test_scoring_asks_for_every_option_also_those_that_nobody_chose(vocabulary):
    sequences = packed(vocabulary, example(answers=("yes", "no")), every_option=True)
    assert target_text(vocabulary, sequences) == "yn"
    assert sequences.target_weights.tolist() == [1.0, 0.0]


def test_examples_of_one_person_share_the_tokens_of_the_profile(vocabulary):
    questions = [example(user=f"Question {number}?") for number in range(3)]
    together = (packed(vocabulary, *questions).trees > 0).sum()
    apart = sum((packed(vocabulary, question).trees > 0).sum() for question in questions)
    profile = len(vocabulary.tokenizer.encode("<|im_start|>system\nYou are old.<|im_end|>\n"))
    assert apart - together >= 2 * profile


def test_an_example_that_does_not_fit_is_left_out_and_counted(vocabulary):
    sequences = packed(vocabulary, example(), example(user="long " * 200), length=256)
    assert sequences.too_long == 1
    assert set(sequences.target_examples.tolist()) == {0}


def test_taking_rows_keeps_each_target_with_its_sequence(vocabulary):
    rows = [example(system=f"You are number {number}.", user="x" * 150) for number in range(4)]
    sequences = packed(vocabulary, *rows, length=256)
    chosen = sequences.take(np.array([3, 1]))
    for place, row in enumerate((3, 1)):
        mine = chosen.target_examples[chosen.target_sequences == place]
        assert set(mine.tolist()) == set(sequences.target_examples[sequences.target_sequences == row].tolist())


def test_a_vocabulary_can_be_sent_to_another_process(vocabulary):
    import pickle

    assert pickle.loads(pickle.dumps(vocabulary)).first_tokens(["yes"]) == vocabulary.first_tokens(["yes"])
