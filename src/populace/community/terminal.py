"""A thread as lines for a terminal."""

from __future__ import annotations

import textwrap
from typing import Any

from rich.text import Text

from populace.community.community import Community, Thread
from populace.community.display import safe_text

_INDENT = 3
_DEEPEST = 8
"""Deeper replies are not moved further to the right, so that a line keeps room for words."""


def thread_lines(community: Community, thread: Thread, *, width: int = 88, focus: int | None = None) -> list[Text]:
    """The thread as lines: who wrote, when, how it was voted and marked, and the text below.

    Args:
        community: The community it belongs to.
        thread: The thread.
        width: How wide a line may be.
        focus: A post to point out.
    """
    removed = thread.posts["status"].to_list().count("removed")
    told = f"{thread.posts.height} posts, {thread.posts['author'].n_unique()} people"
    told += f", {removed} removed" if removed else ""
    lines = [
        Text.assemble((safe_text(thread.title) or f"Thread {thread.number}", "bold")),
        Text(f"{safe_text(community.design.name)} · {told} · text by a model, not by people", style="dim"),
    ]
    acts = community.moderation.sort("step").to_dicts()
    reasons: dict[int, list[dict[str, Any]]] = {}
    for act in acts:
        reasons.setdefault(act["post"], []).append(act)
    for post in thread.posts.to_dicts():
        lines += [Text("")]
        lines += _post_lines(post, reasons.get(post["post"], []), width, post["post"] == focus)
    return lines


def _post_lines(post: dict[str, Any], acts: list[dict[str, Any]], width: int, focused: bool) -> list[Text]:
    gap = " " * (_INDENT * min(post["depth"], _DEEPEST))
    head = Text(gap)
    head.append("▶ " if focused else "", style="bold yellow")
    head.append(f"#{post['post']} ", style="dim")
    head.append(safe_text(post["name"]).replace("\n", " "), style="bold cyan")
    head.append(f"  {post['score']:+d}" if post["score"] else "  0", style="green" if post["score"] >= 0 else "red")
    head.append(f"  {age(post['time'])}", style="dim")
    head.append("  by hand" if post["origin"] == "hand" else "", style="magenta")
    head.append(
        f"  {post['status']}" if post["status"] != "visible" else "",
        style="bold red" if post["status"] == "removed" else "yellow",
    )
    lines = [head]
    style = "dim strike" if post["status"] == "removed" else ""
    room = max(24, width - len(gap) - 2)
    for paragraph in safe_text(post["text"]).split("\n"):
        for line in textwrap.wrap(paragraph, room, break_long_words=True) or [""]:
            lines.append(Text(f"{gap}  ").append(line, style=style))
    for act in acts:
        rule = f" (rule {act['rule']})" if act["rule"] is not None else ""
        reason = f": {safe_text(act['reason'])}" if act["reason"] else ""
        lines.append(Text(f"{gap}  ⚑ {act['power']}{rule}{reason}".replace("\n", " "), style="yellow"))
    return lines


def age(seconds: int | None) -> str:
    """How long after the start of the community, as a person says it.

    Example:
        >>> age(59), age(7200), age(3 * 86400)
        ('0 min', '2 h', 'day 4')
    """
    if seconds is None:
        return ""
    if seconds < 3600:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h" if seconds < 86400 else f"day {seconds // 86400 + 1}"
