"""The discrimination test: which of two conversations of one community is real?

A rater who cannot tell them apart is wrong half of the time. Authors are shown as letters in both,
and which of the two comes first is drawn for each rater and pair. Every answer is appended to a
JSONL file at once, so a rater can stop and continue later.
"""

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import StorageError, UnknownNameError, UsageError
from populace.base.foreign import for_terminal
from populace.base.randomness import stream
from populace.community.community import Community
from populace.community.conversations import Conversation, community_names
from populace.community.files import read_json_lines

ARMS = ("full", "no_description", "no_personas", "neither", "crowd")
"""How a generated conversation was made: by the whole method, by an ablation of it, or by crowd workers."""

POSTS = 9
"""A rater is shown this many posts of a conversation at most: the opening and eight replies, as in the paper."""

_TEXT, _FLAG = pl.String(), pl.Boolean()
SCHEMA: dict[str, pl.DataType] = {
    "pair": _TEXT, "rater": _TEXT, "kind": _TEXT, "arm": _TEXT, "community": _TEXT, "real_first": _FLAG,
    "chosen": _TEXT, "wrong": _FLAG, "chance_wrong": pl.Float64(),
}  # fmt: skip
"""The columns of ratings; `chance_wrong` is the probability of the wrong answer that a model gave, where known."""


@dataclass(frozen=True)
class Pair:
    """A real and a generated conversation of the same community.

    Attributes:
        key: The id of the pair in the answers.
        arm: How the generated conversation was made; one of `ARMS`.
        goal: The purpose of the community, which raters are told.
        real: The real conversation.
        generated: The generated conversation.
        seed: The seed that decides which one is shown first.
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
        real, generated = conversation_text(self.real), conversation_text(self.generated)
        return (real, generated) if self.real_first(rater) else (generated, real)

    def rating(self, rater: str, kind: str, chosen: str | None, chance_first: float | None = None) -> dict[str, Any]:
        """The row for an answer; `chosen` is the conversation that the rater takes for real, `first` or `second`."""
        real_first = self.real_first(rater)
        wrong = None if chosen is None else (chosen == "first") != real_first
        chance = None if chance_first is None else (1 - chance_first if real_first else chance_first)
        row = (self.key, rater, kind, self.arm, self.real.community, real_first, chosen, wrong, chance)
        return dict(zip(SCHEMA, row, strict=True))


def arm_of(community: Community) -> str:
    """The arm of a run, from the parameters `describe` and `personas` of its scenario."""
    parameters = community.run.manifest.regimes[0].parameters
    describe, personas = parameters.get("describe", True), parameters.get("personas", True)
    if describe:
        return "full" if personas else "no_personas"
    return "no_description" if personas else "neither"


def make_pairs(
    real: Sequence[Conversation],
    generated: Mapping[str, Sequence[Conversation]],
    *,
    goals: Mapping[str, str] | None = None,
    seed: int = 0,
    most: int | None = None,
) -> list[Pair]:
    """Pair real conversations at random with generated ones of the same community, each used once in an arm.

    Args:
        real: The real conversations.
        generated: The generated ones, by arm.
        goals: The purpose of each community, by its name.
        seed: The seed of the pairing.
        most: The most pairs for each arm and community.
    """
    real_names = {_key(name): name for name in community_names(real)}
    goals_by_key = {_key(name): goal for name, goal in (goals or {}).items()}
    pairs = []
    for arm, conversations in generated.items():
        for community in community_names(conversations):
            key = _key(community)
            if key not in real_names:
                raise UnknownNameError(
                    "real community", community, list(real_names.values()), "Name the one that it models."
                )
            left = _shuffle([each for each in real if _key(each.community) == key], seed, "real")
            right = _shuffle([each for each in conversations if each.community == community], seed, f"made/{arm}")
            for one, other in itertools.islice(zip(left, right, strict=False), most):
                digest = hashlib.blake2b(f"{one.line()}\n{other.line()}".encode(), digest_size=6).hexdigest()
                pairs.append(Pair(f"{arm}/{key}/{digest}", arm, goals_by_key.get(key, ""), one, other, seed))
    return pairs


def conversation_text(conversation: Conversation, posts: int = POSTS) -> str:
    """A conversation as a rater reads it: authors as letters in order of appearance, replies indented.

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
    lines = [for_terminal(conversation.title)] if conversation.title else []
    for post in conversation.posts[:posts]:
        depths.append(0 if post.parent is None else depths[post.parent] + 1)
        letter = letters.setdefault(post.author, chr(ord("A") + len(letters) % 26))
        lines.append(f"{'  ' * depths[-1]}{letter}: {' '.join(for_terminal(post.text).split())}")
    return "\n".join(lines)


