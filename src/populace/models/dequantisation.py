"""Unpacks the quantised weights of the pinned model to 16 bits, because the engine computes prompts faster with those.

The published file packs weights into 4 bits, and for prompts the engine's kernel for that format is its slowest.
Unpacked, the numbers are the same and prompts are computed about a third faster (docs/design/embedded-model.md).
The unpacked file is written once, to the cache.
"""

import os
import tempfile
from pathlib import Path

import numpy as np

from populace.base.errors import ModelFileError
from populace.models.artifacts import SMOLLM2

_STAY_PACKED = ("token_embd.weight",)
"""Tensors that are read by row and never multiplied with prompts: unpacking them gains nothing."""


def dequantise(path: Path) -> Path:
    """Unpack the pinned model file into the cache, unless that was done before, and return the unpacked file's path."""
    target = SMOLLM2.path.with_name(f"{SMOLLM2.path.stem}-f16.gguf")
    if not target.is_file():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix="unpack-") as folder:
                temporary = Path(folder) / target.name
                _write_unpacked(path, temporary)
                os.replace(temporary, target)
        except OSError as error:
            raise ModelFileError(
                f"the weights of {path} could not be unpacked into {target.parent}: {error}.",
                "About 250 MB are needed there; POPULACE_CACHE names another folder.",
            ) from error
    return target


def _write_unpacked(source: Path, target: Path) -> None:
    from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, quants

    reader = GGUFReader(source)
    writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            inner = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], inner)
    float_types = (GGMLQuantizationType.F32, GGMLQuantizationType.F16)
    for tensor in reader.tensors:
        if tensor.tensor_type in float_types or tensor.name in _STAY_PACKED:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        else:
            writer.add_tensor(tensor.name, quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
