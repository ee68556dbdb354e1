"""Conversations of real communities, read from files.

The format is one thread on each line, as JSON:

    {"community": "r/tea", "title": "Which pot?", "posts": [
        {"author": "ann", "text": "Clay or glass?", "parent": null},
        {"author": "bo", "text": "Clay.", "parent": 0}]}

`parent` is the index of an earlier post in the list, from 0; null for the first. Other entries are
ignored.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from populace.base.errors import UsageError
from populace.community.community import Community
from populace.community.files import read_json_lines, write_new_file


@dataclass(frozen=True)
class ConversationPost:
    """One post of a conversation: its author, its text, and the index of the post to which it replies."""

    author: str
    text: str
    parent: int | None = None


@dataclass(frozen=True)
class Conversation:
    """A thread of a community, real or generated.

    Attributes:
        community: The name of the community.
        title: The title of the thread.
        posts: The posts, in the order of writing.
        source: Its origin: a file and line, or a run and thread.
    """

    community: str
    title: str
    posts: tuple[ConversationPost, ...]
    source: str = ""

    def line(self) -> str:
        """The conversation as a line of JSON."""
        posts = [asdict(post) for post in self.posts]
        return json.dumps({"community": self.community, "title": self.title, "posts": posts}, ensure_ascii=False)


def read_threads(path: str | Path) -> list[Conversation]:
    """Conversations from a JSONL file. An error names the line that is wrong."""
    return [parse_conversation(entry, where) for where, entry in read_json_lines(path)]


def write_threads(conversations: Iterable[Conversation], path: str | Path) -> Path:
    """Write conversations to a new file in the format that `read_threads` reads."""
    return write_new_file(path, "".join(f"{conversation.line()}\n" for conversation in conversations))


def conversations_of(community: Community) -> list[Conversation]:
    """The threads of a simulated community as conversations, without posts that moderators removed."""
    conversations = []
    visible = community.posts.filter(community.posts["status"] != "removed")
    for (thread,), part in visible.group_by("thread", maintain_order=True):
        rows = part.sort("post").to_dicts()
        if rows[0]["post"] != thread:
            continue
        indexes = {row["post"]: index for index, row in enumerate(rows)}
        posts = tuple(
            ConversationPost(row["name"], row["text"], indexes.get(row["parent"], 0 if index else None))
            for index, row in enumerate(rows)
        )
        source = f"{community.run.name}, thread {thread}"
        conversations.append(Conversation(community.design.name, rows[0]["title"] or "", posts, source))
    return conversations


def parse_conversation(entry: dict[str, Any], where: str) -> Conversation:
    """A conversation from its JSON; `where` is its place in error messages."""
    community, title, posts = entry.get("community"), entry.get("title") or "", entry.get("posts")
    if not isinstance(community, str) or not community.strip():
        raise UsageError(f"{where}: `community` is missing.", "It is the name of the community, as text.")
    if not isinstance(title, str):
        raise UsageError(f"{where}: `title` is not text.")
    if not isinstance(posts, list) or not posts:
        raise UsageError(f"{where}: `posts` is missing or empty.", "It is a list of author, text and parent.")
    return Conversation(
        community, title, tuple(_parse_post(post, index, where) for index, post in enumerate(posts)), where
    )


def _parse_post(post: Any, index: int, where: str) -> ConversationPost:
    here = f"{where}, post {index}"
    if not isinstance(post, dict) or not isinstance(post.get("text"), str):
        raise UsageError(f"{here}: `text` is missing.")
    author, parent = post.get("author"), post.get("parent")
    if not isinstance(author, str | int):
        raise UsageError(f"{here}: `author` is missing.")
    if parent is not None and (isinstance(parent, bool) or not isinstance(parent, int) or not 0 <= parent < index):
        raise UsageError(f"{here}: `parent` is {parent!r}; it is the index of an earlier post, from 0, or null.")
    return ConversationPost(str(author), post["text"], parent)


def community_names(conversations: Sequence[Conversation]) -> list[str]:
    """The names of the communities, in order of first appearance."""
    return list(dict.fromkeys(conversation.community for conversation in conversations))
