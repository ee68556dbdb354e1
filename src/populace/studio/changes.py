"""Who looks at what is told when it changes: by watching folders, not by reading them again and again.

A run replaces its manifest with every step, so one watch on its folder tells of everything. Only a
process that dies leaves no trace; of the few runs that go or are looked at, it is seen now and then
whether somebody still holds their lock.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from nicegui import Client, background_tasks, context
from watchfiles import awatch

from populace.experiments.folder import ExperimentFolder, experiments_folder
from populace.journal import Journal, Manifest
from populace.studio.library import Library

Callback = Callable[[], Awaitable[None] | None]

PAGE_TIMEOUT_S = 60.0
"""How long a page may take to be made before the browser is told that it failed."""

_LOOK_MS = 1_000
_GATHER_MS = 100


class ChangeNotifier:
    """Tells pages that a folder changed.

    Args:
        library: The runs of the workspace.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._listeners: dict[str, list[tuple[Client, Callback]]] = {}
        self._watching: asyncio.Task[Any] | None = None
        self._again = asyncio.Event()
        self._seen: dict[str, tuple[bool, int]] = {}

    def listen(self, name: str, callback: Callback) -> None:
        """Call back, within the page that is being built, whenever a run changes; until the page is closed.

        Whatever happened since the page was begun is told, so it does not matter whether it reads or listens first.

        Args:
            name: The run; `experiments/NAME` for an experiment; nothing for whatever happens in the workspace.
            callback: What to do.
        """
        client = context.client
        entry = (client, callback)
        # What the page shows was read at some time since it was begun; the next look tells it of what came after.
        if self._fresh(name):
            self._seen.pop(name, None)
        else:
            self._seen.setdefault(name, self._state(name))
        self._listeners.setdefault(name, []).append(entry)

        def forget() -> None:
            listeners = self._listeners.get(name, [])
            if entry in listeners:
                listeners.remove(entry)

        client.on_delete(forget)
        self._again.set()
        if self._watching is None or self._watching.done():
            self._watching = background_tasks.create(self._watch(), name="watch the workspace")

    def tell(self, name: str) -> None:
        """Tell everybody who looks at a run, and everybody who looks at all of them."""
        for key in dict.fromkeys((name, "")):
            for client, callback in list(self._listeners.get(key, ())):
                if client.is_deleted:
                    continue
                with client:
                    made = callback()
                    if inspect.isawaitable(made):
                        background_tasks.create(_awaited(made, client), name=f"a change of {name}")

    async def _watch(self) -> None:
        while any(self._listeners.values()):
            try:
                await self._watch_these(self._folders())
            except FileNotFoundError:
                # A run was deleted between being listed and being watched.
                await asyncio.sleep(_GATHER_MS / 1000)

    async def _watch_these(self, folders: list[Path]) -> None:
        """Watch until somebody looks at something else, or other runs go."""
        self._again.clear()
        async for batch in awatch(
            *folders,
            recursive=False,
            debounce=_GATHER_MS,
            step=_GATHER_MS // 2,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            stop_event=self._again,
        ):
            for name in sorted({self._name(Path(path)) for _, path in batch} | self._noticed()):
                self.tell(name)
            if not any(self._listeners.values()) or self._folders() != folders:
                break

    def _folders(self) -> list[Path]:
        runs, experiments = self._library.workspace.runs, experiments_folder(self._library.workspace)
        runs.mkdir(parents=True, exist_ok=True)
        named = {name for name, listeners in self._listeners.items() if listeners and name}
        wanted = {self._library.workspace.folder / n for n in named if n.startswith("experiments/")}
        wanted |= {folder / "rows" for folder in wanted}
        wanted |= {
            runs / name for name in named | set(self._library.under_way()) if not name.startswith("experiments/")
        }
        return [runs, *([experiments] if experiments.is_dir() else []), *sorted(w for w in wanted if w.is_dir())]

    def _name(self, path: Path) -> str:
        workspace = self._library.workspace.folder.resolve()
        path = path if path.is_absolute() else Path.cwd() / path
        parts = path.relative_to(workspace).parts if path.is_relative_to(workspace) else path.parts
        if len(parts) > 1 and parts[0] == "experiments":
            return f"experiments/{parts[1]}"
        return parts[1] if len(parts) > 1 and parts[0] == "runs" else ""

    def _noticed(self) -> set[str]:
        """Runs that are not as they were at the last look.

        A process that dies leaves no trace, and what happens while the watch is renewed is told by nobody.
        """
        followed = {name for name, listeners in self._listeners.items() if listeners and name}
        wanted = followed | set(self._library.under_way())
        now = {name: self._state(name) for name in wanted | self._seen.keys()}
        changed = {name for name, state in now.items() if self._seen.get(name) != state}
        self._seen = {name: now[name] for name in wanted}
        return changed

    def _fresh(self, name: str) -> bool:
        """Whether a run goes, or changed since a page could have been begun that is still being made."""
        busy, written = self._state(name)
        return busy or time.time_ns() - written < PAGE_TIMEOUT_S * 1e9 or name in self._library.under_way()

    def _state(self, name: str) -> tuple[bool, int]:
        """Whether somebody writes a run or an experiment, and when it was last written."""
        workspace = self._library.workspace
        try:
            if name.startswith("experiments/"):
                return ExperimentFolder.activity(workspace.folder / name)
            folder = workspace.runs / name
            return Journal.busy_folder(folder), Manifest.stamp(folder)[0]
        except OSError:
            return False, 0


async def _awaited(made: Awaitable[None], client: Client) -> None:
    # A task has no page of its own, and what the callback does belongs into the one that listens.
    with client:
        await made
