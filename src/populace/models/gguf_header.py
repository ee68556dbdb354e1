"""The header of a GGUF file: what it says of the model, and where its tensors lie.

The reader of the gguf package needs seconds, since it turns all of the header into objects.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from populace.base.errors import ModelFileError

_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""The types of plain values in a header, as `struct` writes them."""
_STRING, _ARRAY = 8, 9
_LONGEST = 1 << 26
"""No text and no list of a header is longer; a file that says so is damaged."""
_MOST_TENSORS = 100_000
_ALIGNMENT = 32


@dataclass(frozen=True)
class TensorPlace:
    """Where the numbers of a tensor lie in a file.

    Attributes:
        shape: Its dimensions, the one that changes slowest first.
        kind: The number of its type of quantisation.
        offset: The place of its first byte in the file.
    """

    shape: tuple[int, ...]
    kind: int
    offset: int


@dataclass(frozen=True)
class GgufHeader:
    """What a GGUF file says of its model.

    Attributes:
        values: Every field of the header by its name.
        tensors: The place of every tensor by its name.
        fields_end: The place of the first byte after the fields.
    """

    values: dict[str, Any]
    tensors: dict[str, TensorPlace]
    fields_end: int


def read_header(path: Path, *, most: int | None = None) -> GgufHeader:
    """Read the whole header of a GGUF file.

    Args:
        path: The file.
        most: How many bytes the header may have; any number if left out.
    """
    with _open(path, "header", most) as (file, tensor_count, field_count):
        values = dict(_fields(file, field_count))
        fields_end = file.tell()
        if tensor_count > _MOST_TENSORS:
            raise ValueError(f"it says that it holds {tensor_count} tensors")
        places = {}
        for _ in range(tensor_count):
            name = _text(file)
            shape = tuple(_number(file, "Q") for _ in range(min(_number(file, "I"), 8)))
            places[name] = (shape[::-1], _number(file, "I"), _number(file, "Q"))
        alignment = int(values.get("general.alignment", _ALIGNMENT)) or _ALIGNMENT
        start = -(-file.tell() // alignment) * alignment
    tensors = {name: TensorPlace(shape, kind, start + offset) for name, (shape, kind, offset) in places.items()}
    return GgufHeader(values, tensors, fields_end)


def read_fields(path: Path, names: set[str]) -> dict[str, Any]:
    """Read some fields of a header, and nothing of the file that comes after the last of them.

    Args:
        path: The file.
        names: The names of the fields; one that the file does not have is left out.
    """
    fields: dict[str, Any] = {}
    with _open(path, "vocabulary") as (file, _, field_count):
        for name, value in _fields(file, field_count):
            if name in names:
                fields[name] = value
            if len(fields) == len(names):
                break
    return fields


class _BoundedFile:
    """The beginning of a file; reading more of it is an error."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._most = file, most

    def read(self, size: int) -> bytes:
        if self._file.tell() + size > self._most:
            raise ValueError(f"it has more than {self._most:,} bytes")
        return self._file.read(size)

    def tell(self) -> int:
        return self._file.tell()


@contextmanager
def _open(path: Path, part: str, most: int | None = None) -> Iterator[tuple[BinaryIO, int, int]]:
    try:
        with path.open("rb") as file:
            begin = file if most is None else cast(BinaryIO, _BoundedFile(file, most))
            _, _, tensor_count, field_count = struct.unpack("<4sIQQ", begin.read(24))
            yield begin, tensor_count, field_count
    except (struct.error, UnicodeDecodeError, KeyError, ValueError) as error:
        raise ModelFileError(f"the {part} of {path} cannot be read: {error}.", "Fetch the file again.") from error


def _fields(file: BinaryIO, count: int) -> Iterator[tuple[str, Any]]:
    for _ in range(count):
        name = _text(file)
        yield name, _value(file, _number(file, "I"))


def _value(file: BinaryIO, kind: int) -> object:
    if kind == _STRING:
        return _text(file)
    if kind != _ARRAY:
        return _number(file, _FORMATS[kind])
    inner, length = _number(file, "I"), _length(file)
    if inner == _STRING:
        return _texts(file, length)
    if inner == _ARRAY:
        return [_value(file, _ARRAY) for _ in range(length)]
    form = f"<{length}{_FORMATS[int(inner)]}"
    return list(struct.unpack(form, file.read(struct.calcsize(form))))


def _text(file: BinaryIO) -> str:
    return _texts(file, 1)[0]


def _texts(file: BinaryIO, count: int) -> list[str]:
    """So many texts, each after its length. A vocabulary has tens of thousands, so no function is called for each."""
    read, unpack, longest = file.read, struct.Struct("<Q").unpack, _LONGEST
    texts = []
    for _ in range(count):
        (length,) = unpack(read(8))
        if length > longest:
            raise _too_long(length)
        texts.append(read(length).decode(errors="replace"))
    return texts


def _length(file: BinaryIO) -> int:
    length = _number(file, "Q")
    if length > _LONGEST:
        raise _too_long(length)
    return length


def _too_long(length: int) -> ValueError:
    return ValueError(f"it says that something in it is {length} long")


def _number(file: BinaryIO, form: str) -> int:
    number: int = struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))[0]
    return number
