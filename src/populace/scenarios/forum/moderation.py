"""The acts of moderators on new posts, and their consequences."""

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
_WHOLE, _TEXT = pl.Int64(), pl.String()
ACTS: dict[str, pl.DataType] = {
    "post": _WHOLE, "moderator": _WHOLE, "power": _TEXT, "rule": _WHOLE, "reason": _TEXT, "about": _WHOLE,
}  # fmt: skip
"""The columns of an act in the journal; moderator and about have the type of the ids of people."""


@dataclass(frozen=True)
class ModeratorAct:
    """One act of a moderator: on which post, by whom, by which rule and for which reason; `about` is its author."""

    post: int
    moderator: Any
    power: str
    rule: int | None
    reason: str
    about: Any


def acts_by_trigger(design: ForumDesign, posts: pl.DataFrame, moderators: Sequence[Any]) -> list[ModeratorAct]:
    """The acts of moderators who act by rule: for each post, that of the first trigger whose words it contains.

    Args:
        design: The design, which has the triggers.
        posts: The new posts.
        moderators: For each post, the id of the moderator who looks at it.
    """
    acts = []
    patterns = [re.compile(rf"\b(?:{'|'.join(map(re.escape, t.words))})\b", re.IGNORECASE) for t in design.triggers]
    texts = posts.select("post", "author", pl.concat_str([pl.col("title").fill_null(""), "text"], separator="\n"))
    for (post, author, text), moderator in zip(texts.iter_rows(), moderators, strict=True):
        for trigger, pattern in zip(design.triggers, patterns, strict=True):
            match = pattern.search(text)
            if match:
                acts.append(
                    ModeratorAct(post, moderator, trigger.power, trigger.rule, f"says {match.group()!r}", author)
                )
                break
    return acts


def apply_acts(acts: Sequence[ModeratorAct], board: Board, threads: Threads, people: People) -> None:
    """Apply the acts: remove posts, lock threads, warn and ban people. A removed opening locks its thread."""
    board.remove([act.post for act in acts if act.power == "remove"])
    for act in acts:
        post = board.posts.row(act.post - 1, named=True)
        if act.power == "lock" or (act.power == "remove" and post["parent"] is None):
            threads.locked[post["slot"]] = True
    banned, warned = ([act.about for act in acts if act.power == power] for power in ("ban", "warn"))
    if banned or warned:
        person, standing = pl.col("id"), pl.col("standing")
        people["standing"] = people.frame.select(
            pl.when(person.is_in(banned) | (standing == "banned")).then(pl.lit("banned"))
            .when(person.is_in(warned)).then(pl.lit("warned")).otherwise(standing).alias("standing")
        ).to_series()  # fmt: skip


def moderation_table(acts: Sequence[ModeratorAct], ids: pl.DataType) -> pl.DataFrame:
    """The acts as a table, as the journal records it."""
    return pl.DataFrame([act.__dict__ for act in acts], schema=ACTS | {"moderator": ids, "about": ids})


def moderators_on_duty(people: People, luck: np.ndarray[Any, np.dtype[np.float64]]) -> list[Any]:
    """For each post the id of the moderator who looks at it; an empty list without moderators."""
    moderators = people.frame.filter(pl.col("role") == "moderator", pl.col("standing") != "banned")["id"]
    return moderators.gather((luck * moderators.len()).astype(np.int64)).to_list() if moderators.len() else []
