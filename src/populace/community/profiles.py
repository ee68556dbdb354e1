"""The people of a community on its page: a short profile of each person who wrote."""

from __future__ import annotations

import zlib
from typing import Any

import polars as pl

from populace.community.community import Community

_LINKS = 8
"""A profile links to this many posts at most."""


def person_key(author: int | str) -> str:
    """The id of a person's profile within the page. It contains nothing that a person chose.

    Example:
        >>> person_key(3), person_key('"><script>')
        ('person-3', 'person-xd4ac9384')
    """
    return f"person-{author}" if isinstance(author, int) else f"person-x{zlib.crc32(author.encode()):08x}"


def hue(name: int | str) -> int:
    """The colour of a person or a community, the same on every page, as an angle from 0 to 359."""
    return zlib.crc32(str(name).encode()) % 360


def profiles(community: Community) -> list[dict[str, Any]]:
    """For each person who wrote: author, name, count, score, removed, first posts, role, standing and persona."""
    writers = community.posts.group_by("author", maintain_order=True).agg(
        pl.col("name").first(),
        pl.len().alias("count"),
        pl.col("score").sum(),
        (pl.col("status") == "removed").sum().alias("removed"),
        pl.col("post").head(_LINKS).alias("posts"),
    )
    people = {row["id"]: row for row in community.people.frame.to_dicts()}
    columns = ("role", "standing", "persona")
    return [
        row | {column: people.get(row["author"], {}).get(column) for column in columns} for row in writers.to_dicts()
    ]
