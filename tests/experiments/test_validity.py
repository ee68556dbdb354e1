from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace import Choice, Field, People, Run, Scenario, Scripted, metric, simulate
from populace.base.errors import UnknownNameError, UsageError
from populace.engine.workspace import Workspace
from populace.experiments import Check, Experiment, Results, ValidityCard, validity
from populace.experiments.evidence import WITNESSES, evidence_of, is_witness
from populace.experiments.folder import ExperimentFolder
from populace.models import Capabilities, Request
from populace.runs.fidelity_figures import keep_figures

Reply = Callable[[Request], Mapping[str, float] | str]


class Votes(Scenario):
    """Forty people of two moods vote, again and again."""

    order: str = Field("fixed")
    days: int = Field(4)
    moods: bool = Field(True)

    def setup(self) -> People:
        return People.named(40, seed=self.rng).with_columns(mood=["sunny", "grim"] * 20, vote="none")

    def profile(self) -> str:
        return "You are {name} and {mood}." if self.moods else "You are {name}."

    def length(self) -> int:
        return self.days

    async def step(self) -> None:
        question = Choice("Your vote?", options=("yes", "no"), order=self.order)  # type: ignore[arg-type]
        self.people["vote"] = await self.ask(self.people, question, rule=lambda people: ["yes"] * len(people))

    @metric
    def yes(self) -> float:
        """The share of yes."""
        return self.people.share(vote="yes")


def voted(reply: Reply, **options: Any) -> Run:
    parameters = {name: options.pop(name) for name in ("order", "days", "moods") if name in options}
    return simulate(
        Votes(**parameters), model=Scripted(reply, spec="scripted:votes"), seed=3, keep="nothing", **options
    )


def fair(request: Request) -> Mapping[str, float]:
    return {"yes": 0.5, "no": 0.5}


def by_mood(request: Request) -> Mapping[str, float]:
    share = 0.8 if "sunny" in request.messages[0][1] else 0.3
    return {"yes": share, "no": 1 - share}


def first_shown(gain: float) -> Reply:
    return lambda request: {request.options[0]: 0.5 + gain / 2, request.options[1]: 0.5 - gain / 2}


def test_personas_that_change_nothing_fail_and_those_that_do_pass() -> None:
    deaf, alive = validity(voted(fair))["persona matters"], validity(voted(by_mood))["persona matters"]
    assert (deaf.verdict, deaf.value) == ("fail", 0.0)
    assert alive.verdict == "pass"
    assert alive.value == pytest.approx(0.25)


def test_a_name_is_no_persona() -> None:
    found = validity(voted(by_mood, moods=False))["persona matters"]
    assert found.verdict == "not measured"
    assert "name alone" in found.reason


@pytest.mark.parametrize("order", ["rotate", "random"])
@pytest.mark.parametrize(("gain", "verdict"), [(0.0, "pass"), (0.4, "fail")])
def test_position_bias_is_what_an_option_gains_by_standing_first(order: str, gain: float, verdict: str) -> None:
    found = validity(voted(first_shown(gain), order=order))["position bias"]
    assert found.verdict == verdict
    assert found.value == pytest.approx(gain, abs=1e-9)


def test_position_bias_of_sampled_answers_is_seen_in_the_answers() -> None:
    def first(request: Request) -> str:
        return "yes" if "yes, no" in request.messages[-1][1] else "no"

    model = Scripted(first, spec="scripted:wordy", capabilities=Capabilities())
    run = simulate(Votes(order="random", days=2), model=model, seed=3, keep="nothing")
    card = validity(run)
    assert card["position bias"].value == pytest.approx(1.0)
    assert any("single samples" in text for text in card.warnings)
    assert card["mass on options"].verdict == "not measured"


def test_one_order_measures_nothing_and_a_probe_does(tmp_path: Path) -> None:
    run = simulate(Votes(), model="scripted:first", seed=3, workspace=tmp_path)
    assert validity(run)["position bias"].verdict == "not measured"
    probed = validity(run, probe=True)["position bias"]
    assert probed.verdict == "fail"
    assert probed.value == pytest.approx(1.0)
    assert "30 further calls" in probed.reason


