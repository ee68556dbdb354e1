"""The pinned model with its weights widened to 16 bits, which the engine multiplies faster.

The published file packs weights into 4 bits, and the engine's kernel for that packing is the slowest that it has
for prompts. Unpacked, the numbers are the same, and prompts are computed about a third faster
(docs/design/embedded-model.md); the file is made once, beside the one that it comes from.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from populace.base.errors import ModelFileError
from populace.models.artifacts import SMOLLM2

_KEPT = ("token_embd.weight",)
"""Read by rows and not multiplied with prompts; it stays packed."""


def widened(path: Path) -> Path:
    """The widened form of the pinned file, in the cache, made first where it is not there."""
    target = SMOLLM2.path.with_name(f"{SMOLLM2.path.stem}-f16.gguf")
    if not target.is_file():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix="widen-") as folder:
                made = Path(folder) / target.name
                _widen(path, made)
                os.replace(made, target)
        except OSError as error:
            raise ModelFileError(
                f"the weights of {path} could not be unpacked into {target.parent}: {error}.",
                "About 250 MB are needed there; POPULACE_CACHE names another folder.",
            ) from error
    return target


def _widen(source: Path, target: Path) -> None:
    from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, quants

    reader = GGUFReader(source)
    writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            inner = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], inner)
    plain = (GGMLQuantizationType.F32, GGMLQuantizationType.F16)
    for tensor in reader.tensors:
        if tensor.tensor_type in plain or tensor.name in _KEPT:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        else:
            writer.add_tensor(tensor.name, quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
