"""A causal study is declared once, and says what is wrong with it before anything is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from populace.base.errors import CausalStudyError, UsageError
from populace.causal import CausalStudy, Covariate, Treatment
from support.causal import DECLARATION, study

FILE = """\
title: Apples
treatment:
  name: price
  levels: [1, 2]
  statement: "It costs {price} dollars."
setting: You see apples.
question: Do you buy?
options: [yes, no]
success: yes
covariates:
  - name: income
    question: What do you earn?
"""


def read(folder: Path, text: str) -> CausalStudy:
    file = folder / "apples.yaml"
    file.write_text(text)
    return CausalStudy.read(file)


def test_a_file_holds_the_whole_declaration(tmp_path: Path) -> None:
    assert read(tmp_path, FILE).options == ("yes", "no")


def test_items_and_personas_may_be_tables_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,name\n30,Ann\n50,Bo\n")
    (tmp_path / "goods.csv").write_text("item,regular_price\ncola,2\nbread,3.5\n")
    declared = read(tmp_path, FILE + "items: goods.csv\npersonas: people.csv\n")
    assert declared.persona_table.rows() == [("1", 30, "Ann"), ("2", 50, "Bo")]
    assert declared.item_table.rows() == [("cola", 2.0), ("bread", 3.5)]


@pytest.mark.parametrize(
    ("before", "after", "line", "words"),
    [
        ("levels: [1, 2]", "levels: []", 4, "no levels"),
        ("levels: [1, 2]", "levels: [1]", 4, "1 level"),
        ("levels: [1, 2]", "levels: [1, -2]", 4, "the level -2 of 'price' is below 0"),
        ("levels: [1, 2]", "levels: [1, .nan]", 4, "not a number"),
        ("levels: [1, 2]", "levels: [1, 1.0e+300]", 4, "too large"),
        ("levels: [1, 2]", "levels: [1, 1]", 4, "there twice"),
        ("levels: [1, 2]", "levels: [1, two]", 4, "numbers and words mixed"),
        ("levels: [1, 2]", "levels: [1, .inf]", 4, "not a number"),
        ("levels: [1, 2]", 'levels: [low, "Low "]', 4, "there twice"),
        ("levels: [1, 2]", 'levels: ["1", "-2"]', 4, "a number in quotation marks"),
        ("levels: [1, 2]", "levels: [1, 2]\n  low: .nan", 5, "not a number"),
        ("title: Apples", "title: Apples\nunit: .inf", 2, "finite"),
        ("levels: [1, 2]", "levels: [1, 2]\n  probabilities: [1]", 5, "probabilities"),
        ('statement: "It costs {price} dollars."', "statement: It is cheap.", 5, "all levels would read the same"),
        ('statement: "It costs {price} dollars."', 'statement: "{price} and {cost}"', 5, "nothing fills the field {cost}"),
        ("setting: You see apples.", 'setting: "You see apples for {price}."', 6, "names the treatment"),
        ("question: Do you buy?", 'question: "Do you buy with {income}?"', 7, "names the covariate"),
        ("question: Do you buy?", 'question: "Do you buy {"', 7, "not well formed"),
        ("success: yes", "success: maybe", 9, "not one of the options"),
        ("name: income", "name: price", 11, "the covariate 'price' is also the treatment"),
        ("name: income", "name: Price", 11, "the covariate 'Price' is also the treatment"),
        ("name: income", "name: cost\n    values: [1]\n    statement: It costs {cost} dollars!", 11, "'cost' is also"),
        ("name: income", "name: a\n    question: x\n  - name: A", 13, "two covariates have one name: 'a' and 'A'"),
        ("question: What do you earn?", 'statement: "{income}"\n    values: [.nan]', 13, "is not a number"),
        ("question: What do you earn?", "values: [1]", 11, "neither stated nor asked for"),
        ("question: What do you earn?", 'statement: "You earn {income}."', 11, "has no values"),
        ("question: What do you earn?", "question: Really?\n    colour: red", 13, "has no key 'colour'"),
        ("title: Apples", "title: Apples\nitems: [{price: 1}]", 4, "is also a column of the items"),
        ("title: Apples", "title: Apples\nitems: [{a: 1}, {b: 1}]", 2, "do not have the same columns"),
        ("title: Apples", "title: Apples\nitems: nowhere.csv", 2, "cannot be read"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, before: str, after: str, line: int, words: str) -> None:
    assert before in FILE
    with pytest.raises(CausalStudyError) as error:
        read(tmp_path, FILE.replace(before, after, 1))
    assert f"apples.yaml, line {line}:" in error.value.what
    assert words in error.value.what
    assert error.value.code == "P130"


@pytest.mark.parametrize("text", ["", "- 1\n", "title: [", "\x00"])
def test_a_file_that_is_no_study_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(CausalStudyError, match="apples.yaml"):
        read(tmp_path, text)


def test_levels_below_zero_are_allowed_where_they_make_sense() -> None:
    temperature = {"name": "degrees", "levels": [-5, 5], "statement": "It is {degrees} degrees.", "low": -50}
    assert study(treatment=temperature, covariates=[]).treatment.values == (-5.0, 5.0)


def test_a_human_table_with_other_levels_is_refused() -> None:
    treatment = study().treatment
    treatment.require_levels([1.5, 1.0, 0.5, 0.5], "humans.csv")
    with pytest.raises(CausalStudyError, match=r"humans.csv are not those of 'price': it has 2.0 and it lacks 1.5"):
        treatment.require_levels([0.5, 1.0, 2.0], "humans.csv")


@pytest.mark.parametrize(
    "changes",
    [
        {"scale": "weight"},
        {"comparable": True, "values": ["low", "high"], "scale": ""},
        {"bounds": [3, 1]},
        {"bounds": [0, 1]},
        {"values": [1, 1]},
        {"choices": [1]},
        {"choices": [1, 1.0]},
        {"choices": [1, float("nan")]},
        {"choices": [1, 5], "bounds": [0, 2]},
        {"choices": [1, 2], "question": ""},
    ],
)
def test_covariates_must_fit_the_items_and_the_treatment(changes: dict[str, Any]) -> None:
    past = DECLARATION["covariates"][0] | changes
    with pytest.raises(CausalStudyError):
        study(covariates=[past])


def test_a_study_without_choices_is_recorded_as_before_there_were_any() -> None:
    assert all("choices" not in covariate for covariate in study().model_dump()["covariates"])
    past = DECLARATION["covariates"][0] | {"choices": [1, 2]}
    chosen = study(covariates=[past])
    assert CausalStudy.read(chosen.model_dump(mode="json")) == chosen != study(covariates=[past | {"choices": []}])


def test_another_declaration_has_another_digest() -> None:
    assert study().digest == study().digest != study(title="Other").digest


def test_levels_can_be_added_to_a_column_of_the_items() -> None:
    added = study(
        treatment={
            "name": "price",
            "levels": [0, 0.2],
            "base": "regular_price",
            "statement": "It costs ${price:.2f}.",
        }
    )
    assert added.treatment.value_at(1, added.item_table).to_list() == [2.2, 3.7]
    with pytest.raises(CausalStudyError, match="no column 'weight'"):
        study(treatment=added.treatment.model_dump() | {"base": "weight"})


def test_a_price_that_is_negative_or_endless_through_the_items_is_refused() -> None:
    treatment = {"name": "price", "levels": [-1, 0], "base": "regular_price", "statement": "It costs ${price:.2f}."}
    goods = [{"item": "cola", "regular_price": 2}, {"item": "gum", "regular_price": 0.5}]
    shop = APPLES | {"items": goods}
    with pytest.raises(
        CausalStudyError, match="at the level -1, the price of the item 'gum' is -0.5, below 0"
    ) as error:
        CausalStudy.read(shop | {"treatment": treatment})
    assert "not negative" in error.value.hint
    assert CausalStudy.read(shop | {"treatment": treatment | {"levels": [-0.5, 0]}}).treatment.values == (-0.5, 0.0)
    assert CausalStudy.read(shop | {"treatment": treatment | {"low": -1}}).treatment.low == -1
    endless = treatment | {"levels": [1, 1e12], "base": "", "scale": "regular_price"}
    with pytest.raises(CausalStudyError, match="of the item 'cola' is 2e\\+12, beyond 1e\\+12"):
        CausalStudy.read(shop | {"treatment": endless})


PRICE: dict[str, Any] = {"name": "price", "levels": [1, 2], "statement": "It costs {price} dollars."}
APPLES: dict[str, Any] = {
    "treatment": PRICE,
    "setting": "You see apples.",
    "question": "Do you buy?",
    "options": ["yes", "no"],
    "success": "yes",
}


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Treatment(**PRICE | {"levels": []}), "has no levels"),
        (lambda: Treatment(**PRICE | {"levels": 5}), "levels = 5: it should be a list"),
        (lambda: Treatment(name="price"), "Treatment has no 'levels'"),
        (lambda: Treatment(**PRICE | {"levels": [-1, 2]}), "the level -1 of 'price' is below 0"),
        (lambda: Treatment(**PRICE | {"levels": [1, float("nan")]}), "not a number"),
        (lambda: Treatment(**PRICE | {"name": "the price"}), "a name begins with a letter"),
        (lambda: Treatment(**PRICE, colour="red"), "no argument of Treatment named 'colour'"),
        (lambda: setattr(Treatment(**PRICE), "name", "cost"), "does not change"),
        (lambda: Treatment(**PRICE).subset([0, 7]), "has no level 7"),
        (lambda: Treatment(**PRICE).require_levels([1, 3], "people.csv"), "it has 3.0 and it lacks 2.0"),
        (lambda: Treatment(**PRICE).require_levels([1, None], "people.csv"), "is missing"),  # type: ignore[list-item]
        (lambda: Covariate(name="income"), "neither stated nor asked for"),
        (lambda: Covariate(name="income", question="?", bounds=(5, 1)), "run from 5 to 1"),
        (lambda: Covariate(name="income", question="?", sd=0), "it should be above 0"),
        (lambda: CausalStudy(), "has no 'treatment'"),
        (lambda: CausalStudy(**APPLES | {"treatment": None}), "treatment = None"),
        (lambda: CausalStudy(**APPLES | {"options": ["yes"]}), "at least 2 entries"),
        (lambda: CausalStudy(**APPLES, covariates=[{"name": "price", "question": "?"}]), "is also the treatment"),
        (lambda: CausalStudy(**APPLES | {"treatment": PRICE | {"levels": [-1, 2]}}), "is below 0"),
        (lambda: CausalStudy.read(5), "names with values"),  # type: ignore[arg-type]
        (lambda: CausalStudy.read(APPLES | {"treatment": {"name": "price"}}), "has no 'treatment.levels'"),
        (lambda: CausalStudy.read(APPLES | {"unit": 0}), "unit = 0: it should be above 0"),
    ],
)
def test_parts_built_in_python_say_what_is_wrong_and_what_to_do(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(UsageError) as error:
        build()
    assert words in error.value.what and error.value.hint


def test_parts_built_in_python_make_the_study_that_a_file_makes() -> None:
    built = CausalStudy(**APPLES | {"treatment": Treatment(**PRICE)})
    assert built == CausalStudy.read(APPLES) and built.digest == CausalStudy.read(APPLES).digest


WORDS = "word " * 1_001
"""One character in five thousand too many."""


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"population": WORDS}, "`population` has 5,005 characters"),
        ({"setting": "x" * 100_000}, "`setting` has 100,000 characters"),
        ({"question": WORDS}, "`question`"),
        ({"held": WORDS}, "`held`"),
        ({"options": ["yes", "no", WORDS]}, "`options.3`"),
        ({"treatment": {"label": WORDS}}, "`treatment.label`"),
        ({"treatment": {"levels": {"a": WORDS, "b": "It is b."}, "statement": ""}}, "`treatment.levels.a`"),
        ({"covariates": [{"name": "mood", "question": WORDS}]}, "`covariates.1.question`"),
        ({"items": [{"product": "tea"}, {"product": WORDS}]}, "`items.2.product`"),
        ({"items": [{"product": WORDS[:4000]}], "setting": "You see {product}{product}."}, "`setting` with its fields"),
        ({"setting": "You see {product:1000}{product:1000}{product:1000}{product:1000}{product:1000}{product:1000}.",
          "items": [{"product": "tea"}]}, "`setting` with its fields filled has up to 6,009 characters"),
        ({"options": ["yes", "no", *(f"{n} {WORDS[:4900]}" for n in range(7))]}, "at most 30,000"),
    ],
)  # fmt: skip
def test_texts_that_are_too_long_to_read_are_refused_with_the_entry_and_the_limit(
    changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(CausalStudyError) as caught:
        CausalStudy.read(with_changes(changes))
    assert field in str(caught.value)
    assert "at most 5,000" in str(caught.value) or "at most 30,000" in str(caught.value)


def with_changes(changes: dict[str, Any]) -> dict[str, Any]:
    treatment = {"name": "price", "levels": [1, 2], "statement": "It costs {price}."} | changes.get("treatment", {})
    texts = {"setting": "You see apples.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes"}
    return texts | changes | {"treatment": treatment}


def test_long_texts_within_the_limits_are_read_and_have_a_line(tmp_path: Path) -> None:
    assert read(tmp_path, FILE.replace("You see apples.", WORDS[:4900])).setting == WORDS[:4900].strip()
    with pytest.raises(CausalStudyError, match="line 6"):
        read(tmp_path, FILE.replace("You see apples.", WORDS))