def test_probability_beside_the_options_is_seen() -> None:
    found = validity(voted(lambda request: {"yes": 0.2, "no": 0.1, "the": 0.7}))["mass on options"]
    assert (found.verdict, found.value) == ("fail", 1.0)
    assert "mean 0.30" in found.shown


def test_refusals_are_invalid_answers_too() -> None:
    def refusing(request: Request) -> str:
        return "I'm sorry, I can't answer." if "grim" in request.messages[0][1] else "yes"

    model = Scripted(refusing, spec="scripted:refusing", capabilities=Capabilities())
    card = validity(simulate(Votes(days=1), model=model, seed=3, keep="nothing"))
    assert card["refusals"].value == card["invalid answers"].value == 0.5
    assert {check.name for check in card.failed} >= {"refusals", "invalid answers"}


def test_people_who_all_say_the_same_at_first_do_not_differ() -> None:
    assert validity(voted(lambda request: {"yes": 1.0}))["people differ"].verdict == "fail"
    assert validity(voted(fair))["people differ"].verdict == "pass"


def test_a_persona_lasts_where_the_same_people_differ_to_the_end() -> None:
    def forgetful(request: Request) -> Mapping[str, float]:
        day, who = str(request.messages[-1]), str(request.messages[0])
        share = hashlib.blake2b((who + day).encode()).digest()[0] / 255
        return {"yes": share, "no": 1 - share}

    class Days(Votes):
        """The day is told, so that an answer can depend on it."""

        async def step(self) -> None:
            await self.ask(
                self.people, Choice("Your vote?", options=("yes", "no")), given="It is day {day}.", day=self.t
            )

    steady = simulate(Days(days=6), model=Scripted(by_mood), seed=1, keep="nothing")
    fickle = simulate(Days(days=6), model=Scripted(forgetful), seed=1, keep="nothing")
    assert validity(steady)["persona lasts"].value == pytest.approx(1.0)
    assert validity(fickle)["persona lasts"].verdict == "fail"


def test_answers_are_held_against_a_reference() -> None:
    run = voted(by_mood)
    near = validity(run, reference={"yes": 0.55, "no": 0.45})["reference"]
    far = validity(run, reference=pl.DataFrame({"answer": ["yes", "no"], "share": [5, 95]}))["reference"]
    assert (near.verdict, far.verdict) == ("pass", "fail")
    assert validity(run)["reference"].verdict == "not measured"
    with pytest.raises(UsageError, match="fits no question"):
        validity(run, reference={"maybe": 1.0})
    with pytest.raises(UnknownNameError, match="column of the reference"):
        validity(run, reference=pl.DataFrame({"answers": ["yes"], "share": [1.0]}))


def test_a_run_by_rule_passes_nothing_about_models() -> None:
    card = validity(simulate(Votes(), decider="rule", keep="nothing"))
    about_models = ("mass on options", "position bias", "label bias", "entropy", "persona matters", "persona lasts")
    assert all(card[name].verdict == "not measured" for name in about_models)
    assert any("rules decided" in text for text in card.warnings)


def test_warnings_say_what_lies_outside_what_was_validated() -> None:
    card = validity(voted(fair, temperature=0.0))
    assert any("temperature 0" in text for text in card.warnings)
    assert any("script" in text for text in card.warnings)


def test_a_card_is_a_table_a_text_and_a_page_that_escapes() -> None:
    card = ValidityCard("<b>", (Check("one", "fail", "<i>", "Because & so.", "at most 1", 2.0, 3),), ("<script>",))
    assert card.table().row(0, named=True)["verdict"] == "fail"
    assert str(card).splitlines()[1] == "  ✗ one: <i> (at most 1). Because & so."
    shown = card._repr_html_()
    assert "<script>" not in shown and "<i>" not in shown and "Because &amp; so." in shown
    assert card.verdict == "0 of 1 checks passed; failed: one."


