from __future__ import annotations

import pytest

from populace.base.errors import WorldError
from populace.worlds.town import Objects, Town

TOWN = Town.sallow_ferry()
OVEN, PIANO = TOWN.lookup(["Kettle & Crumb > kitchen > oven", "The Lantern > back room > piano"])


def test_objects_begin_as_the_map_has_them() -> None:
    assert Objects(TOWN).states([OVEN, PIANO]).to_list() == ["off", "in tune"]


def test_a_change_is_kept_with_its_time_and_who_did_it() -> None:
    objects = Objects(TOWN)
    objects.set(OVEN, "hot", now=60, by=3)
    objects.set([OVEN, PIANO], ["off", "out of tune"], now=120)
    assert objects.changes().rows() == [
        (60, OVEN, "Kettle & Crumb > kitchen > oven", "off", "hot", 3),
        (120, OVEN, "Kettle & Crumb > kitchen > oven", "hot", "off", None),
        (120, PIANO, "The Lantern > back room > piano", "in tune", "out of tune", None),
    ]
    assert objects.changes(since=100).height == 2


def test_a_state_that_is_there_already_is_no_change() -> None:
    objects = Objects(TOWN)
    objects.set(OVEN, "off", now=1)
    assert objects.changes().height == 0


def test_what_is_in_the_journal_can_be_forgotten_and_states_stay() -> None:
    objects = Objects(TOWN)
    objects.set(OVEN, "hot", now=60)
    objects.forget(before=61)
    assert objects.changes().height == 0
    assert objects.state(OVEN) == "hot"


def test_only_objects_have_a_state_and_time_runs_forward() -> None:
    objects = Objects(TOWN)
    with pytest.raises(WorldError, match="'The Lantern > bar' is a room, and only objects have a state"):
        objects.set(TOWN.place("The Lantern > bar"), "loud", now=0)
    with pytest.raises(WorldError, match="2 states were given for 1 objects"):
        objects.set(OVEN, ["hot", "off"], now=0)
    objects.set(OVEN, "hot", now=60)
    with pytest.raises(WorldError, match="before the last change at 60"):
        objects.set(OVEN, "off", now=59)
    with pytest.raises(WorldError, match="no place"):
        objects.state(10_000)
    with pytest.raises(WorldError, match="no place"):
        objects.state(-1)
