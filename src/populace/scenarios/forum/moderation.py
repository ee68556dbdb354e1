"""What moderators do about new posts, and what comes of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from populace.people import People
from populace.scenarios.forum.design import ForumDesign
from populace.worlds.forum import Board, Threads

POWERS = ("nothing", "warn", "remove", "lock", "ban")
"""What a moderator may do about a post."""


@dataclass(frozen=True)
class ModeratorAct:
    """One thing that a moderator did."""

    post: int
    moderator: Any
    power: str
    rule: int | None
    reason: str
    about: Any


def schema(ids: pl.DataType) -> dict[str, pl.DataType]:
    """The columns of the table of what moderators did."""
    text, whole = pl.String(), pl.Int64()
    return {"post": whole, "moderator": ids, "power": text, "rule": whole, "reason": text, "about": ids}


def acts_by_trigger(design: ForumDesign, posts: pl.DataFrame, moderators: Sequence[Any]) -> list[ModeratorAct]:
    """What moderators who act by rule do: the first trigger whose words a post holds.

    Args:
        design: With the triggers.
        posts: The new posts.
        moderators: For each post, the id of the moderator who looks at it.
    """
    acts = []
    patterns = [re.compile(rf"\b(?:{'|'.join(map(re.escape, t.words))})\b", re.IGNORECASE) for t in design.triggers]
    texts = posts.select("post", "author", pl.concat_str([pl.col("title").fill_null(""), "text"], separator="\n"))
    for (post, author, text), moderator in zip(texts.iter_rows(), moderators, strict=True):
        for trigger, pattern in zip(design.triggers, patterns, strict=True):
            hit = pattern.search(text)
            if hit:
                acts.append(ModeratorAct(post, moderator, trigger.power, trigger.rule, f"says {hit.group()!r}", author))
                break
    return acts


def apply_acts(acts: Sequence[ModeratorAct], board: Board, threads: Threads, people: People) -> None:
    """The consequences: posts go, threads close, people are warned or may write no more."""
    if not acts:
        return
    board.remove([act.post for act in acts if act.power == "remove"])
    for act in acts:
        post = board.posts.row(act.post - 1, named=True)
        if act.power == "lock" or (act.power == "remove" and post["parent"] is None):
            threads.locked[post["slot"]] = True
    banned, warned = ([act.about for act in acts if act.power == power] for power in ("ban", "warn"))
    if banned or warned:
        who, was = pl.col("id"), pl.col("standing")
        people["standing"] = people.frame.select(
            pl.when(who.is_in(banned) | (was == "banned")).then(pl.lit("banned"))
            .when(who.is_in(warned)).then(pl.lit("warned")).otherwise(was).alias("standing")
        ).to_series()  # fmt: skip


def moderation_table(acts: Sequence[ModeratorAct], ids: pl.DataType) -> pl.DataFrame:
    """What moderators did, as it is recorded."""
    return pl.DataFrame([act.__dict__ for act in acts], schema=schema(ids))


def moderators_on_duty(people: People, luck: np.ndarray[Any, np.dtype[np.float64]]) -> list[Any]:
    """For each post the id of the moderator who looks at it; empty where there is none."""
    watching = people.frame.filter(pl.col("role") == "moderator", pl.col("standing") != "banned")["id"]
    return watching.gather((luck * watching.len()).astype(np.int64)).to_list() if watching.len() else []
