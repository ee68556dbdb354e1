"""The vocabulary of a GGUF file: which pieces of text its tokenizer reads as special tokens.

Only the header of the file is read, and of it only what comes before the end of the vocabulary: the reader of the gguf
package needs seconds, since it turns all of the header into objects.
"""

import struct
from pathlib import Path
from typing import Any, BinaryIO

from populace.base.errors import ModelFileError

_SPECIAL_TYPES = (2, 3, 4)
"""The types of tokens that the engine looks for in the text of a prompt: unknown, control and user-defined ones."""
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""The types of plain values in a header, as `struct` writes them."""
_STRING, _ARRAY = 8, 9
_LONGEST = 1 << 26
"""No text and no list of a header is longer; a file that says so is damaged."""


def special_tokens(path: Path) -> list[str]:
    """The special tokens of a GGUF file as text; none where the file does not list its vocabulary.

    Args:
        path: The file.
    """
    wanted: dict[str, list[Any]] = {"tokenizer.ggml.tokens": [], "tokenizer.ggml.token_type": []}
    try:
        with path.open("rb") as file:
            _, _, _, count = struct.unpack("<4sIQQ", file.read(24))
            for _ in range(count):
                name = _text(file)
                value = _value(file, _number(file, "I"))
                if name in wanted and isinstance(value, list):
                    wanted[name] = value
                if all(wanted.values()):
                    break
    except (struct.error, UnicodeDecodeError, KeyError, ValueError) as error:
        raise ModelFileError(f"the vocabulary of {path} cannot be read: {error}.", "Fetch the file again.") from error
    pairs = zip(wanted["tokenizer.ggml.tokens"], wanted["tokenizer.ggml.token_type"], strict=False)
    return [str(token) for token, kind in pairs if kind in _SPECIAL_TYPES]


def _value(file: BinaryIO, kind: int) -> object:
    if kind == _STRING:
        return _text(file)
    if kind != _ARRAY:
        return _number(file, _FORMATS[kind])
    inner, length = _number(file, "I"), _length(file)
    if inner in (_STRING, _ARRAY):
        return [_value(file, int(inner)) for _ in range(length)]
    form = f"<{length}{_FORMATS[int(inner)]}"
    return list(struct.unpack(form, file.read(struct.calcsize(form))))


def _text(file: BinaryIO) -> str:
    return file.read(_length(file)).decode(errors="replace")


def _length(file: BinaryIO) -> int:
    length = _number(file, "Q")
    if length > _LONGEST:
        raise ValueError(f"it says that something in it is {length} long")
    return length


def _number(file: BinaryIO, form: str) -> int:
    number: int = struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))[0]
    return number
