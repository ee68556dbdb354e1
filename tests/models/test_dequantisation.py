from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from populace.base.errors import ModelFileError
from populace.models import SMOLLM2
from populace.models.dequantisation import dequantise

pytestmark = [pytest.mark.embedded, pytest.mark.xdist_group("embedded")]


@pytest.fixture(scope="module")
def path() -> Path:
    try:
        return SMOLLM2.fetch()
    except ModelFileError as error:
        pytest.skip(f"the embedded model cannot be fetched: {error}")


def test_the_unpacked_file_holds_the_same_numbers(path: Path) -> None:
    from gguf import GGUFReader, quants

    packed, wide = GGUFReader(path), GGUFReader(dequantise(path))
    assert [tensor.name for tensor in packed.tensors] == [tensor.name for tensor in wide.tensors]
    for one, other in list(zip(packed.tensors, wide.tensors, strict=True))[:12]:
        numbers = quants.dequantize(one.data, one.tensor_type).astype(np.float16)
        assert np.array_equal(numbers, quants.dequantize(other.data, other.tensor_type).astype(np.float16))
    names = [name for name in packed.fields if not name.startswith("GGUF.")]
    # The parts are the bytes of the file; reading them as texts, of which there are a hundred thousand, takes seconds.
    for name in names:
        assert wide.fields[name].types == packed.fields[name].types
        one, other = (b"".join(part.tobytes() for part in file.fields[name].parts) for file in (packed, wide))
        assert one == other, name


def test_a_cache_that_cannot_be_written_is_named(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("POPULACE_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelFileError, match="could not be unpacked"):
        dequantise(path)
