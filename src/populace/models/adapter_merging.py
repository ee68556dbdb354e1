"""A GGUF file with an adapter merged into it: the base's matrices in 16 bits, changed, in a file of the cache.

A merged file is computed like its base, at the base's speed and by the same rules (docs/design/embedded-model.md).
"""

import math
import os
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from populace.base.errors import ModelFileError
from populace.models.adapter_bases import AdapterBase
from populace.models.adapters import Adapter
from populace.models.artifacts import cache_folder
from populace.models.gguf_header import GgufHeader, TensorPlace, read_header

_VERSION = 1
"""The version of the merged form; it is part of the file's name and of the fingerprint."""
_F16 = 1
_ALIGNMENT = 32
_FILES, _UNUSED_SECONDS = 6, 3600
"""How many merged files stay in the cache at least, and how long one that was used stays in any case."""


def merge_adapter(source: Path, base: AdapterBase, adapter: Adapter) -> Path:
    """The base with an adapter merged into it, as a file in the cache; it is written if it is not there yet.

    Args:
        source: The file whose weights are taken: the base, or the base unpacked to 16 bits.
        base: The base, which is in the file's name by its hash.
        adapter: The adapter, likewise.
    """
    base.check(adapter)
    target = merge_folder() / f"{base.sha256[:32]}-{adapter.sha256[:32]}-{_VERSION}.gguf"
    try:
        if target.is_file():
            os.utime(target)
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="merge-") as folder:
            temporary = Path(folder) / target.name
            _write_merged(source, temporary, adapter)
            os.replace(temporary, target)
        _remove_unused(target)
    except OSError as error:
        raise ModelFileError(
            f"the adapter {adapter.card.name} could not be merged into {target.parent}: {error}.",
            "Room for the whole model in 16 bits is needed there; POPULACE_CACHE names another folder.",
        ) from error
    return target


def merge_folder() -> Path:
    """The folder of merged files; what is in it can be removed at any time and is written again when needed."""
    return cache_folder() / "models" / "merged"


def _remove_unused(newest: Path) -> None:
    """Remove the files that were not used for the longest time, where there are many."""
    others = [path for path in newest.parent.glob("*.gguf") if path != newest]
    by_use = sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)
    for path in by_use[_FILES - 1 :]:
        if time.time() - path.stat().st_mtime > _UNUSED_SECONDS:
            path.unlink(missing_ok=True)


def _write_merged(source: Path, target: Path, adapter: Adapter) -> None:
    """Copy a GGUF file; the matrices that the adapter changes are changed and written in 16 bits."""
    header = read_header(source)
    raw = np.memmap(source, np.uint8, mode="r")
    alignment = int(header.values.get("general.alignment", _ALIGNMENT)) or _ALIGNMENT
    kinds = {name: _F16 if name in adapter.tensors else place.kind for name, place in header.tensors.items()}
    with target.open("wb") as file:
        file.write(raw[: header.fields_end].tobytes())
        offset = 0
        for name, place in header.tensors.items():
            text = name.encode()
            dimensions = place.shape[::-1]
            file.write(struct.pack("<Q", len(text)) + text)
            file.write(struct.pack(f"<I{len(dimensions)}QIQ", len(dimensions), *dimensions, kinds[name], offset))
            offset += -(-_byte_count(place.shape, kinds[name]) // alignment) * alignment
        _fill(file, alignment)
        for numbers in _tensors(raw, header, adapter):
            file.write(numbers.tobytes())
            _fill(file, alignment)


def _tensors(raw: npt.NDArray[np.uint8], header: GgufHeader, adapter: Adapter) -> Iterator[npt.NDArray[np.generic]]:
    from gguf import GGMLQuantizationType, quants

    for name, place in header.tensors.items():
        data = _bytes(raw, place, name)
        if name not in adapter.tensors:
            yield data
            continue
        rows = data.reshape(place.shape[0], -1)
        numbers = (
            rows.view(np.float16) if place.kind == _F16 else quants.dequantize(rows, GGMLQuantizationType(place.kind))
        )
        merged = (numbers.astype(np.float32) + adapter.change(name)).astype(np.float16)
        if not np.isfinite(merged).all():
            raise ModelFileError(
                f"the adapter {adapter.card.name} makes numbers of {name} too large for 16 bits.",
                "It may be damaged, or was trained with too high a rate.",
            )
        yield merged


def _bytes(raw: npt.NDArray[np.uint8], place: TensorPlace, name: str) -> npt.NDArray[np.uint8]:
    end = place.offset + _byte_count(place.shape, place.kind)
    if end > len(raw):
        raise ModelFileError(f"the base ends before its tensor {name}.", "Fetch it again.")
    return np.array(raw[place.offset : end])


def _byte_count(shape: tuple[int, ...], kind: int) -> int:
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    numbers, size = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
    return int(math.prod(shape) // numbers * size)


def _fill(file: BinaryIO, alignment: int) -> None:
    file.write(b"\0" * (-file.tell() % alignment))
