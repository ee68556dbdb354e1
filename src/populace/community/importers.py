"""Import real communities as conversations, from Reddit dumps and from CSV files.

Dumps of Reddit (Pushshift and its successors) come as two JSONL files: submissions with `id`,
`subreddit`, `author`, `title` and `selftext`; comments with `id`, `link_id`, `parent_id`, `author`
and `body`. For other sources, write a CSV with the columns community, thread, post, parent,
author, text and, for the post that opens a thread, title.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from populace.base.errors import UsageError
from populace.community.conversations import Conversation, ConversationPost
from populace.community.files import read_csv, read_json_lines

_DELETED = {"[deleted]", "[removed]", ""}
_COLUMNS = ("community", "thread", "post", "parent", "author", "text")


def from_reddit(submissions: str | Path, comments: str | Path, *, most: int | None = None) -> list[Conversation]:
    """Conversations from a Reddit dump, without deleted posts and the replies to them.

    Args:
        submissions: The JSONL file of submissions.
        comments: The JSONL file of comments.
        most: The most comments of a thread, the earliest first; all by default.
    """
    comments_of: dict[str, list[dict[str, Any]]] = {}
    for where, entry in read_json_lines(comments):
        for name in ("id", "link_id", "parent_id", "body"):
            _text(entry, name, where)
        comments_of.setdefault(_without_prefix(entry["link_id"]), []).append(entry)
    conversations = []
    for where, entry in read_json_lines(submissions):
        key, title = _text(entry, "id", where), _text(entry, "title", where)
        body = str(entry.get("selftext") or "").strip()
        if title.strip() in _DELETED or body in _DELETED - {""}:
            continue
        opening = ConversationPost(str(entry.get("author") or ""), body or title)
        by_time = sorted(comments_of.get(_without_prefix(key), []), key=lambda each: (_time(each), each["id"]))
        replies = (
            (each["id"], _without_prefix(each["parent_id"]), str(each.get("author") or ""), each["body"])
            for each in by_time
        )
        posts = _posts(_without_prefix(key), opening, replies, most)
        conversations.append(Conversation(f"r/{_text(entry, 'subreddit', where)}", title, posts, where))
    return conversations


def from_csv(path: str | Path) -> list[Conversation]:
    """Conversations from a CSV with a row for each post, each after the post to which it replies.

    Args:
        path: The file, with the columns community, thread, post, parent (empty for the first), author and text;
            and title, which only the first post of a thread needs.
    """
    rows = read_csv(path)
    missing = [name for name in _COLUMNS if name not in rows.columns]
    if missing:
        raise UsageError(f"{path} lacks the column {missing[0]!r}.", f"It needs {', '.join(_COLUMNS)}, and title.")
    conversations = []
    for (community, thread), part in rows.group_by("community", "thread", maintain_order=True):
        posts = [{name: value or "" for name, value in row.items()} for row in part.to_dicts()]
        opening = next((post for post in posts if not post["parent"]), None)
        if opening is None:
            raise UsageError(f"{path}: thread {thread} has no post without a parent.", "One post opens a thread.")
        replies = (
            (post["post"], post["parent"] or opening["post"], post["author"], post["text"])
            for post in posts
            if post is not opening
        )
        thread_posts = _posts(opening["post"], ConversationPost(opening["author"], opening["text"]), replies, None)
        source = f"{path}, thread {thread}"
        conversations.append(Conversation(str(community), opening.get("title", ""), thread_posts, source))
    return conversations


def _posts(
    key: str, opening: ConversationPost, replies: Iterable[tuple[str, str, str, str]], most: int | None
) -> tuple[ConversationPost, ...]:
    """The opening and its replies (key, key of the parent, author, text), without deleted ones and replies to them."""
    indexes, posts = {key: 0}, [opening]
    for name, parent, author, text in replies:
        if text.strip() in _DELETED or parent not in indexes:
            continue
        if most is not None and len(posts) > most:
            break
        indexes[name] = len(posts)
        posts.append(ConversationPost(author, text.strip(), indexes[parent]))
    return tuple(posts)


def _without_prefix(name: str) -> str:
    """An id of Reddit without the prefix for its kind: `t3_abc` becomes `abc`."""
    return name[3:] if len(name) > 3 and name[0] == "t" and name[2] == "_" else name


def _time(entry: dict[str, Any]) -> float:
    try:
        return float(entry.get("created_utc") or 0)
    except (TypeError, ValueError):
        return 0.0


def _text(entry: dict[str, Any], name: str, where: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str):
        raise UsageError(f"{where}: {name!r} is missing or not text.")
    return value
