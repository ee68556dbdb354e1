"""The tables of a TOML file written by hand: every value is checked, and an error names the file and the table."""

import functools
import hashlib
import math
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import pydantic

from populace.base.documents import DocumentError, read_text
from populace.base.errors import UnknownNameError, WorldError
from populace.worlds.town.places import DAY

_MAX_BYTES = 20_000_000
_TIME = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)")


class TomlFile(pydantic.BaseModel):
    """The text of a TOML file, read once: a run that has it among its parameters repeats without the file.

    It is made from the name of a file, or from its fields.

    Attributes:
        name: The name of the file, for errors.
        text: Its content.

    Example:
        >>> TomlFile(name="map.toml", text="[town]").digest[:8]
        '45bf1201'
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)
    metavar: ClassVar[str] = "FILE"

    name: str
    text: str

    @pydantic.model_validator(mode="before")
    @classmethod
    def _open(cls, value: Any) -> Any:
        return {"name": Path(value).name, "text": _read(Path(value))} if isinstance(value, (str, Path)) else value

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The text of a file."""
        return cls.model_validate(str(path))

    @property
    def digest(self) -> str:
        """The SHA-256 of the text, which says whether two files are the same."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    def tables(self, known: Collection[str] | None = None) -> dict[str, Any]:
        """The content; with `known`, another table at the top is an error."""
        try:
            values = _parse(self.text)
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
            raise WorldError(f"{self.name} is not valid TOML: {error}.", "Mend that line.") from error
        for key in values:
            if known is not None and key not in known:
                raise UnknownNameError(f"table in {self.name}", key, known)
        return values


@functools.lru_cache(maxsize=8)
def _parse(text: str) -> dict[str, Any]:
    # Three readers want the same file, and every run of a study wants it again; nobody changes what they get.
    return tomllib.loads(text)


def _read(path: Path) -> str:
    if not path.is_file():
        raise WorldError(f"there is no file {path}.", "Check the path.")
    try:
        return read_text(path, most=_MAX_BYTES)
    except DocumentError as error:
        raise WorldError(f"{path} cannot be read: {error}.", "Save it as UTF-8 text.") from error
    except OSError as error:
        raise WorldError(f"{path} could not be read: {error}.") from error


class TomlTable:
    """One table of a TOML file, read key by key.

    Args:
        file: The name of the file, for errors.
        where: Which table it is, such as `building 'Larch Lane 4'`, for errors.
        values: The content of the table.
        keys: The keys that it may have.

    Example:
        >>> TomlTable("map.toml", "building 'Mill'", {"x": 3}, {"x", "y"}).number("x")
        3.0
    """

    def __init__(self, file: str, where: str, values: object, keys: Collection[str]) -> None:
        self.file, self.where = file, where
        if not isinstance(values, Mapping):
            raise self.error(f"it is {values!r}, and not a table.", "Write it as { key = value }.")
        self.values = values
        for key in values:
            if key not in keys:
                raise UnknownNameError(f"key of {where} in {file}", key, keys)

    def error(self, what: str, hint: str | None = None) -> WorldError:
        """An error about this table."""
        return WorldError(f"{self.file}, {self.where}: {what}", hint)

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty."""
        value = self._get(key, default)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{key} is {value!r}.", f'Write {key} = "…" with some text.')
        return value.strip()

    def number(self, key: str, default: float | None = None, *, least: float = -math.inf) -> float:
        """A finite number."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < least:
            bound = "" if least == -math.inf else f" of {least:g} or more"
            raise self.error(f"{key} is {value!r}.", f"Write a number{bound}.")
        return float(value)

    def whole(self, key: str, default: int | None = None, *, least: int = 0) -> int:
        """A whole number."""
        value = self.number(key, default, least=least)
        if value != int(value):
            raise self.error(f"{key} is {value:g}.", "Write a whole number.")
        return int(value)

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self.error(f"{key} is {value!r}.", "Write true or false.")
        return value

    def texts(self, key: str, default: list[str] | None = None) -> list[str]:
        """A list of texts."""
        value = self._get(key, default)
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            raise self.error(f"{key} is {value!r}.", f'Write {key} = ["…", "…"].')
        return [item.strip() for item in value]

    def time(self, key: str) -> int:
        """A time of day such as "07:30", in seconds."""
        return self.seconds(self._get(key, None), key)

    def seconds(self, value: object, key: str) -> int:
        """A time of day in seconds."""
        match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
        seconds = int(match[1]) * 3600 + int(match[2]) * 60 if match else DAY + 1
        if seconds > DAY:
            raise self.error(f"{key} is {value!r}.", 'Write a time of day in quotes, such as "07:30".')
        return seconds

    def hours(self, key: str) -> tuple[int, int]:
        """Opening hours such as "07:00-18:00"; the whole day where none are given."""
        if key not in self.values:
            return 0, DAY
        parts = str(self.values[key]).replace("–", "-").split("-")
        if len(parts) != 2:
            raise self.error(f"{key} is {self.values[key]!r}.", 'Write opening hours as "07:00-18:00".')
        opens, closes = (self.seconds(part, key) for part in parts)
        if opens == closes:
            raise self.error(
                f"{key} is {self.values[key]!r}, from a time to the same time.",
                f'Leave {key} out for a building that is always open, or write two times such as "07:00-18:00".',
            )
        return opens, closes if closes > opens else closes + DAY

    def _get(self, key: str, default: object) -> Any:
        value = self.values.get(key, default)
        if value is None:
            raise self.error(f"{key} is missing.", f"Add a line {key} = …")
        return value


def array_of_tables(file: str, values: Mapping[str, Any], key: str, keys: Collection[str]) -> list[TomlTable]:
    """The tables of one kind in a file, such as every [[building]]; errors name each by its name or number."""
    tables = values.get(key, [])
    if not isinstance(tables, list):
        raise WorldError(
            f"{file}: {key!r} stands there once, as [{key}].", f"Write it as [[{key}]], in double brackets."
        )
    names = [table.get("name") if isinstance(table, Mapping) else None for table in tables]
    return [
        TomlTable(file, f"{key} {name!r}" if name else f"{key} {number}", table, keys)
        for number, (name, table) in enumerate(zip(names, tables, strict=True), 1)
    ]
