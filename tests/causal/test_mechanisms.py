"""Planted mechanisms in every design, and diagnostics that find them (a part of benchmarks/causal_designs.py)."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from populace.causal import DESIGNS, CausalResults, CausalStudy
from support.audit import IN_FULL, size
from support.benchmark_modules import benchmark_module

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "causal-designs.md"
MECHANISMS = ("none", "inferred confounder", "demand effect", "focalism", "anchoring by range")


@pytest.fixture(scope="module")
def planted() -> ModuleType:
    return benchmark_module("causal_designs")


@pytest.fixture(scope="module")
def shop(planted: ModuleType) -> CausalStudy:
    study: CausalStudy = planted.shop_study(people=24, items=5)
    return study


@pytest.fixture(scope="module")
def results(planted: ModuleType, shop: CausalStudy) -> dict[str, CausalResults]:
    return {name: planted.ask_planted(name, shop, diagnostics=True) for name in MECHANISMS}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_mechanism_biases_the_designs_in_which_it_is_at_work_and_no_other(
    planted: ModuleType, shop: CausalStudy, results: dict[str, CausalResults], mechanism: str
) -> None:
    truth = planted.true_slope(shop)
    for design in DESIGNS:
        slope = results[mechanism][design].slope
        bias = slope.value - truth
        if design in planted.BIASED[mechanism]:
            assert abs(bias) > 0.5 and not slope.contains(truth), (design, slope)
        elif design in ("within", "aggregate"):  # Their answers are drawn.
            assert slope.contains(truth), (design, slope)
        else:
            assert abs(bias) < 0.1, (design, slope)


def test_unblinding_loses_where_people_guess_the_hypothesis_or_cling_to_the_range(
    planted: ModuleType, shop: CausalStudy, results: dict[str, CausalResults]
) -> None:
    truth = planted.true_slope(shop)
    for mechanism in ("demand effect", "anchoring by range"):
        blind, unblinded = (abs(results[mechanism][d].slope.value - truth) for d in ("blind", "unblinded"))
        assert unblinded > blind + 0.5
    confounded = results["inferred confounder"]
    assert abs(confounded["unblinded"].slope.value - truth) < abs(confounded["blind"].slope.value - truth) - 0.5


def test_drift_is_found_where_the_model_infers_and_its_bias_is_the_one_that_is_seen(
    planted: ModuleType, shop: CausalStudy, results: dict[str, CausalResults]
) -> None:
    drift = results["inferred confounder"].drifts[0]
    seen = results["inferred confounder"]["blind"].slope.value - planted.true_slope(shop)
    assert drift.verdict == "drifts"
    assert drift.bias is not None and drift.bias.value == pytest.approx(seen, abs=0.25)
    assert results["none"].drifts[0].verdict != "drifts"


def test_a_step_is_found_under_focalism_alone(results: dict[str, CausalResults]) -> None:
    verdicts = {name: result.focalism[0].verdict for name, result in results.items()}
    assert [name for name, verdict in verdicts.items() if verdict == "step"] == ["focalism"]
    assert results["focalism"].focalism[0].jump.high < -1


def test_the_range_matters_under_anchoring_alone(results: dict[str, CausalResults]) -> None:
    found = {name: [each.design for each in result.ranges if each.verdict == "range matters"]
             for name, result in results.items()}  # fmt: skip
    assert found["anchoring by range"] == ["unblinded", "within", "aggregate"]
    assert found["none"] == found["inferred confounder"] == found["focalism"] == []


def test_the_designs_to_doubt_are_those_that_a_diagnostic_can_see(results: dict[str, CausalResults]) -> None:
    doubted = {name: [design for design, why in result.doubts.items() if why] for name, result in results.items()}
    assert doubted == {
        "none": [],
        "inferred confounder": ["blind"],
        "demand effect": [],  # It leaves no trace in the answers of one design; the slopes differ all the same.
        "focalism": ["covariates"],
        "anchoring by range": ["unblinded", "within", "aggregate"],
    }
    assert any("unblinded differs from that of blind" in text for text in results["demand effect"].findings())
    assert not any("differs from" in text for text in results["none"].findings())


@pytest.mark.audit
def test_diagnostics_have_power_and_keep_their_size(planted: ModuleType) -> None:
    rates = dict(planted.trial_rates(size(24, 1000)))
    for (verdict, effect, kind), rate in rates.items():
        if IN_FULL:
            assert planted.holds(kind, rate), (verdict, effect, rate)
        else:
            assert rate <= 0.25 if kind == "size" else rate >= 0.75, (verdict, effect, rate)


def test_the_tables_of_the_page_have_every_cell_and_no_rate_beyond_its_bar(planted: ModuleType) -> None:
    text = PAGE.read_text(encoding="utf-8")
    biases = text.split("<!-- mechanisms begins -->")[1].split("<!-- mechanisms ends -->")[0].strip().splitlines()
    assert [line.split(" | ")[0].strip("| ") for line in biases[2:7]] == list(MECHANISMS)
    assert sum(line.count("**") for line in biases) == 2 * sum(len(cells) for cells in planted.BIASED.values())
    rates = text.split("<!-- diagnostics begins -->")[1].split("<!-- diagnostics ends -->")[0].strip().splitlines()
    assert len(rates) == 2 + len(planted.TRIALS)
    assert all("| 1000 |" in line and "**!**" not in line for line in rates[2:])
