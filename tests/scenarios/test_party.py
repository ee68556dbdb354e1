from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from populace import Run, simulate
from populace.base.errors import BudgetError, ModelFileError, WorldError
from populace.minds import Mind, Planning
from populace.models import SMOLLM2, Request, Scripted
from populace.scenarios.party import Party
from populace.scenarios.party.attendance import read_occasions
from populace.scenarios.party.diffusion import Diffusion
from populace.scenarios.party.report import diffusion_of
from populace.studio.pages.town.data import TownRun
from populace.tools.scaffold import town_files
from populace.worlds.town import Town, read_relations, read_residents, read_routines
from support.outings import Midday
from support.society import day_plan, resident


def party(
    model: object = None,
    scenario: type[Party] = Party,
    *,
    seed: int = 1,
    concurrency: int = 16,
    **parameters: object,
) -> Run:
    return simulate(
        scenario(embedder="hashing", **parameters),  # type: ignore[arg-type]
        model=model or resident(),  # type: ignore[arg-type]
        seed=seed,
        keep="nothing",
        concurrency=concurrency,
    )


def news_of(run: Run) -> Diffusion:
    return diffusion_of(run.events, read_occasions(run, Party)[1][0])


@pytest.fixture(scope="module")
def two_days() -> Run:
    return party(resident(0.8, talks=0.8))


def test_news_travels_from_the_host_by_word_of_mouth(two_days: Run) -> None:
    news = news_of(two_days)
    assert len(news.knows) > 3
    assert all(news.chain(who)[0] == 0 for who in news.knows)
    assert two_days.metrics["know"][-1] == len(news.knows)
    assert not news.claims


def test_the_measured_tree_is_the_true_one(two_days: Run) -> None:
    """The truth is what people remember having been told, which the measure never looks at."""
    names = {row["name"]: row["id"] for row in two_days.people().frame.iter_rows(named=True)}
    hearings = two_days.history("memories").filter(
        pl.col("kind") == "hearing", pl.col("text").str.contains("told you: .*party")
    )
    true: dict[int, tuple[int, int]] = {}
    for row in hearings.sort("memory").iter_rows(named=True):
        speaker = re.match(r"(.*) told you", row["text"])
        assert speaker is not None
        true.setdefault(row["person"], (names[speaker[1]], row["time"]))
    true.pop(0, None)
    measured = {who: (heard.source, heard.time) for who, heard in news_of(two_days).knows.items() if who}
    assert measured == true


def test_with_nobody_told_nobody_knows() -> None:
    made = party(resident(1.0), Midday, told=False, days=1)
    assert made.metrics["know"].to_list() == [0] * made.metrics.height
    assert made.metrics["claims"][-1] == 0


def test_claims_without_evidence_are_counted_and_spread_nothing() -> None:
    made = party(resident(invents=True), Midday, told=False, days=1)
    assert made.metrics["claims"][-1] > 5
    assert made.metrics["know"][-1] == 0


def test_guests_are_those_who_knew_and_were_at_the_café_at_the_hour(two_days: Run) -> None:
    news = news_of(two_days)
    came = two_days.events.filter(pl.col("kind") == "came")
    assert came.height == two_days.metrics["came"][-1] > 0
    for who, data in came.select("person", "data").iter_rows():
        at = json.loads(data)["at"]
        assert news.knows[who].time <= at
        assert 17 <= at % 86_400 // 3600 < 19


@pytest.mark.parametrize(
    ("off", "missing"),
    [
        # There is nothing to rate, to reflect on or to tell of others where nothing is remembered.
        ("remembers", {"reflection", "importance", "relationship"}),
        ("reflects", {"reflection"}),
        ("plans", {"planning", "whether to react"}),
    ],
)
def test_parts_of_the_mind_can_be_left_out(off: str, missing: set[str]) -> None:
    made = party(resident(1.0), days=1, reflection_budget=30, **{off: False})
    purposes = {purpose.split(":")[0] for purpose in made.answers()["purpose"]}
    every = {"reflection", "planning", "whether to talk", "dialogue", "importance", "relationship", "whether to react"}
    assert purposes == every - missing
    if off == "remembers":
        assert made.metrics["memories"][-1] == 0
        # Nobody passes on what they were told; the host still knows what she is about.
        knowing = made.events.filter(pl.col("kind") == "came to know")["data"].to_list()
        assert knowing
        assert {json.loads(text)["source"] for text in knowing} == {0}


def by_rule(**parameters: object) -> Run:
    return simulate(Party(**parameters), decider="rule", seed=1, keep="nothing")  # type: ignore[arg-type]


