"""Studio shows a received run without importing what it names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from populace import simulate
from populace.base.errors import UntrustedCodeError
from populace.engine.workspace import Workspace
from populace.scenarios.norms import Norms
from populace.studio.library import Library
from populace.studio.metrics import metric_info
from populace.studio.pages.town.data import TownRun


@pytest.mark.parametrize("scenario", ["{folder}/theirs.py:Town", "{folder}/theirs.py", "theirs_module:Town"])
def test_the_pages_of_a_received_run_import_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    ran = tmp_path / "ran"
    for name in ("theirs.py", "theirs_module.py"):
        (tmp_path / name).write_text(f"import pathlib; pathlib.Path({str(ran)!r}).touch()\nclass Town: pass\n")
    run = simulate(Norms(workers=3, days=1), decider="rule")
    path = run.folder / "manifest.json"
    data = json.loads(path.read_text())
    data["scenario"] = scenario.format(folder=tmp_path)
    data["status"].pop("end")
    path.write_text(json.dumps(data))
    library = Library(Workspace())
    card = library.card(run.name)
    assert card.overview is not None and card.overview.steps == 1
    metric_info(data["scenario"])
    with pytest.raises(UntrustedCodeError, match="SHA-256"):
        TownRun(library.run(run.name))
    assert not ran.exists()


def test_a_file_that_is_only_parsed_may_be_as_deep_as_it_likes(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text("x = " + "(" * 50_000)
    (tmp_path / "large.py").write_text("x = 1\n" * 500_000)
    for name in ("deep.py", "large.py"):
        assert metric_info(f"{tmp_path / name}:Town").chart == ()
