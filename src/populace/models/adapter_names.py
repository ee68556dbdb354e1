"""How model strings name adapters: `embedded+people`, `embedded:base.gguf+mine.gguf`, `transformers:base+folder`."""

import re
from collections.abc import Iterator
from pathlib import Path

from populace.base.errors import ModelFileError, UnknownNameError
from populace.models.adapter_bases import AdapterBase
from populace.models.adapters import Adapter, read_adapter
from populace.models.artifacts import Progress, cache_folder
from populace.models.hub_file import HubFile
from populace.models.peft_folder import is_peft, read_peft

_SHIPPED = Path(__file__).with_name("adapter_files")
_AFTER_GGUF = re.compile(r"(?<=\.gguf)(@[^+]*)?\+", re.IGNORECASE)
_HUB = "hf:"


def split_adapter(text: str) -> tuple[str, str | None]:
    """The base and the adapter that a model string names behind its scheme.

    A path may itself hold a plus sign: if the whole names something that exists it is the base alone, and otherwise the
    base ends at the first plus sign before which something exists. Where nothing does, it ends after `.gguf`.

    Args:
        text: What stands behind `embedded` or `transformers:`, without options.

    Example:
        >>> split_adapter("+people"), split_adapter("qwen.gguf+mine.gguf"), split_adapter("qwen.gguf")
        (('', 'people'), ('qwen.gguf', 'mine.gguf'), ('qwen.gguf', None))
    """
    if text.startswith("+"):
        return "", text[1:]
    if "+" not in text:
        return text, None
    after_gguf = _AFTER_GGUF.search(text)
    if not text.startswith(_HUB):
        if _exists(text):
            return text, None
        for match in re.finditer(r"\+", text):
            if _exists(text[: match.start()]):
                return text[: match.start()], text[match.end() :]
    if after_gguf:
        return text[: after_gguf.end() - 1], text[after_gguf.end() :]
    base, _, adapter = text.rpartition("+")
    return base, adapter


def adapter_hub_file(name: str | None) -> HubFile | None:
    """The file on the Hugging Face hub that the name of an adapter stands for; None where it is elsewhere."""
    return HubFile.parse(name.removeprefix(_HUB)) if name and name.startswith(_HUB) else None


def check_adapter(name: str | None) -> None:
    """Raise an error where no adapter of this name is on this machine; one on the Hugging Face hub is fetched later."""
    if name and not name.startswith(_HUB):
        find_adapter(name)


def open_adapter(name: str, base: AdapterBase, progress: Progress | None = None) -> Adapter:
    """Find, read and check the adapter of this name.

    Args:
        name: One that ships or is in the cache, `hf:OWNER/REPO/FILE.gguf`, an adapter file, or a folder of peft.
        base: The model that it is to change.
        progress: Called while a file is downloaded.
    """
    hub_file = adapter_hub_file(name)
    path = hub_file.fetch(progress) if hub_file else find_adapter(name)
    adapter = read_peft(path, base) if path.is_dir() else read_adapter(path)
    base.check(adapter)
    return adapter


def find_adapter(name: str) -> Path:
    """The file or folder that the name of an adapter stands for.

    Args:
        name: The name of one that ships or is in the cache, or a path.
    """
    known = adapter_paths()
    if name in known:
        return known[name]
    path = Path(name).expanduser()
    if path.is_file() or is_peft(path):
        return path
    if "/" in name or name.casefold().endswith(".gguf"):
        kind = "holds no adapter of peft (adapter_config.json)" if path.is_dir() else "does not exist"
        raise ModelFileError(f"the adapter {name} {kind}.", "Name an adapter file, or a folder as peft saves it.")
    hint = None if known else "None ships with this version; name a file: embedded+my-adapter.gguf"
    raise UnknownNameError("adapter", name, known, hint)


def adapter_paths() -> dict[str, Path]:
    """The adapters that a name alone opens: those that ship, and then those in the cache."""
    return {path.stem: path for folder in (adapter_folder(), _SHIPPED) for path in _files(folder)}


def is_shipped(path: Path) -> bool:
    """Whether an adapter came with the package."""
    return path.parent == _SHIPPED


def adapter_folder() -> Path:
    """The folder in the cache where adapters are found by name."""
    return cache_folder() / "adapters"


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("*.gguf")) if folder.is_dir() else ()


def _exists(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # A name that is too long, with a NUL, or of an unknown user.
        return False
