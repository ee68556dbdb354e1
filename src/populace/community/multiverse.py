"""What else could have happened: the same community again, or one utterance continued in other ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.community.judges import violation_share
from populace.community.tone import tone
from populace.community.topics import Topics
from populace.community.what_if import find_post, what_if
from populace.engine.run import Run
from populace.models import Embedder, HashingEmbedder
from populace.people import Id
from populace.runs.reader import RunReader
from populace.worlds.forum import gini

_WORD = r"[\p{L}']{3,}"


class Multiverse(Sequence[Run]):
    """Runs that could have been one another.

    Attributes:
        original: The run that they grew from.
        post: The utterance that was continued; None where the whole community was run again.
    """

    def __init__(self, original: Run, runs: Sequence[Run], post: int | None = None) -> None:
        self.original = original
        self.post = post
        self._runs = list(runs)

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> list[Run]: ...
    def __getitem__(self, place: int | slice) -> Run | list[Run]:
        return self._runs[place]

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def compare(
        self,
        *,
        embedder: Embedder | None = None,
        topics: int = 6,
    ) -> pl.DataFrame:
        """What differs, a row for each run and the original first.

        The columns are `utterances`, `people` (who wrote), `length` (mean characters), `inequality` (Gini of what
        those who wrote contributed), `vocabulary` (distinct words in a hundred), `tone` (friendly minus hostile words
        in a hundred, by a small list), `topics_apart` (how far the shares of topics lie from the original's, 0 to 1),
        `removed` (posts that moderators removed) and `violations` (the share that breaks some rule, where somebody has
        judged the run; see `populace.community.judges.judge`).

        Args:
            embedder: Makes the vectors by which utterances are put into topics; words are hashed by default.
            topics: How many topics there are.
        """
        told = [_text(self._part(run)) for run in self._all()]
        shares = Topics([text.to_list() for text in told], embedder or HashingEmbedder(), topics).shares
        rows = []
        for place, (run, text) in enumerate(zip(self._all(), told, strict=True)):
            part = self._part(run)
            wrote = part["author"].value_counts()["count"].to_numpy()
            words = text.str.to_lowercase().str.extract_all(_WORD).explode().drop_nulls()
            row: dict[str, Any] = {
                "run": run.name,
                "utterances": part.height,
                "people": len(wrote),
                "length": text.str.len_chars().mean(),
                "inequality": gini(wrote),
                "vocabulary": 100 * words.n_unique() / words.len() if words.len() else None,
                "tone": tone(text).mean(),
                "topics_apart": float(np.abs(shares[place] - shares[0]).sum() / 2) if part.height else None,
                "removed": _removed(run, part),
                "violations": violation_share(run, part["post"].to_list()),
            }
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"violations": pl.Float64})

    def topics(self, *, embedder: Embedder | None = None, topics: int = 6) -> pl.DataFrame:
        """The share of every topic in each run, with a typical utterance."""
        told = [_text(self._part(run)).to_list() for run in self._all()]
        found = Topics(told, embedder or HashingEmbedder(), topics)
        columns = {run.name: shares for run, shares in zip(self._all(), found.shares, strict=True)}
        return pl.DataFrame({"typical": found.typical, **columns})

    def _all(self) -> list[Run]:
        return [self.original, *self._runs]

    def _part(self, run: Run) -> pl.DataFrame:
        """What is compared: everything, or what was said in the thread after the utterance."""
        posts = run.history("posts")
        if self.post is None:
            return posts
        found = find_post(run, self.post)
        return posts.filter(pl.col("thread") == found["thread"], pl.col("post") > self.post)


def multiverse(
    run: Run,
    n: int,
    post: int | None = None,
    *,
    as_: str | None = None,
    person: Id | None = None,
    line: str | None = None,
    **options: Any,
) -> Multiverse:
    """The same community `n` times again with other draws, or one utterance continued in `n` ways.

    Without an utterance the people stay, and everything after the beginning is drawn anew: who writes, who answers
    whom, and what they say. With one, somebody answers it each time, and only its thread goes on differently. Either
    way these are forks, and share every call that they can.

    Args:
        run: A run of a forum.
        n: How many.
        post: The utterance to continue.
        as_: Who answers it each time, in words.
        person: Who answers it, by name or id.
        line: What is answered.
        **options: As for `Run.fork`: model, temperature, budget, concurrency, timeout_s, watch.
    """
    if n < 1:
        raise UsageError(f"{n} runs are none.", "Ask for at least one.")
    if post is None:
        if as_ is not None or person is not None or line is not None:
            raise UsageError("a responder needs an utterance to answer.", "Name one with post=….")
        seed = run.manifest.regime.seed
        return Multiverse(run, [run.fork(1, seed=seed + number, **options) for number in range(1, n + 1)])
    last = run.manifest.regime.parameters.get("whatif") or {}
    first = int(last.get("draw", 0)) + 1
    draws = range(first, first + n)
    return Multiverse(
        run, [what_if(run, post, as_=as_, person=person, line=line, draw=draw, **options) for draw in draws], post
    )


def _text(posts: pl.DataFrame) -> pl.Series:
    """What was written, the title with the text."""
    return posts.select(pl.concat_str([pl.col("title").fill_null(""), "text"], separator=" ").str.strip_chars())[
        "title"
    ]


def _removed(run: RunReader, part: pl.DataFrame) -> int:
    acts = run.history("moderation")
    if not acts.height:
        return 0
    return acts.filter(pl.col("power") == "remove", pl.col("post").is_in(part["post"].implode())).height
