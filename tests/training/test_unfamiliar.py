"""Questions to which nobody's answer is known, for which the base itself, or no preference, is the target."""

import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from populace.base.errors import TrainingError
from populace.evaluation.decision_tasks import DecisionTask
from populace.evaluation.human_decisions import HumanDecisions
from populace.models import Capabilities, Failure, Model, Reply, ReplyOrFailure, Request
from populace.training.decision_examples import DecisionSource
from populace.training.examples import TrainingExamples
from populace.training.plan import DataPart, TrainingPlan
from populace.training.planned_training import PlannedTraining
from populace.training.sequences import ModelVocabulary, pack
from populace.training.tree_attention import TreeAttention
from populace.training.unfamiliar import FLATTENING, flattened_shares, unfamiliar_questions, write_unfamiliar
from support.corpora import small_corpus


class SureModel(Model):
    """Gives the first option that it is shown nine tenths of the probability, and the second one tenth."""

    spec = fingerprint = "sure"
    capabilities = Capabilities(top_tokens=20, lead=True)

    def __init__(self, texts: Sequence[str] = (), fails: bool = False) -> None:
        self.texts, self.fails, self.asked = texts, fails, 0

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        self.asked += len(requests)
        tokens = tuple(zip(self.texts, np.log((0.9, 0.1)).tolist(), strict=True)) if self.texts else ()
        outcome = Failure("unanswered", "broken") if self.fails else Reply("", tokens, "length", 9, 1)
        yield [(number, outcome) for number in reversed(range(len(requests)))]


@pytest.fixture(scope="module")
def vocabulary(tiny_base: Path) -> ModelVocabulary:
    return ModelVocabulary(tiny_base)


def test_a_higher_temperature_makes_a_flatter_target(vocabulary):
    table = unfamiliar_questions(vocabulary, 0, 1).head(20)
    answers = table["answers"].explode().unique()
    texts = sorted({vocabulary.tokenizer.texts[vocabulary.answer(answer)[0]] for answer in answers})[:2]
    surest = [
        [max(shares) for shares in flattened_shares(SureModel(texts), vocabulary, table, flattening) if sum(shares)]
        for flattening in (1.0, 3.0)
    ]
    assert surest[0], "some option begins with a token of the model"
    assert all(flat <= sure for sure, flat in zip(*surest, strict=True))


def test_parts_differ_and_are_the_same_each_time(vocabulary):
    first = unfamiliar_questions(vocabulary, 0, 1)
    assert first.equals(unfamiliar_questions(vocabulary, 0, 1))
    others = unfamiliar_questions(vocabulary, 1, 1)["user"], unfamiliar_questions(vocabulary, 0, 2)["user"]
    assert not any(set(first["user"]) == set(other) for other in others)
    assert first["user"].n_unique() > 100, "few questions are asked twice"


def test_half_of_the_people_are_those_of_the_data(vocabulary):
    people = [{"shoe size": "forty-one"}]
    systems = unfamiliar_questions(vocabulary, 0, 1, people=people)["system"].str.to_lowercase()
    share = systems.str.contains("forty-one").mean()
    assert 0.35 < share < 0.6, "a few facts are left out at random"


def test_the_target_is_what_the_base_says_flattened(vocabulary, tmp_path):
    table = unfamiliar_questions(vocabulary, 0, 1)
    first, second = (vocabulary.tokenizer.texts[vocabulary.answer(f" {letter}")[0]] for letter in "AB")
    # Where all texts begin with the same token, as the bytes of a space, the shares of a reply cannot be told apart.
    texts = (first, second) if first != second else (first, "another token")
    shares = flattened_shares(SureModel(texts), vocabulary, table.head(5))
    odds = (0.9 / 0.1) ** (1 / FLATTENING)
    for row, mine in zip(table.head(5).iter_rows(named=True), shares, strict=True):
        firsts = [vocabulary.tokenizer.texts[vocabulary.answer(answer)[0]] for answer in row["answers"]]
        known = [share for token, share in zip(firsts, mine, strict=True) if token in texts]
        assert sum(mine) == pytest.approx(1.0)
        if firsts[:2] == list(texts) and len(known) == 2:
            assert known[0] / known[1] == pytest.approx(odds)


def test_the_file_is_written_once_and_what_the_base_does_not_answer_is_left_out(vocabulary, tmp_path):
    silent = SureModel()
    source = write_unfamiliar(tmp_path / "out" / "questions.parquet", silent, vocabulary, 2, 1)
    assert silent.asked > 1000
    assert len(source.examples(0)) == len(source.examples(1)) == 0
    again = SureModel()
    write_unfamiliar(tmp_path / "out" / "questions.parquet", again, vocabulary, 2, 1)
    assert not again.asked
    assert not list((tmp_path / "out").glob("*.new"))


