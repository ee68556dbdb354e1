"""The average of two adapters that were trained from the same beginning."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from populace.base.errors import ModelFileError, ParameterError
from populace.models.adapters import Adapter, read_adapter, write_adapter


def average_adapters(
    first: str | Path, second: str | Path, path: str | Path, *, share: float = 0.5, manifest: Mapping[str, Any]
) -> Adapter:
    """Write the average of two adapters of one form and one base, and return what was written.

    Args:
        first: An adapter file.
        second: Another, trained from the same beginning as the first; the average of others means nothing.
        path: The file to write.
        share: The weight of the first, from 0 to 1.
        manifest: What the average says of itself; see `AdapterCard`.
    """
    if not 0 <= share <= 1:
        raise ParameterError(f"the share of the first adapter is {share}; it lies between 0 and 1.")
    one, other = read_adapter(first), read_adapter(second)
    if _form(one) != _form(other):
        raise ModelFileError(
            f"{first} and {second} have no average: they differ in base, strength, rank or matrices.",
            "Name two adapters that were trained from the same beginning.",
        )
    tensors = {}
    for name, (a, b) in one.tensors.items():
        other_a, other_b = other.tensors[name]
        tensors[name] = share * a + (1 - share) * other_a, share * b + (1 - share) * other_b
    return write_adapter(
        path,
        tensors,
        alpha=one.card.alpha,
        base_sha256=one.card.base_sha256,
        base_name=one.card.base_name,
        manifest=manifest,
        family=one.family,
    )


def _form(adapter: Adapter) -> tuple[Any, ...]:
    shapes = {name: (a.shape, b.shape) for name, (a, b) in adapter.tensors.items()}
    return adapter.card.base_sha256, adapter.family, round(adapter.card.alpha, 4), shapes