class Ratings:
    """The answers of raters, stored in a JSONL file.

    Args:
        path: The file; without one, the answers are held in memory only.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else None
        self._rows: list[dict[str, Any]] = []
        if self.path is not None and self.path.is_file():
            self._rows = [_parse_rating(entry, where) for where, entry in read_json_lines(self.path)]

    @property
    def table(self) -> pl.DataFrame:
        """All answers; the last one counts where a rater answered twice."""
        rows = pl.DataFrame(self._rows, schema=SCHEMA, orient="row")
        return rows.unique(["pair", "rater"], keep="last", maintain_order=True)

    def unrated(self, pairs: Sequence[Pair], rater: str) -> list[Pair]:
        """The pairs that a rater has not answered yet, in a random order that differs between raters."""
        rated_keys = {row["pair"] for row in self._rows if row["rater"] == rater}
        order = stream(pairs[0].seed if pairs else 0, f"discern/order/{rater}").permutation(len(pairs))
        return [pairs[index] for index in order.tolist() if pairs[index].key not in rated_keys]

    def pairs_of_rater(self, pairs: Sequence[Pair], rater: str) -> list[Pair]:
        """The pairs of the one arm that a rater rates, where raters are assigned between arms.

        A rater keeps the arm of earlier answers. A new one gets the arm with the fewest raters so far; a draw by the
        name of the rater decides between equals.

        Args:
            pairs: The pairs of all arms.
            rater: The name of the rater.
        """
        arms = list(dict.fromkeys(pair.arm for pair in pairs))
        raters: dict[str, set[str]] = {arm: set() for arm in arms}
        for row in self._rows:
            raters.setdefault(row["arm"], set()).add(row["rater"])
        arm = next((arm for arm in arms if rater in raters[arm]), None)
        if arm is None and arms:
            fewest = min(len(raters[arm]) for arm in arms)
            equals = [arm for arm in arms if len(raters[arm]) == fewest]
            arm = equals[int(stream(pairs[0].seed, f"discern/arm/{rater}").integers(len(equals)))]
        return [pair for pair in pairs if pair.arm == arm]

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add answers, and write them to the file at once."""
        if self.path is not None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            except OSError as error:
                raise StorageError(f"{self.path} cannot be written: {error.strerror or error}.") from error
        self._rows += rows


def _parse_rating(entry: dict[str, Any], where: str) -> dict[str, Any]:
    for name in ("pair", "rater", "arm", "community", "chosen", "wrong"):
        if name not in entry:
            raise UsageError(f"{where}: {name!r} is missing, so this is not an answer of a rater.")
    row = {name: entry.get(name) for name in SCHEMA}
    for name, kind in SCHEMA.items():
        types = str if kind == _TEXT else bool if kind == _FLAG else (int, float)
        if not isinstance(row[name], types) and (row[name] is not None or name in ("pair", "rater", "arm")):
            raise UsageError(f"{where}: {name!r} is {row[name]!r:.60}, which no answer of a rater holds.")
    chance = row["chance_wrong"]
    if chance is not None and (isinstance(chance, bool) or not 0 <= chance <= 1):
        raise UsageError(f"{where}: 'chance_wrong' is {chance!r:.60}, and a probability is from 0 to 1.")
    return row


def _key(community: str) -> str:
    """The name of a community in the form in which names are compared: lower case, without `r/`."""
    return community.strip().casefold().removeprefix("r/")


def _shuffle(conversations: list[Conversation], seed: int, path: str) -> list[Conversation]:
    order = stream(seed, f"discern/{path}").permutation(len(conversations))
    return [conversations[index] for index in order.tolist()]
