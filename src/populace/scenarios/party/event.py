"""The news of a study: what is going to happen, when and where, and who is told of it first.

Events are declared in a TOML file or as mappings; they become part of the run's manifest.
"""

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Self

import pydantic
from pydantic import Field

from populace.base.errors import ParameterError, UnknownNameError
from populace.base.templates import Template
from populace.worlds.town import TomlFile

_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_NAME = re.compile(r"^[a-z][a-z0-9_]*$")
_GENERIC = frozenset("a an the of for in on at and with day days week night evening morning afternoon".split())
_KNOWN_FIELDS = ("what", "place", "date", "begins", "ends")


class NewsEvent(pydantic.BaseModel):
    """A piece of news: something that is going to happen, of which one resident is told.

    Attributes:
        name: A short name for metrics and tables: letters, digits and underscores.
        what: What happens, as people call it.
        words: The words by which speech about it is recognised; by default the last word of `what` and its names.
        host: The name of the resident who is told; by default the first who works at the place,
            or else the first adult who hosts nothing else.
        place: The address of a building or room, or a kind of building, of which the first is taken; without one the
            news has no place.
        day: The day of the run, counted from 1; without one the news has no time.
        begins: When it begins, such as 17:00.
        ends: When it ends.
        day_names: Other names of the day, such as `Valentine's Day`.
        message: What the host is told, with the fields {what}, {place}, {date}, {begins} and {ends}.

    Example:
        >>> NewsEvent(name="fair", what="spring fair", place="park", day=2, begins="14:00", ends="16:00").key_words
        ('fair',)
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=_NAME.pattern, max_length=30)
    what: str = Field(max_length=120)
    words: tuple[str, ...] = ()
    host: str | None = None
    place: str | None = None
    day: int | None = Field(None, ge=1)
    begins: str | None = None
    ends: str | None = None
    day_names: tuple[str, ...] = ()
    message: str = ""

    @pydantic.model_validator(mode="after")
    def _check(self) -> Self:
        for clock in (self.begins, self.ends):
            if clock is not None and not _CLOCK.fullmatch(clock):
                raise _error(self.name, f"begins or ends at {clock!r}.", 'Write a time of day such as "17:00".')
        times = (self.day, self.begins, self.ends)
        if any(time is None for time in times) and any(time is not None for time in times):
            raise _error(self.name, "has a part of a time.", "Give day, begins and ends, or none of them.")
        if self.begins is not None and self.ends is not None and self.begins >= self.ends:
            raise _error(self.name, f"begins at {self.begins} and ends at {self.ends}.", "It ends on the same day.")
        if not self.key_words:
            raise _error(self.name, f"{self.what!r} has no word to recognise it by.", 'Write words = ["…"].')
        unknown = next((field for field in Template(self.message).fields if field not in _KNOWN_FIELDS), None)
        if unknown is not None:
            raise UnknownNameError(f"field in the message of the event {self.name!r}", unknown, _KNOWN_FIELDS)
        return self

    @property
    def key_words(self) -> tuple[str, ...]:
        """The words by which speech about it is recognised, in lower case."""
        if self.words:
            return tuple(word.casefold() for word in self.words)
        words = re.findall(r"[^\W_]+(?:['’](?!s\b)[^\W_]+)?", re.sub(r"['’]s\b", "", self.what))
        content = [word for word in words if word.casefold() not in _GENERIC]
        names = [word for word in content[:-1] if word[0].isupper()]
        return tuple(dict.fromkeys(word.casefold() for word in [*content[-1:], *names]))


class NewsEvents(pydantic.RootModel[tuple[NewsEvent, ...]]):
    """The events of a study: the name of a TOML file or of a set that ships, or a list of mappings.

    Example:
        >>> [event.name for event in NewsEvents.model_validate("party-and-election").root]
        ['party', 'election']
    """

    model_config = pydantic.ConfigDict(frozen=True)
    metavar: ClassVar[str] = "FILE"

    root: tuple[NewsEvent, ...]

    @pydantic.model_validator(mode="before")
    @classmethod
    def _parse(cls, value: Any) -> Any:
        where = "the events"
        if isinstance(value, (str, Path)):
            where, value = str(value), _read(value)
        elif isinstance(value, Mapping):
            value = [value]
        return [_entry(entry, where) for entry in value] if isinstance(value, Sequence) else value

    @pydantic.model_validator(mode="after")
    def _check(self) -> Self:
        names = [event.name for event in self.root]
        if not names:
            raise ParameterError("there is no event.", "Write at least one [[event]].")
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise ParameterError(f"two events are named {double!r}.", "Their metrics go by name; give each another.")
        return self


def shipped_events() -> dict[str, Path]:
    """The files of events that ship, by name.

    Example:
        >>> list(shipped_events())
        ['party', 'party-and-election']
    """
    folder = Path(str(resources.files("populace.scenarios.party"))) / "events"
    return {path.stem: path for path in sorted(folder.glob("*.toml"), key=lambda path: path.stem)}


def _read(source: str | Path) -> Any:
    shipped = shipped_events()
    path = shipped.get(str(source), Path(source))
    if not path.is_file():
        raise ParameterError(
            f"there is no file of events {source}.", f"Name a TOML file, or events that ship: {', '.join(shipped)}."
        )
    entries = TomlFile.read(path).tables(("event",)).get("event", [])
    if not isinstance(entries, list):
        raise ParameterError(f"{source}: [event] stands there once.", "Write it as [[event]], in double brackets.")
    return entries


def _entry(entry: Any, where: str) -> Any:
    """An entry with clear messages for common mistakes; everything else is left to the model."""
    if not isinstance(entry, Mapping):
        return entry
    for key in entry:
        if key not in NewsEvent.model_fields:
            raise UnknownNameError(f"key of an event ({where})", str(key), NewsEvent.model_fields)
    for key, example in (("name", "fair"), ("what", "spring fair")):
        if not entry.get(key):
            raise ParameterError(f"{where}: an event has no {key}.", f'Write {key} = "{example}".')
    name = entry["name"]
    if isinstance(name, str) and not _NAME.fullmatch(name):
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_0123456789") or "fair"
        raise ParameterError(
            f"{where}: an event is named {name!r}, and a name has small letters, digits and underscores only.",
            f'Write name = "{plain}"; what people call it is `what`.',
        )
    return entry


def _error(name: str, what: str, hint: str) -> ParameterError:
    return ParameterError(f"the event {name!r} {what}", hint)
