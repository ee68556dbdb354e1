"""Modules of the user: in a file that is named, or in the current folder and the folder of the workspace.

A program that is started as a command has neither folder on its path, although people expect their own modules to be
found beside their work. Installed modules are found first.
"""

import contextlib
import hashlib
import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from types import CodeType, ModuleType

_FOLDERS: list[str] = []
_FILE_IN_LOADING: ContextVar[str] = ContextVar("populace_file_in_loading", default="")


def add_folder(folder: Path) -> None:
    """Look for modules in this folder too, such as that of a workspace."""
    path = str(folder.resolve())
    if path not in _FOLDERS:
        _FOLDERS.append(path)


def search_path() -> list[str]:
    """Where modules are looked for, in this order: where Python looks, the current folder, folders of workspaces."""
    own = [str(Path.cwd()), *_FOLDERS]
    return [*sys.path, *(folder for folder in own if folder not in sys.path)]


def import_module(name: str) -> ModuleType:
    """A module by its name.

    Example:
        >>> import_module("json").__name__
        'json'
    """
    with _own_folders():
        return importlib.import_module(name)


def import_file(path: Path) -> ModuleType:
    """The module in a file; a file is run once for as long as the process lives."""
    resolved = path.resolve()
    name = f"populace_file_{resolved.stem}_{hashlib.blake2b(str(resolved).encode(), digest_size=6).hexdigest()}"
    if name in sys.modules:
        return sys.modules[name]
    loader = _SourceLoader(name, str(resolved))
    spec = importlib.util.spec_from_loader(name, loader)
    if spec is None:
        raise ImportError(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    module.__populace_file__ = True  # type: ignore[attr-defined]
    sys.modules[name] = module
    before = _FILE_IN_LOADING.set(str(resolved))
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        _FILE_IN_LOADING.reset(before)
    return module


def file_in_loading() -> str:
    """The file that `import_file` loads at this moment, whose code asks this; empty where none is."""
    return _FILE_IN_LOADING.get()


def split_reference(text: str) -> tuple[str, str]:
    """The file or module and the name in it, from `file.py`, `file.py:Name` or `module:Name`.

    The colon of a drive, as in `C:\\\\town.py`, belongs to the file. Text of another form has neither.

    Example:
        >>> split_reference("town.py"), split_reference("towns.north:Town")
        (('town.py', ''), ('towns.north', 'Town'))
        >>> split_reference("C:/models/town.py"), split_reference("C:/models/town.py:Town")
        (('C:/models/town.py', ''), ('C:/models/town.py', 'Town'))
    """
    if "\0" in text:
        return "", ""
    if text.endswith(".py"):
        return text, ""
    where, _, name = text.rpartition(":")
    return (where, name) if where and (name.isidentifier() or where.endswith(".py")) else ("", "")


class _SourceLoader(importlib.machinery.SourceFileLoader):
    """Loads a file from its source alone: a cached bytecode file beside it could hold something else."""

    def get_code(self, fullname: str) -> CodeType:
        """The code of the file as it is now."""
        return self.source_to_code(self.get_data(self.path), self.path)


@contextlib.contextmanager
def _own_folders() -> Iterator[None]:
    """Extend the path of Python for a while, at its end."""
    added = search_path()[len(sys.path) :]
    sys.path.extend(added)
    try:
        yield
    finally:
        for folder in added:
            sys.path.remove(folder)
