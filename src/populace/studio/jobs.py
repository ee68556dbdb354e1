"""Commands that Studio starts: each in a process of its own, which outlives Studio."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

from populace.base.errors import PopulaceError
from populace.engine.run import Run
from populace.engine.run_control import go_on, pause, stop
from populace.engine.workspace import Workspace
from populace.runs.overview import RunState, run_state

_TRIES_A_SECOND = 20
_PAST_START_S = 2.0
"""How old a lock may look beside the start of its process: file systems keep coarse times."""


class CommandError(PopulaceError):
    """A command ended badly; its own words."""

    code = "P600"


class CommandJob:
    """One command under way, or ended.

    Attributes:
        arguments: What was started, without `populace`.
        log: Where it writes what it says.
    """

    def __init__(self, arguments: tuple[str, ...], workspace: Workspace, log: Path) -> None:
        self.arguments, self.log = arguments, log
        self._workspace = workspace
        self._began = time.time()
        self._run: str | None = None
        with log.open("wb") as file, log.with_suffix(".json").open("wb") as report:
            self._process = subprocess.Popen(
                [*_POPULACE, *arguments, "--json"],
                stdin=subprocess.DEVNULL,
                stdout=report,
                stderr=file,
                cwd=workspace.folder,
                env=_variables(workspace),
                # Ctrl-C in Studio's terminal is meant for Studio.
                start_new_session=True,
            )

    @property
    def state(self) -> Literal["starting", "running", "ended", "failed"]:
        """How far it is: without a run folder yet, writing one, or over."""
        code = self._process.poll()
        if code is None:
            return "starting" if self.run is None else "running"
        return "failed" if code else "ended"

    @property
    def run(self) -> str | None:
        """The run that it writes, once there is one."""
        if self._run is None:
            self._run = self._written()
        return self._run

    def _written(self) -> str | None:
        return self._workspace.written_by(self._process.pid, self._began - _PAST_START_S)

    @property
    def said(self) -> str:
        """What it said so far: its progress, or the paragraph of its error."""
        try:
            return self.log.read_text(errors="replace").strip()
        except FileNotFoundError:
            return ""

    @property
    def error(self) -> str:
        """Why it failed, in the words of the command."""
        return self.said.rpartition("\r")[2][-4_000:] if self.state == "failed" else ""

    def kill(self) -> None:
        """End its process at once; a run that it wrote can be resumed."""
        self._process.kill()
        self._process.wait()

    async def named(self) -> str:
        """Wait until the run has a folder; CommandError if it never gets one."""
        while self.run is None:
            if self.state in ("ended", "failed") and self._written() is None:
                raise CommandError(self.error or f"`{command(*self.arguments)}` made no run.")
            await asyncio.sleep(1 / _TRIES_A_SECOND)
        return self.run

    async def ended(self) -> Any:
        """Wait until it is over and return what it reports as data; CommandError if it failed."""
        while self._process.poll() is None:
            await asyncio.sleep(1 / _TRIES_A_SECOND)
        return _reported(self.log.with_suffix(".json").read_bytes(), self.said, self.arguments)


class Jobs:
    """The commands that were started here.

    Args:
        workspace: Where they work.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.started: list[CommandJob] = []
        self._asked = 0

    def start(self, *arguments: str) -> CommandJob:
        """Start a command that goes on by itself, whatever becomes of Studio."""
        for job in self.started:
            job.state  # noqa: B018  Asking takes leave of a child that ended.
        job = self._job(arguments, len(self.started))
        self.started.append(job)
        return job

    async def ask(self, *arguments: str) -> Any:
        """Run a command to its end and return what it reports as data; whoever gives up waiting ends it."""
        # Not a process of asyncio: Python 3.11 waits for ever where the start of one is cancelled halfway.
        self._asked += 1
        job = self._job(arguments, f"asked-{self._asked}")
        try:
            return await job.ended()
        except asyncio.CancelledError:
            job.kill()
            raise
        finally:
            for file in (job.log, job.log.with_suffix(".json")):
                file.unlink(missing_ok=True)

    def _job(self, arguments: tuple[str, ...], number: object) -> CommandJob:
        folder = self.workspace.folder / ".studio"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")
        return CommandJob(arguments, self.workspace, folder / f"{arguments[0]}-{os.getpid()}-{number}.log")

    def condition(self, run: Run) -> RunState:
        """How it stands with a run, its process included."""
        return run_state(run.journal)

    def pause(self, run: Run) -> None:
        """Have a run wait after the step under way."""
        pause(run.journal)

    def stop(self, run: Run) -> None:
        """Have a run stop, resumable."""
        stop(run.journal)

    def resume(self, run: Run, *options: str) -> CommandJob | None:
        """Let a paused run go on, or start a process for one that has none."""
        if run.journal.busy():
            go_on(run.journal)
            return None
        return self.start("resume", run.name, *options)


def command(*arguments: str) -> str:
    """A command as one would type it.

    Example:
        >>> command("fork", "norms-1", "--set", "days=3 4")
        "populace fork norms-1 --set 'days=3 4'"
    """
    return shlex.join(["populace", *arguments])


def _reported(said: bytes, complained: str, arguments: tuple[str, ...]) -> Any:
    """The data of the one document that a command writes."""
    try:
        document = json.loads(said.decode().strip().rpartition("\n")[2])
    except ValueError:
        told = complained.strip().rpartition("\r")[2][-4_000:]
        raise CommandError(told or f"`{command(*arguments)}` failed and said nothing.") from None
    if document["status"] != "ok":
        error = document["error"]
        raise CommandError(error["message"], error.get("hint") or None)
    return document["data"]


_POPULACE = (sys.executable, "-m", "populace")


def _variables(workspace: Workspace) -> dict[str, str]:
    return os.environ | {"POPULACE_WORKSPACE": str(workspace.folder.resolve()), "COLUMNS": "120"}
