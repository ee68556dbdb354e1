"""What the town page shows is what the journal holds."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from populace import Run, simulate
from populace.base.errors import UnknownNameError, UsageError, WorldError
from populace.journal.interventions import RemovePeople, Selection
from populace.scenarios.norms import Norms
from populace.scenarios.party import Party
from populace.scenarios.party.attendance import read_occasions
from populace.scenarios.party.report import diffusion_of
from populace.studio.pages.town.data import ABSENT, TownRun, town_map, town_of
from populace.studio.pages.town.frames import frames, positions, walks
from populace.studio.pages.town.heat import heat
from populace.studio.pages.town.talk import (
    all_news,
    follows_news,
    latest_speech,
    news,
    news_events,
    resident,
    speech,
    transcript,
)
from populace.worlds.town import Town
from support.society import resident as scripted


@pytest.fixture(scope="module")
def run() -> Run:
    party = Party(days=1, embedder="hashing", reflects=False, cooldown=30)
    return simulate(party, model=scripted(1.0, talks=0.9), seed=1, keep="nothing")


@pytest.fixture(scope="module")
def town(run: Run) -> TownRun:
    return TownRun(run)


@pytest.fixture(scope="module")
def made_up() -> TownRun:
    """A generated town, where people talk by a rule."""
    party = Party(residents=40, days=1)
    return TownRun(simulate(party, decider="rule", seed=3, keep="nothing"))


def test_the_map_is_the_one_of_the_world(town: TownRun) -> None:
    data = town_map(town)
    assert data["name"] == "Sallow Ferry"
    assert data["buildings"]["name"][0] == "Kettle & Crumb" and data["buildings"]["kind"][0] == "café"
    assert len(data["buildings"]["left"]) == len(Town.sallow_ferry().places.buildings)
    assert data["people"]["name"][0] == "Odile Farrant" and len(data["people"]["id"]) == 25
    left, bottom, right, top = data["bounds"]
    assert all(left <= x <= right for x in data["streets"]["x"]) and all(
        bottom <= y <= top for y in data["streets"]["y"]
    )
    json.dumps(data)


def test_a_made_up_town_is_made_again_from_parameters_and_seed(made_up: TownRun) -> None:
    seen = made_up.window(1, made_up.steps[-1])
    inside = seen.place >= 0
    assert np.allclose(made_up.town.places.x[seen.place[inside]], seen.x[inside])
    assert {made_up.town.address(int(place)) for place in seen.place[60][seen.place[60] >= 0]} <= set(
        made_up.run.people(61)["place"].to_list()
    )


def test_everybody_is_where_the_journal_says_at_every_step(town: TownRun, run: Run) -> None:
    recorded = run.history("positions")
    assert positions(town, 1, run.steps[-1]).select("step", "x", "y").equals(recorded.select("step", "x", "y"))
    film = frames(town, 40, 60)
    building = town.town.places.building
    for step, time, at in zip(film["steps"], film["times"], film["at"], strict=True):
        then = recorded.filter(pl.col("step") == step)
        assert then["time"].unique().to_list() == [time]
        assert at == [-1 if place < 0 else int(building[place]) - 1 for place in then["place"]]


def test_a_walk_begins_and_ends_where_people_were_recorded(town: TownRun, made_up: TownRun) -> None:
    for each in (town, made_up):
        made = walks(each, 1, each.steps[-1])
        assert len(made.row) > 20
        seen = each.window(1, each.steps[-1])
        step = made.step - 1
        lines = each.town.ways.paths(made.origin, made.goal)
        assert np.allclose(lines.x[:, 0], seen.x[step, made.row]) and np.allclose(lines.y[:, 0], seen.y[step, made.row])
        there = each.building(seen.place)[step + 1, made.row]
        assert (there == made.into).all()
        ends = np.where(there >= 0, each.town.doors.x[there], seen.x[step + 1, made.row])
        assert np.allclose(lines.x[:, -1], ends)
        assert (made.starts < made.ends).all() and (made.ends <= seen.times[step + 1]).all()


def test_a_walk_is_as_long_as_the_way_through_the_streets(made_up: TownRun) -> None:
    made = walks(made_up, 1, made_up.steps[-1])
    lines = made_up.town.ways.paths(made.origin, made.goal)
    drawn = np.hypot(np.diff(lines.x), np.diff(lines.y)).sum(axis=1)
    assert np.allclose(drawn, made_up.town.ways.metres(made.origin, made.goal))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.integers(1, 100), length=st.integers(0, 13))
def test_windows_put_together_are_the_whole_film(town: TownRun, first: int, length: int) -> None:
    last = first + length
    whole, parts = frames(town, first, last), [frames(town, step, step) for step in range(first, last + 1)]
    assert whole["at"] == [at for part in parts for at in part["at"]]
    for column in ("row", "starts", "ends", "x", "y"):
        assert whole["walks"][column] == [value for part in parts for value in part["walks"][column]]


def test_too_much_at_once_or_nothing_at_all_is_refused(town: TownRun) -> None:
    assert town.bounds(None, None) == (1, 114)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("populace.studio.pages.town.data.MAX_STEPS", 10)
        with pytest.raises(UsageError, match="too many at once"):
            town.bounds(1, 11)
    assert town.bounds(0, 5) == (1, 5)
    with pytest.raises(UsageError, match="no positions from step 500"):
        town.bounds(500, 600)


def test_presence_adds_up_to_the_time_of_everybody(town: TownRun, made_up: TownRun) -> None:
    for each, span in ((town, (1, 114)), (town, (40, 47)), (made_up, (1, 114)), (town, (9, 9))):
        found = heat(each, *span)
        hours = (span[1] - span[0]) * each.tick / 3600
        assert found.person_hours == pytest.approx(len(each.ids) * hours)
        spent = found.buildings["person_hours"].sum() + found.streets["person_hours"].sum()
        assert spent == pytest.approx(found.person_hours)
        assert found.table()["person_hours"].sum() == pytest.approx(found.person_hours)


def test_presence_is_hottest_where_people_were(town: TownRun, run: Run) -> None:
    found = heat(town, 44, 50)
    asked = run.history("positions").filter(pl.col("step").is_between(44, 49))
    counts = np.bincount(town.building(asked["place"].to_numpy()[asked["place"].to_numpy() >= 0]))
    assert found.buildings["person_hours"].arg_max() == int(counts.argmax())


def test_speech_is_what_the_events_hold_in_their_order(town: TownRun, run: Run) -> None:
    said = run.events.filter(pl.col("kind") == "said")
    data = [json.loads(row) for row in said["data"]]
    found = speech(town, 1, run.steps[-1])
    assert sorted(zip(found["row"], found["text"], found["time"], strict=True)) == sorted(
        (town.row[who], each["text"], each["at"]) for who, each in zip(said["person"], data, strict=True)
    )
    spoken = sorted(
        (town.row[who], [town.row[to] for to in each["to"]]) for who, each in zip(said["person"], data, strict=True)
    )
    assert sorted(zip(found["row"].to_list(), found["to"].to_list(), strict=True)) == spoken
    assert (found["time"] <= found["shown"]).all() and (found["until"] <= found["time"] + town.tick + 1e-6).all()
    assert (found["shown"] < found["until"]).all()


def test_two_who_talk_speak_one_after_the_other(town: TownRun) -> None:
    found = speech(town, 1, 114)
    pairs = found.with_columns(pair=pl.concat_list("row", pl.col("to").list.first()).list.sort())
    turns = (
        pairs.group_by("step", "pair", maintain_order=True)
        .agg("shown", "until", "row")
        .filter(pl.col("row").list.len() > 1)
    )
    assert turns.height
    for _, _, shown, until, rows in turns.iter_rows():
        assert all(end <= begin + 1e-6 for end, begin in zip(until, shown[1:], strict=False))
        assert all(one != next_ for one, next_ in pairwise(rows))


def test_the_transcript_ends_at_its_time_and_names_everybody(town: TownRun) -> None:
    every = speech(town, 1, 114)
    middle = float(every["shown"][every.height // 2])
    found = latest_speech(town, middle, 5)
    assert found.equals(every.filter(pl.col("shown") <= middle).tail(5))
    assert latest_speech(town, town.time_of(1), 5).height == 0
    named = transcript(town, 1, 114)
    assert named.height == every.height and named["to"][0] in town.names


def test_a_resident_has_the_place_doing_and_plan_of_the_time(town: TownRun, run: Run) -> None:
    step = 60
    person = resident(town, 2, town.time_of(step) + 30)
    row = run.people(step).person(town.ids[2])
    assert (person.place, person.doing, person.name) == (row.place, row.doing, row.name)
    planned = run.events.filter(pl.col("kind") == "planned", pl.col("person") == town.ids[2], pl.col("step") <= step)
    assert "; ".join(person.plan) == json.loads(planned["data"][-1])["plan"]
    assert resident(town, 2, 0).plan == []


def test_the_tree_of_the_news_is_that_of_the_scenario(town: TownRun, made_up: TownRun) -> None:
    for each in (town, made_up):
        spread = diffusion_of(each.run.events, read_occasions(each.run, Party)[1][0])
        found = news(each)
        assert found.height == len(spread.knows) > 2
        for node in found.iter_rows(named=True):
            heard = spread.knows[node["id"]]
            assert (node["time"], node["depth"]) == (heard.time, len(spread.chain(node["id"])) - 1)
            assert node["from_row"] == (None if heard.source is None else each.row[heard.source])
            assert ("party" in node["text"].lower()) == (heard.source is not None)
        place = {row: number for number, row in enumerate(found["row"])}
        sources = found.drop_nulls("from_row").select("row", "from_row").rows()
        assert all(place[source] < place[row] for row, source in sources)
    assert news(made_up)["depth"].max() > 2


def test_the_news_of_every_event_has_a_tree(tmp_path: Path) -> None:
    scenario = Party(embedder="hashing", days=1, news="party-and-election")
    two = TownRun(simulate(scenario, decider="rule", seed=1, workspace=tmp_path))
    assert news_events(two) == {"party": "Valentine's Day party", "election": "candidacy for mayor"}
    hosts = [news(two, event)["name"][0] for event in news_events(two)]
    assert len(set(hosts)) == 2 and news(two)["name"][0] == hosts[0]
    both = all_news(two)
    assert both.filter(pl.col("event") == "election")["name"].to_list() == news(two, "election")["name"].to_list()
    with pytest.raises(UnknownNameError, match="fair"):
        news(two, "fair")


def test_a_run_without_a_town_says_what_to_do() -> None:
    norms = simulate(Norms(workers=3, days=1), decider="rule", keep="nothing")
    with pytest.raises(UsageError, match="norms, which has no town") as caught:
        TownRun(norms)
    assert "populace run party" in str(caught.value)


def test_a_map_that_is_not_the_one_of_the_run_is_noticed(run: Run) -> None:
    other = TownRun(run)
    other.town = Town.generate(60, 1)
    with pytest.raises(WorldError, match="another map"):
        other.window(50, 50)


def test_a_town_is_kept_while_its_run_goes_on(tmp_path: Path) -> None:
    party = Party(residents=12, days=1)
    made = simulate(party, decider="rule", seed=3, workspace=tmp_path)
    first = town_of(Run.open(made.folder))
    first.window(1, 3)
    again = town_of(Run.open(made.folder))
    assert again is first and follows_news(again)


def test_people_who_left_are_nowhere_on_the_map(tmp_path: Path) -> None:
    party = Party(residents=8, days=1)
    whole = simulate(party, decider="rule", seed=3, workspace=tmp_path)
    first = whole.people(0).ids[0]
    fork = whole.fork(at=40, interventions=[RemovePeople(at=40, to=Selection(ids=[first]))])
    town = TownRun(fork)
    row, last = town.row[first], town.steps[-1]
    film = frames(town, 38, 44)
    assert [places[row] for places in film["at"]][-1] == ABSENT and film["at"][0][row] != ABSENT
    gone = [step for step, places in zip(film["steps"], film["at"], strict=True) if places[row] == ABSENT]
    assert not {(step, row) for step in gone} & set(zip(film["outside"]["step"], film["outside"]["row"], strict=True))
    assert not {(step, row) for step in gone} & set(zip(film["walks"]["step"], film["walks"]["row"], strict=True))
    table = positions(town, 38, 44)
    assert first not in table.filter(pl.col("step").is_in(gone))["person"]
    assert np.isfinite(table["x"].to_numpy()).all()
    presence = heat(town, gone[0], last)
    hours = (town.time_of(last) - town.time_of(gone[0])) / 3600
    assert presence.person_hours == pytest.approx(7 * hours)
    assert presence.buildings["person_hours"].sum() + presence.streets["person_hours"].sum() == pytest.approx(7 * hours)
    assert not resident(town, row, town.time_of(last)).present
    assert resident(town, row, town.time_of(38)).present
    json.dumps(film, allow_nan=False)
