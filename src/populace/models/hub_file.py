"""GGUF files on the Hugging Face hub: fetched once into the cache, verified by hash, used without a network afterwards.

A download that was interrupted goes on where it ended, also after the process was killed. (`hf_hub_download` of
huggingface_hub begins anew in that case, so only its parts for addresses, tokens and transfers are used here.)
HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE mean what they mean to huggingface_hub.
"""

from __future__ import annotations

import difflib
import errno
import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast
from urllib.parse import quote

from populace.base.errors import ModelFileError, ModelKeyError, ModelUnreachableError
from populace.base.locks import hold
from populace.models.artifacts import Progress, cache_folder, sha256

_FORM = "Write embedded:hf:OWNER/REPO/FILE.gguf, with @REVISION at its end to pin it."
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_PART_OF_SEVERAL = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SPARE_BYTES = 100_000_000


@dataclass(frozen=True)
class HubFile:
    """A GGUF file in a repository of the Hugging Face hub.

    Attributes:
        repository: Owner and name of the repository.
        file: The path of the file in it.
        revision: A commit, tag or branch; None for the newest when it was first fetched.

    Example:
        >>> HubFile.parse("acme/tiny-GGUF/tiny-q4.gguf@v1.0").revision
        'v1.0'
    """

    repository: str
    file: str
    revision: str | None = None

    @classmethod
    def parse(cls, text: str) -> HubFile:
        """Read `OWNER/REPO/FILE.gguf@REVISION`; raises ModelFileError for what is not such a name."""
        place, at, revision = text.partition("@")
        owner, _, rest = place.partition("/")
        name, _, file = rest.partition("/")
        parts = file.split("/")
        if not all(_NAME.fullmatch(each) for each in (owner, name)) or any(
            not each.isprintable() or each in ("", ".", "..") or set(each) & set('\\:?#*"<>|') for each in parts
        ):
            raise ModelFileError(f"{text!r} is not the name of a file on the Hugging Face hub.", _FORM)
        if not file.casefold().endswith(".gguf"):
            raise ModelFileError(f"{file!r} is not a GGUF file.", f"Choose one whose name ends in .gguf. {_FORM}")
        if _PART_OF_SEVERAL.search(file):
            raise ModelFileError(
                f"{file!r} is a part of a model that is split into several files.",
                "Choose a file that holds a whole model, or join the parts (`llama-gguf-split --merge`) and name the "
                "result: embedded:PATH",
            )
        if at and (not _REVISION.fullmatch(revision) or ".." in revision):
            raise ModelFileError(f"{revision!r} is not a revision.", _FORM)
        return cls(f"{owner}/{name}", file, revision or None)

    @property
    def name(self) -> str:
        """The name that is shown to users."""
        return f"{self.repository}/{self.file}" + (f"@{self.revision}" if self.revision else "")

    @property
    def pinned(self) -> bool:
        """Whether the revision is a commit, which never changes."""
        return self.revision is not None and _COMMIT.fullmatch(self.revision) is not None

    @property
    def folder(self) -> Path:
        """The folder of the repository in the cache."""
        return cache_folder() / "models" / "hub" / self.repository

    @property
    def commit(self) -> str | None:
        """The commit of the file in the cache; None if it was never fetched."""
        if self.pinned:
            return self.revision
        reference = self._reference
        text = reference.read_text("ascii", errors="replace").strip() if reference.is_file() else ""
        return text if _COMMIT.fullmatch(text) else None

    @property
    def path(self) -> Path | None:
        """The path of the file in the cache, if its commit is known."""
        return self.folder / self.commit / self.file if self.commit else None

    @property
    def record(self) -> dict[str, Any] | None:
        """What was recorded when the file was fetched: commit, size and SHA-256; None if it is not in the cache."""
        path = self.path
        try:
            record = json.loads(_record_path(path).read_text("utf-8")) if path else None
            if path is None or record is None or path.stat().st_size != record["size"]:
                return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return dict(record)

    def present(self) -> bool:
        """Whether the whole file is in the cache."""
        return self.record is not None

    def fetch(self, progress: Progress | None = None, *, refresh: bool = False) -> Path:
        """Download the file unless it is in the cache, verify it, and return its path.

        Args:
            progress: Called while it is downloaded.
            refresh: Whether to ask the hub for a newer file of an unpinned revision.
        """
        if refresh or not self.present():
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                with hold(self.folder / ".lock"):
                    if refresh or not self.present():
                        self._download(progress)
            except OSError as error:
                if error.errno is None:  # The library raises this for a transfer that is shorter than announced.
                    raise _network_error(self.name, _endpoint(), error) from error
                raise _disk_error(self.folder, error) from error
        return cast(Path, self.path)

    @property
    def _reference(self) -> Path:
        return self.folder / "refs" / quote(self.revision or "main", safe="")

    def _download(self, progress: Progress | None) -> None:
        commit, digest, size = self._find()
        path = self.folder / commit / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        here = self.__class__(self.repository, self.file, commit)
        if not here.present():
            # Bytes of one file are never continued with those of another, so the name holds the hash.
            part = path.with_name(f"{path.name}.{digest[:16]}.part")
            self._transfer(commit, part, size, progress)
            actual = sha256(part)
            if _SHA256.fullmatch(digest) and actual != digest:
                part.unlink()
                raise ModelFileError(
                    f"{self.name} hashes to {actual[:12]}…, not to {digest[:12]}… as the hub says; it was not used.",
                    "Try again; if it persists, the source or the network between is broken.",
                )
            os.replace(part, path)
            record = {"repository": self.repository, "file": self.file, "commit": commit}
            _write(_record_path(path), json.dumps(record | {"sha256": actual, "size": path.stat().st_size}))
        if not self.pinned:
            self._reference.parent.mkdir(exist_ok=True)
            _write(self._reference, commit)

    def _find(self) -> tuple[str, str, int]:
        """Commit, hash and size of the file according to the hub."""
        import huggingface_hub
        from huggingface_hub import errors

        endpoint = _endpoint()
        url = huggingface_hub.hf_hub_url(self.repository, self.file, revision=self.revision, endpoint=endpoint)
        try:
            metadata = huggingface_hub.get_hf_file_metadata(url, endpoint=endpoint)
        except errors.GatedRepoError:
            page = f"{endpoint}/{self.repository}"
            raise ModelKeyError(
                f"{self.repository} is open only to those who have accepted its terms.",
                f"Accept them at {page}, and set HF_TOKEN to a token of your account ({endpoint}/settings/tokens).",
            ) from None
        except errors.RepositoryNotFoundError:
            raise ModelFileError(
                f"{endpoint} has no repository {self.repository}, or it is private.",
                f"Check the name; for a private one set HF_TOKEN. {_FORM}",
            ) from None
        except errors.RevisionNotFoundError:
            raise ModelFileError(
                f"{self.repository} has no revision {self.revision!r}.", "Name a commit, a tag or a branch of it."
            ) from None
        except errors.EntryNotFoundError:
            raise self._missing_file(endpoint) from None
        except errors.OfflineModeIsEnabled:
            raise ModelUnreachableError(
                f"{self.name} is not in the cache, and HF_HUB_OFFLINE forbids to fetch it.", "Unset HF_HUB_OFFLINE."
            ) from None
        except errors.HTTPError as error:  # type: ignore[attr-defined]
            raise _network_error(self.name, endpoint, error) from error
        if (
            not metadata.commit_hash
            or not _COMMIT.fullmatch(metadata.commit_hash)
            or not metadata.etag
            or metadata.size is None
        ):
            raise ModelFileError(f"{endpoint} does not answer like a Hugging Face hub.", "Check HF_ENDPOINT.")
        if not re.fullmatch(r"[0-9a-zA-Z]+", metadata.etag):
            raise ModelFileError(f"{endpoint} names no hash for {self.name}.", "Check HF_ENDPOINT.")
        return metadata.commit_hash, metadata.etag, metadata.size

    def _missing_file(self, endpoint: str) -> ModelFileError:
        """The error for a file that the repository does not hold, with the names of those like it."""
        import huggingface_hub
        from huggingface_hub import errors

        try:
            api = huggingface_hub.HfApi(endpoint=endpoint)
            files = api.list_repo_files(self.repository, revision=self.revision)
        except errors.HTTPError:  # type: ignore[attr-defined]
            files = []
        models = sorted(name for name in files if name.casefold().endswith(".gguf"))
        near = difflib.get_close_matches(self.file, models, n=3, cutoff=0.4) or models[:5]
        pin = f"@{self.revision}" if self.revision else ""
        guesses = " or ".join(f"embedded:hf:{self.repository}/{each}{pin}" for each in near)
        hint = f"Did you mean {guesses}?" if near else "It holds no GGUF file; look for a repository that does."
        return ModelFileError(f"{self.repository} has no file {self.file!r}.", hint)

    def _transfer(self, commit: str, part: Path, size: int, progress: Progress | None) -> None:
        """Download the bytes that are not there yet."""
        import huggingface_hub
        from huggingface_hub import errors, file_download
        from huggingface_hub.utils import build_hf_headers, disable_progress_bars  # type: ignore[attr-defined]

        endpoint = _endpoint()
        have = part.stat().st_size if part.is_file() else 0
        if have > size:
            part.unlink()
            have = 0
        free = shutil.disk_usage(part.parent).free
        if size - have + _SPARE_BYTES > free:
            needed, left = (size - have) / 1e9, free / 1e9
            raise ModelFileError(
                f"{self.name} needs {needed:.1f} GB more, and {part.parent} has {left:.1f} GB left.",
                "Free some space or set POPULACE_CACHE to another folder.",
            )
        url = huggingface_hub.hf_hub_url(self.repository, self.file, revision=commit, endpoint=endpoint)
        disable_progress_bars("huggingface_hub.http_get")
        try:
            with part.open("ab") as file:
                target = cast(BinaryIO, _Counter(file, have, size, progress))
                file_download.http_get(url, target, resume_size=have, headers=build_hf_headers(), expected_size=size)
        except errors.HTTPError as error:  # type: ignore[attr-defined]
            raise _network_error(self.name, endpoint, error) from error
        except ValueError as error:  # The library does not fetch what is over its limit.
            raise ModelFileError(f"{self.name} cannot be fetched: {error}", "Choose a smaller file.") from error


