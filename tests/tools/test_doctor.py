from __future__ import annotations

from pathlib import Path

import pytest

from populace.scenarios.norms import Norms
from populace.tools.doctor import diagnose, suspects
from support.scenarios import Clockwork


@pytest.mark.slow
def test_the_doctor_finds_a_deterministic_scenario_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    diagnosis = diagnose("norms", Norms, ["--workers", "4", "--days", "2"])
    assert diagnosis.deterministic
    assert diagnosis.digests[0] == diagnosis.digests[1]


@pytest.mark.slow
def test_the_doctor_finds_what_differs_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    diagnosis = diagnose("support.scenarios:Clockwork", Clockwork)
    assert not diagnosis.deterministic
    assert diagnosis.comparison.first_difference is not None
    assert (diagnosis.comparison.first_difference.step, diagnosis.comparison.first_difference.what) == (1, "prompt")
    assert any("hash()" in suspect.why for suspect in diagnosis.suspects)


def test_suspicious_lines_are_named(tmp_path: Path) -> None:
    from populace.engine.discovery import find_scenario

    path = tmp_path / "odd.py"
    path.write_text(
        "import random, time\nimport numpy as np\nfrom populace import Scenario\n\n\nclass Odd(Scenario):\n"
        "    def setup(self):\n        a = time.time()\n        b = random.random()\n        c = np.random.default_rng()\n"
        "        for x in {1, 2}:\n            print(x)\n        return self.rng.random()\n"
    )
    assert [suspect.line for suspect in suspects(find_scenario(str(path)))] == [8, 9, 10, 11]