def test_the_rumour_rule_has_the_same_contacts_and_asks_no_model() -> None:
    made = by_rule(pass_chance=1.0, talk_chance=1.0, attend_chance=0.0)
    assert made.answers().height == 0
    assert made.usage().calls == 0
    assert made.metrics["know"][-1] > 5
    silent = by_rule(pass_chance=0.0, talk_chance=1.0, attend_chance=0.0)
    assert silent.metrics["know"][-1] == 1
    assert silent.metrics["conversations"][-1] == made.metrics["conversations"][-1]


def test_by_rule_everybody_who_knows_goes_with_the_chance_that_is_set() -> None:
    everybody = by_rule(pass_chance=1.0, talk_chance=1.0, attend_chance=1.0)
    assert everybody.metrics["came"][-1] > 5
    news = news_of(everybody)
    begins = 86_400 + 17 * 3600
    early = {who for who, source in news.knows.items() if source.time < begins} - {0}
    came = set(everybody.events.filter(pl.col("kind") == "came")["person"].to_list())
    assert early <= came


def test_people_who_talk_get_to_know_each_other(two_days: Run) -> None:
    density = two_days.metrics["acquaintance_density"]
    assert density[0] == pytest.approx(56 / 300)
    assert density[-1] > density[0]


def test_a_town_is_the_same_for_any_concurrency() -> None:
    one, many = (party(scenario=Midday, days=1, concurrency=concurrency) for concurrency in (1, 64))
    assert one.events.equals(many.events)
    assert one.answers().equals(many.answers())
    assert one.history("memories").equals(many.history("memories"))


def test_unreadable_answers_are_counted_and_change_nothing() -> None:
    made = party(Scripted(lambda request: {"hm": 1.0} if request.top else "}{", spec="scripted:mute"), Midday, days=1)
    assert set(made.statuses) == {"unparseable"}
    assert made.metrics["conversations"][-1] == 0
    assert made.events.filter(pl.col("kind") == "planned").height == 25


SCRIPT = """
import itertools, os, sys
from populace import simulate
from support.outings import Midday
from support.society import resident
model, requests = resident(0.8, talks=0.8), itertools.count(1)
answer = model.script
def die_in_the_middle(request):
    if next(requests) == int(sys.argv[2]):
        os.kill(os.getpid(), 9)
    return answer(request)
model.script = die_in_the_middle
simulate(Midday(embedder="hashing", days=1), model=model, seed=1, workspace=sys.argv[1])
"""


@pytest.mark.slow
def test_a_town_that_is_killed_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    town = Midday(embedder="hashing", days=1)
    whole = simulate(town, model=resident(0.8, talks=0.8), seed=1, workspace=tmp_path / "whole")
    tests = Path(__file__).parents[1]
    half = str(whole.answers().height // 2)
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "cut"), half],
        env={**os.environ, "PYTHONPATH": f"{tests}:{tests.parent / 'src'}"},
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    (folder,) = (tmp_path / "cut" / "runs").iterdir()
    cut = Run.open(folder)
    assert 0 < cut.steps[-1] < whole.steps[-1]
    assert cut.resume(model=resident(0.8, talks=0.8)).digest == whole.digest


def test_two_people_of_one_name_are_refused() -> None:
    town = Town.sallow_ferry()
    people = read_residents(town)
    people["name"] = pl.Series(["Odile Farrant"] * 25)
    with pytest.raises(WorldError, match="two people are called"):
        Party().inhabit(town, people, read_relations(town), read_routines(town))


class Morning(Party):
    """The first hour of a day, for which people make short plans: a processor writes long ones for minutes."""

    def length(self) -> int:
        return 6

    def make_mind(self) -> Mind:
        mind = super().make_mind()
        mind.planning = Planning(places=("home", "work", *self.public), strokes=(1, 2))
        return mind


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.xdist_group("embedded")
def test_a_short_day_on_the_embedded_model_leaves_no_answer_unhandled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A repair takes as long again, and replies that cannot be read are what a day has to cope with.
    monkeypatch.setattr("populace.deciders.sampled.REPAIRS", 0)
    try:
        SMOLLM2.fetch()
    except ModelFileError as error:
        pytest.skip(f"the embedded model cannot be fetched: {error}")
    town = {"residents": 3, "embedder": "hashing", "utterances": 2}
    with pytest.raises(BudgetError):
        simulate(Morning(**town), seed=1, workspace=tmp_path, max_calls=1)  # type: ignore[arg-type]
    (folder,) = (tmp_path / "runs").iterdir()
    made = Run.open(folder).resume(max_calls=200)
    assert made.manifest.status.state == "complete"
    assert made.answers().height == sum(made.statuses.values()) >= 2
    assert set(made.statuses) <= {"ok", "repaired", "unparseable", "refused"}


