"""Which code of others may be imported.

A run folder, an experiment or a design is data that names code: a scenario in a file, a scripted model, a measure. It
may come from somebody else, so the code is imported only if it is trusted. What ships or is installed as a package of
scenarios is known. What a user names on the command line or passes in Python is trusted by that act. Anything else is
trusted if a workspace remembers the hash of its content, or if the user says so now.

A workspace may be received as well, with a list of its own. Therefore each entry carries a mark that is made with a
key in the user's configuration folder: entries that somebody else wrote do not count.
"""

import contextlib
import hashlib
import hmac
import importlib.machinery
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from populace.base.documents import DocumentError, read_json
from populace.base.errors import UntrustedCodeError
from populace.base.folders import user_folder
from populace.base.modules import search_path

FILE = "trust.json"
"""The file of a workspace that remembers what is trusted."""


@dataclass(frozen=True)
class Code:
    """Code that a file names.

    Attributes:
        name: As the file names it.
        place: The files that would be imported, or the address that would be called.
        digest: The SHA-256 of their content.
        act: What would happen: `import`, `call` or `fetch`.
    """

    name: str
    place: str
    digest: str
    act: str = "import"

    def describe(self) -> str:
        """The code in one phrase."""
        return f"{self.name} would {self.act} {self.place} (SHA-256 {self.digest[:16]})"


Decision = Callable[[Sequence[Code]], bool]
"""Asks whether code is to be trusted."""

_DECISION: ContextVar[Decision | None] = ContextVar("populace_trust_decision", default=None)
_NAMED: set[str] = set()


def file_code(name: str, path: Path) -> Code:
    """The code in a file of Python; one that cannot be read has the hash of nothing."""
    resolved = path.resolve()
    return Code(name, str(resolved), _file_digest(resolved))


def module_code(name: str, module: str) -> Code:
    """The code of a module, with the packages around it; it is looked up without importing anything."""
    places, digests = [], []
    search: Sequence[str] | None = None
    parts = module.split(".")
    for number in range(len(parts)):
        try:
            name_so_far = ".".join(parts[: number + 1])
            spec = importlib.machinery.PathFinder.find_spec(name_so_far, search_path() if search is None else search)
        except (ImportError, ValueError):
            spec = None
        if spec is None or spec.origin is None:
            places.append(f"the module {module}")
            digests.append(module)
            break
        places.append(spec.origin)
        digests.append(_file_digest(Path(spec.origin)))
        search = spec.submodule_search_locations or []
    return Code(name, places[-1], _digest("|".join([module, *digests])))


def server_code(address: str) -> Code:
    """A server that a file names: what is asked, and the user's key, would be sent to it."""
    return Code(address, f"{address}, with your key for servers", _digest(address), "call")


def download_code(name: str) -> Code:
    """A model file that a file names, and that would be fetched and loaded."""
    return Code(name, "the model file from its hub", _digest(name), "fetch")


def allow(codes: Iterable[Code]) -> None:
    """Trust code for as long as this process lives, because the user named it."""
    _NAMED.update(code.digest for code in codes)


@contextlib.contextmanager
def deciding(decision: Decision) -> Iterator[None]:
    """Ask for a decision about code that is not trusted yet, instead of refusing it."""
    token = _DECISION.set(decision)
    try:
        yield
    finally:
        _DECISION.reset(token)


class TrustFile:
    """What a workspace remembers as trusted.

    Args:
        folder: The workspace.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def allows(self, code: Code) -> bool:
        """Whether code may be imported without asking."""
        return code.digest in _NAMED or code.digest in self._entries()[0]

    def require(self, codes: Sequence[Code], subject: str) -> None:
        """Let code be imported, after asking where it is not trusted yet.

        Args:
            codes: The code.
            subject: What names the code, for the message.

        Raises:
            UntrustedCodeError: It is not trusted.
        """
        unknown = [code for code in codes if not self.allows(code)]
        if not unknown:
            return
        decision = _DECISION.get()
        if decision is None or not decision(unknown):
            raise UntrustedCodeError(
                f"{subject} names code that this workspace does not trust: "
                f"{'; '.join(code.describe() for code in unknown)}.{self.problem()}",
                "Read it first. Then `--trust` on the command line lets it be used, or `run.trust()` in Python.",
            )
        self.remember(unknown)

    def remember(self, codes: Sequence[Code]) -> str:
        """Trust code in this process and in later ones; returns why it could not be written, or nothing."""
        allow(codes)
        known, _ = self._entries()
        fresh = [code for code in codes if code.digest not in known]
        if not fresh:
            return ""
        try:
            key = _key(create=True)
            data = self._data() if known else {}
            entries = data.get("trusted", {}) if isinstance(data, dict) else {}
            for code in fresh:
                entries[code.digest] = {"name": code.name, "place": code.place, "mark": _mark(key, code.digest)}
            beside = self.path.with_name(f".{FILE}-{os.getpid()}")
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps({"format": 1, "trusted": entries}, indent=2) + "\n", encoding="utf-8")
            os.replace(beside, self.path)
        except (OSError, DocumentError) as error:
            return f"it cannot be remembered: {error}"
        return ""

    def problem(self) -> str:
        """What is wrong with the file, as a sentence that begins with a blank; empty where nothing is."""
        return self._entries()[1]

    def _data(self) -> object:
        return read_json(self.path)

    def _entries(self) -> tuple[frozenset[str], str]:
        """The digests that count, and why others do not."""
        path, nothing = self.path, frozenset[str]()
        try:
            data = read_json(path)
            marks = {str(digest): str(entry["mark"]) for digest, entry in data["trusted"].items()}
        except FileNotFoundError:
            return nothing, ""
        except (OSError, DocumentError, KeyError, TypeError, AttributeError) as error:
            return nothing, f" {path} cannot be read ({error}), so nothing that it lists is trusted."
        try:
            key = _key(create=False)
        except (OSError, DocumentError) as error:
            return nothing, f" The key for {path} cannot be read ({error}), so nothing that it lists is trusted."
        valid = frozenset(digest for digest, mark in marks.items() if hmac.compare_digest(mark, _mark(key, digest)))
        foreign = len(marks) - len(valid)
        return valid, f" {foreign} entries of {path} were written by somebody else and do not count." if foreign else ""


def _mark(key: bytes, digest: str) -> str:
    return hmac.new(key, digest.encode(), hashlib.sha256).hexdigest()


def _key_file() -> Path | None:
    folder = user_folder("XDG_CONFIG_HOME", ".config")
    return folder / "trust.key" if folder else None


def _key(*, create: bool) -> bytes:
    """The key of the user; it never leaves the configuration folder."""
    path = _key_file()
    if path is None:
        raise DocumentError("there is no home folder for a key")
    if create and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}-{os.getpid()}-{secrets.token_hex(4)}")
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))
        with contextlib.suppress(FileExistsError):  # Another process was first: its key is the key.
            os.link(beside, path)
        beside.unlink()
    key = path.read_bytes().strip()
    if len(key) < 32:
        raise DocumentError(f"{path} holds no key; remove it, and a new one is made")
    return key


def _file_digest(path: Path) -> str:
    """The hash of a file; one that cannot be read has none, and so cannot be trusted for its content."""
    try:
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        pass
    return f"unreadable {path}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
