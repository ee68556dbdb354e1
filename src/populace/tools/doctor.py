"""Checks whether a scenario is deterministic, and finds likely causes where it is not.

It is run twice in fresh processes that differ in everything that must not matter: concurrency,
the order in which replies arrive, the hash seed and the time zone. Then the journals are compared.
The source is read for the usual suspects, so that a difference comes with a cause.
"""

import ast
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from populace.base.errors import ScenarioError
from populace.engine.scenario import Scenario
from populace.runs.compare import Comparison, compare
from populace.runs.reader import RunReader

_SUSPECTS = {
    "the wall clock; use self.now": "time.time time.monotonic time.perf_counter "
    "datetime.now datetime.utcnow datetime.today date.today",
    "waiting; a step takes no time of its own": "time.sleep asyncio.sleep",
    "random outside the run; use self.rng": "uuid.uuid4 uuid.uuid1 os.urandom",
    "an order that depends on time; use self.each": "asyncio.gather asyncio.create_task",
}
"""Why a call makes a run unrepeatable, and the functions of which that is true."""
_RANDOM = ("random.", "np.random.", "numpy.random.", "secrets.")


@dataclass(frozen=True)
class Suspect:
    """A line that may make a run unrepeatable."""

    line: int
    code: str
    why: str


@dataclass(frozen=True)
class Diagnosis:
    """Whether a scenario repeats.

    Attributes:
        deterministic: Whether both journals are equal, byte for byte.
        digests: The digests of both.
        steps: How many steps were compared.
        comparison: How the two runs differ.
        suspects: Lines of the source that may be the cause.
    """

    deterministic: bool
    digests: tuple[str, str]
    steps: int
    comparison: Comparison
    suspects: list[Suspect]


TRIAL_MODEL = "scripted:slow"
"""The model of trial runs, unless another is named."""


def diagnose(
    name: str, scenario: type[Scenario], arguments: Sequence[str] = (), *, model: str = TRIAL_MODEL
) -> Diagnosis:
    """Run a scenario twice under different circumstances and compare.

    Args:
        name: How the scenario is named on the command line.
        scenario: The same as a class, to read its source.
        arguments: Further arguments of `populace run`, such as parameters.
        model: The model of both runs; each calls it anew.
    """
    with tempfile.TemporaryDirectory(prefix="populace-doctor-") as folder:
        calm = _run(
            name, [*arguments, "--model", model], Path(folder) / "calm", concurrency=1, hash_seed="1", zone="UTC"
        )
        wild = _run(
            name,
            [*arguments, "--model", model],
            Path(folder) / "wild",
            concurrency=64,
            hash_seed="2",
            zone="Pacific/Auckland",
        )
        comparison = compare(calm, wild)
        digests = calm.digest, wild.digest
        return Diagnosis(digests[0] == digests[1], digests, len(calm.steps), comparison, suspects(scenario))


def _run(
    name: str, arguments: Sequence[str], folder: Path, *, concurrency: int, hash_seed: str, zone: str
) -> RunReader:
    command = [sys.executable, "-m", "populace", "run", name, *arguments, "--json"]
    command += ["--concurrency", str(concurrency), "--workspace", str(folder)]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "TZ": zone}
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    try:
        document = json.loads(process.stdout)
    except ValueError:
        raise ScenarioError(f"the trial run of {name} broke off: {process.stderr.strip()[-500:]}") from None
    if document["status"] != "ok":
        error = document["error"]
        raise ScenarioError(f"the trial run of {name} failed: {error['message']}", error["hint"])
    return RunReader.open(document["data"]["folder"])


def suspects(scenario: type[Scenario]) -> list[Suspect]:
    """Lines in the file of a scenario that use the clock, other randomness than `self.rng`, or an undefined order."""
    try:
        path = inspect.getsourcefile(scenario)
        source = Path(path).read_text(encoding="utf-8") if path else ""
        tree = ast.parse(source)
    except (OSError, SyntaxError, TypeError):
        return []
    lines = source.splitlines()
    result = []
    for node in ast.walk(tree):
        why = _suspicion(node)
        if why:
            result.append(Suspect(node.lineno, lines[node.lineno - 1].strip(), why))  # type: ignore[attr-defined]
    return sorted(result, key=lambda suspect: suspect.line)


def _suspicion(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call):
        function = ast.unparse(node.func)
        for why, names in _SUSPECTS.items():
            if any(f".{function}".endswith(f".{name}") for name in names.split()):
                return why
        if function.startswith(_RANDOM) and "default_rng" not in function and "Generator" not in function:
            return "random outside the run; use self.rng"
        if function.endswith("default_rng") and not node.args and not node.keywords:
            return "a generator without a seed; use self.rng"
        if function == "hash":
            return "hash() differs between processes"
    if isinstance(node, ast.For | ast.comprehension):
        iterable = node.iter
        is_set = isinstance(iterable, ast.Set | ast.SetComp)
        if is_set or (isinstance(iterable, ast.Call) and ast.unparse(iterable.func) in ("set", "frozenset")):
            return None if isinstance(node, ast.comprehension) else "the order of a set; sort it"
    return None
