from pathlib import Path

import numpy as np
import pytest

from populace.base.errors import ModelFileError, ParameterError
from populace.models.adapter_average import average_adapters
from populace.models.adapters import read_adapter, write_adapter


def adapter(path: Path, value: float, *, rank: int = 4, base: str = "ab" * 32) -> Path:
    pair = np.full((rank, 32), value), np.full((64, rank), 2 * value)
    write_adapter(
        path, {"blk.0.ffn_up.weight": pair}, alpha=8, base_sha256=base, base_name="a model", manifest={"kind": "human"}
    )
    return path


def test_each_number_of_the_average_lies_between_those_of_the_two(tmp_path: Path) -> None:
    first, second = adapter(tmp_path / "first.gguf", 1.0), adapter(tmp_path / "second.gguf", 3.0)
    average_adapters(first, second, tmp_path / "both.gguf", share=0.25, manifest={"kind": "calibrated"})
    both = read_adapter(tmp_path / "both.gguf")
    a, b = both.tensors["blk.0.ffn_up.weight"]
    assert np.asarray(a) == pytest.approx(2.5, abs=0.02)
    assert np.asarray(b) == pytest.approx(5.0, abs=0.04)
    assert (both.card.name, both.card.kind, both.card.base_sha256) == ("both", "calibrated", "ab" * 32)


@pytest.mark.parametrize("change", [{"rank": 8}, {"base": "cd" * 32}])
def test_adapters_of_another_form_or_base_have_no_average(tmp_path: Path, change: dict[str, object]) -> None:
    first, second = adapter(tmp_path / "first.gguf", 1.0), adapter(tmp_path / "second.gguf", 1.0, **change)  # type: ignore[arg-type]
    with pytest.raises(ModelFileError, match="have no average"):
        average_adapters(first, second, tmp_path / "both.gguf", manifest={"kind": "human"})


def test_a_share_lies_between_0_and_1(tmp_path: Path) -> None:
    first = adapter(tmp_path / "first.gguf", 1.0)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        average_adapters(first, first, tmp_path / "both.gguf", share=1.5, manifest={"kind": "human"})
