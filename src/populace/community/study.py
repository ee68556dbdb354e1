"""A study of the discrimination test, stored in the workspace so that several raters can take part.

A study is the folder `discern/NAME`. `study.json` says from what it was made, `pairs.jsonl` contains
the pairs themselves, so that the study survives its runs, and `answers.jsonl` contains all answers.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
from dataclasses import asdict, dataclass, replace
from typing import Any

from populace.base.documents import DocumentError, parse_json_object, read_text, refuse_outside_links
from populace.base.errors import StorageError, UnknownNameError, UsageError
from populace.base.randomness import stream
from populace.community.community import Community
from populace.community.conversations import (
    Conversation,
    community_names,
    conversations_of,
    parse_conversation,
    read_threads,
)
from populace.community.discrimination import Pair, Ratings, arm_of, make_pairs
from populace.community.files import read_json_lines
from populace.community.importers import from_csv, from_reddit
from populace.engine.workspace import Workspace
from populace.runs.reader import RunReader

_AGAIN = "Make the study again under another name."
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True)
class Material:
    """The sources of the pairs of a study.

    Attributes:
        runs: The names of the runs with the generated threads.
        real: The file of real threads: JSONL, a CSV, or the submissions of a Reddit dump.
        comments: The file of comments, where `real` is a Reddit dump.
        crowd: A file of threads that crowd workers wrote in imitation of the community.
        community: The name of the real community, where it differs from that of the runs.
        most: The most pairs for each arm and community.
        seed: The seed of the pairing.
        browse: How many real threads of each community are left out of the pairs, for raters to read first.
        between: Whether each rater rates the pairs of one arm only.
    """

    runs: tuple[str, ...]
    real: str
    comments: str | None = None
    crowd: str | None = None
    community: str | None = None
    most: int | None = None
    seed: int = 0
    browse: int = 0
    between: bool = False

    def make_pairs(self, workspace: Workspace) -> list[Pair]:
        """Make the pairs; it is an error if there are none.

        Args:
            workspace: The workspace of the runs.
        """
        generated: dict[str, list[Conversation]] = {}
        goals: dict[str, str] = {}
        for run in self.runs:
            community = Community(RunReader(workspace.open(run)))
            name = self.community or community.design.name
            goals[name] = community.design.goal
            threads = [replace(thread, community=name) for thread in conversations_of(community)]
            generated.setdefault(arm_of(community), []).extend(threads)
        if self.crowd:
            generated["crowd"] = read_threads(self.crowd)
        pairs = make_pairs(self._split_real()[1], generated, goals=goals, seed=self.seed, most=self.most)
        if not pairs:
            raise UsageError("there is no pair of a real and a generated thread.")
        return pairs

    def browsing(self) -> list[Conversation]:
        """The real threads that raters read before they rate; none of them is in a pair."""
        return self._split_real()[0]

    def _split_real(self) -> tuple[list[Conversation], list[Conversation]]:
        """The real threads to read first, and those for pairs."""
        real = self._real()
        first: list[Conversation] = []
        for name in community_names(real) if self.browse else ():
            threads = [each for each in real if each.community == name]
            if len(threads) <= self.browse:
                raise UsageError(
                    f"{name} has {len(threads)} real threads, so none would be left after {self.browse} to read first.",
                    "Let raters read fewer.",
                )
            order = stream(self.seed, f"discern/browse/{name}").permutation(len(threads))
            first += [threads[place] for place in order[: self.browse].tolist()]
        return first, [each for each in real if each not in first]

    def _real(self) -> list[Conversation]:
        if self.comments:
            return from_reddit(self.real, self.comments)
        return from_csv(self.real) if self.real.lower().endswith(".csv") else read_threads(self.real)


class Study:
    """A study of the workspace; `Study.make` makes a new one.

    Args:
        workspace: The workspace.
        name: The name of the study.
    """

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.name = name
        self.folder = workspace.folder / "discern" / _valid_name(name)
        if not (self.folder / "study.json").is_file():
            raise UnknownNameError(
                "study", name, study_names(workspace), "Make one with `populace discern RUN --real FILE --study NAME`."
            )
        refuse_outside_links(self.folder)

    @classmethod
    def make(cls, workspace: Workspace, name: str, material: Material) -> Study:
        """Make the pairs, and store them as a new study."""
        folder = workspace.folder / "discern" / _valid_name(name)
        if folder.exists():
            raise UsageError(f"there is a study {name!r} already.", "Use another name: answers belong to their pairs.")
        lines = [_line(pair) for pair in material.make_pairs(workspace)]
        # Written to another folder and renamed, so that nobody can rate half a study.
        temporary = folder.with_name(f".{name}")
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
            (temporary / "pairs.jsonl").write_text("".join(lines), encoding="utf-8")
            browsing = "".join(f"{thread.line()}\n" for thread in material.browsing())
            (temporary / "browse.jsonl").write_text(browsing, encoding="utf-8")
            (temporary / "study.json").write_text(json.dumps(asdict(material), ensure_ascii=False), encoding="utf-8")
            temporary.rename(folder)
        except OSError as error:
            raise StorageError.not_writable(folder, error) from error
        return cls(workspace, name)

    @functools.cached_property
    def pairs(self) -> list[Pair]:
        """The pairs of the study."""
        return [_parse_pair(entry, where) for where, entry in read_json_lines(self.folder / "pairs.jsonl")]

    @property
    def between(self) -> bool:
        """Whether each rater rates the pairs of one arm only."""
        path = self.folder / "study.json"
        try:
            material = parse_json_object(read_text(path))
        except (OSError, DocumentError) as error:
            raise UsageError(f"{path} cannot be read: {error}.", _AGAIN) from error
        between = material.get("between", False)
        if not isinstance(between, bool):
            raise UsageError(f"{path}: `between` is {between!r:.60}, neither true nor false.", _AGAIN)
        return between

    @property
    def browsing(self) -> list[Conversation]:
        """The real threads that raters read before they rate."""
        path = self.folder / "browse.jsonl"
        if not path.is_file():
            return []  # a study of an earlier version
        return [parse_conversation(entry, where) for where, entry in read_json_lines(path)]

    def ratings(self) -> Ratings:
        """All answers so far, read from the file at every call."""
        return Ratings(self.folder / "answers.jsonl")


def study_names(workspace: Workspace) -> list[str]:
    """The names of all studies of a workspace."""
    paths = (workspace.folder / "discern").glob("*/study.json")
    return sorted(path.parent.name for path in paths if _NAME.fullmatch(path.parent.name))


def rater_name(text: str) -> str:
    """The name of a rater on one line, without space around it; an error where nothing is left of it.

    Example:
        >>> rater_name("  Ann   Lee ")
        'Ann Lee'
    """
    name = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    if not name:
        raise UsageError("a rater needs a name.", "Any letter or number will do; it separates the answers of raters.")
    if len(name) > 60:
        raise UsageError(f"the name of the rater has {len(name)} letters.", "Use at most 60.")
    return name


def _valid_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a study.", "Use letters, digits, - _ and . only, at most 64.")
    return name


def _line(pair: Pair) -> str:
    entry: dict[str, Any] = {"key": pair.key, "arm": pair.arm, "goal": pair.goal, "seed": pair.seed}
    sides = {"real": json.loads(pair.real.line()), "made": json.loads(pair.generated.line())}
    return json.dumps(entry | sides, ensure_ascii=False) + "\n"


def _parse_pair(entry: dict[str, Any], where: str) -> Pair:
    complete = {"key", "arm", "goal", "seed", "real", "made"} <= entry.keys()
    if not complete or not all(isinstance(entry[side], dict) for side in ("real", "made")):
        raise UsageError(f"{where}: this is not a pair of a study.", _AGAIN)
    for name in ("key", "arm", "goal"):
        if not isinstance(entry[name], str):
            raise UsageError(f"{where}: `{name}` is {entry[name]!r:.60}, not a text.", _AGAIN)
    if isinstance(entry["seed"], bool) or not isinstance(entry["seed"], int):
        raise UsageError(f"{where}: `seed` is {entry['seed']!r:.60}, not a whole number.", _AGAIN)
    real, generated = (parse_conversation(entry[side], where) for side in ("real", "made"))
    return Pair(entry["key"], entry["arm"], entry["goal"], real, generated, entry["seed"])
