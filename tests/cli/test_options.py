from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from populace.cli import cli
from support.commands import populace


def test_the_parameters_of_one_scenario_do_not_stay_with_the_command() -> None:
    told = [CliRunner().invoke(cli, ["run", *name, "--help"]).output for name in (["norms"], ["forum"], [])]
    assert ["--workers" in text for text in told] == [True, False, False]
    assert ["--design" in text for text in told] == [False, True, False]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "norms", "--worker", "3"], "there is no option --worker. Did you mean --workers?"),
        (["list", "--worker", "3"], "there is no option --worker.\n"),
        (["list", "--workspce", "x"], "there is no option --workspce. Did you mean --workspace?"),
    ],
)
def test_only_an_option_that_is_near_is_proposed(arguments: list[str], says: str) -> None:
    done = populace(*arguments)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.parametrize(
    "arguments", [["list"], ["show", "last"], ["resume", "last"], ["report", "last"], ["feedback"], ["stop", "last"]]
)
def test_a_command_that_reads_runs_says_that_its_folder_is_missing(tmp_path: Path, arguments: list[str]) -> None:
    folder = tmp_path / "nowhere"
    done = populace(*arguments, "--workspace", str(folder))
    assert done.returncode == 2
    assert f"there is no folder {folder}" in done.stderr
    assert populace(*arguments, POPULACE_WORKSPACE=str(folder)).returncode == 2
    assert not folder.exists()
