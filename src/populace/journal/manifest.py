"""What a run is: enough to repeat it, and to know when one cannot."""

from __future__ import annotations

import functools
import getpass
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import pydantic

from populace.base.errors import DamagedRunError, RunNotFoundError, RunVersionError

FORMAT = 1
"""The version of the run folder; a newer one is refused before anything else of it is read."""

State = Literal["running", "complete", "stopped", "failed"]


class Status(pydantic.BaseModel):
    """The only part of a manifest that changes.

    Attributes:
        state: Whether the run is under way, came to its end, stopped early or failed.
        reason: Why it ended.
        steps: How many steps are committed, the beginning not counted.
        planned: How many there will be, where that is known.
        notes: What a reader of the results must know.
    """

    state: State = "running"
    reason: str = ""
    steps: int = 0
    planned: int | None = None
    notes: list[str] = []


class Parent(pydantic.BaseModel):
    """The run that a fork grew from: steps before `at` are the parent's."""

    run: str
    at: int


class Regime(pydantic.BaseModel):
    """The settings that hold from one step on; a fork adds one to its parent's."""

    since: int = 0
    parameters: dict[str, Any] = {}
    seed: int = 0
    model: str = "embedded"
    decider: str = "model"
    temperature: float = 1.0
    variation: dict[str, Any] = pydantic.Field(default={}, exclude_if=lambda variation: not variation)


class Manifest(pydantic.BaseModel):
    """The manifest of a run."""

    format: int = FORMAT
    run: str
    scenario: str
    scenario_hash: str
    regimes: list[Regime]
    interventions: list[dict[str, Any]] = []
    models: dict[str, str] = {}
    recording: str | None = None
    parent: Parent | None = None
    environment: dict[str, str] = {}
    created: str = ""
    status: Status = Status()

    @property
    def regime(self) -> Regime:
        """The settings that hold at the end."""
        return self.regimes[-1]

    def write(self, folder: Path) -> None:
        """Put the manifest in its place in one move."""
        target = folder / "manifest.json"
        beside = folder / f".manifest-{os.getpid()}.json"
        beside.write_text(self.model_dump_json(indent=2) + "\n")
        os.replace(beside, target)

    @staticmethod
    def stamp(folder: Path) -> tuple[int, int, int]:
        """What changes whenever the manifest of a folder is written: the time in nanoseconds, the file and its size."""
        stat = (folder / "manifest.json").stat()
        return stat.st_mtime_ns, stat.st_ino, stat.st_size

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest in a run folder."""
        path = folder / "manifest.json"
        if not path.is_file():
            raise RunNotFoundError(
                f"{folder} is not a run: it holds no manifest.json.", "`populace list` shows the runs."
            )
        try:
            data = json.loads(path.read_text())
        except ValueError as error:
            raise DamagedRunError(f"{path} is not readable: {error}.", "Restore it from a copy.") from error
        found = data.get("format") if isinstance(data, dict) else None
        if not isinstance(found, int):
            raise DamagedRunError(f"{path} names no format.", "Restore it from a copy.")
        if found > FORMAT:
            raise RunVersionError(
                f"{folder.name} was written in format {found}; this Populace reads up to {FORMAT}.", "Upgrade Populace."
            )
        try:
            return cls.model_validate(data)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise DamagedRunError(f"{path}: {where}: {first['msg']}.", "Restore it from a copy.") from error


def environment() -> Mapping[str, str]:
    """What the run was made with, and by whom."""
    return {**_installed(), "author": author()}


def author() -> str:
    """Who makes runs here: POPULACE_AUTHOR, else the name that git knows, else the login name."""
    return os.environ.get("POPULACE_AUTHOR", "").strip() or _git_name() or _login_name()


@functools.cache
def _git_name() -> str:
    try:
        said = subprocess.run(["git", "config", "user.name"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return ""
    return said.stdout.strip()


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


@functools.cache
def _installed() -> Mapping[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in ("populace", "polars", "numpy", "xllamacpp", "openai"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@functools.cache
def git_revision(folder: Path) -> str | None:
    """The revision of the working tree that holds the scenario, with + where it was changed since."""
    try:
        said = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.strip()


def now() -> str:
    """The wall clock, for the record only."""
    return datetime.now(UTC).isoformat(timespec="seconds")
