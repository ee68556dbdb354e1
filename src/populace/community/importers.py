"""Common dumps of real communities, as conversations.

Dumps of Reddit (Pushshift and its successors) come as two JSONL files: submissions with `id`,
`subreddit`, `author`, `title` and `selftext`; comments with `id`, `link_id`, `parent_id`, `author`
and `body`. Anything else goes through a CSV with the columns community, thread, post, parent,
author, text and, for the post that opens a thread, title.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import UsageError
from populace.community.conversations import Conversation, ConversationPost, read_json_lines

_GONE = {"[deleted]", "[removed]", ""}
_COLUMNS = ("community", "thread", "post", "parent", "author", "text")


def from_reddit(submissions: str | Path, comments: str | Path, *, most: int | None = None) -> list[Conversation]:
    """Conversations from a dump of Reddit; deleted posts are left out, with all that answers them.

    Args:
        submissions: The JSONL file of submissions.
        comments: The JSONL file of comments.
        most: Keep at most so many comments of a thread, the earliest ones.
    """
    answers: dict[str, list[dict[str, Any]]] = {}
    for where, entry in read_json_lines(comments):
        for name in ("id", "link_id", "parent_id", "body"):
            _text(entry, name, where)
        answers.setdefault(_bare(entry["link_id"]), []).append(entry)
    found = []
    for where, entry in read_json_lines(submissions):
        key, title = _text(entry, "id", where), _text(entry, "title", where)
        body = str(entry.get("selftext") or "").strip()
        if title.strip() in _GONE or body in _GONE - {""}:
            continue
        first = ConversationPost(str(entry.get("author") or ""), body or title)
        ordered = sorted(answers.get(_bare(key), []), key=lambda each: (_when(each), each["id"]))
        replies = (
            (each["id"], _bare(each["parent_id"]), str(each.get("author") or ""), each["body"]) for each in ordered
        )
        posts = _threaded(_bare(key), first, replies, most)
        found.append(Conversation(f"r/{_text(entry, 'subreddit', where)}", title, posts, where))
    return found


def from_csv(path: str | Path) -> list[Conversation]:
    """Conversations from a CSV with a row for each post, in any order in which parents come first.

    Args:
        path: The file, with the columns community, thread, post, parent (empty for the first), author and text;
            and title, which only the first post of a thread needs.
    """
    try:
        rows = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    missing = [name for name in _COLUMNS if name not in rows.columns]
    if missing:
        raise UsageError(f"{path} lacks the column {missing[0]!r}.", f"It needs {', '.join(_COLUMNS)}, and title.")
    found = []
    for (community, thread), part in rows.group_by("community", "thread", maintain_order=True):
        posts = [{name: value or "" for name, value in row.items()} for row in part.to_dicts()]
        first = next((post for post in posts if not post["parent"]), None)
        if first is None:
            raise UsageError(f"{path}: thread {thread} has no post without a parent.", "One post opens a thread.")
        replies = ((p["post"], p["parent"] or first["post"], p["author"], p["text"]) for p in posts if p is not first)
        made = _threaded(first["post"], ConversationPost(first["author"], first["text"]), replies, None)
        found.append(Conversation(str(community), first.get("title", ""), made, f"{path}, thread {thread}"))
    return found


def _threaded(
    key: str, first: ConversationPost, replies: Iterable[tuple[str, str, str, str]], most: int | None
) -> tuple[ConversationPost, ...]:
    places, posts = {key: 0}, [first]
    for name, parent, author, text in replies:
        if text.strip() in _GONE or parent not in places:
            continue
        if most is not None and len(posts) > most:
            break
        places[name] = len(posts)
        posts.append(ConversationPost(author, text.strip(), places[parent]))
    return tuple(posts)


def _bare(name: str) -> str:
    """An id without the prefix that says of what kind it is: `t3_abc` is `abc`."""
    return name[3:] if len(name) > 3 and name[0] == "t" and name[2] == "_" else name


def _when(entry: dict[str, Any]) -> float:
    try:
        return float(entry.get("created_utc") or 0)
    except (TypeError, ValueError):
        return 0.0


def _text(entry: dict[str, Any], name: str, where: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str):
        raise UsageError(f"{where}: {name!r} is missing or no text.")
    return value
