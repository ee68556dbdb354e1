from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from populace import simulate
from populace.base.errors import ScenarioError, UnknownNameError
from populace.engine import discovery
from populace.engine.discovery import find_scenario, known_scenarios, reference
from populace.scenarios.norms import Norms
from populace.tools.scaffold import scenario_file
from support.scenarios import Shirts


def test_shipped_scenarios_are_found_by_name() -> None:
    assert find_scenario("norms") is Norms
    assert set(known_scenarios()) >= {"norms", "epidemic"}


def test_a_scenario_is_found_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "town.py"
    path.write_text(scenario_file("town"))
    assert find_scenario(str(path)) is find_scenario(f"{path}:Town")


def test_a_scenario_of_another_package_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("theirs", "support.scenarios:Shirts", discovery.GROUP)
    monkeypatch.setattr(discovery, "entry_points", lambda group: [point])
    discovery.known_scenarios.cache_clear()
    assert find_scenario("theirs") is Shirts
    discovery.known_scenarios.cache_clear()


@pytest.mark.parametrize("name", ["norms", "support.scenarios:Shirts"])
def test_a_reference_finds_the_scenario_again(name: str) -> None:
    scenario = find_scenario(name)
    assert reference(scenario) == name
    assert find_scenario(reference(scenario)) is scenario


def test_a_reference_to_a_file_is_its_path(tmp_path: Path) -> None:
    path = tmp_path / "town.py"
    path.write_text(scenario_file("town"))
    assert reference(find_scenario(str(path))) == f"{path}:Town"


def test_an_unknown_scenario_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match=r"no scenario named 'norm'.*Did you mean 'norms'"):
        find_scenario("norm")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("class Broken(\n", r"line 1"),
        ("import populace\n\n1 / 0\n", r"line 3: ZeroDivisionError"),
        ("", r"holds no scenario. A scenario begins with: class Garden\(pc.Scenario\):"),
        ("class Table:\n    pass\n", r"holds no scenario. A scenario begins with: class Garden\(pc.Scenario\):"),
        (
            "class Helper:\n    pass\nclass Town:\n    async def step(self):\n        pass\n",
            r"holds no scenario. Town does not inherit from Scenario. Write: class Town\(pc.Scenario\):",
        ),
        ("import populace as pc\n\npc.choice()\n", r"line 3: AttributeError: .* Did you mean populace.Choice\?$"),
        (
            "import populace as pc\n\nclass Town(pc.Scenario()):\n    pass\n",
            r"line 3: the class Town inherits from an object of Scenario.* class Town\(pc.Scenario\):",
        ),
        (
            "import populace as pc\n\nclass Town(pc.Scenario):\n    @pc.metric()\n    def x(self):\n        return 1\n",
            "line 4: metric was called without a method. Write @pc.metric without parentheses.",
        ),
        (scenario_file("one") + scenario_file("two").replace('"""Two', '"""', 1), "holds 2 scenarios: One, Two"),
    ],
)
def test_a_file_that_is_no_scenario_says_why(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=says):
        find_scenario(str(path))


def test_a_class_that_is_not_in_the_file_gets_the_nearest_name(tmp_path: Path) -> None:
    path = tmp_path / "town.py"
    path.write_text(scenario_file("town"))
    with pytest.raises(UnknownNameError, match="Did you mean 'Town'"):
        find_scenario(f"{path}:Twon")


def test_a_class_that_does_not_inherit_is_named_when_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "town.py"
    path.write_text("class Town:\n    pass\n")
    with pytest.raises(UnknownNameError, match=r"Write: class Town\(pc\.Scenario\):"):
        find_scenario(f"{path}:Town")


def test_a_file_that_is_not_there_says_so() -> None:
    with pytest.raises(ScenarioError, match=r"there is no file nowhere\.py"):
        find_scenario("nowhere.py")


def test_a_file_that_starts_a_run_when_it_is_loaded_is_refused_with_the_missing_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = scenario_file("script")
    start = 'populace.simulate(Script(), model="scripted:uniform")\n'
    (tmp_path / "script.py").write_text(f"import populace\n{scenario}\n{start}")
    with pytest.raises(ScenarioError, match=r"script\.py, line \d+: .* while Populace loads it") as refused:
        find_scenario("script.py")
    assert 'if __name__ == "__main__":' in str(refused.value)
    assert not (tmp_path / "runs").exists()
    (tmp_path / "script.py").write_text(f'import populace\n{scenario}\nif __name__ == "__main__":\n    {start}')
    run = simulate(find_scenario("script.py")(), model="scripted:uniform", keep="nothing")
    assert run.manifest.status.state == "complete"


def test_a_file_that_runs_an_experiment_when_it_is_loaded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    start = 'populace.Experiment(name="e", scenario="norms", factors={"days": [1, 2]}, outcomes=["share_blue"]).run()'
    (tmp_path / "script.py").write_text(f"import populace\n{scenario_file('script')}\n{start}\n")
    with pytest.raises(ScenarioError, match=r"runs an experiment while Populace loads it"):
        find_scenario("script.py")
    assert not (tmp_path / "experiments").exists()
