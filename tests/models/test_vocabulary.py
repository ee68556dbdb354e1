"""The special tokens of a model file are read from its header."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from populace.base.control_tokens import neutralise_tokens, token_pattern
from populace.base.errors import ModelFileError
from populace.models.vocabulary import SpecialTokens, special_tokens


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf(path: Path, tokens: list[str], types: list[int]) -> Path:
    """A file with the header of a model: a number, a list of lists, the vocabulary, and a text after it."""
    fields = [
        text("general.quantization") + struct.pack("<If", 6, 1.5),
        text("a.list") + struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ2B", 0, 2, 7, 8),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(tokens)) + b"".join(map(text, tokens)),
        text("tokenizer.ggml.token_type") + struct.pack(f"<IIQ{len(types)}i", 9, 5, len(types), *types),
        text("general.name") + struct.pack("<I", 8) + text("last"),
    ]
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, len(fields)) + b"".join(fields))
    return path


def test_special_tokens_are_those_that_the_engine_looks_for_in_a_prompt(tmp_path: Path) -> None:
    file = gguf(tmp_path / "m.gguf", ["the", "<unk>", "<over-to-you>", "[[end]]", "▁"], [1, 2, 3, 4, 6])
    assert special_tokens(file) == ["<unk>", "<over-to-you>", "[[end]]"]


def test_tokens_of_the_file_itself_are_neutralised_too() -> None:
    pattern = token_pattern(["<unk>", "<over-to-you>", "[[end]]", "the"])
    assert pattern is not None
    assert neutralise_tokens("the <over-to-you> [[[end]]]", pattern) == "the ‹over-to-you› [((end))]"
    assert token_pattern(["<|im_end|>", "<unk>"]) is None, "known forms are neutralised anyway"


def test_engines_of_one_file_read_its_vocabulary_once(tmp_path: Path) -> None:
    file = gguf(tmp_path / "m.gguf", ["the", "<over-to-you>"], [1, 3])
    special = SpecialTokens(file)
    first = special.pattern
    assert first is not None
    file.unlink()
    assert special.pattern is first


def test_a_damaged_header_is_a_damaged_file(tmp_path: Path) -> None:
    whole = gguf(tmp_path / "m.gguf", ["a"], [1]).read_bytes()
    for cut in range(24, len(whole) - 60, 7):
        (tmp_path / "cut.gguf").write_bytes(whole[:cut])
        with pytest.raises(ModelFileError, match=r"cut\.gguf"):
            special_tokens(tmp_path / "cut.gguf")
    (tmp_path / "long.gguf").write_bytes(whole[:24] + struct.pack("<Q", 1 << 60) + whole[32:])
    with pytest.raises(ModelFileError, match="long"):
        special_tokens(tmp_path / "long.gguf")
