"""Append-only record of one run: every question, answer and event, in order.

The journal is the only durable state. Anything that a run cannot rebuild by replaying it must be
written here before it is used.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

import polars as pl

from populace.base.documents import DocumentError, parse_json_object, read_text, refuse_outside_links
from populace.base.errors import DamagedRunError, RunBusyError, RunNotFoundError
from populace.base.locks import acquire, is_locked
from populace.base.plain_tables import Table
from populace.journal.manifest import End, Manifest, settings_digest
from populace.journal.record import Record
from populace.journal.segments import (
    Commit,
    committed_steps,
    read_commit,
    read_table,
    scan_table,
    table_path,
    verify_segment,
    write_file,
    write_segment,
    writing,
)
from populace.journal.table_rows import file_rows

START = "start"
"""The digest that the first segment of a run names as the one before it."""

PAUSE = ".pause"
"""While a run folder holds this file, whoever writes the run waits between two steps."""

MAX_FORKS = 1000
"""How many forks of forks may lie one behind the other."""

_WAITING = "waiting"
_EXISTS = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


class Journal(Record):
    """A run folder: its manifest, its committed steps and, for a fork, its parent's.

    Args:
        folder: The run folder.
        manifest: Its manifest, where that was read already.
    """

    def __init__(self, folder: Path, manifest: Manifest | None = None) -> None:
        self.folder = folder
        self.manifest = manifest or Manifest.read(folder)
        refuse_outside_links(folder, skip=("steps",))
        self._parent: Journal | None = None
        self._descent = {folder.name}
        self._parent_checked = False
        self._commits: dict[int, Commit] = {}
        self._lock: IO[str] | None = None
        self._usage_hash: Any = None
        self._settings = ""

    @classmethod
    def create(cls, folder: Path, manifest: Manifest) -> Self:
        """Make a run folder; it appears with its manifest in one move.

        Raises:
            FileExistsError: There is a file or folder of this name.
        """
        beside = folder.parent / f".new-{os.getpid()}-{threading.get_ident()}"
        with writing(folder / "manifest.json"):
            (beside / "steps").mkdir(parents=True)
            journal = cls(beside, manifest)
            journal.folder, journal._descent = folder, {folder.name}
            journal._bind(journal.digest_before(journal.first_own_step))
            manifest.write(beside)
        try:
            os.rename(beside, folder)
        except OSError as error:
            shutil.rmtree(beside)
            if error.errno in _EXISTS:
                raise FileExistsError(error.errno, f"{folder} exists already") from error
            with writing(folder / "manifest.json"):
                raise
        return journal

    @property
    def parent(self) -> Journal | None:
        """The journal that a fork grew from."""
        if self._parent is None and self.manifest.parent is not None:
            folder = self.folder.parent / self.manifest.parent.run
            if folder.name in self._descent:
                raise DamagedRunError(
                    f"{self.name} is a fork of {folder.name}, which is a fork of {self.name} itself.",
                    "Restore manifest.json from a copy: a run cannot be its own ancestor.",
                )
            if len(self._descent) > MAX_FORKS:
                raise DamagedRunError(f"{self.name} is a fork of more than {MAX_FORKS} forks, one behind the other.")
            if not Journal.is_run(folder):
                raise RunNotFoundError(
                    f"{self.name} is a fork of {folder.name}, which is not there.",
                    f"A fork does not copy its parent's steps: put {folder.name} back beside it.",
                )
            parent = Journal(folder)
            self._descent.add(folder.name)
            parent._descent = self._descent
            self._parent = parent
        return self._parent

    @property
    def first_own_step(self) -> int:
        """The first step that is in this folder rather than in a parent's."""
        return self.manifest.parent.at if self.manifest.parent else 0

    def steps(self) -> list[int]:
        """The numbers of all committed steps, from 0, the beginning."""
        own = committed_steps(self.folder / "steps", self._commits)
        if own and own[0] != self.first_own_step:
            raise DamagedRunError(f"{self.name}: its first step is {own[0]}, not {self.first_own_step}.")
        self._check_parents()
        return [*range(self.first_own_step), *own]

    def _check_parents(self) -> None:
        """Raise DamagedRunError where a fork leaves its parent after the parent's last step."""
        journal = self
        while not journal._parent_checked and (parent := journal.parent) is not None:
            own = committed_steps(parent.folder / "steps", parent._commits)
            count = own[-1] + 1 if own else parent.first_own_step
            if journal.first_own_step > count:
                raise DamagedRunError(
                    f"{journal.name} is a fork of {parent.name} at step {journal.first_own_step}, "
                    f"but {parent.name} has only {count} steps."
                )
            journal._parent_checked = True
            journal = parent

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
        files: dict[int, str] = {}
        file, size = f"{name}.parquet", 0
        for step in steps:
            commit = self.commit_of(step)
            path = table_path(f"{self.holder(step).folder}/steps", commit, name) if file in commit.files else None
            if path is not None:
                files[step] = path
                size += commit.files[file][0]
        return file_rows(files, where, columns, size=size)

    def table_names(self, step: int) -> list[str]:
        """The names of the tables of a step."""
        return [name.removesuffix(".parquet") for name in self.commit_of(step).files]

    def facts(self, step: int) -> dict[str, Any]:
        """What was noted with a step, without opening a table."""
        return self.commit_of(step).facts

    def verify(self, step: int) -> None:
        """Raise DamagedRunError unless the segment is as it was committed."""
        verify_segment(self.holder(step).folder / "steps", self.commit_of(step), self.digest_before(step))

    def digest(self) -> str:
        """One hash for everything committed."""
        steps = self.steps()
        return self.commit_of(steps[-1]).digest if steps else START

    def digest_before(self, step: int) -> str:
        """The digest that a step names as the one before it."""
        return self.commit_of(step - 1).digest if step else START

    def commit(
        self, step: int, tables: Mapping[str, Table], facts: Mapping[str, Any], usage: Mapping[str, Any]
    ) -> None:
        """Write a step and make it part of the run."""
        self._commits[step] = write_segment(f"{self.folder}/steps", step, tables, self.digest_before(step), facts)
        # Texts in place of paths here, which take longer to make than a small step to write.
        path = f"{self.folder}/usage.jsonl"
        with writing(path):
            if self._usage_hash is None:
                append_line(Path(path), "")
                self._usage_hash = hashlib.blake2b(Path(path).read_bytes(), digest_size=16)
            line = f"{json.dumps({'step': step, **usage})}\n".encode()
            size = write_file(path, line, append=True)
            self._usage_hash.update(line)
            self._bind(self._commits[step].digest, size)

    def _bind(self, digest: str, usage_bytes: int = 0) -> None:
        """Set what the manifest records of the journal's end; the next `set_status` writes it."""
        self._settings = self._settings or settings_digest(json.loads(self.manifest.model_dump_json()))
        usage = self._usage_hash.hexdigest() if self._usage_hash is not None else ""
        super().set_status(end=End(digest=digest, settings=self._settings, usage=(usage_bytes, usage)))

    def usage(self) -> list[dict[str, Any]]:
        """What each of this run's own steps used; a line that a power failure cut off does not count."""
        path = self.folder / "usage.jsonl"
        try:
            lines = read_text(path, links=False).splitlines()
            usage = [parse_json_object(line) for line in lines if line.endswith("}")]
            if not all(isinstance(line.get("step"), int) for line in usage):
                raise DocumentError("a line names no step")
        except FileNotFoundError:
            return []
        except (OSError, DocumentError) as error:
            raise DamagedRunError(
                f"{self.name}: usage.jsonl cannot be read: {error}.",
                "Restore it from a copy, or remove it: what the run cost is then not known.",
            ) from error
        return usage

    def set_status(self, **changes: Any) -> None:
        """Change the status in the manifest and write it."""
        super().set_status(**changes)
        end = self.manifest.status.end
        if end is not None and not self._settings:
            # Another version of Populace may have written the manifest with fewer or with more fields.
            self._settings = settings_digest(json.loads(self.manifest.model_dump_json()))
            super().set_status(end=end.model_copy(update={"settings": self._settings}))
        with writing(f"{self.folder}/manifest.json"):
            self.manifest.write(self.folder)

    def lock(self) -> None:
        """Hold the run for writing until `release`; a second process is refused."""
        with writing(self.folder / ".lock"):
            file = (self.folder / ".lock").open("a+", encoding="utf-8")
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

    def remove_if_empty(self) -> None:
        """Remove the folder of a run in which nothing has happened, because its settings cannot be right."""
        if len(self.steps()) == self.first_own_step:
            shutil.rmtree(self.folder)

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
            fresh = lock.stat().st_mtime >= since
            word, _, number = read_text(lock, most=100, links=False).partition(" ") if fresh else ("", "", "")
        except (OSError, DocumentError):
            return None
        return int(number) if word == "pid" and number.strip().isdecimal() and len(number) < 20 else None

    @staticmethod
    def is_run(folder: Path) -> bool:
        """Whether a folder holds a run, readable or not."""
        try:
            return os.path.lexists(folder / "manifest.json")
        except ValueError:  # A name with a NUL character.
            return False

    def pause(self, on: bool = True) -> None:
        """Ask whoever writes the run to wait after the step under way, or to go on."""
        with writing(self.folder / PAUSE):
            if on:
                (self.folder / PAUSE).touch()
            else:
                (self.folder / PAUSE).unlink(missing_ok=True)

    def paused(self, *, waits: bool = True) -> bool:
        """Whether the run should wait; if its own writer asks, and waits from now on, the file records that it does."""
        try:
            # Without O_CREAT: whoever lets the run go on in this moment is not overruled.
            file = os.open(f"{self.folder}/{PAUSE}", os.O_RDWR)
        except FileNotFoundError:
            return False
        with os.fdopen(file, "r+", encoding="utf-8") as open_file:
            if waits and self._lock is not None and not open_file.read():
                open_file.write(_WAITING)
        return True

    def waiting(self) -> bool:
        """Whether the run waits now, rather than finishing its step first."""
        try:
            return read_text(self.folder / PAUSE, most=100) == _WAITING
        except (OSError, DocumentError):
            return False

    def busy(self) -> bool:
        """Whether a process is writing the run now."""
        return self._lock is not None or self.busy_folder(self.folder)

    def written_elsewhere(self) -> bool:
        """Whether another process, or another part of this one, is writing the run now."""
        return self._lock is None and self.busy()

    @staticmethod
    def busy_folder(folder: Path) -> bool:
        """Whether a process is writing the run in a folder now, readable or not."""
        return is_locked(folder / ".lock")


def append_line(path: Path, line: str) -> None:
    """Add a line to a file of lines; one that a power failure cut off is ended first."""
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            cut_off = file.read(1) != b"\n"
            if cut_off:
                file.write(b"\n")
        if line:
            file.write(line.encode() + b"\n")
