"""The file of an experiment: finding it, and reading it."""

from importlib import resources
from pathlib import Path
from typing import Any

from populace.base.documents import DocumentError, read_yaml
from populace.base.errors import UnknownNameError, UsageError


def shipped_experiments() -> dict[str, Path]:
    """The files of the experiments that ship with scenarios, by name.

    Example:
        >>> [name for name in shipped_experiments() if name.startswith("norms")]
        ['norms-fluctuation', 'norms-paths', 'norms-sensitivity', 'norms-starts']
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


def read_plan_file(path: Path) -> dict[str, Any]:
    """The keys of an experiment's YAML file."""
    try:
        data = read_yaml(path)
    except OSError as error:
        raise UsageError(f"the experiment {path} cannot be read: {error.strerror}.") from error
    except DocumentError as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path} holds no experiment.", "Write scenario, factors and outcomes as keys.")
    return {str(key): value for key, value in data.items()}
