"""The vocabulary of a GGUF file: which pieces of text its tokenizer reads as special tokens."""

from pathlib import Path

from populace.models.gguf_header import read_fields

SPECIAL_TYPES = (2, 3, 4)
"""The types of tokens that the engine looks for in the text of a prompt: unknown, control and user-defined ones."""
_TOKENS, _TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"


def special_tokens(path: Path) -> list[str]:
    """The special tokens of a GGUF file as text; none where the file does not list its vocabulary.

    Args:
        path: The file.
    """
    fields = read_fields(path, {_TOKENS, _TYPES})
    pairs = zip(_list(fields.get(_TOKENS)), _list(fields.get(_TYPES)), strict=False)
    return [str(token) for token, kind in pairs if kind in SPECIAL_TYPES]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
