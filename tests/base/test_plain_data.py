"""Settings with a wrong argument are refused with an error of Populace, which names the argument."""

import pytest

import populace as pc
from populace.base.errors import InterventionError, ParameterError, UnknownNameError
from populace.journal.selection import Selection


@pytest.mark.parametrize("make", [pc.CallSettings, pc.RunSettings, Selection])
def test_an_unknown_argument_is_named(make: type) -> None:
    with pytest.raises(UnknownNameError, match="no_such_thing"):
        make(no_such_thing=1)


def test_a_value_out_of_bounds_is_named_with_its_argument() -> None:
    with pytest.raises(ParameterError, match=r"CallSettings: concurrency = 0: input should be greater than or equal"):
        pc.CallSettings(concurrency=0)
    with pytest.raises(ParameterError, match=r"RunSettings: temperature = nan"):
        pc.RunSettings(temperature=float("nan"))
    with pytest.raises(InterventionError, match=r"Selection: share = 2"):
        Selection(share=2.0)


def test_a_wrong_setting_of_a_run_is_named_without_its_class() -> None:
    from populace.scenarios.norms import Norms

    with pytest.raises(ParameterError, match=r"^temperature = -1: "):
        pc.simulate(Norms(), model="scripted", temperature=-1)
