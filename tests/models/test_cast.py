"""The scripted cast: dry runs that are valid and show something."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl
import pydantic
import pytest

from populace import Choice, Form, Number, People, Rating, Run, Scenario, Text, Utterance, simulate
from populace.minds import Planning
from populace.models import Request, Scripted, open_model
from populace.models.cast import Cast
from populace.models.cast.scene import Scene
from populace.models.cast.town import plan
from populace.questions import Allocation
from populace.scenarios.discussion import Discussion
from populace.scenarios.forum import Forum
from populace.scenarios.party import Party


def valid_share(run: Run) -> float:
    status = run.answers()["status"].cast(pl.String)
    return float(status.is_in(["ok", "repaired"]).mean() or 0)  # type: ignore[arg-type]


class Household(pydantic.BaseModel):
    """A form with most of what a schema can say."""

    town: str
    rooms: int = pydantic.Field(ge=1, le=9)
    rent: float = pydantic.Field(gt=0, lt=3000)
    heating: Literal["gas", "wood", "none"]
    moved_in: str = pydantic.Field(pattern=r"^\d{4}-\d\d-\d\d$")
    pets: list[str] = pydantic.Field(min_length=1, max_length=4)
    garden: bool
    landlord: str | None
    remark: str = pydantic.Field(max_length=30)


QUESTIONS: dict[str, Any] = {
    "choice": Choice("Do you vote?", options=("yes", "no", "not sure")),
    "labelled": Choice("Which one?", options=("a red door", "a red gate"), scoring="labels"),
    "reasoned": Choice("Do you move?", options=("stay", "leave"), reason=True),
    "rating": Rating("How content are you?", low=0, high=10),
    "number": Number("How old are you?", low=18, high=99, whole=True),
    "money": Number("What would you pay?", low=0, unit="euros"),
    "debt": Number("What is on your account?", high=-5),
    "free number": Number("How far is it?"),
    "text": Text("How was your week?"),
    "post": Utterance("What do you write?", limit=80),
    "titled": Utterance("What do you post?", title=True),
    "form": Form(
        "About you.",
        questions={
            "age": Number("Your age.", low=18, high=30, whole=True),
            "vote": Choice("Your vote.", options=("left", "right")),
            "trust": Rating("Your trust.", low=1, high=7),
            "why": Text("Why?"),
        },
    ),
    "schema": Form("About your household.", model=Household),
    "points": Allocation("Divide the budget.", options=("schools", "roads", "parks"), total=10),
}


class Survey(Scenario):
    """Everybody is asked a question of every kind."""

    residents: int = 30

    def setup(self) -> People:
        return People.named(self.residents, seed=self.rng)

    def profile(self) -> str:
        return "You are {name}."

    def length(self) -> int:
        return 1

    async def step(self) -> None:
        for purpose, question in QUESTIONS.items():
            await self.ask(self.people, question, purpose=purpose)


@pytest.mark.parametrize("model", ["scripted:cast", "scripted:uniform", "scripted:first"])
def test_a_script_answers_every_kind_of_question_validly(model: str) -> None:
    run = simulate(Survey(), model=model, seed=1, keep="nothing")
    assert run.answers().height == 30 * len(QUESTIONS)
    assert valid_share(run) == 1.0


def test_people_of_the_cast_differ_from_each_other() -> None:
    run = simulate(Survey(), model="scripted:cast", seed=1, keep="nothing")
    by_ask = run.answers().group_by("path").agg(pl.col("value").n_unique())
    assert by_ask["value"].min() > 1  # type: ignore[operator]


def test_the_cast_opens_threads_replies_trolls_and_is_answered() -> None:
    run = simulate(Forum(), model="scripted:cast", seed=1, keep="nothing")
    posts = run.history("posts").join(run.people().frame.select(author="id", persona="persona"), on="author")
    trolls = posts.filter(pl.col("persona").str.contains("waste of time|picks fights|mocks|provokes|hates"))
    answers_to_trolls = posts.filter(pl.col("parent").is_in(trolls["post"].implode()))
    assert valid_share(run) >= 0.98
    assert posts["parent"].is_not_null().sum() >= 10
    assert trolls.height >= 1
    assert answers_to_trolls.height >= 1
    assert posts["text"].n_unique() > 0.8 * posts.height


def test_the_cast_writes_about_what_the_community_is_for() -> None:
    design = {"name": "Hives", "goal": "advice on apiculture", "personas": ["keeps bees", "eats honey"], "people": 6}
    run = simulate(Forum(design=design, expand=False), model="scripted:cast", seed=1, keep="nothing")
    titles = run.history("posts")["title"].drop_nulls()
    assert titles.str.contains("apiculture|advice").all()
    assert valid_share(run) >= 0.98


def test_scripted_moderators_act_on_trolls_and_leave_others_alone() -> None:
    run = simulate(Forum(design="shared-garden", expand=False), model="scripted:cast", seed=4, keep="nothing")
    acts, posts = run.history("moderation"), run.history("posts")
    trolls = run.people().where(role="troll").ids
    assert valid_share(run) >= 0.98
    assert acts.height >= 1
    assert acts["about"].is_in(trolls.implode()).any()
    assert run.history("votes").height >= 5
    assert acts.height < posts.height / 2


def test_news_travels_among_scripted_residents() -> None:
    run = simulate(Party(embedder="hashing", residents=10), model="scripted:cast", seed=2, keep="nothing")
    last = run.metrics.row(-1, named=True)
    assert valid_share(run) >= 0.98
    assert last["know"] >= 4
    assert last["claims"] == 0
    sources = run.events.filter(pl.col("kind") == "came to know")["data"].str.json_path_match("$.source")
    assert sources.n_unique() >= 2


def test_nobody_speaks_of_a_party_of_which_nobody_was_told() -> None:
    settings = {"embedder": "hashing", "residents": 10, "told": False, "days": 1}
    run = simulate(Party(**settings), model="scripted:cast", seed=1, keep="nothing")
    assert run.metrics.row(-1, named=True)["know"] == 0
    assert run.metrics.row(-1, named=True)["claims"] == 0


@pytest.mark.parametrize("mode", ["script", "agent"])
def test_a_scripted_discussion_has_both_sides(mode: str) -> None:
    run = simulate(Discussion(embedder="hashing", mode=mode), model="scripted:cast", seed=1, keep="nothing")
    stances = run.events.filter(pl.col("kind") == "said")["data"].str.json_path_match("$.stance")
    assert valid_share(run) >= 0.98
    assert set(stances) == {"for", "against"}


def test_the_order_of_options_does_not_matter_to_the_cast() -> None:
    cast, ask = Cast(), (("system", "You are Ann."), ("user", "Tea or coffee?"))
    there = cast(Request(ask, options=("tea", "coffee")))
    back = cast(Request(ask, options=("coffee", "tea")))
    assert there == back


def test_a_changed_sentence_is_another_model() -> None:
    before = open_model("scripted:cast").fingerprint
    cast = Cast()
    cast.contents = "other"
    assert Scripted(cast, spec="scripted:cast").fingerprint != before


@pytest.mark.parametrize(("now", "bedtime"), [("23:50", "15:30"), ("16:00", "08:00"), ("06:00", "01:30")])
def test_a_resident_of_the_cast_plans_past_midnight(now: str, bedtime: str) -> None:
    planning = Planning(places=("home", "work", "café"))
    begins, ends = ((int(clock[:2]) * 60 + int(clock[3:])) * 60 for clock in (now, bedtime))
    told = f"It is {now} on 13 February. Plan your day from now, {now}, until you go to bed at {bedtime}."
    scene = Scene.of(
        Request((("system", "You are Ann."), ("user", f"{told}\nPlaces that you know: home; work; café.")))
    )
    rows = [(row["at"], row["where"], row["doing"]) for row in plan(scene)]
    actions = planning.to_actions(rows, now=begins, until=ends + 86_400)
    assert planning.fault(actions, now=begins, until=ends + 86_400) is None
    assert actions[-1].end == ends + 86_400
