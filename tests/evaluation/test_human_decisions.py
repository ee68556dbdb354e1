"""Decisions of people in many tasks: what is read, what is refused, and what is held out."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from populace.base.errors import HumanDataError, UnknownNameError
from populace.evaluation import DecisionTask, HumanDecisions
from populace.evaluation.decision_tasks import read_decision_tasks, write_decision_tasks
from populace.evaluation.task_situations import task_situations

CARDS: list[dict[str, Any]] = [
    {"id": "tea", "family": "attitude", "question": "Tea or coffee?", "options": ["tea", "coffee"], "licence": "CC0",
     "topics": ["drinks"]},
    {"id": "gift", "family": "game", "question": "You have {amount} {coin}. Do you give half?", "licence": "MIT",
     "options": ["yes", "no"]},
    {"id": "jar", "family": "influence", "question": "Others say {others}. How many?", "licence": "MIT",
     "options": {"min": 1, "max": 100}, "person_note": "one session"},
]  # fmt: skip

ROWS: list[dict[str, Any]] = [
    {"task": "tea", "person": "a", "order": 2, "profile": '{"age": "40"}', "seen": "{}", "answer": "tea", "retest": None},
    {"task": "tea", "person": "a", "order": 1, "profile": '{"age": "38"}', "seen": "{}", "answer": "coffee", "retest": "tea"},
    {"task": "tea", "person": "b", "order": 1, "profile": "{}", "seen": "{}", "answer": "tea", "retest": "tea"},
    {"task": "gift", "person": "c", "order": 1, "profile": "{}", "seen": '{"amount": 10}', "answer": "no", "retest": None},
    {"task": "jar", "person": "d", "order": 1, "profile": "{}", "seen": '{"others": "12"}', "answer": "14.5", "retest": None},
]  # fmt: skip


def corpus(
    folder: Path, rows: list[dict[str, Any]] = ROWS, cards: list[dict[str, Any]] = CARDS, csv: bool = False
) -> Path:
    (folder / "tasks.jsonl").write_text("\n".join(json.dumps(card) for card in cards))
    table = pl.DataFrame(rows, infer_schema_length=None)
    table.write_csv(folder / "decisions.csv") if csv else table.write_parquet(folder / "decisions.parquet")
    return folder


@pytest.mark.parametrize("csv", [False, True])
def test_a_corpus_reads_the_same_from_parquet_and_csv(tmp_path: Path, csv: bool) -> None:
    decisions = HumanDecisions.read(corpus(tmp_path, csv=csv))
    assert decisions.table.height == 5
    assert decisions.table["order"].to_list() == [2, 1, 1, 1, 1]
    assert decisions.tasks["jar"].bounds == (1.0, 100.0)
    assert decisions.licences == {"CC0": ("tea",), "MIT": ("gift", "jar")}


def test_tasks_that_are_written_are_read_as_they_were(tmp_path: Path) -> None:
    tasks = HumanDecisions.read(corpus(tmp_path)).tasks
    write_decision_tasks(tasks.values(), tmp_path / "again.jsonl")
    assert read_decision_tasks(tmp_path / "again.jsonl") == tasks
    assert [task.people_are_known for task in tasks.values()] == [True, True, False]


def test_a_prompt_is_the_question_with_what_the_person_saw(tmp_path: Path) -> None:
    decisions = HumanDecisions.read(corpus(tmp_path))
    assert decisions.prompts("gift").to_list() == ["You have 10 none. Do you give half?"]
    assert decisions.prompts("tea").to_list() == ["Tea or coffee?"] * 3


def test_only_the_tasks_and_families_that_are_named_are_read(tmp_path: Path) -> None:
    folder = corpus(tmp_path)
    assert HumanDecisions.read(folder, tasks=["gift"]).table["person"].to_list() == ["c"]
    assert set(HumanDecisions.read(folder, families=["attitude"]).tasks) == {"tea"}
    with pytest.raises(UnknownNameError, match="gift"):
        HumanDecisions.read(folder, tasks=["gifts"])
    with pytest.raises(UnknownNameError, match="game"):
        HumanDecisions.read(folder, families=["games"])


def test_answers_take_the_first_decision_of_each_person(tmp_path: Path) -> None:
    answers = HumanDecisions.read(corpus(tmp_path)).answers(["tea"], profile=["age"])
    assert answers.people == ("a", "b")
    assert answers.answers.tolist() == [[1], [0]]
    assert answers.retest.tolist() == [[0], [0]]
    assert answers.profiles["age"].to_list() == ["38", None]
    assert answers.licence == "CC0"


def test_a_task_in_which_people_saw_different_things_or_gave_numbers_is_no_item(tmp_path: Path) -> None:
    decisions = HumanDecisions.read(corpus(tmp_path))
    with pytest.raises(HumanDataError, match="different things"):
        decisions.answers(["gift"])
    with pytest.raises(HumanDataError, match="number"):
        decisions.tasks["jar"].item()


@pytest.mark.parametrize(
    ("row", "change", "message"),
    [
        (2, {"answer": "milk"}, "line 3: person 'b' in task 'tea': the answer 'milk' is not one of the options"),
        (2, {"retest": "milk"}, "line 3: person 'b' in task 'tea': the retest 'milk' is not one"),
        (4, {"answer": "101"}, "line 5: person 'd' in task 'jar': the answer '101' is not a number within the bounds"),
        (4, {"answer": "many"}, "line 5: person 'd'.*not a number"),
        (4, {"answer": "NaN"}, "line 5: person 'd'.*not a number"),
        (3, {"task": "loan"}, "line 4: person 'c' in task 'loan': the task 'loan' has no card"),
        (3, {"person": None}, "line 4: .*is missing"),
        (3, {"seen": "[1]"}, "line 4: person 'c'.*`seen` is not a JSON object"),
        (3, {"answer": "{x"}, "the answer '{x' is not one of the options"),
    ],
)
def test_a_decision_that_cannot_be_is_refused_with_its_line_and_person(
    tmp_path: Path, row: int, change: dict[str, Any], message: str
) -> None:
    rows = [dict(each) for each in ROWS]
    rows[row].update(change)
    with pytest.raises(HumanDataError, match=message):
        HumanDecisions.read(corpus(tmp_path, rows))


def test_the_line_of_a_csv_file_counts_the_names_of_the_columns(tmp_path: Path) -> None:
    rows = [*ROWS[:2], ROWS[2] | {"answer": "milk"}]
    with pytest.raises(HumanDataError, match="line 4: person 'b'"):
        HumanDecisions.read(corpus(tmp_path, rows, csv=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": ["tea", "tea"]}, "line 1: task 'tea' needs at least two options"),
        ({"options": "tea"}, "line 1: 'options' is neither"),
        ({"options": {"min": 5, "max": 5}}, "line 1: .*hold no number"),
        ({"licence": ""}, "line 1: the card has no 'licence'"),
        ({"topics": "drinks"}, "line 1: 'topics' is not a list"),
        ({"id": "gift"}, "line 2: the task 'gift' stands twice"),
    ],
)
def test_a_wrong_card_is_refused_with_its_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(HumanDataError, match=message):
        HumanDecisions.read(corpus(tmp_path, cards=[CARDS[0] | change, *CARDS[1:]]))


def test_a_folder_without_the_files_or_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HumanDataError, match=r"tasks\.jsonl could not be read"):
        HumanDecisions.read(tmp_path)
    corpus(tmp_path, [{"task": "tea", "answer": "tea"}])
    with pytest.raises(HumanDataError, match="no column 'person'"):
        HumanDecisions.read(tmp_path)
    (tmp_path / "decisions.parquet").write_bytes(b"PAR1 is not here")
    with pytest.raises(HumanDataError, match="could not be read"):
        HumanDecisions.read(tmp_path)
    (tmp_path / "decisions.parquet").unlink()
    with pytest.raises(HumanDataError, match="neither"):
        HumanDecisions.read(tmp_path)


def many(people: int = 200, tasks: int = 60) -> HumanDecisions:
    cards = {
        f"t{place}": DecisionTask(f"t{place}", "attitude", f"{place}?", "CC0", ("a", "b"),
                                  topics=(f"s{place % 30}", f"s{(place + 1) % 30}")[: 1 + (place >= 30)])
        for place in range(tasks)
    }  # fmt: skip
    cards["match"] = DecisionTask("match", "game", "{x}?", "CC0", ("a", "b"), people_are_known=False)
    who = pl.DataFrame({"person": [f"p{person}" for person in range(people)]})
    table = who.join(pl.DataFrame({"task": list(cards)}), how="cross").with_columns(answer=pl.lit("a"))
    return HumanDecisions.from_table(table, cards)


def test_no_part_of_a_split_shares_a_unit_with_another() -> None:
    decisions = many()
    for by, column in (("person", "person"), ("task", "task"), ("item", "task")):
        split = decisions.split(by)  # type: ignore[arg-type]
        parts = [
            set(part.table.filter(pl.col("task") != "match")[column].to_list())
            for part in (split.training, split.development, split.test)
        ]
        assert not parts[0] & parts[1] and not parts[0] & parts[2] and not parts[1] & parts[2]
        assert sum(part.table.height for part in (split.training, split.development, split.test)) == 200 * 61
    split = decisions.split("topic")
    topics = [
        {topic for task in part.tasks.values() for topic in task.topics}
        for part in (split.training, split.development, split.test)
    ]
    assert not topics[0] & topics[1] and not topics[0] & topics[2] and not topics[1] & topics[2]
    assert split.left_out > 0


def test_the_part_of_a_person_follows_from_the_name_alone_and_sessions_are_held_out_by_task() -> None:
    split = many().split("person")
    test = split.test.table.filter(pl.col("task") != "match")["person"].unique().to_list()
    assert sorted(test) == sorted(f"p{who}" for who in range(200) if zlib.crc32(f"p{who}".encode()) % 10 == 0)
    holders = [part for part in (split.training, split.development, split.test) if "match" in part.tasks]
    assert len(holders) == 1
    other = many().split("person", salt="again")
    assert set(other.test.table["person"]) != set(split.test.table["person"])


def test_a_split_with_an_empty_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HumanDataError, match="no task falls into the"):
        HumanDecisions.read(corpus(tmp_path)).split("task")


@pytest.mark.parametrize("profile", ["{1}", '{"age": }', "{{}}"])
def test_a_profile_that_is_no_object_is_refused(profile: str) -> None:
    task = DecisionTask("tea", "attitude", "Tea or coffee?", "CC0", ("tea", "coffee"))
    rows = {"task": ["tea"] * 2, "person": ["a", "b"], "answer": ["tea", "tea"], "profile": ["{}", profile]}
    decisions = HumanDecisions.from_table(pl.DataFrame(rows), {"tea": task})
    with pytest.raises(HumanDataError, match="a `profile` cannot be read"):
        task_situations(decisions)
