"""A day in Sallow Ferry by routine alone, without any model."""

from __future__ import annotations

import networkx as nx
import polars as pl
import pytest

from populace.worlds.town import Presence, Town, read_relations, read_residents, read_routines

MINUTE, DAY = 60, 24 * 60 * 60


@pytest.fixture(scope="module")
def meetings() -> tuple[Presence, pl.DataFrame]:
    """Everybody follows their routine; whom they notice, minute by minute."""
    town = Town.sallow_ferry()
    people, days = read_residents(town), read_routines(town)
    beds = people["bed_place"].to_numpy()
    orders = pl.concat(
        [
            days.select("person", "time", "place"),
            people.frame.select(person="id", time="sleeps", place="bed_place"),
        ]
    )
    presence = Presence(town, beds)
    seen = []
    for now in range(0, DAY + MINUTE, MINUTE):
        due = orders.filter((pl.col("time") > now - MINUTE) & (pl.col("time") <= now))
        presence.send(due["person"].to_numpy(), due["place"].to_numpy(), now)
        pairs = presence.pairs_in_sight(now)
        seen.append(pl.DataFrame({"time": now, "a": pairs.row, "b": pairs.other}))
    return presence, pl.concat(seen).filter(pl.col("a") < pl.col("b"))


def test_at_night_everybody_is_in_bed(meetings: tuple[Presence, pl.DataFrame]) -> None:
    presence, _ = meetings
    beds = read_residents(presence.town)["bed_place"].to_list()
    assert presence.at(DAY + 3600).place.tolist() == beds


def test_everybody_meets_somebody_from_outside_the_household(meetings: tuple[Presence, pl.DataFrame]) -> None:
    presence, seen = meetings
    home = read_residents(presence.town)["home_place"]
    pairs = seen.select("a", "b").unique()
    outside = pairs.filter(home.gather(pairs["a"].cast(pl.UInt32)) != home.gather(pairs["b"].cast(pl.UInt32)))
    assert pl.concat([outside["a"], outside["b"]]).n_unique() == 25


def test_a_day_of_meetings_could_carry_news_to_everybody(meetings: tuple[Presence, pl.DataFrame]) -> None:
    _, seen = meetings
    graph = nx.Graph(seen.select("a", "b").unique().rows())
    assert len(graph) == 25
    assert nx.is_connected(graph)


def test_most_meetings_of_a_minute_or_more_are_with_few_of_the_town(meetings: tuple[Presence, pl.DataFrame]) -> None:
    presence, seen = meetings
    minutes = seen.group_by("a", "b").agg(pl.len().alias("minutes"))
    assert minutes.filter(pl.col("minutes") >= 10).height / 300 < 0.5
    known = minutes.join(read_relations(presence.town), on=["a", "b"])
    assert known.height > 25
