"""The ambiguity lint: ambiguous designs are found before a call is spent, and clean ones raise no alarm.

`designs/clean.toml` was written before the lint existed, by its author. All other sets were written later, by several
authors, and say at their top who wrote them and what the lint made of them at first. The texts of
`designs/held_out.toml`, `designs/poll.toml` and `designs/product.toml` were not in view when the lint was changed: do
not tune the lint on them.
"""

from __future__ import annotations

import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from populace import simulate
from populace.base.errors import CausalStudyError
from populace.causal import CausalScenario, CausalStudy, LevelPrompt, LintFinding, lint_prompts, lint_study

STUDY: dict[str, Any] = {
    "treatment": {
        "name": "price",
        "levels": [1, 2],
        "statement": "It costs ${price:.2f}.",
        "label": "${price:.2f}",
    },
    "setting": "You see apples.",
    "question": "Do you buy them?",
    "options": ["yes", "no"],
    "success": "yes",
}


def designs(name: str) -> list[dict[str, Any]]:
    path = Path(__file__).parent / "designs" / f"{name}.toml"
    return list(tomllib.loads(path.read_text("utf-8"))["design"])


def findings(design: dict[str, Any]) -> list[LintFinding]:
    levels, text = design["levels"], design["prompt"]
    prompts = [LevelPrompt(level, text.replace("{level}", level)) for level in levels]
    if "{level}" not in text:
        prompts = [LevelPrompt("", text)]
    return lint_prompts(prompts, design["treatment"], levels, estimand=design.get("estimand", "interventional"))


def changed(**treatment: Any) -> CausalStudy:
    return CausalStudy.read(STUDY | {"treatment": STUDY["treatment"] | treatment})


def test_at_least_27_of_30_ambiguous_designs_are_found() -> None:
    found = [bool(findings(design)) for design in designs("ambiguous")]
    assert len(found) >= 30 and sum(found) >= 0.9 * len(found)


def test_at_most_3_of_60_clean_designs_raise_an_alarm() -> None:
    alarms = [design["name"] for design in designs("clean") if findings(design)]
    assert len(designs("clean")) >= 60 and len(alarms) <= 3, alarms


@pytest.mark.parametrize(
    "name",
    [
        "later",
        "unseen",
        "fresh",
        "held_out",
        "independent",
        "mechanisms",
        "stranger",
        "outsider",
        "registers",
        "field",
        "market",
        "public",
        "clinic",
    ],
)
def test_designs_that_were_written_later_are_told_apart_too(name: str) -> None:
    path = Path(__file__).parent / "designs" / f"{name}.toml"
    later = tomllib.loads(path.read_text("utf-8"))
    assert len(later["clean"]) >= 60 and len(later["ambiguous"]) >= 30
    assert sum(bool(findings(design)) for design in later["clean"]) <= 3 * len(later["clean"]) // 60
    assert sum(bool(findings(design)) for design in later["ambiguous"]) >= 0.9 * len(later["ambiguous"])


@pytest.mark.parametrize("name", ["poll", "product"])
def test_designs_of_authors_whom_the_lint_never_met_are_told_apart(name: str) -> None:
    path = Path(__file__).parent / "designs" / f"{name}.toml"
    unmet = tomllib.loads(path.read_text("utf-8"))
    assert (len(unmet["clean"]), len(unmet["ambiguous"])) == (60, 30)
    assert sum(bool(findings(design)) for design in unmet["clean"]) <= 3
    assert sum(bool(findings(design)) for design in unmet["ambiguous"]) >= 26


@pytest.mark.parametrize(
    "text",
    [
        "You were drawn at random from all job seekers. A shop offers you {} an hour. Do you take the job?",
        "You wait for {}. In the waiting room a toss of a coin decides which channel the television shows. Do you stay?",
        "A shop lists a kettle at {}. The order of the products on the page is random. Do you buy it?",
        "The fine is {}. Inspectors visit streets at random. Do you pay for a ticket?",
        "The cook draws a heart on the foam. The coffee costs {}. Do you buy it?",
        "A bicycle is raffled among the customers. Honey costs {}. Do you buy a jar?",
        "It costs {}. The café behind a random link of a friend has three stars. Do you go there?",
        "You take {} a day. The pharmacy took part in a randomised trial of opening hours. How did you sleep?",
        "The fine is {}. A coin toss decides as always who kicks off. Do you go to the match?",
        "It costs {}. Do you buy it? We will raffle a gift card among all respondents, whatever they answer.",
        "Picture a randomly selected person who pays {} for lunch. What does this person earn?",
        "The jury that hears the case was picked by lot. The lawyer costs {}. Do you take her?",
        "You meet a random stranger who sells a watch for {}. Do you buy it?",
    ],
)
def test_chance_that_decides_something_else_settles_nothing(text: str) -> None:
    levels = ["5", "10"]
    prompts = [LevelPrompt(level, text.format(level)) for level in levels]
    assert [finding.kind for finding in lint_prompts(prompts, "price", levels)] == ["ambiguous"]


