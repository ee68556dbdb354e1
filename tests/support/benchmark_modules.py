"""Modules of the folder benchmarks, for tests that run a part of an audit."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[2] / "benchmarks"


def benchmark_module(name: str) -> ModuleType:
    """A module of benchmarks; the folder stays out of the path, since its names are those of folders of tests."""
    known = f"benchmark_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, FOLDER / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        sys.path.append(str(FOLDER))  # while it is loaded, for the modules beside it
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(FOLDER))
    return sys.modules[known]
