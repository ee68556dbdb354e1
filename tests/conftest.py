from __future__ import annotations

from pathlib import Path

import pytest

from populace import Run, Scenario, simulate
from support.models import Counting
from support.scenarios import Shirts


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a test does reaches the user's own workspace or price table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POPULACE_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("POPULACE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "POPULACE_PRICES", "POPULACE_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a fixture of their module run in one process, so that it is made once."""
    for item in items:
        fixtures = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
        file = item.nodeid.partition("::")[0]
        shared = any(each.scope == "module" and each.baseid == file for several in fixtures for each in several)
        if shared and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(file))


@pytest.fixture
def shirts_run() -> Run:
    return simulate(Shirts(), model=Counting(), seed=1)


def run_varied(scenario: Scenario, **options: object) -> Run:
    """A run on the scripted model that answers every kind of question."""
    return simulate(scenario, model=Counting(), **options)  # type: ignore[arg-type]
