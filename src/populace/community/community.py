"""The community of a forum run, read from its journal: posts with authors, votes and moderation."""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import JournalError, UsageError
from populace.base.formatting import plural
from populace.journal import ChangeParameters
from populace.models import ModelTraits, model_traits
from populace.people import People
from populace.runs.reader import RunReader
from populace.scenarios.forum.design import ForumDesign
from populace.scenarios.forum.moderation import ACTS
from populace.worlds.forum.board import HOT_SECONDS, POSTS
from populace.worlds.forum.board import Sorting as Sorting

Ints = npt.NDArray[np.int64]

SORTINGS: tuple[Sorting, ...] = ("new", "top", "hot")

VOTES = {"post": pl.Int64(), "person": pl.Int64(), "vote": pl.Int64()}


@dataclass(frozen=True)
class Thread:
    """One thread in reading order.

    Attributes:
        number: The number of its opening post.
        title: Its title.
        posts: Its posts, each followed by its replies, with `depth`.
    """

    number: int
    title: str
    posts: pl.DataFrame


class Community:
    """The community of a forum run.

    Args:
        run: The run.
        at: The step after which the community is read; the last one by default.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.forum import Forum
        >>> run = simulate(Forum(expand=False), model="scripted:uniform", seed=1, keep="nothing")
        >>> community = Community(run)
        >>> community.design.name, community.thread(1).posts["depth"][0]
        ('The Mending Bench', 0)
    """

    def __init__(self, run: RunReader, at: int | None = None) -> None:
        self.run = run
        self.at = at
        self._histories: dict[str, pl.DataFrame] = {}
        if not run.steps:
            raise JournalError(f"{run.name} has no committed step yet.")
        if not self._history("posts").width:
            raise UsageError(
                f"{run.name} has no posts, so it is not a community.", "Make one with `populace run forum`."
            )

    def __repr__(self) -> str:
        return f"<community {self.design.name!r}: {plural(self.posts.height, 'post')} in {self.run.name}>"

    def as_of(self, at: int | None) -> Community:
        """The same community after another step, without reading its tables again."""
        other = copy.copy(self)
        # Computed values belong to a step; the tables of the run do not.
        for name in ("design", "people", "votes", "moderation", "posts", "posts_in_reading_order"):
            other.__dict__.pop(name, None)
        other.at = at
        return other

    @property
    def writer(self) -> str:
        """What wrote the text: a language model, or a script in its place."""
        regimes = [regime for regime in self.run.manifest.regimes if regime.decider == "model"]
        scripted = [model_traits(regime.model, ModelTraits()).scripted for regime in regimes]
        return "a script" if scripted and all(scripted) else "a language model"

    @functools.cached_property
    def design(self) -> ForumDesign:
        """The design at that step."""
        manifest = self.run.manifest
        changes = [(regime.since, regime.parameters) for regime in manifest.regimes]
        # Runs of earlier versions name a file in the intervention, which may be another one by now.
        changes += [
            (each.at, each.parameters)
            for each in manifest.interventions
            if isinstance(each, ChangeParameters) and not isinstance(each.parameters.get("design"), str)
        ]
        last = self.run.steps[-1] if self.at is None and self.run.steps else self.at
        designs = [
            (since, parameters["design"])
            for since, parameters in changes
            if "design" in parameters and (last is None or since <= last)
        ]
        if designs:
            return ForumDesign.model_validate(max(designs, key=lambda each: each[0])[1])
        # A user's own scenario may write posts without a design.
        return ForumDesign.model_construct(name=self.run.name, goal="")

    @functools.cached_property
    def people(self) -> People:
        """Everybody, as they were after that step."""
        return self.run.people(self.at)

    @functools.cached_property
    def votes(self) -> pl.DataFrame:
        """Every vote: step, post, person, vote."""
        return self._table("votes", VOTES)

    @functools.cached_property
    def moderation(self) -> pl.DataFrame:
        """Every act of a moderator: step, post, moderator, power, rule, reason, about."""
        return self._table("moderation", ACTS)

    def acts_by_post(self) -> dict[int, list[dict[str, Any]]]:
        """The acts of moderators on each post, in the order of steps; posts without one are left out."""
        acts: dict[int, list[dict[str, Any]]] = {}
        for act in self.moderation.sort("step").iter_rows(named=True):
            acts.setdefault(act["post"], []).append(act)
        return acts

    @functools.cached_property
    def posts(self) -> pl.DataFrame:
        """Every post in the order of writing, with its author's `name`, its `score`, `status`, `depth` and `place`.

        The status is `visible`, `removed`, or `locked` for a post whose thread a moderator closed. `place` is its
        position in reading order, in which each post is followed by its replies.
        """
        posts = self._table("posts", POSTS).unique("post", keep="last", maintain_order=True).sort("post")
        scores = self.votes.group_by("post").agg(pl.col("vote").sum().alias("score"), pl.len().alias("voted"))
        people = self.people.frame
        name = pl.col("name") if "name" in people.columns else pl.col("id").cast(pl.String).alias("name")
        names = people.select(pl.col("id").alias("author"), name)
        acts = self.moderation
        removed = acts.filter(pl.col("power") == "remove")["post"].unique()
        closed = acts.filter(pl.col("power") == "lock")["post"].unique()
        locked = posts.filter(pl.col("post").is_in(closed.implode()))["thread"].unique()
        place, depth = reading_order(posts["post"].to_numpy(), posts["parent"].fill_null(0).to_numpy())
        return (
            posts.with_columns(depth=pl.Series(depth), place=pl.Series(place))
            .join(names, on="author", how="left", maintain_order="left")
            .join(scores, on="post", how="left", maintain_order="left")
            .with_columns(
                pl.col("name").fill_null(pl.col("author").cast(pl.String)),
                pl.col("score").fill_null(0),
                pl.col("voted").fill_null(0).cast(pl.Int64),
                status=pl.when(pl.col("post").is_in(removed.implode()))
                .then(pl.lit("removed"))
                .when(pl.col("post").is_in(locked.implode()))
                .then(pl.lit("locked"))
                .otherwise(pl.lit("visible")),
            )
        )

    @functools.cached_property
    def posts_in_reading_order(self) -> pl.DataFrame:
        """The posts with threads by number, and each post followed by its replies."""
        return self.posts.sort("thread", "place")

    def threads(self, sorting: Sorting | None = None) -> pl.DataFrame:
        """A row for each thread: title, author, posts, participants, score, last post and status.

        Args:
            sorting: `new` (newest first), `top` (highest score first) or `hot` (both); that of the design by default.
        """
        by_thread = self.posts.group_by("thread", maintain_order=True).agg(
            pl.col("title").drop_nulls().first(),
            pl.col("author").first(),
            pl.col("name").first(),
            pl.len().cast(pl.Int64).alias("posts"),
            pl.col("author").n_unique().cast(pl.Int64).alias("participants"),
            pl.col("score").first(),
            pl.col("time").first().alias("opened"),
            pl.col("time").max().alias("last"),
            pl.col("status").first(),
        )
        size = pl.col("score").abs().clip(1).log10() * pl.col("score").sign()
        keys = {"new": pl.col("opened"), "top": pl.col("score"), "hot": size + pl.col("opened") / HOT_SECONDS}
        sorting = sorting or self.design.sorting
        if sorting not in keys:
            raise UsageError(f"threads are sorted by {', '.join(SORTINGS)}, not by {sorting!r}.")
        return by_thread.sort(keys[sorting], pl.col("thread"), descending=[True, sorting == "new"])

    def thread(self, post: int) -> Thread:
        """The whole thread of a post.

        Args:
            post: The number of any post of the thread.
        """
        match = self.posts.filter(pl.col("post") == post)
        if not match.height:
            known = "nothing was written"
            if self.posts.height:
                known = f"they are numbered 1 to {int(self.posts['post'][-1])}"
            raise UsageError(
                f"{self.run.name} has no post {post}; {known}.",
                "`populace show RUN` lists the liveliest threads; a thread has the number of its first post.",
            )
        number = int(match["thread"][0])
        posts = self.posts.filter(pl.col("thread") == number).sort("place")
        return Thread(number, posts["title"][0] or "", posts)

    def _table(self, name: str, schema: dict[str, Any]) -> pl.DataFrame:
        """A table over all steps, with every column of the schema, also where nothing was recorded."""
        rows = self._history(name)
        missing = [pl.lit(None, dtype).alias(column) for column, dtype in schema.items() if column not in rows.columns]
        if not rows.width:
            return pl.DataFrame(schema={"step": pl.Int64(), **schema})
        return (rows if self.at is None else rows.filter(pl.col("step") <= self.at)).with_columns(missing)

    def _history(self, name: str) -> pl.DataFrame:
        if name not in self._histories:
            self._histories[name] = self.run.history(name)
        return self._histories[name]


