from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from populace.base.errors import ParameterError, UnknownNameError, UsageError
from populace.experiments import Calibration, calibrate
from populace.experiments.calibration_inputs import Knob
from populace.scenarios.norms import Norms
from support.planted import Ruleless, Sides

TEMPERED = "scripted:support.planted:tempered"
QUICK: dict[str, Any] = {"points": 8, "rounds": 3, "seeds": 4, "check_seeds": 8, "workers": 1}
MANY = {"people_count": 400}


def fit(**changes: Any) -> Calibration:
    given: dict[str, Any] = {"model": TEMPERED, "parameters": MANY, "targets": {"share_left": 0.67}} | QUICK
    return calibrate(Sides, **(given | changes))


def test_a_planted_temperature_is_found_again() -> None:
    # 0.8 at temperature 2 is 0.8 ** 0.5 / (0.8 ** 0.5 + 0.2 ** 0.5) = 2 / 3.
    found = fit(knobs={"temperature": (0.5, 4.0)}, targets={"share_left": 2 / 3})
    assert found.fitted["temperature"] == pytest.approx(2.0, abs=0.35)
    low, high = found.plausible["temperature"]
    assert low <= found.fitted["temperature"] <= high
    assert found.before["fitted"].value == pytest.approx(0.8 - 2 / 3, abs=0.03)
    assert found.after["fitted"].value < 0.03
    assert "No target was held out" in str(found)
    assert found.runs == 3 * 8 * 4 + 2 * 8
    assert found.points.height == 24


def test_a_planted_mix_with_the_rule_is_found_and_carries_over_to_held_out_targets() -> None:
    # The model takes left with 0.8 whatever the wind; the rule with 0.5 + 0.3 wind. Half and half is planted.
    rows = [
        {"outcome": "share_left", "wind": wind, "value": 0.5 * 0.8 + 0.5 * (0.5 + 0.3 * wind), "held_out": wind == 0.0}
        for wind in (-1.0, 0.0, 0.5)
    ]
    found = fit(knobs={"rule_share": (0.0, 1.0)}, targets=pl.DataFrame(rows))
    assert found.fitted["rule_share"] == pytest.approx(0.5, abs=0.08)
    assert set(found.after) == {"fitted", "held out"}
    assert found.after["held out"].value < 0.04 < found.before["held out"].value
    assert found.table().filter("held_out")["wind"].to_list() == [0.0]


def test_shares_of_personas_are_set_by_column() -> None:
    knob = Knob.read("share(side=right)", (0.0, 1.0), Sides, {})
    assert knob.change(0.25) == {
        "interventions": [{"kind": "set", "at": 1, "values": {"side": "right"}, "to": {"share": 0.25}}]
    }
    assert knob.change(0.0) == {"interventions": []}


def test_a_target_that_nothing_reaches_is_told() -> None:
    found = fit(knobs={"temperature": (1.0, 4.0)}, targets={"share_left": 0.2})
    assert not found.reached
    assert "Not reached: share_left = 0.2" in str(found)
    assert "the nearest that any setting came is 0.5931" in str(found)
    assert "temperature is at the end of its bounds" in str(found)


def test_the_same_call_gives_the_same_fit_and_runs_nothing_again() -> None:
    first = fit(knobs={"temperature": (0.5, 4.0)}, rounds=2)
    again = fit(knobs={"temperature": (0.5, 4.0)}, rounds=2)
    assert again.fitted == first.fitted
    assert again.points.equals(first.points)


def test_a_share_of_targets_is_held_out_by_the_seed() -> None:
    rows = [{"outcome": "share_left", "wind": wind, "value": 0.8} for wind in (-1.0, 0.0, 1.0, 0.5)]
    found = fit(knobs={"temperature": (0.8, 1.2)}, targets=rows, held_out=0.25, rounds=1, parameters={})
    assert found.targets["held_out"].sum() == 1


def test_unknown_knobs_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="temperature"):
        fit(knobs={"temperatur": (0.5, 2.0)})
    with pytest.raises(UnknownNameError, match="rule_share"):
        fit(knobs={"rule_shar": (0.0, 1.0)})


def test_bad_knobs_and_targets_are_refused() -> None:
    with pytest.raises(UsageError, match="not a number"):
        calibrate(Norms, knobs={"personas": (0, 1)}, targets={"share_blue": 0.5})
    with pytest.raises(ParameterError, match="wind"):
        fit(knobs={"wind": (-3.0, 1.0)})
    with pytest.raises(UsageError, match="lower and a higher"):
        fit(knobs={"temperature": (2.0, 1.0)})
    with pytest.raises(UsageError, match="between 0 and 1"):
        fit(knobs={"rule_share": (0.0, 2.0)})
    with pytest.raises(UnknownNameError, match="share_left"):
        fit(knobs={"temperature": (0.5, 2.0)}, targets={"share_lef": 0.5})
    with pytest.raises(UnknownNameError, match="wind"):
        fit(knobs={"temperature": (0.5, 2.0)}, targets=[{"outcome": "share_left", "value": 0.5, "wint": 1.0}])
    with pytest.raises(UsageError, match="at least one knob"):
        fit(knobs={})


def test_a_scenario_without_a_rule_cannot_be_mixed_with_one() -> None:
    with pytest.raises(UsageError, match="decided by rule"):
        calibrate(Ruleless, knobs={"rule_share": (0.3, 1.0)}, targets={"share_left": 0.5}, model=TEMPERED, **QUICK)
