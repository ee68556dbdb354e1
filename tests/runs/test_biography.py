from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from populace import People, RemovePeople, Run, Scenario, Selection, simulate
from populace.base.errors import DamagedRunError, UnknownNameError
from populace.journal.table_rows import file_rows
from populace.questions import Choice, Text
from populace.runs.biography import (
    biography,
    biography_document,
    changing_columns,
    decisions_of,
    memory_stream,
    states_of,
)
from populace.scenarios.discussion import Discussion
from populace.scenarios.norms import Norms
from support.models import Counting
from support.scenarios import Forms, Shirts
from support.society import debater


@pytest.fixture(scope="module")
def discussion(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return simulate(
        Discussion(members=4, rounds=2, embedder="hashing"),
        model=debater(),
        seed=1,
        workspace=tmp_path_factory.mktemp("discussion"),
    )


def test_a_trajectory_is_what_the_population_says_step_by_step(shirts_run: Run) -> None:
    for who in shirts_run.people().ids.to_list():
        states = states_of(shirts_run, who)
        whole = [dict(shirts_run.people(step).person(who)) for step in shirts_run.steps]
        assert states.drop("step").to_dicts() == whole


def test_somebody_who_leaves_is_shown_as_long_as_they_were_there() -> None:
    gone = RemovePeople(at=2, to=Selection(where={"id": 3}))
    run = simulate(Shirts(), model=Counting(), seed=1, interventions=[gone])
    person = biography(run, "3")
    assert person.steps == [0, 1]
    assert person.at(4)["id"] == 3
    assert set(person.decisions["step"]) == {1}


def test_only_what_changes_is_drawn_and_words_become_spells(shirts_run: Run) -> None:
    states = pl.DataFrame(
        {"step": [0, 1, 2], "id": [1, 1, 1], "age": [3, 3, 3], "mood": [1, 2, 2], "shirt": ["blue", "blue", "green"]}
    )
    assert changing_columns(states) == (["mood"], ["shirt"])


def test_every_decision_of_a_person_is_listed_with_its_question() -> None:
    run = simulate(Forms(), model=Counting(), seed=1)
    found = decisions_of(run, 1)
    assert found["path"].to_list() == [f"{step}/{ask}" for step in (1, 2) for ask in range(5)]
    assert found["question"][:4].to_list() == ["Tea?", "Coffee?", "How many cups?", "Why?"]
    assert found["kind"][:5].to_list() == ["choice", "choice", "number", "text", "form"]
    for row in found.iter_rows(named=True):
        (same,) = [each for each in run.decisions(row["step"], 1) if each.path == row["path"]]
        assert (row["value"], row["status"]) == (same.value, same.status)


def test_people_without_memories_and_plans_have_a_page_too() -> None:
    run = simulate(Norms(workers=4, days=2), model="scripted:uniform", seed=1)
    person = biography(run, "2")
    assert not memory_stream(run, person, 2).height
    assert not person.events_until(2).height
    assert person.talk_until(2) == []
    assert person.name == person.at(0)["name"]
    assert person.decisions.height == 2


def test_people_without_a_name_are_called_by_their_id() -> None:
    class Nameless(Scenario):
        """Two people of whom only a number is known."""

        def setup(self) -> People:
            return People(pl.DataFrame({"id": ["a/1", "b"]}))

        def length(self) -> int:
            return 1

        async def step(self) -> None:
            await self.ask(self.people, Choice("Tea?", options=("yes", "no")))

    run = simulate(Nameless(), model="scripted:uniform", seed=1)
    assert biography(run, "a/1").name == "a/1"
    with pytest.raises(UnknownNameError, match="no person named 'c'"):
        biography(run, "c")


def test_an_unknown_person_is_told_the_nearest_name(shirts_run: Run) -> None:
    name = shirts_run.people()["name"][0]
    with pytest.raises(UnknownNameError) as caught:
        biography(shirts_run, name[:-1] + "x")
    assert caught.value.nearest == name


def test_memories_are_those_up_to_the_step_with_the_scores_of_that_step(discussion: Run) -> None:
    person = biography(discussion, "1")
    first, last = memory_stream(discussion, person, 1), memory_stream(discussion, person, 2)
    assert 0 < first.height < last.height
    assert set(first["step"]) == {1}
    assert last["used"].max() > 0  # type: ignore[operator]
    recalled = discussion.record.table(2, "tables/recalled")
    assert recalled is not None
    mine = recalled.filter(pl.col("person") == 1)
    scored = last.filter(pl.col("score").is_not_null())
    assert set(scored["memory"]) == set(mine["memory"])
    assert set(scored["last_used"]) == {2}


def test_interviews_are_those_held_with_the_person(shirts_run: Run) -> None:
    shirts_run.at(2).interview(Text("Are you well?"), people=[1], model=Counting())
    shirts_run.at(2).interview(Text("And you?"), people=[2], model=Counting())
    (held,) = biography(shirts_run, "1").interviews
    assert (held["step"], held["question"], held["status"]) == (2, "Are you well?", "ok")


def test_a_portrait_becomes_plain_data(shirts_run: Run) -> None:
    person = biography(shirts_run, "1")
    told = biography_document(person, 2, memory_stream(shirts_run, person, 2))
    assert json.loads(json.dumps(told))["profile"]["name"] == person.name
    assert [row["step"] for row in told["decisions"]] == [1, 2]


def test_a_table_that_was_edited_is_told_as_damage(shirts_run: Run) -> None:
    path = shirts_run.folder / "steps" / "00002" / "answers.parquet"
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(DamagedRunError, match="was edited after it was committed"):
        biography(Run.open(shirts_run.folder), "1")


def test_a_longer_run_is_read_on_and_gives_the_same_biography(tmp_path: Path) -> None:
    run = simulate(Norms(workers=4, days=6), model="scripted:uniform", seed=3, workspace=tmp_path)
    whole = biography(Run.open(run.folder), "2")
    for step in (5, 6):
        (run.folder / "steps" / f"{step:05d}").rename(run.folder / f"later-{step}")
    short = Run.open(run.folder)
    short.record.check_end = lambda: None  # type: ignore[attr-defined]
    earlier = biography(short, "2")
    assert earlier.until == 4
    for step in (5, 6):
        (run.folder / f"later-{step}").rename(run.folder / "steps" / f"{step:05d}")
    later = biography(Run.open(run.folder), "2", earlier)
    assert later.states.equals(whole.states) and later.decisions.equals(whole.decisions)
    assert (later.until, later.digest, later.steps) == (whole.until, whole.digest, whole.steps)


def test_rows_of_steps_whose_columns_differ_are_put_together(tmp_path: Path) -> None:
    files = {}
    for step, table in enumerate([{"a": [1, 2]}, {"a": [1], "b": ["x"]}, {"a": [2.5]}]):
        files[step] = str(tmp_path / f"{step}.parquet")
        pl.DataFrame(table).write_parquet(files[step])
    rows = file_rows(files, [pl.col("a") < 2.6], size=1)
    assert rows.to_dict(as_series=False) == {
        "step": [0, 0, 1, 2],
        "a": [1.0, 2.0, 1.0, 2.5],
        "b": [None, None, "x", None],
    }
    (tmp_path / "1.parquet").write_bytes(b"PAR1")
    with pytest.raises(DamagedRunError):
        file_rows(files, [], size=1)


def test_the_rows_of_many_steps_lie_in_one_piece_because_work_on_many_pieces_is_slow(tmp_path: Path) -> None:
    files = {step: str(tmp_path / f"{step}.parquet") for step in range(5)}
    for file in files.values():
        pl.DataFrame({"a": [1, 2]}).write_parquet(file)
    for columns in ((), ("a",)):
        rows = file_rows(files, [pl.col("a") == 2], columns, size=1)
        assert rows["step"].to_list() == list(files)
        assert rows.n_chunks() == 1
