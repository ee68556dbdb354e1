"""Correction in rounds: what is rewarded rises, shuffled feedback does not raise it, and what was done is not done again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from populace import Workspace, open_run
from populace.base.errors import TrainingError

pytest.importorskip("trl", reason="TRL is not installed: pip install 'populace[train]'")

import torch

from populace.models.adapters import read_card
from populace.runs.reader import RunReader
from populace.training import correction as correction_module
from populace.training.correction import Correction, RoundResult
from populace.training.correction_plan import CorrectionPlan
from populace.training.correction_report import changes, correction_report, results_table
from populace.training.decision_scoring import Scoring
from support.audit import size
from support.commands import populace
from support.quick_collection import quick_collection
from support.tiny_models import tiny_folder
from training.test_human_targets import corpus

SCENARIO = '''
from populace import Choice, Field, People, Scenario

class Meals(Scenario):
    """What people eat."""

    people_count: int = Field(24, ge=1)
    text: str = Field("Food?")

    def setup(self) -> People:
        return People({"name": [f"P{number}" for number in range(self.people_count)]})

    def profile(self) -> str:
        return "{name}"

    def length(self) -> int:
        return 1

    async def step(self) -> None:
        await self.ask(self.people, Choice(self.text, options=["soup", "bread"]))
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("correction")
    tiny_folder(folder / "base", seed=6)
    (folder / "meals.py").write_text(SCENARIO)
    with quick_collection():
        yield folder


def plan(place: Path, **changes: object) -> CorrectionPlan:
    scenario = f"{place / 'meals.py'}:Meals"
    settings = {
        "name": "soup",
        "base": str(place / "base"),
        "scenario": {"name": scenario},
        "held_out": {"name": scenario, "parameters": {"text": "Drink?"}},
        "score": {"prefer": {"soup": 1.0, "bread": 0.0}},
        "rounds": 3,
        "decisions": 24,
        "seeds": [1, 2],
        "rank": 4,
        "preference": {"learning_rate": 1.5e-3, "passes": 2, "batch": 4},
    }
    return CorrectionPlan(**settings | changes)  # type: ignore[arg-type]


def test_over_three_rounds_the_score_rises_and_that_of_the_control_does_not(place: Path, tmp_path: Path) -> None:
    mine = plan(place, seeds=list(range(1, size(1, 5) + 1)))
    correction = Correction(mine, tmp_path / "c")
    table = results_table(correction.run())
    assert table.height == len(mine.seeds) * 2 * 4
    rises = {arm: score_at(table, arm, 3) - score_at(table, arm, 0) for arm in mine.arms}
    assert rises["feedback"] > 0.2
    assert rises["feedback"] > rises["control"] + 0.2
    if len(mine.seeds) > 1:
        found = changes(mine, table, "score")
        assert found["feedback"].low > 0
        assert found["difference"].low > 0
        assert found["control"].low < 0.1
    assert table.filter(pl.col("round") == 0)["drift"].max() == 0
    assert table.filter(pl.col("round") == 3)["drift"].min() > 0
    lessons = table.filter(pl.col("round") < 3).pivot("arm", index=["seed", "round"], values="lessons")
    assert (lessons["feedback"] == lessons["control"]).all() or lessons["control"].min() > 0
    card = read_card(tmp_path / "c" / "seed-1" / "feedback" / "round-3" / "soup.gguf")
    assert (card.kind, card.base_name) == ("judge", "base")
    report = correction_report(mine, correction.results)
    assert "mean score of decisions, over rounds" in report.markdown
    assert "a rule: soup 1, bread 0" in report.html


def test_a_model_that_answers_nothing_after_training_is_a_result(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample, calls = correction_module.sample_decisions, []

    def sample_or_nothing(runs: Sequence[RunReader], count: int, generator: np.random.Generator) -> pl.DataFrame:
        calls.append(runs[0].name)
        decisions = sample(runs, count, generator)
        return decisions if len(calls) < 3 else decisions.head(0)

    monkeypatch.setattr(correction_module, "sample_decisions", sample_or_nothing)
    mine = plan(place, rounds=2, seeds=[1], control=False)
    results = Correction(mine, tmp_path / "c").run()
    assert [(each.score_count, each.lessons) for each in results] == [(24, 24), (0, 0), (0, 0)]
    assert np.isnan(results[2].score)
    report = correction_report(mine, results)
    assert "answered nothing that could be scored: feedback of seed 1, round 1, feedback of seed 1, round 2" in (
        report.markdown
    )


def test_a_base_that_answers_nothing_is_named_with_its_answers(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = correction_module.sample_decisions
    monkeypatch.setattr(
        correction_module,
        "sample_decisions",
        lambda runs, count, generator: sample(runs, count, generator).head(
            24 if "Drink" in str(runs[0].prompts()["user"][0]) else 0
        ),
    )
    with pytest.raises(TrainingError, match="answered nothing in .* that can be scored; its answers: 24 ok"):
        Correction(plan(place, seeds=[1], control=False), tmp_path / "c").run()


NO_OBJECTS = [b"{", b"[]", b"5", b"", b"\xff", b"[" * 5000, b'{"a": ' * 5000]


@pytest.mark.parametrize("content", NO_OBJECTS)
def test_a_plan_in_the_folder_that_cannot_be_read_is_named(place: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "plan.json").write_bytes(content)
    with pytest.raises(TrainingError, match="plan.json: it is"):
        Correction(plan(place), tmp_path)


RESULT = {
    "seed": 1,
    "arm": "control",
    "round": 0,
    "score": 0.5,
    "score_count": 2,
    "drift": 0,
    "mass": 1.0,
    "lessons": 3,
}


@pytest.mark.parametrize(
    "content", [*filter(None, NO_OBJECTS), b"{}", *(json.dumps({**RESULT, name: [1]}).encode() for name in RESULT)]
)
def test_a_result_that_cannot_be_read_is_named_with_its_line(place: Path, tmp_path: Path, content: bytes) -> None:
    correction = Correction(plan(place), tmp_path)
    good = json.dumps(RESULT).encode() + b"\n" + json.dumps({**RESULT, "score": float("nan")}).encode() + b"\n"
    (tmp_path / "results.jsonl").write_bytes(good)
    assert len(correction.results) == 2
    (tmp_path / "results.jsonl").write_bytes(good + content + b"\n")
    with pytest.raises(TrainingError, match=r"results.jsonl(, line 3)?: [a-z]"):
        correction.run()


def test_seeds_can_be_added_to_a_correction_and_nothing_else_changed(place: Path, tmp_path: Path) -> None:
    Correction(plan(place, seeds=[1]), tmp_path / "c")
    assert Correction(plan(place, seeds=[1, 2]), tmp_path / "c").plan.seeds == (1, 2)
    with pytest.raises(TrainingError, match="another plan"):
        Correction(plan(place, seeds=[1, 2], rounds=2), tmp_path / "c")


def score_at(table: pl.DataFrame, arm: str, number: int) -> float:
    """The mean score of an arm after a number of rounds."""
    mine = table.filter((pl.col("arm") == arm) & (pl.col("round") == number))
    return float(mine["score"].mean())  # type: ignore[arg-type]


def test_the_report_has_intervals_over_seeds(place: Path) -> None:
    mine = plan(place)
    results = [
        RoundResult(
            seed,
            arm,
            number,
            0.3 + (0.1 * number + 0.01 * seed if arm == "feedback" else 0.01 * seed),
            24,
            0.1,
            1.0,
            24,
        )
        for seed in mine.seeds
        for arm in mine.arms
        for number in range(4)
    ]
    found = changes(mine, results_table(results), "score")
    assert found["feedback"].value == pytest.approx(0.3)
    assert found["difference"].value == pytest.approx(0.3)
    report = correction_report(mine, results)
    assert "Change of the mean score of decisions over 3 rounds: feedback 0.3" in report.markdown
    assert "that people act so is not shown" in report.html


def test_changes_that_are_all_zero_are_no_shares_of_zero(place: Path) -> None:
    mine = plan(place, rounds=1)
    results = [
        RoundResult(seed, arm, number, 0.25, 24, 0.0, 1.0, 24)
        for seed in mine.seeds
        for arm in mine.arms
        for number in range(2)
    ]
    found = changes(mine, results_table(results), "score")
    assert {name: (each.value, str(each.low)) for name, each in found.items()} == {
        "feedback": (0, "nan"),
        "control": (0, "nan"),
        "difference": (0, "nan"),
    }
    assert "over 1 round: feedback 0 (no interval)" in correction_report(mine, results).markdown


def test_an_interrupted_correction_goes_on_and_ends_where_an_uninterrupted_one_ends(
    place: Path, tmp_path: Path
) -> None:
    mine = plan(place, seeds=[3], rounds=1, control=False)
    whole = Correction(mine, tmp_path / "whole").run()

    class StopError(Exception):
        pass

    def stop(result: object) -> None:
        raise StopError

    with pytest.raises(StopError):
        Correction(mine, tmp_path / "parts").run(stop)
    assert Correction(mine, tmp_path / "parts").run() == whole
    with pytest.raises(TrainingError, match="another plan"):
        Correction(plan(place, seeds=[4]), tmp_path / "parts")


def test_reinforcement_corrects_too(place: Path, tmp_path: Path) -> None:
    mine = plan(
        place,
        method="reinforcement",
        rounds=1,
        seeds=[1],
        control=False,
        reinforcement={"learning_rate": 1e-2, "steps": 3, "batch": 16, "group": 8},
    )
    results = Correction(mine, tmp_path / "c").run()
    assert [each.lessons for each in results] == [3, 0]
    assert results[1].drift > 0


def test_scores_of_all_options_become_targets_that_the_leash_allows(place: Path, tmp_path: Path) -> None:
    settings = {"learning_rate": 3e-2, "passes": 3, "batch": 8, "length": 256, "kl": 0.5}
    mine = plan(place, method="supervised", rounds=1, seeds=[1], runs=2, supervised=settings)
    correction = Correction(mine, tmp_path / "c")
    results = correction.run()
    table = results_table(results)
    rises = {arm: score_at(table, arm, 1) - score_at(table, arm, 0) for arm in mine.arms}
    assert rises["feedback"] > 0.15
    assert rises["feedback"] > rises["control"] + 0.1
    assert [each.lessons for each in results] == [24, 0, 24, 0]
    # Two simulations of meals a round and arm, where both arms share the first; and one of the held-out scenario.
    assert len(list(correction.workspace.names())) == 7
    row = {"words": ["soup", "bread"], "probabilities": [0.2, 0.8]}
    shares = correction.lessons.target_shares(pl.DataFrame([row]), "feedback", np.random.default_rng(1))
    gained = 0.2 * np.exp(1 / 0.5)
    assert shares[0].tolist() == pytest.approx([gained / (gained + 0.8), 0.8 / (gained + 0.8)])


def test_decisions_without_a_score_teach_nothing(place: Path, tmp_path: Path) -> None:
    mine = plan(place, method="supervised", score={"prefer": {"soup": 1.0, "bread": 0.0}})
    lessons = Correction(mine, tmp_path / "c").lessons
    table = pl.DataFrame(
        [
            {"words": ["soup", "cake"], "probabilities": [0.5, 0.5]},
            {"words": ["bread", "soup"], "probabilities": [1.0, 0.0]},
        ]
    )
    for arm in mine.arms:
        unknown, known = lessons.target_shares(table, arm, np.random.default_rng(1))
        assert np.isnan(unknown).all()
        assert known.sum() == pytest.approx(1)
        assert (known > 0).all()


def test_people_of_a_table_are_learned_and_shuffled_shares_are_not(place: Path, tmp_path: Path) -> None:
    folder = corpus(tmp_path / "people", {"": 0.1})
    score = {"human": {"decisions": str(folder), "licences": ["CC0-1.0"]}}
    settings = {"learning_rate": 3e-2, "passes": 3, "batch": 8, "length": 256}
    mine = plan(place, score=score, method="supervised", rounds=1, seeds=[1], supervised=settings)
    correction = Correction(mine, tmp_path / "c")
    table = results_table(correction.run())
    rises = {arm: score_at(table, arm, 1) - score_at(table, arm, 0) for arm in mine.arms}
    assert rises["feedback"] > 0.15
    assert rises["feedback"] > rises["control"] + 0.1
    cards = {arm: read_card(tmp_path / "c" / "seed-1" / arm / "round-1" / "soup.gguf") for arm in mine.arms}
    assert (cards["feedback"].kind, cards["control"].kind) == ("human", "judge")
    assert any("CC0-1.0" in licence for licence in cards["feedback"].licences)
    assert "overlap with people who were not learned from" in correction_report(mine, correction.results).markdown


def test_with_preferences_what_people_chose_is_better_than_what_the_model_chose(place: Path, tmp_path: Path) -> None:
    folder = corpus(tmp_path / "people", {"": 0.25})
    mine = plan(place, score={"human": {"decisions": str(folder), "licences": ["CC0-1.0"]}})
    correction = Correction(mine, tmp_path / "c")
    row = {"system": "P", "user": "Food?", "lead": "A:", "words": ["soup", "bread"], "replies": [" soup", " bread"]}
    table = pl.DataFrame([row | {"probabilities": [0.5, 0.5], "option": number % 2} for number in range(400)])
    better = correction.lessons.pairs(table, None, "feedback", np.random.default_rng(1)).table["better"]
    # People choose bread in a quarter: three soups for each bread, where the model chose the other one.
    assert (better == " soup").sum() == pytest.approx(150, abs=25)
    assert (better == " bread").sum() == pytest.approx(50, abs=20)
    coins = correction.lessons.pairs(table, None, "control", np.random.default_rng(1)).table["better"]
    assert (coins == " soup").mean() == pytest.approx(0.5, abs=0.1)


def test_a_question_that_nobody_answered_is_named(place: Path, tmp_path: Path) -> None:
    folder = corpus(tmp_path / "people", {"": 0.1}, question="Something else?")
    score = {"human": {"decisions": str(folder), "licences": ["CC0-1.0"]}}
    mine = plan(place, score=score, method="supervised", rounds=1, seeds=[1], decisions=4)
    with pytest.raises(TrainingError, match="Its question is 'Food\\?'.*'food' has these options"):
        Correction(mine, tmp_path / "c").run()


def test_people_are_waited_for(place: Path, tmp_path: Path) -> None:
    mine = plan(place, score={"people": True}, rounds=1, seeds=[1], control=False, decisions=4)
    with pytest.raises(TrainingError, match="is scored yet"):
        Correction(mine, tmp_path / "c").run()
    users = user_texts(tmp_path / "c" / "workspace")
    feedback = tmp_path / "c" / "workspace" / "feedback"
    feedback.mkdir()
    lines = [
        {
            "score": 5 if word == "soup" else 1,
            "value": word,
            "messages": [{"role": "system", "content": f"P{person}"}, {"role": "user", "content": user}],
        }
        for person in range(24)
        for word in ("soup", "bread")
        for user in users
    ]
    (feedback / "ann.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    results = Correction(mine, tmp_path / "c").run()
    assert results[0].score_count == 4
    assert results[0].lessons > 0


def user_texts(workspace: Path) -> list[str]:
    """What people were asked in the runs of a workspace."""
    texts = set()
    for name in Workspace(workspace).names():
        table = open_run(name, workspace=workspace).record.table(1, "prompts")
        assert table is not None
        texts |= set(table["user"].to_list())
    return sorted(texts)


def decisions() -> pl.DataFrame:
    row = {"system": "P1", "user": "Food?", "words": ["soup", "bread"], "option": 0}
    return pl.DataFrame([row | {"word": word} for word in ("soup", "bread", "rice")])


def test_a_rule_a_judge_and_a_function_score(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    rule = Scoring(prefer={"soup": 1.0, "bread": 0.25}).score(decisions(), workspace)
    assert rule[:2].tolist() == [1.0, 0.25]
    assert np.isnan(rule[2]), "an option that the rule does not name has no score"
    judge = Scoring(judge="scripted:first").score(decisions(), workspace)
    assert judge.tolist() == [0.0, 0.0, 0.0], "the lowest rating"
    (tmp_path / "own.py").write_text("def long(table):\n    return table['word'].str.len_chars().to_list()\n")
    own = Scoring(function=f"{tmp_path / 'own.py'}:long")
    assert own.score(decisions(), workspace).tolist() == [4.0, 5.0, 4.0]
    assert [code.act for code in own.code] == ["import"]
    with pytest.raises(TrainingError, match="could not be loaded"):
        Scoring(function=f"{tmp_path / 'own.py'}:none").score(decisions(), workspace)


def test_the_judge_of_the_recipe_rewards_what_a_trait_says() -> None:
    recipe = CorrectionPlan.read(Path(__file__).parents[2] / "recipes" / "correct-norms.yaml")
    traits = ("an extremely conformist", "a conformist", "a low conformist", "a non-conformist")
    fields = [(first, 9 - first, trait) for first in (7, 2) for trait in traits] + [(3, 3, "a conformist")]
    table = pl.DataFrame(
        {
            "word": ["blue"] * len(fields),
            "fields": [
                json.dumps({"first": "blue", "second": "green", "firsts": firsts, "seconds": seconds, "trait": trait})
                for firsts, seconds, trait in fields
            ],
        }
    )
    scores = recipe.score.score(table, Workspace())
    assert scores[:8].tolist() == [1, 1, 0, 0, 0, 0, 1, 1]
    assert np.isnan(scores[8])


def test_the_judge_of_habits_rewards_what_was_worn_yesterday() -> None:
    recipe = CorrectionPlan.read(Path(__file__).parents[2] / "recipes" / "correct-habit.yaml")
    table = pl.DataFrame({"word": ["blue", "green"], "fields": [json.dumps({"worn": "blue"})] * 2})
    assert recipe.score.score(table, Workspace()).tolist() == [1, 0]


def test_code_that_a_plan_names_is_not_run_without_trust(place: Path, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("raise SystemExit('it ran')\n")
    mine = plan(place, score={"function": f"{tmp_path / 'own.py'}:long"})
    (tmp_path / "plan.yaml").write_text(json.dumps(mine.model_dump(mode="json")))
    done = populace("correct", str(tmp_path / "plan.yaml"), "--to", str(tmp_path / "out"), "--workspace", str(tmp_path))
    assert done.returncode == 2
    assert "trust" in done.stderr
    assert "it ran" not in done.stdout + done.stderr


def test_the_command_writes_a_report(place: Path, tmp_path: Path) -> None:
    mine = plan(place, rounds=1, seeds=[1], control=False)
    (tmp_path / "plan.yaml").write_text(json.dumps(mine.model_dump(mode="json")))
    words = ("correct", str(tmp_path / "plan.yaml"), "--to", str(tmp_path / "out"), "--workspace", str(tmp_path))
    done = populace(*words, "--device", "cpu", "--trust", "--seeds", "1")
    assert done.returncode == 0, done.stderr
    assert "round 1" in done.stdout
    assert "on cpu: 1 seed, 1 arm, 1 round; interrupt it at any time" in " ".join(done.stdout.split())
    assert (tmp_path / "out" / "correction-soup.html").is_file()
    other = populace(*words, "--seeds", "9")
    assert other.returncode == 2 and "no seed of the plan named '9'" in " ".join(other.stderr.split())
    again = populace(*words, "--json")
    assert again.returncode == 0, "what was trusted is trusted from then on"
    assert "round" not in again.stderr


def test_files_that_a_plan_names_are_relative_to_it(place: Path, tmp_path: Path) -> None:
    changes = {"base": "b", "scenario": {"name": "meals.py:Meals"}, "score": {"function": "own.py:long"}}
    (tmp_path / "plan.yaml").write_text(json.dumps(plan(place).model_dump(mode="json") | changes))
    read = CorrectionPlan.read(tmp_path / "plan.yaml")
    assert read.base == str(tmp_path / "b")
    assert read.scenario.name == f"{tmp_path / 'meals.py'}:Meals"
    assert read.score.function == f"{tmp_path / 'own.py'}:long"
    assert read.held_out.name == f"{place / 'meals.py'}:Meals", "an absolute one stays"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": {}}, "give one of"),
        ({"score": {"prefer": {"soup": 1}, "people": True}}, "give one of"),
        ({"seeds": [1, 1]}, "stands there twice"),
        ({"rounds": 0}, "rounds"),
        ({"held_out": {"name": "x"}, "scenario": {"name": "x"}}, "is the one that is learned from"),
        ({"method": "reinforcement", "score": {"people": True}}, "cannot reward every reply"),
        ({"score": {"judge": "gpt-4"}}, "there is no model named"),
        ({"score": {"human": {"decisions": "x"}}}, "licences"),
        (
            {"score": {"human": {"decisions": "x", "licences": ["MIT"]}}, "method": "reinforcement"},
            "most common answer",
        ),
        ({"score": {"people": True}, "method": "supervised"}, "not all"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_a_plan_that_cannot_be_done_is_refused(
    place: Path, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    document = plan(place).model_dump(mode="json") | change
    (tmp_path / "plan.yaml").write_text(json.dumps(document))
    with pytest.raises(TrainingError, match=message):
        CorrectionPlan.read(tmp_path / "plan.yaml")
