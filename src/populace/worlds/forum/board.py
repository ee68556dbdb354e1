"""What was written on a forum, as columns, and what of it a reader is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from populace.worlds.forum.chances import Numbers

Sorting = Literal["new", "top", "hot"]

POSTS = ("post", "thread", "parent", "author", "title", "text", "time", "trimmed", "origin")
"""The columns of a post as they are recorded."""

HOT_SECONDS = 45_000
"""Under `hot`, a thread that is so much newer stands level with one that has ten times its score."""


class Board:
    """Every post, in the order of writing.

    Args:
        ids: The type of the ids of people.

    Attributes:
        posts: A row for each post: the recorded columns, with the place of its thread in the plan, the name of its
            author, whether it was removed and its score.

    Example:
        >>> board = Board(pl.Int64())
        >>> one = {"slot": 0, "parent": None, "author": 3, "name": "Ann", "title": "Tea", "text": "Which?", "time": 5}
        >>> board.add(pl.DataFrame([one]))["post"].to_list()
        [1]
        >>> board.transcripts(np.array([0]), room=200)["transcript"].to_list()
        ['Ann: Tea\\nWhich?']
    """

    def __init__(self, ids: pl.DataType) -> None:
        whole, text = pl.Int64(), pl.String()
        self.schema: dict[str, pl.DataType] = {
            "post": whole, "thread": whole, "parent": whole, "author": ids, "title": text, "text": text,
            "time": whole, "trimmed": whole, "origin": text,
            "slot": whole, "name": text, "removed": pl.Boolean(), "score": whole,
        }  # fmt: skip
        self.posts = pl.DataFrame(schema=self.schema)

    def __len__(self) -> int:
        return self.posts.height

    def add(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Put new posts on the board, numbered in the order of their times; returns them as numbered.

        Args:
            rows: Slot, parent, author, name, title, text and time of each; trimmed and origin where there are any.
        """
        first = self.posts.height + 1
        defaults = {"trimmed": 0, "origin": "model"}
        rows = rows.with_columns(
            *(pl.lit(value).alias(name) for name, value in defaults.items() if name not in rows.columns),
            removed=pl.lit(False),
            score=pl.lit(0),
        )
        rows = rows.sort("time", "slot").with_columns(post=pl.int_range(first, first + pl.len(), dtype=pl.Int64))
        openers = pl.concat([self._openers(), rows.filter(pl.col("parent").is_null()).select("slot", thread="post")])
        rows = rows.join(openers, on="slot", how="left", maintain_order="left")
        rows = rows.select(pl.col(name).cast(dtype) for name, dtype in self.schema.items())
        self.posts = pl.concat([self.posts, rows])
        return rows

    def transcripts(self, slots: Numbers, room: int) -> pl.DataFrame:
        """What a writer is shown of threads: slot, transcript and trimmed, in the order of the slots given.

        The opening always stays, and of the rest the latest; what lies between is left out where it does not fit into
        so many characters, and the transcript says so. Removed posts are not shown.
        """
        size = (pl.col("line").str.len_chars() + 1).cast(pl.Int64)
        rows = (
            self._visible(slots)
            .with_columns(first=pl.col("parent").is_null())
            .with_columns(line=pl.concat_str([pl.col("name"), pl.lit(": "), _told()]))
            .with_columns(size=size)
            .with_columns(
                behind=pl.col("size").cum_sum(reverse=True).over("slot"),
                opening=pl.col("size").first().over("slot"),
                latest=pl.col("post") == pl.col("post").last().over("slot"),
            )
            .with_columns(kept=pl.col("first") | pl.col("latest") | (pl.col("behind") + pl.col("opening") <= room))
        )
        gone = (~pl.col("kept")).sum().cast(pl.Int64).over("slot")
        rows = rows.with_columns(trimmed=gone).filter("kept")
        gap = pl.concat_str([pl.col("line"), pl.lit("\n["), pl.col("trimmed"), pl.lit(" posts are left out here]")])
        line = pl.when(pl.col("first") & (pl.col("trimmed") > 0)).then(gap).otherwise(pl.col("line"))
        texts = rows.group_by("slot", maintain_order=True).agg(
            transcript=line.str.join("\n"), trimmed=pl.col("trimmed").first()
        )
        wanted = pl.DataFrame({"slot": slots}, schema={"slot": pl.Int64})
        return wanted.join(texts, on="slot", how="left", maintain_order="left")

    def reply_targets(self, slots: Numbers, people: pl.Series, aside: Numbers, luck: Sequence[float]) -> pl.DataFrame:
        """Which post each reply answers, never one's own: slot, parent, and the name of its author.

        Args:
            slots: The threads that take a reply.
            people: Who replies in each.
            aside: The threads whose reply answers an earlier post rather than the latest, where there is one.
            luck: For each thread a number in [0, 1) that chooses among earlier posts.
        """
        wanted = pl.DataFrame({"slot": slots, "who": people, "luck": luck}, schema_overrides={"slot": pl.Int64})
        rows = self._visible(slots).join(wanted, on="slot", how="left", maintain_order="left")
        rows = rows.filter(pl.col("author") != pl.col("who")).with_columns(
            place=pl.int_range(pl.len()).over("slot"), count=pl.len().over("slot").cast(pl.Int64)
        )
        latest = pl.col("count") - 1
        earlier = (pl.col("luck") * latest).floor().cast(pl.Int64)
        asides = pl.col("slot").is_in(pl.Series(aside).implode())
        found = rows.filter(pl.col("place") == pl.when(asides).then(earlier).otherwise(latest))
        found = found.select("slot", parent="post", to="name")
        return wanted.select("slot").join(found, on="slot", how="left", maintain_order="left")

    def front(self, sorting: Sorting, count: int, now: int) -> pl.DataFrame:
        """The first threads as a reader sees them: post, name, title and text of their openings."""
        openings = self.posts.filter(pl.col("parent").is_null(), ~pl.col("removed"))
        age = (now - pl.col("time")) / HOT_SECONDS
        score = pl.col("score").cast(pl.Float64)
        heat = score.sign() * score.abs().clip(1).log10() - age
        by = {"new": pl.lit(0.0), "top": score, "hot": heat}[sorting]
        order = openings.with_columns(rank=by).sort("rank", "post", descending=True)
        return order.head(count).select("post", "slot", "name", "title", "text")

    def remove(self, posts: Sequence[int]) -> None:
        """Posts that nobody is shown any more; their numbers stay."""
        gone = pl.col("post").is_in(list(posts))
        self.posts = self.posts.with_columns(removed=pl.col("removed") | gone)

    def vote(self, posts: pl.Series, votes: pl.Series) -> None:
        """Votes change the scores of posts."""
        cast = pl.DataFrame({"post": posts, "more": votes}).group_by("post").agg(pl.col("more").sum())
        joined = self.posts.join(cast, on="post", how="left", maintain_order="left")
        self.posts = joined.with_columns(score=pl.col("score") + pl.col("more").fill_null(0)).drop("more")

    def find(self, post: int) -> dict[str, Any] | None:
        """One post by its number, or None."""
        if not 1 <= post <= self.posts.height:
            return None
        return self.posts.row(post - 1, named=True)

    def _visible(self, slots: Numbers) -> pl.DataFrame:
        return self.posts.filter(pl.col("slot").is_in(pl.Series(slots).implode()), ~pl.col("removed")).sort(
            "slot", "post"
        )

    def _openers(self) -> pl.DataFrame:
        return self.posts.filter(pl.col("parent").is_null()).select("slot", "thread")


def _told() -> pl.Expr:
    """A post as a reader sees it: the title above the text, where there is one."""
    titled = pl.concat_str([pl.col("title"), pl.lit("\n"), pl.col("text")])
    return pl.when(pl.col("title").is_null()).then(pl.col("text")).otherwise(titled)


def gini(counts: Numbers) -> float | None:
    """How unequal counts are: 0 when all are the same, near 1 when one has them all; None where all are 0.

    Example:
        >>> gini(np.array([2, 2, 2])), gini(np.array([0, 0, 0, 8]))
        (0.0, 0.75)
    """
    ordered = np.sort(counts.astype(np.float64))
    if not ordered.sum():
        return None
    rank = np.arange(1, len(ordered) + 1)
    return float((2 * rank - len(ordered) - 1) @ ordered / (len(ordered) * ordered.sum()))
