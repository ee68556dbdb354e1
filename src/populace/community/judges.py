"""Judges: models that read every post and answer questions about it. The run does not change.

All questions about all posts go to the model in one batch, and equal ones are asked once. The
judgements are saved beside the run, with the model's fingerprint and the wording of every question.
A post may contain instructions to the judge, and nothing prevents a model from following them: look
at the check by people before you believe a rate.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from populace.base.errors import DamagedRunError, UnknownNameError
from populace.base.table_files import UNREADABLE, read_plain_table, reading_problem
from populace.broker import CallStore, MemoryCallStore
from populace.community.community import Community
from populace.community.judgements import ANY_RULE, Criterion, Judgements, criteria
from populace.community.model_caller import ModelCaller
from populace.engine.workspace import Workspace
from populace.journal import Journal
from populace.journal.segments import writing
from populace.models import Model
from populace.questions import Choice
from populace.runs.reader import RunReader

PROFILE = "You judge posts of the online community “{community}”. Its purpose: {goal}"
GIVEN = "{context}The post to judge:\n“{text}”"
_CONTEXT = 300
"""How many characters of the post to which the judged one replies are shown to the judge."""


def judge_posts(
    community: Community,
    model: str | Model | ModelCaller = "embedded",
    *,
    questions: Sequence[str] | None = None,
    posts: Sequence[int] | None = None,
) -> Judgements:
    """Have a model judge the posts of a community, and save its judgements beside the run.

    Args:
        community: The community.
        model: The model that judges, its name, or a model with limits.
        questions: The names of the questions; all of them by default.
        posts: The numbers of the posts; all of them by default.

    Returns:
        The judgements of this model.
    """
    caller = model if isinstance(model, ModelCaller) else ModelCaller(model)
    rows = _rows(community, _selection(criteria(community.design), questions), posts)
    store: CallStore = MemoryCallStore()
    record = community.run.record
    if isinstance(record, Journal):
        store = Workspace.of(record).store()
    answers, fingerprint = caller.ask(
        rows,
        Choice("{wording}", options=("yes", "no")),
        profile=PROFILE,
        given=GIVEN,
        store=store,
        purpose="judging",
        constants={"community": community.design.name, "goal": community.design.goal},
    )
    probability = answers.distribution["yes"] if answers.probabilities is not None else pl.lit(None, pl.Float64)
    table = rows.select("post", "question", "rule", "wording").with_columns(
        probability.alias("yes"),
        judge=pl.lit(caller.spec),
        fingerprint=pl.lit(fingerprint),
        value=answers.values,
        status=answers.status.cast(pl.String),
    )
    judgements = Judgements(table, community)
    if isinstance(record, Journal):
        _save(judgements.table, record.folder)
    return judgements


def read_judgements(community: Community) -> Judgements:
    """The judgements of all judges so far, as saved beside the run."""
    record = community.run.record
    folder = record.folder / "judgements" if isinstance(record, Journal) else None
    files = sorted(folder.glob("*.parquet"), key=lambda f: (f.stat().st_mtime_ns, f.name)) if folder else []
    try:
        return Judgements(pl.concat([read_plain_table(file) for file in files]) if files else None, community)
    except UNREADABLE as error:
        raise DamagedRunError(
            f"the judgements in {folder} cannot be read ({reading_problem(error)}).", "Remove them, and judge again."
        ) from error


def violation_share(run: RunReader, posts: Sequence[int] | None = None) -> float | None:
    """The share of posts that break some rule, as the mean over judges; None where no judge has seen the posts.

    Args:
        run: A run of a forum.
        posts: The numbers of the posts; all of them by default.
    """
    answers = read_judgements(Community(run)).by_post().filter(pl.col("question") == ANY_RULE)
    if posts is not None:
        answers = answers.filter(pl.col("post").is_in(list(posts)))
    rates = answers.group_by("judge").agg(pl.col("is_yes").mean())["is_yes"]
    return float(rates.to_numpy().mean()) if rates.len() else None


def _selection(available: tuple[Criterion, ...], names: Sequence[str] | None) -> tuple[Criterion, ...]:
    by_name = {criterion.name: criterion for criterion in available}
    for name in names or ():
        if name not in by_name:
            raise UnknownNameError("question for judges", name, by_name)
    return available if names is None else tuple(by_name[name] for name in names)


def _rows(community: Community, questions: tuple[Criterion, ...], numbers: Sequence[int] | None) -> pl.DataFrame:
    """A row for each post and question; the model is asked about each as about one person."""
    posts = community.posts
    parents = posts.select(pl.col("post").alias("parent"), pl.col("text").str.slice(0, _CONTEXT).alias("before"))
    titles = posts.filter(pl.col("parent").is_null()).select("thread", pl.col("title").alias("about"))
    rows = (
        posts.join(parents, on="parent", how="left", maintain_order="left")
        .join(titles, on="thread", how="left", maintain_order="left")
        .with_columns(
            context=pl.concat_str(
                pl.lit("Thread: “") + pl.col("about") + pl.lit("”\n"),
                pl.lit("It answers this post:\n“") + pl.col("before") + pl.lit("”\n"),
                ignore_nulls=True,
            ).fill_null("")
        )
    )
    if numbers is not None:
        for number in numbers:
            community.thread(number)
        rows = rows.filter(pl.col("post").is_in(list(numbers)))
    wordings = pl.DataFrame(
        [(question.name, question.rule, question.text) for question in questions],
        schema={"question": pl.String, "rule": pl.Int64, "wording": pl.String},
        orient="row",
    )
    return rows.select("post", "context", "text").join(wordings, how="cross").with_row_index("id")


def _save(table: pl.DataFrame, folder: Path) -> None:
    content = [*table["wording"].unique(maintain_order=True), *table["post"].unique().cast(pl.String)]
    key = "|".join([table["fingerprint"][0], *content])
    stem = re.sub(r"[^\w.-]+", "-", table["judge"][0]).strip("-.")[:60]
    target = folder / "judgements" / f"{stem}-{hashlib.blake2b(key.encode(), digest_size=3).hexdigest()}.parquet"
    with writing(target):
        target.parent.mkdir(exist_ok=True)
        table.write_parquet(target, compression="zstd")
