"""The runs and experiments of a workspace, as they are listed, opened, tagged and put away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from populace.base.errors import PopulaceError, RunNotFoundError, UsageError
from populace.engine.run import Run
from populace.engine.workspace import Workspace
from populace.experiments import folder as experiments
from populace.journal import Journal, Manifest
from populace.runs.overview import RunOverview, RunState, overview
from populace.studio.metrics import chart_metrics

Stamp = tuple[int, int, int]


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


class Library:
    """What a workspace holds. Nothing outside of it can be opened.

    Args:
        workspace: The workspace.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._opened: dict[str, tuple[Stamp, Run]] = {}
        self._listed: dict[str, tuple[Stamp, Manifest | PopulaceError]] = {}

    def folder(self, name: str) -> Path:
        """The folder of a run; a name that would lead out of the workspace is refused."""
        home = self.workspace.runs.resolve()
        folder = home / name
        plain = bool(name) and name not in (".", "..") and not set(name) & set("/\\\0")
        if not plain or folder.resolve().parent != home:
            raise RunNotFoundError(f"{name[:80]!r} is not the name of a run.", "The home page lists the runs.")
        if not Journal.is_run(folder):
            raise RunNotFoundError(
                f"there is no run {name!r} in this workspace.",
                "It may have been deleted or moved. The home page lists the runs and undoes deletions.",
            )
        return folder

    def run(self, name: str) -> Run:
        """A run, as it is now; what was read of its steps before is reused."""
        folder = self.folder(name)
        stamp, known = Manifest.stamp(folder), self._opened.get(name)
        if known is not None and known[0] == stamp:
            return known[1]
        manifest = Manifest.read(folder)
        if known is not None and known[1].manifest.created == manifest.created:
            # Committed steps never change, so only what the manifest says is new.
            run = known[1]
            run.record.manifest = manifest
        else:
            run = Run(Journal(folder, manifest))
        self._opened[name] = (stamp, run)
        return run

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
            main, others = chart_metrics(run)
            metric = next(iter([*main, *others]), "")
            trend = tuple(run.metrics[metric].to_list()) if metric else ()
            return RunCard(name, overview(run), metric=metric, trend=trend, tags=self.workspace.tags(name))
        except PopulaceError as error:
            return RunCard(name, problem=str(error))

    def _manifest(self, name: str) -> Manifest | PopulaceError:
        folder = self.workspace.runs / name
        try:
            stamp = Manifest.stamp(folder)
            if self._listed.get(name, (None,))[0] != stamp:
                self._listed[name] = (stamp, Manifest.read(folder))
        except FileNotFoundError:
            return RunNotFoundError(f"{name} is gone.")
        except PopulaceError as error:
            self._listed[name] = (stamp, error)
        return self._listed[name][1]

    def _words(self, name: str) -> str:
        manifest = self._manifest(name)
        words = [name, *self.workspace.tags(name)]
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

    def tag(self, name: str, tags: list[str]) -> None:
        """Give a run these tags in place of those that it had; blanks around them and repeated ones are dropped."""
        self.folder(name)
        self.workspace.set_tags(name, dict.fromkeys(tag.strip() for tag in tags if tag.strip()))

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
        self.workspace.remove(name)
        self._opened.pop(name, None)
