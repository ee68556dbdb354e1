"""A study of the discrimination test, kept in the workspace so that several raters can take part.

A study is the folder `discern/NAME`: `study.json` says what it was made of, `pairs.jsonl` holds the
pairs themselves, so that a run may go and the study stays, and `answers.jsonl` all answers.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
from dataclasses import asdict, dataclass, replace
from typing import Any

from populace.base.errors import StorageError, UnknownNameError, UsageError
from populace.community.community import Community
from populace.community.conversations import (
    Conversation,
    conversations_of,
    parse_conversation,
    read_json_lines,
    read_threads,
)
from populace.community.discrimination import Pair, Ratings, arm_of, make_pairs
from populace.community.importers import from_csv, from_reddit
from populace.engine.workspace import Workspace
from populace.runs.reader import RunReader

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True)
class Material:
    """What pairs are made of.

    Attributes:
        runs: The names of the runs whose threads are the generated ones.
        real: The file of real threads: JSONL, a CSV, or the submissions of a Reddit dump.
        comments: The comments of that dump, where it is one.
        crowd: Threads that people wrote to imitate the community.
        community: The real community that the runs model, where names differ.
        most: At most so many pairs for each arm and community.
        seed: Which threads are paired.
    """

    runs: tuple[str, ...]
    real: str
    comments: str | None = None
    crowd: str | None = None
    community: str | None = None
    most: int | None = None
    seed: int = 0

    def make_pairs(self, workspace: Workspace) -> list[Pair]:
        """The pairs; it is an error if there is none.

        Args:
            workspace: Where the runs are.
        """
        made: dict[str, list[Conversation]] = {}
        goals: dict[str, str] = {}
        for run in self.runs:
            read = Community(RunReader(workspace.open(run)))
            name = self.community or read.design.name
            goals[name] = read.design.goal
            made.setdefault(arm_of(read), []).extend(replace(each, community=name) for each in conversations_of(read))
        if self.crowd:
            made["crowd"] = read_threads(self.crowd)
        found = make_pairs(self._real(), made, goals=goals, seed=self.seed, most=self.most)
        if not found:
            raise UsageError("there is no pair of a real and a generated thread.")
        return found

    def _real(self) -> list[Conversation]:
        if self.comments:
            return from_reddit(self.real, self.comments)
        return from_csv(self.real) if self.real.lower().endswith(".csv") else read_threads(self.real)


class Study:
    """A study that was made before.

    Args:
        workspace: Where it is kept.
        name: Its name.
    """

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.name = name
        self.folder = workspace.folder / "discern" / _checked(name)
        if not (self.folder / "study.json").is_file():
            raise UnknownNameError(
                "study", name, study_names(workspace), "`populace discern RUN --real FILE --study NAME` makes one."
            )

    @classmethod
    def make(cls, workspace: Workspace, name: str, material: Material) -> Study:
        """Pair the material and keep it under a name that no study has yet."""
        folder = workspace.folder / "discern" / _checked(name)
        if folder.exists():
            raise UsageError(f"there is a study {name!r} already.", "Name another; answers belong to their pairs.")
        lines = [_line(pair) for pair in material.make_pairs(workspace)]
        # Made aside and moved, so that nobody rates half a study.
        aside = folder.with_name(f".{name}")
        try:
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            (aside / "pairs.jsonl").write_text("".join(lines), encoding="utf-8")
            (aside / "study.json").write_text(json.dumps(asdict(material), ensure_ascii=False), encoding="utf-8")
            aside.rename(folder)
        except OSError as error:
            raise StorageError(f"{folder} cannot be written: {error.strerror or error}.") from error
        return cls(workspace, name)

    @functools.cached_property
    def pairs(self) -> list[Pair]:
        """The pairs, as they were made."""
        return [_pair(entry, where) for where, entry in read_json_lines(self.folder / "pairs.jsonl")]

    def ratings(self) -> Ratings:
        """All answers so far, read anew."""
        return Ratings(self.folder / "answers.jsonl")


def study_names(workspace: Workspace) -> list[str]:
    """The names of all studies of a workspace."""
    made = (workspace.folder / "discern").glob("*/study.json")
    return sorted(path.parent.name for path in made if _NAME.fullmatch(path.parent.name))


def rater_name(given: str) -> str:
    """The name of a rater as it is kept: in one line, without space around it.

    Example:
        >>> rater_name("  Ann   Lee ")
        'Ann Lee'
    """
    name = " ".join("".join(each if each.isprintable() else " " for each in given).split())
    if not name:
        raise UsageError("a rater needs a name.", "It tells answers apart; a letter or a number will do.")
    if len(name) > 60:
        raise UsageError(f"the rater's name has {len(name)} letters.", "At most 60, please.")
    return name


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a study.", "Letters, digits, - _ and . only, at most 64.")
    return name


def _line(pair: Pair) -> str:
    entry: dict[str, Any] = {"key": pair.key, "arm": pair.arm, "goal": pair.goal, "seed": pair.seed}
    both = {"real": json.loads(pair.real.line()), "made": json.loads(pair.generated.line())}
    return json.dumps(entry | both, ensure_ascii=False) + "\n"


def _pair(entry: dict[str, Any], where: str) -> Pair:
    whole = {"key", "arm", "goal", "seed", "real", "made"} <= entry.keys()
    if not whole or not all(isinstance(entry[side], dict) for side in ("real", "made")):
        raise UsageError(f"{where}: this is no pair of a study.", "Make the study again under another name.")
    real, made = (parse_conversation(entry[side], where) for side in ("real", "made"))
    return Pair(entry["key"], entry["arm"], entry["goal"], real, made, entry["seed"])
