"""Sessions: generated ones hold what their preferences say, and logs of others are checked row by row."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from populace.base.errors import WorldError
from populace.worlds.web.page import WebPage
from populace.worlds.web.session_generator import generate_sessions
from populace.worlds.web.sessions import PARTS, WebSessions
from populace.worlds.web.shop import ORDER, SEARCH

SESSIONS = generate_sessions(150, shops=5, visits=2, seed=3)
PAGE = '<h1>Shop</h1><input name="search"><a name="tea.view">View</a>'
LOG = pl.DataFrame(
    {
        "person": ["a", "a", "b"],
        "session": ["1", "1", "2"],
        "step": [1, 2, 1],
        "page": [PAGE] * 3,
        "action": ["type_and_submit", "click", "terminate"],
        "element": ["search", "tea.view", None],
        "text": ["tea", None, None],
    }
)


def test_generated_sessions_repeat_and_every_action_is_possible_on_its_page() -> None:
    assert generate_sessions(150, shops=5, visits=2, seed=3).table.equals(SESSIONS.table)
    assert not generate_sessions(150, shops=5, visits=2, seed=4).table.equals(SESSIONS.table)
    # WebSessions.from_table has checked every row; what the preferences make likeliest is possible too.
    likely = SESSIONS.table.with_columns(
        **{name: pl.col(f"likely_{name}") for name in ("action", "element", "text")},
        session=pl.int_range(pl.len()),
        step=1,
    )
    WebSessions.from_table(likely)


def test_the_likeliest_action_is_taken_as_often_as_its_probability_says() -> None:
    table = SESSIONS.table
    taken = pl.all_horizontal(
        pl.col(name).eq_missing(pl.col(f"likely_{name}")) for name in ("action", "element", "text")
    )
    share = table.select(taken.mean()).item()
    expected = table.filter(taken)["chance"].sum() / table.height
    assert 0.85 < share < 0.97 and abs(share - expected) < 0.15
    # Where the likeliest action was taken its probability is the largest of at most three.
    assert table.filter(taken)["chance"].min() >= 1 / 3
    assert table.filter(~taken)["chance"].max() <= 0.5


def test_people_stay_within_their_budget_and_their_least_rating() -> None:
    bought = SESSIONS.table.filter((pl.col("element") == ORDER) & (pl.col("chance") > 0.5))
    paid = bought["page"].str.extract(r"to pay \$([\d.]+)").cast(pl.Float64)
    budget = bought["profile"].str.extract(r"at most \$(\d+)").cast(pl.Float64)
    assert bought.height > 50 and (paid <= budget).all()
    added = SESSIONS.table.filter(pl.col("element") == "product.add_to_cart")
    stars = added["page"].str.extract(r"([\d.]+) stars").cast(pl.Float64)
    least = added["profile"].str.extract(r"below ([\d.]+) stars").cast(pl.Float64)
    assert (stars >= least).all()


def test_a_session_begins_with_what_the_person_wants_and_ends_once() -> None:
    first = SESSIONS.table.filter((pl.col("step") == 1) & (pl.col("action") == "type_and_submit"))
    assert (first["element"] == SEARCH).all()
    assert first.select(pl.col("profile").str.contains(pl.col("text"), literal=True).all()).item()
    outcomes = SESSIONS.outcomes
    assert set(outcomes["outcome"].to_list()) == {"purchase", "terminate"} and outcomes.height == 300
    assert SESSIONS.purchase_elements == (ORDER,)


def test_a_split_shares_no_person_and_no_shop_with_training() -> None:
    parts = SESSIONS.split()
    assert set(parts) == set(PARTS)
    people = {name: set(part.table["person"]) for name, part in parts.items()}
    shops = {name: set(part.table["shop"]) for name, part in parts.items()}
    assert people["training"].isdisjoint(people["unseen_people"] | people["unseen_both"] | people["development"])
    assert shops["training"].isdisjoint(shops["unseen_shops"] | shops["unseen_both"])
    assert all(len(part) for part in parts.values())
    assert (
        shops["unseen_shops"] != {*SESSIONS.split(salt="2")["unseen_shops"].table["shop"]} or len(shops["training"]) < 2
    )


@pytest.mark.parametrize(
    ("row", "change", "problem"),
    [
        (1, {"element": "tea.buy"}, "line 2: the page has no element 'tea.buy'"),
        (0, {"person": None}, "line 1: the person is missing"),
        (1, {"person": ""}, "line 2: the person is missing"),
        (1, {"person": "b"}, "line 1: its session has more than one person"),
        (2, {"session": None}, "line 3: the session is missing"),
        (1, {"step": 3}, "line 2: the steps of its session"),
        (1, {"step": 1}, "the steps of its session"),
        (1, {"action": "hover"}, "line 2: the action 'hover' is none of"),
        (1, {"action": "type_and_submit", "text": "x"}, "'tea.view' is no field"),
        (0, {"action": "click", "text": None}, "'search' is a field"),
        (0, {"text": ""}, "type_and_submit needs a text"),
        (1, {"text": "x"}, "'click' has no text"),
        (2, {"element": "tea.view"}, "terminate has no element"),
        (1, {"element": None}, "'click' needs an element"),
        (0, {"action": "terminate", "element": None, "text": None}, "line 1: its session goes on after terminate"),
        (1, {"page": None}, "the page is missing"),
        (1, {"page": PAGE + PAGE}, "line 2: two elements of a page have the name"),
        (2, {"outcome": "maybe"}, "the outcome 'maybe' is neither"),
    ],
)  # fmt: skip
def test_a_wrong_row_of_a_log_is_named_by_its_line(row: int, change: dict[str, object], problem: str) -> None:
    rows = LOG.with_columns(outcome=pl.lit(None, pl.String)).to_dicts()
    rows[row] |= change
    table = pl.DataFrame(rows, schema_overrides={"outcome": pl.String, "person": pl.String})
    with pytest.raises(WorldError, match=problem):
        WebSessions.from_table(table)


def test_sessions_with_wrong_rows_can_be_left_out_and_are_counted() -> None:
    rows = LOG.to_dicts()
    rows[1] |= {"element": "gone"}
    sessions = WebSessions.from_table(pl.DataFrame(rows), drop_bad=True)
    assert sessions.table["session"].to_list() == ["2"]
    assert sessions.left_out.rows() == [(2, "1", "the page has no element 'gone'")]
    with pytest.raises(WorldError, match="no session that can be used"):
        WebSessions.from_table(pl.DataFrame(rows[:2]), drop_bad=True)


def test_a_log_reads_back_from_every_form_and_lines_count_from_the_top_of_the_file(tmp_path: Path) -> None:
    for ending in ("csv", "jsonl", "parquet"):
        path = WebSessions.from_table(LOG).write(tmp_path / f"log.{ending}")
        assert WebSessions.read(path).table.select(LOG.columns).equals(LOG)
    text = (tmp_path / "log.csv").read_text().replace("tea.view,", "tea.gone,")
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(WorldError, match=r"log\.csv, line \d+: the page has no element 'tea.gone'"):
        WebSessions.read(tmp_path / "log.csv")
    with pytest.raises(WorldError, match="no column 'person'"):
        WebSessions.from_table(LOG.drop("person"))


def test_without_a_column_of_outcomes_a_last_click_is_a_purchase() -> None:
    assert WebSessions.from_table(LOG).outcomes["outcome"].to_list() == ["purchase", "terminate"]
    assert WebSessions.from_table(LOG).purchase_elements == ("tea.view",)
    truncated = LOG.with_columns(outcome=pl.Series([None, None, "terminate"]))
    assert WebSessions.from_table(truncated).outcomes["outcome"].to_list() == [None, "terminate"]


def test_pages_are_read_once_each() -> None:
    assert list(WebSessions.from_table(LOG).pages().values()) == [WebPage.read(PAGE)]
