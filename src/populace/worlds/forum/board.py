"""The posts of a forum as columns, and the parts of them that a reader is shown."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from populace.worlds.forum.threads import Numbers

Sorting = Literal["new", "top", "hot"]

_WHOLE, _TEXT = pl.Int64(), pl.String()
POSTS: dict[str, pl.DataType] = {
    "post": _WHOLE, "thread": _WHOLE, "parent": _WHOLE, "author": _WHOLE, "title": _TEXT, "text": _TEXT,
    "time": _WHOLE, "trimmed": _WHOLE, "origin": _TEXT,
}  # fmt: skip
"""The columns of a post in the journal; the author has the type of the ids of people."""

HOT_SECONDS = 45_000
"""In the order `hot`, a thread newer by this much ranks equal to one with ten times its score."""


class Board:
    """Every post, in the order of writing.

    Args:
        ids: The type of the ids of people.

    Attributes:
        posts: A row for each post: the columns of the journal, and `slot` (the position of its thread in the plan),
            `name` (of its author), `removed` and `score`.

    Example:
        >>> board = Board(pl.Int64())
        >>> one = {"slot": 0, "parent": None, "author": 3, "name": "Ann", "title": "Tea", "text": "Which?", "time": 5}
        >>> board.add(pl.DataFrame([one]))["post"].to_list()
        [1]
        >>> board.transcripts(np.array([0]), room=200)["transcript"].to_list()
        ['Ann: Tea\\nWhich?']
    """

    def __init__(self, ids: pl.DataType) -> None:
        own = {"slot": _WHOLE, "name": _TEXT, "removed": pl.Boolean(), "score": _WHOLE}
        self.schema: dict[str, pl.DataType] = POSTS | {"author": ids} | own
        self.posts = pl.DataFrame(schema=self.schema)

    def __len__(self) -> int:
        return self.posts.height

    def add(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add new posts, numbered in the order of their times; returns them with their numbers.

        Args:
            rows: Slot, parent, author, name, title, text and time of each; trimmed and origin are optional.
        """
        first = self.posts.height + 1
        defaults = {"trimmed": 0, "origin": "model"}
        rows = rows.with_columns(
            *(pl.lit(value).alias(name) for name, value in defaults.items() if name not in rows.columns),
            removed=pl.lit(False),
            score=pl.lit(0),
        )
        rows = rows.sort("time", "slot").with_columns(post=pl.int_range(first, first + pl.len(), dtype=pl.Int64))
        openers = self.posts.filter(pl.col("parent").is_null()).select("slot", "thread")
        openers = pl.concat([openers, rows.filter(pl.col("parent").is_null()).select("slot", thread="post")])
        rows = rows.join(openers, on="slot", how="left", maintain_order="left")
        rows = rows.select(pl.col(name).cast(dtype) for name, dtype in self.schema.items())
        self.posts = pl.concat([self.posts, rows])
        return rows

    def transcripts(self, slots: Numbers, room: int) -> pl.DataFrame:
        """The transcripts of threads for a writer: slot, transcript and trimmed, in the order of the slots.

        The opening and the latest post are always included. Earlier posts are left out where the transcript would be
        longer than `room` characters, and it says how many. Removed posts are not shown.
        """
        size = (pl.col("line").str.len_chars() + 1).cast(pl.Int64)
        rows = (
            self._visible(slots)
            .with_columns(first=pl.col("parent").is_null())
            .with_columns(line=pl.concat_str([pl.col("name"), pl.lit(": "), _titled_text()]))
            .with_columns(size=size)
            .with_columns(
                behind=pl.col("size").cum_sum(reverse=True).over("slot"),
                opening=pl.col("size").first().over("slot"),
                latest=pl.col("post") == pl.col("post").last().over("slot"),
            )
            .with_columns(fits=pl.col("first") | pl.col("latest") | (pl.col("behind") + pl.col("opening") <= room))
        )
        trimmed = (~pl.col("fits")).sum().cast(pl.Int64).over("slot")
        rows = rows.with_columns(trimmed=trimmed).filter("fits")
        gap = pl.concat_str([pl.col("line"), pl.lit("\n["), pl.col("trimmed"), pl.lit(" posts are left out here]")])
        line = pl.when(pl.col("first") & (pl.col("trimmed") > 0)).then(gap).otherwise(pl.col("line"))
        texts = rows.group_by("slot", maintain_order=True).agg(
            transcript=line.str.join("\n"), trimmed=pl.col("trimmed").first()
        )
        return pl.DataFrame({"slot": slots}, schema={"slot": pl.Int64}).join(
            texts, on="slot", how="left", maintain_order="left"
        )

    def reply_targets(self, slots: Numbers, people: pl.Series, aside: Numbers, luck: Sequence[float]) -> pl.DataFrame:
        """The post to which each reply goes, never one's own: slot, parent, and the name of its author as `to`.

        Args:
            slots: The threads that get a reply.
            people: Who replies in each.
            aside: The threads whose reply goes to an earlier post instead of the latest, where there is one.
            luck: For each thread a number in [0, 1) that chooses among earlier posts.
        """
        replies = pl.DataFrame({"slot": slots, "who": people, "luck": luck}, schema_overrides={"slot": pl.Int64})
        rows = self._visible(slots).join(replies, on="slot", how="left", maintain_order="left")
        rows = rows.filter(pl.col("author") != pl.col("who")).with_columns(
            place=pl.int_range(pl.len()).over("slot"), count=pl.len().over("slot").cast(pl.Int64)
        )
        latest = pl.col("count") - 1
        earlier = (pl.col("luck") * latest).floor().cast(pl.Int64)
        is_aside = pl.col("slot").is_in(pl.Series(aside).implode())
        targets = rows.filter(pl.col("place") == pl.when(is_aside).then(earlier).otherwise(latest))
        targets = targets.select("slot", parent="post", to="name")
        return replies.select("slot").join(targets, on="slot", how="left", maintain_order="left")

    def front(self, sorting: Sorting, count: int, now: int) -> pl.DataFrame:
        """The first threads of the front page: post, slot, name, title and text of their openings."""
        openings = self.posts.filter(pl.col("parent").is_null(), ~pl.col("removed"))
        age = (now - pl.col("time")) / HOT_SECONDS
        score = pl.col("score").cast(pl.Float64)
        heat = score.sign() * score.abs().clip(1).log10() - age
        rank = {"new": pl.lit(0.0), "top": score, "hot": heat}[sorting]
        ranked = openings.with_columns(rank=rank).sort("rank", "post", descending=True)
        return ranked.head(count).select("post", "slot", "name", "title", "text")

    def remove(self, posts: Sequence[int]) -> None:
        """Hide posts from all readers; their numbers stay."""
        self.posts = self.posts.with_columns(removed=pl.col("removed") | pl.col("post").is_in(list(posts)))

    def vote(self, posts: pl.Series, votes: pl.Series) -> None:
        """Add votes to the scores of posts."""
        sums = pl.DataFrame({"post": posts, "votes": votes}).group_by("post").agg(pl.col("votes").sum())
        table = self.posts.join(sums, on="post", how="left", maintain_order="left")
        self.posts = table.with_columns(score=pl.col("score") + pl.col("votes").fill_null(0)).drop("votes")

    def find(self, post: int) -> dict[str, Any] | None:
        """One post by its number, or None."""
        if not 1 <= post <= self.posts.height:
            return None
        return self.posts.row(post - 1, named=True)

    def _visible(self, slots: Numbers) -> pl.DataFrame:
        return self.posts.filter(pl.col("slot").is_in(pl.Series(slots).implode()), ~pl.col("removed")).sort(
            "slot", "post"
        )


def _titled_text() -> pl.Expr:
    titled = pl.concat_str([pl.col("title"), pl.lit("\n"), pl.col("text")])
    return pl.when(pl.col("title").is_null()).then(pl.col("text")).otherwise(titled)


def gini(counts: Numbers) -> float | None:
    """The Gini coefficient of counts: 0 when all are equal, near 1 when one has everything; None where all are 0.

    Example:
        >>> gini(np.array([2, 2, 2])), gini(np.array([0, 0, 0, 8]))
        (0.0, 0.75)
    """
    ordered = np.sort(counts.astype(np.float64))
    if not ordered.sum():
        return None
    rank = np.arange(1, len(ordered) + 1)
    return float((2 * rank - len(ordered) - 1) @ ordered / (len(ordered) * ordered.sum()))
