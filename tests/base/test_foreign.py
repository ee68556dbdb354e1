"""Foreign text can be read wherever it is shown, and acts nowhere."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from html.parser import HTMLParser

import polars as pl
import pytest

from populace.base import foreign
from populace.base.errors import PopulaceError
from populace.base.foreign import (
    MAX_NAME_BYTES,
    for_cell,
    for_file_name,
    for_html,
    for_identifier,
    for_json,
    for_line,
    for_markdown,
    for_page,
    for_prompt,
    for_terminal,
    from_cell,
    unique_names,
)
from populace.base.foreign_columns import csv_table, prompt_column
from support.hostile import NESTED, ORDINARY, TOKENS, acting_parts, control_tokens_in, foreign_strings, is_formula

STRINGS = foreign_strings(1500, surrogates=True)
COLUMN = foreign_strings(1000)


def test_the_strings_are_hostile() -> None:
    """Otherwise the tests below could not fail."""
    assert len(set(COLUMN)) == len(COLUMN) == 1000
    assert sum(bool(acting_parts(text)) for text in STRINGS) > 500
    assert sum(bool(control_tokens_in(text)) for text in STRINGS) > 500
    assert sum(map(is_formula, STRINGS)) > 80


@pytest.mark.parametrize("show", [for_terminal, for_line, for_html, for_markdown, for_cell, for_page])
def test_nothing_acts_where_it_is_shown(show: object) -> None:
    assert [text for text in STRINGS if acting_parts(str(show(text)))] == []  # type: ignore[operator]


@pytest.mark.parametrize("show", [for_terminal, for_line, for_page, for_prompt, for_file_name])
def test_text_that_passed_once_does_not_change_again(show: object) -> None:
    once = [show(text) for text in STRINGS]  # type: ignore[operator]
    assert [show(text) for text in once] == once  # type: ignore[operator]


@pytest.mark.parametrize(
    "text", [*ORDINARY, "one\n\ttwo", "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"]
)
def test_ordinary_text_of_any_script_stays_as_it_is(text: str) -> None:
    assert for_terminal(text) == for_cell(text) == for_prompt(text) == text


@pytest.mark.parametrize("text", ["if a < b and c > d", "x <- 3 |> sqrt()", "<b>bold</b>", "[1] first [x] done", "List<String>",
                                  "a <|> b", "<post>hello</post>", "[link](x)", "[inst]", "1 << 2 >> 3", "<sarcasm>"])  # fmt: skip
def test_a_prompt_with_brackets_that_no_model_reads_stays_as_it_is(text: str) -> None:
    assert for_prompt(text) == text


@pytest.mark.parametrize("text", [*TOKENS, *NESTED])
def test_a_control_token_in_a_prompt_stays_readable_and_is_none(text: str) -> None:
    safe = for_prompt(f"You are {text}, a nurse.")
    assert control_tokens_in(safe) == []
    letters = [character for character in text if character.isascii() and character.isalnum()]
    assert [character for character in safe[8:-10] if character.isascii() and character.isalnum()] == letters


def test_a_token_that_is_split_over_fields_is_found_after_the_join() -> None:
    assert for_prompt("".join(["<|im", "_end", "|>"])) == "‹|im_end|›"


def test_a_column_of_prompts_is_treated_like_each_of_its_texts() -> None:
    column = pl.Series("user", COLUMN)
    assert prompt_column(column).to_list() == [for_prompt(text) for text in COLUMN]
    assert prompt_column(column.head(20)).to_list() == [for_prompt(text) for text in COLUMN[:20]]
    plain = pl.Series([f"You are number {number}." for number in range(100)])
    assert prompt_column(plain) is plain
    for text in (*COLUMN[:40], "plain", "", None):
        same = pl.Series("user", [text] * 100, dtype=pl.String)
        expected = text if text is None else for_prompt(text)
        assert prompt_column(same).to_list() == [expected] * 100 and prompt_column(same).name == "user"
    for code in range(256):
        one = pl.Series(["plain\t\n ~"] * 70 + [f"a{chr(code)}b"])
        assert prompt_column(one).to_list() == [for_prompt(text) for text in one]


def test_cells_are_no_formulas_and_can_be_read_back() -> None:
    cells = [for_cell(text) for text in STRINGS]
    assert [cell for cell in cells if is_formula(cell)] == []
    assert [from_cell(cell) for cell in cells] == [for_terminal(text) for text in STRINGS]


@pytest.mark.parametrize("number", ["-1.5", "+3", "-0", "1e-5", "-.5", "-12%"])
def test_numbers_stay_numbers(number: str) -> None:
    assert for_cell(number) == from_cell(number) == number


def test_a_table_for_a_spreadsheet_keeps_numbers_and_names_columns_apart() -> None:
    table = pl.DataFrame({"=a": COLUMN, "'=a": [-1.5] * 1000, "\x1b": [None, *COLUMN[1:]], "\x1c": [True] * 1000})
    rows = list(csv.reader(io.StringIO(csv_table(table).write_csv())))
    assert rows[0] == ["'=a", "''=a", "�", "� 2"]
    assert rows[1][1:] == ["-1.5", "", "true"]
    assert [cell for row in rows for cell in (row[0], row[2]) if is_formula(cell) or acting_parts(cell)] == []


def test_html_holds_the_text_and_no_element() -> None:
    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.elements: list[str] = []
            self.text = ""

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.elements.append(tag)

        def handle_data(self, data: str) -> None:
            self.text += data

    for text in STRINGS:
        reader = Reader()
        reader.feed(f'<p title="{for_html(text)}">{for_html(text)}</p>')
        reader.close()
        assert reader.elements == ["p"]
        assert reader.text == for_terminal(text)


def test_a_database_takes_any_name_of_a_column() -> None:
    names = unique_names([for_line(text) for text in STRINGS[:300]])
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE t ({', '.join(map(for_identifier, names))})")
        assert [row[1] for row in database.execute("PRAGMA table_info(t)")] == names


def test_json_stays_the_same_data() -> None:
    for text in STRINGS:
        document = for_json({text: [text, 1, None]})
        assert acting_parts(document) == []
        assert json.loads(document) == {text: [text, 1, None]}


def test_a_file_name_stays_in_its_folder() -> None:
    for text in STRINGS:
        name = for_file_name(text)
        assert 0 < len(name.encode()) <= MAX_NAME_BYTES
        assert not set(name) & set('/\\:*?"<>|\n\t\0') and name[0] not in ".-~"
    assert for_file_name("x" * 300) != for_file_name("x" * 299 + "y"), "names that are cut stay distinct"
    assert [for_file_name(name) for name in ("", "..", " ", "nul.txt", "com1")] == [
        "unnamed", "unnamed", "unnamed", "file-nul.txt", "file-com1",
    ]  # fmt: skip


def test_an_error_does_not_act_where_python_prints_it() -> None:
    for text in STRINGS[:300]:
        error = PopulaceError(f"the server says {text}", text)
        assert acting_parts(str(error) + error.paragraph() + error.what) == []


def test_every_function_is_in_the_table_of_the_module() -> None:
    functions = [name for name in vars(foreign) if name.startswith(("for_", "from_"))]
    assert [name for name in functions if f"`{name}`" not in (foreign.__doc__ or "")] == []