class _Counter:
    """A file that reports how much of it is written."""

    def __init__(self, file: IO[bytes], have: int, size: int, progress: Progress | None) -> None:
        self._file, self._size, self._progress = file, size, progress
        self._report(have)

    def write(self, chunk: bytes) -> int:
        written = self._file.write(chunk)
        self._report(self._file.tell())
        return written

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, position: int) -> int:
        return self._file.seek(position)

    def truncate(self) -> int:
        return self._file.truncate()

    def _report(self, have: int) -> None:
        if self._progress is not None:
            self._progress(have, self._size)


def _endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def _record_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _write(path: Path, text: str) -> None:
    """Write a small file so that it is there as a whole or not at all."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_text(text, "utf-8")
    os.replace(temporary, path)


def _network_error(name: str, endpoint: str, error: Exception) -> ModelUnreachableError:
    status = getattr(getattr(error, "response", None), "status_code", None)
    reason = f"it answered {status}" if status else f"{type(error).__name__}: {str(error)[:200]}"
    return ModelUnreachableError(
        f"{name} could not be fetched from {endpoint} ({reason}).",
        "Go online and run it again: what was downloaded is kept. HF_ENDPOINT names another hub.",
    )


def _disk_error(folder: Path, error: OSError) -> ModelFileError:
    full = error.errno == errno.ENOSPC
    reason = "the disk is full" if full else str(error)
    return ModelFileError(
        f"the model file could not be written to {folder}: {reason}.",
        "Free some space or set POPULACE_CACHE to another folder.",
    )
