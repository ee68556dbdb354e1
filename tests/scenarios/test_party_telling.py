"""What counts as being told: direct speech that says what is happening, and when or where."""

from __future__ import annotations

from datetime import date

import pytest

from populace.scenarios.party.diffusion import Diffusion
from populace.scenarios.party.event import NewsEvents
from populace.scenarios.party.occasion import find_occasions
from populace.scenarios.party.telling import TellingReader
from populace.worlds.town import Town, read_residents

HOUR, DAY = 3600, 86_400
FRIDAY = date(2026, 2, 13)
NOON, SATURDAY_NOON = 12 * HOUR, DAY + 12 * HOUR
RIGHT, WRONG = True, False


@pytest.fixture(scope="module")
def reader() -> TellingReader:
    town = Town.sallow_ferry()
    events = NewsEvents.model_validate("party").root
    return find_occasions(events, town, read_residents(town), first_day=FRIDAY, starts=5 * HOUR, days=2)[0].reader


WHAT = {"what": RIGHT}
WHEN = WHAT | {"when": RIGHT}
WHERE = WHAT | {"where": RIGHT}
ALL = WHEN | {"where": RIGHT}


@pytest.mark.parametrize(
    ("text", "facets"),
    [
        ("Come to my party at the Kettle & Crumb tomorrow at 17:00!", ALL),
        ("Come to my party at the Kettle and Crumb tomorrow!", ALL),
        ("I'm throwing a Valentine’s party at the Kettle on February 14th, five o'clock.", ALL),
        ("The Kettle & Crumb is where you should be tomorrow at 5 pm. I give a party.", ALL),
        ("There will be a party on Saturday.", WHEN),
        ("There will be a party on the 14th of February.", WHEN),
        ("A party! It is at five in the afternoon.", WHEN),
        ("We are having a party from 5pm to 7pm.", WHEN),
        ("Be there by 16:45, the party will be good.", WHEN),
        ("Odile is giving a party on Valentine's Day.", WHEN),
        ("Odile told me about the party in the café.", WHERE),
        ("Are you going to the parties at the cafe?", WHERE),
        ("Did you hear of the party?", WHAT),
        ("Odile plans a Valentine's Day party.", WHAT),
        ("The party is at 20:00.", WHAT | {"when": WRONG}),
        ("The party is at 5 in the morning.", WHAT | {"when": WRONG}),
        ("The party is tonight.", WHAT | {"when": WRONG}),
        ("The party is on 15 February at 17:00.", WHAT | {"when": WRONG}),
        ("The party is on Sunday.", WHAT | {"when": WRONG}),
        ("The party tomorrow was called off.", WHAT | {"when": WRONG}),
        ("The party is in Osier Park.", WHAT | {"where": WRONG}),
        ("The party is at the library tomorrow.", WHEN | {"where": WRONG}),
        ("I was in Osier Park today. Tomorrow is the party.", WHEN),
        ("Good day to you.", {}),
        ("It was partly cloudy at the Kettle & Crumb, and the department is closed.", {}),
        ("Tomorrow at 17:00 at the Kettle & Crumb.", {}),
    ],
)
def test_an_utterance_tells_what_it_says(reader: TellingReader, text: str, facets: dict[str, bool]) -> None:
    assert reader.read(text, NOON).facets == facets


@pytest.mark.parametrize(
    "text",
    [
        "I told Yevgenia Sorokina about the Valentine's Day party. I said: Come to the Kettle & Crumb tomorrow!",
        "I said: there is a party tomorrow at the Kettle & Crumb.",
        "I just told Colm about the party at the Kettle & Crumb tomorrow.",
        'Odile says: "Come to the party at the Kettle & Crumb tomorrow!"',
        "Odile Farrant told Colm about the party tomorrow.",
        "Earlier I said: come to the party tomorrow.",
    ],
)
def test_narration_tells_nothing(reader: TellingReader, text: str) -> None:
    assert not reader.read(text, NOON, speaker="Odile Farrant")


@pytest.mark.parametrize(
    "text",
    [
        "I told you about the party tomorrow, did I not?",
        "I told Colm everything. Do come to the party at the Kettle & Crumb!",
        "I say, come to the party tomorrow!",
        "Colm said that there is a party tomorrow.",
    ],
)
def test_speech_to_the_hearer_about_something_said_is_no_narration(reader: TellingReader, text: str) -> None:
    assert reader.read(text, NOON, speaker="Odile Farrant").facets["what"]


