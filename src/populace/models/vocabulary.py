"""The vocabulary of a GGUF file: which pieces of text its tokenizer reads as special tokens."""

import re
from functools import cached_property
from pathlib import Path

from populace.base.control_tokens import token_pattern
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


class SpecialTokens:
    """The special tokens of one GGUF file for all engines that load it: the file is read once, when they are needed.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """A pattern for those that only this file knows; None where there are none."""
        return token_pattern(special_tokens(self._path))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
