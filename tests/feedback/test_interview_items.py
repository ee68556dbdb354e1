"""Answers of a believability study in the blind queue, and the scores of raters as rankings."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from populace import simulate
from populace.base.errors import UsageError
from populace.engine.workspace import Workspace
from populace.evaluation.believability import BelievabilityPlan, BelievabilityStudy
from populace.feedback import FeedbackStore, Queue
from populace.feedback.interview_items import rankings_of_raters
from populace.scenarios.norms import Norms


@pytest.fixture
def study(tmp_path: Path) -> BelievabilityStudy:
    simulate(Norms(workers=3, days=1), model="scripted:cast", workspace=tmp_path)
    place = Workspace(tmp_path)
    (tmp_path / "people.csv").write_text(
        "resident,question,answer\n" + "".join(f"{who},{q},By hand.\n" for who in range(3) for q in ("who", "news"))
    )
    plan = BelievabilityPlan(name="study", runs=place.names(), people=str(tmp_path / "people.csv"))
    made = BelievabilityStudy(plan, place)
    made.interview()
    return made


def test_a_queue_shows_answers_of_a_study_blind_and_scores_become_rankings(study: BelievabilityStudy) -> None:
    place = study.workspace
    with pytest.raises(UsageError, match="no rater has scored"):
        rankings_of_raters(study, place)
    queue = Queue.of(place, ["study"], "utterance", 400)
    queue.save(place)
    items = Queue.open(place, queue.name).draw(place).items
    by_hand = [item for item in items if item.value == "By hand."]
    assert len(by_hand) == 6
    for item in items:
        assert "full mind" not in item.system + item.user + item.display_text
    store = FeedbackStore(place)
    for item in items:
        store.score(item, "Ann", 5 if item in by_hand else 2, queue=queue.name)
    rankings = rankings_of_raters(study, place)
    assert rankings["judge"].unique().to_list() == ["person Ann"]
    study.add_judgements(rankings)
    people = study.result().valid.filter(pl.col("condition") == "people")
    assert people["rank"].to_list() == [1.0] * 6
    assert study.result().skills(resamples=20)["condition"][0] == "people"


def test_a_study_that_is_gone_is_counted_and_names_of_older_queues_stay(study: BelievabilityStudy) -> None:
    place = study.workspace
    queue = Queue.of(place, ["believability/study"], "utterance", 10)
    (study.folder / "study.json").unlink()
    assert queue.draw(place).missing == 1
    assert "study" not in Queue.of(place, place.names()).sources[0].data()
