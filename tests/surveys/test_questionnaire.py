"""A questionnaire says what is wrong with it before anybody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from populace.base.errors import QuestionnaireError, UnknownNameError
from populace.surveys import Questionnaire

YES_NO = ["yes", "no"]


def single(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "single", "text": f"{name}?", "options": YES_NO, **more}


def test_yes_and_no_in_a_file_are_words(tmp_path: Path) -> None:
    file = tmp_path / "q.yaml"
    file.write_text("items:\n- {id: tea, type: single, text: Tea, options: [yes, no, on, off], skip: {no: end}}\n")
    item = Questionnaire.read(file).items[0]
    assert item.variables()[0].categories == ("yes", "no", "on", "off")
    assert item.skip == {"no": "end"}


def test_a_csv_file_holds_simple_questionnaires(tmp_path: Path) -> None:
    file = tmp_path / "q.csv"
    file.write_text("id,type,text,options,low,high\ntea,,Tea?,yes|no,,\nage,number,Age?,,18,99\nwhy,text,Why?,,,\n")
    assert [item.id for item in Questionnaire.read(file).items] == ["tea", "age", "why"]
    assert Questionnaire.read(file).variables[0].categories == ("yes", "no")


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([single("a", skip={"no": "zz"})], "'zz'"),
        ([single("a"), single("b", skip={"no": "a"})], "does not come later"),
        ([single("a", skip={"perhaps": "end"})], "not one of its options"),
        ([{"id": "a", "type": "number", "text": "How many?", "skip": {"3": "end"}}], "can have a skip"),
        ([{"id": "a", "type": "single", "text": "A?", "options": ["yes", "Yes"]}], "cannot be told apart"),
        ([{"id": "a", "type": "single", "text": "A?", "options": ["yes"]}], "at least 2"),
        ([single("a"), single("a")], "two items have the id 'a'"),
        ([single("k_1"), {"id": "k", "type": "multiple", "text": "Which?", "options": ["x", "y"]}], "'k_1'"),
        ([single("model")], "'model' cannot be the id"),
        ([single("a b")], "pattern"),
        ([single("a", show_if={"b": "yes"}), single("b")], "may not have answered"),
        ([{"id": "a", "type": "text", "text": "You said {b}."}, single("b")], "may not have answered"),
        ([single("a", show_if={"any": []})], "holds no condition"),
        ([single("a", show_if={"not": "yes"})], "needs conditions"),
        ([{"id": "a", "type": "grid", "text": "Agree?", "rows": ["x"]}], "either options or both"),
        ([{"id": "a", "type": "rating", "text": "A?", "low": 5, "high": 1}], "scale runs from 5 to 1"),
        ([{"id": "a", "type": "sinlge", "text": "A?"}], "there is no type 'sinlge'"),
        ([{"id": "a", "type": "multiple", "text": "A?", "options": ["x", "y", "x"]}], "item 'a': the options 'x' and"),
        ([{"id": "a", "type": "grid", "text": "A?", "rows": ["r", "r"], "low": 1, "high": 3}], "'r' stands twice"),
        ([single("a", show_if={"age": {"gee": 18}})], "item 'a': there is no comparison named 'gee'"),
        ([single("a", screen_out_if={"b": "yes"}), single("b")], "may not have answered"),
        ([single("a", colour="red")], "colour"),
    ],
)
def test_a_wrong_item_is_refused_with_its_name(items: list[dict[str, Any]], words: str) -> None:
    with pytest.raises((QuestionnaireError, UnknownNameError)) as caught:
        Questionnaire.read({"items": items})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("ending", "text", "message"),
    [
        ("yaml", "items:\n- {id: a, text: A, type: single, options: [x, y]}\n"
         "- {id: b, text: B, type: single, options: [x, y, X]}\n",
         "q.yaml, line 3: item 'b': the options 'x' and 'X' cannot be told apart."),
        ("csv", "id,text,options\na,A?,x|y\nb,B?,x|y|x\n",
         "q.csv, line 3: item 'b': the options 'x' and 'x' cannot be told apart."),
        ("yaml", "items:\n- {id: a, text: A, type: single, options: [x]}\n",
         "q.yaml, line 2: item 1, options: it should have at least 2 entries."),
        ("yaml", "items:\n- {id: a, text: A}\n",
         "q.yaml, line 2: item 1: it has no `type`; write one of single, multiple, rating, number, text, grid, "
         "ranking, allocation."),
        ("yaml", "items:\n- {id: a, question: A, type: text}\n",
         "q.yaml, line 2: item 1, question: there is no such key. An item of the type text takes"),
        ("yaml", "items:\n- {id: a, text: A, type: rating, points: 5}\n",
         "q.yaml, line 2: item 1, points: there is no such key. An item of the type rating takes low, high, anchors, "),
        ("yaml", "items:\n- {id: a, text: A, type: text, show_if: \"b == 'no'\"}\n",
         "q.yaml, line 2: item 1, show_if: it should be names with values (\"b == 'no'\"); write it as an item and its "
         "answer, such as `show_if: {car: no}`."),
        ("yaml", "items:\n- {id: a, text: A, type: single, option: [x, y]}\n",
         "q.yaml, line 2: item 1, option: there is no such key. Did you mean options?"),
        ("yaml", "items:\n- {id: a, type: text}\n", "q.yaml, line 2: item 1, text: it is missing."),
        ("yaml", "blocks:\n- items:\n  - {id: a, text: A, type: text}\n- items:\n  - {id: b, text: B, type: txt}\n",
         "q.yaml, line 5: block 2, item 1: there is no type 'txt', only 'single', "),
        ("yaml", "items:\n- {id: a, text: A, type: single, options: [x, y], skip: {x: c}}\n- {id: b, text: B, type: text}\n",
         "q.yaml, line 2: there is no item to skip to named 'c'."),
        ("yaml", "items:\n- {id: a, text: A, type: text}\n- {id: b, text: B, type: single, options: [x, y], skip: {x: a}}\n",
         "q.yaml, line 3: item 'b' skips to 'a' after 'x', which does not come later."),
        ("yaml", "items:\n- {id: b, text: B, type: single, options: [x, y], skip: {x: b}}\n",
         "q.yaml, line 2: item 'b' skips to 'b' after 'x', which does not come later."),
    ],
)  # fmt: skip
def test_a_wrong_item_of_a_file_is_named_with_its_line(tmp_path: Path, ending: str, text: str, message: str) -> None:
    file = tmp_path / f"q.{ending}"
    file.write_text(text)
    with pytest.raises((QuestionnaireError, UnknownNameError)) as caught:
        Questionnaire.read(file)
    assert caught.value.what.startswith(message)


def test_deep_conditions_are_refused() -> None:
    condition: dict[str, Any] = {"a": "yes"}
    for _ in range(50):
        condition = {"not": condition}
    with pytest.raises(QuestionnaireError, match="nested"):
        Questionnaire.read({"items": [single("a"), single("b", show_if=condition)]})


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b"items: [", b"- 1", b"", b"title: x", b"title: x\ntitle: y\nitems: []", b"a: &a [*a]", b"[" * 200],
)
def test_a_file_that_is_no_questionnaire_is_refused_with_its_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "q.yaml"
    file.write_bytes(content)
    with pytest.raises(QuestionnaireError, match=r"q\.yaml"):
        Questionnaire.read(file)


def test_items_and_blocks_come_in_random_order_and_anchored_blocks_stay() -> None:
    blocks = [
        {"items": [single("first")], "anchored": True},
        {"items": [single("a"), single("b"), single("c")], "order": "random"},
        {"items": [single("d")]},
        {"items": [single("last")], "anchored": True},
    ]
    questionnaire = Questionnaire.read({"blocks": blocks, "block_order": "random"})
    orders = questionnaire.sequences(4_000, np.random.default_rng(1))
    assert (np.sort(orders, axis=1) == np.arange(6)).all()
    assert (orders[:, 0] == 0).all()
    assert (orders[:, 5] == 5).all()
    second = np.bincount(orders[:, 1], minlength=6) / 4_000
    # The second place is d in half of the orders, and a, b or c in a sixth each.
    assert second[[1, 2, 3]] == pytest.approx([1 / 6] * 3, abs=0.03)
    assert second[4] == pytest.approx(0.5, abs=0.03)


def test_a_condition_on_an_item_of_a_block_that_moves_is_refused() -> None:
    blocks = [{"items": [single("a")]}, {"items": [single("b", show_if={"a": "yes"})]}]
    assert Questionnaire.read({"blocks": blocks})
    with pytest.raises(QuestionnaireError, match="may not have answered"):
        Questionnaire.read({"blocks": blocks, "block_order": "random"})


def test_blocks_that_stay_first_or_last_may_be_named_by_those_that_move() -> None:
    first = {"items": [single("a", skip={"no": "d"})], "anchored": True}
    moving = [{"items": [single(name)], "show_if": {"a": "yes"}} for name in ("b", "c")]
    last = {"items": [single("d", show_if={"b": "yes"})], "anchored": True}
    assert Questionnaire.read({"blocks": [first, *moving, last], "block_order": "random"})


@pytest.mark.parametrize("skip", ["b", "c"])
def test_a_skip_to_an_item_of_a_random_place_is_refused(skip: str) -> None:
    first = {"items": [single("a", skip={"no": skip})], "anchored": True}
    blocks = [first, {"items": [single("b"), single("c")], "order": "random"}]
    with pytest.raises(QuestionnaireError, match="place is random"):
        Questionnaire.read({"blocks": blocks})


def test_a_skip_over_an_anchored_block_that_may_come_earlier_is_refused() -> None:
    blocks = [{"items": [single("a", skip={"no": "b"})]}, {"items": [single("b")], "anchored": True}]
    assert Questionnaire.read({"blocks": blocks, "block_order": "random"})
    with pytest.raises(QuestionnaireError, match="place is random"):
        Questionnaire.read({"blocks": [*blocks, {"items": [single("c")]}], "block_order": "random"})
