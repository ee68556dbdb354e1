"""Append-only record of one run: every question, answer and event, in order.

The journal is the only durable state. Anything that a run cannot rebuild by replaying it must be
written here before it is used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

import polars as pl

from populace.base.errors import JournalError, RunBusyError, RunNotFoundError
from populace.base.locks import acquire, is_locked
from populace.journal.manifest import Manifest
from populace.journal.segments import (
    Commit,
    committed_steps,
    read_commit,
    read_table,
    scan_table,
    table_path,
    verify_segment,
    write_segment,
    writing,
)
from populace.journal.table_rows import file_rows, joined_rows

START = "start"
"""The digest that the first segment of a run names as the one before it."""

PAUSE = ".pause"
"""While a run folder holds this file, whoever writes the run waits between two steps."""

_WAITING = "waiting"


class Record:
    """The record of a run, step by step, on disk or in memory."""

    manifest: Manifest

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.manifest.run

    def steps(self) -> list[int]:
        """The numbers of all committed steps, from 0, the beginning."""
        raise NotImplementedError

    def facts(self, step: int) -> dict[str, Any]:
        """What was noted with a step, without opening a table."""
        raise NotImplementedError

    def table(self, step: int, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame | None:
        """One table of a step, or some of its columns; None where the step has no such table."""
        raise NotImplementedError

    def scan(self, step: int, name: str) -> pl.LazyFrame | None:
        """One table of a step to be read in part, or None where the step has none."""
        table = self.table(step, name)
        return None if table is None else table.lazy()

    def rows(self, name: str, steps: Sequence[int], *where: pl.Expr, columns: Sequence[str] = ()) -> pl.DataFrame:
        """The rows of a table at some steps that meet every condition: the step, then its columns, or some of them."""
        tables = {step: table for step in steps if (table := self.table(step, name)) is not None and table.width}
        return joined_rows(tables, where, columns)

    def table_names(self, step: int) -> list[str]:
        """The names of the tables of a step."""
        raise NotImplementedError

    def commit(
        self, step: int, tables: Mapping[str, pl.DataFrame], facts: Mapping[str, Any], usage: Mapping[str, Any]
    ) -> None:
        """Write a step and make it part of the run."""
        raise NotImplementedError

    def usage(self) -> list[dict[str, Any]]:
        """What each of this run's own steps used."""
        raise NotImplementedError

    def paused(self) -> bool:
        """Whether somebody asked the run to wait between two steps."""
        return False

    def set_status(self, **changes: Any) -> None:
        """Change the status in the manifest, the only thing in it that changes."""
        self.manifest.status = self.manifest.status.model_copy(update=changes)

    def people(self, step: int) -> pl.DataFrame:
        """The population after a step, put together from the columns that each step changed."""
        steps = self.people_columns(step)
        tables = {earlier: self.table(earlier, "people") for earlier in set(steps.values())}
        parts = {name: table for name, earlier in steps.items() if (table := tables[earlier]) is not None}
        return pl.DataFrame([parts[name][name] for name in steps])

    def people_columns(self, step: int) -> dict[str, int]:
        """The columns of the population after a step, each with the step that wrote it last."""
        columns: list[str] = self.facts(step)["people"]["columns"]
        steps: dict[str, int] = {}
        for earlier in range(step, -1, -1):
            facts = self.facts(earlier)["people"]
            steps |= {name: earlier for name in facts["written"] if name in columns and name not in steps}
            if facts["rows"] or len(steps) == len(columns):
                break
        return {name: steps[name] for name in columns}


