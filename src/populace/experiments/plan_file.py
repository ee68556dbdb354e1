"""The file of an experiment: reading it, and finding the line of a mistake in it."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pydantic
import yaml

from populace.base.documents import MAX_YAML_BYTES, DocumentError, parse_yaml, read_text
from populace.base.errors import UnknownNameError, UsageError


def shipped_experiments() -> dict[str, Path]:
    """The files of the experiments that ship with scenarios, by name.

    Example:
        >>> list(shipped_experiments())
        ['epidemic-thousand', 'norms-sensitivity', 'norms-starts']
    """
    folder = Path(str(resources.files("populace.scenarios")))
    return {file.stem: file for file in sorted(folder.glob("*/experiments/*.yaml"), key=lambda file: file.stem)}


def find_plan_file(name: str | Path) -> Path:
    """The file of an experiment: a path, or the name of one that ships where no such file exists."""
    path = Path(name)
    if path.exists():
        return path
    shipped = shipped_experiments()
    if str(name) in shipped:
        return shipped[str(name)]
    if path.suffix or path.parent != Path():
        return path
    raise UnknownNameError("experiment file", str(name), shipped, "A file of your own is named as FILE.yaml.")


def read_plan_file(path: Path) -> tuple[dict[str, Any], str]:
    """The keys of an experiment's YAML file, and its text."""
    try:
        text = read_text(path, most=MAX_YAML_BYTES)
        data = parse_yaml(text)
    except OSError as error:
        raise UsageError(f"the experiment {path} cannot be read: {error.strerror}.") from error
    except DocumentError as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path} holds no experiment.", "Write name, scenario, factors and outcomes as keys.")
    return {str(key): value for key, value in data.items()}, text


def add_line(error: UsageError, path: Path, text: str) -> None:
    """Put the file and the line before the text of an error, where the line can be found."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    line = None
    if isinstance(error, UnknownNameError):
        line = _line_of_name(node, error.name)
    elif isinstance(error.__cause__, pydantic.ValidationError):
        line = _line_of_place(node, error.__cause__.errors()[0]["loc"])
    if line is not None:
        error.what = f"{path.name}, line {line}: {error.what}"
        error.args = (error.what,)


def _line_of_place(node: Any, place: Sequence[int | str]) -> int | None:
    """The line of the value at a place, or of the last part of the place that is there."""
    line = None
    for part in place:
        if isinstance(node, yaml.MappingNode):
            pair = next(((key, value) for key, value in node.value if key.value == str(part)), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
    return line


def _line_of_name(node: Any, name: str) -> int | None:
    """The line of the first key or value that is, or holds, a name."""
    open_nodes, inside = [node], None
    while open_nodes:
        node = open_nodes.pop(0)
        if isinstance(node, yaml.ScalarNode):
            if node.value == name:
                return int(node.start_mark.line) + 1
            if inside is None and name in node.value:
                inside = int(node.start_mark.line) + 1
        elif isinstance(node, yaml.MappingNode):
            open_nodes = [part for pair in node.value for part in pair] + open_nodes
        elif isinstance(node, yaml.SequenceNode):
            open_nodes = [*node.value, *open_nodes]
    return inside
