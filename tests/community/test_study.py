from __future__ import annotations

import json
from pathlib import Path

import pytest

from populace import simulate
from populace.community import Community
from populace.community.real import Conversation, Said, generated, write_threads
from populace.community.study import Material, Study, rater_name, studies
from populace.errors import UnknownNameError, UsageError
from populace.studio.views.discern import Session, cards, inside, rates_table, real_files
from populace.workspace import Workspace
from support.board import Board, writer


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("workspace")
    made = simulate(Board(threads=5), model=writer(0.0), seed=1, workspace=folder)
    (folder / "name").write_text(made.name)
    real = [
        Conversation(made.manifest.regime.parameters["design"]["name"], f"Title {n}", (Said("Zoë", f"human {n}"),))
        for n in range(5)
    ]
    write_threads(real, folder / "real.jsonl")
    assert len(generated(Community(made))) == 5
    return Workspace(folder)


def material(place: Workspace) -> Material:
    return Material(((place.folder / "name").read_text(),), str(place.folder / "real.jsonl"))


def test_a_study_keeps_its_pairs(place: Workspace) -> None:
    made = Study.make(place, "first", material(place))
    again = Study(place, "first")
    assert again.pairs == [
        type(pair)(pair.key, pair.arm, pair.goal, again.pairs[n].real, again.pairs[n].made, pair.seed)
        for n, pair in enumerate(material(place).pairs(place))
    ]
    assert [pair.shown("Ann") for pair in made.pairs] == [pair.shown("Ann") for pair in material(place).pairs(place)]
    assert "first" in studies(place)
    with pytest.raises(UsageError, match="already"):
        Study.make(place, "first", material(place))


@pytest.mark.parametrize("name", ["..", "a/b", "", ".x", "a\0", "x" * 65])
def test_the_name_of_a_study_leads_nowhere_else(place: Workspace, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a study"):
        Study.make(place, name, material(place))
    with pytest.raises(UsageError, match="cannot name a study"):
        Study(place, name)


def test_a_study_that_is_not_there_is_named(place: Workspace) -> None:
    with pytest.raises(UnknownNameError, match="no study named 'frist'"):
        Study(place, "frist")


def test_a_broken_study_says_which_line(place: Workspace) -> None:
    made = Study.make(place, "broken", material(place))
    (made.folder / "pairs.jsonl").write_text('{"key": 1}\n')
    with pytest.raises(UsageError, match="line 1: this is no pair"):
        _ = Study(place, "broken").pairs
    assert any("no pair" in card.problem for card in cards(place))


def test_a_session_shows_nothing_that_tells_and_two_raters_are_kept_apart(place: Workspace) -> None:
    study = Study.make(place, "blind", material(place))
    ann, bo = Session(study, "Ann"), Session(study, "Bo")
    task = ann.task()
    assert task is not None and task.number == 1 and task.of == 5
    told = json.dumps(task.__dict__)
    assert not any(word in told for word in ("full", "real_first", "Zoë", "forum-", "board-"))
    ann.answer("first")
    assert (ann.done, Session(study, "Bo").done) == (1, 0)
    with pytest.raises(UsageError, match="4 pairs are still to be rated"):
        ann.results()
    while ann.task():
        ann.answer("first")
    bo.answer("second")
    assert (Session(study, "Ann").done, Session(study, "Bo").done) == (5, 1)
    rows = [json.loads(line) for line in (study.folder / "answers.jsonl").read_text().splitlines()]
    assert [row["rater"] for row in rows] == ["Ann"] * 5 + ["Bo"]
    assert all(row["kind"] == "person" for row in rows)
    table = rates_table(Session(study, "Ann").results())
    assert table["answers"][0] == 6 and set(table["arm"]) == {"full", "crowd", "no_description", "no_personas"}
    assert Session(study, "Ann").own().height == 5


def test_two_windows_of_one_rater_answer_a_pair_once(place: Workspace) -> None:
    study = Study.make(place, "windows", material(place))
    one, other = Session(study, "Ann"), Session(study, "Ann")
    one.answer("first")
    other.answer("second")
    rows = [json.loads(line) for line in (study.folder / "answers.jsonl").read_text().splitlines()]
    assert [row["chosen"] for row in rows] == ["first"]
    assert one.task() == other.task()


def test_raters_have_names() -> None:
    assert rater_name(" Ann\u202e\n Lee ") == "Ann Lee"
    for name in ("", " \x00 ", "x" * 61):
        with pytest.raises(UsageError):
            rater_name(name)


def test_files_outside_of_the_workspace_are_refused(place: Workspace, tmp_path: Path) -> None:
    assert real_files(place) == ["real.jsonl"]
    assert inside(place, "real.jsonl") == "real.jsonl"
    for given in ("../x.jsonl", "/etc/passwd", "nothing.jsonl"):
        with pytest.raises(UsageError):
            inside(place, given)
