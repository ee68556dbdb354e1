"""Odd surroundings: a locale without Unicode, no home, few file descriptors, a full disk, places that cannot be written."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import populace
from populace import open_run
from populace.journal import Journal, verify_journal
from support.commands import populace as command
from support.fake_server import FakeServer

SOURCE = Path(populace.__file__).parent
SMALL = ["--workers", "8", "--days", "6", "--model", "scripted:uniform", "--no-chart"]
SEVERAL = """
import json, resource, sys
from unittest import mock
from populace.cli import main
for kind, limit in json.loads(sys.argv[2]).items():
    resource.setrlimit(getattr(resource, kind), (limit, limit))
for words in json.loads(sys.argv[1]):
    with mock.patch("sys.argv", ["populace", *words]):
        try:
            main()
        except SystemExit as leaving:
            print("EXIT", words[0], leaving.code, flush=True)
"""


def several(*commands: list[str], limits: dict[str, int] | None = None, **environment: str) -> tuple[list[int], str]:
    """The exit codes of commands that one process calls, and all that it prints."""
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE.parent), "POPULACE_AUTHOR": "somebody"}
    variables |= environment
    words = [sys.executable, "-c", SEVERAL, json.dumps(commands), json.dumps(limits or {})]
    done = subprocess.run(words, env=variables, capture_output=True, timeout=300)
    text = (done.stdout + done.stderr).decode("utf-8", "replace")
    return [int(code) for code in re.findall(r"^EXIT \S+ (\d+)$", text, flags=re.MULTILINE)], text


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}]
)
def test_a_locale_without_unicode_or_with_another_i_changes_nothing(tmp_path: Path, locale: dict[str, str]) -> None:
    (tmp_path / "design.yaml").write_text(
        "name: İlgi Iğdır\ngoal: birbirine yardım — “evet”\npersonas: [İpek bir öğretmen, Ilgın bir çiftçi, IŞIK]\n"
        "posts: 2\nreplies: 1\npeople: 4\n", encoding="utf-8"
    )  # fmt: skip
    commands = [["run", "forum", "--design", "design.yaml", "--model", "scripted:cast", "--no-chart"]]
    commands += [["show", "last"], ["show", "last", "--json"], ["list"], ["export", "last", "out", "--format", "csv"]]
    codes, text = several(*commands, HOME=str(tmp_path), **locale)
    assert codes == [0] * 5, text
    assert "Traceback" not in text and "P000" not in text
    assert "İlgi" in (tmp_path / "runs" / open_run().name / "manifest.json").read_text(encoding="utf-8")


def test_without_a_home_that_can_be_written_everything_but_remembered_trust_works(tmp_path: Path) -> None:
    codes, text = several(
        ["new", "mine"], ["run", "mine.py", "--model", "scripted:uniform", "--no-chart"], ["show", "last"], ["list"],
        ["replay", "last"], limits={"RLIMIT_NOFILE": 64}, HOME="/dev/null/nowhere",
    )  # fmt: skip
    assert codes == [0] * 5, text
    codes, text = several(["replay", "last"], ["replay", "last", "--trust"], HOME="/dev/null/nowhere")
    assert codes == [2, 0], text
    assert "replay last --trust" in text and "Traceback" not in text


def test_a_user_without_any_home_has_no_price_table_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    done = command("run", "norms", *SMALL)
    assert done.returncode == 0, done.stderr
    assert command("models").returncode in (0, 3)


def test_with_more_connections_than_files_may_be_open_one_paragraph_names_the_option(tmp_path: Path) -> None:
    with FakeServer(latency_s=0.2) as server:
        model = ["--model", f"{server.url}#fake-1", "--concurrency", "128", "--retries", "1", "--days", "1"]
        run = ["run", "norms", "--workers", "200", *model, "--no-chart"]
        codes, text = several(run, limits={"RLIMIT_NOFILE": 64}, HOME=str(tmp_path))
        assert codes[0] in (4, 5), text
        assert "Traceback" not in text and "P000" not in text
        assert "too many" in text.lower() and "--concurrency" in text, text
        hint = re.search(r"[Cc]ontinue with: populace (resume \S+)", text)
        assert hint is not None, text
        assert command(*hint[1].split(), "--no-chart", "--concurrency", "8").returncode == 0


def test_on_a_full_disk_one_paragraph_says_so_and_what_was_paid_for_is_not_lost(tmp_path: Path) -> None:
    codes, text = several(["run", "norms", *SMALL], limits={"RLIMIT_FSIZE": 64 * 1024}, HOME=str(tmp_path))
    assert codes == [4], text
    assert "Traceback" not in text and "P000" not in text
    hint = re.search(r"[Cc]ontinue with: populace (resume \S+)", text)
    assert hint is not None, text
    before = open_run()
    asked = sum(line["calls"] for line in before.record.usage())
    resumed = command(*hint[1].split(), "--no-chart")
    assert resumed.returncode == 0, resumed.stderr
    whole = command("run", "norms", *SMALL, "--workspace", str(tmp_path / "undisturbed"))
    assert whole.returncode == 0
    undisturbed = open_run("last", tmp_path / "undisturbed")
    assert open_run(before.name).digest == undisturbed.digest
    assert open_run(before.name).usage().calls <= undisturbed.usage().calls
    assert asked > 0 and verify_journal(Journal(before.folder))


@pytest.mark.parametrize(
    "words", [["new", "x"], ["new", "x", "--community"], ["run", "norms", *SMALL], ["experiment", "e.yaml"]]
)
def test_a_place_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    (tmp_path / "e.yaml").write_text(
        "name: e\nscenario: norms\nfactors: {initial_share: [0.2, 0.8]}\nparameters: {workers: 2, days: 1}\n"
        "decider: rule\nreplicates: 2\noutcomes: [share_blue]\n"
    )
    blocked = tmp_path / "a file"
    blocked.write_text("")
    if words[0] == "new":
        words = ["new", str(blocked / "x"), *words[2:]]
    else:
        words = [*words, "--workspace", str(blocked / "below")]
    done = command(*words)
    assert done.returncode == 4 and "P000" not in done.stderr, done.stderr
    assert "cannot be written" in done.stderr and str(blocked) in done.stderr


def test_every_text_file_is_opened_with_an_encoding() -> None:
    missing = []
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"(write_text|read_text|open)\(", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or any(each.arg == "encoding" for each in node.keywords):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            modes = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            if name == "write_text" and len(node.args) == 1 and "formatter" not in ast.unparse(node.func):
                missing.append(f"{path}:{node.lineno}")
            if name == "read_text" and isinstance(node.func, ast.Attribute) and not node.args:
                missing.append(f"{path}:{node.lineno}")
            if name == "open" and any(re.fullmatch(r"[rwax]\+?", mode) for mode in modes):
                missing.append(f"{path}:{node.lineno}")
    assert missing == []
