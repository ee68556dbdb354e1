"""The manifest of a run: everything that is needed to repeat it, and its status.

Only the status changes after the manifest was written. The format is checked before any other field is read.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import hashlib
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

from populace.base.documents import DocumentError, name_problem, read_json
from populace.base.errors import (
    BudgetError,
    DamagedRunError,
    InterruptedRunError,
    ModelError,
    RunNotFoundError,
    RunVersionError,
    StoppedError,
)
from populace.journal.intervention_list import AnyIntervention
from populace.journal.segments import write_file
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

    @classmethod
    def of(cls, error: StoppedError | ModelError) -> Stop:
        """Why a run stopped early, from the error that stopped it."""
        if isinstance(error, BudgetError):
            return cls(kind="budget", limit=error.limit, allowed=error.allowed, spent=error.spent)
        return cls(kind="interrupted" if isinstance(error, InterruptedRunError) else "service")


class End(pydantic.BaseModel):
    """What the manifest records of the end of a journal, so that what is missing, added or changed is noticed.

    Attributes:
        digest: The digest of the last committed step.
        settings: The digest of everything in the manifest besides the status.
        usage: The number of bytes of `usage.jsonl`, and their digest.
    """

    digest: str
    settings: str
    usage: tuple[int, str]


class Status(pydantic.BaseModel):
    """The only part of a manifest that changes.

    Attributes:
        state: Whether the run is under way, came to its end, stopped early or failed.
        reason: Why it ended, in words.
        stop: Why it ended, as data; None while it goes, and in folders written before this was recorded.
        steps: How many steps are committed, the beginning not counted.
        planned: How many there will be, where that is known.
        notes: What a reader of the results must know.
        abandoned_calls: How many calls were made in steps that were abandoned; their replies are in the call store.
        end: Binds the end of the journal; None in folders written before this was recorded.
    """

    state: State = "running"
    reason: str = ""
    stop: Stop | None = pydantic.Field(default=None, exclude_if=lambda stop: stop is None)
    steps: int = 0
    planned: int | None = None
    notes: list[str] = []
    abandoned_calls: int = pydantic.Field(default=0, ge=0, exclude_if=lambda count: not count)
    end: End | None = pydantic.Field(default=None, exclude_if=lambda end: end is None)


class Parent(pydantic.BaseModel):
    """The run that a fork grew from: steps before `at` are the parent's."""

    run: str
    at: int = pydantic.Field(ge=1)

    @pydantic.field_validator("run")
    @classmethod
    def _name_beside(cls, run: str) -> str:
        if problem := name_problem(run):
            raise ValueError(problem)
        return run


class Manifest(pydantic.BaseModel):
    """The manifest of a run."""

    format: int = FORMAT
    run: str
    scenario: str
    scenario_hash: str
    regimes: list[Regime] = pydantic.Field(min_length=1)
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
        return next((regime for regime in reversed(self.regimes) if regime.since <= step), self.regimes[0])

    def write(self, folder: Path) -> None:
        """Put the manifest in its place in one move."""
        beside = f"{folder}/.manifest-{os.getpid()}.json"
        write_file(beside, f"{self.model_dump_json(indent=2)}\n".encode())
        os.replace(beside, f"{folder}/manifest.json")

    @staticmethod
    def stamp(folder: Path) -> tuple[int, int, int]:
        """What changes whenever the manifest of a folder is written: the time in nanoseconds, the file and its size."""
        stat = (folder / "manifest.json").stat()
        return stat.st_mtime_ns, stat.st_ino, stat.st_size

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest in a run folder."""
        path = folder / "manifest.json"
        try:
            data = read_json(path)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise RunNotFoundError(
                f"{folder} is not a run: it holds no manifest.json.", "`populace list` shows the runs."
            ) from error
        except OSError as error:
            raise DamagedRunError(f"{path} cannot be read: {error.strerror or error}.", _RESTORE) from error
        except DocumentError as error:
            raise DamagedRunError(f"{path} is not readable: {error}.", _RESTORE) from error
        version_number = data.get("format") if isinstance(data, dict) else None
        if not isinstance(version_number, int) or isinstance(version_number, bool):
            raise DamagedRunError(f"{path} names no format.", _RESTORE)
        if version_number > FORMAT:
            raise RunVersionError(
                f"{folder.name} was written in format {version_number}; this Populace reads up to {FORMAT}.",
                "Upgrade Populace.",
            )
        try:
            manifest = cls.model_validate(data)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise DamagedRunError(f"{path}: {where}: {first['msg']}.", _RESTORE) from error
        except RecursionError as error:
            raise DamagedRunError(f"{path} is nested too deep.", _RESTORE) from error
        if problem := name_problem(manifest.run):
            raise DamagedRunError(f"{path}: run: {problem}.", _RESTORE)
        return manifest


_RESTORE = "Restore it from a copy."


def settings_digest(data: Mapping[str, Any]) -> str:
    """One hash for everything in a manifest besides its status, from the data as they stand in its file."""
    settings = {name: value for name, value in data.items() if name != "status"}
    return hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=16).hexdigest()


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
