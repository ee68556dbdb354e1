from __future__ import annotations

from pathlib import Path

import pytest

from populace.base.errors import UnknownNameError
from populace.engine.session import Session
from populace.models import Model
from populace.scenarios.norms import Norms
from populace.tools.probe import Probe, draw_probe, probe
from support.models import Counting


def run_probe(model: Model, **options: object) -> Probe:
    return probe(Norms, models=[model.spec], session=Session(model=model), **options)  # type: ignore[arg-type]


def test_a_probe_maps_a_response_curve_over_parameters() -> None:
    from populace.models import Request, Scripted

    def crowd(request: Request) -> dict[str, float]:
        share = int(request.messages[-1][1].split("Yesterday ")[2].split(" ")[0]) / 10
        return {"blue": share, "green": 1 - share}

    result = run_probe(
        Scripted(crowd, spec="scripted:crowd"),
        parameters={"workers": 10, "exact_start": True},
        vary={"initial_share": [0.0, 0.5, 1.0]},
    )
    assert result.curve()["blue"].to_list() == pytest.approx([0.0, 0.5, 1.0], abs=1e-6)
    assert result.curve()["people"].to_list() == [10, 10, 10]


def test_a_probe_varies_columns_and_fields_too() -> None:
    result = run_probe(Counting(), parameters={"workers": 4}, vary={"shirt": ["blue", "green"], "firsts": [0, 4]})
    assert result.curve().height == 4
    assert result.table.height >= 12


def test_a_probe_of_something_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'firsts'"):
        run_probe(Counting(), vary={"first_s": [1]})


def test_a_picture_of_a_probe_is_drawn(tmp_path: Path) -> None:
    result = run_probe(Counting(), parameters={"workers": 4}, vary={"initial_share": [0.0, 1.0]})
    assert draw_probe(result, tmp_path / "probe.png").read_bytes().startswith(b"\x89PNG")
