"""News, maps and residents of one's own, and what is said of those that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from populace import Run, simulate
from populace.base.errors import ParameterError, PopulaceError, TemplateError, UnknownNameError, WorldError
from populace.experiments import Experiment
from populace.scenarios.party import Party
from populace.scenarios.party.event import NewsEvent
from populace.tools.scaffold import town_files

FAIR = {"name": "fair", "what": "spring fair", "place": "Osier Park", "day": 1, "begins": "14:00", "ends": "16:00"}


def by_rule(**parameters: Any) -> Run:
    always = {"talk_chance": 1.0, "pass_chance": 1.0, "attend_chance": 1.0}
    return simulate(Party(**always | parameters), decider="rule", seed=1, keep="nothing")


def test_any_news_travels(tmp_path: Path) -> None:
    file = tmp_path / "news.toml"
    file.write_text("[[event]]\n" + "\n".join(f"{key} = {value!r}" for key, value in FAIR.items()))
    run = by_rule(news=str(file), event_host="Colm Hennessy", days=1)
    last = run.metrics.row(-1, named=True)
    assert last["know"] > 3
    assert last["came"] > 1
    assert last["claims"] == 0
    title = Party.report(run)[0].title
    assert title == "Who was told of the spring fair, by whom"
    words = Party.report(run)[0].table["words"].to_list()
    assert words[0].startswith("You are planning this: spring fair at Osier Park on 13 February")
    assert "There is a spring fair at Osier Park on 13 February at 14:00. Do come!" in words[1]
    assert run.manifest.regime.parameters["news"][0]["what"] == "spring fair"


def test_two_events_are_followed_side_by_side() -> None:
    run = by_rule(news="party-and-election")
    last = run.metrics.row(-1, named=True)
    assert last["know"] == last["know_party"] > 3
    assert last["know_election"] > 3
    assert last["came_election"] is None
    hosts = [table.table["name"][0] for table in Party.report(run) if table.title.startswith("Who was told")]
    assert hosts == ["Odile Farrant", "Benedikt Aalto"]


def test_an_experiment_can_ask_for_the_metrics_of_each_event() -> None:
    plan = {"name": "two", "scenario": "party", "factors": {"told": [True, False]}, "decider": "rule", "replicates": 2}
    parameters = {"news": "party-and-election", "days": 1}
    Experiment(**plan, parameters=parameters, outcomes=["know_election"])
    with pytest.raises(UnknownNameError, match="know_election"):
        Experiment(**plan, parameters={"days": 1}, outcomes=["know_election"])


def test_the_host_is_told_what_they_mean_to_do_and_no_more() -> None:
    run = simulate(
        Party(embedder="hashing", days=1, plans=False), model="scripted:uniform", seed=1, keep="nothing", max_calls=5000
    )
    told = run.history("memories").filter(person=0, kind="thought")["text"].to_list()
    assert told == [
        "You are planning a Valentine's Day party at Kettle & Crumb on 14 February from 17:00 to 19:00, and you are "
        "asking people to come."
    ]


@pytest.mark.parametrize(
    ("what", "words"),
    [("Valentine's Day party", ("party", "valentine")), ("spring fair", ("fair",)), ("election", ("election",))],
)
def test_news_is_recognised_by_its_last_word_and_its_names(what: str, words: tuple[str, ...]) -> None:
    assert NewsEvent(name="x", what=what).key_words == words


def test_the_files_of_a_new_town_run(tmp_path: Path) -> None:
    names = {}
    for name, text in town_files("harbour").items():
        (tmp_path / name).write_text(text)
        names[name.split("_")[-1].removesuffix(".toml")] = str(tmp_path / name)
    files = {"map": names["map"], "residents_file": names["residents"], "news": names["news"]}
    run = by_rule(**files)
    assert run.metrics["know"][-1] > 1
    assert run.metrics["came"][-1] > 0
    for name in names.values():
        Path(name).unlink()
    # The run holds what it needs of the files.
    again = simulate(Party(**run.manifest.regime.parameters), decider="rule", seed=1, keep="nothing")
    assert again.events.equals(run.events)


MAP = """
[[street]]
points = [[0, 0], [100, 0]]
[[building]]
name = "Cottage"
kind = "home"
x = 10
y = 5
[[building]]
name = "Mill"
kind = "café"
x = 90
y = 5
"""
PERSON = """
[[resident]]
name = "{}"
age = 40
occupation = "baker"
home = "Cottage"
traits = ["calm"]
backstory = "Bakes."
wakes = "06:00"
sleeps = "22:00"
"""
PEOPLE = "".join(PERSON.format(name) for name in ("Ada Stone", "Ben Reed", "Cy Marsh"))
FAR_HOUSE = MAP + '[[building]]\nname = "Far House"\nkind = "home"\nx = 10\ny = 900\n'


def test_a_town_of_ones_own_needs_no_more_than_two_files(tmp_path: Path) -> None:
    run = by_rule(**_files(tmp_path, MAP, PEOPLE))
    assert run.people()["name"].to_list() == ["Ada Stone", "Ben Reed", "Cy Marsh"]


def _files(folder: Path, town: str, people: str) -> dict[str, str]:
    (folder / "map.toml").write_text(town)
    (folder / "people.toml").write_text(people)
    return {"map": str(folder / "map.toml"), "residents_file": str(folder / "people.toml")}


@pytest.mark.parametrize(
    ("town", "people", "parameters", "message"),
    [
        (FAR_HOUSE, PEOPLE, {}, "building 'Far House': it cannot be reached"),
        (MAP, PEOPLE + PERSON.format("Ada Stone"), {}, "2 residents are named 'Ada Stone'"),
        (MAP, PEOPLE.replace("Cottage", "Castle"), {}, "place for the home"),
        (MAP, PEOPLE, {"event_host": "Ada Stones"}, "resident to host the event 'party' named 'Ada Stones'"),
        (MAP, PEOPLE, {"event_place": "Castle"}, "place for the event 'party' named 'Castle'"),
        (MAP, PEOPLE, {"event_day": 9}, "is on day 9, and the run has 2 days"),
        (MAP, PEOPLE, {"event_day": 1, "event_begins": "01:00", "event_ends": "02:00"}, "the run begins at 05:00"),
        (MAP, PEOPLE, {"event_begins": "19:30"}, "begins at 19:30 and ends at 19:00"),
        (MAP, PEOPLE, {"residents": 7}, "has 3 residents, and residents is 7"),
        ("[[building]", PEOPLE, {}, "map.toml is not valid TOML"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_paragraph_before_a_run(
    tmp_path: Path, town: str, people: str, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(PopulaceError) as caught:
        Party(**_files(tmp_path, town, people), **parameters)
    assert message in caught.value.paragraph()
    assert caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"event_host": "Nobody"}, "resident to host the event 'party' named 'Nobody'"),
        ({"event_place": "Castle"}, "place for the event 'party' named 'Castle'"),
        ({"event_day": 7}, "is on day 7, and the run has 2 days"),
        ({"event_day": 7, "residents": 10}, "is on day 7, and the run has 2 days"),
        ({"event_begins": "5pm"}, "'5pm'"),
        ({"event_begins": "02:00", "event_ends": "03:00", "event_day": 2}, "Nobody could come in."),
        ({"event_what": "a"}, "no word to recognise it by"),
    ],
)
def test_a_wrong_parameter_of_the_event_is_named_before_a_run(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(PopulaceError) as caught:
        Party(**parameters)
    assert message in caught.value.paragraph()
    assert caught.value.hint


@pytest.mark.parametrize(
    ("news", "error", "message"),
    [
        ("nothing.toml", ParameterError, "there is no file of events nothing.toml"),
        ([], ParameterError, "there is no event"),
        ([{"what": "fair"}], ParameterError, "an event has no name"),
        ([FAIR | {"name": "Spring Fair"}], ParameterError, 'Write name = "spring_fair"'),
        ([FAIR | {"hosts": "Ada"}], UnknownNameError, "hosts"),
        ([FAIR, FAIR], ParameterError, "two events are named 'fair'"),
        ([FAIR | {"ends": None}], ParameterError, "has a part of a time"),
        ([FAIR | {"message": "Come to {where}!"}], UnknownNameError, "where"),
        ([FAIR | {"message": "Come to {what:300000000}!"}], TemplateError, "at most 1,000"),
        ([FAIR | {"message": "Come to {what.__class__}!"}], TemplateError, "one plain name"),
        ([FAIR | {"message": "Come to {what!"}], TemplateError, "not well formed"),
        ([FAIR | {"begins": "2pm"}], ParameterError, "begins"),
        ([FAIR | {"what": "a day"}], ParameterError, "no word to recognise it by"),
    ],
)
def test_news_that_cannot_be_read_is_refused(news: Any, error: type[PopulaceError], message: str) -> None:
    with pytest.raises(error, match=message):
        Party(news=news)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(WorldError, match="UTF-8"):
        Party(map=str(tmp_path / "map.toml"))


def test_nobody_has_failed_to_come_before_the_event() -> None:
    run = by_rule(days=1)
    tables = [table for table in Party.report(run) if "came" in table.table.columns]
    assert len(tables) == 2
    assert all(table.table.height and table.table["came"].null_count() == table.table.height for table in tables)
    assert "The run ended before the event." in tables[1].note