class MemoryRecord(Record):
    """A record that is kept for as long as the process lives."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._steps: list[tuple[dict[str, pl.DataFrame], dict[str, Any], dict[str, Any]]] = []

    def steps(self) -> list[int]:
        """The numbers of all steps so far."""
        return list(range(len(self._steps)))

    def facts(self, step: int) -> dict[str, Any]:
        """What was noted with a step."""
        return self._steps[step][1]

    def table(self, step: int, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame | None:
        """One table of a step, or some of its columns."""
        table = self._steps[step][0].get(name)
        return table if table is None or columns is None else table.select(columns)

    def table_names(self, step: int) -> list[str]:
        """The names of the tables of a step."""
        return list(self._steps[step][0])

    def commit(
        self, step: int, tables: Mapping[str, pl.DataFrame], facts: Mapping[str, Any], usage: Mapping[str, Any]
    ) -> None:
        """Keep a step."""
        self._steps.append((dict(tables), dict(facts), {"step": step, **usage}))

    def usage(self) -> list[dict[str, Any]]:
        """What each step used."""
        return [usage for _, _, usage in self._steps]


class Journal(Record):
    """A run folder: its manifest, its committed steps and, for a fork, its parent's.

    Args:
        folder: The run folder.
        manifest: Its manifest, where that was read already.
    """

    def __init__(self, folder: Path, manifest: Manifest | None = None) -> None:
        self.folder = folder
        self.manifest = manifest or Manifest.read(folder)
        self._parent: Journal | None = None
        self._commits: dict[int, Commit] = {}
        self._lock: IO[str] | None = None

    @classmethod
    def create(cls, folder: Path, manifest: Manifest) -> Self:
        """Make a run folder; the manifest is written before anything else."""
        with writing(folder / "manifest.json"):
            folder.mkdir(parents=True)
            manifest.write(folder)
            (folder / "steps").mkdir()
        return cls(folder, manifest)

    @property
    def parent(self) -> Journal | None:
        """The journal that a fork grew from."""
        if self._parent is None and self.manifest.parent is not None:
            folder = self.folder.parent / self.manifest.parent.run
            if not Journal.is_run(folder):
                raise RunNotFoundError(
                    f"{self.name} is a fork of {folder.name}, which is not there.",
                    f"A fork does not copy its parent's steps: put {folder.name} back beside it.",
                )
            self._parent = Journal(folder)
        return self._parent

    @property
    def first_own_step(self) -> int:
        """The first step that is in this folder rather than in a parent's."""
        return self.manifest.parent.at if self.manifest.parent else 0

    def steps(self) -> list[int]:
        """The numbers of all committed steps, from 0, the beginning."""
        own = committed_steps(self.folder / "steps")
        if own and own[0] != self.first_own_step:
            raise JournalError(f"{self.name}: its first step is {own[0]}, not {self.first_own_step}.")
        return [*range(self.first_own_step), *own]

    def holder(self, step: int) -> Journal:
        """The journal whose folder holds a step."""
        journal = self
        while step < journal.first_own_step and journal.parent is not None:
            journal = journal.parent
        return journal

    def commit_of(self, step: int) -> Commit:
        """What was committed with a step."""
        holder = self.holder(step)
        if step not in holder._commits:
            holder._commits[step] = read_commit(holder.folder / "steps", step)
        return holder._commits[step]

    def table(self, step: int, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame | None:
        """One table of a step, or some of its columns; None where the step has no such table."""
        return read_table(self.holder(step).folder / "steps", self.commit_of(step), name, columns)

    def scan(self, step: int, name: str) -> pl.LazyFrame | None:
        """One table of a step, of which only what is asked for is read; None where the step has none."""
        return scan_table(self.holder(step).folder / "steps", self.commit_of(step), name)

    def rows(self, name: str, steps: Sequence[int], *where: pl.Expr, columns: Sequence[str] = ()) -> pl.DataFrame:
        """The rows of a table at some steps that meet every condition: the step, then its columns, or some of them."""
        files: dict[int, Path] = {}
        size = 0
        for step in steps:
            commit = self.commit_of(step)
            path = table_path(self.holder(step).folder / "steps", commit, name)
            if path is not None:
                files[step] = path
                size += commit.files[f"{name}.parquet"][0]
        return file_rows(files, where, columns, size=size)

    def table_names(self, step: int) -> list[str]:
        """The names of the tables of a step."""
        return [name.removesuffix(".parquet") for name in self.commit_of(step).files]

    def facts(self, step: int) -> dict[str, Any]:
        """What was noted with a step, without opening a table."""
        return self.commit_of(step).facts

    def verify(self, step: int) -> None:
        """Raise DamagedRunError unless the segment is as it was committed."""
        before = self.commit_of(step - 1).digest if step else START
        verify_segment(self.holder(step).folder / "steps", self.commit_of(step), before)

    def digest(self) -> str:
        """One hash for everything committed."""
        steps = self.steps()
        return self.commit_of(steps[-1]).digest if steps else START

    def commit(
        self, step: int, tables: Mapping[str, pl.DataFrame], facts: Mapping[str, Any], usage: Mapping[str, Any]
    ) -> None:
        """Write a step and make it part of the run."""
        previous = self.commit_of(step - 1).digest if step else START
        self._commits[step] = write_segment(self.folder / "steps", step, tables, previous, facts)
        with writing(self.folder / "usage.jsonl"), (self.folder / "usage.jsonl").open("a") as file:
            file.write(json.dumps({"step": step, **usage}) + "\n")

    def usage(self) -> list[dict[str, Any]]:
        """What each of this run's own steps used."""
        path = self.folder / "usage.jsonl"
        lines = path.read_text().splitlines() if path.is_file() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def set_status(self, **changes: Any) -> None:
        """Change the status in the manifest and write it."""
        super().set_status(**changes)
        with writing(self.folder / "manifest.json"):
            self.manifest.write(self.folder)

    def lock(self) -> None:
        """Hold the run for writing until `release`; a second process is refused."""
        with writing(self.folder / ".lock"):
            file = (self.folder / ".lock").open("a+")
        try:
            acquire(file)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip()
            file.close()
            raise RunBusyError(
                f"{self.name} is being written by another process{f' ({holder})' if holder else ''}.",
                "Wait for it to end; watch it with `populace show`.",
            ) from error
        file.truncate(0)
        file.write(f"pid {os.getpid()}")
        file.flush()
        self._lock = file
        self.pause(False)

    def release(self) -> None:
        """Let other processes write the run."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def writer(self) -> int | None:
        """The process that is writing the run now, where one is."""
        return self.last_writer(self.folder) if self.busy() else None

    @staticmethod
    def last_writer(folder: Path, since: float = 0.0) -> int | None:
        """The process that locked a run folder last, whether it has ended or not; None where none did.

        Args:
            folder: The folder.
            since: A time of the wall clock; a lock that is older does not count.
        """
        lock = folder / ".lock"
        try:
            word, _, number = lock.read_text().partition(" ") if lock.stat().st_mtime >= since else ("", "", "")
        except OSError:
            return None
        return int(number) if word == "pid" and number.strip().isdecimal() else None

    @staticmethod
    def is_run(folder: Path) -> bool:
        """Whether a folder holds a run, readable or not."""
        return (folder / "manifest.json").is_file()

    def pause(self, on: bool = True) -> None:
        """Ask whoever writes the run to wait after the step under way, or to go on."""
        with writing(self.folder / PAUSE):
            if on:
                (self.folder / PAUSE).touch()
            else:
                (self.folder / PAUSE).unlink(missing_ok=True)

    def paused(self) -> bool:
        """Whether the run should wait; if its own writer asks, the file records that it does."""
        try:
            # Without O_CREAT: whoever lets the run go on in this moment is not overruled.
            file = os.open(self.folder / PAUSE, os.O_RDWR)
        except FileNotFoundError:
            return False
        with os.fdopen(file, "r+") as open_file:
            if self._lock is not None and not open_file.read():
                open_file.write(_WAITING)
        return True

    def waiting(self) -> bool:
        """Whether the run waits now, rather than finishing its step first."""
        try:
            return (self.folder / PAUSE).read_text() == _WAITING
        except FileNotFoundError:
            return False

    def busy(self) -> bool:
        """Whether a process is writing the run now."""
        return self._lock is not None or self.busy_folder(self.folder)

    @staticmethod
    def busy_folder(folder: Path) -> bool:
        """Whether a process is writing the run in a folder now, readable or not."""
        return is_locked(folder / ".lock")
