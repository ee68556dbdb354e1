"""The manifest of a run: everything that is needed to repeat it, and its status.

Only the status changes after the manifest was written. The format is checked before any other field is read.
"""

from __future__ import annotations

import contextlib
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
from typing import Literal

import pydantic

from populace.base.errors import DamagedRunError, RunNotFoundError, RunVersionError
from populace.journal.interventions import AnyIntervention
from populace.journal.settings import Regime

FORMAT = 1
"""The version of the run folder; a newer one is refused before anything else of it is read."""

State = Literal["running", "complete", "stopped", "failed"]
StopKind = Literal["done", "scenario", "budget", "service", "failures", "interrupted", "error"]


class Stop(pydantic.BaseModel):
    """Why a run ended, as data.

    Attributes:
        kind: All steps are `done`; the `scenario` ended it; a `budget` is spent; the `service` of a model failed; it
            was `interrupted`; or an `error` ended it. Earlier versions wrote `failures` after many failures in a row.
        limit: The limit that was reached: calls, tokens, money or seconds.
        allowed: The value of the limit.
        spent: What was spent of it.
    """

    kind: StopKind
    limit: str | None = None
    allowed: float | None = None
    spent: float | None = None


class Status(pydantic.BaseModel):
    """The only part of a manifest that changes.

    Attributes:
        state: Whether the run is under way, came to its end, stopped early or failed.
        reason: Why it ended, in words.
        stop: Why it ended, as data; None while it goes, and in folders written before this was recorded.
        steps: How many steps are committed, the beginning not counted.
        planned: How many there will be, where that is known.
        notes: What a reader of the results must know.
    """

    state: State = "running"
    reason: str = ""
    stop: Stop | None = pydantic.Field(default=None, exclude_if=lambda stop: stop is None)
    steps: int = 0
    planned: int | None = None
    notes: list[str] = []


class Parent(pydantic.BaseModel):
    """The run that a fork grew from: steps before `at` are the parent's."""

    run: str
    at: int


class Manifest(pydantic.BaseModel):
    """The manifest of a run."""

    format: int = FORMAT
    run: str
    scenario: str
    scenario_hash: str
    regimes: list[Regime]
    interventions: list[AnyIntervention] = []
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

    def regime_at(self, step: int) -> Regime:
        """The settings that hold at a step."""
        return next(regime for regime in reversed(self.regimes) if regime.since <= step)

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
        version_number = data.get("format") if isinstance(data, dict) else None
        if not isinstance(version_number, int):
            raise DamagedRunError(f"{path} names no format.", "Restore it from a copy.")
        if version_number > FORMAT:
            raise RunVersionError(
                f"{folder.name} was written in format {version_number}; this Populace reads up to {FORMAT}.",
                "Upgrade Populace.",
            )
        try:
            return cls.model_validate(data)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise DamagedRunError(f"{path}: {where}: {first['msg']}.", "Restore it from a copy.") from error


def environment() -> dict[str, str]:
    """What a run was made with: versions, the author and, in a git working tree, its revision."""
    revision = _git("describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*", folder=Path.cwd())
    return {**_versions(), "author": author(), **({"git": revision} if revision else {})}


def author() -> str:
    """Who makes runs here: POPULACE_AUTHOR, else the name that git knows, else the login name."""
    return os.environ.get("POPULACE_AUTHOR", "").strip() or _git("config", "user.name", folder=None) or _login_name()


@functools.cache
def _git(*arguments: str, folder: Path | None) -> str:
    """What a git command prints; nothing where it fails."""
    try:
        result = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.strip()


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


@functools.cache
def _versions() -> Mapping[str, str]:
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for package in ("populace", "polars", "numpy", "xllamacpp", "openai"):
        with contextlib.suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


def now() -> str:
    """The wall clock, for the record only."""
    return datetime.now(UTC).isoformat(timespec="seconds")
