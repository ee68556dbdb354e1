"""The command `survey` checks what it is told before anybody is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from populace.cli import cli


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--by", "sexx"], "Did you mean 'sex'?"),
        (["--to", "answers.xlsx"], "does not say a format"),
        (["--to", "PEOPLE"], "exists already"),
        (["--weight", "age", "--margins", "MARGINS"], "margins.yaml, line 1: nobody has sex = 'x'"),
    ],
)
def test_what_cannot_be_done_is_said_before_anybody_is_asked(tmp_path: Path, extra: list[str], message: str) -> None:
    people, items, margins = (tmp_path / name for name in ("people.csv", "items.csv", "margins.yaml"))
    people.write_text("id,age,sex\n1,20,f\n2,30,m\n")
    items.write_text("id,text,options\ntea,Tea?,yes|no\n")
    margins.write_text("sex: {f: 0.5, x: 0.5}\n")
    files = {"PEOPLE": str(people), "MARGINS": str(margins)}
    words = ["survey", str(people), str(items), "--model", "scripted:uniform", "--workspace", str(tmp_path)]
    done = CliRunner().invoke(cli, [*words, *(files.get(word, word) for word in extra)])
    assert message in f"{done.exception} {getattr(done.exception, 'hint', '')}"
    assert not (tmp_path / "runs").exists()
