"""The residents of a town: those who ship, and files of one's own."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import polars as pl
import pytest

from populace.base.errors import PopulaceError, UnknownNameError, WorldError
from populace.people import Network
from populace.worlds.town import Town, read_relations, read_residents, read_routines

TOWN = Town.sallow_ferry()
TWO = """
[[resident]]
name = "Ada Stone"
age = 40
occupation = "baker"
home = "Mill Row 3"
bedroom = "Keziah's bedroom"
workplace = "Kettle & Crumb > kitchen"
traits = ["calm", "curious"]
backstory = "Ada bakes."
wakes = "05:00"
sleeps = "21:00"
routine = [["06:00", "bakes", "Kettle & Crumb > kitchen"], ["20:00", "reads", "Mill Row 3"]]

[[resident]]
name = "Ben Reed"
age = 70
occupation = "retired"
home = "Mill Row 8"
traits = ["loyal"]
backstory = "Ben fishes."
wakes = "07:00"
sleeps = "22:00"

[[relation]]
between = ["Ben Reed", "Ada Stone"]
relation = "friends"
closeness = 0.5
"""


def written(tmp_path: Path, text: str = TWO) -> Path:
    path = tmp_path / "people.toml"
    path.write_text(text, encoding="utf-8")
    return path


def read_all(path: Path) -> None:
    read_residents(TOWN, path)
    read_relations(TOWN, path)


def test_twenty_five_people_live_in_sallow_ferry() -> None:
    people = read_residents(TOWN)
    assert people.count() == 25
    assert people.ids.to_list() == list(range(25))
    assert people["name"].n_unique() == 25
    assert people["backstory"].n_unique() == 25
    assert people["age"].is_between(5, 100).all()
    assert people.frame.drop("workplace", "workplace_place").null_count().sum_horizontal().item() == 0


def test_every_backstory_has_three_to_five_sentences_and_mentions_no_party() -> None:
    for story in read_residents(TOWN)["backstory"]:
        assert 3 <= sum(story.count(mark) for mark in (". ", "! ", "? ")) + 1 <= 6
        assert "Valentine" not in story


def test_no_home_of_sallow_ferry_has_more_residents_than_beds() -> None:
    for home, count in read_residents(TOWN)["home_place"].value_counts().rows():
        assert count == TOWN.places.beds[home]


def test_somebody_owns_the_cafe() -> None:
    assert read_residents(TOWN).person("Odile Farrant").occupation == "owner of the café Kettle & Crumb"


def test_acquaintance_is_sparse_and_reaches_everybody() -> None:
    ties = read_relations(TOWN)
    assert 0.15 <= ties.height / (25 * 24 / 2) <= 0.25
    assert (ties["a"] < ties["b"]).all()
    graph = nx.Graph(ties.select("a", "b").rows())
    assert len(graph) == 25
    assert nx.is_connected(graph)


def test_relations_are_ties_of_a_network() -> None:
    people = read_residents(TOWN)
    network = Network(read_relations(TOWN), source="a", target="b")
    network.check(people)
    assert network.degree(people).min() >= 1  # type: ignore[operator]


def test_routines_run_through_the_day_in_places_that_are_open() -> None:
    table, works_at = read_routines(TOWN), read_residents(TOWN)["workplace_place"].to_list()
    assert table["person"].n_unique() == 25
    for person, time, place, address, _ in table.iter_rows():
        works = works_at[person]
        own = works is not None and TOWN.places.building[works] == TOWN.places.building[place]
        assert own or TOWN.open(place, time)[0], f"{address} at {time}"


def test_a_file_of_ones_own_is_read(tmp_path: Path) -> None:
    path = written(tmp_path)
    people = read_residents(TOWN, path)
    ada, ben = people.person("Ada Stone"), people.person("Ben Reed")
    assert (ada.traits, ada.wakes, ada.bed_place) == (
        "calm, curious",
        18000,
        TOWN.place("Mill Row 3 > Keziah's bedroom"),
    )
    assert ada.routine == "06:00 bakes (Kettle & Crumb); 20:00 reads (Mill Row 3)"
    assert (ben.workplace, ben.workplace_place, ben.routine) == (None, None, "")
    assert read_relations(TOWN, path).rows() == [(0, 1, "friends", 0.5)]
    assert read_routines(TOWN, path).select("person", "time").rows() == [(0, 21600), (0, 72000)]


AGAIN = '[[relation]]\nbetween = ["Ada Stone", "Ben Reed"]\nrelation = "rivals"\ncloseness = 0.1\n'


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"Ben Reed"\nage', '"Ada Stone"\nage', "2 residents are named 'Ada Stone'"),
        ('home = "Mill Row 3"', 'home = "Mill Raw 3"', "home of resident 'Ada Stone' in people.toml named 'Mill Raw 3'.*'Mill Row 3'"),
        ('home = "Mill Row 3"', 'home = "The Lantern"', "resident 'Ada Stone': home is 'The Lantern', which is a pub"),
        ("Crumb > kitchen\"\ntraits", "Crumb > kichen\"\ntraits", "workplace of resident 'Ada Stone'.*'kichen'.*'kitchen'"),
        ("Keziah's bedroom", "bedroom", "bedroom of resident 'Ada Stone'"),
        ('"bakes", "Kettle & Crumb > kitchen"', '"bakes", "Bakery"', "routine of resident 'Ada Stone'.*'Bakery'"),
        ('["06:00", "bakes", "Kettle & Crumb > kitchen"]', '["06:00", "bakes"]', "routine holds"),
        ('"Ben Reed"\nage', '"ada stone"\nage', "2 residents are named 'Ada Stone' and 'ada stone'"),
        ('"06:00"', '"21:30"', "routine runs backwards: 20:00 comes after 21:30.*begins at 05:00"),
        ('sleeps = "21:00"', 'sleeps = "05:00"', "wakes and sleeps are both 05:00"),
        ('"06:00"', '"6"', "routine is '6'"),
        ('wakes = "05:00"', 'wakes = "25:00"', "wakes is '25:00'"),
        ("age = 40", "age = -1", "resident 'Ada Stone': age is -1"),
        ("age = 40\n", "", "resident 'Ada Stone': age is missing"),
        ("age = 40", "age = 40\noccupaton = 'x'", "key of resident 'Ada Stone' in people.toml named 'occupaton'"),
        ('traits = ["loyal"]', 'traits = "loyal"', "resident 'Ben Reed': traits is 'loyal'"),
        ('["Ben Reed", "Ada Stone"]', '["Ben Read", "Ada Stone"]', "relation 1.*'Ben Read'.*'Ben Reed'"),
        ('["Ben Reed", "Ada Stone"]', '["Ada Stone", "Ada Stone"]', "Ada Stone is related to themselves"),
        ('["Ben Reed", "Ada Stone"]', '["Ada Stone"]', "between 1 people"),
        ("closeness = 0.5", "closeness = 1.5", "closeness is 1.5"),
        ("closeness = 0.5\n", "closeness = 0.5\n" + AGAIN, "relation 2: Ada Stone and Ben Reed stand there a second time"),
        ("[[relation]]", "[[relatoin]]", "no table in people.toml named 'relatoin'"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_refused_with_file_entry_and_remedy(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    assert before in TWO
    path = written(tmp_path, TWO.replace(before, after, 1))
    with pytest.raises(PopulaceError, match=said) as told:
        read_all(path)
    assert isinstance(told.value, WorldError | UnknownNameError)
    assert "people.toml" in str(told.value)
    assert told.value.hint


def test_a_town_without_residents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="nobody lives there"):
        read_residents(TOWN, written(tmp_path, ""))


def test_relations_hold_what_a_reader_needs() -> None:
    assert read_relations(TOWN).schema == {"a": pl.Int64, "b": pl.Int64, "relation": pl.String, "closeness": pl.Float64}
