"""The command `survey` reads its files as their authors mean them."""

from __future__ import annotations

from pathlib import Path

import pytest

from populace.base.errors import QuestionnaireError
from populace.cli.surveys import _margins


def test_yes_and_no_in_a_file_of_margins_are_values_of_the_column(tmp_path: Path) -> None:
    file = tmp_path / "margins.yaml"
    file.write_text("\ufeffsmoker: {yes: 0.2, no: 0.8}\n", encoding="utf-8")
    assert _margins(str(file)) == {"smoker": {"yes": 0.2, "no": 0.8}}


@pytest.mark.parametrize("content", ["", "- 1", "sex: {f: many}", "sex: {f: 1, f: 2}", "a: &a [*a]", "sex: {"])
def test_a_file_that_holds_no_margins_is_refused_with_its_name(tmp_path: Path, content: str) -> None:
    file = tmp_path / "margins.yaml"
    file.write_text(content)
    with pytest.raises(QuestionnaireError, match=r"margins\.yaml"):
        _margins(str(file))


def test_a_wrong_share_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "margins.yaml"
    for share in ("many", "-0.5", ".inf", ".nan", "[1]"):
        file.write_text(f"age: {{young: 1}}\nsex:\n  female: 0.5\n  male: {share}\n")
        with pytest.raises(QuestionnaireError, match=r"margins\.yaml, line 4: the share of sex = 'male' is"):
            _margins(str(file))