EXPERIMENT: dict[str, Any] = {
    "name": "votes",
    "scenario": "norms",
    "factors": {"swap": [False, True]},
    "parameters": {"workers": 6, "days": 2},
    "model": "scripted:first",
    "replicates": 3,
    "outcomes": ["share_blue"],
}


def test_an_experiment_is_judged_from_its_rows_alone(tmp_path: Path) -> None:
    results = Experiment(**EXPERIMENT).run(workspace=tmp_path, workers=1)
    card = validity(results)
    assert [path.name for path in tmp_path.iterdir()] == ["experiments"]
    assert (card["replicates"].verdict, card["replicates"].value) == ("fail", 3.0)
    assert card["failed runs"].verdict == "pass"
    assert card["invalid answers"].n == 2 * 3 * 6 * 2
    assert card["label bias"].verdict == "pass"
    assert card["cost"].value == 0.0


def test_words_that_carry_the_answer_are_a_label_bias() -> None:
    seen = {"text": "Shirt?", "values": ["a", "b"], "words": ["blue", "green"], "counts": [9, 1], "labels": False}
    made = {"means": [0.9, 0.1], "entropy": 0.5, "first": None}
    swapped = seen | made | {"words": ["green", "blue"], "means": [0.1, 0.9]}
    results = planted(
        Path("words"), lambda arm, replicate: {"evidence": {"questions": [seen | made, swapped][arm : arm + 1]}}
    )
    found = validity(results)["label bias"]
    assert found.verdict == "fail"
    assert found.value == pytest.approx(0.8)


