import dataclasses

import numpy as np
import pytest

from populace.base.errors import TrainingError
from populace.training.base_network import add_lora, load_base
from populace.training.examples import TrainingExamples
from populace.training.sequences import ModelVocabulary, Sequences, pack
from populace.training.supervised import SupervisedSettings, Trainer, lessons
from populace.training.tree_attention import TreeAttention

torch = pytest.importorskip("torch")

SETTINGS = SupervisedSettings(rank=0, length=192, batch=8, learning_rate=0.01, pool=2, check_every=1, seed=3)


@pytest.fixture(scope="module")
def vocabulary(tiny_base):
    return ModelVocabulary(tiny_base)


class PlantedRule:
    """Dogs go out, cats stay in, whatever the question is numbered."""

    parts = 4

    def examples(self, part, pass_number=0):
        rng = np.random.default_rng([part, pass_number])
        rows = []
        for number in range(500):
            kind = ("dog", "cat")[int(rng.integers(2))]
            answers, shares = ["go", "stay"], [1.0, 0.0] if kind == "dog" else [0.0, 1.0]
            rows.append({"system": kind, "user": f"{number % 10}?", "lead": "A:", "answers": answers, "shares": shares})
        return TrainingExamples.of(rows)


def trained(vocabulary, tiny_base, source, passes=1.0, settings=SETTINGS, **options):
    torch.manual_seed(0)
    model = load_base(tiny_base, "cpu")
    trainer = Trainer(model, vocabulary, settings, **options)
    return trainer, model, source, passes


def accuracy(model, vocabulary, examples):
    sequences = pack(examples, vocabulary, 192, every_option=True)
    with torch.no_grad():
        logs = TreeAttention(model).log_probabilities(sequences, 1).numpy()
    right = 0
    for row in range(len(examples)):
        mine = sequences.target_examples == row
        right += int(logs[mine].argmax() == sequences.target_weights[mine].argmax())
    return right / len(examples)


def test_a_tiny_network_learns_a_planted_rule_from_two_thousand_examples(vocabulary, tiny_base):
    trainer, model, source, _ = trained(vocabulary, tiny_base, PlantedRule())
    trainer.train([source], [1.0])
    held_out = TrainingExamples(source.examples(0, 9).table.head(100))
    assert accuracy(model, vocabulary, held_out) >= 0.95
    assert trainer.looks[-1].targets == 2000


def test_a_base_of_16_bits_has_nearly_the_same_loss_and_trains_an_adapter_of_32(vocabulary, tiny_base):
    together = pack(TrainingExamples(PlantedRule().examples(0).table.head(12)), vocabulary, 192)
    losses = {}
    for precision in ("float32", "bfloat16"):
        model = add_lora(load_base(tiny_base, "cpu", precision), 4, 0)
        trained = [each for each in model.parameters() if each.requires_grad]
        assert {each.dtype for each in trained} == {torch.float32}
        loss = TreeAttention(model).loss(together, 1)
        loss.backward()
        assert all(each.grad is not None for each in trained)
        losses[precision] = float(loss.detach())
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=0.02)
    assert losses["bfloat16"] != losses["float32"]


def test_each_example_in_a_tree_is_computed_as_if_it_stood_alone(vocabulary, tiny_base):
    examples = TrainingExamples(PlantedRule().examples(0).table.head(12))
    attention = TreeAttention(load_base(tiny_base, "cpu"))
    together = pack(examples, vocabulary, 192)
    with torch.no_grad():
        logs = attention.log_probabilities(together, 1).numpy()
        for row in range(12):
            alone = pack(TrainingExamples(examples.table.slice(row, 1)), vocabulary, 192)
            expected = attention.log_probabilities(alone, 1).numpy()
            assert np.allclose(logs[together.target_examples == row], expected, atol=1e-4)


def test_the_loss_does_not_depend_on_tokens_of_other_examples(vocabulary, tiny_base):
    rows = PlantedRule().examples(0).table.head(6)
    attention = TreeAttention(load_base(tiny_base, "cpu"))
    sequences = pack(TrainingExamples(rows), vocabulary, 192)
    states = attention.network.model.embed_tokens.weight
    only = sequences.target_examples == 0
    chosen = dataclasses.replace(
        sequences, target_weights=np.where(only, sequences.target_weights, 0).astype(np.float32)
    )
    attention.loss(chosen, 1).backward()
    touched = set(np.flatnonzero(states.grad.abs().sum(1).numpy() > 0).tolist())
    first = pack(TrainingExamples(rows.head(1)), vocabulary, 192)
    # The head is tied to the embeddings and touches every token, so only what it alone gives is compared.
    assert set(first.tokens[first.trees > 0].tolist()) <= touched


