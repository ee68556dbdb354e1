from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

from populace import simulate
from populace.base.errors import UsageError
from populace.cli import cli
from populace.community import Community
from populace.community.conversations import conversations_of, write_threads
from populace.models import HashingEmbedder
from populace.models.openai_embedder import OpenAIEmbedder
from populace.runs.export import RESPONSIBLE_USE
from support.board import Board, writer


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("workspace")
    for seed in (1, 2):
        run = simulate(Board(), model=writer(0.5), seed=seed, workspace=place)
        (place / f"name{seed}").write_text(run.name)
        write_threads(conversations_of(Community(run)), place / f"real{seed}.jsonl")
    return place


@pytest.fixture(autouse=True)
def _fresh_help() -> Iterator[None]:
    """Click keeps the help option of a command that was called, which would change the reference of commands."""
    yield
    with cli.make_context("populace", [], resilient_parsing=True) as context:
        for command in ("show", "export", "judge", "digest", "discern"):
            cli.get_command(context, command)._help_option = None  # type: ignore[union-attr]


def called(place: Path, *arguments: str, keys: str = "") -> Result:
    done = CliRunner().invoke(cli, [*arguments, "--workspace", str(place)], input=keys, catch_exceptions=False)
    assert done.exit_code == 0
    return done


def data(done: Result) -> Any:
    return json.loads(done.stdout.strip().splitlines()[-1])["data"]


def name(place: Path, seed: int = 1) -> str:
    return (place / f"name{seed}").read_text()


def test_show_reads_a_thread(place: Path) -> None:
    told = data(called(place, "show", name(place), "--thread", "6", "--json"))
    assert (told["thread"], [post["post"] for post in told["posts"]]) == (2, [2, 6, 10, 14])


def test_show_names_the_posts_there_are(place: Path) -> None:
    with pytest.raises(UsageError, match="no post 777; they are numbered 1 to 16"):
        CliRunner().invoke(
            cli, ["show", name(place), "--thread", "777", "--workspace", str(place)], catch_exceptions=False
        )


@pytest.mark.parametrize("form", ["parquet", "csv", "sqlite", "html"])
def test_every_export_is_marked_and_prints_the_note(place: Path, tmp_path: Path, form: str) -> None:
    target = tmp_path / f"out.{form}"
    done = called(place, "export", name(place), "--to", form, str(target), "--json")
    assert json.loads(done.stdout)["warnings"] == [RESPONSIBLE_USE]
    if form == "html":
        assert RESPONSIBLE_USE in target.read_text()
    elif form == "sqlite":
        with sqlite3.connect(target) as opened:
            assert opened.execute("SELECT note FROM note").fetchone()[0] == RESPONSIBLE_USE
            assert opened.execute("SELECT DISTINCT generated FROM posts").fetchall() == [("1",)]
        opened.close()
    else:
        read = pl.read_csv if form == "csv" else pl.read_parquet
        assert read(target / f"note.{form}")["note"][0] == RESPONSIBLE_USE
        assert read(target / f"posts.{form}")["generated"].all()


def test_judge_then_digest_then_the_page_know_what_was_found(place: Path, tmp_path: Path) -> None:
    run = name(place)
    judged = called(place, "judge", run, "--model", "scripted:first", "--json")
    assert "scripted:first is a script, not a language model" in judged.stdout
    told = data(judged)
    rates = {row["question"]: row["rate"] for row in told["runs"][run]["rates"]}
    assert rates["rule_2"] == 1.0
    digest = data(called(place, "digest", run, "--json"))
    assert [row["broken"] for row in digest["by_rule"]] == [16, 16]
    called(place, "export", run, "--to", "html", str(tmp_path / "c.html"))
    assert "breaks rule 2" in (tmp_path / "c.html").read_text()
    called(place, "judge", run, "--sample", "3", str(tmp_path / "check.csv"))
    assert pl.read_csv(tmp_path / "check.csv").height == 3


def test_digest_pays_for_a_vector_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def embed(_: OpenAIEmbedder, texts: Sequence[str]) -> Any:
        asked.append(len(texts))
        return HashingEmbedder(16).embed(texts)

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr(OpenAIEmbedder, "embed", embed)
    served = ("digest", name(place), "--embedder", "openai:small", "--json")
    first, again = (data(called(place, *served)) for _ in range(2))
    assert len(asked) == 1
    assert first["unusual"] == again["unusual"]


def test_pairs_are_rated_with_one_key_and_the_session_goes_on(place: Path, tmp_path: Path) -> None:
    answers = str(tmp_path / "answers.jsonl")
    usual = ("discern", name(place), "--real", str(place / "real2.jsonl"), "--rater", "Ann", "--answers", answers)
    done = called(place, *usual, keys="1xq")
    assert "Which one is real?" in done.stdout
    assert len(Path(answers).read_text().splitlines()) == 1
    called(place, *usual, keys="2" * 20)
    rows = [json.loads(line) for line in Path(answers).read_text().splitlines()]
    assert len(rows) == len({row["pair"] for row in rows}) > 1
    told = data(called(place, *usual, "--report", "--json"))
    assert told["rates"][0]["answers"] == len(rows)
    assert told["rates"][0]["published"] == 0.41


def test_a_study_is_made_with_runs_and_rated_without_them(place: Path) -> None:
    made = data(called(place, "discern", name(place), "--real", str(place / "real2.jsonl"), "--study", "s1", "--json"))
    assert made["study"] == "s1" and made["pairs"] > 1 and made["arms"] == {"full": made["pairs"]}
    called(place, "discern", "--study", "s1", "--rater", "Ann", keys="1q")
    called(place, "discern", "--study", "s1", "--model", "scripted:first")
    told = data(called(place, "discern", "--study", "s1", "--report", "--json"))
    assert {row["who"]: row["answers"] for row in told["rates"]} == {"persons": 1, "models": made["pairs"]}


def test_raters_read_real_threads_first_and_get_one_arm(place: Path) -> None:
    settings = ("--study", "s2", "--browse", "1", "--between")
    called(place, "discern", name(place), "--real", str(place / "real2.jsonl"), *settings)
    first = called(place, "discern", "--study", "s2", "--rater", "Ann", keys=" 1q")
    assert "a real thread to read first, 1 of 1" in first.stdout
    again = called(place, "discern", "--study", "s2", "--rater", "Ann", keys="q")
    assert "to read first" not in again.stdout


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "no run is named"),
        (("RUN",), "--real needs a value"),
        (("--study", "none"), "no study named 'none'"),
        (("--study", "s", "--answers", "x"), "exclude one another"),
    ],
)
def test_discern_says_what_is_missing(place: Path, arguments: tuple[str, ...], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        CliRunner().invoke(cli, ["discern", *arguments, "--workspace", str(place)], catch_exceptions=False)
