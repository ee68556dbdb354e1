from __future__ import annotations

import json
import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from populace.base.errors import DamagedRunError, UnknownNameError, UsageError
from populace.community.study import Material, Study, rater_name, study_names
from populace.engine.workspace import Workspace
from support.mutations import VALUES
from support.received import outcome
from support.studies import studied


@pytest.fixture(scope="module")
def workspace_and_material(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Material]:
    return studied(tmp_path_factory.mktemp("workspace"))


@pytest.fixture
def place(workspace_and_material: tuple[Workspace, Material]) -> Workspace:
    return workspace_and_material[0]


@pytest.fixture
def material(workspace_and_material: tuple[Workspace, Material]) -> Material:
    return workspace_and_material[1]


def test_a_study_keeps_its_pairs(place: Workspace, material: Material) -> None:
    study = Study.make(place, "first", material)
    again = Study(place, "first")
    assert again.pairs == [
        type(pair)(pair.key, pair.arm, pair.goal, again.pairs[n].real, again.pairs[n].generated, pair.seed)
        for n, pair in enumerate(material.make_pairs(place))
    ]
    assert [pair.texts("Ann") for pair in study.pairs] == [pair.texts("Ann") for pair in material.make_pairs(place)]
    assert "first" in study_names(place)
    with pytest.raises(UsageError, match="already"):
        Study.make(place, "first", material)


@pytest.mark.parametrize("name", ["..", "a/b", "", ".x", "a\0", "x" * 65])
def test_the_name_of_a_study_leads_nowhere_else(place: Workspace, material: Material, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a study"):
        Study.make(place, name, material)
    with pytest.raises(UsageError, match="cannot name a study"):
        Study(place, name)


def test_a_study_that_is_not_there_is_named(place: Workspace, material: Material) -> None:
    with pytest.raises(UnknownNameError, match="no study named 'frist'"):
        Study(place, "frist")


def test_a_study_that_cannot_be_read_is_an_error_in_words(
    place: Workspace, material: Material, monkeypatch: pytest.MonkeyPatch
) -> None:
    Study.make(place, "locked", material)

    def refuse(path: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(DamagedRunError, match="locked cannot be read: Permission denied"):
        Study(place, "locked")


def test_a_broken_study_says_which_line(place: Workspace, material: Material) -> None:
    study = Study.make(place, "broken", material)
    (study.folder / "pairs.jsonl").write_text('{"key": 1}\n')
    with pytest.raises(UsageError, match="line 1: this is not a pair"):
        _ = Study(place, "broken").pairs


@pytest.fixture
def received(tmp_path: Path) -> Path:
    """A study in a workspace, as somebody may send it."""
    folder = tmp_path / "discern" / "s"
    folder.mkdir(parents=True)
    thread = {"community": "c", "title": "t", "posts": [{"author": "a", "text": "x"}]}
    pairs = [{"key": key, "arm": "full", "goal": "g", "seed": 1, "real": thread, "made": thread} for key in "km"]
    answer = {"pair": "k", "rater": "r", "kind": "person", "arm": "full", "community": "c", "real_first": True,
              "chosen": "first", "wrong": False, "chance_wrong": None}  # fmt: skip
    (folder / "study.json").write_text(json.dumps(asdict(Material(("r",), "real.jsonl"))))
    for name, rows in {"pairs": pairs, "browse": [thread], "answers": [answer]}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def ends(folder: Path) -> set[str]:
    words = ["discern", "--study", "s", "--workspace", str(folder.parents[1])]
    answers = (folder / "answers.jsonl").read_bytes()
    report = outcome([*words, "--report"])
    rate = outcome([*words, "--model", "scripted:uniform"])
    (folder / "answers.jsonl").write_bytes(answers)
    return {report, rate}


@pytest.mark.parametrize("file", ["study.json", "pairs.jsonl", "browse.jsonl", "answers.jsonl"])
def test_a_received_study_with_a_wrong_value_is_read_or_refused_in_words(received: Path, file: str) -> None:
    assert ends(received) == {"done"}
    rows = [json.loads(line) for line in (received / file).read_text().splitlines()]
    for name in rows[0]:
        for value in random.Random(name).sample(VALUES, 8):
            changed = [rows[0] | {name: value}, *rows[1:]]
            (received / file).write_text("".join(json.dumps(row) + "\n" for row in changed))
            assert ends(received) <= {"done", "P100"}, (file, name, value)


@pytest.mark.parametrize("file", ["study.json", "pairs.jsonl", "browse.jsonl", "answers.jsonl"])
@pytest.mark.parametrize("content", [b"{bad", b"[]", b"5", b"\xff", b"[" * 5000])
def test_a_received_study_with_a_file_of_something_else_is_refused(received: Path, file: str, content: bytes) -> None:
    (received / file).write_bytes(content)
    assert ends(received) == {"P100"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("key", [1]), ("key", {}), ("arm", [1]), ("arm", None), ("goal", 5), ("seed", "x"), ("seed", True), ("seed", 1.5)],
)
def test_a_pair_with_a_value_of_the_wrong_kind_is_named(received: Path, name: str, value: Any) -> None:
    rows = [json.loads(line) for line in (received / "pairs.jsonl").read_text().splitlines()]
    (received / "pairs.jsonl").write_text("\n" + json.dumps(rows[0] | {name: value}))
    with pytest.raises(UsageError, match=f"pairs.jsonl, line 2: `{name}` is .*, not a (text|whole number)"):
        _ = Study(Workspace(received.parents[1]), "s").pairs


def test_raters_have_names() -> None:
    assert rater_name(" Ann\u202e\n Lee ") == "Ann Lee"
    for name in ("", " \x00 ", "x" * 61):
        with pytest.raises(UsageError):
            rater_name(name)


def test_raters_of_a_study_read_real_threads_first_that_are_in_no_pair(place: Workspace, material: Material) -> None:
    study = Study.make(place, "browsed", replace(material, browse=2, between=True))
    assert len(study.browsing) == 2
    assert len(study.pairs) == 3
    assert not {thread.title for thread in study.browsing} & {pair.real.title for pair in study.pairs}
    assert study.between
    assert not Study.make(place, "plain", material).between
    with pytest.raises(UsageError, match="none would be left"):
        Study.make(place, "greedy", replace(material, browse=5))