@pytest.mark.parametrize(
    "text",
    [
        "Clerks set your price by the last digit of your file number. It is {}. Do you buy?",
        "The shop's software picks a price, with no regard to the customer. Yours is {}. Do you buy?",
        "The price is a fake figure, and other readers see others. It says {}. Do you buy?",
        "Two worlds differ solely in that in yours the price is {}. Do you buy?",
        "Same shop, same bread, same purse. Let the price be {}. Do you buy?",
    ],
)
def test_signs_of_several_kinds_settle_the_source_without_a_word_of_chance(text: str) -> None:
    levels = ["5", "10"]
    assert lint_prompts([LevelPrompt(level, text.format(level)) for level in levels], "price", levels) == []


@pytest.mark.parametrize(
    "text",
    [
        "The shop's software picks a price by looking at demand. It is {}. Do you buy?",
        "You do not know this shop. The price is {}. Do you buy?",
        "Imagine a fictional shop in a fictional town. The price is {}. Do you buy?",
        "You buy at the same shop with the same friend. The price is {}. Do you buy?",
        "Our study wants to find out how people eat. The price is {}. Do you buy?",
    ],
)
def test_one_sign_alone_settles_nothing(text: str) -> None:
    levels = ["5", "10"]
    prompts = [LevelPrompt(level, text.format(level)) for level in levels]
    assert [finding.kind for finding in lint_prompts(prompts, "price", levels)] == ["ambiguous"]


def test_a_prompt_without_words_is_ambiguous_and_no_error() -> None:
    kinds = [f.kind for f in lint_prompts([LevelPrompt("", "")], "price", ["5", "10"])]
    assert kinds == ["ambiguous"]


def test_a_finding_holds_wording_that_settles_it() -> None:
    for design in designs("ambiguous"):
        for finding in [found for found in findings(design) if found.kind in ("ambiguous", "other reading")]:
            settling = finding.wording.partition('"')[2].rstrip('"')
            settled = design | {"prompt": f"{settling} {design['prompt']}"}
            assert not {"ambiguous", "other reading"} & {found.kind for found in findings(settled)}, settled


PROFILE = (
    "You are Maria, 47, a nurse in Graz with two children, a garden and an old car. You read the paper on Sundays, you "
    "go to the market because the bread there is better, and since your divorce you look at what things cost. Your "
    "income is average for the region. Last week you went to the cinema with a friend. "
)


def test_the_profile_of_a_person_does_not_change_the_verdict() -> None:
    longer = [design | {"prompt": PROFILE + design["prompt"]} for design in designs("ambiguous")]
    assert sum(bool(findings(design)) for design in longer) >= 0.95 * len(longer)
    longer = [design | {"prompt": PROFILE + design["prompt"]} for design in designs("clean")]
    assert sum(bool(findings(design)) for design in longer) <= 0.05 * len(longer)


def test_the_blind_design_of_a_study_is_ambiguous_and_the_others_are_not() -> None:
    assert [(finding.design, finding.kind) for finding in lint_study(CausalStudy.read(STUDY))] == [
        ("blind", "ambiguous")
    ]


def test_stating_covariates_does_not_settle_where_the_treatment_comes_from() -> None:
    covariate = {"name": "past", "statement": "Last week it cost ${past:.2f}.", "values": [1.5]}
    found = lint_study(CausalStudy.read(STUDY | {"covariates": [covariate]}))
    assert [(finding.design, finding.kind) for finding in found] == [
        ("blind", "ambiguous"),
        ("covariates", "ambiguous"),
    ]


def test_a_blind_design_whose_setting_tells_the_randomisation_is_clean() -> None:
    setting = "You see apples. Today their price was drawn at random, from $1.00 and $2.00."
    assert lint_study(CausalStudy.read(STUDY | {"setting": setting}), ["blind"]) == []


def test_two_levels_that_render_to_one_prompt_are_an_error_before_the_first_call() -> None:
    study = changed(levels=[1, 1.2], statement="It costs about ${price:.0f}.", label="${price:.2f}")
    errors = [finding for finding in lint_study(study) if finding.error]
    assert [finding.design for finding in errors] == ["blind", "unblinded", "within", "aggregate"]
    with pytest.raises(CausalStudyError, match="have the same prompt, word for word"):
        simulate(CausalScenario(study=study), model="scripted:uniform", keep="nothing")


def test_two_items_that_render_to_one_prompt_are_an_error() -> None:
    study = CausalStudy.read(STUDY | {"items": [{"product": "apples"}, {"product": "pears"}]})
    [error] = [finding for finding in lint_study(study, ["unblinded"]) if finding.error]
    assert "item 1 at price 1.0 and item 2 at price 1.0" in error.text


