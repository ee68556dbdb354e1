from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import PeopleError, UnknownNameError
from populace.people import People
from populace.questions import STATUS_DTYPE, Answers, Choice, Number, Question

SHIRT = Choice("Which shirt?", options=("blue", "green"))


@pytest.fixture
def office() -> People:
    return People(
        pl.DataFrame(
            {
                "id": [10, 11, 12, 13],
                "name": ["Ann", "Bo", "Cy", "Di"],
                "age": [30, 41, 52, 63],
                "shirt": ["blue", "blue", "green", "blue"],
            }
        )
    )


def answers(ids: list[int], values: list[object], question: Question = SHIRT) -> Answers:
    status = ["unparseable" if value is None else "ok" for value in values]
    return Answers(
        question,
        pl.Series("id", ids),
        pl.Series("value", values, dtype=question.dtype),
        pl.Series("status", status, dtype=STATUS_DTYPE),
        np.zeros(len(ids), np.int32),
    )


def csv(folder: Path, text: str) -> Path:
    path = folder / "people.csv"
    path.write_text(text)
    return path


def test_people_without_ids_are_numbered_from_zero() -> None:
    people = People(pl.DataFrame({"age": [30, 41, 52]}))
    assert people.columns == ["id", "age"]
    assert people.ids.to_list() == [0, 1, 2]


def test_ids_stay_with_their_people_through_every_change(office: People) -> None:
    office["age"] = [1, 2, 3, 4]
    office.remove(office.where(name="Bo"))
    office.add(People(pl.DataFrame({"id": [99], "name": ["Eve"]})))
    assert dict(office.frame.select("name", "id").iter_rows()) == {"Ann": 10, "Cy": 12, "Di": 13, "Eve": 99}


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([4, 7, None, None], ["'id'", "row 3", "missing"]),
        ([4, 7, 5, 7], ["'id'", "7", "row 2", "more than one person"]),
        (["a", "b", "b"], ["'id'", "'b'", "row 2", "more than one person"]),
        ([1.5, 2.5], ["'id'", "Float64", "whole numbers or strings"]),
        ([], ["empty"]),
    ],
)
def test_an_invalid_population_table_is_refused_by_column_and_row(ids: list[object], words: list[str]) -> None:
    with pytest.raises(PeopleError) as raised:
        People(pl.DataFrame({"id": ids}))
    assert all(word in str(raised.value) for word in words)
    assert raised.value.exit_code == 2


def test_an_id_beyond_64_bits_is_refused_as_a_people_error() -> None:
    with pytest.raises(PeopleError, match="id"):
        People(pl.DataFrame({"id": pl.Series([2**63], dtype=pl.UInt64)}))


def test_a_table_without_any_row_or_column_is_an_empty_population() -> None:
    with pytest.raises(PeopleError, match="empty"):
        People(pl.DataFrame())


def test_people_are_read_from_csv_by_the_column_that_identifies_them(tmp_path: Path) -> None:
    people = People.read(csv(tmp_path, "pid,age\n7,30\n9,41\n"), id="pid")
    assert people.ids.to_list() == [7, 9]
    assert people.columns == ["id", "age"]


