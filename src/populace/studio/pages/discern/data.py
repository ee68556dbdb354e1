"""The discrimination test for one rater; which conversation is real is not shown before all pairs are answered."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from populace.base.errors import PopulaceError, UsageError
from populace.community.discrimination_result import PUBLISHED, DiscriminationResult, analyse_ratings
from populace.community.study import Study, study_names
from populace.engine.workspace import Workspace
from populace.statistics import proportion
from populace.studio.library import Library

_FIRST_LINE_BYTES = 1_000_000
Position = Literal["first", "second"]
_SUFFIXES = (".jsonl", ".csv")
_OTHER_FOLDERS = ("runs", "discern", "experiments", "feedback")
"""Folders of the workspace that hold something else than real threads."""


class StudySummary(NamedTuple):
    """A study in a list; `problem` is why it cannot be read."""

    name: str
    pairs: int = 0
    raters: int = 0
    answers: int = 0
    problem: str = ""


class Task(NamedTuple):
    """The next pair of a rater, with nothing in it that tells which conversation is real.

    Attributes:
        number: Its number, of `of` pairs.
        goal: The goal of the community.
        first: The first conversation, with authors as letters.
    """

    number: int
    of: int
    community: str
    goal: str
    first: str
    second: str


class OwnError(NamedTuple):
    """How often one rater was wrong, of how many pairs, and the rate as text."""

    wrong: int
    pairs: int
    text: str


def study_summaries(workspace: Workspace) -> list[StudySummary]:
    """All studies of a workspace."""
    return [_summary(workspace, name) for name in study_names(workspace)]


def _summary(workspace: Workspace, name: str) -> StudySummary:
    try:
        study = Study(workspace, name)
        answers = study.ratings().table
        return StudySummary(name, len(study.pairs), answers["rater"].n_unique(), answers.height)
    except PopulaceError as error:
        return StudySummary(name, problem=str(error))


class DiscernSession:
    """One rater at one study."""

    def __init__(self, study: Study, rater: str) -> None:
        self.study, self.rater = study, rater
        self.ratings = study.ratings()
        self.pairs = self.ratings.pairs_of_rater(study.pairs, rater) if study.between else study.pairs
        self._unrated = self.ratings.unrated(self.pairs, rater)

    @property
    def done(self) -> int:
        """How many pairs are answered."""
        return len(self.pairs) - len(self._unrated)

    def task(self) -> Task | None:
        """The next pair, or None where all are answered."""
        if not self._unrated:
            return None
        pair = self._unrated[0]
        first, second = pair.texts(self.rater)
        return Task(self.done + 1, len(self.pairs), pair.real.community, pair.goal, first, second)

    def answer(self, position: Position) -> None:
        """Record which one was taken for real, and go on; an answer given meanwhile in another window is kept."""
        if not self._unrated:
            raise UsageError("every pair is answered already.")
        pair = self._unrated[0]
        self.ratings = self.study.ratings()
        if pair.key in {each.key for each in self.ratings.unrated(self.pairs, self.rater)}:
            self.ratings.add([pair.rating(self.rater, "person", position)])
        self._unrated = self.ratings.unrated(self.pairs, self.rater)

    def results(self) -> DiscriminationResult:
        """Error rates beside the published ones, once this rater is done."""
        if self._unrated:
            raise UsageError(
                f"{len(self._unrated)} pairs are still to be rated by {self.rater}.",
                "Results are shown after the last.",
            )
        return analyse_ratings(self.ratings.table)

    def own_error(self) -> OwnError:
        """How often this rater was wrong, once done."""
        self.results()
        own = self.ratings.table.filter(pl.col("rater") == self.rater, pl.col("wrong").is_not_null())
        wrong = int(own["wrong"].sum())
        rate = proportion(wrong, own.height)
        value, low, high = (f"{100 * share:.1f} %" for share in (rate.value, rate.low, rate.high))
        return OwnError(wrong, own.height, f"{value}, 95 % interval {low} to {high}")


def rates_table(result: DiscriminationResult) -> pl.DataFrame:
    """Error rates as text and as shares: a row for each arm that was rated, then published arms that were not."""
    others = PUBLISHED.filter(~pl.col("arm").is_in(result.rates["arm"].implode())).select("arm", "published")
    table = pl.concat([result.rates.drop("rated_by", "conversations_by", "published_sd"), others], how="diagonal")
    return table.select(
        pl.col("arm").str.replace_all("_", " "),
        pl.col("who").replace("persons", "people"),
        "raters",
        "answers",
        "wrong",
        "low",
        "high",
        error=_percent("error"),
        interval=pl.concat_str([_percent("low"), pl.lit(" to "), _percent("high")]),
        published=_percent("published"),
        error_share="error",
        published_share="published",
    )


def _percent(name: str) -> pl.Expr:
    return (100 * pl.col(name)).round(1).cast(pl.String) + pl.lit(" %")


def generated_runs(library: Library) -> list[str]:
    """Runs whose threads can be compared with real ones: those of a community, the newest first."""
    return [name for name in library.names() if _is_forum(library, name)]


def _is_forum(library: Library, name: str) -> bool:
    try:
        run = library.run(name)
        return "design" in run.manifest.regimes[0].parameters and len(run.steps) > 1
    except PopulaceError:
        return False  # The home page says what is wrong with it.


def real_files(workspace: Workspace, limit: int = 200) -> list[str]:
    """Files of the workspace, or of a folder in it, that may hold real threads, by their path within it."""
    home = workspace.folder
    folders = [each for each in sorted(home.glob("*")) if each.is_dir() and not each.is_symlink()]
    own = [each for each in folders if not each.name.startswith(".") and each.name not in _OTHER_FOLDERS]
    paths = [path for folder in (home, *own) for path in sorted(folder.glob("*"))]
    files = [path for path in paths if path.suffix.lower() in _SUFFIXES and path.is_file() and not path.is_symlink()]
    return [str(path.relative_to(home)) for path in files if not _holds_judgements(path)][:limit]


def _holds_judgements(path: Path) -> bool:
    """Whether a file holds the scores of a rater, such as an export of feedback."""
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline(_FIRST_LINE_BYTES))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "rater" in first


def check_file(workspace: Workspace, name: str) -> None:
    """Refuse a file that does not exist, or lies outside of the workspace."""
    home = workspace.folder.resolve()
    path = (home / name).resolve()
    if not path.is_relative_to(home):
        raise UsageError(f"{name!r} lies outside of the workspace.", "Copy the file into it first.")
    if not path.is_file():
        raise UsageError(f"there is no file {name!r} in the workspace.", "It is a JSONL or CSV file of real threads.")


def study_arguments(
    name: str, runs: Sequence[str], real: str, *, comments: str = "", community: str = "", most: int | None = None
) -> tuple[str, ...]:
    """The arguments of the command that makes a study.

    Example:
        >>> study_arguments("tea", ["forum-1"], "real.jsonl", most=5)
        ('discern', 'forum-1', '--real', 'real.jsonl', '--study', 'tea', '--pairs', '5')
    """
    arguments = ["discern", *runs, "--real", real, "--study", name]
    for option, value in (("--comments", comments), ("--community", community), ("--pairs", most)):
        if value:
            arguments += [option, str(value)]
    return tuple(arguments)
