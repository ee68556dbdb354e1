"""Where runs are kept: a folder with `runs/` and the call store that they share."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from populace.base.documents import DocumentError, read_json
from populace.base.errors import PopulaceError, RunNotFoundError, StorageError, UsageError, nearest_id
from populace.base.foreign import for_line
from populace.base.modules import add_folder
from populace.base.trust import TrustFile
from populace.broker import CallStore
from populace.journal import Journal, Manifest, Record

_EXPERIMENTS = "experiments"
_TAGS = "tags.json"
_REMOVED = ".removed"

_REMOTE_STORES: dict[Path, CallStore] = {}


def use_store(file: Path, store: CallStore) -> None:
    """Use a store of another machine wherever this process would open a file."""
    _REMOTE_STORES[file.resolve()] = store


class Workspace:
    """A folder of runs.

    Args:
        folder: The folder; without one, POPULACE_WORKSPACE, else the current folder.
        store: The file of the call store; `calls.sqlite` in the folder by default.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Workspace(folder).names()
        []
    """

    def __init__(self, folder: str | Path | None = None, *, store: Path | None = None) -> None:
        self.folder = Path(folder or os.environ.get("POPULACE_WORKSPACE") or ".")
        self.calls_file = store or self.folder / "calls.sqlite"
        """The file of the call store, which may not exist yet."""

    @classmethod
    def of(cls, journal: Journal) -> Workspace:
        """The workspace that a run lies in.

        Runs of an experiment lie in its folder and share the call store of the workspace around it.
        """
        home = journal.folder.parent.parent
        for folder in (home, *home.parents[:2]):
            if folder.parent.name == _EXPERIMENTS and (folder / "manifest.json").is_file():
                return cls(home, store=cls(folder.parent.parent).calls_file)
        return cls(home)

    @property
    def runs(self) -> Path:
        """The folder of the run folders."""
        return self.folder / "runs"

    @property
    def experiments(self) -> Path:
        """The folder of the experiment folders."""
        return self.folder / _EXPERIMENTS

    @property
    def home(self) -> Path:
        """The folder of what runs of an experiment share with the workspace around it, such as the call store."""
        return self.calls_file.parent

    @property
    def trusted(self) -> TrustFile:
        """What code the workspace trusts; runs of an experiment share it as they share the call store."""
        return TrustFile(self.home)

    def store(self) -> CallStore:
        """The call store, opened. From now on modules of the user are found in the folder too."""
        add_folder(self.folder)
        remote = _REMOTE_STORES.get(self.calls_file.resolve())
        return CallStore(self.calls_file) if remote is None else remote

    def names(self) -> list[str]:
        """The names of all runs, readable or not."""
        return _run_names(self.runs)

    def create(self, manifest: Manifest, stem: str) -> Journal:
        """The folder of a new run, under the first name that is free; its name goes into the manifest.

        Several processes that start the same run at once get different names.
        """
        while True:
            manifest.run = self.free_name(stem)
            try:
                return Journal.create(self.runs / manifest.run, manifest)
            except FileExistsError:
                continue

    def run_of_process(self, process: int, since: float) -> str | None:
        """The run that a process locked since a time of the wall clock, whether it has ended or not."""
        folders = self.runs.iterdir() if self.runs.is_dir() else ()
        return next((each.name for each in folders if Journal.last_writer(each, since) == process), None)

    def tags(self, name: str) -> tuple[str, ...]:
        """The tags of a run; none where they cannot be read."""
        try:
            tags = read_json(self.runs / name / _TAGS)
        except (OSError, DocumentError):
            return ()
        return tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()

    def set_tags(self, name: str, tags: Iterable[str]) -> None:
        """Give a run these tags in place of those that it had."""
        target = self.runs / name / _TAGS
        beside = target.with_name(f".{_TAGS}-{os.getpid()}")
        beside.write_text(json.dumps(list(tags), ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(beside, target)

    def remove(self, name: str) -> None:
        """Put a run aside, in place of a removed run of the same name; `restore` brings it back."""
        target = self.runs / _REMOVED / name
        target.parent.mkdir(exist_ok=True)
        if target.exists():
            shutil.rmtree(target)
        os.replace(self.runs / name, target)

    def restore(self, name: str) -> None:
        """Bring a removed run back."""
        if name not in self.removed_names():
            raise RunNotFoundError(f"{name!r} is not among the deleted runs.")
        if (self.runs / name).exists():
            raise UsageError(f"there is another run {name} by now.", "Delete or rename that one first.")
        os.replace(self.runs / _REMOVED / name, self.runs / name)

    def removed_names(self) -> list[str]:
        """The names of the removed runs."""
        return _run_names(self.runs / _REMOVED)

    def free_name(self, stem: str) -> str:
        """A name that no run has: the stem, or the stem with a number."""
        name, number = stem, 2
        while (self.runs / name).exists():
            name, number = f"{stem}-{number}", number + 1
        return name

    def open(self, name: str | Path) -> Journal:
        """A run by its name, by the beginning of its name, or by its path; of an experiment as EXPERIMENT/RUN.

        `last` is the newest run that is not a fork: a what-if, a multiverse or a fork does not take its place. Where
        there are only forks, it is the newest of them.
        """
        if Journal.is_run(Path(name)):
            return Journal(Path(name))
        experiment, slash, run = str(name).partition("/")
        if slash and run and (folder := self._experiment(experiment)) is not None:
            return self._open_in(folder, run)
        names = self.names()
        if str(name) == "last" and names:
            newest = sorted((self.runs / each for each in names), key=_last_written, reverse=True)
            return Journal(next((folder for folder in newest if not _is_fork(folder)), newest[0]))
        return Journal(find_folder(self.runs, str(name), names, "run", "`populace list` shows the runs."))

    def _experiment(self, name: str) -> Path | None:
        """The folder of the experiment of this name, or of the only one whose name begins so; None without one."""
        folders = [each.parent for each in self.experiments.glob("*/manifest.json")]
        fitting = [each for each in folders if each.name == name] or [
            each for each in folders if name and each.name.startswith(name)
        ]
        return fitting[0] if len(fitting) == 1 else None

    @staticmethod
    def _open_in(experiment: Path, run: str) -> Journal:
        """A run that an experiment keeps."""
        runs, names = experiment / "runs", _run_names(experiment / "runs")
        if not names:
            raise RunNotFoundError(
                f"the experiment {experiment.name} keeps no run folders.",
                "Run it again with --keep run: runs whose replies are in the call store cost nothing.",
            )
        hint = f"`populace experiment --runs {experiment.name}` shows them."
        return Journal(find_folder(runs, run, names, "run", hint))


def command_text(folder: Path, *words: str) -> str:
    """A command that can be typed as it stands: with `--workspace` where that is not the default.

    Example:
        >>> command_text(Path("elsewhere"), "resume", "norms-1a2b")
        'populace resume norms-1a2b --workspace elsewhere'
    """
    where = [] if folder.resolve() == Workspace().folder.resolve() else ["--workspace", str(folder)]
    return shlex.join(["populace", *map(for_line, words), *where])


def trusted_for(record: Record) -> TrustFile:
    """What is trusted for a run: what its workspace trusts, or for a run in memory the default one."""
    return (Workspace.of(record) if isinstance(record, Journal) else Workspace()).trusted


def find_folder(parent: Path, name: str, names: Sequence[str], kind: str, hint: str) -> Path:
    """The folder with a name, or with the only name that begins so; RunNotFoundError where there is not one.

    Args:
        parent: The folder that holds it.
        name: The name, or the beginning of it.
        names: The names that there are.
        kind: What such a folder holds, for the message.
        hint: How to see the names that there are.
    """
    matches = [name] if name in names else [each for each in names if each.startswith(name)]
    if len(matches) == 1:
        return parent / matches[0]
    if matches:
        raise RunNotFoundError(f"{name!r} fits several {kind}s: {', '.join(matches[:8])}.", "Write the full name.")
    guess = nearest_id(name, names)
    if not names:
        hint = (
            f"There is none at all: go to the folder where you started it, or name that folder with --workspace. {hint}"
        )
    raise RunNotFoundError(
        f"there is no {kind} {name!r} in {parent}.", (f"Did you mean {guess!r}? " if guess else "") + hint
    )


def _last_written(folder: Path) -> tuple[int, int, int]:
    try:
        return Manifest.stamp(folder)
    except OSError:
        return (0, 0, 0)


def _is_fork(folder: Path) -> bool:
    try:
        return Manifest.read(folder).parent is not None
    except PopulaceError:
        # Whoever opens it is told what is wrong with it.
        return False


def _is_empty(folder: Path) -> bool:
    try:
        return folder.is_dir() and not any(folder.iterdir())
    except OSError:
        return False


def _run_names(folder: Path) -> list[str]:
    """Everything in a folder of runs that is neither hidden nor an empty folder, readable or not."""
    try:
        names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
        return [name for name in names if Journal.is_run(folder / name) or not _is_empty(folder / name)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"{folder} cannot be read: {error.strerror or error}.") from error