def test_people_are_read_from_parquet(tmp_path: Path, office: People) -> None:
    office.frame.write_parquet(tmp_path / "people.parquet")
    assert People.read(tmp_path / "people.parquet").frame.equals(office.frame)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pid,age\n7,30\n", ["no column 'id'", "pid, age", "id=…"]),
        ("id,age\n7,30\n,41\n", ["'id'", "row 2", "missing"]),
        ("id,age\n7,30\n7,41\n", ["'id'", "7", "row 1", "more than one"]),
        ("id,age\n", ["empty"]),
        ("", ["could not be read"]),
        ("id,age\n1,2\n3,4,5\n", ["could not be read"]),
    ],
)
def test_a_csv_file_without_a_valid_population_is_refused_by_its_path(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    path = csv(tmp_path, text)
    with pytest.raises(PeopleError) as raised:
        People.read(path)
    assert all(word in str(raised.value) for word in [str(path), *words])


def test_a_csv_where_another_column_is_already_named_id_is_a_people_error(tmp_path: Path) -> None:
    with pytest.raises(PeopleError, match="id"):
        People.read(csv(tmp_path, "pid,id\n7,1\n9,2\n"), id="pid")


@pytest.mark.parametrize("name", ["people.txt", "people.csv", "people.parquet"])
def test_a_file_that_is_missing_or_of_another_kind_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(PeopleError, match=name):
        People.read(tmp_path / name)


def test_a_damaged_parquet_file_is_a_people_error(tmp_path: Path) -> None:
    (tmp_path / "people.parquet").write_bytes(b"PAR1 and then nothing of use")
    with pytest.raises(PeopleError, match="could not be read"):
        People.read(tmp_path / "people.parquet")


def test_a_column_that_is_not_there_is_named_with_its_nearest(office: People) -> None:
    with pytest.raises(UnknownNameError) as raised:
        office["shrit"]
    assert raised.value.name == "shrit"
    assert raised.value.nearest == "shirt"


def test_a_value_for_all_and_a_value_for_each_fill_a_column(office: People) -> None:
    office["day"] = 1
    office["hat"] = "straw"
    office["pay"] = np.array([1.0, 2.0, 3.0, 4.0])
    assert office["day"].to_list() == [1, 1, 1, 1]
    assert office["hat"].to_list() == ["straw"] * 4
    assert office["pay"].to_list() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("values", [[0, 0, 2.5, 1], [2.5, 0, 0, 1], [None, 0, 2.5, 1]])
def test_whole_numbers_and_fractions_may_be_mixed_in_one_list(office: People, values: list[float | None]) -> None:
    office["pay"] = values
    assert office["pay"].to_list() == values


@pytest.mark.parametrize("values", [[1], [1, 2, 3, 4, 5], []])
def test_a_column_of_the_wrong_length_is_refused_by_name(office: People, values: list[int]) -> None:
    with pytest.raises(PeopleError, match=rf"'pay' holds {len(values)} values? for 4 people"):
        office["pay"] = values
    with pytest.raises(PeopleError, match="'pay'"):
        office.with_columns(pay=values)


def test_ids_never_change(office: People) -> None:
    with pytest.raises(PeopleError, match="ids never change"):
        office["id"] = [1, 2, 3, 4]


def test_with_columns_cannot_make_two_people_share_an_id(office: People) -> None:
    with pytest.raises(PeopleError, match="id"):
        office.with_columns(id=[1, 1, 1, 1])


def test_with_columns_leaves_the_old_population_as_it_was(office: People) -> None:
    older = office.with_columns(age=0)
    assert older["age"].to_list() == [0, 0, 0, 0]
    assert office["age"].to_list() == [30, 41, 52, 63]


def test_a_frame_taken_earlier_does_not_change_with_the_people(office: People) -> None:
    before = office.frame
    office["age"] = 0
    assert before["age"].to_list() == [30, 41, 52, 63]


def test_answers_are_matched_by_id_and_not_by_place(office: People) -> None:
    office["shirt"] = answers([13, 12, 11, 10], ["green", "green", "blue", "blue"])
    assert office["shirt"].to_list() == ["blue", "blue", "green", "green"]


def test_answers_of_some_people_leave_the_others_as_they_were(office: People) -> None:
    office["shirt"] = answers([13, 11], ["green", "green"])
    assert office["shirt"].to_list() == ["blue", "green", "green", "green"]


def test_an_invalid_answer_leaves_the_old_value_in_place(office: People) -> None:
    office["shirt"] = answers([10, 11, 12, 13], ["green", None, None, "blue"])
    assert office["shirt"].to_list() == ["green", "blue", "green", "blue"]


def test_answers_make_a_new_column_that_is_empty_for_those_not_asked(office: People) -> None:
    office["hat"] = answers([11, 12], ["green", None])
    assert office["hat"].to_list() == [None, "green", None, None]


def test_answers_with_a_fraction_turn_a_column_of_whole_numbers_into_one_with_fractions(office: People) -> None:
    office["age"] = answers([11], [41.5], Number("Age?"))
    assert office["age"].to_list() == [30.0, 41.5, 52.0, 63.0]


def test_answers_of_people_who_have_left_reach_nobody(office: People) -> None:
    given_before = answers([10, 11], ["green", "green"])
    office.remove(office.take([10]))
    office["shirt"] = given_before
    assert office["shirt"].to_list() == ["green", "green", "blue"]


def test_answers_of_a_type_that_does_not_fit_the_old_values_are_a_people_error(office: People) -> None:
    office["tired"] = [True, False, True, False]
    with pytest.raises(PeopleError, match="tired"):
        office["tired"] = answers([11], ["blue"])


@given(st.permutations(range(6)), st.lists(st.sampled_from(["blue", "green", None]), min_size=6, max_size=6))
@settings(max_examples=40, deadline=None)
def test_assigning_answers_is_the_same_as_writing_each_valid_one_by_hand(
    order: list[int], values: list[str | None]
) -> None:
    ids = order[:4]
    people = People(pl.DataFrame({"shirt": list("uvwxyz")}))
    expected = list("uvwxyz")
    for who, value in zip(ids, values, strict=False):
        expected[who] = value or expected[who]
    people["shirt"] = answers(ids, list(values[:4]))
    assert people["shirt"].to_list() == expected


def test_assigning_to_a_selection_is_refused_with_the_way_to_do_it(office: People) -> None:
    with pytest.raises(PeopleError, match="selection") as raised:
        office.where(age=30)["shirt"] = "green"
    assert 'self.people["shirt"] = answers' in (raised.value.hint or "")
    assert office["shirt"].to_list() == ["blue", "blue", "green", "blue"]


def test_nobody_joins_or_leaves_a_selection(office: People) -> None:
    some = office.where(age={"lt": 50})
    with pytest.raises(PeopleError, match="selection"):
        some.add(People.named(1))
    with pytest.raises(PeopleError, match="selection"):
        some.remove(office)


def test_columns_that_newcomers_lack_are_empty_for_them(office: People) -> None:
    office.add(People(pl.DataFrame({"id": [20], "name": ["Eve"], "hat": ["straw"]})))
    assert office.person(20).age is None
    assert office["hat"].to_list() == [None, None, None, None, "straw"]


def test_a_newcomer_with_a_taken_id_is_refused_and_nobody_joins(office: People) -> None:
    with pytest.raises(PeopleError, match="12 identifies more than one person"):
        office.add(People(pl.DataFrame({"id": [12], "name": ["Eve"]})))
    assert len(office) == 4


def test_newcomers_with_another_kind_of_id_do_not_change_the_ids_of_the_rest(office: People) -> None:
    with pytest.raises(PeopleError, match="id"):
        office.add(People(pl.DataFrame({"id": ["eve"], "name": ["Eve"]})))
    assert office.ids.to_list() == [10, 11, 12, 13]


def test_those_who_leave_are_gone_and_the_rest_keep_their_order(office: People) -> None:
    office.remove(office.where(shirt="blue", age={"lt": 60}))
    assert office.ids.to_list() == [12, 13]


@pytest.mark.parametrize(("ids", "following"), [([0], 1), ([3, 8, 5], 9), ([-5, -3], -2)])
def test_the_next_id_is_the_first_whole_number_above_every_id(ids: list[int], following: int) -> None:
    assert People(pl.DataFrame({"id": ids})).next_id() == following


def test_the_id_of_somebody_who_left_is_not_given_out_again(office: People) -> None:
    office.remove(office.take([13]))
    assert office.next_id() == 14


def test_string_ids_have_no_next_one() -> None:
    with pytest.raises(PeopleError, match="strings"):
        People(pl.DataFrame({"id": ["ann"]})).next_id()


def test_take_changes_returns_what_was_set_since_the_last_call(office: People) -> None:
    assert office.take_changes() == (True, ["id", "name", "age", "shirt"])
    assert office.take_changes() == (False, [])
    office["shirt"] = "green"
    office["age"] = 3
    assert office.take_changes() == (False, ["age", "shirt"])
    office.remove(office.take([10]))
    assert office.take_changes() == (True, [])


def test_a_selection_leaves_the_record_of_changes_alone(office: People) -> None:
    office.take_changes()
    office["age"] = 3
    office.where(age=3).take_changes()
    assert office.take_changes() == (False, ["age"])


def test_counts_and_shares_follow_the_conditions(office: People) -> None:
    assert office.count() == 4
    assert office.count(shirt="blue") == 3
    assert office.count(shirt="blue", age={"gt": 30}) == 2
    assert office.share(shirt="blue") == 0.75
    assert office.share(shirt="red") == 0.0


def test_the_share_among_nobody_is_zero(office: People) -> None:
    assert office.where(age=1).share(shirt="blue") == 0.0


def test_named_people_are_the_same_for_the_same_seed() -> None:
    assert People.named(50, seed=3).frame.equals(People.named(50, seed=3).frame)
    assert not People.named(50, seed=3)["name"].equals(People.named(50, seed=4)["name"])


@pytest.mark.parametrize("count", [0, -1])
def test_a_population_of_nobody_cannot_be_named(count: int) -> None:
    with pytest.raises(PeopleError, match="at least one"):
        People.named(count)


def test_a_person_is_found_by_id_by_name_and_by_a_number_typed_as_text(office: People) -> None:
    assert office.person(11).name == office.person("Bo").name == office.person("11").name == "Bo"


def test_an_unknown_person_is_named_with_the_nearest(office: People) -> None:
    with pytest.raises(UnknownNameError) as raised:
        office.person("Anne")
    assert raised.value.nearest == "Ann"


def test_a_name_that_two_people_have_does_not_find_either() -> None:
    people = People(pl.DataFrame({"name": ["Ann", "Ann"]}))
    with pytest.raises(PeopleError, match="2 people are named 'Ann'"):
        people.person("Ann")


def test_a_text_that_is_an_id_wins_over_a_name() -> None:
    people = People(pl.DataFrame({"id": ["a", "b"], "name": ["b", "a"]}))
    assert people.person("a").name == "b"


def test_iterating_gives_one_view_for_each_person_in_order(office: People) -> None:
    assert [(person.id, person.age) for person in office] == [(10, 30), (11, 41), (12, 52), (13, 63)]
    assert "age" in office
    assert "hat" not in office


def test_the_representation_says_how_many_and_whether_it_is_a_selection(office: People) -> None:
    assert repr(office) == "<4 people: id, name, age, shirt>"
    assert repr(office.where(age=30)) == "<selection of 1 person: id, name, age, shirt>"


def test_a_million_people_with_names_and_traits_take_less_than_300_megabytes() -> None:
    people = People.named(1_000_000, seed=1)
    people["age"] = np.arange(1_000_000) % 100
    people["shirt"] = pl.Series(np.zeros(1_000_000, np.uint8)).cat.to(pl.Enum(["blue", "green"]))
    assert people.frame.estimated_size() < 300_000_000
    assert people.count(shirt="blue", age={"lt": 10}) == 100_000
