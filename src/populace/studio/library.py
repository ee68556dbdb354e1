"""The runs and experiments of a workspace: listed, opened, tagged and removed."""

import os
from dataclasses import dataclass
from pathlib import Path

from populace.base.documents import name_problem
from populace.base.errors import PopulaceError, RunNotFoundError, UsageError
from populace.engine.run import Run
from populace.engine.workspace import Workspace
from populace.experiments import folder as experiments
from populace.journal import READ_ERRORS, Journal, Manifest
from populace.runs.overview import RunOverview, RunState, overview
from populace.studio.metrics import chart_metrics

_Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class RunCard:
    """One run in a list.

    Attributes:
        name: Its name.
        overview: The run in a few facts; None where its folder is damaged or of a newer version.
        problem: Why it cannot be read.
        metric: The name of the main metric.
        trend: The main metric over the steps.
        tags: The tags that a user gave it.
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
    """The runs and experiments of a workspace; nothing outside of it can be opened."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._runs: dict[str, tuple[_Stamp, Run]] = {}
        self._manifests: dict[str, tuple[_Stamp, Manifest | PopulaceError]] = {}

    def folder(self, name: str) -> Path:
        """The folder of a run; a name that would lead out of the workspace is refused."""
        home = self.workspace.runs.resolve()
        folder = home / name
        if name_problem(name) or folder.resolve().parent != home:
            raise RunNotFoundError(f"{name[:80]!r} is not the name of a run.", "The home page lists the runs.")
        if not Journal.is_run(folder):
            if os.path.lexists(folder):
                raise RunNotFoundError(f"{name} is not a run: it holds no manifest.json.")
            raise RunNotFoundError(
                f"there is no run {name!r} in this workspace.",
                "It may have been deleted or moved. The home page lists the runs and undoes deletions.",
            )
        return folder

    def run(self, name: str) -> Run:
        """A run, as it is now; what was read of its steps before is reused."""
        folder = self.folder(name)
        stamp, entry = Manifest.stamp(folder), self._runs.get(name)
        if entry is not None and entry[0] == stamp:
            return entry[1]
        manifest = Manifest.read(folder)
        if entry is not None and entry[1].manifest.created == manifest.created:
            # Committed steps never change, so only what the manifest says is new.
            run = entry[1]
            run.record.manifest = manifest
        else:
            run = Run(Journal(folder, manifest))
        self._runs[name] = (stamp, run)
        return run

    def names(self) -> list[str]:
        """All runs, the newest first, those that cannot be read included."""
        created = {name: manifest.created for name, manifest in self._readable().items()}
        return sorted(self.workspace.names(), key=lambda name: (created.get(name, ""), name), reverse=True)

    def under_way(self) -> list[str]:
        """The runs whose manifest says that they are running."""
        return [name for name, manifest in self._readable().items() if manifest.status.state == "running"]

    def matching(self, words: str) -> list[str]:
        """The runs whose name, scenario, model, author, state or tags contain every word."""
        parts = words.casefold().split()
        return [name for name in self.names() if all(part in self._searchable_text(name) for part in parts)]

    def card(self, name: str) -> RunCard:
        """One run, for a list; where its folder cannot be read, the card says why."""
        try:
            run = self.run(name)
            main, others = chart_metrics(run)
            metric = next(iter([*main, *others]), "")
            trend = tuple(run.metrics[metric].to_list()) if metric else ()
            return RunCard(name, overview(run), metric=metric, trend=trend, tags=self.workspace.tags(name))
        except PopulaceError as error:
            return RunCard(name, problem=str(error))
        except READ_ERRORS as error:
            # Whatever is wrong with one folder must not hide the others.
            return RunCard(name, problem=f"It cannot be read ({type(error).__name__}: {error}).")

    def _readable(self) -> dict[str, Manifest]:
        manifests = {name: self._manifest(name) for name in self.workspace.names()}
        return {name: manifest for name, manifest in manifests.items() if isinstance(manifest, Manifest)}

    def _manifest(self, name: str) -> Manifest | PopulaceError:
        folder = self.workspace.runs / name
        try:
            stamp = Manifest.stamp(folder)
            if self._manifests.get(name, (None,))[0] != stamp:
                self._manifests[name] = (stamp, Manifest.read(folder))
        except OSError:
            return RunNotFoundError(f"{name} is not a run: it holds no manifest.json that can be read.")
        except PopulaceError as error:
            self._manifests[name] = (stamp, error)
        return self._manifests[name][1]

    def _searchable_text(self, name: str) -> str:
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
            folder = experiments.ExperimentFolder.open(self.workspace.experiments / name)
            rows = folder.rows().values()
            failed = sum(row["status"] == "failed" for row in rows)
            manifest = folder.manifest
            planned = len(manifest.arms) * (manifest.replicates or int(manifest.experiment["replicates"]))
            done, arms = len(rows) - failed, len(manifest.arms)
            return ExperimentCard(name, manifest.created, arms, done, planned, failed, manifest.state)
        except PopulaceError as error:
            return ExperimentCard(name, problem=str(error))
        except READ_ERRORS as error:
            return ExperimentCard(name, problem=f"It cannot be read ({type(error).__name__}: {error}).")

    def tag(self, name: str, tags: list[str]) -> None:
        """Give a run these tags in place of those that it had; blanks around them and repeated ones are dropped."""
        self.folder(name)
        self.workspace.set_tags(name, dict.fromkeys(tag.strip() for tag in tags if tag.strip()))

    def forks(self, name: str) -> list[str]:
        """The forks of a run, which need its steps."""
        return [fork for fork, manifest in self._readable().items() if manifest.parent and manifest.parent.run == name]

    def remove(self, name: str) -> None:
        """Remove a run; `Workspace.restore` brings it back.

        Raises:
            UsageError: The run is under way, or has forks.
        """
        folder = self.folder(name)
        if Journal.busy_folder(folder):
            raise UsageError(f"{name} is under way.", "Stop it first.")
        if forks := self.forks(name):
            raise UsageError(f"{name} is shared by {', '.join(forks[:5])}.", "Delete its forks first.")
        self.workspace.remove(name)
        self._runs.pop(name, None)
