"""A plan that cannot be read says in which file and on which line."""

from __future__ import annotations

from pathlib import Path

import pytest

from populace.base.errors import TrainingError
from populace.training.plan import TrainingPlan


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\nlicences: [CC0-1.0]\ndata:\n- decisions: corpus\n  passes: 0\n", r"plan\.yaml, line 5: data\.0\.passes"),
        ("name: x\nlicences: [CC0-1.0]\nspeed: 9\ndata:\n- decisions: corpus\n", r"plan\.yaml, line 3: speed"),
        ("- name: x\n", "is not a training plan"),
        ("name: [", "could not be read"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_plan_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(TrainingError, match=message):
        TrainingPlan.read(tmp_path / "plan.yaml")


def test_a_plan_takes_its_folders_from_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("name: x\nlicences: [CC0-1.0]\ndata:\n- decisions: corpus\n")
    assert TrainingPlan.read(tmp_path / "plan.yaml").data[0].decisions == tmp_path / "corpus"
