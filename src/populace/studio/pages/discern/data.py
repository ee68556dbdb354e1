"""What a rater of the discrimination test is shown; which one is real stays here until all is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlencode

import polars as pl

from populace.base.errors import PopulaceError, UsageError
from populace.community.discrimination_result import PUBLISHED, DiscriminationResult, analyse_ratings
from populace.community.study import Study, study_names
from populace.engine.workspace import Workspace
from populace.statistics import proportion
from populace.studio.library import Library

Chosen = Literal["first", "second"]
KINDS = (".jsonl", ".csv")
"""How the files of real threads end."""


@dataclass(frozen=True)
class StudyCard:
    """One study in a list."""

    name: str
    pairs: int = 0
    raters: int = 0
    answers: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Task:
    """What a rater sees next: two conversations, and nothing that tells which one is real.

    Attributes:
        number: How many pairs were answered before, and one.
        of: How many pairs there are.
        community: The name of the community.
        goal: What it is for.
        first: The first conversation, authors as letters.
        second: The second.
    """

    number: int
    of: int
    community: str
    goal: str
    first: str
    second: str


@dataclass(frozen=True)
class OwnError:
    """How often one rater was wrong, of how many, and the rate in words."""

    wrong: int
    count: int
    told: str


def cards(workspace: Workspace) -> list[StudyCard]:
    """All studies; one that cannot be read says why."""
    return [_card(workspace, name) for name in study_names(workspace)]


def _card(workspace: Workspace, name: str) -> StudyCard:
    try:
        study = Study(workspace, name)
        answers = study.ratings().table
        return StudyCard(name, len(study.pairs), answers["rater"].n_unique(), answers.height)
    except PopulaceError as error:
        return StudyCard(name, problem=str(error))


class DiscernSession:
    """One rater at one study.

    Args:
        study: The study.
        rater: The rater's name.
    """

    def __init__(self, study: Study, rater: str) -> None:
        self.study, self.rater = study, rater
        self.ratings = study.ratings()
        self._left = self.ratings.unrated(study.pairs, rater)

    @property
    def done(self) -> int:
        """How many pairs are answered."""
        return len(self.study.pairs) - len(self._left)

    def task(self) -> Task | None:
        """The next pair, or None where all are answered."""
        if not self._left:
            return None
        pair = self._left[0]
        first, second = pair.texts(self.rater)
        return Task(self.done + 1, len(self.study.pairs), pair.real.community, pair.goal, first, second)

    def answer(self, chosen: Chosen) -> None:
        """Keep which one was taken for real, and go on; what was answered elsewhere meanwhile stays as it is."""
        if not self._left:
            raise UsageError("every pair is answered already.")
        pair = self._left[0]
        self.ratings = self.study.ratings()
        if pair.key in {left.key for left in self.ratings.unrated(self.study.pairs, self.rater)}:
            self.ratings.add([pair.rating(self.rater, "person", chosen)])
        self._left = self.ratings.unrated(self.study.pairs, self.rater)

    def results(self) -> DiscriminationResult:
        """Error rates beside the published ones, once this rater is done."""
        if self._left:
            raise UsageError(
                f"{len(self._left)} pairs are still to be rated by {self.rater}.", "Results are shown after the last."
            )
        return analyse_ratings(self.ratings.table)

    def own_error(self) -> OwnError:
        """How often this rater was wrong, once done."""
        self.results()
        mine = self.ratings.table.filter(pl.col("rater") == self.rater, pl.col("wrong").is_not_null())
        wrong = int(mine["wrong"].sum())
        rate = proportion(wrong, mine.height)
        return OwnError(
            wrong, mine.height, f"{_share(rate.value)}, 95 % interval {_share(rate.low)} to {_share(rate.high)}"
        )


def rates_table(found: DiscriminationResult) -> pl.DataFrame:
    """Error rates in a form to be read: a row for each arm that was rated, then published arms that were not.

    Args:
        found: The results.
    """
    others = PUBLISHED.filter(~pl.col("arm").is_in(found.rates["arm"].implode())).select("arm", "published")
    table = pl.concat([found.rates.drop("rated_by", "conversations_by", "published_sd"), others], how="diagonal")
    return table.select(
        "arm",
        "who",
        "raters",
        "answers",
        "wrong",
        error=_percent("error"),
        interval=pl.concat_str([_percent("low"), pl.lit(" to "), _percent("high")]),
        published=_percent("published"),
        error_share="error",
        published_share="published",
        low="low",
        high="high",
    ).with_columns(pl.col("arm").str.replace_all("_", " "), pl.col("who").replace("persons", "people"))


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _percent(name: str) -> pl.Expr:
    return (100 * pl.col(name)).round(1).cast(pl.String) + pl.lit(" %")


def generated_runs(library: Library) -> list[str]:
    """Runs whose threads can be set beside real ones: those of a community, the newest first."""
    return [name for name in library.names() if _is_forum(library, name)]


def _is_forum(library: Library, name: str) -> bool:
    try:
        run = library.run(name)
        return "design" in run.manifest.regimes[0].parameters and len(run.steps) > 1
    except PopulaceError:
        return False  # The home page says what is wrong with it.


def study_address(name: str, **query: object) -> str:
    """The address of a study."""
    path = f"/discern/{quote(name, safe='')}"
    return f"{path}?{urlencode(query)}" if query else path


def real_files(workspace: Workspace, limit: int = 200) -> list[str]:
    """Files of the workspace that may hold real threads, by their path within it."""
    found: list[str] = []
    skipped = {"runs", "discern", "experiments"}
    for folder in _folders(workspace.folder, skipped):
        found += [
            str(path.relative_to(workspace.folder))
            for path in sorted(folder.iterdir())
            if path.suffix.lower() in KINDS and path.is_file() and not path.is_symlink()
        ]
    return found[:limit]


def _folders(home: Path, skipped: set[str]) -> list[Path]:
    """The folder and those directly in it, without hidden ones and those that hold something else."""
    if not home.is_dir():
        return []
    inner = [each for each in sorted(home.iterdir()) if each.is_dir() and not each.is_symlink()]
    return [home, *(each for each in inner if not each.name.startswith(".") and each.name not in skipped)]


def inside(workspace: Workspace, given: str) -> str:
    """A file named by somebody, refused where it lies outside of the workspace."""
    home = workspace.folder.resolve()
    path = (home / given).resolve()
    if not path.is_relative_to(home):
        raise UsageError(f"{given!r} lies outside of the workspace.", "Copy the file into it first.")
    if not path.is_file():
        raise UsageError(f"there is no file {given!r} in the workspace.", "It is a JSONL or CSV file of real threads.")
    return str(path.relative_to(home))


def study_arguments(
    name: str, runs: Sequence[str], real: str, *, comments: str = "", community: str = "", most: int | None = None
) -> tuple[str, ...]:
    """The command that makes a study.

    Example:
        >>> study_arguments("tea", ["forum-1"], "real.jsonl", most=5)
        ('discern', 'forum-1', '--real', 'real.jsonl', '--study', 'tea', '--pairs', '5')
    """
    made = ["discern", *runs, "--real", real, "--study", name]
    for option, value in (("--comments", comments), ("--community", community), ("--pairs", most)):
        if value:
            made += [option, str(value)]
    return tuple(made)


def as_json(found: DiscriminationResult) -> dict[str, Any]:
    """Results as plain data."""
    return {"rates": found.rates.to_dicts(), "notes": list(found.notes)}
