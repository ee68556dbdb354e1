"""The believability protocol: interviews under ablations, judges, and what their rankings say."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace import Run, simulate
from populace.base.errors import ParameterError, UnknownNameError, UsageError
from populace.community.model_caller import ModelCaller
from populace.engine.scenario import Scenario
from populace.engine.workspace import Workspace
from populace.evaluation.believability import (
    STANDARD,
    Believability,
    BelievabilityPlan,
    BelievabilityStudy,
    Condition,
    believability_report,
    hold_interviews,
    interview_questions,
)
from populace.evaluation.believability.files import read_people_answers, write_answer_form, write_ranking_form
from populace.evaluation.believability.interview_questions import AREAS
from populace.evaluation.believability.judging import rank_by_model, ranking_tasks
from populace.minds import Memory, Mind
from populace.models import HashingEmbedder, Request, Scripted
from populace.people import People
from populace.scenarios.norms import Norms
from support.commands import populace

CONDITIONS = ["full mind", "no reflection", "neither reflection nor plans", "no memory", "people"]
MARKS = {"reflection": "You concluded", "plan": "You meant to", "deed": "You mended"}


class Village(Scenario):
    """People who did something, planned something and concluded something."""

    def setup(self) -> People:
        self.mind = Mind(profile="You are {name}.", memory=Memory(HashingEmbedder(64)))
        return People.named(4, seed=1)

    async def step(self) -> None:
        ids = self.people.ids.to_list()
        for kind, beginning in MARKS.items():
            texts = [f"{beginning} the roof of house {who}." for who in ids]
            self.mind.memory.store(ids, texts, kind=kind, now=self.seconds, importance=5.0)  # type: ignore[union-attr]

    def length(self) -> int:
        return 1


def prompt(request: Request) -> str:
    return "\n".join(text for _, text in request.messages)


def honest(request: Request) -> str:
    """A resident who says which kinds of memories come to mind."""
    seen = [kind for kind, beginning in MARKS.items() if beginning in prompt(request)]
    return f"I answer with {', '.join(seen) or 'nothing'}."


RESIDENT = Scripted(honest, spec="scripted:honest")


def quality(answer: str) -> int:
    return 9 if "by hand" in answer else sum(kind in answer for kind in MARKS)


def judge_of(choose: Callable[[list[str], str], int], name: str) -> Scripted:
    """A judge that gets the answers in the order shown, and chooses a place."""

    def reply(request: Request) -> str:
        lines = prompt(request).splitlines()
        shown = [line[3:] for line in lines if line[1:3] == ": " and line[0] in "ABCDE"]
        return "ABCDE"[choose(shown, prompt(request))]

    return Scripted(reply, spec=f"scripted:{name}")


def noisy(shown: list[str], text: str) -> int:
    rng = np.random.default_rng(sum(map(ord, text)))
    return int(np.argmax([quality(answer) + rng.normal(0, 0.7) for answer in shown]))


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate(Village(), model=RESIDENT, keep="nothing")


@pytest.fixture(scope="module")
def interviews(run: Run) -> tuple[pl.DataFrame, pl.DataFrame]:
    held = [hold_interviews(run, condition, interview_questions(), model=RESIDENT) for condition in STANDARD]
    return pl.concat([each.answers for each in held]), held[0].lives


def all_answers(interviews: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path) -> pl.DataFrame:
    """The four conditions, and answers that people wrote."""
    answers, lives = interviews
    form = pl.read_csv(write_answer_form(tmp_path / "form.csv", lives, interview_questions()), infer_schema=False)
    filled = tmp_path / "filled.csv"
    form.with_columns(answer=pl.lit("Written by hand about ") + pl.col("question")).write_csv(filled)
    people = read_people_answers(filled, lives, interview_questions())
    return pl.concat([answers, people], how="vertical_relaxed")


def ranked(answers: pl.DataFrame, lives: pl.DataFrame, *judges: Scripted) -> Believability:
    wordings = {question.id: question.text for question in interview_questions()}
    tables = [
        rank_by_model(ranking_tasks(answers, lives, wordings, judge.spec, 0), ModelCaller(judge)) for judge in judges
    ]
    return Believability(answers, pl.concat(tables), answers["condition"].unique(maintain_order=True).to_list())


def test_there_are_five_questions_in_each_of_five_areas() -> None:
    questions = interview_questions()
    assert len(questions) == 25
    assert [sum(question.area == area for question in questions) for area in AREAS] == [5] * 5
    assert len({question.text for question in questions}) == 25


def test_an_ablation_leaves_out_kinds_of_memories_and_nothing_else(
    interviews: tuple[pl.DataFrame, pl.DataFrame],
) -> None:
    answers, lives = interviews
    assert answers.height == 4 * 25 * 4
    seen = dict(answers.group_by("condition").agg(pl.col("answer").unique()).iter_rows())
    assert seen == {
        "full mind": ["I answer with reflection, plan, deed."],
        "no reflection": ["I answer with plan, deed."],
        "neither reflection nor plans": ["I answer with deed."],
        "no memory": ["I answer with nothing."],
    }
    life = lives["life"][0]
    assert MARKS["deed"] in life
    assert MARKS["reflection"] not in life, "a judge is told what happened, not what was concluded"


def test_interviews_do_not_depend_on_what_was_asked_before(run: Run) -> None:
    questions = interview_questions()
    after = hold_interviews(run, STANDARD[0], questions[3:5], model=RESIDENT).answers
    again = hold_interviews(run, STANDARD[0], questions[4:5], model=RESIDENT).answers
    assert after.filter(pl.col("question") == questions[4].id).equals(again)


def test_a_planted_order_of_five_conditions_is_recovered(
    interviews: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    answers = all_answers(interviews, tmp_path)
    result = ranked(answers, interviews[1], judge_of(noisy, "noisy"), judge_of(noisy, "noisy too"))
    planted = ["people", *CONDITIONS[:4]]
    assert result.skills(resamples=40)["condition"].to_list() == planted
    assert result.test().p < 1e-6
    neighbours = {frozenset(pair) for pair in itertools.pairwise(planted)}
    table = result.pairs().filter(pl.struct("a", "b").map_elements(
        lambda pair: frozenset(pair.values()) in neighbours, return_dtype=pl.Boolean
    ))  # fmt: skip
    assert table.height == 4
    assert (table["p_adjusted"] < 0.05).all()
    assert not any(bias.biased for bias in result.position_biases())
    agreed = result.agreement()
    assert agreed is not None
    assert agreed.alpha.value > 0.5
    assert 0.7 < (result.concordance() or 0) <= 1


def test_a_judge_with_a_position_bias_is_reported_as_such(
    interviews: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    def half_lazy(shown: list[str], text: str) -> int:
        return 0 if sum(map(ord, text)) % 2 else noisy(shown, text)

    answers = all_answers(interviews, tmp_path)
    result = ranked(answers, interviews[1], judge_of(half_lazy, "lazy"), judge_of(noisy, "fair"))
    lazy, fair = result.position_biases()
    assert (lazy.judge, lazy.biased) == ("scripted:lazy", True)
    assert lazy.shares[0] > 0.4 > lazy.expected[0]
    assert not fair.biased
    assert any("scripted:lazy has a position bias: position 1" in text for text in result.findings())


def test_equal_answers_are_shown_once_and_share_a_rank() -> None:
    lives = pl.DataFrame({"run": ["r"], "resident": ["1"], "name": ["Ann"], "life": ["Ann."]})
    rows = [("r", "1", "Ann", "memory", "news", condition, answer, "ok", 0)
            for condition, answer in (("a", "Yes."), ("b", " Yes. "), ("c", "No."), ("d", None))]  # fmt: skip
    names = ["run", "resident", "name", "area", "question", "condition", "answer", "status", "recalled"]
    answers = pl.DataFrame(rows, schema=names, orient="row")
    result = ranked(answers, lives, judge_of(lambda shown, _: shown.index("Yes."), "yes"))
    assert dict(result.rankings.select("condition", "rank").iter_rows()) == {"a": 1.5, "b": 1.5, "c": 3.0}
    assert result.invalid_answers().filter(pl.col("condition") == "d")["invalid"].to_list() == [1]


def test_a_judge_who_does_not_answer_is_counted_and_ranks_nothing(
    interviews: tuple[pl.DataFrame, pl.DataFrame],
) -> None:
    silent = Scripted(lambda _: "I would rather not say.", spec="scripted:silent")
    result = ranked(*interviews, silent)
    assert result.valid.height == 0
    assert result.failed_rankings().row(0) == ("scripted:silent", 100, 100)
    with pytest.raises(UsageError, match="nothing has been ranked"):
        result.skills()


@pytest.fixture
def village(tmp_path: Path) -> Workspace:
    simulate(Village(), model="scripted:cast", workspace=tmp_path)
    return Workspace(tmp_path)


def plan_of(village: Workspace, **changes: Any) -> BelievabilityPlan:
    return BelievabilityPlan(name="study", runs=village.names(), judges=["scripted:first"], **changes)


def test_a_study_is_estimated_held_judged_and_reported(village: Workspace, tmp_path: Path) -> None:
    study = BelievabilityStudy(plan_of(village), village)
    estimate = study.estimate()
    assert (estimate.residents, estimate.questions, estimate.interviews) == (4, 25, 4 * 25 * 4)
    assert estimate.judging == {"scripted:first": 4 * 25 * 3}
    assert estimate.cost == 0
    study.interview()
    study.judge()
    files = believability_report(study).write(tmp_path / "report")
    assert [file.suffix for file in files] == [".html", ".md", ".svg"]
    text = files[1].read_text()
    assert "scripted:first has a position bias" in text.replace("\\", "")
    assert "Dunn" in text
    assert BelievabilityStudy(plan_of(village), village).estimate().calls == 0


def test_a_study_that_was_stopped_repeats_no_condition_and_no_judge(
    village: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from populace.evaluation.believability import study as module

    held: list[str] = []
    hold = module.hold_interviews

    def stopping(run: Run, condition: Condition, *arguments: Any, **options: Any) -> Any:
        if len(held) == 2:
            raise KeyboardInterrupt
        held.append(condition.name)
        return hold(run, condition, *arguments, **options)

    monkeypatch.setattr(module, "hold_interviews", stopping)
    with pytest.raises(KeyboardInterrupt):
        BelievabilityStudy(plan_of(village), village).interview()
    again = BelievabilityStudy.open("study", village)
    assert again.estimate().interviews == 2 * 25 * 4
    with pytest.raises(UsageError, match="2 of 4 interviews are not held"):
        _ = again.answers
    monkeypatch.setattr(module, "hold_interviews", hold)
    again.interview()
    whole = BelievabilityStudy(plan_of(village).model_copy(update={"name": "whole"}), village)
    whole.interview()
    assert again.answers.equals(whole.answers)


def test_a_person_ranks_in_a_blind_form(village: Workspace, tmp_path: Path) -> None:
    study = BelievabilityStudy(plan_of(village), village)
    study.interview()
    form = write_ranking_form(tmp_path / "form.csv", study.tasks("person Ann"))
    rows = pl.read_csv(form, infer_schema=False)
    assert "condition" not in rows.columns
    assert not any(name in form.read_text() for name in ("full mind", "no reflection"))
    place = pl.col("letter").replace_strict({letter: str(n) for n, letter in enumerate("ABCDE", 1)})
    rows.with_columns(rank=place).write_csv(tmp_path / "filled.csv")
    study.add_rankings(tmp_path / "filled.csv", "Ann")
    (bias,) = study.result().position_biases()
    assert (bias.judge, bias.biased, bias.shares[0]) == ("person Ann", True, 1.0)
    rows.with_columns(rank=pl.lit("best")).write_csv(tmp_path / "wrong.csv")
    with pytest.raises(UsageError, match="row 2"):
        study.add_rankings(tmp_path / "wrong.csv", "Ann")
    with pytest.raises(UsageError, match="ranks nothing"):
        study.add_rankings(form, "Ann")


def test_a_name_that_is_taken_by_another_study_is_refused(village: Workspace) -> None:
    BelievabilityStudy(plan_of(village), village).interview()
    with pytest.raises(UsageError, match="another name"):
        BelievabilityStudy(plan_of(village, words=20), village)
    with pytest.raises(UnknownNameError, match="study"):
        BelievabilityStudy.open("studi", village)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"conditons": {}}, "conditions"),
        ({"conditions": {"full": {}, "odd": {"without": ["reflections"]}}}, "reflection"),
        ({"conditions": {"full": {}}}, "two conditions"),
        ({"conditions": [{"name": "a"}, {"name": "a"}]}, "'a'"),
        ({"conditions": {"people": {}, "full": {}}}, "people wrote"),
        ({"runs": []}, "runs"),
    ],
)
def test_a_wrong_plan_is_refused_with_what_is_wrong(data: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        BelievabilityPlan(**{"name": "study", "runs": ["one"]} | data)
    assert says in f"{caught.value.what} {caught.value.hint}"


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([("Nobody", "news", "Yes.")], "Nobody"),
        ([("0", "newz", "Yes.")], "news"),
        ([("0", "news", "Yes."), ("0", "news", "No.")], "row 3"),
    ],
)
def test_answers_of_people_about_nobody_or_nothing_are_refused(
    rows: list[tuple[str, str, str]], says: str, tmp_path: Path
) -> None:
    lives = pl.DataFrame({"run": ["r"], "resident": ["0"], "name": ["Ann"], "life": ["Ann."]})
    path = tmp_path / "people.csv"
    pl.DataFrame(rows, schema=["resident", "question", "answer"], orient="row").write_csv(path)
    with pytest.raises(UsageError) as caught:
        read_people_answers(path, lives, interview_questions())
    assert says in f"{caught.value.what} {caught.value.hint}"


def test_the_command_says_what_it_takes_and_ends_with_a_report(village: Workspace, tmp_path: Path) -> None:
    (tmp_path / "questions.toml").write_text('[memory]\nnews = "What is new?"\nday = "How was {your} day?"\n')
    simulate(Norms(workers=3, days=1), model="scripted:cast", workspace=tmp_path / "office")
    (name,) = Workspace(tmp_path / "office").names()
    common = ("--workspace", str(tmp_path / "office"), "--questions", str(tmp_path / "questions.toml"))
    dry = populace("believability", name, "--judge", "scripted:first", "--dry-run", "--json", *common)
    document = json.loads(dry.stdout)["data"]
    assert (document["residents"], document["questions"], document["calls"]) == (3, 2, 24 + 18)
    done = populace("believability", name, "--judge", "scripted:first", *common)
    assert done.returncode == 0, done.stderr
    assert "no cost" in done.stdout
    assert (tmp_path / "office" / "believability" / name / f"believability-{name}.html").is_file()
    assert populace("believability", "--workspace", str(tmp_path / "office")).returncode == 2


@pytest.mark.parametrize("settings", [3, 0.5, "reflection", ["reflection"]])
def test_a_condition_without_settings_is_refused_with_its_name(settings: object) -> None:
    with pytest.raises(ParameterError, match="the condition 'tired' needs settings such as"):
        BelievabilityPlan(name="town", runs=["a"], conditions={"full mind": {}, "tired": settings})
