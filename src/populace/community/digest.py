"""A digest of surprises: what a designer should look at first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.community.community import Community
from populace.community.criteria import GENERAL
from populace.community.judgements import Judgements
from populace.models import Embedder, HashingEmbedder
from populace.models.embedders import unit_vectors

_TOGETHER = 4096


@dataclass(frozen=True)
class Digest:
    """What stands out in a community.

    Attributes:
        unusual: The posts farthest from the centre of the community, the farthest first.
        by_rule: For each rule, how many posts break it as judges say, and how many a moderator acted on.
        uncovered: Posts that judges flag although they break no rule: behaviour that the rules do not cover.
        judges: Who judged; nobody where no judgement was made.
        embedder: By which nearness was measured.
    """

    unusual: pl.DataFrame
    by_rule: pl.DataFrame
    uncovered: pl.DataFrame
    judges: tuple[str, ...]
    embedder: str


def digest(
    community: Community,
    judgements: Judgements | None = None,
    *,
    embedder: Embedder | None = None,
    most: int = 10,
) -> Digest:
    """Collect what stands out.

    Args:
        community: The community.
        judgements: What judges found, where they were asked.
        embedder: Makes vectors of posts; words and letters, hashed, by default.
        most: How many unusual posts to name.
    """
    embedder = embedder or HashingEmbedder()
    posts = community.posts.select("post", "thread", "name", "text")
    distance = distances(posts["text"].to_list(), embedder)
    unusual = posts.with_columns(distance=pl.Series(distance)).sort("distance", "post", descending=[True, False])
    found = judgements.verdicts() if judgements is not None else None
    return Digest(
        unusual.head(most),
        _by_rule(community, found),
        _uncovered(posts, found),
        tuple(judgements.judges) if judgements is not None else (),
        embedder.name,
    )


def distances(texts: list[str], embedder: Embedder) -> npt.NDArray[np.float64]:
    """How far each text lies from the centre of all: 0 for one at the centre, 1 for one that has nothing of it."""
    if not texts:
        return np.zeros(0)
    vectors = np.concatenate(
        [embedder.embed(texts[at : at + _TOGETHER]) for at in range(0, len(texts), _TOGETHER)]
    ).astype(np.float64)
    centre = unit_vectors(vectors.mean(axis=0, keepdims=True))[0].astype(np.float64)
    far: npt.NDArray[np.float64] = 1.0 - vectors @ centre
    return far


def _by_rule(community: Community, found: pl.DataFrame | None) -> pl.DataFrame:
    rules = pl.DataFrame(
        [(number, rule.text) for number, rule in enumerate(community.design.rules, 1)],
        schema={"rule": pl.Int64, "text": pl.String},
        orient="row",
    )
    acted = community.moderation.group_by("rule").agg(moderated=pl.col("post").n_unique().cast(pl.Int64))
    table = rules.join(acted, on="rule", how="left", maintain_order="left").with_columns(
        pl.col("moderated").fill_null(0)
    )
    if found is None or not found.height:
        return table
    by_judge = found.filter(pl.col("rule").is_not_null(), pl.col("value") == "yes")
    broken = by_judge.group_by("rule").agg(broken=pl.col("post").n_unique().cast(pl.Int64))
    return table.join(broken, on="rule", how="left", maintain_order="left").with_columns(pl.col("broken").fill_null(0))


def _uncovered(posts: pl.DataFrame, found: pl.DataFrame | None) -> pl.DataFrame:
    """Posts that at least one judge flags by a general question, and none by a rule."""
    if found is None or not found.height:
        return posts.clear().with_columns(pl.lit("").alias("flags"))
    flagged = found.filter(pl.col("flag").is_not_null())
    broken = flagged.filter(pl.col("rule").is_not_null())["post"].unique()
    names = [each.name for each in GENERAL]
    others = (
        flagged.filter(pl.col("question").is_in(names), ~pl.col("post").is_in(broken.implode()))
        .group_by("post", maintain_order=True)
        .agg(flags=pl.col("flag").unique(maintain_order=True).str.join(", "))
    )
    return posts.join(others, on="post", maintain_order="left")
