"""Finding a scenario: shipped by name, in a file, in a module, or in another package.

Loading a scenario runs its file, like any import of Python does. `find_scenario` is for names that the user gives;
a name that stands in a run folder or an experiment goes through `recorded_scenario`, which checks that the code is
trusted.
"""

import functools
import inspect
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from populace.base import trust
from populace.base.errors import PopulaceError, ScenarioError, UnknownNameError, line_in, nearest
from populace.base.formatting import sentence
from populace.base.modules import import_file, import_module, split_reference
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
    "shop": "populace.scenarios.shop:Shop",
    "demand": "populace.scenarios.demand:Demand",
}
"""The scenarios that ship, by name."""

WITH_COMMANDS = {
    "survey": "populace.surveys.scenario:SurveyScenario",
    "causal": "populace.causal.scenario:CausalScenario",
}
"""Scenarios that a command of their own starts, so that they are found by name but not listed."""

GROUP = "populace.scenarios"
"""The entry points under which other packages offer theirs."""


_LOADED: dict[str, type[Scenario]] = {}
"""Scenarios that were referred to in this process. Without it, forking in a script would load the script again."""


@functools.cache
def known_scenarios() -> dict[str, str]:
    """All scenarios that can be named: shipped ones and those of other packages."""
    return {point.name: point.value for point in entry_points(group=GROUP)} | SHIPPED


def _targets() -> dict[str, str]:
    """Module and class of every scenario that has a name."""
    return known_scenarios() | WITH_COMMANDS


def find_scenario(name: str) -> type[Scenario]:
    """A scenario class by name, `file.py`, `file.py:Class` or `module:Class`.

    Example:
        >>> find_scenario("norms").__name__
        'Norms'
    """
    if name in _LOADED:
        return _LOADED[name]
    known = known_scenarios()
    where, class_name = _target(name)
    if not where:
        raise UnknownNameError("scenario", name, known, "A file of your own is named as file.py or file.py:Class.")
    trust.allow(scenario_code(name))
    if where.endswith(".py"):
        return _only(_load_file(Path(where)), class_name, where)
    if is_from_prompt(name):
        raise ScenarioError(
            f"the scenario {class_name} was defined in a notebook or at a prompt, which cannot be loaded again.",
            "Put it into a file of its own; then its runs can be resumed and forked from anywhere.",
        )
    try:
        module = import_module(where)
    except (ImportError, ValueError) as error:
        raise ScenarioError(sentence(f"the scenario {name} could not be imported: {error}")) from error
    return _only(module, class_name, where)


def is_from_prompt(name: str) -> bool:
    """Whether a scenario was defined in a notebook or at a prompt, so that no other process can load it.

    Example:
        >>> is_from_prompt("__main__:Commute"), is_from_prompt("norms")
        (True, False)
    """
    return _target(name)[0] == "__main__"


def recorded_scenario(name: str, trusted: trust.TrustFile, subject: str) -> type[Scenario]:
    """The scenario that a run folder or an experiment names, if its code is trusted.

    Args:
        name: The name in the folder.
        trusted: What the workspace trusts.
        subject: What names it, for the message.

    Raises:
        UntrustedCodeError: Its code is not trusted; nothing was imported.
    """
    trusted.require(scenario_code(name), subject)
    return find_scenario(name)


def scenario_code(name: str) -> list[trust.Code]:
    """The code that loading a scenario would import; none for those that ship, are installed, or are loaded already."""
    where, _ = _target(name)
    # A module that the user's program imported is the user's; naming it imports nothing.
    return [] if name in _LOADED or where in sys.modules else source_code(name)


def source_code(name: str) -> list[trust.Code]:
    """The code of a scenario, whether it is loaded already or not; none for those that ship or are installed."""
    where, _ = _target(name)
    if name in _targets() or where in ("", "__main__") or f"{where}.".startswith("populace.scenarios."):
        return []
    if where.endswith(".py"):
        return [trust.file_code(name, Path(where))] if Path(where).is_file() else []
    return [trust.module_code(name, where)]


def _target(name: str) -> tuple[str, str]:
    """The file or module that holds a scenario, and its class; nothing where the name has no such form."""
    target = _targets().get(name, name)
    return split_reference(target)


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
    for name, target in _targets().items():
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
        folder = path.parent if path.parent.is_dir() else Path()
        guess = nearest(path.name, [each.name for each in folder.glob("*.py")])
        hint = f"Did you mean {folder / guess}? " if guess else ""
        raise ScenarioError(f"there is no file {path}.", hint + "`populace new NAME` writes a scenario to begin with.")
    try:
        return import_file(path)
    except SyntaxError as error:
        raise ScenarioError(f"{path}, line {error.lineno}: {error.msg}.", _SYNTAX_HINTS.get(error.msg)) from error
    except Exception as error:
        line = line_in(error, str(path.resolve()))
        where = f", line {line}" if line else ""
        if isinstance(error, PopulaceError):
            raise ScenarioError(f"{path}{where}: {error.what}", error.hint) from error
        raise ScenarioError(sentence(f"{path}{where}: {type(error).__name__}: {error}")) from error


_SYNTAX_HINTS = {"'await' outside async function": "Write async before its def, as in async def step(self):"}


def _only(module: ModuleType, class_name: str, where: str) -> type[Scenario]:
    classes = {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Scenario) and value.__module__ == module.__name__
    }
    if class_name:
        scenario = classes.get(class_name) or getattr(module, class_name, None)
        if not (inspect.isclass(scenario) and issubclass(scenario, Scenario)):
            hint = None if classes else _class_line(module, class_name)
            raise UnknownNameError(f"scenario in {where}", class_name, classes, hint)
        return scenario
    if not classes:
        raise ScenarioError(f"{where} holds no scenario.", _class_line(module))
    if len(classes) != 1:
        names = ", ".join(classes)
        raise ScenarioError(f"{where} holds {len(classes)} scenarios: {names}.", f"Write {where}:NAME for one of them.")
    return next(iter(classes.values()))


def _class_line(module: ModuleType, name: str = "") -> str:
    """How a scenario begins in a file that has none: the class that was perhaps meant, as it should be written."""
    own = [each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == module.__name__]
    meant = [each.__name__ for each in own if each.__name__ == name or {"setup", "step"} & vars(each).keys()]
    if meant:
        return f"{meant[0]} does not inherit from Scenario. Write: class {meant[0]}(pc.Scenario):"
    return f"A scenario begins with: class {name or 'Garden'}(pc.Scenario): – `populace new NAME` writes one that runs."
