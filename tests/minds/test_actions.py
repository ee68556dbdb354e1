"""People choose from a typed set of actions; arguments are checked, and the world carries out or refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import pydantic
import pytest

from populace import AddPeople, Field, Memory, Mind, People, RemovePeople, Run, Scenario, Selection, simulate
from populace.base.errors import ActionRefusedError, ParameterError, WorldError
from populace.deciders import DeskQuestion, FunctionDesk
from populace.minds import ActionOutcome, Actions, Acts, Among, BaseAction, Give, Move, Post, Speak, Use
from populace.models import HashingEmbedder, Request, Scripted
from populace.worlds.surroundings import Surroundings


class Sign(BaseAction):
    """Put up a sign."""

    size: Literal["small", "large"] = Field(description="How large?")
    lit: bool = Field(description="With a light?")
    words: str = Field(min_length=3, description="What stands on it?")
    height: int = Field(ge=1, le=5, description="How high?")


class Village(Surroundings):
    def sign(self, who: int, size: str, lit: bool, words: str, height: int) -> str:
        if size == "large":
            raise ActionRefusedError("large signs are forbidden.")
        return f"You put up a sign: {words}"


class Square(Scenario):
    """Three people act once in each step; Ann carries an apple, a stove stands on the square."""

    steps: int = 1
    remembers: bool = False
    kinds: str = "speak move use give post"

    def setup(self) -> People:
        people = People(pl.DataFrame({"id": [0, 1, 2], "name": ["Ann", "Bo", "Cy"]}))
        self.world = Village(people, ["square", "harbour"], things={"apple": "Ann", "stove": "square"})
        known = {kind.title(): kind for kind in (Speak, Move, Use, Give, Post, Sign)}
        actions = Actions([known[name] for name in self.kinds.split()], self.world)
        self.mind = Mind(
            "You are {name}.", memory=Memory(HashingEmbedder(64)) if self.remembers else None, actions=actions
        )
        return people.with_columns(mood=["calm", "glad", "sad"])

    async def step(self) -> None:
        assert self.mind.actions is not None
        self.acts: Acts = await self.mind.actions.take(
            self, self.people, given="You are {feeling}.", feeling=self.people["mood"]
        )
        self.people["mood"] = self.acts.frame["status"]
        self.tables["things"] = self.world.things
        self.tables["acts"] = self.acts.frame


def player(*lines: str) -> Scripted:
    """A model that answers each person with their own word, and everything else with the line that fits."""
    answers = [line.split(": ", 1) for line in lines]

    def reply(request: Request) -> dict[str, float] | str:
        prompt = "\n".join(text for _, text in request.messages)
        value = next((value for key, value in answers if all(part in prompt for part in key.split(" + "))), "")
        return {option: float(option == value) for option in request.options} if request.top else value

    return Scripted(reply, spec="scripted:player")


def play(*lines: str, **parameters: Any) -> Run:
    return simulate(Square(**parameters), model=player(*lines), seed=1, keep="nothing")


def acts(run: Run, step: int = 1) -> dict[int, tuple[str | None, str, str]]:
    table = run.record.table(step, "tables/acts")
    assert table is not None
    return {who: tuple(rest) for who, *rest in table.rows()}


def test_people_do_what_they_choose() -> None:
    run = play(
        "Ann + What do you do: give", "Ann + To whom: Bo",
        "Bo + What do you do: use", "Bo + In what state: hot",
        "Cy + What do you do: move",
    )  # fmt: skip
    assert acts(run) == {
        0: ("give Bo the apple", "done", ""),
        1: ("use the stove", "done", ""),
        2: ("go to harbour", "done", ""),
    }
    things = run.record.table(1, "tables/things")
    assert things is not None and things.rows() == [("apple", "Bo", None), ("stove", "square", "hot")]
    data = json.loads(run.events.filter(kind="acted", person=0)["data"][0])
    assert data == {"action": "give", "arguments": {"to": "Bo", "thing": "apple"}, "text": "You gave Bo the apple."}
    assert run.replay(verify=True).steps == run.steps


def test_only_what_is_possible_is_offered_and_fields_reach_each_person() -> None:
    run = play("What do you do: wait")
    offered = {row["user"].split("\n")[0]: "- give" in row["user"] for row in run.prompts(at=1).iter_rows(named=True)}
    assert offered == {"You are calm.": True, "You are glad.": False, "You are sad.": False}
    assert acts(run)[1] == ("wait", "done", "") and not run.events.height


def test_what_is_impossible_by_then_is_refused_recorded_and_remembered() -> None:
    # Ann gives to Bo, who leaves at the same moment; who comes first is drawn, so both orders are tried.
    lines = (
        "Ann + What do you do: give",
        "Ann + To whom: Bo",
        "Bo + What do you do: move",
        "Cy + What do you do: wait",
    )
    runs = [simulate(Square(remembers=True), model=player(*lines), seed=seed, keep="nothing") for seed in range(6)]
    seen = {acts(run)[0][1:] for run in runs}
    assert seen == {("done", ""), ("refused", "Bo is not here.")}
    late = next(run for run in runs if acts(run)[0][1] == "refused")
    (event,) = late.events.filter(kind="refused").to_dicts()
    assert json.loads(event["data"])["reason"] == "Bo is not here."
    memories = late.record.table(1, "tables/memories")
    assert memories is not None
    assert memories.filter(person=0).select("kind", "text").rows() == [
        ("deed", "You wanted to give Bo the apple, but could not: Bo is not here.")
    ]


def test_others_remember_what_they_hear_and_see() -> None:
    run = play("Ann + What do you do: speak", "Ann + To whom: Bo", "Ann + What do you say: Hello!",
               "Bo + What do you do: use", "Bo + In what state: hot", "Cy + What do you do: post",
               "Cy + What do you write: Lost cat.", remembers=True)  # fmt: skip
    memories = run.record.table(1, "tables/memories")
    assert memories is not None
    assert set(memories.select("person", "kind", "text").rows()) == {
        (0, "speech", 'You told Bo: "Hello!"'),
        (1, "hearing", 'Ann told you: "Hello!"'),
        (1, "deed", "You used the stove, which is now hot."),
        (0, "observation", "Bo used the stove, which is now hot."),
        (2, "observation", "Bo used the stove, which is now hot."),
        (2, "speech", 'You wrote on the board: "Lost cat."'),
    }


@pytest.mark.parametrize(
    ("form", "result"),
    [
        ('{"words": "Fish", "height": 2}', ("sign size small, lit yes, words Fish, height 2", "done", "")),
        ('{"words": "Fish", "height": 9}', (None, "invalid", "the answer to “Say how.” is unparseable.")),
        ('{"words": "Fish"}', (None, "invalid", "the answer to “Say how.” is unparseable.")),
        ("I would rather not.", (None, "invalid", "the answer to “Say how.” is unparseable.")),
    ],
)
def test_arguments_are_checked(form: str, result: tuple[str | None, str, str]) -> None:
    run = play("What do you do: sign", "How large?: small", "With a light?: yes", f"Say how.: {form}", kinds="sign")
    assert acts(run)[0] == result
    assert run.events.filter(kind="refused").height == (0 if result[1] == "done" else 3)


def test_an_argument_that_its_own_check_refuses_is_invalid() -> None:
    long = "x" * 3000
    run = play("What do you do: post", f"What do you write: {long}")
    assert acts(run)[0][1] == "invalid" and "text" in acts(run)[0][2]


def test_a_refusal_of_the_world_is_no_invalid_answer() -> None:
    run = play("What do you do: sign", "How large?: large", "With a light?: no",
               'Say how.: {"words": "Fish", "height": 2}', kinds="sign")  # fmt: skip
    assert {each[1:] for each in acts(run).values()} == {("refused", "large signs are forbidden.")}
    assert dict(run.statuses) == {"ok": 12}


def test_a_played_person_chooses_and_is_shown_what_is_possible(tmp_path: Path) -> None:
    questions: list[DeskQuestion] = []

    def answer(question: DeskQuestion) -> str:
        questions.append(question)
        return question.options[-1] if question.options else "Hello."

    run = simulate(
        Square(kinds="speak"),
        model=player("What do you do: wait"),
        play="Cy",
        desk=FunctionDesk(answer),
        workspace=tmp_path,
    )
    assert [each.options for each in questions] == [("speak", "wait")]
    assert acts(run)[2] == ("wait", "done", "")


class Blank:
    """A world that offers the wrong things."""

    def __init__(self, lists: list[list[str]]) -> None:
        self.lists = lists

    def options(self, what: str, ids: pl.Series) -> pl.Series:
        return pl.Series(self.lists, dtype=pl.List(pl.String))

    def hug(self, who: int, to: str) -> int:
        return 3


class Hug(BaseAction):
    """Hug somebody."""

    to: Annotated[str, Among("people")]


def test_a_world_that_cannot_carry_out_an_action_is_refused_at_once() -> None:
    with pytest.raises(ParameterError, match="Blank cannot carry out Give"):
        Actions([Give], Blank([]))
    with pytest.raises(ParameterError, match="names of their own"):
        Actions([Hug, Hug], Blank([]))


def test_a_world_with_the_wrong_options_is_named() -> None:
    people = People(pl.DataFrame({"id": [0, 1]}))
    with pytest.raises(WorldError, match="gave 1 lists for 2 people"):
        Actions([Hug], Blank([["Ann"]])).possible(people)
    with pytest.raises(WorldError, match="offers 600 things"):
        Actions([Hug], Blank([[str(i) for i in range(600)]] * 2)).possible(people)
    with pytest.raises(WorldError, match="returned int"):
        Actions([Hug], Blank([["Ann"]]))._perform(Hug(to="Ann"), 0)


def test_an_action_cannot_hold_what_it_does_not_know() -> None:
    with pytest.raises(pydantic.ValidationError):
        Give(to="Ann", thing="apple", price=3)  # type: ignore[call-arg]
    assert ActionOutcome().text == ""


class Fair(Square):
    """The square, where people come and go."""

    steps: int = 3

    async def step(self) -> None:
        self.world.change_people(self.people)
        self.people["mood"] = self.people["mood"].fill_null("new")
        await super().step()


def test_a_run_with_actions_and_people_who_come_and_go_repeats_whatever_the_concurrency(tmp_path: Path) -> None:
    changes = [AddPeople(at=2, people=[{"name": "Di"}]), RemovePeople(at=3, to=Selection(ids=[0]))]
    runs = [
        simulate(
            Fair(remembers=True),
            model="scripted:uniform",
            seed=4,
            interventions=changes,
            workspace=tmp_path / str(width),
            concurrency=width,
        )
        for width in (1, 64)
    ]
    assert runs[0].digest == runs[1].digest
    assert runs[0].replay(verify=True).steps == runs[0].steps
    assert acts(runs[0], 2).keys() == {0, 1, 2, 3} and acts(runs[0], 3).keys() == {1, 2, 3}
    things = runs[0].record.table(3, "tables/things")
    assert things is not None and set(things["at"]) <= {"square", "harbour", "Bo", "Cy", "Di"}


class Press(BaseAction):
    """Press a key."""

    key: Annotated[str, Among("keys")] = Field(description="Which key?")


class Piano(Blank):
    def press(self, who: int, key: str) -> str:
        return f"You pressed {key}."


class Concert(Scenario):
    """Two people press one of sixty keys."""

    steps: int = 1

    def setup(self) -> People:
        keys = [f"{part}.key{number}.press" for part in ("low", "high") for number in range(30)]
        people = People(pl.DataFrame({"id": [0, 1], "name": ["Ann", "Bo"]}))
        self.mind = Mind("You are {name}.", actions=Actions([Press], Piano([keys] * 2), waiting=False))
        return people

    async def step(self) -> None:
        assert self.mind.actions is not None
        wanted = {"name": "press", "key": "high.key27.press"}
        self.tables["acts"] = (
            await self.mind.actions.take(
                self, self.people, rule=lambda people, name: [wanted[name or "name"]] * len(people)
            )
        ).frame


def test_of_many_options_people_choose_a_group_first_by_model_and_by_rule() -> None:
    def press(request: Request) -> Any:
        user = request.messages[-1][1]
        if not request.top:
            return ""
        labels = dict(line.split(". ", 1) for line in user.split("\n") if line[1:3] == ". ")
        meanings = [labels.get(option, option) for option in request.options]
        wanted = ("high", "high.key20.press to high.key29.press", "high.key27.press")
        return {option: float(word in wanted) for option, word in zip(request.options, meanings, strict=True)}

    for run in (
        simulate(Concert(), model=Scripted(press, spec="scripted:press"), seed=1, keep="nothing"),
        simulate(Concert(), decider="rule", seed=1, keep="nothing"),
    ):
        assert {row[0] for row in acts(run).values()} == {"press key high.key27.press"}
        questions = run.answers()["question"].unique().to_list()
        assert any("In which part" in question for question in questions)
