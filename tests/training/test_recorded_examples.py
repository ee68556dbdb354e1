"""Answers of another model and feedback of raters become training examples, in the words of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import populace as pc
from populace.base.errors import TrainingError
from populace.feedback import FeedbackStore, Queue
from populace.models import Request
from populace.scenarios.norms import Norms
from populace.training.decision_scoring import Scoring
from populace.training.plan import DataPart, TrainingPlan
from populace.training.planned_training import PlannedTraining
from populace.training.recorded_examples import RecordedDivision


def teach(request: Request) -> Mapping[str, float] | str:
    """A model that is to be copied."""
    if not request.top:
        return "Good morning."
    return {option: 0.8 if option.strip() == "blue" else 0.2 for option in request.options}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> pc.Workspace:
    place = pc.Workspace(tmp_path_factory.mktemp("recorded"))
    for seed in (1, 2):
        # Who is held out follows from the name of the run, which follows from the name of its model.
        model = pc.Scripted(teach, spec="scripted:teacher")
        pc.simulate(Norms(workers=60, days=1), model=model, seed=seed, workspace=place)
    return place


def read(**part: object) -> RecordedDivision:
    return RecordedDivision.read(DataPart(licence="MIT", **part), ("MIT",))  # type: ignore[arg-type]


def test_the_distribution_of_a_recorded_model_is_the_target_of_the_prompt_that_it_got(workspace: pc.Workspace) -> None:
    division = read(runs=workspace.folder / "runs")
    table = division.examples.table
    sent = pl.concat([pc.open_run(name, workspace).prompts().select("system", "user") for name in workspace.names()])
    assert set(table.select("system", "user").rows()) == set(sent.rows())
    first = table.row(0, named=True)
    assert (first["lead"], sorted(first["answers"])) == ("Answer:", [" blue", " green"])
    assert dict(zip(first["answers"], first["shares"], strict=True))[" blue"] == pytest.approx(0.8)
    assert table["origin"][0].startswith("answers of scripted:")
    one = read(runs=workspace.folder / "runs" / workspace.names()[0])
    assert 0 < len(one.examples) < len(division.examples)


def test_a_plan_learns_from_runs_and_says_that_a_model_was_learned(workspace: pc.Workspace, tiny_base: Path) -> None:
    path = workspace.folder / "plan.yaml"
    document = {
        "name": "copy",
        "base": str(tiny_base),
        "licences": ["MIT"],
        "data": [{"runs": "runs", "licence": "MIT"}],
    }
    path.write_text(json.dumps(document))
    training = PlannedTraining(TrainingPlan.read(path), workspace.folder / "out")
    manifest = training.manifest([], {})
    assert manifest["kind"] == "model"
    assert manifest["data"][0]["licence"] == "MIT" and manifest["data"][0]["examples"] > 0
    (source,) = training.sources()
    learned = {name for part in range(source.parts) for name in source.examples(part).table["person"]}
    looked_at = set(training.unseen().table["person"])
    assert learned and looked_at and not learned & looked_at


def judged(workspace: pc.Workspace) -> FeedbackStore:
    """A rater who rewrites the first answer, likes the second, dislikes the third and withdraws the fourth."""
    queue = Queue.of(workspace, workspace.names(), kind="decision", size=8)
    items = queue.draw(workspace, seed=1).items
    store = FeedbackStore(workspace)
    first = items[0]
    store.rewrite(first, "ada", next(each for each in first.options if each != first.reply))
    for item, score in zip(items[1:4], (5, 1, 5), strict=True):
        store.score(item, "ada", score)
    store.withdraw(items[3], "ada")
    return store


def test_rewritten_and_well_scored_answers_are_learned_and_withdrawn_ones_are_not(workspace: pc.Workspace) -> None:
    store = judged(workspace)
    table = read(feedback=store.folder).examples.table
    rows = store.table().sort("verdict")
    rewritten = rows.filter(pl.col("verdict") == "rewritten").row(0, named=True)
    assert table.height == 2
    assert f" {rewritten['rewrite']}" in table["answers"].list.first().to_list()
    assert set(table["weight"].to_list()) == {1.0}
    assert set(table["origin"].to_list()) == {"feedback of ada"}


def test_in_a_correction_a_rewriting_says_which_option_is_better(workspace: pc.Workspace) -> None:
    store = judged(workspace)
    row = store.table().filter(pl.col("verdict") == "rewritten").row(0, named=True)
    messages = {each["role"]: each["content"] for each in row["messages"]}
    prompt = {"system": messages["system"], "user": messages["user"], "words": ["blue", "green"]}
    table = pl.DataFrame([prompt | {"replies": [" blue", " green"], "word": word} for word in ("blue", "green")])
    scores = Scoring(people=True).score(table, workspace)
    assert dict(zip(("blue", "green"), scores, strict=True)) == {row["value"]: 0.0, row["rewrite"]: 1.0}
    withdrawn = Scoring(people=True).score(table.with_columns(user=pl.lit("Other?")), workspace)
    assert np.isnan(withdrawn).all()


def test_what_cannot_be_learned_from_is_refused(workspace: pc.Workspace, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="a licence that the plan does not name: 'private'"):
        RecordedDivision.read(DataPart(runs=workspace.folder, licence="private"), ("MIT",))
    with pytest.raises(TrainingError, match="there is no folder"):
        read(runs=tmp_path / "nothing")
    with pytest.raises(TrainingError, match="nothing to learn from"):
        read(runs=tmp_path)
    with pytest.raises(TrainingError, match="nothing to learn from"):
        read(feedback=tmp_path)
    (tmp_path / "ada.jsonl").write_text('{"messages": 3}\n')
    with pytest.raises(TrainingError, match=r"ada.jsonl, line 1: this is no feedback"):
        read(feedback=tmp_path)
    for part in ({"runs": "x"}, {"feedback": "x"}):
        with pytest.raises(ValueError, match="need their `licence`"):
            DataPart(**part)  # type: ignore[arg-type]
