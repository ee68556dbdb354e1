"""Walking is a metric, and people on the way are on the way."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import WorldError
from populace.worlds.town import Town
from populace.worlds.town.spots import Floats, Spots
from populace.worlds.town.streets import StraightWays, Streets, Ways, streets_from_lines
from support.routes import corners, distinct

NEAR = 1e-6
coordinate = st.integers(0, 40).map(lambda n: float(n * 10))


@st.composite
def ways_and_doors(draw: st.DrawFn) -> tuple[Ways, Spots]:
    """Streets that grow from one another, with buildings beside them; or no streets at all."""
    x = np.array(draw(st.lists(coordinate, min_size=2, max_size=6)))
    y = np.array(draw(st.lists(coordinate, min_size=len(x), max_size=len(x))))
    if draw(st.booleans()):
        return StraightWays(), Spots.at(x, y)
    known = [(200.0, 200.0)]
    lines = []
    for _ in range(draw(st.integers(1, 7))):
        points = [draw(st.sampled_from(known))]
        for _ in range(draw(st.integers(1, 3))):
            points.append(draw(st.tuples(coordinate, coordinate).filter(lambda p, last=points[-1]: p != last)))
        known.extend(points)
        lines.append(np.array(points))
    streets, _ = streets_from_lines(lines)
    return streets, streets.attach(x, y, building=np.arange(1, len(x) + 1))


def all_pairs(ways: Ways, doors: Spots) -> Floats:
    count = len(doors)
    one, other = np.repeat(np.arange(count), count), np.tile(np.arange(count), count)
    return ways.metres(doors.take(one), doors.take(other)).reshape(count, count)


@given(ways_and_doors())
@settings(max_examples=80, deadline=None)
def test_a_way_is_as_long_back_as_forth_and_never_longer_than_a_detour(case: tuple[Ways, Spots]) -> None:
    metres = all_pairs(*case)
    assert np.isfinite(metres).all()
    assert (np.diag(metres) == 0).all()
    assert np.abs(metres - metres.T).max() < NEAR
    for via in range(len(metres)):
        assert (metres <= metres[:, [via]] + metres[[via], :] + NEAR).all()


@given(ways_and_doors())
@settings(max_examples=80, deadline=None)
def test_no_way_is_shorter_than_the_straight_line(case: tuple[Ways, Spots]) -> None:
    ways, doors = case
    straight = np.hypot(doors.x[:, None] - doors.x, doors.y[:, None] - doors.y)
    assert (all_pairs(ways, doors) >= straight - NEAR).all()


@given(ways_and_doors())
@settings(max_examples=60, deadline=None)
def test_junctions_are_as_far_apart_as_a_graph_library_says(case: tuple[Ways, Spots]) -> None:
    ways, _ = case
    if isinstance(ways, Streets):
        graph = nx.Graph()
        for (one, other), length in zip(ways.ends.tolist(), ways.length.tolist(), strict=True):
            graph.add_edge(one, other, weight=length)
        for one, found in nx.all_pairs_dijkstra_path_length(graph):
            for other, metres in found.items():
                assert ways._between[one, other] == pytest.approx(metres, abs=NEAR)


@given(ways_and_doors(), st.floats(0, 1))
@settings(max_examples=120, deadline=None)
def test_on_the_way_the_metres_walked_and_those_left_add_up(case: tuple[Ways, Spots], share: float) -> None:
    ways, doors = case
    one, other = (np.array(rows) for rows in zip(*itertools.permutations(range(len(doors)), 2), strict=True))
    a, b = doors.take(one), doors.take(other)
    whole = ways.metres(a, b)
    here = ways.along(a, b, whole * share)
    assert np.abs(ways.metres(a, here) - whole * share).max() < NEAR
    assert np.abs(ways.metres(here, b) - whole * (1 - share)).max() < NEAR


@given(ways_and_doors(), st.floats(0, 1))
@settings(max_examples=80, deadline=None)
def test_on_the_way_everybody_is_on_the_route(case: tuple[Ways, Spots], share: float) -> None:
    ways, doors = case
    a, b = doors.take(np.array([0])), doors.take(np.array([1]))
    points = corners(ways, a, b)
    legs = np.hypot(*np.diff(points, axis=0).T)
    assert legs.sum() == pytest.approx(float(ways.metres(a, b)[0]), abs=NEAR)
    walked = legs.sum() * share
    here = ways.along(a, b, np.array([walked]))
    stops = np.concatenate([[0.0], np.cumsum(legs)])
    assert here.x[0] == pytest.approx(np.interp(walked, stops, points[:, 0]), abs=1e-4)
    assert here.y[0] == pytest.approx(np.interp(walked, stops, points[:, 1]), abs=1e-4)


@given(ways_and_doors(), st.lists(st.floats(0, 1), min_size=3, max_size=3))
@settings(max_examples=60, deadline=None)
def test_who_turns_on_the_way_walks_on_from_there(case: tuple[Ways, Spots], shares: list[float]) -> None:
    ways, doors = case
    here, walked = doors.take(np.array([0])), 0.0
    for goal, share in zip((1, 0, 1), shares, strict=True):
        end = doors.take(np.array([goal % len(doors)]))
        leg = ways.metres(here, end) * share
        there = ways.along(here, end, leg)
        assert ways.metres(here, there)[0] <= leg[0] + NEAR
        here, walked = there, walked + float(leg[0])
    assert ways.metres(doors.take(np.array([0])), here)[0] <= walked + NEAR


@given(ways_and_doors())
@settings(max_examples=60, deadline=None)
def test_many_ways_at_once_turn_where_each_alone_does(case: tuple[Ways, Spots]) -> None:
    ways, doors = case
    pairs = np.array(list(itertools.product(range(len(doors)), repeat=2)))
    origins, goals = doors.take(pairs[:, 0]), doors.take(pairs[:, 1])
    lines = ways.paths(origins, goals)
    assert np.allclose(np.hypot(np.diff(lines.x), np.diff(lines.y)).sum(axis=1), ways.metres(origins, goals), atol=NEAR)
    for row in range(len(pairs)):
        points = np.stack([lines.x[row], lines.y[row]], axis=1)
        alone = corners(ways, origins.take(np.array([row])), goals.take(np.array([row])))
        assert np.allclose(distinct(points), alone)


TOWN = Town.sallow_ferry()
a_place = st.integers(1, len(TOWN) - 1)


@given(st.lists(st.tuples(a_place, a_place, a_place), min_size=1, max_size=30))
def test_minutes_are_a_metric_over_rooms_and_objects_too(triples: list[tuple[int, int, int]]) -> None:
    a, b, c = np.array(triples).T
    assert (TOWN.minutes(a, b) == TOWN.minutes(b, a)).all()
    assert (TOWN.minutes(a, a) == 0).all()
    assert (TOWN.minutes(a, c) <= TOWN.minutes(a, b) + TOWN.minutes(b, c) + NEAR).all()


def test_a_room_of_the_same_building_is_a_minute_away_and_things_in_a_room_are_at_hand() -> None:
    counter, tables, oven, bin_ = TOWN.lookup(
        [
            "Kettle & Crumb > counter",
            "Kettle & Crumb > tables",
            "Kettle & Crumb > kitchen > oven",
            "Kettle & Crumb > kitchen > flour bin",
        ]
    )
    assert TOWN.minutes([counter, oven, counter], [tables, bin_, counter]).tolist() == [1, 0, 0]


def test_who_walks_twice_as_fast_needs_half_the_time_on_the_street() -> None:
    home, school = TOWN.place("Mill Row 3"), TOWN.place("Sallow Ferry School")
    assert TOWN.minutes(home, school, pace=160)[0] == pytest.approx(TOWN.minutes(home, school)[0] / 2)


def test_one_place_stands_for_all() -> None:
    homes = TOWN.of_kind("home")
    assert TOWN.minutes(homes, TOWN.place("Osier Park")).shape == homes.shape


def test_a_route_begins_and_ends_at_the_two_buildings_and_has_the_length_of_the_walk() -> None:
    home, landing = TOWN.place("Larch Lane 6"), TOWN.place("Ferry Landing")
    route = corners(TOWN.ways, TOWN.spots(home), TOWN.spots(landing))
    assert tuple(route[0]) == (TOWN.places.x[home], TOWN.places.y[home])
    assert tuple(route[-1]) == (TOWN.places.x[landing], TOWN.places.y[landing])
    assert np.hypot(*np.diff(route, axis=0).T).sum() == pytest.approx(TOWN.metres(home, landing)[0])


def test_many_people_are_placed_on_their_ways_at_once() -> None:
    homes = TOWN.of_kind("home")
    half = TOWN.minutes(homes, TOWN.place("The Lantern")) / 2
    goal = TOWN.spots(np.full(len(homes), TOWN.place("The Lantern")))
    spots = TOWN.ways.along(TOWN.spots(homes), goal, half * TOWN.pace)
    assert np.abs(TOWN.ways.metres(spots, goal) / TOWN.pace - half).max() < NEAR


def test_a_route_within_one_building_does_not_leave_it() -> None:
    rooms = TOWN.spots(TOWN.lookup(["The Lantern > bar", "The Lantern > back room"]))
    assert len(corners(TOWN.ways, rooms.take(np.array([0])), rooms.take(np.array([1])))) == 1


def test_the_town_as_a_whole_and_places_that_are_not_there_are_no_goals() -> None:
    with pytest.raises(WorldError, match="Sallow Ferry as a whole is not a place to go to"):
        TOWN.minutes(0, 1)
    with pytest.raises(WorldError, match="no place 9999"):
        TOWN.minutes(1, 9999)
    with pytest.raises(WorldError, match="no place -1"):
        TOWN.minutes(-1, 1)
    with pytest.raises(WorldError, match="nobody walks 0 metres"):
        Town("x", TOWN.places, TOWN.ways, TOWN.doors, pace=0)
