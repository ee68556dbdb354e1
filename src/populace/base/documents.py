"""Files that somebody else may have written: read with limits on size, encoding, depth and numbers.

Run folders, experiments, designs and dumps travel between people. A file is decoded as UTF-8, a byte order mark is
dropped, and what no file of Populace holds is refused with a reason: a device or a pipe in its place, more bytes than
allowed, deep nesting, repeated keys, endless numbers, NaN where no NaN can be, aliases that multiply.
"""

import contextlib
import json
import os
import re
import stat
from collections.abc import Container
from pathlib import Path
from typing import Any

import yaml

from populace.base.errors import DamagedRunError

MAX_BYTES = 256_000_000
"""The largest JSON or JSONL file that is read."""
MAX_YAML_BYTES = 1_000_000
"""The largest YAML file that is read."""
MAX_DEPTH = 100
"""How deep lists and mappings may be nested."""
MAX_NODES = 200_000
"""How many values a YAML file may hold, each alias counted with all that it stands for."""
MAX_DIGITS = 40
"""How many digits a whole number may have."""


_BRACKET_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]')
_HALF = re.compile("[\ud800-\udfff]")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class DocumentError(ValueError):
    """Why a file cannot be read, as a phrase without a full stop. Readers raise it again as an error of the family."""


def read_bytes(path: Path, *, most: int = MAX_BYTES, links: bool = True) -> bytes:
    """The content of a plain file; see `read_text`."""
    try:
        # Without O_NONBLOCK, a pipe in place of the file would be waited for.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW))
    except ValueError as error:  # A name with a NUL character.
        raise DocumentError(f"its name is not valid: {error}") from error
    with os.fdopen(file, "rb") as open_file:
        status = os.fstat(open_file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise DocumentError("it is not a plain file")
        if status.st_size > most:
            raise DocumentError(f"it has {status.st_size:,} bytes; at most {most:,} are read")
        return open_file.read(most + 1)


def read_text(path: Path, *, most: int = MAX_BYTES, links: bool = True) -> str:
    """The text of a file.

    Args:
        path: The file.
        most: The most bytes that it may have.
        links: Whether it may be a link to a file elsewhere.

    Raises:
        DocumentError: It is no plain file, too large or not UTF-8.
        OSError: It cannot be opened.
    """
    data = read_bytes(path, most=most, links=links)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"it is not UTF-8: byte {error.start + 1:,} cannot be read") from error


def parse_json(text: str, *, nan: bool = False) -> Any:
    """The value of a JSON text.

    Args:
        text: The text.
        nan: Whether NaN and Infinity, which Python writes, may occur.

    Raises:
        DocumentError: It is not JSON, or holds what no file of Populace holds.

    Example:
        >>> parse_json('{"days": [1, 2]}')
        {'days': [1, 2]}
    """
    _check_depth(text)
    try:
        value = _DECODERS[nan].decode(text)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except DocumentError:
        raise
    except UnicodeEncodeError as error:
        raise DocumentError("it holds half of a character") from error
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"it is not JSON: {error}") from error
    return value


def read_json(path: Path, *, nan: bool = False, most: int = MAX_BYTES) -> Any:
    """The value in a JSON file; see `read_text` and `parse_json`."""
    return parse_json(read_text(path, most=most), nan=nan)


def parse_json_object(text: str, *, nan: bool = False) -> dict[str, Any]:
    """The value of a JSON text that must be an object."""
    value = parse_json(text, nan=nan)
    if not isinstance(value, dict):
        raise DocumentError("it is not a JSON object")
    return value


def read_yaml(path: Path, *, most: int = MAX_YAML_BYTES, words: bool = False) -> Any:
    """The value in a YAML file; see `read_text` and `parse_yaml`."""
    return parse_yaml(read_text(path, most=most), words=words)


_YAML_ADVICE = {
    "mapping values are not allowed here": "put a text that holds a colon into quotes",
    "'\\t' that cannot start any token": "write spaces in place of the tab",
}
"""What to do about the commonest mistakes, by words of the parser."""


