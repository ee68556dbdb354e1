"""Populace: study societies of language-model agents, and trust what you see.

`import populace as pc` is enough for writing a scenario, running it and reading what came of it. Public names are
listed once, in `__init__.pyi`, and resolved on first use, so that the import stays quick.
"""

import ast
import importlib
from pathlib import Path
from typing import Any

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8"))
_IMPORTS = [node for node in _STUB.body if isinstance(node, ast.ImportFrom)]
_HOMES = dict(sorted((alias.name, str(node.module)) for node in _IMPORTS for alias in node.names))

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name.startswith("_"):
        raise AttributeError(f"module 'populace' has no attribute {name!r}")
    from populace.base.errors import nearest

    guess = nearest(name, _HOMES)
    advice = f"Did you mean populace.{guess}?" if guess else "`dir(populace)` lists its names."
    # With a name and no object, so that Python does not add a guess of its own.
    raise AttributeError(f"module 'populace' has no attribute {name!r}. {advice}", name=name)


def __dir__() -> list[str]:
    return __all__
