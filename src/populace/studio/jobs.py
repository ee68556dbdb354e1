"""The commands that Studio starts, each in a process of its own that goes on when Studio is closed."""

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
from populace.engine.run_control import go_on
from populace.engine.workspace import Workspace

_POLLS_A_SECOND = 20
_CLOCK_SLACK_S = 2.0
"""How much older than its process a lock may look: file systems keep coarse times."""


class CommandError(PopulaceError):
    """A command failed; the message is the command's own."""

    code = "P600"


class CommandJob:
    """One command, running or ended.

    Attributes:
        arguments: The arguments of `populace`.
        log: The file that receives its standard error: progress and errors.
    """

    def __init__(self, arguments: tuple[str, ...], workspace: Workspace, log: Path) -> None:
        self.arguments, self.log = arguments, log
        self._report = log.with_suffix(".json")
        self._workspace = workspace
        self._began = time.time()
        self._run: str | None = None
        with log.open("wb") as errors, self._report.open("wb") as report:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "populace", *arguments, "--json"],
                stdin=subprocess.DEVNULL,
                stdout=report,
                stderr=errors,
                cwd=workspace.folder,
                env=os.environ
                | {"POPULACE_WORKSPACE": str(workspace.folder.resolve()), "COLUMNS": "120", "POPULACE_DESK": "studio"},
                # Ctrl-C in Studio's terminal is meant for Studio.
                start_new_session=True,
            )

    @property
    def state(self) -> Literal["starting", "running", "ended", "failed"]:
        """`starting` until it writes a run folder, then `running`, then `ended` or `failed`."""
        code = self._process.poll()
        if code is None:
            return "starting" if self.run is None else "running"
        return "failed" if code else "ended"

    @property
    def run(self) -> str | None:
        """The name of the run that it writes; None until there is one."""
        if self._run is None:
            self._run = self._find_run()
        return self._run

    def _find_run(self) -> str | None:
        return self._workspace.run_of_process(self._process.pid, self._began - _CLOCK_SLACK_S)

    @property
    def output(self) -> str:
        """What it has written to standard error: its progress, or the paragraph of its error."""
        try:
            return self.log.read_text(encoding="utf-8", errors="replace").strip()
        except FileNotFoundError:
            return ""

    @property
    def error(self) -> str:
        """The error message of a failed command; empty otherwise."""
        return _last_message(self.output) if self.state == "failed" else ""

    def kill(self) -> None:
        """Kill its process; a run that it was writing can be resumed."""
        self._process.kill()
        self._process.wait()

    def delete_files(self) -> None:
        """Delete what it wrote for Studio: its log and its report."""
        for file in (self.log, self._report):
            file.unlink(missing_ok=True)

    async def wait_for_run(self) -> str:
        """Wait until the run has a folder, and return its name.

        Raises:
            CommandError: The command ended without a run.
        """
        while self.run is None:
            if self.state in ("ended", "failed") and self._find_run() is None:
                raise CommandError(self.error or f"`{command(*self.arguments)}` made no run.")
            await asyncio.sleep(1 / _POLLS_A_SECOND)
        return self.run

    async def wait_for_result(self) -> Any:
        """Wait until it has ended, and return the data that it reports.

        Raises:
            CommandError: The command failed.
        """
        while self._process.poll() is None:
            await asyncio.sleep(1 / _POLLS_A_SECOND)
        return _parse_report(self._report.read_bytes(), self.output, self.arguments)


class Jobs:
    """Starts commands in a workspace.

    Attributes:
        started: The jobs that were started and go on by themselves, in their order.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.started: list[CommandJob] = []
        self._calls = 0

    def start(self, *arguments: str) -> CommandJob:
        """Start a command that goes on by itself, also when Studio is closed."""
        for job in self.started:
            job.state  # noqa: B018  Polling reaps a child process that has ended.
        job = self._job(arguments, len(self.started))
        self.started.append(job)
        return job

    async def call(self, *arguments: str) -> Any:
        """Run a command to its end and return the data that it reports; cancelling the call kills it."""
        # Not a process of asyncio: Python 3.11 waits for ever where the start of one is cancelled halfway.
        self._calls += 1
        job = self._job(arguments, f"call-{self._calls}")
        try:
            return await job.wait_for_result()
        except asyncio.CancelledError:
            job.kill()
            raise
        finally:
            job.delete_files()

    def _job(self, arguments: tuple[str, ...], number: object) -> CommandJob:
        folder = self.workspace.folder / ".studio"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        return CommandJob(arguments, self.workspace, folder / f"{arguments[0]}-{os.getpid()}-{number}.log")

    def resume(self, run: Run, *options: str) -> CommandJob | None:
        """Let a paused run go on, or start a process for one that has none; returns the job of that process."""
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


def _parse_report(report: bytes, output: str, arguments: tuple[str, ...]) -> Any:
    """The data in the JSON document that a command writes last."""
    try:
        document = json.loads(report.decode().strip().rpartition("\n")[2])
    except ValueError:
        message = _last_message(output)
        raise CommandError(message or f"`{command(*arguments)}` failed without a message.") from None
    if document["status"] != "ok":
        error = document["error"]
        raise CommandError(error["message"], error.get("hint") or None)
    return document["data"]


def _last_message(output: str) -> str:
    """What follows the last state of a progress bar."""
    return output.rpartition("\r")[2][-4_000:]
