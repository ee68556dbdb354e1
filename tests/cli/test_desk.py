"""Somebody plays a person at the keyboard."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

from populace import Run
from populace.cli.desk import KeyboardDesk, LineReader
from populace.cli.progress import RunDisplay
from populace.deciders import DeskQuestion
from populace.engine.workspace import Workspace
from support.commands import populace

NORMS = ("run", "norms", "--workers", "3", "--days", "3", "--decider", "rule", "--no-chart")


def typing(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    with mock.patch("sys.stdin", io.StringIO(text)):
        return populace(*arguments)


def test_answers_are_typed_as_words_or_numbers_and_asked_for_again(tmp_path: Path) -> None:
    place = ("--workspace", str(tmp_path))
    ended = typing("purple\nblue\n2\n1\n", *NORMS, "--play", "1", *place)
    assert ended.returncode == 0, ended.stderr
    assert "That is none of the options: blue, green. Once more." in ended.stderr
    assert "Which shirt do you wear" in ended.stderr and "You are " in ended.stderr
    run = Run(Workspace(tmp_path).open("last"))
    assert [run.people(step)["shirt"][1] for step in (1, 2, 3)] == ["blue", "green", "blue"]
    why = populace("why", run.name, "--step", "2", "--person", "1", *place)
    assert "reply" in why.stdout and "human" in why.stdout


def test_the_end_of_the_input_stops_the_run_and_resume_asks_only_for_the_rest(tmp_path: Path) -> None:
    place = ("--workspace", str(tmp_path))
    ended = typing("blue\n", *NORMS, "--play", "1", *place)
    assert ended.returncode == 130 and "the input ended before" in ended.stderr and "resume" in ended.stderr
    resumed = typing("green\ngreen\n", "resume", "last", "--no-chart", *place)
    assert resumed.returncode == 0, resumed.stderr
    run = Run(Workspace(tmp_path).open("last"))
    assert [run.people(step)["shirt"][1] for step in (1, 2, 3)] == ["blue", "green", "green"]
    assert populace("replay", run.name, "--verify", *place).returncode == 0


def test_a_form_is_asked_field_by_field() -> None:
    desk = KeyboardDesk(RunDisplay())
    question = DeskQuestion("1/0", 0, "Ann", "", "", "About you.", "", (), (("age", "a number"), ("tea", "yes / no")))
    with mock.patch("sys.stdin", io.StringIO("41\nyes\n")):
        assert asyncio.run(desk.reply(question)) == '{"age": "41", "tea": "yes"}'


def test_a_list_is_typed_line_by_line() -> None:
    desk = KeyboardDesk(RunDisplay())
    question = DeskQuestion(
        "1/0", 0, "Ann", "", "", "Plan.", "Write a line for each: at | doing", columns=("at", "doing")
    )
    with mock.patch("sys.stdin", io.StringIO("07:00 | eat\n08:00 | walk\n\nnext")):
        assert asyncio.run(desk.reply(question)) == "07:00 | eat\n08:00 | walk"


def test_lines_of_a_pipe_are_read_one_by_one_and_waiting_can_be_cancelled() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as file, mock.patch("sys.stdin", file):
        lines = LineReader()
        os.write(writing, b"one\r\ntwo\nthr")
        assert [lines.read_line(), lines.read_line()] == ["one", "two"]
        cancelled = threading.Event()
        cancelled.set()
        assert lines.read_line(cancelled) is None
        os.write(writing, "ee\xe9".encode())
        os.close(writing)
        assert [lines.read_line(), lines.read_line()] == ["three\xe9", None]


def test_ctrl_c_stops_a_run_that_waits_for_an_answer(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "populace", *NORMS, "--play", "1", "--workspace", str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdin is not None and run.stderr is not None
        run.stdin.write("blue\n")
        run.stdin.flush()
        boxes = (line for line in run.stderr if line.startswith("╭─ You are Sanjay"))
        assert [next(boxes), next(boxes)]
        run.send_signal(signal.SIGINT)
        assert "interrupted while somebody was asked" in run.stderr.read()
        assert run.wait(120) == 130
    assert Run(Workspace(tmp_path).open("last")).steps[-1] == 1