def test_without_a_base_no_option_is_preferred(vocabulary, tmp_path):
    source = write_unfamiliar(tmp_path / "questions.parquet", None, vocabulary, 1, 1)
    shares = source.examples(0).table["shares"]
    assert shares.list.max().to_list() == shares.list.min().to_list()
    assert shares.list.sum().min() == pytest.approx(1)


@pytest.mark.parametrize("name", ["a?", "x[1]", "part=7"])
def test_the_name_of_a_folder_is_no_pattern(vocabulary, tmp_path, name):
    sources = [write_unfamiliar(tmp_path / each / "questions.parquet", None, vocabulary, 1, 1) for each in (name, "ab")]
    assert len(sources[0].examples(0)) == len(sources[1].examples(0)) > 1000


def test_a_base_that_fails_is_an_error(vocabulary, tmp_path):
    with pytest.raises(TrainingError, match="model does not answer a made-up question: broken"):
        write_unfamiliar(tmp_path / "questions.parquet", SureModel(fails=True), vocabulary, 1, 1)
    assert not (tmp_path / "questions.parquet").exists()


def test_unfamiliar_questions_are_a_part_of_their_own():
    with pytest.raises(ValueError, match="give either"):
        DataPart(unfamiliar=2, situations=3)
    with pytest.raises(ValueError, match="decisions say their own licence"):
        DataPart(unfamiliar=2, licence="MIT")
    with pytest.raises(ValueError, match="`least` and `retested` belong to `decisions`"):
        DataPart(unfamiliar=2, least=9)
    assert TrainingPlan(name="mine", data=[{"unfamiliar": 2}], licences=["CC0-1.0"]).kind == "model"


def test_a_plan_asks_its_base_and_the_targets_are_those_of_the_network_before_training(tmp_path, tiny_base):
    small_corpus(tmp_path / "corpus")
    plan = {
        "name": "tiny", "base": str(tiny_base), "licences": ["CC0-1.0", "MIT"],
        "data": [{"decisions": "corpus"}, {"unfamiliar": 1}],
        "settings": {"rank": 2, "length": 640, "batch": 8, "pool": 1, "check_every": 1},
    }  # fmt: skip
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    training = PlannedTraining(TrainingPlan.read(tmp_path / "plan.yaml"), tmp_path / "out")
    questions = TrainingExamples(training.sources()[1].examples(0).table.sample(40, seed=1))
    network = training.network("cpu").eval()
    sequences = pack(questions, training.vocabulary, 640, every_option=True)
    logs = TreeAttention(network).log_probabilities(sequences, len(sequences)).detach().double().numpy()
    chances = pl.DataFrame({"row": sequences.target_examples, "chance": np.exp(logs / FLATTENING)})
    rows = dict(chances.group_by("row", maintain_order=True).agg("chance").iter_rows())
    for row, target in enumerate(questions.table["shares"].to_list()):
        assert np.array(rows[row]) / sum(rows[row]) == pytest.approx(np.array(target), abs=0.01)
    training.train("cpu")
    manifest = training.manifest([], {})
    assert manifest["unfamiliar"] == [0, 1] and manifest["kind"] == "human"
    assert [each["name"] for each in manifest["data"]] == ["corpus", "made-up questions without answers"]
    assert len(list((tmp_path / "out").glob("unfamiliar-*.parquet"))) == 1, "it is not asked again"


def test_a_part_of_every_target_may_be_spread_evenly_over_all_options(vocabulary):
    task = DecisionTask("tea", "price", "Which tea do you buy?", "CC0", ("green", "black", "white", "none"))
    table = pl.DataFrame({"task": ["tea"] * 2, "person": ["a", "b"], "answer": ["green", "none"]})
    decisions = HumanDecisions.from_table(table, {"tea": task})
    (shares,) = DecisionSource(decisions, vocabulary, smoothing=0.2).examples(0).table["shares"].to_list()
    assert sorted(shares) == pytest.approx([0.05, 0.05, 0.45, 0.45])
    with pytest.raises(ValueError, match="less than 1"):
        DataPart(decisions="corpus", smoothing=1)


def test_small_tasks_are_repeated_in_other_forms(vocabulary):
    tasks = {
        name: DecisionTask(name, "price", f"Do you buy {name}?", "CC0", ("yes", "no")) for name in ("rare", "common")
    }
    rows = [("rare", f"p{n}", json.dumps({"age": str(n)}), "yes") for n in range(4)]
    rows += [("common", f"p{n}", json.dumps({"age": str(n)}), "no") for n in range(90)]
    table = pl.DataFrame(rows, schema=["task", "person", "profile", "answer"], orient="row")
    decisions = HumanDecisions.from_table(table, tasks)
    examples = DecisionSource(decisions, vocabulary, least=40).examples(0).table
    assert dict(examples["task"].value_counts().iter_rows()) == {"rare": 40, "common": 90}
    assert examples.filter(pl.col("task") == "rare")["user"].n_unique() > 1
    assert len(DecisionSource(decisions, vocabulary)) == 94