def reading_order(post: Ints, parent: Ints) -> tuple[Ints, Ints]:
    """The position of every post when each is followed by its replies, and its depth.

    Threads come in the order of their first posts, and replies to one post in the order of their numbers.

    Args:
        post: The numbers of the posts, ascending.
        parent: The number of the post to which each replies; 0 or an unknown number where a post opens a thread.

    Returns:
        For each post its position and its depth, both from 0.

    Example:
        >>> place, depth = reading_order(np.array([1, 2, 3, 4]), np.array([0, 0, 1, 3]))
        >>> place.tolist(), depth.tolist()
        ([0, 3, 1, 2], [0, 0, 1, 2])
    """
    count = len(post)
    above = np.searchsorted(post, parent)
    above = np.where((above < count) & (post[np.minimum(above, count - 1)] == parent), above, -1) if count else above
    depth = np.zeros(count, np.int64)
    level, levels = np.flatnonzero(above < 0), []
    reached = np.zeros(count, bool)
    reached[level] = True
    while level.size:
        levels.append(level)
        # All posts of the next level are those whose parent has been reached.
        level = np.flatnonzero(~reached & (above >= 0) & reached[above])
        depth[level], reached[level] = len(levels), True
    size = np.ones(count, np.int64)
    for level in reversed(levels[1:]):
        np.add.at(size, above[level], size[level])
    place = np.zeros(count, np.int64)
    for number, level in enumerate(levels):
        ordered = level[np.argsort(above[level], kind="stable")] if number else level
        before = np.cumsum(size[ordered]) - size[ordered]
        if number:
            parents = above[ordered]
            first = np.searchsorted(parents, parents)
            place[ordered] = place[parents] + 1 + before - before[first]
        else:
            place[ordered] = before
    return place, depth
