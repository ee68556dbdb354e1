from __future__ import annotations

from typing import Any

import pytest

from populace import AddPeople, RemovePeople, Run, Selection, simulate
from populace.base.errors import PopulaceError
from populace.scenarios.party import Party
from support.society import resident


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
        ({"name": "Dayo Okonjo"}, "two people are called"),
    ],
)
def test_a_resident_who_cannot_live_there_is_refused_with_the_reason(row: dict[str, Any], message: str) -> None:
    with pytest.raises(PopulaceError, match=message):
        morning(row, at=1)
