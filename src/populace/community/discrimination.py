"""The discrimination test: which of two conversations of one community is real?

A rater who cannot tell is wrong half of the time. Authors are shown as letters in both, and the
side of the real one is drawn for each rater and pair. Answers are kept in a JSONL file as they are
given, so a session can stop and go on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import StorageError, UnknownNameError, UsageError
from populace.base.randomness import stream
from populace.community.community import Community
from populace.community.conversations import Conversation, community_names, read_json_lines
from populace.community.display import safe_text

ARMS = ("full", "no_description", "no_personas", "neither", "crowd")
"""How a generated conversation was made: the whole method, its ablations, or people paid to imitate."""

POSTS = 9
"""So many posts of a conversation are shown at most: one that opens it and eight replies, as in the paper."""

SCHEMA: dict[str, pl.DataType] = {
    "pair": pl.String(),
    "rater": pl.String(),
    "kind": pl.String(),
    "arm": pl.String(),
    "community": pl.String(),
    "real_first": pl.Boolean(),
    "chosen": pl.String(),
    "wrong": pl.Boolean(),
    "chance_wrong": pl.Float64(),
}
"""The columns of ratings; `chance_wrong` is what a model's own probabilities say."""


@dataclass(frozen=True)
class Pair:
    """A real and a generated conversation of the same community.

    Attributes:
        key: By which answers about it are known.
        arm: How the generated one was made.
        goal: What the community is for, as raters are told.
        real: The real one.
        generated: The generated one.
        seed: Of the sides on which they are shown.
    """

    key: str
    arm: str
    goal: str
    real: Conversation
    generated: Conversation
    seed: int = 0

    def real_first(self, rater: str) -> bool:
        """Whether this rater sees the real one first."""
        return bool(stream(self.seed, f"discern/side/{self.key}/{rater}").random() < 0.5)

    def texts(self, rater: str) -> tuple[str, str]:
        """The two conversations as this rater reads them."""
        both = (self.real, self.generated) if self.real_first(rater) else (self.generated, self.real)
        return conversation_text(both[0]), conversation_text(both[1])

    def rating(self, rater: str, kind: str, chosen: str | None, chance_first: float | None = None) -> dict[str, Any]:
        """The row for an answer: which of the two, `first` or `second`, was taken for real."""
        real_first = self.real_first(rater)
        wrong = None if chosen is None else (chosen == "first") != real_first
        chance = None if chance_first is None else (1 - chance_first if real_first else chance_first)
        found = (self.key, rater, kind, self.arm, self.real.community, real_first, chosen, wrong, chance)
        return dict(zip(SCHEMA, found, strict=True))


def arm_of(community: Community) -> str:
    """How the conversations of a run were made, by the parameters `describe` and `personas` of its scenario."""
    parameters = community.run.manifest.regimes[0].parameters
    described, known = parameters.get("describe", True), parameters.get("personas", True)
    if described and known:
        return "full"
    return "neither" if not described and not known else "no_personas" if described else "no_description"


def make_pairs(
    real: Sequence[Conversation],
    made: Mapping[str, Sequence[Conversation]],
    *,
    goals: Mapping[str, str] | None = None,
    seed: int = 0,
    most: int | None = None,
) -> list[Pair]:
    """Pair real conversations with generated ones of the same community, each used once in an arm.

    Args:
        real: The real conversations.
        made: The generated ones, by arm.
        goals: What each community is for, by its name.
        seed: Which are paired.
        most: At most so many pairs for each arm and community.
    """
    named = {_name(name): name for name in community_names(real)}
    told = {_name(name): goal for name, goal in (goals or {}).items()}
    found = []
    for arm, conversations in made.items():
        for community in community_names(conversations):
            if _name(community) not in named:
                raise UnknownNameError(
                    "real community", community, list(named.values()), "Name the one that it models."
                )
            truth = _shuffled([each for each in real if _name(each.community) == _name(community)], seed, "real")
            drawn = _shuffled([each for each in conversations if each.community == community], seed, f"made/{arm}")
            count = min(len(truth), len(drawn)) if most is None else min(len(truth), len(drawn), most)
            goal = told.get(_name(community), "")
            for number in range(count):
                one, other = truth[number], drawn[number]
                key = hashlib.blake2b(f"{one.line()}\n{other.line()}".encode(), digest_size=6).hexdigest()
                found.append(Pair(f"{arm}/{_name(community)}/{key}", arm, goal, one, other, seed))
    return found


def conversation_text(conversation: Conversation, posts: int = POSTS) -> str:
    """A conversation as a rater reads it: authors as letters in order of appearance, replies set in.

    Example:
        >>> from populace.community.conversations import ConversationPost
        >>> posts = (ConversationPost("x", "Clay?"), ConversationPost("y", "Glass.", 0))
        >>> print(conversation_text(Conversation("c", "Pots", posts)))
        Pots
        A: Clay?
          B: Glass.
    """
    letters: dict[str, str] = {}
    depths: list[int] = []
    lines = [safe_text(conversation.title)] if conversation.title else []
    for said in conversation.posts[:posts]:
        depths.append(0 if said.parent is None else depths[said.parent] + 1)
        letter = letters.setdefault(said.author, chr(ord("A") + len(letters) % 26))
        lines.append(f"{'  ' * depths[-1]}{letter}: {' '.join(safe_text(said.text).split())}")
    return "\n".join(lines)


class Ratings:
    """Answers of raters, kept in a JSONL file, one a line.

    Args:
        path: The file; without one, they are kept in memory only.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else None
        self._rows: list[dict[str, Any]] = []
        if self.path is not None and self.path.is_file():
            self._rows = [_rating(entry, where) for where, entry in read_json_lines(self.path)]

    @property
    def table(self) -> pl.DataFrame:
        """All answers, the last one where a rater answered twice."""
        rows = pl.DataFrame(self._rows, schema=SCHEMA, orient="row")
        return rows.unique(["pair", "rater"], keep="last", maintain_order=True)

    def left(self, among: Sequence[Pair], rater: str) -> Iterator[Pair]:
        """The pairs that a rater has not answered yet, in an order of the rater's own."""
        done = {row["pair"] for row in self._rows if row["rater"] == rater}
        order = stream(among[0].seed if among else 0, f"discern/order/{rater}").permutation(len(among))
        yield from (among[place] for place in order.tolist() if among[place].key not in done)

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Keep answers, on the disk before anything else."""
        if self.path is not None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            except OSError as error:
                raise StorageError(f"{self.path} cannot be written: {error.strerror or error}.") from error
        self._rows += rows


def _rating(entry: dict[str, Any], where: str) -> dict[str, Any]:
    for name in ("pair", "rater", "arm", "community", "chosen", "wrong"):
        if name not in entry:
            raise UsageError(f"{where}: {name!r} is missing, so this is no answer of a rater.")
    return {name: entry.get(name) for name in SCHEMA}


def _name(community: str) -> str:
    return community.strip().casefold().removeprefix("r/")


def _shuffled(conversations: list[Conversation], seed: int, path: str) -> list[Conversation]:
    order = stream(seed, f"discern/{path}").permutation(len(conversations))
    return [conversations[place] for place in order.tolist()]