def test_what_the_hearer_has_said_tells_the_hearer_nothing(reader: TellingReader) -> None:
    words = "Come to my party at the Kettle & Crumb tomorrow!"
    assert not reader.read("Come to my party at the Kettle & Crumb tomorrow?", NOON, heard=[words])
    assert reader.read("Yes, the party begins at 17:00, and there will be cake.", NOON, heard=[words])


def test_today_means_the_day_on_which_it_is_said(reader: TellingReader) -> None:
    assert reader.read("The party is today.", SATURDAY_NOON).facets == WHEN
    assert reader.read("The party is tomorrow.", SATURDAY_NOON).facets == WHAT | {"when": WRONG}


@pytest.fixture
def news(reader: TellingReader) -> Diffusion:
    news = Diffusion(reader, hosts=frozenset("a"))
    news.tell("a", 0)
    return news


FULL = "There is a party at the Kettle & Crumb tomorrow."


def test_the_chain_of_evidence_leads_back_to_the_origin(news: Diffusion) -> None:
    news.add_utterance("a", ["b"], FULL, 1)
    news.add_utterance("b", ["c", "a"], FULL, 2)
    news.add_utterance("c", ["b"], FULL, 3)
    assert [news.chain(who) for who in "abc"] == [["a"], ["a", "b"], ["a", "b", "c"]]
    assert news.knows["c"].utterance == 1
    assert news.by_branch() == ["a", "b", "c"]


def test_who_is_told_a_part_does_not_know_until_the_rest_is_told(news: Diffusion) -> None:
    news.add_utterance("a", ["b"], "I am giving a party.", 1)
    assert (news.status("b"), list(news.knows)) == ("partial", ["a"])
    news.add_utterance("b", ["c"], "Odile is giving a party.", 2)
    assert (news.status("c"), news.chain("c")) == ("partial", ["a", "b", "c"])
    news.add_utterance("a", ["c"], FULL, 3)
    assert (news.status("c"), news.chain("c")) == ("full", ["a", "c"])
    assert [hearing.text for hearing in news.hearings["c"]] == ["Odile is giving a party.", FULL]


def test_a_wrong_version_travels_as_such_until_it_is_put_right(news: Diffusion) -> None:
    news.add_utterance("a", ["b"], "The party is in Osier Park.", 1)
    news.add_utterance("b", ["c"], "There is a party in Osier Park tomorrow.", 2)
    assert [news.status(who) for who in "bc"] == ["wrong", "wrong"]
    assert news.count("wrong") == 2
    news.add_utterance("a", ["b"], FULL, 3)
    assert news.status("b") == "full"
    news.add_utterance("c", ["b"], "The party is in Osier Park.", 4)
    assert news.status("b") == "full"


def test_a_claim_without_evidence_stays_a_claim(news: Diffusion) -> None:
    news.add_utterance("x", ["y"], FULL, 1)
    assert news.status("y") is None
    news.add_utterance("a", ["b"], "I am giving a party.", 2)
    # What b adds is right by chance: nobody told b where it is.
    news.add_utterance("b", ["c"], "There is a party at the Kettle & Crumb.", 3)
    assert news.status("c") == "partial"
    assert [claim.speaker for claim in news.claims] == ["x", "b"]


def test_the_time_may_follow_in_the_same_conversation(news: Diffusion) -> None:
    news.add_utterance("a", ["b"], "I am giving a party!", 60)
    news.add_utterance("b", ["a"], "Oh, when?", 60)
    news.add_utterance("a", ["b"], "Tomorrow at five.", 60)
    assert news.status("b") == "full"
    assert news.hearings["b"][-1].text == "Tomorrow at five."
    news.add_utterance("a", ["c"], "Tomorrow at five.", 120)
    assert news.status("c") is None


def test_an_announcement_tells_as_much_as_it_says(news: Diffusion) -> None:
    assert news.tell("b", 5, "There will be a party.")
    assert not news.tell("b", 6, "There will be a party.")
    assert news.tell("c", 5, "Town news. There will be a party at the Kettle & Crumb on 14 February.")
    assert not news.tell("d", 5, "The ferry is late.")
    assert [news.status(who) for who in "bcd"] == ["partial", "full", None]


def test_people_are_invited_in_words_that_speak_of_it_and_hosts_are_not(news: Diffusion) -> None:
    news.add_utterance("a", ["b"], "Would you like to come to my party tomorrow?", 1)
    news.add_utterance("a", ["c"], "I am giving a party tomorrow.", 2)
    news.add_utterance("b", ["a"], "Do come to the party tomorrow!", 3)
    assert list(news.invitations) == ["b"]
    assert news.invitations["b"].text == "Would you like to come to my party tomorrow?"
