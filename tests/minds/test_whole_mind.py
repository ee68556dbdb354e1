"""A mind is whole: what a person remembers stands in every question, in the run, in interviews and asked again."""

from typing import Any

import polars as pl
import pytest

from populace import Choice, People, Run, Scenario, Text, simulate
from populace.minds import Memory, Mind
from populace.models import HashingEmbedder

TEA = Choice("Tea or coffee?", options=("tea", "coffee"))
FACTS = {
    0: "You fed the heron on the quay.",
    1: "Bo told you: the ferry is late.",
    2: "You saw Cy repair the blue bicycle.",
}


class Remembering(Scenario):
    """Three people who each remember one thing."""

    def setup(self) -> People:
        self.mind = Mind("You are {name}.", memory=Memory(HashingEmbedder(64)), recalled=2)
        return People(pl.DataFrame({"name": ["Al", "Bo", "Cy"]}))

    def length(self) -> int:
        return 2

    async def step(self) -> None:
        if self.t == 1:
            await self.remember(self.people, list(FACTS.values()), kind="deed", importance=5)
        self.drinks = (await self.ask(self.people, TEA, given="The café is open.")).values


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return simulate(Remembering(), model="scripted:first", workspace=tmp_path_factory.mktemp("minds"))


def prompts(run: Run, step: int, person: int) -> str:
    decision = run.decisions(step, person)[0]
    return "\n".join(text for prompt in decision.prompts for text in (prompt["system"], prompt["user"]))


def test_a_question_of_a_scenario_with_a_memory_shows_what_comes_to_mind(run: Run) -> None:
    for person, fact in FACTS.items():
        text = prompts(run, 2, person)
        assert f"What comes to your mind:\n- {fact}\n\nThe café is open." in text
        assert not any(other in text for who, other in FACTS.items() if who != person)


def test_the_memories_are_recorded_by_id(run: Run) -> None:
    ids = dict(run.table("memories", 1).select("person", "memory").iter_rows())
    assert [run.decisions(2, person)[0].memories for person in FACTS] == [[ids[person]] for person in FACTS]


def test_an_interview_recalls_what_the_person_remembers_and_nothing_of_others(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = interview_prompts(run, monkeypatch)
    for person, fact in FACTS.items():
        assert fact in seen[person] and not any(other in seen[person] for who, other in FACTS.items() if who != person)


def test_an_interview_may_leave_kinds_of_memories_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(
        fact in text for text in interview_prompts(run, monkeypatch, kinds=["plan"]) for fact in FACTS.values()
    )
    assert not any(fact in text for text in interview_prompts(run, monkeypatch, about=None) for fact in FACTS.values())


def interview_prompts(run: Run, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[str]:
    from populace.engine.session import Session

    texts: list[str] = []
    decide = Session.decide

    async def watch(self: Session, inquiry: Any) -> Any:
        result = await decide(self, inquiry)
        texts.extend(result.prompts["user"].to_list())
        return result

    monkeypatch.setattr(Session, "decide", watch)
    run.at(2).interview(Text("What happened lately?"), **options)
    monkeypatch.undo()
    return texts


def test_a_question_without_anything_about_it_shows_no_memories() -> None:
    class Bare(Remembering):
        async def step(self) -> None:
            await self.remember(self.people, "You won the race.", kind="deed", importance=9)
            await self.ask(self.people, TEA, about=None)

    assert "race" not in prompts(simulate(Bare(), model="scripted:first", keep="nothing"), 1, 0)


def test_what_a_question_is_about_decides_what_comes_to_mind() -> None:
    class Choosy(Remembering):
        async def step(self) -> None:
            for text in FACTS.values():
                await self.remember(self.people, text, kind="observation", importance=5)
            self.mind.recalled = 1
            await self.ask(self.people, TEA, about=["heron quay", "ferry late", "blue bicycle"])

    run = simulate(Choosy(), model="scripted:first", keep="nothing")
    assert all(fact in prompts(run, 1, person) for person, fact in FACTS.items())


def test_a_decision_asked_again_shows_the_same_memories(run: Run) -> None:
    repeated = run.at(2).ask_again(1)
    assert repeated.lines == [] and FACTS[1] in repeated.repeated.prompts[0]["user"]


def test_people_without_a_memory_remember_nothing_and_nothing_fails() -> None:
    class Plain(Scenario):
        def setup(self) -> People:
            return People(pl.DataFrame({"name": ["Al"]}))

        def length(self) -> int:
            return 1

        async def step(self) -> None:
            await self.remember(self.people, "You sang.")
            await self.ask(self.people, TEA)

    assert "sang" not in prompts(simulate(Plain(), model="scripted:first", keep="nothing"), 1, 0)
