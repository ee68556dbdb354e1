"""People who live in a town: what they remember, notice and react to, how they plan, and what they know."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import populace
from populace import Run, Text, simulate
from populace.base.errors import WorldError
from populace.models import HashingEmbedder, Request, Scripted
from populace.models.cast import Cast
from populace.scenarios.party import Party
from populace.scenarios.townlife import BEGINS, TICK
from populace.scenarios.townlife.report import speech_faults
from support.society import CLOSINGS, OPENINGS, day_plan
from support.village import ODILE, STOVE, WREN, Village, events, village, villager


def step_at(clock: str, day: int = 1) -> int:
    hours, minutes = clock.split(":")
    return ((day - 1) * 86_400 + int(hours) * 3600 + int(minutes) * 60 - BEGINS) // TICK


def memories(run: Run, person: int | None = None) -> pl.DataFrame:
    table = run.history("memories")
    return table if person is None else table.filter(pl.col("person") == person)


# What is remembered


def test_deeds_observations_hearings_speech_and_plans_are_told_apart() -> None:
    run = village(until=step_at("16:00"), residents=6, reacts=False)
    by_kind = dict(memories(run).group_by("kind").agg("text").iter_rows())
    assert set(by_kind) >= {"deed", "observation", "hearing", "speech", "plan"}
    assert all(text.startswith("You were ") for text in by_kind["deed"])
    assert all(re.match(r".+ was .+\.$", text) for text in by_kind["observation"])
    assert all(re.match(r'.+ told you: ".+"$', text, re.DOTALL) for text in by_kind["hearing"])
    assert all(text.startswith("You told ") for text in by_kind["speech"])
    assert all(text.startswith("You planned for ") for text in by_kind["plan"])


def test_what_is_seen_ten_times_is_one_memory() -> None:
    run = village(until=step_at("12:00"))
    observations = memories(run).filter(pl.col("kind") == "observation")
    assert observations.height == observations.unique(["person", "text"]).height > 0


FACTS = {
    (ODILE, "hearing"): 'Brannoc told you: "The quinzle was sold."',
    (ODILE, "deed"): "You were repairing the vorpel at home.",
    (ODILE, "observation"): "Wren was hiding the snark at home.",
    (WREN, "hearing"): 'Tamsin told you: "The mimsy is locked."',
    (WREN, "deed"): "You were painting the borogove at home.",
    (WREN, "observation"): "Odile was burying the tulgey at home.",
}


class Planted(Village):
    """People to whom something happened before breakfast."""

    async def step(self) -> None:
        await super().step()
        if self.t == step_at("06:30"):
            for (who, kind), text in FACTS.items():
                await self.remember(self.people.take([who]), text, kind=kind)


def test_asked_about_what_they_were_told_did_and_saw_people_recall_it_and_nothing_that_they_cannot_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from populace.engine.session import Session

    run = village(scenario=Planted, until=step_at("16:00"), keep="run", workspace=tmp_path)
    prompts: list[tuple[int, str]] = []
    decide = Session.decide

    async def watch(self: Session, inquiry: Any) -> Any:
        result = await decide(self, inquiry)
        texts = result.prompts["user"].to_list()
        prompts.extend(zip(inquiry.people.ids.to_list(), texts, strict=True))
        return result

    monkeypatch.setattr(Session, "decide", watch)
    for question in (
        "What did Brannoc say about the quinzle?", "Did you repair the vorpel?", "Who was hiding the snark at home?",
        "What did Tamsin say about the mimsy?", "Did you paint the borogove?", "Who was burying the tulgey at home?",
    ):  # fmt: skip
        run.at(run.steps[-1]).interview(Text(question))
    monkeypatch.undo()
    recalled = {(who, fact) for who, text in prompts for fact in FACTS.values() if fact in text}
    assert recalled == {(who, fact) for (who, _), fact in FACTS.items()}


# Noticing and reacting


class Kitchen(Village):
    """The stove in the kitchen changes while people have breakfast there."""

    async def step(self) -> None:
        if self.t == step_at("06:10"):
            kitchen = self.town.place("Larch Lane 4 > kitchen")
            self.presence.send([self.row[ODILE]], [kitchen], self.seconds)
        if self.t == step_at("06:30"):
            self.change_thing(STOVE, "burning")
        await super().step()


def fleeing(text: str) -> list[dict[str, str]]:
    rows = day_plan(text)
    return [rows[0] | {"doing": "run for the fire brigade"}, *rows[1:]] if "burning" in text else rows


def test_a_burning_stove_is_noticed_at_once_and_the_plan_changes_from_there_only() -> None:
    reacting = village(villager(alarms=("burning",), plan=fleeing), scenario=Kitchen, until=step_at("09:00"))
    calm = village(villager(), scenario=Kitchen, until=step_at("09:00"))
    (reaction, *_) = events(reacting, "reacted", person=ODILE)
    seen = memories(reacting, ODILE).filter(pl.col("text").str.contains("stove .* is burning"))
    assert reaction["step"] == seen["step"][0] == step_at("06:30")
    (plan,) = [event for event in events(reacting, "planned", person=ODILE) if event["step"] == reaction["step"]]
    assert plan["begins"] == plan["at"] and "running for the fire brigade" in plan["plan"]
    before = pl.col("step") < reaction["step"]
    assert reacting.events.filter(before).equals(calm.events.filter(before))
    assert not events(calm, "reacted")
    done = [event["doing"] for event in events(reacting, "did", person=ODILE) if event["at"] <= reaction["at"]]
    assert done == [event["doing"] for event in events(calm, "did", person=ODILE) if event["at"] <= reaction["at"]]


def test_who_comes_to_a_closed_door_notices_it_and_may_plan_anew() -> None:
    class Knowing(Village):
        """People who know every place."""

        def learn_home(self, who: Any) -> None:
            super().learn_home(who)
            self.known[who] |= set(self.public)

    library = shops()[0]

    def plan(text: str) -> list[dict[str, str]]:
        rows = day_plan(text)
        return rows if "closed" in text else [rows[0] | {"where": library}, *rows[1:]]

    run = village(villager(alarms=("closed",), plan=plan), scenario=Knowing, until=step_at("08:00"), residents=1)
    (reaction,) = events(run, "reacted")
    assert reaction["to"] == f"{library} was closed when you came."
    assert memories(run, ODILE).filter(pl.col("text") == reaction["to"])["step"].to_list() == [reaction["step"]]


def shops() -> list[str]:
    """The places of Sallow Ferry that are closed at six in the morning."""
    from populace.worlds.town import Town

    town = Town.sallow_ferry()
    public = [b for b in town.places.buildings.tolist() if town.places.kind[b] not in ("home", None)]
    return [
        town.address(b) for b in public if not bool(town.open(b, 6 * 3600)[0]) and town.address(b) != "Kettle & Crumb"
    ]


def test_an_insult_is_reacted_to_within_the_step_by_the_one_who_was_insulted() -> None:
    def says(prompt: str) -> str:
        return "You are an idiot, and everybody knows it." if "You are Wren" in prompt else "Good morning to you, dear."

    run = village(villager(alarms=("idiot",), says=says), until=step_at("08:00"))
    reactions = events(run, "reacted")
    insults = [event for event in events(run, "said") if "idiot" in event["text"]]
    assert {event["person"] for event in reactions} == {ODILE}
    assert reactions[0]["step"] == insults[0]["step"]


def test_nobody_reacts_where_reactions_are_off() -> None:
    run = village(villager(alarms=("burning",)), scenario=Kitchen, until=step_at("08:00"), reacts=False)
    assert not events(run, "reacted")
    assert "whether to react" not in run.usage().purposes


def test_a_thing_must_be_one() -> None:
    class Wrong(Village):
        async def step(self) -> None:
            self.change_thing("Larch Lane 4", "burning")

    with pytest.raises(WorldError, match="is not a thing"):
        village(scenario=Wrong, until=1)


# Nothing knows what a study is about


class Blind(Village):
    """A village whose embedder cannot tell one word from another."""

    def open_embedder(self, name: str) -> Any:
        class Same(HashingEmbedder):
            def embed(self, texts: Any) -> Any:
                return super().embed([text.replace("zorble", "party") for text in texts])

        return Same(64)


def speaking(word: str) -> Scripted:
    """The cast, which takes the word for the other one."""
    cast = Cast()

    def reply(request: Request) -> Any:
        messages = tuple((role, text.replace(word, "party")) for role, text in request.messages)
        answer = cast(request._replace(messages=messages))
        return answer.replace("party", word) if isinstance(answer, str) else answer

    return Scripted(reply, spec="scripted:speaking")


@pytest.mark.parametrize("importance", ["model", "rule"])
def test_the_same_town_with_a_nonsense_word_gives_the_same_calls_plans_and_importance(importance: str) -> None:
    told = "You want to give a {} at Kettle & Crumb on 13 February from 14:00 to 15:00."
    runs = [
        village(
            speaking(word), scenario=Blind, told=told.format(word), residents=6, until=step_at("13:00"),
            importance=importance,
        )
        for word in ("party", "zorble")
    ]  # fmt: skip
    party, other = runs
    assert any("party" in event["text"] for event in events(party, "said"))
    for read in (lambda run: run.answers(), lambda run: run.events, lambda run: run.history("memories"),
                 lambda run: run.prompts().select("step", "system", "user", "status")):  # fmt: skip
        assert read(other).equals(in_other_words(read(party)))
    assert party.usage().purposes == other.usage().purposes


def in_other_words(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col(pl.String).str.replace_all("party", "zorble"))


TOPIC = re.compile(r"\b(part(y|ies)|invit\w*|valentine\w*|gossip|rumou?rs?|elections?|news)\b", re.IGNORECASE)


def test_no_word_of_a_study_stands_in_what_people_notice_rate_plan_or_say() -> None:
    source = Path(populace.__file__).parent
    folders = [source / "minds", source / "scenarios" / "townlife", source / "worlds" / "town"]
    files = [file for folder in folders for file in sorted(folder.rglob("*")) if file.suffix in (".py", ".toml")]
    files.append(source / "questions" / "speech.py")
    assert len(files) > 30
    found = {file.name: TOPIC.findall(file.read_text(encoding="utf-8")) for file in files}
    assert {name: words for name, words in found.items() if words} == {}


# Planning


@pytest.mark.parametrize(
    ("levels", "purposes"),
    [
        ({"plans": False}, set()),
        ({}, {"planning: day"}),
        ({"hours": True}, {"planning: day", "planning: hours"}),
        ({"finer": True}, {"planning: day", "planning: minutes"}),
        ({"hours": True, "finer": True}, {"planning: day", "planning: hours", "planning: minutes"}),
    ],
)
def test_each_level_of_planning_can_be_left_out(levels: dict[str, bool], purposes: set[str]) -> None:
    run = village(until=step_at("10:00"), residents=1, **levels)
    assert {purpose for purpose in run.usage().purposes if purpose.startswith("planning")} == purposes


def test_a_plan_without_sense_leaves_people_to_their_routine() -> None:
    run = village(
        villager(plan=lambda text: [{"at": "21:00", "where": "home", "doing": "sit"}]), until=step_at("08:00")
    )
    assert {event["by"] for event in events(run, "planned")} == {"routine"}
    assert set(run.usage().purposes) >= {"planning: day", "planning: day again"}


# What people know of the town and of each other


def test_people_know_the_places_of_their_day_and_learn_others_by_name() -> None:
    def says(prompt: str) -> str:
        return "You should go to the Osier Park once." if "You are Wren" in prompt else "Is that so, and where is it?"

    places = []

    class Watching(Village):
        async def step(self) -> None:
            await super().step()
            places.append({who: set(known) for who, known in self.known.items()})

    village(villager(says=says), scenario=Watching, until=step_at("08:00"))
    assert "Osier Park" not in places[0][ODILE]
    assert "Osier Park" in places[-1][ODILE]
    assert not set(shops()) <= places[-1][ODILE]


def test_what_is_between_two_people_enters_their_conversation() -> None:
    def says(prompt: str) -> str:
        number = zlib.crc32(prompt.encode())
        return f"{OPENINGS[number % 8]} {CLOSINGS[number // 8 % 8]}"

    run = village(villager(says=says), until=step_at("14:00"), residents=6, cooldown=30, reacts=False, reflects=False)
    assert run.answers().filter(pl.col("purpose") == "relationship").height
    spoken = [user for user in run.prompts()["user"] if "next line that you say" in user]
    # What a scripted villager says of somebody with whom they have talked before.
    assert any(re.search(r"You and .+ know each other: It is as it is\.", user) for user in spoken)


# Cost


def calls_a_day(**levels: bool) -> tuple[float, dict[str, int]]:
    run = simulate(Party(embedder="hashing", days=1, **levels), model="scripted:cast", seed=1, keep="nothing")
    return run.usage().calls / 25, dict(run.usage().purposes)


def test_a_waking_day_takes_at_most_35_calls_a_person_and_60_with_finer_plans() -> None:
    plain, purposes = calls_a_day()
    assert plain <= 35, purposes
    whole, purposes = calls_a_day(hours=True, finer=True)
    assert whole <= 60, purposes
    assert set(purposes) >= {
        "planning: day", "planning: hours", "planning: minutes", "importance", "whether to talk", "dialogue",
        "dialogue: whether to answer",
    }  # fmt: skip


# A run repeats


EVENTFUL: dict[str, Any] = {
    "scenario": Kitchen,
    "residents": 5,
    "hours": True,
    "until": step_at("10:00"),
    "interventions": [
        {"kind": "add", "at": step_at("07:00"), "people": [{"name": "Ada Bell", "home": "Larch Lane 4"}]}
    ],
}


def test_a_town_with_reactions_things_and_newcomers_is_the_same_for_any_concurrency() -> None:
    one, many = (village(concurrency=concurrency, **EVENTFUL) for concurrency in (1, 64))
    assert events(one, "reacted")
    assert one.events.equals(many.events)
    assert one.answers().equals(many.answers())
    assert one.history("memories").equals(many.history("memories"))


def test_a_town_with_reactions_things_and_newcomers_is_replayed_and_forked(tmp_path: Path) -> None:
    run = village(keep="run", workspace=tmp_path, **EVENTFUL)
    run.replay(verify=True)
    fork = run.fork(at=step_at("08:00"), seed=2)
    shared = pl.col("step") <= step_at("08:00")
    assert fork.events.filter(shared).equals(run.events.filter(shared))
    assert len(fork.people()) == 6


# The words of a run are counted


def test_the_report_counts_faults_of_speech_time_without_activity_and_invalid_answers() -> None:
    lines = iter(
        [
            'I told her: "Hello."',
            "Good morning, dear, did you sleep well?",
            "Good morning, dear, did you sleep well?",
            "Is there any milk left?",
        ]
    )

    def says(prompt: str) -> str:
        return next(lines, "The bread is in the oven now, mother.")

    run = village(villager(says=says), until=step_at("07:30"))
    table = {row["fault"]: row for row in speech_faults(run).to_dicts()}
    assert [table[fault]["refused replies"] for fault in ("narration", "echo", "any")] == [1, 1, 2]
    assert [table[fault]["first replies"] for fault in ("narration", "echo", "any")] == [1, 1, 2]
    assert table["any"]["said"] == 0
    titles = {each.title: each.table for each in Village.report(run)}
    assert set(titles) == {"Faults of speech", "How time was spent", "Invalid answers by purpose"}
    spent = dict(titles["How time was spent"].select("what", "share").iter_rows())
    assert spent["of these from then to bedtime"] == 1.0
    assert spent["of them with a valid plan"] == 1.0
    assert titles["Invalid answers by purpose"].filter(purpose="planning: day")["invalid"].to_list() == [0]


def test_an_interview_says_what_time_it_is_where_somebody_is_and_what_they_are_doing() -> None:
    run = village(until=26, residents=1)
    prompts: list[str] = []

    def spy(request: Request) -> str:
        prompts.append(request.messages[-1][1])
        return "I am well."

    for step in (1, 26):
        run.at(step).interview(Text("What are you doing?"), people=ODILE, model=Scripted(spy, spec="scripted:spy"))
    assert "It is 05:10 on 13 February. You are at home, in bed.\n" in prompts[0]
    doing = run.people()["doing"][0]
    assert f"It is 09:20 on 13 February. You are at Kettle & Crumb, {doing}.\n" in prompts[1]
    with run.at(26).conversation(ODILE, model=Scripted(spy, spec="scripted:spy")) as talk:
        talk.ask("Hello?")
    assert f"{doing}.\nSomebody talks with you." in prompts[2]
