"""A thread as lines for a terminal."""

import textwrap
from typing import Any

from rich.text import Text

from populace.base.foreign import for_terminal
from populace.base.formatting import plural
from populace.community.community import Community, Thread

_INDENT = 3
_DEEPEST = 8
"""Replies deeper than this are not indented further, so that lines keep room for words."""


def thread_lines(community: Community, thread: Thread, *, width: int = 88, focus: int | None = None) -> list[Text]:
    """The thread as lines: for each post its author, time, score and status, then its text and moderation.

    Args:
        community: The community of the thread.
        thread: The thread.
        width: The most characters on a line.
        focus: The number of a post to highlight.
    """
    removed = thread.posts["status"].to_list().count("removed")
    counts = f"{plural(thread.posts.height, 'post')}, {plural(thread.posts['author'].n_unique(), 'person', 'people')}"
    counts += f", {removed} removed" if removed else ""
    lines = [
        Text.assemble((for_terminal(thread.title) or f"Thread {thread.number}", "bold")),
        Text(
            f"{for_terminal(community.design.name)} · {counts} · text by {community.writer}, not by people", style="dim"
        ),
    ]
    acts = community.acts_by_post()
    for post in thread.posts.to_dicts():
        lines += [Text("")]
        lines += _post_lines(post, acts.get(post["post"], []), width, post["post"] == focus)
    return lines


def _post_lines(post: dict[str, Any], acts: list[dict[str, Any]], width: int, focused: bool) -> list[Text]:
    indent = " " * (_INDENT * min(post["depth"], _DEEPEST))
    head = Text(indent)
    head.append("▶ " if focused else "", style="bold yellow")
    head.append(f"#{post['post']} ", style="dim")
    head.append(for_terminal(post["name"]).replace("\n", " "), style="bold cyan")
    head.append(f"  {post['score']:+d}" if post["score"] else "  0", style="green" if post["score"] >= 0 else "red")
    head.append(f"  {age(post['time'])}", style="dim")
    head.append("  by hand" if post["origin"] == "hand" else "", style="magenta")
    head.append(
        f"  {post['status']}" if post["status"] != "visible" else "",
        style="bold red" if post["status"] == "removed" else "yellow",
    )
    lines = [head]
    style = "dim strike" if post["status"] == "removed" else ""
    room = max(24, width - len(indent) - 2)
    for paragraph in for_terminal(post["text"]).split("\n"):
        for line in textwrap.wrap(paragraph, room, break_long_words=True) or [""]:
            lines.append(Text(f"{indent}  ").append(line, style=style))
    for act in acts:
        rule = f" (rule {act['rule']})" if act["rule"] is not None else ""
        reason = f": {for_terminal(act['reason'])}" if act["reason"] else ""
        lines.append(Text(f"{indent}  ⚑ {act['power']}{rule}{reason}".replace("\n", " "), style="yellow"))
    return lines


def age(seconds: int | None) -> str:
    """The time since the start of the community, in a readable unit.

    Example:
        >>> age(59), age(7200), age(3 * 86400)
        ('0 min', '2 h', 'day 4')
    """
    if seconds is None:
        return ""
    if seconds < 3600:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h" if seconds < 86400 else f"day {seconds // 86400 + 1}"
