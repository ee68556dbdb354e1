"""People, events, answers and usage at a step of a run."""

from __future__ import annotations

import contextlib
import shutil

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace import Choice, People, Run, Scenario, simulate
from populace.base.errors import DamagedRunError, UnknownNameError, UsageError
from populace.models import Capabilities, Request, Scripted
from populace.runs import step_answers, step_events, step_people
from populace.runs import usage as run_usage
from support.models import leaning, varied
from support.scenarios import Shirts, Talk


class Diary(Scenario):
    """People note something each day, and every third answer is none."""

    days: int = 3
    chart = ("notes",)

    def setup(self) -> People:
        return People.named(9, seed=self.rng).with_columns(age=pl.Series(range(9)) * 10, mood="calm")

    def length(self) -> int:
        return self.days

    async def step(self) -> None:
        question = Choice("Tea or coffee?", options=("tea", "coffee"))
        await self.ask(self.people, question, given="You are number {id}.", purpose="breakfast")
        self.events("noted", self.people.where(age={"ge": 50}), words="hello", pages=self.t)
        self.event("rain", None, heavy=True)


def silent(request: Request) -> dict[str, float] | str:
    """Two of three answer; the third says something else."""
    number = int(str(request.messages).split("You are number ")[1].split(".")[0])
    return "Perhaps." if number % 3 == 0 else "tea"


def diary(**options: object) -> Run:
    model = Scripted(silent, spec="scripted:silent", capabilities=Capabilities())
    return simulate(Diary(), model=model, seed=3, **options)  # type: ignore[arg-type]


@pytest.fixture
def shirts() -> Run:
    return simulate(Shirts(people_count=40, days=5), model=Scripted(varied, spec="scripted:varied"), seed=2)


def test_people_are_those_of_the_step(shirts: Run) -> None:
    for step in shirts.steps:
        page = step_people.people_page(shirts, step, size=100)
        assert page.table.equals(shirts.people(step).frame)
        assert page.total == 40


def test_pages_of_people_follow_each_other(shirts: Run) -> None:
    pages = [step_people.people_page(shirts, 3, page=page, size=15).table for page in (1, 2, 3, 4)]
    assert [page.height for page in pages] == [15, 15, 10, 0]
    assert pl.concat(pages).equals(shirts.people(3).frame)


def test_people_are_sorted_on_all_pages(shirts: Run) -> None:
    first = step_people.people_page(shirts, 3, sort="name", descending=True, size=3).table
    assert first["name"].to_list() == sorted(shirts.people(3)["name"], reverse=True)[:3]


def test_people_are_found_by_words_and_by_conditions(shirts: Run) -> None:
    frame = shirts.people(2).frame
    name = frame["name"][7]
    assert name in step_people.people_page(shirts, 2, search=name.upper()).table["name"]
    blue = step_people.people_page(shirts, 2, where="shirt = blue and id < 20", size=100)
    assert blue.table.equals(frame.filter(pl.col("shirt") == "blue", pl.col("id") < 20))
    both = step_people.people_page(shirts, 2, where='group ~ "group 1"', sort="id", descending=True, size=2)
    assert both.table["id"].to_list() == [37, 34] and both.total == 13


@pytest.mark.parametrize(
    ("where", "error", "told"),
    [
        ("shrt = blue", UnknownNameError, "Did you mean 'shirt'"),
        ("id > many", UsageError, "holds numbers"),
        ("blue", UsageError, "is not a condition"),
        ("__import__('os')", UsageError, "is not a condition"),
    ],
)
def test_a_condition_that_cannot_be_read_is_told(shirts: Run, where: str, error: type[UsageError], told: str) -> None:
    with pytest.raises(error, match=told):
        step_people.people_page(shirts, 1, where=where)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
def test_whatever_is_typed_as_a_condition_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert all(name for name, _, _ in step_people.parse_conditions(text))


def test_events_come_newest_first() -> None:
    run = diary()
    page = step_events.event_page(run, 2, until=True, size=6)
    assert page.total == 2 * 5
    assert page.table["step"].to_list() == [2, 2, 2, 2, 2, 1]
    assert page.table["kind"][0] == "rain" and page.table["details"][0] == "heavy: yes"
    assert page.table["details"][1] == "words: hello · pages: 2"
    rest = step_events.event_page(run, 2, until=True, page=2, size=6)
    assert rest.table.height == 4


