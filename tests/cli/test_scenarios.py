from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from populace import simulate
from populace.base.errors import ParameterError, ScenarioError, StorageError, UnknownNameError, UsageError
from populace.cli import cli
from populace.engine.discovery import SHIPPED, find_scenario
from populace.scenarios.norms import Norms
from populace.scenarios.party import Party
from populace.tools.scaffold import scenario_file


def reported(*arguments: str) -> Any:
    done = CliRunner().invoke(cli, ["scenarios", *arguments, "--json"], catch_exceptions=False)
    return json.loads(done.stdout)["data"]


def test_every_scenario_is_listed_with_a_sentence() -> None:
    listed = {each["name"]: each["summary"] for each in reported()}
    assert set(SHIPPED) <= set(listed)
    assert all(text.endswith((".", "?")) for text in listed.values())


def test_files_of_the_workspace_are_listed_too(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(scenario_file("mine"))
    assert str(tmp_path / "mine.py") in [each["name"] for each in reported("--workspace", str(tmp_path))]


def test_one_scenario_is_described_with_its_parameters(tmp_path: Path) -> None:
    assert reported("norms")["parameters"][0]["ge"] == 2
    (tmp_path / "mine.py").write_text(scenario_file("mine"))
    assert reported(str(tmp_path / "mine.py"))["parameters"]
    shown = CliRunner().invoke(cli, ["scenarios", "norms"]).output
    assert "initial_share" in shown and "How many people work in the office." in shown


def test_a_syntax_error_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("from populace import Scenario\n\nclass Broken(Scenario:\n")
    with pytest.raises(ScenarioError, match=r"broken\.py, line 3"):
        reported(str(tmp_path / "broken.py"))


def test_a_parameter_with_parts_is_read_as_json_and_checked(tmp_path: Path) -> None:
    run = ["run", "forum", "--model", "scripted:uniform", "--workspace", str(tmp_path), "--whatif"]
    with pytest.raises(ParameterError, match="not JSON"):
        CliRunner().invoke(cli, [*run, "{post"], catch_exceptions=False)
    with pytest.raises(ParameterError, match="whatif.post"):
        CliRunner().invoke(cli, [*run, '{"post": 0}'], catch_exceptions=False)


def test_a_fork_may_change_a_parameter_with_parts(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(
        "from populace import Field, People, Scenario\n\n\n"
        "class Words(Scenario):\n"
        "    said: list[str] = Field(['a'])\n"
        "    steps: int = Field(2, ge=1)\n\n"
        "    def setup(self) -> People:\n"
        "        return People.named(2)\n\n"
        "    async def step(self) -> None:\n"
        "        self.event('said', words=' '.join(self.said))\n"
    )
    place = ["--no-chart", "--json", "--workspace", str(tmp_path)]
    run = CliRunner().invoke(cli, ["run", str(tmp_path / "words.py"), "--decider", "rule", *place])
    name = json.loads(run.stdout)["data"]["run"]
    forked = CliRunner().invoke(
        cli, ["fork", name, "--at", "2", "--set", 'said=["b", "c"]', *place], catch_exceptions=False
    )
    assert json.loads(forked.stdout)["data"]["parameters"]["said"] == ["b", "c"]
    with pytest.raises(ParameterError, match="not JSON"):
        CliRunner().invoke(cli, ["fork", name, "--at", "2", "--set", "said=b", *place], catch_exceptions=False)


def test_a_new_scenario_runs_as_it_is_written_and_shows_neighbours_parameters_and_a_metric(tmp_path: Path) -> None:
    file = tmp_path / "rainy_town.py"
    file.write_text(scenario_file("rainy_town"))
    run = simulate(find_scenario(str(file))(days=2), model="scripted:uniform", keep="nothing")
    assert "of your 2 neighbours carried one." in run.prompts()["user"][0]
    assert run.prompts()["system"][0].endswith(" person in Bergen.")
    assert run.metrics.columns == ["step", "share_carrying"] and run.invalid_share == 0


def test_a_folder_that_cannot_be_written_to_is_named_by_new(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"missing/town.py cannot be written.*populace new FOLDER/town.py"):
        CliRunner().invoke(cli, ["new", str(tmp_path / "missing" / "town")], catch_exceptions=False)


def test_a_name_that_no_class_can_have_is_answered_with_one_that_it_can() -> None:
    with pytest.raises(UsageError, match="populace new nd_town"):
        CliRunner().invoke(cli, ["new", "2nd town"], catch_exceptions=False)


def test_a_new_town_is_three_files_that_exist_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(cli, ["new", "harbour", "--town"], catch_exceptions=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "harbour_map.toml", "harbour_news.toml", "harbour_residents.toml",
    ]  # fmt: skip
    assert "populace run party --map harbour_map.toml" in made.output
    with pytest.raises(UsageError, match=r"harbour_map.toml exists already"):
        CliRunner().invoke(cli, ["new", "harbour", "--town"], catch_exceptions=False)
    with pytest.raises(UsageError, match="two different things"):
        CliRunner().invoke(cli, ["new", "harbour", "--town", "--community"], catch_exceptions=False)


def test_attendance_is_that_of_a_party(tmp_path: Path) -> None:
    run = simulate(Norms(workers=2, days=1), decider="rule", workspace=tmp_path)
    with pytest.raises(UsageError, match="a run of norms, which has no event"):
        CliRunner().invoke(cli, ["attendance", run.name, "--workspace", str(tmp_path)], catch_exceptions=False)
    town = Party(residents=4, days=1, event_day=1, event_begins="07:00", event_ends="08:00")
    one = simulate(town, decider="rule", seed=1, workspace=tmp_path)
    where = ["attendance", one.name, "--workspace", str(tmp_path)]
    with pytest.raises(UsageError, match="there are 0 pairs"):
        CliRunner().invoke(cli, where, catch_exceptions=False)
    with pytest.raises(UnknownNameError, match="'fair'"):
        CliRunner().invoke(cli, [*where, "--seeds", "2", "--event", "fair"], catch_exceptions=False)
    assert len(list((tmp_path / "runs").iterdir())) == 2, "nothing is run for an event that does not exist"
    report = CliRunner().invoke(cli, [*where, "--seeds", "2", "--json"], catch_exceptions=False)
    data = json.loads(report.stdout)["data"]
    assert (data["event"], [row["seed"] for row in data["pairs"]]) == ("party", [1, 2])
