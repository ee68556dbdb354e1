"""One committed folder for each step.

A segment is written beside its place and renamed into it, COMMIT last. COMMIT holds the size and
hash of every file and the digest of the segment before, so the digest of the last segment stands
for the whole journal, and whatever was truncated or edited is found and named.
"""

import contextlib
import errno
import functools
import hashlib
import itertools
import json
import os
import shutil
import stat
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.documents import DocumentError, name_problem, parse_json_object, read_text
from populace.base.errors import DamagedRunError, StorageError
from populace.base.plain_tables import Table, to_polars
from populace.base.small_tables import encode_small
from populace.base.table_files import UNREADABLE, reading_problem

COMMIT = "COMMIT"
READ_ERRORS = (
    *UNREADABLE,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What may be raised where the content of a folder is not what Populace writes."""
_MAX_COMMIT = 16_000_000
_SMALL_BYTES = 256_000
"""Files up to this size are compared with their hash whenever they are read, which takes little beside reading them."""
_RESTORE = "Restore it from a copy."
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_APPEND = _WRITE & ~os.O_TRUNC | os.O_APPEND


@dataclass(frozen=True)
class Commit:
    """What COMMIT says of a segment."""

    step: int
    files: dict[str, tuple[int, str]]
    previous: str
    facts: dict[str, Any]
    digest: str


def write_segment(
    steps: Path | str, step: int, tables: Mapping[str, Table], previous: str, facts: Mapping[str, Any]
) -> Commit:
    """Write the tables of a step and commit them in one move.

    Args:
        steps: The folder that holds the segments.
        step: Its number.
        tables: By name; a name with a slash goes into a folder.
        previous: The digest of the segment before.
        facts: What a reader should know without opening a table.
    """
    beside = f"{steps}/.{step:05d}-{os.getpid()}"
    with writing(beside):
        _make_folder(beside)
        if any("/" in name for name in tables):
            os.mkdir(f"{beside}/tables")
        files = _write_tables({f"{name}.parquet": table for name, table in tables.items()}, beside)
        body = {"step": step, "files": files, "previous": previous, "facts": dict(facts)}
        text = json.dumps(body, sort_keys=True) + "\n"
        write_file(f"{beside}/{COMMIT}", text.encode())
        os.replace(beside, f"{steps}/{step:05d}")
    return Commit(step, files, previous, dict(facts), _digest(text))


def _write_tables(tables: Mapping[str, Table], folder: str) -> dict[str, tuple[int, str]]:
    """Write tables to files in a folder; returns the size and hash of each."""
    files: dict[str, tuple[int, str]] = {}
    sinks = []
    for name, table in tables.items():
        content = encode_small(table)
        if content is None:
            sinks.append(
                to_polars(table).lazy().sink_parquet(f"{folder}/{name}", compression="lz4", statistics=False, lazy=True)
            )
            continue
        write_file(f"{folder}/{name}", content)
        files[name] = (len(content), _hash_bytes(content))
    if sinks:
        # All together: for tables that are not large, most of the time goes into the call itself.
        pl.collect_all(sinks, optimizations=pl.QueryOptFlags.none(), engine="streaming")
    for name in tables.keys() - files.keys():
        files[name] = (os.stat(f"{folder}/{name}").st_size, _hash(f"{folder}/{name}"))
    return {name: files[name] for name in tables}


def _make_folder(path: str) -> None:
    """Make an empty folder; what an earlier process with the same number left there is removed."""
    try:
        os.mkdir(path)
    except FileExistsError:
        shutil.rmtree(path, ignore_errors=True)
        os.mkdir(path)
    except FileNotFoundError:
        os.makedirs(path)


def write_file(path: str, content: bytes, *, append: bool = False) -> int:
    """Write a file, or add to its end, without a file object, which takes longer to make than a small file to write.

    Returns:
        How many bytes the file has.
    """
    file = os.open(path, _APPEND if append else _WRITE, 0o666)
    try:
        while content:
            content = content[os.write(file, content) :]
        return os.lseek(file, 0, os.SEEK_CUR)
    finally:
        os.close(file)


def committed_steps(steps: Path, known: Container[int] = ()) -> list[int]:
    """The numbers of the committed segments, in order; a gap is damage.

    Args:
        steps: The folder that holds the segments.
        known: Segments whose COMMIT was read before, and is not looked for again.
    """
    try:
        entries = list(os.scandir(steps))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DamagedRunError(f"{steps} cannot be read: {error.strerror or error}.", _RESTORE) from error
    numbers = []
    for entry in entries:
        # Another name for the same number, such as one in other digits, is not a step.
        if not (entry.name.isascii() and entry.name.isdecimal()) or f"{int(entry.name):05d}" != entry.name:
            continue
        if entry.is_symlink():
            raise DamagedRunError(f"{steps.parent.name}: step {entry.name} is a link to another place.", _RESTORE)
        # A text in place of a path: runs have thousands of steps, and this is asked often.
        number = int(entry.name)
        if number in known or os.path.isfile(f"{entry.path}/{COMMIT}"):
            numbers.append(number)
    numbers.sort()
    for before, after in itertools.pairwise(numbers):
        if after != before + 1:
            missing = f"{steps}/{before + 1:05d}"
            if os.path.isfile(f"{missing}/{COMMIT}") and not os.path.islink(missing):
                # A run in progress committed it while the folder was listed.
                return numbers[: numbers.index(after)]
            raise DamagedRunError(
                f"{steps.parent.name}: step {before + 1} is missing, and step {after} is there.", _RESTORE
            )
    return numbers


def read_commit(steps: Path, step: int) -> Commit:
    """What COMMIT says of a segment."""
    path = steps / f"{step:05d}" / COMMIT
    try:
        text = read_text(path, most=_MAX_COMMIT, links=False)
        body = parse_json_object(text)
        files = {name: (int(size), str(digest)) for name, (size, digest) in body["files"].items()}
        commit = Commit(int(body["step"]), files, str(body["previous"]), body["facts"], _digest(text))
        _check_commit(commit, step)
    except (OSError, DocumentError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise DamagedRunError(f"{steps.parent.name}, step {step}: COMMIT cannot be read ({what}).", _MEND) from error
    return commit


def _check_commit(commit: Commit, step: int) -> None:
    """Raise ValueError unless a commit has the shape that readers rely on, and names only files of its own step."""
    if commit.step != step:
        raise ValueError(f"it is the commit of step {commit.step}")
    for name in commit.files:
        if problem := _file_problem(name):
            raise ValueError(problem)
    people, statuses = commit.facts["people"], commit.facts.get("statuses", {})
    names = [*people["columns"], *people["written"]]
    if not all(isinstance(name, str) for name in names) or not isinstance(people["count"], int):
        raise ValueError("its facts about people cannot be read")
    counts = [*statuses.values(), *(commit.facts.get(name, 0) for name in ("scored", "sampled", "low_mass"))]
    if not all(isinstance(count, int) and 0 <= count < 2**53 for count in counts):
        raise ValueError("its counts of answers cannot be read")


@functools.lru_cache(maxsize=1024)
def _file_problem(name: str) -> str:
    """Why a name in COMMIT is not that of a table of its step; empty where it is. All steps have the same names."""
    leaf = name.removeprefix("tables/")
    return name_problem(leaf) or ("" if leaf.endswith(".parquet") else f"{leaf[:80]!r} is no table")


def read_table(steps: Path, commit: Commit, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame | None:
    """One table of a segment, or some of its columns; None where the step has none."""
    path = table_path(steps, commit, name)
    if path is None:
        return None
    try:
        return pl.read_parquet(path, columns=None if columns is None else list(columns))
    except UNREADABLE as error:
        raise DamagedRunError(
            f"{_where(path, commit.step)} cannot be read ({reading_problem(error)}).", _MEND
        ) from error


def scan_table(steps: Path, commit: Commit, name: str) -> pl.LazyFrame | None:
    """One table of a segment, to be read in part; None where the step has none."""
    path = table_path(steps, commit, name)
    return None if path is None else pl.scan_parquet(path)


def table_path(steps: Path | str, commit: Commit, name: str) -> str | None:
    """The file of a table, whose size and, if it is small, hash were checked; None where the step has no such table.

    It is a text in place of a path, because thousands are asked for at once.
    """
    file = f"{name}.parquet"
    if file not in commit.files:
        return None
    path = f"{steps}/{commit.step:05d}/{file}"
    size, digest = commit.files[file]
    _check_size(path, size, commit.step)
    if size <= _SMALL_BYTES:
        _check_content(path, digest, commit.step)
    return path


def verify_segment(steps: Path, commit: Commit, previous: str) -> None:
    """Raise DamagedRunError unless every file is as it was committed."""
    if commit.previous != previous:
        raise DamagedRunError(
            f"{steps.parent.name}, step {commit.step}: it does not follow from the step before, which was changed.",
            _MEND,
        )
    for name, (size, digest) in commit.files.items():
        path = f"{steps}/{commit.step:05d}/{name}"
        _check_size(path, size, commit.step)
        _check_content(path, digest, commit.step)


@contextlib.contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Raise errors of the disk as StorageError, also where a pipe that nobody reads stands in place of a file."""
    try:
        with _open_pipe(path):
            yield
    except (OSError, pl.exceptions.PolarsError) as error:
        folder = Path(path).parent
        codes = (errno.ENOSPC, errno.EDQUOT)
        if error.errno in codes if isinstance(error, OSError) else "No space left" in str(error):
            raise StorageError(
                f"the disk is full: {folder} cannot be written.",
                "Free some space and resume; nothing committed is lost.",
            ) from error
        if not isinstance(error, OSError):
            raise
        raise StorageError.not_writable(folder, error) from error


@contextlib.contextmanager
def _open_pipe(path: Path | str) -> Iterator[None]:
    """Keep a pipe open that stands in place of a file; OSError where nobody reads it, as it would be waited for."""
    try:
        is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        is_pipe = False
    if not is_pipe:
        yield
        return
    # If it were closed before the file is written, its reader would see the end and leave.
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    try:
        yield
    finally:
        os.close(descriptor)


_MEND = "Restore it from a copy, or fork the run before this step."


def _where(file: str, step: int) -> str:
    path = Path(file)
    run = path.parents[3 if path.parent.name == "tables" else 2].name
    return f"{run}, step {step}: {path.name}"


def _check_size(path: str, size: int, step: int) -> None:
    try:
        status = os.lstat(path)
        folder = os.lstat(os.path.dirname(path))
    except (OSError, ValueError) as error:
        raise DamagedRunError(f"{_where(path, step)} is missing.", _MEND) from error
    if not stat.S_ISREG(status.st_mode) or not stat.S_ISDIR(folder.st_mode):
        raise DamagedRunError(f"{_where(path, step)} is a link to another place, not a file.", _MEND)
    if status.st_size != size:
        word = "truncated" if status.st_size < size else "edited"
        raise DamagedRunError(f"{_where(path, step)} was {word}: {status.st_size} bytes, {size} were committed.", _MEND)


def _check_content(path: str, digest: str, step: int) -> None:
    try:
        actual = _hash(path)
    except OSError as error:
        raise DamagedRunError(f"{_where(path, step)} cannot be read: {error.strerror or error}.", _MEND) from error
    if actual != digest:
        raise DamagedRunError(f"{_where(path, step)} was edited after it was committed.", _MEND)


def _hash(path: str) -> str:
    with open(path, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size <= _SMALL_BYTES:
            return _hash_bytes(file.read())
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _hash_bytes(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _digest(text: str) -> str:
    return _hash_bytes(text.encode())