def test_events_are_filtered_by_kind_person_and_words() -> None:
    run = diary()
    assert step_events.event_kinds(run, 3, until=True).rows() == [("noted", 12), ("rain", 3)]
    assert step_events.event_page(run, 3, kind="rain", until=True).total == 3
    name = run.people(3)["name"][6]
    mine = step_events.event_page(run, 3, person=name, until=True)
    assert mine.total == 3 and set(mine.table["name"]) == {name}
    assert step_events.event_page(run, 3, search='PAGES":2', until=True).total == 4
    assert step_events.event_page(run, 3, person="nobody", until=True).total == 0


def test_a_step_without_events_or_questions_is_empty(shirts: Run) -> None:
    assert step_events.event_page(shirts, 2).total == 0
    assert step_answers.question_summaries(shirts, 0) == []
    assert step_answers.invalid_replies(shirts, 0).height == 0


def test_shares_of_answers_have_an_interval_and_what_was_predicted(shirts: Run) -> None:
    (asked,) = step_answers.question_summaries(shirts, 2)
    assert (asked.text, asked.kind, asked.asked, asked.valid) == ("Which shirt?", "choice", 40, 40)
    counts = dict(shirts.answers(2).group_by("value").len().iter_rows())
    for row in asked.values.iter_rows(named=True):
        assert row["people"] == counts.get(row["value"], 0)
        assert row["low"] <= row["share"] == row["people"] / 40 <= row["high"]
        assert shirts.decisions(2, row["person"])[0].value == row["value"]
    expected = [d.draw_distribution["blue"] for i in range(40) for d in shirts.decisions(2, i) if d.draw_distribution]
    assert asked.values["predicted"][0] == pytest.approx(sum(expected) / 40)
    assert asked.values["predicted"].sum() == pytest.approx(1)


def test_what_was_predicted_counts_orders_and_temperature() -> None:
    model = Scripted(varied, spec="scripted:varied")
    run = simulate(Talk(people_count=5, days=1), model=model, seed=2, temperature=0.4)
    for asked in step_answers.question_summaries(run, 1, limit=100):
        if asked.values["predicted"].null_count():
            continue
        made = [
            d for i in range(5) for d in run.decisions(1, i) if d.question["text"] == asked.text and d.draw_distribution
        ]
        expected = [
            sum(d.draw_distribution[value] for d in made if d.draw_distribution) / len(made)
            for value in asked.values["value"]
        ]
        assert asked.values["predicted"].to_list() == pytest.approx(expected)


def test_invalid_answers_are_counted_by_step_and_question_with_what_was_said() -> None:
    run = diary()
    table = step_answers.invalid_by_step(run, 2)
    assert table["invalid"].to_list() == [0, 3, 3]
    assert step_answers.status_counts(run, 2, until=True) == {"ok": 12, "unparseable": 6}
    assert step_answers.invalid_by_question(run, 2, until=True).rows() == [("Tea or coffee?", "unparseable", 6)]
    replies = step_answers.invalid_replies(run, 2)
    assert replies["person"].to_list() == [0, 3, 6]
    assert all("Perhaps." in reply for reply in replies["reply"])
    assert replies["name"].to_list() == [run.people(2)["name"][i] for i in (0, 3, 6)]


def test_usage_is_counted_by_purpose_up_to_a_step() -> None:
    run = diary()
    seen = run_usage.usage_until(run, 2)
    assert seen.total.calls == run.usage(until=3).calls
    rows = {row["purpose"]: row for row in seen.purposes.to_dicts()}
    row = rows["breakfast"]
    assert (row["questions"], row["answers"]) == (2, 18)
    assert sum(each["calls"] for each in rows.values()) == seen.total.calls
    assert row["prompt_tokens"] == run.prompts(until=3)["prompt_tokens"].sum()
    assert row["worth"] == 0.0
    assert seen.steps["step"].to_list() == [0, 1, 2]


def test_a_fork_shows_its_parents_steps_and_pays_for_its_own(shirts: Run) -> None:
    fork = shirts.fork(3, seed=9, model=leaning(0.5))
    assert step_people.people_page(fork, 2).table.equals(step_people.people_page(shirts, 2).table)
    assert run_usage.usage_until(fork, 2).total.calls == 0


def test_a_run_that_is_gone_is_told() -> None:
    run = simulate(Shirts(people_count=17), decider="rule", seed=99)
    shutil.rmtree(run.folder)
    with pytest.raises(DamagedRunError, match="missing"):
        step_people.people_page(run, 2)


def test_tables_of_a_step_in_which_nobody_was_asked_have_their_columns() -> None:
    run = simulate(Shirts(), model=Scripted(varied), seed=1, keep="nothing")
    assert run.answers(at=0).height == run.prompts(at=0).height == 0
    assert run.answers(at=0).schema == run.answers().schema
    assert run.prompts(at=0).schema == run.prompts().schema
