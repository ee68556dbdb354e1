"""A digest of a community: the posts that its designer should look at first."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.community.community import Community
from populace.community.judgements import GENERAL, Judgements
from populace.models import Embedder, HashingEmbedder
from populace.models.embedders import unit_vectors

_BATCH = 4096


@dataclass(frozen=True)
class Digest:
    """The posts and rules of a community that stand out.

    Attributes:
        unusual: The posts farthest from the mean of all posts, the farthest first.
        by_rule: For each rule, how many posts break it according to judges, and on how many a moderator acted.
        uncovered: Posts that judges flag although they break no rule: behaviour that the rules do not cover.
        judges: The names of the judges; empty without judgements.
        embedder: The name of the embedder that measured the distance.
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
    """The digest of a community.

    Args:
        community: The community.
        judgements: The verdicts of judges, if there are any.
        embedder: Makes vectors of posts; by default it hashes words and letters.
        most: How many unusual posts to list.
    """
    # An embedder with an empty cache is false, so it must be compared with None.
    embedder = HashingEmbedder() if embedder is None else embedder
    posts = community.posts.select("post", "thread", "name", "text")
    distance = distances(posts["text"].to_list(), embedder)
    unusual = posts.with_columns(distance=pl.Series(distance)).sort("distance", "post", descending=[True, False])
    judgements = judgements or Judgements(None, community)
    verdicts = judgements.verdicts()
    return Digest(
        unusual.head(most),
        _by_rule(community, verdicts),
        _uncovered(posts, verdicts),
        tuple(judgements.judges),
        embedder.name,
    )


def distances(texts: list[str], embedder: Embedder) -> npt.NDArray[np.float64]:
    """The cosine distance of each text from the mean of all: 0 at the mean, 1 where the two have nothing in common."""
    if not texts:
        return np.zeros(0)
    vectors = np.concatenate(
        [embedder.embed(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
    ).astype(np.float64)
    centre = unit_vectors(vectors.mean(axis=0, keepdims=True))[0].astype(np.float64)
    result: npt.NDArray[np.float64] = 1.0 - vectors @ centre
    return result


def _by_rule(community: Community, verdicts: pl.DataFrame) -> pl.DataFrame:
    rules = pl.DataFrame(
        [(number, rule.text) for number, rule in enumerate(community.design.rules, 1)],
        schema={"rule": pl.Int64, "text": pl.String},
        orient="row",
    )
    moderated = community.moderation.group_by("rule").agg(moderated=pl.col("post").n_unique().cast(pl.Int64))
    table = rules.join(moderated, on="rule", how="left", maintain_order="left").with_columns(
        pl.col("moderated").fill_null(0)
    )
    if not verdicts.height:
        return table
    violations = verdicts.filter(pl.col("rule").is_not_null(), pl.col("value") == "yes")
    broken = violations.group_by("rule").agg(broken=pl.col("post").n_unique().cast(pl.Int64))
    return table.join(broken, on="rule", how="left", maintain_order="left").with_columns(pl.col("broken").fill_null(0))


def _uncovered(posts: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Posts that some judge flags for a general question, and no judge for a rule."""
    flagged = verdicts.drop_nulls("flag")
    violating = flagged.drop_nulls("rule")["post"].unique()
    names = [criterion.name for criterion in GENERAL]
    others = (
        flagged.filter(pl.col("question").is_in(names), ~pl.col("post").is_in(violating.implode()))
        .group_by("post", maintain_order=True)
        .agg(flags=pl.col("flag").unique(maintain_order=True).str.join(", "))
    )
    return posts.join(others, on="post", maintain_order="left")
