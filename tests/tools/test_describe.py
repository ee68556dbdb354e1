from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import Any, Literal

import pytest

from populace import Field, Scenario
from populace.engine.discovery import find_scenario, known_scenarios, scenario_files
from populace.tools.describe import describe_scenario, parameters_of


class Season(enum.Enum):
    dry = "dry"
    wet = "wet"


class Orchard(Scenario):
    """People pick apples.

    They do so until there are none.
    """

    trees: int = Field(ge=1, lt=100, description="How many trees.")
    ripe: float = Field(0.5, gt=0, le=1)
    sort: Literal["red", "green"] = Field("red")
    season: Season = Field(Season.dry)
    wages: dict[str, float] = Field({"day": 2.5})
    ladder: bool = True
    owner: str = "Ida"
    limit: int | None = Field(None, ge=3)
    pickers: list[str] = Field(default_factory=list)


def test_every_kind_of_parameter_is_told_apart() -> None:
    kinds = {each.name: each.kind for each in parameters_of(Orchard)}
    assert kinds == {
        "trees": "int", "ripe": "number", "sort": "choice", "season": "choice", "wages": "json", "ladder": "bool",
        "owner": "text", "limit": "int", "pickers": "json",
    }  # fmt: skip


def test_bounds_choices_and_defaults_are_those_of_the_scenario() -> None:
    parameters = {each.name: each for each in parameters_of(Orchard)}
    assert parameters["trees"].bounds == [">= 1", "< 100"]
    assert parameters["trees"].required and not parameters["ripe"].required
    assert parameters["ripe"].bounds == ["> 0", "<= 1"]
    assert parameters["sort"].choices == ("red", "green")
    assert (parameters["season"].choices, parameters["season"].default) == (("dry", "wet"), "dry")
    assert parameters["wages"].default == {"day": 2.5}
    assert (parameters["limit"].optional, parameters["limit"].bounds, parameters["limit"].default) == (
        True,
        [">= 3"],
        None,
    )
    assert parameters["pickers"].default == []


def test_the_purpose_is_the_docstring_and_the_summary_its_first_sentence() -> None:
    description = describe_scenario(Orchard)
    assert description["summary"] == "People pick apples."
    assert description["purpose"].endswith("until there are none.")
    assert description["title"] == "orchard"


@pytest.mark.parametrize("name", [name for name in known_scenarios() if name != "axelrod"])
def test_every_scenario_that_ships_is_plain_data_and_says_what_its_parameters_mean(name: str) -> None:
    description: dict[str, Any] = describe_scenario(find_scenario(name))
    assert json.loads(json.dumps(description)) == description
    assert description["name"] == name
    assert all(each["help"] for each in description["parameters"])
    assert set(description["chart"]) <= set(description["metrics"])


def test_files_that_speak_of_a_scenario_are_found_one_folder_down_and_are_not_run(tmp_path: Path) -> None:
    for place in ("mine.py", "study/theirs.py", "study/deep/far.py", ".hidden/not.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("raise SystemExit('Scenario')")
    (tmp_path / "other.py").write_text("print('nothing of ours')")
    assert [str(path.relative_to(tmp_path)) for path in scenario_files(tmp_path)] == ["mine.py", "study/theirs.py"]