def test_gradients_reach_the_scores_of_targets_alone(vocabulary, tiny_base):
    attention = TreeAttention(load_base(tiny_base, "cpu"))
    sequences = pack(TrainingExamples(PlantedRule().examples(0).table.head(4)), vocabulary, 192)
    seen = []
    attention.network.lm_head.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].shape[0]))
    attention.loss(sequences, 1)
    distinct = set(zip(sequences.target_sequences.tolist(), sequences.target_places.tolist(), strict=True))
    assert seen == [len(distinct)]


def test_training_that_was_interrupted_ends_with_the_weights_of_one_that_was_not(vocabulary, tiny_base, tmp_path):
    source, settings = PlantedRule(), SETTINGS.model_copy(update={"pool": 1})
    whole, one, *_ = trained(vocabulary, tiny_base, source, settings=settings, folder=tmp_path / "whole")
    whole.train([source], [0.75])

    class InterruptedTrainingError(Exception):
        pass

    def interrupt(look):
        if look.progress > 0.5:
            raise InterruptedTrainingError

    first, *_ = trained(vocabulary, tiny_base, source, settings=settings, folder=tmp_path / "cut")
    with pytest.raises(InterruptedTrainingError):
        first.train([source], [0.75], watch=interrupt)
    second, other, *_ = trained(vocabulary, tiny_base, source, settings=settings, folder=tmp_path / "cut")
    second.train([source], [0.75])
    assert [look.step for look in second.looks] == [look.step for look in whole.looks]
    for left, right in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(left, right)


def test_a_state_of_another_network_is_refused(vocabulary, tiny_base, tmp_path):
    source = PlantedRule()
    trainer, *_ = trained(vocabulary, tiny_base, source, folder=tmp_path)
    trainer._save()
    model = add_lora(load_base(tiny_base, "cpu"), 4, 0)
    with pytest.raises(TrainingError, match="another network"):
        Trainer(model, vocabulary, SETTINGS, folder=tmp_path).train([source], [0.1])


def test_a_damaged_state_is_named(vocabulary, tiny_base, tmp_path):
    (tmp_path / "state.safetensors").write_bytes(b"nonsense")
    trainer, *_ = trained(vocabulary, tiny_base, PlantedRule(), folder=tmp_path)
    with pytest.raises(TrainingError, match="damaged"):
        trainer.train([PlantedRule()], [0.1])


def test_lessons_go_through_every_part_and_mix_the_sources():
    order = lessons([10, 20], [2.0, 0.5], seed=1)
    first = [lesson for lesson in order if lesson.source == 0]
    assert sorted(lesson.part for lesson in first if lesson.pass_number == 1) == list(range(10))
    assert len(order) == 20 + 10
    assert {lesson.source for lesson in order[:6]} == {0, 1}
    assert order == lessons([10, 20], [2.0, 0.5], seed=1) != lessons([10, 20], [2.0, 0.5], seed=2)


def test_a_padded_batch_has_the_loss_of_the_sequences_in_it(vocabulary, tiny_base):
    examples = TrainingExamples(PlantedRule().examples(0).table.head(8))
    sequences = pack(examples, vocabulary, 192)
    doubled = Sequences.concat([sequences, sequences])
    attention = TreeAttention(load_base(tiny_base, "cpu"))
    with torch.no_grad():
        assert float(attention.loss(doubled, 4)) == pytest.approx(float(attention.loss(sequences, 4)), abs=1e-5)


def test_a_training_that_ended_early_does_not_go_on_when_it_is_started_again(vocabulary, tiny_base, tmp_path):
    settings = SETTINGS.model_copy(update={"patience": 1, "pool": 1})
    source, unseen = PlantedRule(), TrainingExamples(PlantedRule().examples(1, 5).table.head(4))
    first = Trainer(load_base(tiny_base, "cpu"), vocabulary, settings, folder=tmp_path)
    first._best = -1.0  # Nothing can be better, so the first look ends it.
    first.train([source], [1.0], unseen=unseen)
    second = Trainer(load_base(tiny_base, "cpu"), vocabulary, settings, folder=tmp_path)
    second.train([source], [1.0], unseen=unseen)
    assert len(second.looks) == len(first.looks) == 1


def test_too_little_memory_of_a_gpu_is_said_with_what_to_lower(vocabulary, tiny_base, monkeypatch):
    def refuse(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(TreeAttention, "log_probabilities", refuse)
    trainer, _, source, passes = trained(vocabulary, tiny_base, PlantedRule())
    with pytest.raises(TrainingError, match="8 sequences of 192 tokens") as caught:
        trainer.train([source], [passes])
    assert "Lower `batch` or `length`" in str(caught.value)