def parse_yaml(text: str, *, words: bool = False) -> Any:
    """The value of a YAML text; only plain data, and no more values than allowed.

    Args:
        text: The text.
        words: Whether `yes`, `no`, `on` and `off` stay words, because answers are written like that; by default they
            are truth values.

    Raises:
        DocumentError: It is not YAML, or holds what no file of Populace holds.

    Example:
        >>> parse_yaml("days: [1, 2]")
        {'days': [1, 2]}
        >>> parse_yaml("[yes, true]"), parse_yaml("[yes, true]", words=True)
        ([True, True], ['yes', True])
    """
    try:
        return yaml.load(text, _WordLoader if words else _BoundedLoader)
    except DocumentError:
        raise
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        advice = next((f" ({advice})" for words, advice in _YAML_ADVICE.items() if words in problem), "")
        raise DocumentError(f"it is not YAML{where}: {problem}{advice}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        # PyYAML lets errors of the values through, as that of a date with a month 13.
        raise DocumentError(f"it is not YAML: {error}") from error


def name_problem(name: str) -> str:
    """Why a name from a file cannot be the name of a file or folder beside it; empty where it can.

    Example:
        >>> name_problem("norms-1a2b"), name_problem("../..")
        ('', "'../..' leads out of its folder")
    """
    if name in ("", ".", ".."):
        return f"{name!r} is not a name"
    if "/" in name or "\\" in name:
        return f"{name[:80]!r} leads out of its folder"
    if any(ord(character) < 32 or ord(character) == 127 for character in name):
        return f"{name[:80]!r} holds control characters"
    if len(name.encode("utf-8", "surrogatepass")) > 255:
        return f"{name[:40]!r}… is too long for a name"
    if any(0xD800 <= ord(character) < 0xE000 for character in name):
        return f"{name[:80]!r} is not text"
    return ""


def refuse_outside_links(folder: Path, *, skip: Container[str] = ()) -> None:
    """Raise DamagedRunError where a link in a folder, or in a folder in it, leads out of it.

    What is written to such a name would be written elsewhere.

    Args:
        folder: The folder.
        skip: Folders in it that are not looked into.
    """
    try:
        outside = _outside_link(folder, skip)
    except OSError as error:
        raise DamagedRunError(f"{folder} cannot be read: {error.strerror or error}.") from error
    if outside is not None:
        raise DamagedRunError(
            f"{folder.name}: {outside} is a link that leads out of its folder.", "Put the file itself in its place."
        )


def _outside_link(folder: Path, skip: Container[str]) -> str | None:
    entries = [(entry.name, entry) for entry in os.scandir(folder)]
    for name, entry in list(entries):
        if name not in skip and entry.is_dir(follow_symlinks=False):
            with contextlib.suppress(FileNotFoundError):  # Whoever writes there may have removed it by now.
                entries += [(f"{name}/{inner.name}", inner) for inner in os.scandir(entry.path)]
    links = [name for name, entry in entries if entry.is_symlink()]
    home = folder.resolve() if links else folder
    return next((name for name in links if not _target(folder / name).is_relative_to(home)), None)


def _target(link: Path) -> Path:
    try:
        return link.resolve()
    except (OSError, RuntimeError):  # A link to itself.
        return Path("/")


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKET_OR_STRING.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth > MAX_DEPTH:
            raise DocumentError(f"it is nested more than {MAX_DEPTH} deep")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DocumentError(f"the key {twice[:80]!r} stands twice")
    return result


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise DocumentError(f"a number has {len(digits):,} digits; at most {MAX_DIGITS} are read")
    return int(digits)


def _no_constant(name: str) -> float:
    raise DocumentError(f"{name} is not a number that can be used")


_DECODERS = {
    False: json.JSONDecoder(object_pairs_hook=_unique, parse_int=_whole, parse_constant=_no_constant),
    True: json.JSONDecoder(object_pairs_hook=_unique, parse_int=_whole),
}


class _BoundedLoader(yaml.SafeLoader):
    """A SafeLoader that refuses deep nesting, repeated keys, endless numbers and aliases that multiply."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._depth = 0
        self._open: set[str] = set()
        self._sizes: dict[int, int] = {}
        self._total = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node, and count what it stands for."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        anchor = getattr(event, "anchor", None)
        alias = isinstance(event, yaml.AliasEvent)
        if alias and anchor in self._open:
            raise DocumentError(f"the alias *{anchor} contains itself")
        before = self._total
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise DocumentError(f"it is nested more than {MAX_DEPTH} deep")
        if anchor and not alias:
            self._open.add(anchor)
        node = super().compose_node(parent, index)
        self._open.discard(anchor or "")
        self._depth -= 1
        self._total += self._sizes.get(id(node), 1) if alias else 1
        if self._total > MAX_NODES:
            raise DocumentError(f"it holds more than {MAX_NODES:,} values")
        if anchor and not alias:
            self._sizes[id(node)] = self._total - before
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """A mapping without repeated keys."""
        if isinstance(node, yaml.MappingNode):
            names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise DocumentError(f"line {node.start_mark.line + 1}: the key {twice[:80]!r} stands twice")
        return super().construct_mapping(node, deep=deep)

    def construct_scalar(self, node: Any) -> Any:
        """A text without halves of characters; two halves that belong together, as JSON writes them, become one."""
        value: Any = super().construct_scalar(node)
        if not isinstance(value, str) or not _HALF.search(value):
            return value
        try:
            return value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError as error:
            raise DocumentError(f"line {node.start_mark.line + 1}: it holds half of a character") from error

    def construct_number(self, node: Any) -> int:
        """A whole number of a sensible length."""
        if len(node.value) > MAX_DIGITS:
            raise DocumentError(f"a number has {len(node.value):,} digits; at most {MAX_DIGITS} are read")
        return int(super().construct_yaml_int(node))


_BoundedLoader.add_constructor("tag:yaml.org,2002:int", _BoundedLoader.construct_number)


class _WordLoader(_BoundedLoader):
    """A loader for which only `true` and `false` are truth values."""


_WordLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool" or first in "tTfF"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
