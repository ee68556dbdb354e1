"""Panels: person × wave × item, in a wide and in a long file, and what agents are told about people."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from populace.base.errors import HumanDataError, UnknownNameError
from populace.evaluation import Arm, EvaluationItem, HumanAnswers, PanelItems, personas, read_panel

ITEMS = pl.DataFrame(
    {
        "id": ["tea", "milk"],
        "text": ["Do you like tea?", "Do you like milk?"],
        "options": ["yes|no", "a lot | a little|not at all"],
        "ordered": ["no", "yes"],
        "title": ["likes tea", None],
        "role": ["target", "context"],
    }
)
WIDE = pl.DataFrame(
    {
        "who": ["a", "b", "a", "b", "c"],
        "wave": [1, 1, 2, 2, 2],
        "age": [30, 50, 32, 52, 20],
        "sex": ["f", None, "f", "m", "m"],
        "tea": ["yes", "no", "yes", "yes", "no"],
        "milk": ["a lot", None, "a little", "not at all", "a lot"],
    }
)


def read(folder: Path, table: pl.DataFrame = WIDE, items: pl.DataFrame = ITEMS, **options: object) -> HumanAnswers:
    table.write_csv(folder / "panel.csv")
    given = {"wave": 1, "retest": 2, "person": "who", **options}
    return read_panel(folder / "panel.csv", PanelItems.from_table(items), **given)  # type: ignore[arg-type]


def test_a_wide_file_gives_answers_retest_and_the_profile_of_the_first_wave(tmp_path: Path) -> None:
    human = read(tmp_path)
    assert human.people == ("a", "b")
    assert human.answers.tolist() == [[0, 0], [1, -1]]
    assert human.retest.tolist() == [[0, 1], [0, -1]]
    assert human.profiles["age"].to_list() == ["30", "50"]
    assert human.items[1] == EvaluationItem("milk", "Do you like milk?", ("a lot", "a little", "not at all"), True)


def test_a_long_file_gives_the_same(tmp_path: Path) -> None:
    long = WIDE.select("who", "wave", "tea", "milk").unpivot(
        ["tea", "milk"], index=["who", "wave"], variable_name="item", value_name="answer"
    )
    WIDE.filter(pl.col("wave") == 1).select(pl.col("who").alias("person"), "age", "sex").write_csv(tmp_path / "who.csv")
    human = read(tmp_path, long.drop_nulls(), profiles=tmp_path / "who.csv")
    wide = read(tmp_path)
    assert (human.people, human.answers.tolist(), human.retest.tolist()) == (
        wide.people,
        wide.answers.tolist(),
        wide.retest.tolist(),
    )
    assert human.profiles.equals(wide.profiles)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (WIDE.drop("milk"), {}, "no column 'milk'"),
        (WIDE.rename({"wave": "year"}), {}, "no column 'wave'"),
        (pl.concat([WIDE, WIDE[:1]]), {}, "person 'a' has two rows in wave '1'"),
        (WIDE.with_columns(who=pl.lit(None, pl.String)), {}, "5 of 5 rows have no person"),
        (WIDE, {"retest": 3}, "no wave 3"),
        (WIDE, {"retest": 1}, "wave 1 cannot be its own retest"),
        (WIDE.filter(~((pl.col("wave") == 2) & pl.col("who").is_in(["a", "b"]))), {}, "nobody answered an item both"),
        (WIDE.with_columns(tea=pl.lit("perhaps")), {}, "'perhaps' to item 'tea' is not one of its options"),
    ],
)
def test_a_panel_that_cannot_be_read_says_what_is_wrong(
    tmp_path: Path, table: pl.DataFrame, options: dict[str, object], message: str
) -> None:
    with pytest.raises(HumanDataError, match=message):
        read(tmp_path, table, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": ["yes|yes", "a|b"]}, "line 2: item 'tea' needs at least two options, each of them once"),
        ({"options": ["yes", "a|b"]}, "each of them once"),
        ({"id": ["tea", "tea"]}, "line 3: the item 'tea' stands twice"),
        ({"role": ["context", "context"]}, "no item that is predicted"),
        ({"role": ["other", "context"]}, "the role 'other' of item 'tea' is not known"),
        ({"ordered": ["perhaps", "no"]}, "ordered is 'perhaps'"),
        ({"text": ["", "x"]}, "no id or no text"),
    ],
)
def test_items_that_cannot_be_used_are_named(change: dict[str, list[str]], message: str) -> None:
    with pytest.raises(HumanDataError, match=message):
        PanelItems.from_table(ITEMS.with_columns(pl.Series(name, values) for name, values in change.items()))


def test_personas_leave_out_what_is_missing_and_show_changes(tmp_path: Path) -> None:
    human = read(tmp_path)
    both = Arm.standard("both", human, ["milk"])
    assert personas(human, both).to_list() == [
        "About you:\n- age: 30\n- sex: f\nIn a survey you answered:\n- Do you like milk?: a lot",
        "About you:\n- age: 50",
    ]
    assert personas(human, Arm.standard("answers", human, ["milk"])).to_list()[1] == ""
    assert personas(human, Arm("m", ("sex",), changes={"sex": "m"})).to_list() == ["About you:\n- sex: m"] * 2
    with pytest.raises(HumanDataError, match="needs items"):
        Arm.standard("both", human, [])
    with pytest.raises(UnknownNameError):
        personas(human, Arm("x", ("party",)))


def test_people_are_held_out_by_name(tmp_path: Path) -> None:
    human = read(tmp_path)
    others, held = human.hold_out(["b"])
    assert (others.people, held.people) == (("a",), ("b",))
    with pytest.raises(UnknownNameError):
        human.hold_out(["z"])
    with pytest.raises(HumanDataError, match="need somebody"):
        human.hold_out(["a", "b"])
