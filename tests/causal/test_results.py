"""Estimates of the designs beside each other, and a report that says first what cannot be believed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
import yaml

from populace import Scripted, simulate
from populace.base.errors import BudgetError, CausalStudyError, UnknownNameError
from populace.causal import (
    CausalResults,
    CausalScenario,
    Responses,
    ask_causal_study,
    design_distance,
    design_estimate,
    drifts,
    focalism,
    range_effect,
    range_halves,
)
from populace.experiments.reports.causal_report import write_causal_report
from populace.models import Request
from support.causal import DECLARATION, study
from support.commands import populace


def responses(y: Any, design: Any = "blind", **changes: Any) -> Responses:
    """Answers of people × items × the three levels of the study."""
    return Responses(study(**changes), design, np.asarray(y, dtype=float))


FIVE = [{"age": age, "work": "nurse"} for age in (20, 30, 40, 50, 60)]
"""With two items, just enough people for a verdict."""


def shopper(request: Request) -> dict[str, float] | str:
    """Buys at low prices; fills in no form."""
    text = request.messages[-1][1]
    if request.schema:
        return "I would rather not."
    if "cost last week?" in text or "expire" in text:
        return "3"
    share = 0.9 if "$1.00" in text.split("costs")[-1] or "$1.75" in text.split("costs")[-1] else 0.2
    return {"buy": share, "leave": 1 - share}


def test_a_curve_is_the_mean_over_people_and_items_and_its_slope_that_of_a_logistic_regression() -> None:
    rng = np.random.default_rng(1)
    y = (rng.random((30, 4, 3)) < [0.8, 0.5, 0.3]).astype(float)
    estimate = design_estimate(responses(y))
    assert [each.value for each in estimate.curve] == pytest.approx(y.mean(axis=(0, 1)).tolist())
    x = np.tile([0.5, 1.0, 1.5], 120)
    reference = sm.GLM(y.ravel(), sm.add_constant(x), family=sm.families.Binomial()).fit()
    assert estimate.slope.value == pytest.approx(reference.params[1], abs=1e-6)
    assert estimate.response == "responds" and estimate.informative


def test_with_one_item_errors_are_those_of_statsmodels_clustered_by_person() -> None:
    rng = np.random.default_rng(2)
    y = (rng.random((40, 1, 3)) < 0.5 + 0.4 * rng.standard_normal((40, 1, 1))).astype(float)
    slope = design_estimate(responses(y)).slope
    x = sm.add_constant(np.tile([0.5, 1.0, 1.5], 40))
    groups = np.repeat(np.arange(40), 3)
    fit = sm.GLM(y.ravel(), x, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    error = fit.bse[1] * math.sqrt(40 / 39)
    assert (slope.high - slope.low) / 2 == pytest.approx(2.0226909 * error, rel=1e-4)


def test_a_response_without_a_finite_slope_is_marked() -> None:
    y = np.tile([1.0, 1.0, 0.0], (5, 2, 1))
    estimate = design_estimate(responses(y))
    assert "no finite value" in estimate.slope.warning
    assert estimate.curve[0].low < 1, "five people who all buy do not show that everybody does"


@pytest.mark.parametrize(
    ("curve", "expected", "response"),
    [
        ([0.5, 0.5, 0.5], "either", "does not respond"),
        ([0.9, 0.5, 0.1], "falls", "responds"),
        ([0.1, 0.5, 0.9], "falls", "responds the other way"),
        ([0.2, 0.8, 0.2], "falls", "no clear direction"),
    ],
)
def test_an_answer_that_does_not_follow_the_treatment_is_uninformative(
    curve: list[float], expected: str, response: str
) -> None:
    noise = np.random.default_rng(0).normal(0, 0.01, (20, 3, 3)) * (response != "does not respond")
    estimate = design_estimate(responses(np.clip(np.array(curve) + noise, 0, 1), expected=expected))
    assert estimate.response == response
    assert estimate.informative == (response == "responds")


def test_a_level_without_a_valid_answer_is_not_measured() -> None:
    y = np.full((3, 2, 3), 0.5)
    y[:, :, 1] = np.nan
    estimate = design_estimate(responses(y))
    assert estimate.response == "not measured"
    assert math.isnan(estimate.slope.value) and estimate.slope.dropped == 6


def test_a_handful_of_valid_answers_is_not_judged() -> None:
    y = np.tile([0.9, 0.5, 0.1], (30, 2, 1))
    y[5:] = np.nan  # 10 of 60 answers at each level: enough, but a selection
    assert design_estimate(responses(y)).response == "too few valid answers"
    assert design_estimate(responses(y[:4])).response == "too few valid answers", "8 at each level"
    assert design_estimate(responses(y[:5])).response == "responds"
    y[4, 1, 2] = np.nan
    few = design_estimate(responses(y[:5]))
    assert few.response == "too few valid answers" and not few.judged and not few.informative


def test_diagnostics_do_not_judge_a_handful_of_valid_answers() -> None:
    few, enough = np.full((4, 2, 3), 3.0), np.full((5, 2, 3), 3.0)
    for z, verdict in ((few, "not measured"), (enough, "constant")):
        [drift] = drifts(Responses(study(), "blind", z * np.nan, elicited={"past_price": z}))
        assert drift.verdict == verdict
    halves = range_halves(study())
    for y, verdict in ((few, "not measured"), (enough, "no effect found")):
        pair = [Responses(half, "unblinded", y[:, :, :2]) for half in halves]
        assert range_effect(*pair).verdict == verdict


def test_designs_without_enough_valid_answers_are_not_set_apart_from_others() -> None:
    y = np.tile([0.9, 0.5, 0.1], (10, 2, 1))
    few = np.where(np.arange(10)[:, None, None] < 1, 1 - y, np.nan)
    results = CausalResults(study(), {"blind": responses(y), "within": responses(few, "within")})
    assert results.distances == () and results.doubts["within"] == ("too few valid answers",)


def test_the_distance_of_a_design_to_itself_is_zero_and_areas_are_means_over_the_range() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random((10, 4, 3)), rng.random((10, 4, 3))
    assert design_distance(responses(a), responses(a)).absolute.value == 0
    apart = design_distance(responses(a), responses(b))
    difference = a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))
    assert apart.signed.value == pytest.approx(float(np.array([0.25, 0.5, 0.25]) @ difference))
    assert apart.absolute.value == pytest.approx(float(np.array([0.25, 0.5, 0.25]) @ np.abs(difference)))
    fewer = design_distance(responses(a), responses(b[:3]))
    assert fewer.signed.high - fewer.signed.low > 0


def test_what_can_be_said_is_said_when_forms_are_refused_and_nothing_varies() -> None:
    results = ask_causal_study(study(personas=FIVE), model=Scripted(shopper), keep="nothing", seed=1)
    assert {name: each.response for name, each in results.estimates.items()} == {
        "blind": "responds", "covariates": "responds", "unblinded": "responds",
        "within": "not measured", "aggregate": "not measured",
    }  # fmt: skip
    assert results.informative
    # Everybody says the same at every level: the value is known, and it does not drift.
    assert [(each.covariate, each.verdict) for each in results.drifts] == [
        ("past_price", "constant"), ("days", "constant"),
    ]  # fmt: skip
    assert {each.design: each.verdict for each in results.ranges} == {
        "unblinded": "no effect found", "within": "not measured", "aggregate": "not measured",
    }  # fmt: skip
    assert results["within"].invalid == 5 * 2 * 3


def test_a_run_holds_all_that_the_estimates_need(tmp_path: Path) -> None:
    run = simulate(
        CausalScenario(study=study(), design="covariates", drift=False), model=Scripted(shopper), workspace=tmp_path
    )
    opened = Responses.of(run)
    assert opened.y.shape == (3, 2, 3)
    assert set(np.unique(opened.covariates["past_price"])) <= {0.8, 1.0, 1.2}
    assert opened.cost.calls == 18
    run.replay(verify=True)
    curve = CausalScenario.report(run)[0]
    assert curve.table["value"].to_list() == pytest.approx([0.9, 0.2, 0.2])
    flat = simulate(
        CausalScenario(study=study(personas=FIVE), design="blind", drift=False),
        model="scripted:uniform",
        keep="nothing",
    )
    assert CausalScenario.report(flat)[0].note.startswith("Uninformative: does not respond.")


def test_an_unstated_covariate_can_be_asked_for_as_a_choice_of_numbers() -> None:
    def follower(request: Request) -> dict[str, float]:
        shares = [0.9, 0.1] if "$1.00" in request.messages[-1][1] else [0.1, 0.9]  # the lowest price of cola
        return dict(zip(("1 dollars", "2.5 dollars"), shares, strict=True))

    past = {"name": "past", "question": "What did {product} cost?", "unit": "dollars", "choices": [1, 2.5]}
    chosen = study(covariates=[past], personas=FIVE * 8)
    scenario = CausalScenario(study=chosen, design="blind", drift=True)
    run = simulate(scenario, model=Scripted(follower), seed=1, keep="nothing")
    elicited = Responses.of(run).elicited["past"]
    assert set(np.unique(elicited)) == {1.0, 2.5} and elicited.shape == (40, 2, 3)
    cola = elicited[:, 0].mean(axis=0)
    assert cola[0] < 1.5 and cola[1] > 2 and cola[2] > 2
    assert run.usage().calls == 5 * 2 * 3, "one call for each profile, item and level: probabilities need no draws"


def test_limits_hold_for_all_designs_together() -> None:
    with pytest.raises(BudgetError):
        ask_causal_study(study(), model=Scripted(shopper), keep="nothing", max_calls=30, diagnostics=False)


def test_a_design_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unblind"):
        ask_causal_study(study(), designs=("unblind",), model="scripted:uniform")  # type: ignore[arg-type]
    results = ask_causal_study(study(), designs=("blind",), model=Scripted(shopper), keep="nothing", diagnostics=False)
    with pytest.raises(CausalStudyError, match="was not asked"):
        results["within"]


def test_diagnostics_refuse_what_they_cannot_judge() -> None:
    stated = Responses(study(), "covariates", np.full((3, 2, 3), 0.5), covariates={"past_price": np.ones((3, 2))})
    with pytest.raises(CausalStudyError, match="not on the scale"):
        focalism(stated, "days")
    with pytest.raises(CausalStudyError, match="between the same two levels"):
        focalism(stated, "past_price")
    two = {"name": "sign", "levels": {"none": "", "sign": "A sign says: sale."}}
    with pytest.raises(CausalStudyError, match="at least three levels"):
        range_halves(study(treatment=two, covariates=[]))
    ends = [Responses(study().with_levels(rows), "blind", np.ones((2, 1, 2))) for rows in ([0, 1], [2, 2])]
    with pytest.raises(CausalStudyError, match="no level in common"):
        range_effect(*ends)


def test_few_people_who_cannot_tell_terms_apart_do_not_stop_a_study() -> None:
    twice = [DECLARATION["covariates"][0] | {"name": name, "statement": f"It was {{{name}}}."} for name in ("a", "b")]
    alone = study(covariates=twice, personas=[{"age": 30}], items=DECLARATION["items"][:1])
    results = ask_causal_study(alone, designs=("covariates",), model=Scripted(shopper), keep="nothing")
    assert {each.bias for each in results.drifts} == {None}
    y, past = np.full((3, 1, 3), 0.5), np.array([[0.8], [1.0], [1.2]])
    y[1:] = np.nan
    y[1, 0, 0] = 0.5
    stated = Responses(study(), "covariates", y, covariates={"past_price": past})
    assert focalism(stated, "past_price").verdict == "not measured"


def test_levels_in_words_are_compared_with_the_first() -> None:
    words = {"name": "sign", "levels": {"none": "", "sale": "A sign says: sale.", "new": "A sign says: new."}}
    declared = study(treatment=words, covariates=[{"name": "days", "question": "How many days?"}])
    rng = np.random.default_rng(5)
    z = rng.standard_normal((300, 4, 3)) + np.array([0.0, 0.0, 1.0])
    found = drifts(Responses(declared, "blind", np.full((300, 4, 3), np.nan), elicited={"days": z}))
    assert [(each.contrast, each.verdict) for each in found] == [
        ("none to sale", "constant"),
        ("none to new", "drifts"),
    ]


def test_the_command_writes_a_report_that_says_uninformative_first(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(yaml.safe_dump(DECLARATION), encoding="utf-8")
    done = populace(
        "causal", str(file), "--model", "scripted:uniform", "--to", str(tmp_path), "--workspace", str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith("Uninformative: the answers do not respond to the price")
    assert "do not say where the price comes from" in done.stderr
    page = (tmp_path / "causal-Two-products.html").read_text(encoding="utf-8")
    assert page.index("Uninformative") < page.index("Designs")
    figures = json.loads((tmp_path / "causal-Two-products.json").read_text(encoding="utf-8"))
    assert figures["informative"] is False
    assert figures["designs"]["aggregate"]["kind"] == "forecast"
    checked = populace("causal", str(file), "--check", "--json", "--workspace", str(tmp_path))
    assert json.loads(checked.stdout)["data"]["findings"]
    again = populace("causal", "--runs", str(tmp_path), "--to", str(tmp_path / "again"), "--json")
    recorded = json.loads(again.stdout)["data"]
    assert len(recorded["ranges"]) == 3 and recorded["drift"]
    assert {key: recorded[key] for key in figures if key != "files"} == {
        key: value for key, value in figures.items() if key != "files"
    }
    damage_beside(tmp_path)
    whole = json.loads(populace("causal", "--runs", str(tmp_path), "--to", str(tmp_path / "whole"), "--json").stdout)[
        "data"
    ]
    assert whole["designs"] == recorded["designs"]
    assert any("broken cannot be read and is left out" in note for note in whole["notes"])


def damage_beside(folder: Path) -> None:
    """A run that cannot be read, beside those that can."""
    (folder / "runs" / "broken").mkdir(parents=True)
    (folder / "runs" / "broken" / "manifest.json").write_text("{}", encoding="utf-8")


def test_a_workspace_with_nothing_but_a_broken_run_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    damage_beside(tmp_path)
    done = populace("causal", "--runs", str(tmp_path))
    assert done.returncode == CausalStudyError.exit_code
    assert "has no whole run of a causal study: broken cannot be read" in " ".join(done.stderr.split())


def test_the_report_shows_curves_designs_and_every_diagnostic(tmp_path: Path) -> None:
    results = ask_causal_study(study(personas=FIVE), model=Scripted(shopper), keep="nothing", seed=1)
    files = write_causal_report(results, tmp_path, ["blind: a note"])
    text = next(file for file in files if file.suffix == ".md").read_text(encoding="utf-8")
    for heading in ("What the prompts leave open", "Designs", "Drift of unstated variables", "Focalism", "Range"):
        assert f"## {heading}\n" in text
    assert {file.name for file in files if file.suffix == ".svg"} == {"curves.svg", "slopes.svg", "drift.svg"}
