"""Margins are read as their authors mean them, and what is wrong with them is named with its line."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from populace.base.errors import QuestionnaireError
from populace.surveys.margins import rake_to, read_margins


def test_yes_and_no_in_a_file_of_margins_are_values_of_the_column(tmp_path: Path) -> None:
    file = tmp_path / "margins.yaml"
    file.write_text("\ufeffsmoker: {yes: 0.2, no: 0.8}\n", encoding="utf-8")
    assert read_margins(str(file)) == {"smoker": {"yes": 0.2, "no": 0.8}}


@pytest.mark.parametrize("content", ["", "- 1", "sex: {f: many}", "sex: {f: 1, f: 2}", "a: &a [*a]", "sex: {"])
def test_a_file_that_holds_no_margins_is_refused_with_its_name(tmp_path: Path, content: str) -> None:
    file = tmp_path / "margins.yaml"
    file.write_text(content)
    with pytest.raises(QuestionnaireError, match=r"margins\.yaml"):
        read_margins(str(file))


def test_a_wrong_share_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "margins.yaml"
    for share in ("many", "-0.5", "0", ".inf", ".nan", "[1]"):
        file.write_text(f"age: {{young: 1}}\nsex:\n  female: 0.5\n  male: {share}\n")
        with pytest.raises(QuestionnaireError, match=r"margins\.yaml, line 4: the share of sex = 'male' is"):
            read_margins(str(file))


PEOPLE = pl.DataFrame({"id": [1, 2, 3], "sex": ["f", "f", "m"], "work": ["yes", "yes", "no"], "w": [1, 1, 0]})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("sex:\n  f: 0.5\n  x: 0.5\n", r"line 3: nobody has sex = 'x'.*The respondents have: f, m"),
        ("sex: {f: 0.5, m: 0.5}\nwork: {yes: 1}\n", r"line 2: 1 of 3 respondents have work = 'no'"),
        ("sex: {f: 0.5, m: 0.5}\nregion: {n: 1}\n", r"line 2: there is no column 'region'"),
        ("sex: {f: 0.9, m: 0.1}\nwork: {yes: 0.1, no: 0.9}\n", r"m\.yaml: the margins cannot all be met"),
        ("work: {yes: 1, no: 1}\nsex:\n  f: 1\n  m: 1\n", r"line 1: everybody with work = 'no' has a weight of zero"),
    ],
)
def test_margins_that_respondents_cannot_meet_are_named_with_their_line(
    tmp_path: Path, content: str, words: str
) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(content)
    with pytest.raises(QuestionnaireError, match=words) as caught:
        rake_to(PEOPLE, file, weight="w" if "of zero" in words else "")
    assert "m.yaml" in str(caught.value)


def test_a_file_and_a_mapping_of_margins_give_the_same_weights(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("sex: {f: 0.5, m: 0.5}\n")
    assert rake_to(PEOPLE, file).to_list() == rake_to(PEOPLE, {"sex": {"f": 0.5, "m": 0.5}}).to_list()
