from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from populace.base.errors import UsageError
from populace.community.study import Material, Study
from populace.engine.workspace import Workspace
from populace.studio.pages.discern.data import DiscernSession, check_file, rates_table, real_files, study_summaries
from support.studies import studied


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Material]:
    return studied(tmp_path_factory.mktemp("workspace"))


@pytest.fixture
def place(made: tuple[Workspace, Material]) -> Workspace:
    return made[0]


@pytest.fixture
def material(made: tuple[Workspace, Material]) -> Material:
    return made[1]


def test_a_session_shows_nothing_that_tells_and_two_raters_are_kept_apart(place: Workspace, material: Material) -> None:
    study = Study.make(place, "blind", material)
    ann, bo = DiscernSession(study, "Ann"), DiscernSession(study, "Bo")
    task = ann.task()
    assert task is not None and task.number == 1 and task.of == 5
    told = json.dumps(task._asdict(), ensure_ascii=False)
    assert not any(word in told for word in ("full", "real_first", "Zoë", "forum-", "board-"))
    ann.answer("first")
    assert (ann.done, DiscernSession(study, "Bo").done) == (1, 0)
    with pytest.raises(UsageError, match="4 pairs are still to be rated"):
        ann.results()
    while ann.task():
        ann.answer("first")
    bo.answer("second")
    assert (DiscernSession(study, "Ann").done, DiscernSession(study, "Bo").done) == (5, 1)
    rows = [json.loads(line) for line in (study.folder / "answers.jsonl").read_text().splitlines()]
    assert [row["rater"] for row in rows] == ["Ann"] * 5 + ["Bo"]
    assert all(row["kind"] == "person" for row in rows)
    table = rates_table(DiscernSession(study, "Ann").results())
    assert table["answers"][0] == 6 and set(table["arm"]) == {"full", "crowd", "no description", "no personas"}
    own = DiscernSession(study, "Ann").own_error()
    assert own.pairs == 5 and own.wrong == sum(row["wrong"] for row in rows[:5]) and "95 % interval" in own.text


def test_two_windows_of_one_rater_answer_a_pair_once(place: Workspace, material: Material) -> None:
    study = Study.make(place, "windows", material)
    one, other = DiscernSession(study, "Ann"), DiscernSession(study, "Ann")
    one.answer("first")
    other.answer("second")
    rows = [json.loads(line) for line in (study.folder / "answers.jsonl").read_text().splitlines()]
    assert [row["chosen"] for row in rows] == ["first"]
    assert one.task() == other.task()


def test_files_outside_of_the_workspace_are_refused(place: Workspace, material: Material) -> None:
    (place.folder / "feedback").mkdir(exist_ok=True)
    (place.folder / "feedback" / "Ann.jsonl").write_text('{"rater": "Ann", "score": 3}\n')
    (place.folder / "exported.jsonl").write_text('{"rater": "Ann", "score": 3}\n')
    assert real_files(place) == ["real.jsonl"]
    check_file(place, "real.jsonl")
    for given in ("../x.jsonl", "/etc/passwd", "nothing.jsonl"):
        with pytest.raises(UsageError):
            check_file(place, given)


def test_a_study_that_cannot_be_read_is_listed_with_the_reason(place: Workspace, material: Material) -> None:
    made = Study.make(place, "broken", material)
    (made.folder / "pairs.jsonl").write_text("[]")
    assert any("this is not a JSON object" in card.problem for card in study_summaries(place))


def test_a_rater_of_a_study_between_arms_sees_the_pairs_of_one_arm(tmp_path: Path) -> None:
    place, material = studied(tmp_path)
    crowd = tmp_path / "crowd.jsonl"
    crowd.write_text((tmp_path / "real.jsonl").read_text().replace("human", "hired"))
    study = Study.make(place, "between", replace(material, crowd=str(crowd), between=True))
    assert {pair.arm for pair in study.pairs} == {"full", "crowd"}
    first = DiscernSession(study, "Ann")
    first.answer("first")
    (arm,) = {pair.arm for pair in first.pairs}
    assert {pair.arm for pair in DiscernSession(study, "Bo").pairs} == {"full", "crowd"} - {arm}
    assert {pair.arm for pair in DiscernSession(study, "Ann").pairs} == {arm}
