"""What else could have happened: the same community again, or one post continued in other ways."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.community.judges import violation_share
from populace.community.tone import tone
from populace.community.topics import Topics
from populace.community.what_if import find_post, what_if
from populace.engine.replay import build_scenario
from populace.engine.run import Run, simulate
from populace.engine.workspace import Workspace, trusted_for
from populace.journal import Journal, RunSettings
from populace.models import Embedder, HashingEmbedder, model_code
from populace.people import Id
from populace.runs.reader import RunReader
from populace.worlds.forum import gini

_WORD = r"[\p{L}']{3,}"


class Multiverse(list[Run]):
    """A run and its alternatives, which differ in their random draws.

    Attributes:
        original: The run from which the alternatives were forked.
        post: The number of the post that was continued; None where the whole community was run again.
    """

    def __init__(self, original: Run, runs: Sequence[Run], post: int | None = None) -> None:
        super().__init__(runs)
        self.original = original
        self.post = post

    def compare(self, *, embedder: Embedder | None = None, topics: int = 6) -> pl.DataFrame:
        """Measures of every run, a row for each, the original first.

        The columns are `utterances` (posts), `people` (who wrote), `length` (mean characters), `inequality` (the Gini
        coefficient of posts per writer), `vocabulary` (distinct words per hundred), `tone` (friendly minus hostile
        words per hundred, by a small list), `topics_apart` (the distance of the shares of topics from the original's,
        0 to 1), `removed` (posts that moderators removed) and `violations` (the share of posts that break some rule,
        where the run was judged; see `populace.community.judges.judge_posts`).

        Args:
            embedder: Makes the vectors by which posts are grouped into topics; by default it hashes words.
            topics: The number of topics.
        """
        texts = [_texts(self._posts(run)) for run in self._all()]
        shares = Topics(
            [text.to_list() for text in texts], HashingEmbedder() if embedder is None else embedder, topics
        ).shares
        rows = []
        for index, (run, text) in enumerate(zip(self._all(), texts, strict=True)):
            posts = self._posts(run)
            by_writer = posts["author"].value_counts()["count"].to_numpy()
            words = text.str.to_lowercase().str.extract_all(_WORD).explode().drop_nulls()
            row: dict[str, Any] = {
                "run": run.name,
                "utterances": posts.height,
                "people": len(by_writer),
                "length": text.str.len_chars().mean(),
                "inequality": gini(by_writer),
                "vocabulary": 100 * words.n_unique() / words.len() if words.len() else None,
                "tone": tone(text).mean(),
                "topics_apart": float(np.abs(shares[index] - shares[0]).sum() / 2) if posts.height else None,
                "removed": _removed(run, posts),
                "violations": violation_share(run, posts["post"].to_list()),
            }
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"violations": pl.Float64})

    def topics(self, *, embedder: Embedder | None = None, topics: int = 6) -> pl.DataFrame:
        """The share of every topic in each run, with a typical post of the topic."""
        texts = [_texts(self._posts(run)).to_list() for run in self._all()]
        groups = Topics(texts, HashingEmbedder() if embedder is None else embedder, topics)
        columns = {run.name: shares for run, shares in zip(self._all(), groups.shares, strict=True)}
        return pl.DataFrame({"typical": groups.typical, **columns})

    def _all(self) -> list[Run]:
        return [self.original, *self]

    def _posts(self, run: Run) -> pl.DataFrame:
        """The posts that are compared: all, or those of the thread after the post that was continued."""
        posts = run.history("posts")
        if self.post is None:
            return posts
        thread = find_post(run, self.post)["thread"]
        return posts.filter(pl.col("thread") == thread, pl.col("post") > self.post)


def multiverse(
    run: Run,
    n: int,
    post: int | None = None,
    *,
    as_: str | None = None,
    person: Id | None = None,
    line: str | None = None,
    people: Literal["same", "new"] = "same",
    **options: Any,
) -> Multiverse:
    """Run the same community `n` more times with other draws, or continue one post in `n` ways.

    Without a post, everything after the start is drawn again: who writes, who replies to whom, and what they write.
    The people stay the same, or with `people="new"` they are drawn again too, from the same design: the spread then
    says what another set of people would have given. With a post, somebody replies to it each time, and only its
    thread continues differently. Runs with the same people are forks, which share every call that they can.

    Args:
        run: A run of a forum.
        n: The number of runs.
        post: The number of the post to continue.
        as_: The responder in words.
        person: The responder by name or id.
        line: The text of the reply.
        people: Whether the people stay the same or are drawn again.
        **options: As for `Run.fork`: model, temperature, budget, concurrency, timeout_s, observer.
    """
    if n < 1:
        raise UsageError(f"a multiverse of {n} runs is empty.", "Ask for at least one run.")
    if post is None:
        if as_ is not None or person is not None or line is not None:
            raise UsageError("a responder needs a post to reply to.", "Give its number with post=….")
        seeds = [run.manifest.regime.seed + number for number in range(1, n + 1)]
        if people == "new":
            return Multiverse(run, [_begin_again(run, seed, options) for seed in seeds])
        return Multiverse(run, [run.fork(1, seed=seed, **options) for seed in seeds])
    if people == "new":
        raise UsageError("a post can only be continued by the people who are there.", 'Leave people="new" out.')
    previous = run.manifest.regime.parameters.get("whatif") or {}
    first = int(previous.get("draw", 0)) + 1
    draws = range(first, first + n)
    return Multiverse(
        run, [what_if(run, post, as_=as_, person=person, line=line, draw=draw, **options) for draw in draws], post
    )


def _begin_again(run: Run, seed: int, options: dict[str, Any]) -> Run:
    """The same design from the very beginning with another seed, and so with other people."""
    manifest = run.manifest
    if len(manifest.regimes) > 1:
        raise UsageError(
            f"{run.name} is a fork, or was changed while it ran, and cannot be begun again with other people.",
            "Name the run that it was forked from.",
        )
    settings = {name: getattr(manifest.regimes[0], name) for name in RunSettings.model_fields}
    changes = {name: value for name, value in options.items() if value is not None}
    if "model" not in changes and settings["decider"] == "model":
        trusted_for(run.record).require(model_code(settings["model"]), run.name)
    settings |= changes | {"seed": seed}
    where: dict[str, Any] = {"keep": "nothing"}
    if isinstance(run.record, Journal):
        where = {"workspace": Workspace.of(run.record)}
    return simulate(build_scenario(run), interventions=manifest.interventions, **where, **settings)


def _texts(posts: pl.DataFrame) -> pl.Series:
    titled = pl.concat_str([pl.col("title").fill_null(""), "text"], separator=" ")
    return posts.select(titled.str.strip_chars()).to_series()


def _removed(run: RunReader, posts: pl.DataFrame) -> int:
    acts = run.history("moderation")
    if not acts.height:
        return 0
    return acts.filter(pl.col("power") == "remove", pl.col("post").is_in(posts["post"].implode())).height
