"""Judges: models that read every post and answer questions about it. The run does not change.

All questions about all posts go to the model in one batch, and equal ones are asked once. What
was found is kept beside the run, with the model's fingerprint and the wording of every question.
A judge reads a post and nothing keeps the post from speaking to the judge: look at the check by
hand before a rate is believed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from populace.base.errors import DamagedRunError, UnknownNameError
from populace.broker import CallStore, MemoryCallStore
from populace.community.community import Community
from populace.community.criteria import Criterion, criteria
from populace.community.judgements import ANY_RULE, Judgements
from populace.community.model_caller import ModelCaller
from populace.engine.workspace import Workspace
from populace.journal import Journal
from populace.models import Model
from populace.questions import Choice
from populace.runs.reader import RunReader

PROFILE = "You judge posts of the online community “{community}”. Its purpose: {goal}"
GIVEN = "{context}The post to judge:\n“{text}”"
_CONTEXT = 300
"""So many characters of the post that was answered are shown to the judge."""


def judge_posts(
    community: Community,
    model: str | Model | ModelCaller = "embedded",
    *,
    questions: Sequence[str] | None = None,
    posts: Sequence[int] | None = None,
) -> Judgements:
    """Have a model judge the posts of a community, and keep what it found beside the run.

    Args:
        community: The community.
        model: Who judges, or how it is asked.
        questions: The names of the questions; all of them by default.
        posts: The numbers of the posts; all of them by default.

    Returns:
        What this judge found.
    """
    asking = model if isinstance(model, ModelCaller) else ModelCaller(model)
    rows = _rows(community, _chosen(criteria(community.design), questions), posts)
    store: CallStore = MemoryCallStore()
    record = community.run.record
    if isinstance(record, Journal):
        store = Workspace(record.folder.parent.parent).store()
    answers, fingerprint = asking.ask(
        rows,
        Choice("{wording}", options=("yes", "no")),
        profile=PROFILE,
        given=GIVEN,
        store=store,
        purpose="judging",
        constants={"community": community.design.name, "goal": community.design.goal},
    )
    chance = answers.distribution["yes"] if answers.probabilities is not None else pl.lit(None, pl.Float64)
    found = rows.select("post", "question", "rule", "wording").with_columns(
        chance.alias("yes"),
        judge=pl.lit(asking.spec),
        fingerprint=pl.lit(fingerprint),
        value=answers.values,
        status=answers.status.cast(pl.String),
    )
    made = Judgements(found, community)
    if isinstance(record, Journal):
        _keep(made, record.folder)
    return made


def read_judgements(community: Community) -> Judgements:
    """What all judges found so far, as kept beside the run."""
    record = community.run.record
    folder = record.folder / "judgements" if isinstance(record, Journal) else None
    files = sorted(folder.glob("*.parquet"), key=lambda f: (f.stat().st_mtime_ns, f.name)) if folder else []
    try:
        return Judgements(pl.concat([pl.read_parquet(file) for file in files]) if files else None, community)
    except pl.exceptions.PolarsError as error:
        raise DamagedRunError(
            f"judgements in {folder} cannot be read ({error}).", "Remove them, and judge again."
        ) from error


def violation_share(run: RunReader, posts: Sequence[int] | None = None) -> float | None:
    """The share of posts that break some rule, on average over the judges whose verdicts are kept; None without any.

    Args:
        run: A run of a forum.
        posts: The numbers of the posts; all of them by default.
    """
    said = read_judgements(Community(run)).by_post().filter(pl.col("question") == ANY_RULE)
    if posts is not None:
        said = said.filter(pl.col("post").is_in(list(posts)))
    rates = said.group_by("judge").agg(pl.col("said").mean())["said"]
    return float(rates.to_numpy().mean()) if rates.len() else None


def _chosen(known: tuple[Criterion, ...], asked: Sequence[str] | None) -> tuple[Criterion, ...]:
    by_name = {each.name: each for each in known}
    for name in asked or ():
        if name not in by_name:
            raise UnknownNameError("question for judges", name, by_name)
    return tuple(by_name[name] for name in asked) if asked is not None else known


def _rows(community: Community, chosen: tuple[Criterion, ...], posts: Sequence[int] | None) -> pl.DataFrame:
    """A row for each post and question, which is asked as if it were a person."""
    written = community.posts
    answered = written.select(pl.col("post").alias("parent"), pl.col("text").str.slice(0, _CONTEXT).alias("before"))
    titles = written.filter(pl.col("parent").is_null()).select("thread", pl.col("title").alias("about"))
    rows = (
        written.join(answered, on="parent", how="left", maintain_order="left")
        .join(titles, on="thread", how="left", maintain_order="left")
        .with_columns(
            context=pl.concat_str(
                pl.lit("Thread: “") + pl.col("about") + pl.lit("”\n"),
                pl.lit("It answers this post:\n“") + pl.col("before") + pl.lit("”\n"),
                ignore_nulls=True,
            ).fill_null("")
        )
    )
    if posts is not None:
        for post in posts:
            community.thread(post)
        rows = rows.filter(pl.col("post").is_in(list(posts)))
    questions = pl.DataFrame(
        [(each.name, each.rule, each.text) for each in chosen],
        schema={"question": pl.String, "rule": pl.Int64, "wording": pl.String},
        orient="row",
    )
    return rows.select("post", "context", "text").join(questions, how="cross").with_row_index("id")


def _keep(made: Judgements, folder: Path) -> None:
    table = made.table
    asked = [*table["wording"].unique(maintain_order=True), *table["post"].unique().cast(pl.String)]
    what = "|".join([table["fingerprint"][0], *asked])
    stem = re.sub(r"[^\w.-]+", "-", table["judge"][0]).strip("-.")[:60]
    target = folder / "judgements" / f"{stem}-{hashlib.blake2b(what.encode(), digest_size=3).hexdigest()}.parquet"
    target.parent.mkdir(exist_ok=True)
    table.write_parquet(target, compression="zstd")
