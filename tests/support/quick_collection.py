"""Quick trainings in tests: TRL collects garbage after each, which takes long where many modules are loaded."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_collection() -> Iterator[None]:
    """Leave what is loaded out of the collection of garbage, for a while."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
