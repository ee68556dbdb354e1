"""Who is where, and who notices whom."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import WorldError
from populace.worlds.town import Presence, Town
from populace.worlds.town.perception import in_sight
from populace.worlds.town.presence import NOWHERE
from support.routes import corners

TOWN = Town.sallow_ferry()
COUNTER, TABLES, KITCHEN = TOWN.lookup(
    ["Kettle & Crumb > counter", "Kettle & Crumb > tables", "Kettle & Crumb > kitchen"]
)
HOME, BAR, POND = TOWN.lookup(["Larch Lane 4 > kitchen", "The Lantern > bar", "Osier Park > pond"])
a_place = st.integers(1, len(TOWN) - 1)


def test_who_was_never_sent_stays() -> None:
    where = Presence(TOWN, [HOME, BAR], now=100).at(100_000)
    assert where.place.tolist() == [HOME, BAR]
    assert where.to.tolist() == [NOWHERE, NOWHERE]
    assert where.x.tolist() == [TOWN.places.x[HOME], TOWN.places.x[BAR]]


def test_who_is_sent_is_on_the_way_and_then_there() -> None:
    presence = Presence(TOWN, [HOME])
    (arrives,) = presence.send([0], BAR, now=60)
    assert arrives == 60 + np.ceil(TOWN.minutes(HOME, BAR)[0] * 60)
    assert presence.at(60).place.tolist() == [NOWHERE]
    assert presence.at(60).to.tolist() == [BAR]
    assert presence.at(arrives - 1).place.tolist() == [NOWHERE]
    assert presence.at(arrives).place.tolist() == [BAR]
    assert presence.at(arrives).to.tolist() == [NOWHERE]


def test_a_way_within_a_building_stays_in_the_old_room_until_its_end() -> None:
    presence = Presence(TOWN, [COUNTER])
    (arrives,) = presence.send([0], TABLES, now=0)
    assert arrives == 60
    assert presence.at(59).place.tolist() == [COUNTER]
    assert presence.at(60).place.tolist() == [TABLES]


def test_who_is_called_back_between_two_rooms_does_not_end_up_in_the_street() -> None:
    presence = Presence(TOWN, [COUNTER])
    presence.send([0], TABLES, now=0)
    presence.send([0], KITCHEN, now=30)
    assert presence.at(31).place.tolist() == [COUNTER]
    assert presence.at(90).place.tolist() == [KITCHEN]


def test_going_to_something_in_the_same_room_takes_no_time() -> None:
    presence = Presence(TOWN, [COUNTER])
    machine = TOWN.place("Kettle & Crumb > counter > espresso machine")
    assert presence.send([0], machine, now=5).tolist() == [5]
    assert presence.at(5).place.tolist() == [machine]


def test_who_turns_round_on_the_way_needs_as_long_back() -> None:
    presence = Presence(TOWN, [TOWN.place("Larch Lane 4")])
    presence.send([0], TOWN.place("The Lantern"), now=0)
    (back,) = presence.send([0], TOWN.place("Larch Lane 4"), now=180)
    assert back == pytest.approx(360, abs=2)
    assert presence.at(181).place.tolist() == [NOWHERE]
    assert presence.at(back).place.tolist() == [TOWN.place("Larch Lane 4")]


def test_who_is_sent_again_to_the_same_place_walks_on_as_before() -> None:
    presence = Presence(TOWN, [HOME])
    (arrives,) = presence.send([0], BAR, now=0)
    assert presence.send([0], BAR, now=100).tolist() == [arrives]


def test_who_stops_on_the_way_stands_there_and_can_be_sent_on() -> None:
    presence = Presence(TOWN, [HOME])
    (arrives,) = presence.send([0], BAR, now=0)
    presence.halt([0], now=120)
    early, late = presence.at(120), presence.at(1000)
    assert early.place.tolist() == late.place.tolist() == [NOWHERE]
    assert (early.x[0], early.y[0]) == (late.x[0], late.y[0])
    (again,) = presence.send([0], BAR, now=1000)
    assert again - 1000 == pytest.approx(arrives - 120, abs=30)
    assert presence.at(again).place.tolist() == [BAR]


def test_stopping_somebody_who_is_not_on_the_way_changes_nothing() -> None:
    presence = Presence(TOWN, [HOME, COUNTER])
    presence.send([1], TABLES, now=0)
    presence.halt([0, 1], now=10)
    assert presence.at(500).place.tolist() == [HOME, COUNTER]


def test_time_runs_forward() -> None:
    presence = Presence(TOWN, [HOME])
    presence.send([0], BAR, now=100)
    with pytest.raises(WorldError, match="at second 99 is no longer known"):
        presence.at(99)
    with pytest.raises(WorldError, match="no longer known"):
        presence.send([0], HOME, now=99)


def test_rows_that_are_not_there_or_named_twice_are_refused() -> None:
    presence = Presence(TOWN, [HOME, BAR])
    with pytest.raises(WorldError, match="no person in row 2"):
        presence.send([2], BAR, now=0)
    with pytest.raises(WorldError, match="nobody is at two places at once"):
        presence.send([1, 1], [BAR, HOME], now=0)
    with pytest.raises(WorldError, match="not a place to go to"):
        presence.send([1], 0, now=0)


def test_the_table_has_a_row_for_each_person() -> None:
    presence = Presence(TOWN, [HOME, BAR])
    presence.send([0], BAR, now=0)
    frame = presence.frame(30)
    assert frame["address"].to_list() == [None, "The Lantern > bar"]
    assert frame["to"].to_list() == [BAR, NOWHERE]


moves = st.lists(st.tuples(st.integers(0, 4), a_place, st.integers(0, 400), st.booleans()), max_size=12)


@given(st.lists(a_place, min_size=5, max_size=5), moves)
@settings(max_examples=80, deadline=None)
def test_everybody_is_at_one_place_or_on_one_way_and_nobody_jumps(
    start: list[int], orders: list[tuple[int, int, int, bool]]
) -> None:
    presence, now = Presence(TOWN, start), 0
    for row, place, later, halts in orders:
        before = presence.at(now)
        now += later
        if halts:
            presence.halt([row], now)
        else:
            (arrives,) = presence.send([row], place, now)
            assert now <= arrives <= now + 1200
            assert presence.at(int(arrives)).place[row] == place
        after = presence.at(now)
        assert len(after.place) == len(after.x) == 5
        assert ((after.place >= 1) | (after.place == NOWHERE)).all()
        streets = [TOWN.places.x[TOWN.places.building[np.maximum(w.place, 0)]] for w in (before, after)]
        ups = [TOWN.places.y[TOWN.places.building[np.maximum(w.place, 0)]] for w in (before, after)]
        x = [np.where(w.place >= 0, s, w.x) for w, s in zip((before, after), streets, strict=True)]
        y = [np.where(w.place >= 0, s, w.y) for w, s in zip((before, after), ups, strict=True)]
        assert (np.hypot(x[1] - x[0], y[1] - y[0]) <= later * TOWN.pace / 60 + 1e-6).all()


@given(a_place, a_place, st.integers(0, 1500))
@settings(max_examples=60, deadline=None)
def test_whoever_is_on_the_way_is_on_the_route(origin: int, goal: int, time: int) -> None:
    presence = Presence(TOWN, [origin])
    presence.send([0], goal, now=0)
    where = presence.at(time)
    if where.place[0] == NOWHERE:
        points = corners(TOWN.ways, TOWN.spots(origin), TOWN.spots(goal))
        a, b = points[:-1], points[1:]
        here = np.array([where.x[0], where.y[0]])
        share = np.clip(((here - a) * (b - a)).sum(1) / ((b - a) ** 2).sum(1), 0, 1)
        assert np.hypot(*(a + share[:, None] * (b - a) - here).T).min() < 1e-6


# Who notices whom


def test_where_nobody_is_nobody_is_noticed() -> None:
    presence = Presence(TOWN, [])
    assert (
        len(presence.at(0).place) == len(presence.pairs_in_sight(0).row) == len(presence.objects_in_sight(0).row) == 0
    )
    assert len(presence.pairs_in_sight(0, bandwidth=3).row) == 0


def test_people_in_one_room_notice_each_other_and_nobody_next_door() -> None:
    pairs = Presence(TOWN, [COUNTER, TABLES, COUNTER]).pairs_in_sight(0)
    assert list(zip(pairs.row.tolist(), pairs.other.tolist(), strict=True)) == [(0, 2), (2, 0)]


def test_whoever_stands_at_an_object_is_in_its_room() -> None:
    stand = TOWN.place("Kettle & Crumb > counter > cake stand")
    assert Presence(TOWN, [COUNTER, stand]).pairs_in_sight(0).other.tolist() == [1, 0]


def test_two_who_meet_in_the_street_notice_each_other_and_two_far_apart_do_not() -> None:
    presence = Presence(TOWN, TOWN.lookup(["Larch Lane 4", "The Lantern"]))
    presence.send([0], TOWN.place("The Lantern"), now=0)
    presence.send([1], TOWN.place("Larch Lane 4"), now=0)
    halfway = int(presence.arrives[0]) // 2
    assert presence.pairs_in_sight(1, radius=12).row.tolist() == []
    assert presence.pairs_in_sight(halfway, radius=12).row.tolist() == [0, 1]


def test_a_passer_by_does_not_notice_those_indoors() -> None:
    presence = Presence(TOWN, TOWN.lookup(["Kettle & Crumb", "Kettle & Crumb > counter"]))
    presence.send([0], BAR, now=0)
    assert presence.pairs_in_sight(1, radius=100).row.tolist() == []


def test_in_the_park_those_near_enough_notice_each_other() -> None:
    playground = TOWN.place("Osier Park > playground")
    presence = Presence(TOWN, [POND, playground])
    assert presence.pairs_in_sight(0, radius=12).row.tolist() == []
    assert presence.pairs_in_sight(0, radius=70).row.tolist() == [0, 1]


crowd = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(0, 12), st.integers(0, 12), st.booleans()), min_size=1, max_size=40
)


def columns(people: list[tuple[int, int, int, bool]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    room, x, y, open_air = (np.array(column) for column in zip(*people, strict=True))
    return room, x * 5.0, y * 5.0, open_air | (room == -1)


def naive(
    room: np.ndarray, x: np.ndarray, y: np.ndarray, outdoors: np.ndarray, radius: float
) -> dict[tuple[int, int], float]:
    found = {}
    for a in range(len(room)):
        for b in range(len(room)):
            metres = float(np.hypot(x[a] - x[b], y[a] - y[b]))
            same = room[a] == room[b] != -1
            if a != b and (same or (outdoors[a] and outdoors[b] and metres <= radius)):
                found[a, b] = metres
    return found


@given(crowd, st.sampled_from([0.0, 5.0, 7.5, 20.0, 100.0]))
@settings(max_examples=200, deadline=None)
def test_who_notices_whom_is_symmetric_and_complete_beside_all_pairs(
    people: list[tuple[int, int, int, bool]], radius: float
) -> None:
    given_ = columns(people)
    # A room lies under the sky or it does not.
    given_[3][:] = (given_[0] == -1) | (given_[0] % 2 == 1)
    pairs = in_sight(*given_, radius=radius)
    found = dict(zip(zip(pairs.row.tolist(), pairs.other.tolist(), strict=True), pairs.metres.tolist(), strict=True))
    assert len(found) == len(pairs.row)
    assert found == pytest.approx(naive(*given_, radius))
    assert {(b, a) for a, b in found} == set(found)


@given(crowd, st.sampled_from([5.0, 20.0, 100.0]), st.integers(0, 6))
@settings(max_examples=200, deadline=None)
def test_attention_goes_to_the_nearest_and_no_further_than_it_reaches(
    people: list[tuple[int, int, int, bool]], radius: float, bandwidth: int
) -> None:
    given_ = columns(people)
    given_[3][:] = (given_[0] == -1) | (given_[0] % 2 == 1)
    pairs = in_sight(*given_, radius=radius, bandwidth=bandwidth)
    everything = naive(*given_, radius)
    assert len(set(zip(pairs.row.tolist(), pairs.other.tolist(), strict=True))) == len(pairs.row)
    for person in range(len(people)):
        nearest = sorted(metres for (a, _), metres in everything.items() if a == person)[:bandwidth]
        noticed = pairs.row == person
        assert pairs.metres[noticed].tolist() == pytest.approx(nearest)
        assert all((person, other) in everything for other in pairs.other[noticed].tolist())


def test_in_a_crowd_everybody_is_noticed_by_as_many_as_they_notice() -> None:
    pairs = Presence(TOWN, np.full(500, BAR)).pairs_in_sight(0, bandwidth=8)
    assert set(Counter(pairs.row.tolist()).values()) == {8}
    assert set(Counter(pairs.other.tolist()).values()) == {8}


def test_a_crowd_costs_what_is_noticed_and_not_all_pairs() -> None:
    pairs = Presence(TOWN, np.full(50_000, BAR)).pairs_in_sight(0, bandwidth=8)
    assert len(pairs.row) == 400_000


def test_objects_are_noticed_in_the_room_that_one_is_in() -> None:
    presence = Presence(TOWN, [COUNTER, HOME, BAR, TOWN.place("Kettle & Crumb > counter > cake stand")])
    presence.send([1], BAR, now=0)
    noticed = presence.objects_in_sight(1)
    seen = [
        (row, TOWN.places.name[place]) for row, place in zip(noticed.row.tolist(), noticed.place.tolist(), strict=True)
    ]
    at_the_counter = ["espresso machine", "cake stand", "notice board"]
    assert [name for row, name in seen if row == 0] == at_the_counter
    assert [name for row, name in seen if row == 3] == at_the_counter
    assert [name for row, name in seen if row == 1] == []
    assert [name for row, name in seen if row == 2] == ["taps", "fireplace", "dartboard"]


def test_the_nearest_objects_come_first_and_attention_ends() -> None:
    presence = Presence(TOWN, [TOWN.place("Osier Park > pond > bench"), COUNTER])
    noticed = presence.objects_in_sight(0, [0], bandwidth=1)
    assert [TOWN.places.name[place] for place in noticed.place.tolist()] == ["bench"]
    assert len(presence.objects_in_sight(0, bandwidth=2).row) == 4
