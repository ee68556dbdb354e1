"""Notifies open pages when a run or an experiment changes, by watching folders.

A run replaces its manifest with every step, so a watch on its folder reports every step. A process that dies
changes no file: the locks of the runs that are under way or on an open page are therefore checked regularly.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from nicegui import Client, background_tasks, context
from watchfiles import awatch

from populace.base.documents import name_problem
from populace.experiments.folder import ExperimentFolder
from populace.journal import Journal, Manifest
from populace.studio.library import Library

Callback = Callable[[], Awaitable[None] | None]

PAGE_TIMEOUT_S = 60.0
"""How long a page may take to be built before the browser gets an error."""

_CHECK_MS = 1_000
# File systems stamp files by a coarse clock, so a file may be stamped a little earlier than it was written.
_CLOCK_MARGIN_S = 1.0
_DEBOUNCE_MS = 100


class ChangeNotifier:
    """Calls pages back when a run or an experiment changes."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._listeners: dict[str, list[tuple[Client, Callback]]] = {}
        self._task: asyncio.Task[Any] | None = None
        self._restart = asyncio.Event()
        self._states: dict[str, tuple[bool, int]] = {}

    def listen(self, name: str, callback: Callback) -> None:
        """Call back within the page that is being built whenever a run changes, until the page is closed.

        Changes since the page was begun are reported too, so a page may read before it listens.

        Args:
            name: The run; `experiments/NAME` for an experiment; empty for any change in the workspace.
            callback: What to call.
        """
        if name and name_problem(name.removeprefix("experiments/")):
            # Such a run cannot come into being, and no folder outside of the workspace is watched.
            return
        client = context.client
        entry = (client, callback)
        # The page may have read an older state since it was begun: without a known state the next check notifies it.
        if self._may_have_changed(name, client.created):
            self._states.pop(name, None)
        else:
            self._states.setdefault(name, self._state(name))
        self._listeners.setdefault(name, []).append(entry)

        def remove() -> None:
            listeners = self._listeners.get(name, [])
            if entry in listeners:
                listeners.remove(entry)

        client.on_delete(remove)
        self._restart.set()
        if self._task is None or self._task.done():
            self._task = background_tasks.create(self._watch(), name="watch the workspace")

    def notify(self, name: str) -> None:
        """Call back the pages that listen to a run, and those that listen to the workspace."""
        for key in dict.fromkeys((name, "")):
            for client, callback in list(self._listeners.get(key, ())):
                if client.is_deleted:
                    continue
                with client:
                    result = callback()
                    if inspect.isawaitable(result):
                        background_tasks.create(_run_in(client, result), name=f"a change of {name}")

    async def _watch(self) -> None:
        while any(self._listeners.values()):
            try:
                await self._watch_folders(self._folders())
            except FileNotFoundError:
                # A run was deleted between being listed and being watched.
                await asyncio.sleep(_DEBOUNCE_MS / 1000)

    async def _watch_folders(self, folders: list[Path]) -> None:
        """Watch until other folders are to be watched."""
        self._restart.clear()
        async for batch in awatch(
            *folders,
            recursive=False,
            debounce=_DEBOUNCE_MS,
            step=_DEBOUNCE_MS // 2,
            rust_timeout=_CHECK_MS,
            yield_on_timeout=True,
            stop_event=self._restart,
        ):
            for name in sorted({self._name(Path(path)) for _, path in batch} | self._changed_states()):
                self.notify(name)
            if not any(self._listeners.values()) or self._folders() != folders:
                break

    def _folders(self) -> list[Path]:
        workspace = self._library.workspace
        workspace.runs.mkdir(parents=True, exist_ok=True)
        folders: set[Path] = set()
        for name in self._watched_names():
            if name.startswith("experiments/"):
                folders |= set(ExperimentFolder.changing_folders(workspace.folder / name))
            else:
                folders.add(workspace.runs / name)
        return [each for each in (workspace.runs, workspace.experiments, *sorted(folders)) if each.is_dir()]

    def _watched_names(self) -> set[str]:
        """The runs and experiments on open pages, and the runs that are under way."""
        names = {name for name, listeners in self._listeners.items() if listeners and name}
        return names | set(self._library.under_way())

    def _name(self, path: Path) -> str:
        workspace = self._library.workspace.folder.resolve()
        path = path if path.is_absolute() else Path.cwd() / path
        parts = path.relative_to(workspace).parts if path.is_relative_to(workspace) else path.parts
        if len(parts) > 1 and parts[0] == "experiments":
            return f"experiments/{parts[1]}"
        return parts[1] if len(parts) > 1 and parts[0] == "runs" else ""

    def _changed_states(self) -> set[str]:
        """Names whose state is another than at the last check.

        This finds processes that died, and changes while the watch was being renewed.
        """
        names = self._watched_names()
        now = {name: self._state(name) for name in names | self._states.keys()}
        changed = {name for name, state in now.items() if self._states.get(name) != state}
        self._states = {name: now[name] for name in names}
        return changed

    def _may_have_changed(self, name: str, since_s: float) -> bool:
        """Whether a run is under way, or was written since a page was begun (seconds since the epoch)."""
        busy, stamp = self._state(name)
        return busy or stamp > (since_s - _CLOCK_MARGIN_S) * 1e9 or name in self._library.under_way()

    def _state(self, name: str) -> tuple[bool, int]:
        """Whether a process is writing a run or an experiment, and when it was last written, in nanoseconds."""
        workspace = self._library.workspace
        try:
            if name.startswith("experiments/"):
                return ExperimentFolder.activity(workspace.folder / name)
            folder = workspace.runs / name
            return Journal.busy_folder(folder), Manifest.stamp(folder)[0]
        except OSError:
            return False, 0


async def _run_in(client: Client, work: Awaitable[None]) -> None:
    # A task has no page of its own; what the callback draws belongs into the page that listens.
    with client:
        await work
