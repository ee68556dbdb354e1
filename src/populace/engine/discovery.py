"""Finding a scenario: shipped by name, in a file, in a module, or in another package.

Loading a scenario runs its file, like any import of Python does. Only files that the user names
are loaded.
"""

import functools
import hashlib
import importlib
import importlib.util
import inspect
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from populace.base.errors import ScenarioError, UnknownNameError, line_in
from populace.engine.scenario import Scenario

SHIPPED = {
    "norms": "populace.scenarios.norms:Norms",
    "epidemic": "populace.scenarios.epidemic:Epidemic",
    "party": "populace.scenarios.party:Party",
    "discussion": "populace.scenarios.discussion:Discussion",
    "forum": "populace.scenarios.forum:Forum",
    "schelling": "populace.scenarios.schelling:Schelling",
    "axelrod": "populace.scenarios.axelrod:Axelrod",
    "axelrod-lattice": "populace.scenarios.axelrod:AxelrodLattice",
    "market": "populace.scenarios.market:Market",
}
"""The scenarios that ship, by name."""

WITH_COMMANDS = {"survey": "populace.surveys.scenario:SurveyScenario"}
"""Scenarios that a command of their own starts, so that they are found by name but not listed."""

GROUP = "populace.scenarios"
"""The entry points under which other packages offer theirs."""


_LOADED: dict[str, type[Scenario]] = {}
"""Scenarios that were referred to in this process. Without it, forking in a script would load the script again."""


@functools.cache
def known_scenarios() -> dict[str, str]:
    """All scenarios that can be named: shipped ones and those of other packages."""
    return {point.name: point.value for point in entry_points(group=GROUP)} | SHIPPED


def find_scenario(name: str) -> type[Scenario]:
    """A scenario class by name, `file.py`, `file.py:Class` or `module:Class`.

    Example:
        >>> find_scenario("norms").__name__
        'Norms'
    """
    if name in _LOADED:
        return _LOADED[name]
    known = known_scenarios()
    target = (known | WITH_COMMANDS).get(name, name)
    where, _, class_name = target.rpartition(":") if ":" in target else (name, "", "")
    if where.endswith(".py"):
        return _only(_load_file(Path(where)), class_name, where)
    if ":" not in target:
        raise UnknownNameError("scenario", name, known, "A file of your own is named as file.py or file.py:Class.")
    if where == "__main__":
        raise ScenarioError(
            f"the scenario {class_name} was defined in a notebook or at a prompt, which cannot be loaded again.",
            "Put it into a file of its own; then its runs can be resumed and forked from anywhere.",
        )
    try:
        module = importlib.import_module(where)
    except ImportError as error:
        raise ScenarioError(f"the scenario {name} could not be imported: {error}.") from error
    return _only(module, class_name, where)


def scenario_files(folder: Path) -> list[Path]:
    """Python files in a folder, or one folder down, that speak of a Scenario; they are read, not run."""
    files = []
    for path in sorted([*folder.glob("*.py"), *folder.glob("*/*.py")]):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and path.is_file() and b"Scenario" in path.read_bytes():
            files.append(path)
    return files


def reference(scenario: type[Scenario]) -> str:
    """How to find the scenario again: what `find_scenario` takes. This process finds it as the very same class."""
    name = _reference(scenario)
    _LOADED[name] = scenario
    return name


def _reference(scenario: type[Scenario]) -> str:
    default = f"{scenario.__module__}:{scenario.__qualname__}"
    for name, target in (known_scenarios() | WITH_COMMANDS).items():
        home, _, class_name = target.partition(":")
        if class_name == scenario.__qualname__ and f"{scenario.__module__}.".startswith(f"{home}."):
            return name
    module = sys.modules.get(scenario.__module__)
    file = getattr(module, "__file__", None)
    if file and (getattr(module, "__populace_file__", False) or scenario.__module__ == "__main__"):
        return f"{Path(file).resolve()}:{scenario.__qualname__}"
    return default


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ScenarioError(f"there is no file {path}.", "`populace new NAME` writes a scenario to begin with.")
    resolved = path.resolve()
    name = f"populace_file_{resolved.stem}_{hashlib.blake2b(str(resolved).encode(), digest_size=6).hexdigest()}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, resolved)
    if spec is None or spec.loader is None:
        raise ScenarioError(f"{path} cannot be loaded as Python.")
    module = importlib.util.module_from_spec(spec)
    module.__populace_file__ = True  # type: ignore[attr-defined]
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        del sys.modules[name]
        raise ScenarioError(f"{path}, line {error.lineno}: {error.msg}.") from error
    except Exception as error:
        del sys.modules[name]
        line = line_in(error, str(resolved))
        where = f", line {line}" if line else ""
        raise ScenarioError(f"{path}{where}: {type(error).__name__}: {error}.") from error
    return module


def _only(module: ModuleType, class_name: str, where: str) -> type[Scenario]:
    classes = {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Scenario) and value.__module__ == module.__name__
    }
    if class_name:
        scenario = classes.get(class_name) or getattr(module, class_name, None)
        if not (inspect.isclass(scenario) and issubclass(scenario, Scenario)):
            raise UnknownNameError(f"scenario in {where}", class_name, classes)
        return scenario
    if len(classes) != 1:
        names = ", ".join(classes) or "none"
        raise ScenarioError(f"{where} holds {len(classes)} scenarios: {names}.", f"Write {where}:NAME for one of them.")
    return next(iter(classes.values()))
