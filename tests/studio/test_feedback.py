"""Feedback is judged blind and with the keyboard, and every rater's is kept apart."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from populace import Run, simulate
from populace.engine.workspace import Workspace
from populace.experiments import Experiment
from populace.feedback import FeedbackStore, Queue
from populace.models import Scripted
from populace.studio.pages.feedback.rating_session import RatingSession
from support.models import varied
from support.scenarios import Forms, Shirts, Talk
from support.studio import Visit, another, visiting

MODEL = "scripted:support.models:varied"


def made(tmp_path: Path, scenario: Any = None, seed: int = 1) -> Run:
    model = Scripted(varied, spec=MODEL)
    return simulate(scenario or Shirts(), model=model, seed=seed, workspace=tmp_path)


def queue(tmp_path: Path, *runs: str, kind: str = "decision", size: int = 6) -> str:
    place = Workspace(tmp_path)
    made = Queue.of(place, runs, kind, size)
    made.save(place)
    return made.name


def press(visit: Visit, key: str) -> None:
    plain = dict.fromkeys(("altKey", "ctrlKey", "metaKey", "shiftKey", "repeat"), False)
    visit.user.find(marker="keyboard").trigger(
        "key", {"action": "keydown", "key": key, "code": key, "location": 0} | plain
    )


async def judged(visit: Visit, count: int, of: int = 6) -> None:
    await visit.sees(f"{count} of {of} judged")


def test_five_answers_are_scored_with_the_keyboard(tmp_path: Path) -> None:
    runs = [made(tmp_path, seed=seed).name for seed in (1, 2)]

    async def story(visit: Visit) -> None:
        await visit.open(f"/feedback?run={','.join(runs)}")
        visit.enter("rater", "ada")
        visit.enter("size", 6)
        visit.press("begin")
        await judged(visit, 0)
        for number in range(1, 6):
            press(visit, str(number))
            await judged(visit, number)
        lines = FeedbackStore(tmp_path).judgements("ada").values()
        assert sorted(line["score"] for line in lines) == [1, 2, 3, 4, 5]
        press(visit, "s")
        await visit.sees("You judged all 6 answers")
        press(visit, "u")
        await judged(visit, 5)
        assert len(FeedbackStore(tmp_path).judgements("ada")) == 5

    visiting(tmp_path, story)


def test_nothing_on_the_page_names_run_arm_or_model(tmp_path: Path) -> None:
    results = Experiment(
        name="secret-study", scenario="support.scenarios:Shirts", factors={"groups": [1, 3]}, model=MODEL,
        replicates=2, outcomes=["share_blue"], keep="run",
    ).run(workers=1, workspace=tmp_path)  # fmt: skip
    own = made(tmp_path)
    name = queue(tmp_path, results.name, own.name, size=5)
    hidden = [results.name, own.name, "secret", "groups=", "scripted", *results.runs["run"].to_list()]

    async def story(visit: Visit) -> None:
        client = await visit.open(f"/feedback?queue={name}&seed=3&rater=ada")
        for number in range(5):
            sent = json.dumps([element._to_dict() for element in client.elements.values()], default=str)
            sent += visit.texts() + (await visit.user.http_client.get(f"/feedback?queue={name}&seed=3&rater=ada")).text
            assert [word for word in hidden if word in sent] == []
            press(visit, "3")
            await judged(visit, number + 1, 5)
        arms = FeedbackStore(tmp_path).table()["arm"].unique().to_list()
        assert {"groups=1", "groups=3"} <= set(arms)

    visiting(tmp_path, story)


def test_two_raters_are_kept_apart_and_their_agreement_is_told(tmp_path: Path) -> None:
    name = queue(tmp_path, made(tmp_path).name)

    async def story(visit: Visit) -> None:
        other = another(visit)
        await visit.open(f"/feedback?queue={name}&rater=ada")
        await other.open(f"/feedback?queue={name}&rater=ben")
        for number in range(6):
            press(visit, str(1 + number % 5))
            await judged(visit, number + 1)
        await judged(other, 0)
        ada = {key: line["score"] for key, line in FeedbackStore(tmp_path).judgements("ada").items()}
        sitting = RatingSession.begin(Workspace(tmp_path), name, 0, "ben")
        for number, item in enumerate(sitting.items):
            press(other, str(ada[item.key]))
            await judged(other, number + 1)
        assert {key: line["score"] for key, line in FeedbackStore(tmp_path).judgements("ben").items()} == ada
        await visit.open("/feedback")
        await visit.sees("Krippendorff's alpha for ordered scores 1")
        assert [row["scored"] for row in visit.one("raters").rows] == [6, 6]
        said = json.loads((await visit.user.http_client.get("/api/feedback")).text)
        assert said["agreement"][0]["value"] == 1.0 and [row["rater"] for row in said["raters"]] == ["ada", "ben"]

    visiting(tmp_path, story)


def test_an_option_is_rewritten_by_its_number(tmp_path: Path) -> None:
    name = queue(tmp_path, made(tmp_path).name)

    async def story(visit: Visit) -> None:
        await visit.open(f"/feedback?queue={name}&rater=ada")
        press(visit, "r")
        await visit.sees_marked("options")
        press(visit, "Enter")
        await visit.sees("the rewriting is empty")
        press(visit, "2")
        press(visit, "Enter")
        await judged(visit, 1)
        (line,) = FeedbackStore(tmp_path).judgements("ada").values()
        assert line["rewrite"] == "green" and line["score"] is None

    visiting(tmp_path, story)


def test_words_are_rewritten_and_saved_with_enter(tmp_path: Path) -> None:
    name = queue(tmp_path, made(tmp_path, Talk()).name, kind="utterance")

    async def story(visit: Visit) -> None:
        await visit.open(f"/feedback?queue={name}&rater=ada")
        visit.press("rewrite")
        await visit.sees_marked("rewriting")
        assert visit.one("rewriting").value.startswith("I say ")
        press(visit, "4")
        visit.enter("rewriting", "<script>alert(1)</script> Good morning!")
        visit.user.find(marker="rewriting").trigger("keydown.enter.exact.prevent")
        await judged(visit, 1)
        (line,) = FeedbackStore(tmp_path).judgements("ada").values()
        assert line["rewrite"] == "<script>alert(1)</script> Good morning!" and line["verdict"] == "rewritten"

    visiting(tmp_path, story)


def test_every_kind_of_answer_can_be_shown(tmp_path: Path) -> None:
    run = made(tmp_path, Forms())

    async def story(visit: Visit) -> None:
        for kind, most in (("decision", 6), ("utterance", 4)):
            name = queue(tmp_path, run.name, kind=kind, size=most)
            await visit.open(f"/feedback?queue={name}&rater={kind}")
            items = len(RatingSession.begin(Workspace(tmp_path), name, 0, kind).items)
            for number in range(items):
                press(visit, "r")
                await visit.sees_marked("save")
                visit.press("leave")
                await visit.until(
                    lambda: not [e for e in visit.user.current_layout.descendants() if "save" in e._markers]
                )
                press(visit, "5")
                await judged(visit, number + 1, items)

    visiting(tmp_path, story)


def test_the_name_is_asked_first_and_a_bad_one_refused(tmp_path: Path) -> None:
    name = queue(tmp_path, made(tmp_path).name)

    async def story(visit: Visit) -> None:
        await visit.open(f"/feedback?queue={name}")
        await visit.sees("Who judges?")
        visit.enter("rater", "../ada")
        visit.press("begin")
        await visit.sees("cannot be the name of a rater")
        await visit.open(f"/feedback?queue={name}&rater=..%2Fada")
        await visit.sees("cannot be the name of a rater")
        assert not (tmp_path / "ada.jsonl").exists()

    visiting(tmp_path, story)


def test_a_link_brings_an_answer_back_and_a_second_visit_goes_on(tmp_path: Path) -> None:
    name = queue(tmp_path, made(tmp_path).name)

    async def story(visit: Visit) -> None:
        address = f"/feedback?queue={name}&seed=2&rater=ada"
        await visit.open(address)
        press(visit, "2")
        await judged(visit, 1)
        await visit.open(address)
        await judged(visit, 1)
        await visit.open(f"{address}&n=1")
        await visit.sees("You scored it 2.")
        press(visit, "4")
        await visit.until(lambda: [line["score"] for line in FeedbackStore(tmp_path).judgements("ada").values()] == [4])

    visiting(tmp_path, story)


def test_a_queue_whose_runs_are_gone_says_how_many_and_not_which(tmp_path: Path) -> None:
    gone, kept = made(tmp_path, seed=1), made(tmp_path, seed=2)
    name = queue(tmp_path, gone.name, kept.name)
    shutil.rmtree(gone.folder)

    async def story(visit: Visit) -> None:
        await visit.open(f"/feedback?queue={name}&rater=ada")
        await visit.sees("1 of the runs of this queue are gone")
        assert gone.name not in visit.texts()
        await visit.open("/feedback?queue=nothing&rater=ada")
        await visit.sees("there is no queue of answers")

    visiting(tmp_path, story)


def test_the_form_says_what_is_missing(tmp_path: Path) -> None:
    async def story(visit: Visit) -> None:
        await visit.open("/feedback")
        await visit.sees("There are no runs whose answers could be judged.")
        run = simulate(Shirts(), decider="rule", workspace=tmp_path)
        await visit.open(f"/feedback?run={run.name},gone")
        await visit.sees("Not here any more: gone.")
        visit.enter("rater", "ada")
        visit.press("begin")
        await visit.sees("hold no decision that a model gave")
        await visit.sees(f"populace feedback {run.name} --kind decision --size 20 --seed 0")

    visiting(tmp_path, story)


@pytest.mark.parametrize("keys", ["12345", "1u2", "ssuu3", "u1"])
def test_going_back_takes_back_what_was_said(tmp_path: Path, keys: str) -> None:
    sitting = RatingSession.begin(Workspace(tmp_path), queue(tmp_path, made(tmp_path).name), 0, "ada")
    said: list[str] = []
    for key in keys:
        if key == "u":
            said = said[:-1]
            sitting.back()
        elif key == "s":
            said.append("skipped")
            sitting.skip()
        else:
            said.append(key)
            sitting.score(int(key))
        kept = FeedbackStore(tmp_path).judgements("ada")
        in_order = [kept[item.key] for item in sitting.items if item.key in kept]
        assert [str(line["score"] or line["verdict"]) for line in in_order] == said
        assert sitting.place == len(said)
