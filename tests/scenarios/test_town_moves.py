from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from populace import AddPeople, Announce, RemovePeople, Run, Selection, simulate
from populace.base.errors import PopulaceError, UnknownNameError, WorldError
from populace.scenarios.party import Party
from populace.scenarios.townlife import DAY, HOUR
from populace.scenarios.townlife.days import by_routine
from populace.worlds.town.objects import Objects
from populace.worlds.town.town import Town
from support.society import resident
from support.village import Village


class Morning(Party):
    """The first hours of the party's first day."""

    def length(self) -> int:
        return 30


def morning(*rows: dict[str, Any], at: int = 20) -> Run:
    changes = [AddPeople(at=at, people=list(rows)), RemovePeople(at=at + 4, to=Selection(ids=[5]))]
    scenario = Morning(embedder="hashing", days=1)
    return simulate(scenario, model=resident(), seed=1, interventions=changes, keep="nothing")


def test_residents_join_and_leave_while_the_town_lives() -> None:
    run = morning({"name": "Ada Bell"}, {"id": 77, "name": "Bo Crane", "home": "Mill Row 8", "wakes": 21_600})
    people = run.people()
    assert people.ids.to_list() == [*(who for who in range(25) if who != 5), 25, 77]
    assert people.person("Ada Bell").home and people.person("Bo Crane").home == "Mill Row 8"
    assert run.events.filter(kind="joined")["person"].to_list() == [25, 77] and run.events.filter(kind="left")[
        "person"
    ].to_list() == [5]
    assert run.events.filter(kind="planned").filter(person=77).height, "who joins wakes up and plans as everybody does"
    assert run.replay(verify=True).steps == run.steps


class Bench(Morning):
    """Somebody uses a thing and stands on the way to a closed door when they leave."""

    async def step(self) -> None:
        if self.t == 2:
            self.bench = int(self.town.objects()[0])
            self.using[5], self.closed[5] = self.bench, (10**6, "It was closed when you came.")
            self.set_state(self.bench, "in use", by=5)
        await super().step()
        if self.t == 4:
            self.event("bench", state=self.objects.state(self.bench), using=len(self.using), closed=len(self.closed))

    def length(self) -> int:
        return 4


def test_a_thing_is_free_again_when_its_user_leaves() -> None:
    change = [RemovePeople(at=3, to=Selection(ids=[5]))]
    run = simulate(Bench(embedder="hashing", days=1), model=resident(), seed=1, interventions=change)
    bench = Town.sallow_ferry()
    usual = Objects(bench).state(int(bench.objects()[0]))
    (data,) = run.events.filter(kind="bench")["data"].to_list()
    assert json.loads(data) == {"state": usual, "using": 0, "closed": 0}


class Bread(Morning):
    """Somebody hears of a place that they do not know."""

    async def step(self) -> None:
        before = set(self.known[3])
        await super().step()
        self.event("known", more=sorted(self.known[3] - before))

    def length(self) -> int:
        return 3


def test_people_know_a_place_from_an_announcement() -> None:
    unknown = "Glasshouse Nursery"
    change = [Announce(at=2, text=f"There is free bread at {unknown}.")]
    run = simulate(Bread(embedder="hashing", days=1), model=resident(), seed=1, interventions=change)
    assert [json.loads(data)["more"] for data in run.events.filter(kind="known")["data"]] == [[], [unknown], []]


def test_somebody_who_stays_up_past_midnight_lives_the_day_before() -> None:
    life = Party(days=2)
    life.town, life.row, life.sleeps = Town.sallow_ferry(), {0: 0}, np.array([DAY + 2 * HOUR])
    home = life.town.place("Larch Lane 4")
    life.routine = {0: [(9 * HOUR, home, "works"), (23 * HOUR, home, "sings"), (HOUR // 2, home, "reads")]}
    assert life.bedtime(0, DAY - HOUR) == life.bedtime(0, DAY + HOUR) == DAY + 2 * HOUR
    assert life.bedtime(0, DAY + 8 * HOUR) == 2 * DAY + 2 * HOUR
    doings = [[action.doing for action in by_routine(life, 0, now)] for now in (10 * HOUR, DAY + HOUR)]
    assert doings == [["working", "singing", "reading"], ["reading"]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"age": 30}, "has no name"),
        ({"name": "  "}, "has no name"),
        ({"name": "Ada Bell", "home": "nowhere"}, "no building named 'nowhere'"),
        ({"name": "Ada Bell", "home": "Kettle & Crumb"}, "cannot live"),
        ({"name": "Ada Bell", "workplace": "Moon"}, "no building named 'Moon'"),
        ({"name": "Ada Bell", "home_place": 99_999}, "home_place = 99999"),
        ({"name": "Ada Bell", "home_place": 3}, "no address as home"),
        ({"name": "Ada Bell", "wakes": 999_999}, "wakes = 999999"),
        ({"name": "Ada Bell", "wakes": 3600, "sleeps": 3600}, "wakes and goes to bed at the same time"),
        ({"name": "Ada Bell", "wakes": "07:00"}, "Somebody who is there has "),
        ({"name": "Ada Bell", "works": "Moon"}, "no.*column of the population.*Known: "),
        ({"name": "Dayo Okonjo"}, "two people are called"),
        ({"name": "dayo okonjo"}, "two people are called 'Dayo Okonjo' and 'dayo okonjo'"),
    ],
)
def test_a_resident_who_cannot_live_there_is_refused_with_the_reason(row: dict[str, Any], message: str) -> None:
    with pytest.raises(PopulaceError, match=message):
        morning(row, at=1)


@pytest.mark.parametrize(
    "settings",
    [
        {"play": "Odil Farrant"},
        {"interventions": [{"kind": "thing", "at": 20, "place": "Larch Lane 4 > kitchen > stoov", "state": "burning"}]},
        {"interventions": [{"kind": "thing", "at": 20, "place": "Larch Lane 4 > kitchen", "state": "burning"}]},
        {"interventions": [{"kind": "thing", "at": 20, "place": "stove", "state": "burning"}]},
    ],
)
def test_a_mistyped_name_is_refused_before_there_is_a_run(settings: dict[str, Any], tmp_path: Path) -> None:
    scenario = Village(embedder="hashing", until=24)
    with pytest.raises((UnknownNameError, WorldError)):
        simulate(scenario, model="scripted:cast", workspace=tmp_path, **settings)
    assert not list((tmp_path / "runs").iterdir())
    run = simulate(Village(embedder="hashing", until=3), model="scripted:cast", workspace=tmp_path)
    with pytest.raises((UnknownNameError, WorldError)):
        run.fork(at=2, **settings)
    assert [folder.name for folder in (tmp_path / "runs").iterdir()] == [run.name]
