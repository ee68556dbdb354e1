from __future__ import annotations

import copy
import pickle

import polars as pl
import pytest

from populace.base.errors import UnknownNameError
from populace.people import People, Person


@pytest.fixture
def mary() -> Person:
    return Person({"id": 3, "name": "Mary", "age": 41})


def test_values_are_read_by_key_and_by_attribute(mary: Person) -> None:
    assert mary.id == mary["id"] == 3
    assert mary.name == mary["name"] == "Mary"
    assert dict(mary) == {"id": 3, "name": "Mary", "age": 41}
    assert len(mary) == 3


@pytest.mark.parametrize("read", [lambda p: p["agee"], lambda p: p.agee])
def test_a_column_that_is_not_there_is_named_with_the_nearest(mary: Person, read: object) -> None:
    with pytest.raises(UnknownNameError) as raised:
        read(mary)  # type: ignore[operator]
    assert raised.value.name == "agee"
    assert raised.value.nearest == "age"


def test_a_person_answers_whether_a_column_is_there_like_any_mapping(mary: Person) -> None:
    assert "age" in mary
    assert "mood" not in mary
    assert mary.get("mood", "calm") == "calm"
    assert mary.get("age", 0) == 41


def test_a_person_answers_whether_an_attribute_is_there(mary: Person) -> None:
    assert hasattr(mary, "age")
    assert not hasattr(mary, "mood")
    assert getattr(mary, "mood", "calm") == "calm"


def test_a_person_cannot_be_changed(mary: Person) -> None:
    with pytest.raises(AttributeError):
        mary.age = 42  # type: ignore[misc]
    with pytest.raises(TypeError):
        mary["age"] = 42  # type: ignore[index]


def test_a_view_keeps_the_values_it_was_taken_with() -> None:
    people = People(pl.DataFrame({"id": [7], "age": [30]}))
    before = people.person(7)
    people["age"] = 31
    assert before.age == 30
    assert people.person(7).age == 31


def test_a_view_does_not_follow_the_mapping_it_was_made_from() -> None:
    row = {"id": 3, "age": 41}
    person = Person(row)
    row["age"] = 42
    assert person.age == 41


def test_persons_are_equal_by_their_values_and_survive_copying(mary: Person) -> None:
    assert mary == Person({"id": 3, "name": "Mary", "age": 41})
    assert mary != Person({"id": 3, "name": "Mary", "age": 42})
    assert copy.deepcopy(mary) == mary
    assert pickle.loads(pickle.dumps(mary)) == mary


def test_the_representation_shows_every_value(mary: Person) -> None:
    assert repr(mary) == "Person(id=3, name='Mary', age=41)"


def test_what_is_no_column_is_not_answered_with_a_method_that_is_not_like_it() -> None:
    people = People.named(2)
    with pytest.raises(AttributeError, match=r"no attribute 'age'. The columns are: id, name, sex"):
        _ = people.age  # type: ignore[attr-defined]
    with pytest.raises(UnknownNameError) as raised:
        people["agee"]
    assert raised.value.nearest is None
    with pytest.raises(AttributeError, match=r'Did you mean people\["age"\]'):
        _ = people.with_columns(age=1).agee  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"Did you mean people\.sample\?"):
        _ = people.sampl  # type: ignore[attr-defined]
