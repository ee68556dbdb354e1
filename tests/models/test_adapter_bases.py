"""A folder of a model that somebody may send is read, or refused in words."""

import os
from pathlib import Path

import pytest

from populace.base.errors import ModelFileError
from populace.models.adapter_bases import read_base
from populace.models.bert import read_safetensors

HEADERS = [b"[]", b"5", b"null", b'"x"', b"\xff", b"[" * 100_000, b'{"a": ' * 100_000, b'{"a": 5}', b'{"a": {"data_offsets": [1]}}', b'{"a": [1]}', b'{"a": {"data_offsets": ["x", 4], "dtype": "F32", "shape": [1]}}',
           b'{"a": {"data_offsets": [0, 4], "dtype": [], "shape": [1]}}', b'{"a": {"data_offsets": [0, 4], "dtype": "F32", "shape": [%s]}}' % (b"9" * 39),
           b'{"a": {"data_offsets": [%s, 4], "dtype": "F32", "shape": [1]}}' % (b"9" * 39), b'{"a": {"data_offsets": [0, 4], "dtype": "F32", "shape": 1e400}}']  # fmt: skip


@pytest.mark.parametrize("header", HEADERS)
def test_weights_whose_header_is_something_else_are_refused(header: bytes, tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(ModelFileError, match="is not a safetensors file"):
        read_safetensors(file)
    (tmp_path / "config.json").write_text('{"num_attention_heads": 2, "model_type": "llama"}')
    with pytest.raises(ModelFileError, match="is not a safetensors file"):
        read_base(tmp_path)


@pytest.mark.parametrize(
    "config", ["[]", "5", "{}", '{"num_attention_heads": 1e400}', '{"num_attention_heads": [1]}', "[" * 5000]
)
def test_a_folder_whose_configuration_is_something_else_is_refused(config: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(ModelFileError, match="could not be read as a model"):
        read_base(tmp_path)


def test_weights_that_are_a_pipe_are_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"num_attention_heads": 2, "model_type": "llama"}')
    with pytest.raises(ModelFileError, match="is no file"):
        read_base(tmp_path)