def planted(folder: Path, more: Callable[[int, int], dict[str, Any]], **changes: Any) -> Results:
    """Results of runs that were never run."""
    experiment = Experiment(**(EXPERIMENT | {"replicates": 25} | changes))
    arms = experiment.arms()
    made = ExperimentFolder.make(experiment, arms, Workspace(folder))
    made.write(replicates=experiment.replicates, state="complete")
    rng = np.random.default_rng(2)
    rows = []
    for arm in arms:
        for replicate in range(experiment.replicates):
            row = {"arm": arm.number, "replicate": replicate, "seed": replicate, "status": "complete", "failure": ""}
            row |= {"outcomes": {"share_blue": rng.normal(0, 0.1)}, "answers": {"ok": 7}, "calls": 3}
            rows.append(row | more(arm.number, replicate))
    (made.path / "rows" / "1-0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Results(made)


def test_models_agree_where_the_same_effect_has_the_same_sign() -> None:
    factors = {"model": ["scripted:uniform", "scripted:first"], "personas": ["none", "graded"]}
    rng = np.random.default_rng(5)

    def shifted(*means: float) -> Callable[[int, int], dict[str, Any]]:
        return lambda arm, replicate: {"outcomes": {"share_blue": rng.normal(means[arm], 0.1)}}

    agreed = validity(planted(Path("a"), shifted(0, 1, 5, 6), factors=factors))["models agree"]
    opposed = validity(planted(Path("b"), shifted(0, 1, 5, 4), factors=factors))["models agree"]
    assert (agreed.verdict, opposed.verdict) == ("pass", "fail")
    alone = {"model": ["scripted:uniform", "scripted:first"]}
    assert validity(planted(Path("c"), shifted(0, 1), factors=alone))["models agree"].verdict == "fail"
    assert validity(planted(Path("d"), shifted(1, 1), factors=alone))["models agree"].verdict == "undecided"
    none = validity(planted(Path("e"), shifted(1, 1, 1, 1), factors=factors))["models agree"]
    assert none.verdict == "undecided"


def test_failed_runs_are_counted() -> None:
    card = validity(planted(Path("f"), lambda arm, replicate: {"status": "failed"} if replicate < 5 else {}))
    assert card["failed runs"].value == pytest.approx(0.2)
    assert card["failed runs"].verdict == "fail"
    assert card["replicates"].value == 20


def test_answers_that_could_not_be_looked_into_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(run: object) -> None:
        raise ZeroDivisionError("planned")

    monkeypatch.setattr("populace.experiments.evidence.evidence_of", broken)
    results = Experiment(**EXPERIMENT).run(workers=1)
    assert results.failure_rate == 0
    assert any("planned" in text for text in validity(results).warnings)


def test_only_a_few_runs_of_an_arm_are_looked_into_and_what_they_note_is_plain_data() -> None:
    assert sum(is_witness(0, replicate) for replicate in range(100)) == WITNESSES
    assert sum(is_witness(arm, 0) for arm in range(1000)) <= 40
    seen = evidence_of(voted(by_mood, order="rotate"))
    assert json.loads(json.dumps(seen)) == seen
    assert seen["questions"][0]["means"][0] == pytest.approx(0.55)


def test_a_service_that_failed_is_not_the_low_mass_of_a_model() -> None:
    model = Scripted(by_mood, spec="scripted:failing", failures=0.1)
    card = validity(simulate(Votes(days=1), model=model, seed=3, keep="nothing", on_failure="record"))
    assert card["mass on options"].verdict == "pass" and card["mass on options"].value == 0.0
    assert card["invalid answers"].value > 0.03


def test_refusals_of_a_scored_model_are_never_said_to_be_none() -> None:
    assert validity(voted(by_mood))["refusals"].verdict == "not measured"


def test_models_agree_by_a_test_of_the_interaction() -> None:
    factors = {"model": ["scripted:uniform", "scripted:first"], "personas": ["none", "graded"]}
    rng = np.random.default_rng(7)
    alarms = 0
    for number in range(20):
        results = planted(
            Path(f"null-{number}"),
            lambda arm, replicate: {"outcomes": {"share_blue": rng.normal(0.07 * (arm % 2), 0.1)}},
            factors=factors,
        )
        alarms += validity(results)["models agree"].verdict == "fail"
    assert alarms <= 3


def test_a_value_at_its_bar_is_undecided() -> None:
    card = validity(planted(Path("few"), lambda arm, replicate: {"status": "failed"} if replicate < 2 else {}))
    check = card["failed runs"]
    assert check.verdict == "undecided" and check.low < 0.05 < check.high  # type: ignore[operator]
    assert "undecided: failed runs" in card.verdict


def test_the_cards_of_an_experiment_and_of_its_runs_say_how_like_people_each_model_is(tmp_path: Path) -> None:
    for model, share in (("scripted:uniform", 12), ("scripted:first", 3), ("scripted:cast", 9)):
        headline = f"closes {share} % of the gap between majority and retest on attitudes"
        keep_figures(tmp_path, {"name": "gss", "model": model, "arms": {}, "people": 200, "headline": headline})
    models = {"model": ["scripted:uniform", "scripted:first"]}
    experiment = Experiment(**(EXPERIMENT | {"factors": models, "replicates": 2, "keep": "run"}))
    results = experiment.run(workspace=tmp_path, workers=1)
    likeness = [check.shown for check in validity(results).checks if check.name == "likeness to people"]
    assert likeness == [
        f"{model} closes {share} % of the gap between majority and retest on attitudes (gss, 200 people)"
        for model, share in (("scripted:first", 3), ("scripted:uniform", 12))
    ]
    run = next(Run.open(path) for path in sorted(results.folder.path.glob("**/runs/*")))
    assert validity(run)["likeness to people"].shown == likeness[1]


def test_an_experiment_outside_a_workspace_quotes_no_fidelity_report(tmp_path: Path) -> None:
    results = Experiment(**(EXPERIMENT | {"replicates": 2})).run(workspace=tmp_path, workers=1)
    copied = results.folder.path.rename(tmp_path / "elsewhere")
    keep_figures(tmp_path.parent, {"name": "g", "model": "scripted:uniform", "arms": {}, "headline": "closes 1 %"})
    assert "likeness to people" not in [check.name for check in validity(Results.open(copied)).checks]