def test_two_values_of_a_covariate_that_render_to_one_prompt_are_an_error() -> None:
    covariate = {"name": "past", "statement": "Last week it cost ${past:.0f}.", "values": [1.1, 1.4]}
    study = CausalStudy.read(STUDY | {"covariates": [covariate]})
    assert any(finding.error for finding in lint_study(study, ["covariates"]))
    with pytest.raises(CausalStudyError, match=r"past 1\.1 and past 1\.4"):
        simulate(CausalScenario(study=study, design="covariates"), model="scripted:uniform", keep="nothing")


def test_levels_that_differ_in_two_numbers_are_reported() -> None:
    levels = ["$199, 64 GB", "$399, 128 GB"]
    text = "The offer was chosen at random: a phone for {}. Do you buy it?"
    kinds = [f.kind for f in lint_prompts([LevelPrompt(x, text.format(x)) for x in levels], "offer", levels)]
    assert kinds == ["bundled"]


@pytest.mark.parametrize(
    "levels",
    [
        ["5'6\"", "6'2\""],
        ["1 hour 30 minutes", "2 hours 10 minutes"],
        ["10–20 dollars", "30–50 dollars"],
        ["$10 to $20", "$30 to $50"],
        ["1/3", "2/5"],
        ["1 of 3", "4 of 5"],
    ],
)
def test_one_amount_that_is_written_with_two_numbers_is_not_bundled(levels: list[str]) -> None:
    prompts = [LevelPrompt(level, f"By lot, yours is {level}. Do you buy?") for level in levels]
    assert lint_prompts(prompts, "size", levels) == []


@pytest.mark.parametrize(
    ("levels", "units"),
    [
        (["$1", "200 cents"], ["$", "cents"]),
        (["€5", "$5"], ["€", "$"]),
        (["18 °C", "70 °F"], ["°C", "°F"]),
        (["1", "2 km"], ["", "km"]),
        (["80 cents", "$1.20"], []),
        (["500 g", "1.5 kg"], []),
        (["8 am", "1 p.m."], []),
        (["1 child", "3 children"], []),
        (["1 real", "4 reais"], []),
        (["1 mile", "4 minutes"], ["mile", "minutes"]),
        (["200 metres", "1 kilometre", "4 kilometres"], []),
        (["2000 metres", "1 kilometre"], ["metres", "kilometre"]),
        (["1500 g", "1 kg"], ["g", "kg"]),
        (["1 day", "3 days"], []),
        (["0", "30 shillings"], []),
        (["30 minutes", "2 hours"], []),
        (["free", "$2.00", "$1,000.00"], []),
        (["a letter", "two letters"], []),
    ],
)
def test_levels_in_different_units_are_reported(levels: list[str], units: list[str]) -> None:
    prompts = [LevelPrompt(level, f"By lot, the price is {level}. Do you buy?") for level in levels]
    found = [finding for finding in lint_prompts(prompts, "price", levels) if finding.kind == "units"]
    assert [f"({', '.join(units)})" in finding.text for finding in found] == ([True] if units else [])


def test_an_observational_question_in_an_interventional_study_is_reported() -> None:
    text = "Among shoppers who paid {} for a coffee, as recorded last year, what share came back?"
    prompts = [LevelPrompt(level, text.format(level)) for level in ("$2", "$4")]
    assert [f.kind for f in lint_prompts(prompts, "price", ["$2", "$4"])] == ["other reading"]
    assert lint_prompts(prompts, "price", ["$2", "$4"], estimand="observational") == []


@pytest.mark.parametrize("filler", ["word ", "x", "at random ", "the order of "])
def test_a_sentence_without_an_end_takes_little_time_and_the_rest_is_read_as_before(filler: str) -> None:
    words = (filler * 20_000)[:20_000]
    endless = [LevelPrompt(level, f"{words} A coin decides the price: it is {level}.") for level in ("$2", "$4")]
    before = time.process_time()
    found = lint_prompts(endless, "price", ["$2", "$4"])
    assert time.process_time() - before < 10
    assert found == []


def test_a_study_of_the_longest_texts_is_read_in_little_time() -> None:
    words = " ".join(f"{chr(97 + n * 3 % 26)}{chr(97 + n * 7 % 26)}word" for n in range(690))
    texts = {"setting": f"{words} {{product}}", "question": f"{words} {{product}}?", "population": words}
    treatment = STUDY["treatment"] | {"levels": [1, 2, 3], "statement": f"It is {{price}}. {words[:400]}"}
    items = [{"product": f"{words[:90]} {number}"} for number in range(5)]
    study = CausalStudy.read(STUDY | texts | {"treatment": treatment, "items": items})
    before = time.process_time()
    lint_study(study)
    assert time.process_time() - before < 30
