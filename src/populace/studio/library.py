"""The runs and experiments of a workspace, as they are listed, opened, tagged and put away."""

from __future__ import annotations

import functools
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from populace.base.errors import PopulaceError, RunNotFoundError, UsageError
from populace.engine.discovery import SHIPPED, find_scenario
from populace.engine.run import Run
from populace.engine.workspace import Workspace
from populace.experiments import folder as experiments
from populace.journal import Journal, Manifest
from populace.runs.overview import RunOverview, RunState, overview

Stamp = tuple[int, int, int]
_TAGS = "tags.json"
_BIN = ".removed"


@dataclass(frozen=True)
class RunCard:
    """One run in a list.

    Attributes:
        name: Its name.
        overview: The run in a few facts; None where its folder is damaged or of a newer version.
        problem: Why it cannot be read.
        metric: The name of the main metric.
        trend: The main metric over the steps.
        tags: What somebody noted about it.
    """

    name: str
    overview: RunOverview | None = None
    problem: str = ""
    metric: str = ""
    trend: tuple[float | None, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def state(self) -> RunState | str:
        """How the run stands; `unreadable` where it cannot be read."""
        return self.overview.state if self.overview else "unreadable"


@dataclass(frozen=True)
class ExperimentCard:
    """One experiment in a list."""

    name: str
    created: str = ""
    arms: int = 0
    done: int = 0
    planned: int = 0
    failed: int = 0
    state: str = ""
    problem: str = ""


@dataclass
class _Opened:
    stamp: Stamp
    run: Run


class Library:
    """What a workspace holds. Nothing outside of it can be opened.

    Args:
        workspace: The workspace.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._opened: dict[str, _Opened] = {}
        self._listed: dict[str, tuple[Stamp, Manifest | PopulaceError]] = {}

    def folder(self, name: str) -> Path:
        """The folder of a run; a name that would lead out of the workspace is refused."""
        home = self.workspace.runs.resolve()
        folder = home / name
        plain = bool(name) and name not in (".", "..") and not set(name) & set("/\\\0")
        if not plain or folder.resolve().parent != home:
            raise RunNotFoundError(f"{name[:80]!r} is not the name of a run.", "The home page lists the runs.")
        if not (folder / "manifest.json").is_file():
            raise RunNotFoundError(
                f"there is no run {name!r} in this workspace.",
                "It may have been deleted or moved. The home page lists the runs and undoes deletions.",
            )
        return folder

    def run(self, name: str) -> Run:
        """A run, as it is now; what was read of its steps before is kept."""
        return self._open(name).run

    def _open(self, name: str) -> _Opened:
        folder = self.folder(name)
        stamp, held = _stamp(folder / "manifest.json"), self._opened.get(name)
        if held is not None and held.stamp == stamp:
            return held
        manifest = Manifest.read(folder)
        if held is not None and held.run.manifest.created == manifest.created:
            # Committed steps never change, so only what the manifest says is new.
            held.run.record.manifest = manifest
            held.stamp = stamp
            return held
        self._opened[name] = _Opened(stamp, Run(Journal(folder, manifest)))
        return self._opened[name]

    def names(self) -> list[str]:
        """All runs, the newest first, those that cannot be read included."""
        listed = [(self._manifest(name), name) for name in self.workspace.names()]
        order = [("" if isinstance(found, PopulaceError) else found.created, name) for found, name in listed]
        return [name for _, name in sorted(order, reverse=True)]

    def under_way(self) -> list[str]:
        """Runs whose manifest says that they go."""
        found = ((name, self._manifest(name)) for name in self.workspace.names())
        return [
            name for name, manifest in found if isinstance(manifest, Manifest) and manifest.status.state == "running"
        ]

    def matching(self, words: str) -> list[str]:
        """Runs whose name, scenario, model, author, state or tags hold every word."""
        wanted = words.casefold().split()
        return [name for name in self.names() if all(word in self._words(name) for word in wanted)]

    def card(self, name: str) -> RunCard:
        """One run, for a list; a folder that cannot be read is told as such."""
        try:
            run = self.run(name)
            metric, trend = _trend(run)
            return RunCard(name, overview(run), metric=metric, trend=trend, tags=self.tags(name))
        except PopulaceError as error:
            return RunCard(name, problem=str(error))

    def _manifest(self, name: str) -> Manifest | PopulaceError:
        path = self.workspace.runs / name / "manifest.json"
        try:
            stamp = _stamp(path)
            if self._listed.get(name, (None,))[0] != stamp:
                self._listed[name] = (stamp, Manifest.read(path.parent))
        except FileNotFoundError:
            return RunNotFoundError(f"{name} is gone.")
        except PopulaceError as error:
            self._listed[name] = (stamp, error)
        return self._listed[name][1]

    def _words(self, name: str) -> str:
        manifest = self._manifest(name)
        words = [name, *self.tags(name)]
        if isinstance(manifest, Manifest):
            words += [manifest.scenario, manifest.status.state, manifest.environment.get("author", "")]
            words += [regime.model for regime in manifest.regimes]
        return " ".join(words).casefold()

    def experiments(self) -> list[ExperimentCard]:
        """All experiments, the newest first."""
        cards = [self._experiment(name) for name in experiments.experiment_names(self.workspace)]
        return sorted(cards, key=lambda card: (card.created, card.name), reverse=True)

    def _experiment(self, name: str) -> ExperimentCard:
        try:
            found = experiments.ExperimentFolder.open(experiments.experiments_folder(self.workspace) / name)
            rows = found.rows().values()
            failed = sum(row["status"] == "failed" for row in rows)
            manifest = found.manifest
            planned = len(manifest.arms) * (manifest.replicates or int(manifest.experiment["replicates"]))
            return ExperimentCard(
                name, manifest.created, len(manifest.arms), len(rows) - failed, planned, failed, manifest.state
            )
        except PopulaceError as error:
            return ExperimentCard(name, problem=str(error))

    def tags(self, name: str) -> tuple[str, ...]:
        """What somebody noted about a run."""
        try:
            found = json.loads((self.workspace.runs / name / _TAGS).read_text())
        except (OSError, ValueError):
            return ()
        return tuple(str(tag) for tag in found) if isinstance(found, list) else ()

    def tag(self, name: str, tags: list[str]) -> None:
        """Note something about a run, in place of what was noted before."""
        folder = self.folder(name)
        kept = list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
        beside = folder / f".{_TAGS}-{os.getpid()}"
        beside.write_text(json.dumps(kept, ensure_ascii=False) + "\n")
        os.replace(beside, folder / _TAGS)

    def forks(self, name: str) -> list[str]:
        """The runs that are forks of a run and need its steps."""
        found = ((each, self._manifest(each)) for each in self.workspace.names())
        return [each for each, m in found if isinstance(m, Manifest) and m.parent is not None and m.parent.run == name]

    def remove(self, name: str) -> None:
        """Put a run away; `restore` brings it back. One that goes, or that forks rest on, is left where it is."""
        folder = self.folder(name)
        if Journal.busy_folder(folder):
            raise UsageError(f"{name} is under way.", "Stop it first.")
        if forks := self.forks(name):
            raise UsageError(f"{name} is shared by {', '.join(forks[:5])}.", "Delete its forks first.")
        target = self.workspace.runs / _BIN
        target.mkdir(exist_ok=True)
        if (target / name).exists():
            shutil.rmtree(target / name)
        os.replace(folder, target / name)
        self._opened.pop(name, None)

    def restore(self, name: str) -> None:
        """Bring a run back that was put away."""
        if name not in self.removed():
            raise RunNotFoundError(f"{name!r} is not among the deleted runs.")
        if (self.workspace.runs / name).exists():
            raise UsageError(f"there is another run {name} by now.", "Delete or rename that one first.")
        os.replace(self.workspace.runs / _BIN / name, self.workspace.runs / name)

    def removed(self) -> list[str]:
        """Runs that were put away."""
        place = self.workspace.runs / _BIN
        return (
            sorted(each.name for each in place.iterdir() if (each / "manifest.json").is_file())
            if place.is_dir()
            else []
        )


def _trend(run: Run) -> tuple[str, tuple[float | None, ...]]:
    metrics = run.metrics
    numeric = [each for each in metrics.columns if each != "step" and metrics[each].dtype.is_numeric()]
    names = [each for each in main_metrics(run.manifest.scenario) if each in numeric] or numeric
    return (names[0], tuple(metrics[names[0]].to_list())) if names else ("", ())


@functools.cache
def main_metrics(scenario: str) -> tuple[str, ...]:
    """What a scenario that ships draws first; a scenario in a file is not loaded for it."""
    return tuple(find_scenario(scenario).chart) if scenario in SHIPPED else ()


def _stamp(path: Path) -> Stamp:
    found = path.stat()
    return found.st_mtime_ns, found.st_ino, found.st_size
