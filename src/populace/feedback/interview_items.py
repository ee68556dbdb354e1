"""Answers of a believability study as items of a blind queue, and the scores of raters as rankings."""

import hashlib

import polars as pl

from populace.base.errors import UsageError
from populace.base.randomness import stream
from populace.engine.workspace import Workspace
from populace.evaluation.believability import BelievabilityStudy
from populace.evaluation.believability.judging import RANKINGS
from populace.feedback.feedback import FeedbackStore
from populace.feedback.items import Item
from populace.questions import Text

_TASK = ["run", "resident", "question"]


def interview_items(study: BelievabilityStudy, most: int, seed: int) -> list[Item]:
    """Answers of randomly drawn residents and questions, each under all conditions.

    The prompt of an item says who the resident is and what was asked, and is the same under all conditions.

    Args:
        study: The study.
        most: The largest number of items.
        seed: The seed of the sample.
    """
    answers = study.answers.filter(pl.col("answer").is_not_null())
    lives = study.lives.select("run", "resident", "life")
    tasks = answers.select(_TASK).unique(maintain_order=True)
    order = stream(seed, f"feedback/believability/{study.plan.name}").permutation(tasks.height)
    sample = tasks[order.tolist()].head(max(1, most // len(study.plan.condition_names)))
    rows = sample.join(answers, on=_TASK, maintain_order="left_right").join(
        lives, on=["run", "resident"], how="left", maintain_order="left"
    )
    wordings = {question.id: question.text for question in study.questions}
    return [_item(study, row, wordings[row["question"]]) for row in rows.iter_rows(named=True)]


def _item(study: BelievabilityStudy, row: dict[str, str], wording: str) -> Item:
    return Item(
        key=_key(study.plan.name, row["run"], row["resident"], row["question"], row["condition"]),
        run=row["run"],
        experiment="",
        arm=row["condition"],
        step=0,
        path=f"believability/{row['question']}",
        person=row["resident"],
        kind="utterance",
        purpose="believability interview",
        model="",
        system=row["life"] or "",
        user=wording,
        lead="",
        reply=row["answer"],
        value=row["answer"],
        question=Text("?").describe() | {"text": wording},
    )


def _key(study: str, *place: str) -> str:
    return hashlib.blake2b("/".join(["believability", study, *place]).encode(), digest_size=8).hexdigest()


def rankings_of_raters(study: BelievabilityStudy, workspace: Workspace) -> pl.DataFrame:
    """The rankings that follow from the scores of raters: the higher the score, the better the rank; equal ones tie.

    A resident and question count for a rater who scored the answers of two conditions or more.

    Args:
        study: The study.
        workspace: The workspace with the feedback.
    """
    answers = study.answers.select(*_TASK, "area", "condition")
    keys = [_key(study.plan.name, *row) for row in answers.select(*_TASK, "condition").iter_rows()]
    known = answers.with_columns(item=pl.Series(keys))
    scores = FeedbackStore(workspace).table().filter(pl.col("verdict") == "scored").select("item", "rater", "score")
    task = ["rater", *_TASK]
    scored = scores.join(known, on="item", maintain_order="left").filter(pl.col("condition").count().over(task) > 1)
    if not scored.height:
        raise UsageError(
            f"no rater has scored answers of the study {study.plan.name} under two conditions.",
            f"Make a queue with: populace feedback {study.plan.name} --kind utterance",
        )
    return scored.select(
        (pl.lit("person ") + pl.col("rater")).alias("judge"),
        *("run", "resident", "area", "question", "condition"),
        position=pl.lit(None, pl.Int64),
        shown=pl.len().over(task).cast(pl.Int64),
        rank=(-pl.col("score")).rank("average").over(task),
    ).cast(RANKINGS)  # type: ignore[arg-type]
