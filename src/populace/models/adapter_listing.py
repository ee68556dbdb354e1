"""The adapters at hand: those that ship, those in the cache and those in a workspace."""

from dataclasses import dataclass
from pathlib import Path

from populace.base.errors import ModelFileError
from populace.models.adapter_card import AdapterCard
from populace.models.adapter_names import adapter_folder, adapter_paths, find_adapter, is_shipped
from populace.models.adapters import read_card
from populace.models.artifacts import SMOLLM2
from populace.models.peft_folder import read_peft_card

WORKSPACE_FOLDER = "adapters"
"""The folder of a workspace in which adapters are listed."""


@dataclass(frozen=True)
class AdapterEntry:
    """An adapter in a listing.

    Attributes:
        name: What stands after the plus sign of a model string.
        path: The file.
        place: Where it is: `package`, `cache`, `workspace` or `file`.
        card: What it says of itself; None where it cannot be read.
        problem: Why it cannot be read.
    """

    name: str
    path: Path
    place: str
    card: AdapterCard | None = None
    problem: str = ""

    @property
    def model(self) -> str:
        """A model string that uses it."""
        pinned = self.card is None or self.card.base_sha256 in ("", SMOLLM2.sha256)
        return f"embedded+{self.name}" if pinned else f"embedded:BASE.gguf+{self.name}"


def list_adapters(workspace: Path) -> list[AdapterEntry]:
    """Every adapter that ships, is in the cache or in the folder `adapters` of a workspace.

    Args:
        workspace: The folder of the workspace.
    """
    known = adapter_paths()
    entries = [_entry(name, path, _place(path)) for name, path in sorted(known.items())]
    folder = workspace / WORKSPACE_FOLDER
    files = sorted(folder.rglob("*.gguf")) if folder.is_dir() else []
    return entries + [_entry(str(path), path, "workspace") for path in files]


def describe_adapter(name: str) -> AdapterEntry:
    """The adapter of a name or a path.

    Args:
        name: What stands after the plus sign of a model string.
    """
    path = find_adapter(name)
    return AdapterEntry(name, path, _place(path), read_peft_card(path) if path.is_dir() else read_card(path))


def _entry(name: str, path: Path, place: str) -> AdapterEntry:
    try:
        return AdapterEntry(name, path, place, read_card(path))
    except ModelFileError as error:
        return AdapterEntry(name, path, place, problem=str(error))


def _place(path: Path) -> str:
    return "package" if is_shipped(path) else "cache" if path.parent == adapter_folder() else "file"
