"""The people of a community on its page: one small card for each who wrote."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import polars as pl

from populace.community.community import Community
from populace.community.display import escaped

_SHOWN = 8


def person_key(author: int | str) -> str:
    """The name of a person's card within the page; it holds nothing that a person chose.

    Example:
        >>> person_key(3), person_key('"><script>')
        ('person-3', 'person-xd4ac9384')
    """
    return f"person-{author}" if isinstance(author, int) else f"person-x{zlib.crc32(author.encode()):08x}"


def hue(author: int | str) -> int:
    """The colour of a person, the same on every page."""
    return zlib.crc32(str(author).encode()) % 360


def profiles(community: Community) -> Iterator[str]:
    """A card for each person who wrote, as HTML that opens without a script."""
    posts = community.posts.group_by("author", maintain_order=True).agg(
        pl.col("name").first(),
        pl.len().alias("count"),
        pl.col("score").sum(),
        (pl.col("status") == "removed").sum().alias("removed"),
        pl.col("post").head(_SHOWN).alias("first"),
    )
    people = {row["id"]: row for row in community.people.frame.to_dicts()}
    for row in posts.to_dicts():
        yield _card(row, people.get(row["author"], {}))


def _card(row: dict[str, Any], person: dict[str, Any]) -> str:
    name = escaped(row["name"])
    tags = "".join(
        f'<span class="tag {kind}">{escaped(str(person[field]))}</span> '
        for field, usual, kind in (("role", "member", ""), ("standing", "ok", "warn"))
        if person.get(field) and person[field] != usual
    )
    persona = f'<p dir="auto">{escaped(str(person["persona"]))}</p>' if person.get("persona") else ""
    removed = f", {row['removed']} removed" if row["removed"] else ""
    links = " ".join(f'<a href="#post-{post}">#{post}</a>' for post in row["first"])
    more = " …" if row["count"] > _SHOWN else ""
    return (
        f'<div popover id="{person_key(row["author"])}"><span class="face" style="--hue:{hue(row["author"])}" '
        f'aria-hidden="true">{name[:1] if name[:1].isalnum() else "•"}</span>'
        f'<h3><bdi dir="auto">{name}</bdi></h3>{tags}{persona}'
        f'<p class="meta">{row["count"]} posts{removed}, {row["score"]:+d} votes in all. A simulated person.</p>'
        f'<p class="meta">{links}{more}</p></div>'
    )
