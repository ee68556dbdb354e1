from __future__ import annotations

from click.testing import CliRunner

from populace.cli import cli


def test_the_parameters_of_one_scenario_do_not_stay_with_the_command() -> None:
    told = [CliRunner().invoke(cli, ["run", *name, "--help"]).output for name in (["norms"], ["forum"], [])]
    assert ["--workers" in text for text in told] == [True, False, False]
    assert ["--design" in text for text in told] == [False, True, False]
