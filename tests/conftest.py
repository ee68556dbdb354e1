from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

from populace import Run, Scenario, simulate
from support.models import Counting
from support.scenarios import Shirts

# A thread of OpenMP that waits for another keeps a processor busy; while several processes run tests, the model and
# PyTorch would take ten times as long. The library reads this when it is loaded, here and in commands that tests start.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# How long an example takes depends on what else the machine does, and says nothing about what is tested.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a test does reaches the user's own workspace or price table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POPULACE_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("POPULACE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "POPULACE_PRICES", "POPULACE_DEBUG"):
        monkeypatch.delenv(name, raising=False)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests that share a fixture of their module run in one process, so that it is made once."""
    file = item.nodeid.partition("::")[0]
    fixtures = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
    shared = any(each.scope == "module" and each.baseid == file for several in fixtures for each in several)
    if shared and not item.get_closest_marker("xdist_group"):
        item.add_marker(pytest.mark.xdist_group(file))


def _longest_first(items: list[pytest.Item]) -> None:
    """Put groups and slow tests first, so that no process ends with a long group while the others have nothing left."""
    slow: dict[str, bool] = {}
    for item in items:
        slow[_group(item)] = slow.get(_group(item), False) or item.get_closest_marker("slow") is not None
    items.sort(key=lambda item: (item.get_closest_marker("xdist_group") is None, not slow[_group(item)]))


def _group(item: pytest.Item) -> str:
    group = item.get_closest_marker("xdist_group")
    return str(group.args[0]) if group else item.nodeid


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give tests the group in their id by which `--dist loadgroup` keeps them in one process.

    pytest-xdist 3.8 writes it where pytest 9.2 no longer reads it, so that its groups have no effect.
    """
    if not hasattr(config, "workerinput") or not config.getvalue("loadgroup"):
        return
    _longest_first(items)
    for item in items:
        group = item.get_closest_marker("xdist_group")
        if group and hasattr(item, "_id") and not item.nodeid.endswith(f"@{group.args[0]}"):
            item._id = type(item._id).parse(f"{item.nodeid}@{group.args[0]}")


@pytest.fixture
def shirts_run() -> Run:
    return simulate(Shirts(), model=Counting(), seed=1)


def run_varied(scenario: Scenario, **options: object) -> Run:
    """A run on the scripted model that answers every kind of question."""
    return simulate(scenario, model=Counting(), **options)  # type: ignore[arg-type]
