"""Adapters in the format of peft: a folder with `adapter_config.json` and `adapter_model.safetensors`."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from populace.base.documents import DocumentError, read_json
from populace.models.adapter_bases import AdapterBase, read_base
from populace.models.adapter_card import MOST_MANIFEST_BYTES, AdapterCard, read_manifest
from populace.models.adapters import MOST_BYTES, Adapter, check_pairs, unusable, write_adapter
from populace.models.artifacts import sha256
from populace.models.bert import read_safetensors
from populace.models.tensor_layout import FAMILIES, gguf_name, head_count, interleave_halves

RECORD = "populace-adapter.json"
"""The file beside those of peft in which the trainer names the base and keeps the manifest."""
_WEIGHTS, _CONFIG = "adapter_model.safetensors", "adapter_config.json"
_TENSOR = re.compile(r"(?:base_model\.model\.)?(?P<weight>.+)\.lora_(?P<matrix>[AB])(?:\.default)?\.weight")
_UNKNOWN_OPTIONS = {"use_dora": False, "bias": "none", "rank_pattern": {}, "alpha_pattern": {}, "modules_to_save": None}
"""Options of peft with the only value that is known here; any other changes what the numbers mean."""


def read_peft(folder: str | Path, base: AdapterBase) -> Adapter:
    """Read a folder as peft saves it.

    Args:
        folder: The folder. Where it holds `populace-adapter.json`, that names the base by SHA-256 and has the manifest.
        base: The model that the adapter is for.
    """
    place = Path(folder)
    if base.family not in FAMILIES:
        raise unusable(place, f"the tensors of the family {base.family!r} are not known by name")
    card, rank = _card(place)
    tensors = _tensors(place, base)
    check_pairs(tensors, place)
    if any(a.shape[0] != rank for a, _ in tensors.values()):
        raise unusable(place, f"its config says rank {rank}, and its matrices are of another")
    return Adapter(card, base.family, tensors, _digest(place))


def read_peft_card(folder: str | Path) -> AdapterCard:
    """What a folder as peft saves it says of itself; its numbers are not read.

    Args:
        folder: The folder.
    """
    return _card(Path(folder))[0]


def _card(place: Path) -> tuple[AdapterCard, int]:
    """The card of a folder, and the rank of its matrices."""
    config = _json(place / _CONFIG, place)
    if str(config.get("peft_type", "")).upper() != "LORA":
        raise unusable(place, f"it is of the type {config.get('peft_type')!r}; LORA is known")
    for option, usual in _UNKNOWN_OPTIONS.items():
        if config.get(option) not in (usual, None, {}, []):
            raise unusable(place, f"it was trained with {option}, which is not known here")
    alpha, rank = config.get("lora_alpha"), config.get("r")
    if not isinstance(alpha, int | float) or not isinstance(rank, int) or isinstance(rank, bool) or rank < 1:
        raise unusable(place, "its config names no rank (r) and strength (lora_alpha)")
    if config.get("use_rslora"):
        alpha = alpha * math.sqrt(rank)
    record = _json(place / RECORD, place) if (place / RECORD).is_file() else {}
    manifest = read_manifest(json.dumps(record.get("manifest")), place) if record else {"kind": "unknown"}
    default = str(config.get("base_model_name_or_path") or "a model")
    card = AdapterCard(
        str(record.get("name", place.name)),
        str(record.get("base_name", default)),
        str(record.get("base_sha256", "")),
        float(alpha),
        manifest,
    )
    return card.check(place), rank


def from_peft(
    folder: str | Path, base: str | Path, path: str | Path, *, manifest: Mapping[str, Any], name: str | None = None
) -> Adapter:
    """Convert a folder as peft saves it to an adapter file, and return what was written.

    Args:
        folder: The folder.
        base: The model that it was trained on: a GGUF file, or a folder in the format of transformers.
        path: The file to write.
        manifest: What it was trained on; see `AdapterCard`.
        name: The name that is shown; that of the file by default.
    """
    source = read_base(base)
    adapter = read_peft(folder, source)
    source.check(adapter)
    return write_adapter(
        path,
        adapter.tensors,
        alpha=adapter.card.alpha,
        base_sha256=source.sha256,
        base_name=adapter.card.base_name if adapter.card.base_sha256 else source.path.stem,
        manifest=manifest,
        name=name,
        family=source.family,
    )


def is_peft(path: Path) -> bool:
    """Whether a path is a folder that holds an adapter of peft."""
    return (path / _CONFIG).is_file()


def _tensors(place: Path, base: AdapterBase) -> dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    file = place / _WEIGHTS
    if not file.is_file():
        raise unusable(place, f"it holds no {_WEIGHTS}")
    if file.stat().st_size > MOST_BYTES:
        raise unusable(place, f"{_WEIGHTS} has more than {MOST_BYTES:,} bytes")
    pairs: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for name, array in read_safetensors(file).items():
        match = _TENSOR.fullmatch(name)
        weight = gguf_name(f"{match['weight']}.weight") if match else None
        if match is None or weight is None:
            raise unusable(place, f"it changes {name}, which is not known here")
        numbers = _floats(array)
        heads = head_count(weight, base.family, base.heads, base.kv_heads)
        if match["matrix"] == "B" and heads:
            if numbers.ndim != 2 or numbers.shape[0] % (2 * heads):
                raise unusable(place, f"the shape of {name} does not fit {heads} heads")
            numbers = interleave_halves(numbers, heads)
        pairs.setdefault(weight, {})[match["matrix"]] = numbers
    for weight, pair in pairs.items():
        if len(pair) != 2:
            raise unusable(place, f"it holds only one of the two matrices for {weight}")
    return {weight: (pair["A"], pair["B"]) for weight, pair in pairs.items()}


def _floats(array: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    if array.dtype == np.uint16:  # The bits of BF16, which numpy does not have.
        return (np.array(array).astype(np.uint32) << 16).view(np.float32)
    return np.array(array, np.float32)


def _json(path: Path, place: Path) -> dict[str, Any]:
    try:
        value = read_json(path, most=MOST_MANIFEST_BYTES)
    except (OSError, DocumentError) as error:
        raise unusable(place, f"{path.name} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise unusable(place, f"{path.name} holds no object")
    return value


def _digest(place: Path) -> str:
    names = [name for name in (_CONFIG, _WEIGHTS, RECORD) if (place / name).is_file()]
    content = json.dumps({name: sha256(place / name) for name in names}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
