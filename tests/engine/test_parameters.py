"""Parameters whose definition cannot be right are refused before anything runs, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from populace import Field, Scenario, probe
from populace.base.errors import ParameterError, PopulaceError, ScenarioError, UnknownNameError
from support.commands import populace

GARDEN = '''
import populace as pc


class Garden(pc.Scenario):
    """Neighbours help or do not."""

    neighbours: int = pc.Field(3, ge=2, description="How many.")
    WEEKS

    def setup(self):
        return pc.People.named(self.neighbours, seed=self.rng)

    def length(self):
        return self.weeks

    async def step(self):
        await self.ask(self.people, pc.Choice("Do you help?", options=("yes", "no")))
'''


def garden_file(folder: Path, weeks: str) -> str:
    file = folder / "garden.py"
    file.write_text(GARDEN.replace("WEEKS", weeks))
    return str(file)


def scenario_with(hint: Any, default: Any) -> type[Scenario]:
    return type("Garden", (Scenario,), {"__annotations__": {"weeks": hint}, "weeks": default})


@pytest.mark.parametrize(
    ("hint", "default", "says"),
    [
        (int, Field(1, ge=2), "the default of 'weeks' is 1: input should be greater than or equal to 2."),
        (int, (2,), "the default of 'weeks' is (2,): input should be a valid integer. The comma behind the value"),
        (int, Field("two", ge=1), "the default of 'weeks' is 'two': input should be a valid integer"),
        (int, Field(2.5, ge=1), "the default of 'weeks' is 2.5: input should be a valid integer"),
        (int, None, "the default of 'weeks' is None: input should be a valid integer"),
        (list[int], Field(default_factory=list, min_length=1), "the default of 'weeks' is []: it should not be empty"),
    ],
)
def test_a_default_that_breaks_its_own_bound_or_type_is_named(hint: Any, default: Any, says: str) -> None:
    with pytest.raises(ParameterError) as raised:
        scenario_with(hint, default)()
    assert f"Garden: {says}" in str(raised.value)


@pytest.mark.parametrize(
    ("hint", "default"),
    [(int, Field(2, ge="a")), (str, Field("a", pattern="(")), (str, Field("a", ge=2)), (int, Field(2, min_length=1))],
)
def test_a_bound_that_does_not_fit_the_type_is_named(hint: Any, default: Any) -> None:
    with pytest.raises(ScenarioError, match="Garden: the bounds of the parameter 'weeks' do not fit its type: "):
        scenario_with(hint, default)()


def test_a_default_keeps_the_form_in_which_it_was_written() -> None:
    # A default that was turned into the type of its parameter would read otherwise in a prompt.
    assert repr(scenario_with(float, Field(2, ge=1))().weeks) == "2"  # type: ignore[attr-defined]


def test_a_probe_of_another_parameter_does_not_run_with_a_default_that_is_not_allowed() -> None:
    with pytest.raises(ParameterError, match="the default of 'weeks' is 1"):
        probe(scenario_with(int, Field(1, ge=2)), vary={"weeks": [2, 3]}, models=["scripted:uniform"])


@pytest.mark.parametrize("command", ["run", "estimate"])
def test_a_default_out_of_its_bounds_is_no_bug_of_populace(tmp_path: Path, command: str) -> None:
    done = populace(command, garden_file(tmp_path, "weeks: int = pc.Field(1, ge=2)"), "--model", "scripted:uniform")
    assert done.returncode == 2
    assert "P102" in done.stderr and "the default of 'weeks' is 1" in done.stderr


@pytest.mark.parametrize(
    ("argument", "advice"),
    [
        ("min", r"Did you mean ge=…\?"),
        ("maximum", r"Did you mean le=…\?"),
        ("descripton", r"Did you mean 'description'\? Known: default, .*min_length"),
        ("alias", r"Known: "),
    ],
)
def test_an_unknown_argument_of_a_field_is_refused(argument: str, advice: str) -> None:
    with pytest.raises(UnknownNameError, match=f"there is no argument of Field named '{argument}'. {advice}"):
        Field(2, **{argument: 1})


def test_a_misspelt_argument_of_a_field_is_reported_with_its_line(tmp_path: Path) -> None:
    done = populace("run", garden_file(tmp_path, 'weeks: int = pc.Field(2, descripton="Weeks.")'))
    assert done.returncode == 2
    assert "garden.py, line 9: there is no argument of Field named 'descripton'." in done.stderr


def test_a_parameter_without_a_value_is_given_in_the_form_of_the_place(tmp_path: Path) -> None:
    with pytest.raises(PopulaceError, match="Write weeks=…, or give it a default."):
        scenario_with(int, ...)()
    file = garden_file(tmp_path, "weeks: int\n    seed: int")
    assert "Write --weeks …, or give it a default." in populace("run", file).stderr
    # An option of the command has the name already.
    assert "Write --scenario-seed …, or" in populace("run", file, "--weeks", "2").stderr


def test_a_parameter_without_a_default_can_be_varied_in_a_probe(tmp_path: Path) -> None:
    place = ["--workspace", str(tmp_path), "--model", "scripted:uniform"]
    file = garden_file(tmp_path, "weeks: int")
    assert populace("probe", file, "--vary", "weeks=1,2", *place).returncode == 0
    done = populace("probe", file, "--vary", "neighbours=2,3", *place)
    assert done.returncode == 2 and "Write --weeks …" in done.stderr