NEWS_FOR_ALL = "There is a Valentine's Day party at the café on 14 February at 17:00."
ADA = {"name": "Ada Bell", "occupation": "piano tuner"}


def test_people_who_are_told_by_an_announcement_know_and_make_no_claims() -> None:
    told = {"kind": "announce", "at": 30, "text": NEWS_FOR_ALL, "to": {"ids": [2, 3, 5]}, "steps": 2}
    run = simulate(
        Midday(embedder="hashing", told=False, days=1),
        model=resident(1.0, talks=1.0),
        seed=1,
        keep="nothing",
        interventions=[told],
    )
    last = run.metrics.row(-1, named=True)
    assert run.metrics["know"][29] == 0
    assert run.metrics["know"][30] >= 1
    assert last["know"] > 3
    assert last["claims"] == 0
    assert news_of(run).chain(3) == [3]


def test_residents_may_join_and_leave(tmp_path: Path) -> None:
    moves = [
        {"kind": "add", "at": 20, "people": [ADA]},
        {"kind": "remove", "at": 30, "to": {"ids": [0, 7]}},
        {"kind": "add", "at": 40, "people": [{"name": "Bo Tarn", "home": "Larch Lane 4"}]},
        {"kind": "remove", "at": 60, "to": {"where": {"name": "Ada Bell"}}},
    ]
    settings = {"model": "scripted:cast", "seed": 1, "interventions": moves, "workspace": tmp_path}
    run = simulate(Party(embedder="hashing", days=1, reflects=False, remembers=False), **settings)
    assert len(run.people(25)) == 26
    assert len(run.people()) == 24
    assert "Bo Tarn" in run.people()["name"].to_list()
    asked = run.answers().filter(pl.col("person") == 25)["step"]
    assert asked.len() > 0
    assert asked.min() >= 20  # type: ignore[operator]
    assert asked.max() < 60  # type: ignore[operator]
    assert run.people().person("Bo Tarn").home == "Larch Lane 4"
    run.replay(verify=True)
    assert len(run.fork(at=110, seed=2).people()) == 24
    assert Party.report(run)[0].table.height >= 1
    town = TownRun(run)
    assert town.window(15, 65).place.shape == (51, 27)
    assert town.names[25:] == ["Ada Bell", "Bo Tarn"]


def test_a_newcomer_must_not_share_a_name() -> None:
    twin = {"kind": "add", "at": 2, "people": [{"name": "Odile Farrant"}]}
    with pytest.raises(WorldError, match="two people are called"):
        simulate(Party(embedder="hashing"), model="scripted:cast", keep="nothing", interventions=[twin])


def test_a_recording_with_a_parameter_that_is_gone_is_still_read() -> None:
    run = by_rule(residents=6, days=1)
    run.manifest.regimes[0].parameters["talk_by"] = "rumour"
    assert Party.report(run)[0].table["name"].len() >= 1


def test_the_mind_does_not_know_what_the_study_is_about() -> None:
    """With a nonsense word in place of the news, everything is the same but for that word."""

    def lived(what: str) -> Run:
        news = [{"name": "event", "what": what, "place": "café", "day": 2, "begins": "17:00", "ends": "19:00"}]
        town, people, _ = ({"name": name, "text": text} for name, text in town_files("harbour").items())
        party = Party(embedder="hashing", days=1, map=town, residents_file=people, news=news, utterances=3)
        return simulate(party, model=Scripted(_same_for_any_word, spec="scripted:same"), seed=1, keep="nothing")

    one, other = lived("wedding"), lived("zwinkel")
    assert one.prompts()["user"].str.contains("wedding").any()
    for column in ("system", "user"):
        texts = one.prompts()[column].str.replace_all("wedding", "zwinkel")
        assert texts.to_list() == other.prompts()[column].to_list()
    assert one.answers()["value"].to_list() == other.answers()["value"].str.replace_all("zwinkel", "wedding").to_list()
    assert one.history("memories")["importance"].to_list() == other.history("memories")["importance"].to_list()


def _same_for_any_word(request: Request) -> dict[str, float] | str:
    if request.options:
        return {option: 1 / len(request.options) for option in request.options}
    asked = next(text for role, text in request.messages if role == "user")
    if "next line that you say" in asked:
        number = asked.count("\n") % 97
        known = re.search(r"wedding|zwinkel", asked)
        return f"Number {number}: {known[0]}!" if known else f"It is {number} degrees today."
    if '"plan"' in asked:
        return json.dumps({"plan": day_plan(asked)})
    return "A quiet day."
