"""Received folders and files of every kind, the commands that read them, and how a command ends."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import signal
import time
import traceback
from pathlib import Path
from typing import Any

import click

from populace import simulate
from populace.base.errors import PopulaceError
from populace.cli import cli
from populace.engine.workspace import Workspace
from populace.experiments import Experiment
from populace.feedback import FeedbackStore, Queue
from populace.models import SMOLLM2
from populace.scenarios.forum import Forum
from populace.scenarios.norms import Norms
from populace.worlds.web.session_generator import generate_sessions
from support.forums import SMALL
from support.received_studies import STUDY_COMMANDS, study_names, write_studies

SECONDS, BLOCKED_SECONDS = 10, 60
"""How long a command may compute, and how long it may wait; a busy machine makes it wait."""
CANARY = "import pathlib\npathlib.Path({!r}).write_text('ran')\ndef f(*a): pathlib.Path({!r}).write_text('called')\n"

QUESTIONNAIRE = """title: Coffee
introduction: You take part in a survey about coffee.
items:
  - {id: drinks, type: single, text: "Do you drink coffee?", options: ["yes", "no"], skip: {"no": why}}
  - id: cups
    type: number
    text: How many cups a day?
    low: 0
    high: 20
  - {id: why, type: text, text: "Why?", words: 10}
"""
RUN_COMMANDS = [
    ("list",),
    ("show", "RUN"),
    ("show", "RUN", "--json"),
    ("show", "RUN", "--step", "1"),
    ("show", "RUN", "--person", "0"),
    ("why", "RUN", "--step", "1", "--person", "0"),
    ("compare", "RUN", "OTHER"),
    ("export", "RUN", "OUT"),
    ("export", "RUN", "OUT", "--to", "sqlite"),
    ("report", "RUN", "--to", "OUT"),
    ("replay", "RUN", "--verify"),
    ("feedback", "RUN"),
    ("interview", "RUN", "Well?", "--person", "0", "--model", "scripted:cast"),
    ("resume", "RUN"),
    ("fork", "RUN", "--at", "2", "--model", "scripted:cast"),
]
WRITING = ("discern", "interview", "resume", "fork", "whatif", "multiverse", "judge", "believability")
"""Commands that write into the workspace, which is put back after them."""
NORMS_COMMANDS = [*RUN_COMMANDS, ("ask-again", "RUN", "--step", "1", "--person", "0", "--temperature", "0.5")]
ROBUST = ("robust", "RUN", "--dry-run", "--seeds", "2")
FORUM_COMMANDS = [
    ("show", "RUN", "--thread", "1"),
    ("digest", "RUN", "--embedder", "hashing:16"),
    ("export", "RUN", "OUT", "--to", "html"),
    ("discern", "RUN", "--real", "REAL", "--report"),
    ("whatif", "RUN", "--post", "1", "--as", "a troll", "--model", "scripted:cast"),
    ("multiverse", "RUN", "--n", "1"),
    ("judge", "RUN", "--ask", "civil", "--model", "scripted:cast"),
]
BELIEVABILITY_COMMANDS = [
    ("believability", "FORUM"),
    ("believability", "FORUM", "--dry-run"),
    ("believability", "--list"),
]
RATING_COMMANDS = [("feedback",), ("feedback", "--by", "run")]
DISCERN_COMMANDS = [
    ("discern", "--study", "pairs", "--report"),
    ("discern", "--study", "pairs", "--model", "scripted:cast"),
]
EXPERIMENT_COMMANDS = [
    ("report", "EXPERIMENT", "--to", "OUT"),
    ("experiment", "--list"),
    ("robust", "EXPERIMENT", "--dry-run"),
]
FILE_COMMANDS = {
    "study.yaml": [("experiment", "FILE", "--dry-run")],
    "hives.yaml": [("run", "forum", "--design", "FILE", "--model", "scripted:none")],
    "real.jsonl": [("discern", "FORUM", "--real", "FILE", "--report")],
    "comments.jsonl": [("discern", "FORUM", "--real", "SUBMISSIONS", "--comments", "FILE", "--report")],
    "submissions.jsonl": [("discern", "FORUM", "--real", "FILE", "--comments", "COMMENTS", "--report")],
    "questionnaire.yaml": [("survey", "PEOPLE", "FILE", "--estimate", "--model", "scripted:cast")],
    "people.csv": [("survey", "FILE", "QUESTIONNAIRE", "--estimate", "--model", "scripted:cast")],
    "margins.yaml": [
        ("survey", "PEOPLE", "QUESTIONNAIRE", "--margins", "FILE", "--estimate", "--model", "scripted:cast")
    ],
    "moves.json": [("run", "norms", "--intervention", "FILE", "--model", "scripted:none")],
    "real.csv": [("discern", "FORUM", "--real", "FILE", "--report")],
    "log.csv": [("sessions", "FILE"), ("sessions", "FILE", "--drop-bad")],
    "log.jsonl": [("sessions", "FILE"), ("next-action", "FILE", "--drop-bad", "--part", "unseen_shops", "--to", "OUT")],
    "ratings.jsonl": [("discern", "FORUM", "--real", "REAL", "--answers", "FILE", "--report")],
    "words.txt": [("export", "FORUM", "OUT", "--to", "html", "--filter", "FILE")],
    "shares.csv": [("report", "NORMS", "--reference", "FILE", "--to", "OUT")],
    "goods.csv": [("run", "shop", "--catalogue", "FILE", "--decider", "rule", "--shoppers", "2", "--actions", "2")],
    **STUDY_COMMANDS,
}


class Hang(BaseException):
    """A command that took too long."""


class Received:
    """A folder with runs, an experiment and files, all of which may be changed."""

    def __init__(self, home: Path) -> None:
        self.home, self.place, self.outside = home, home / "workspace", home / "outside"
        self.outside.mkdir(parents=True)
        (self.outside / "target").write_text('{"a": 1}')
        self.ran = home / "ran"
        code = CANARY.format(str(self.ran), str(self.ran))
        for name in ("canary_file.py", "canary_module.py"):
            (home / name).write_text(code)
        self.canaries = [
            f"{home}/canary_file.py:X", f"{home}/canary_file.py", "canary_module:f", "scripted:canary_module:f",
            "canary_module:X",
        ]  # fmt: skip
        small = {**SMALL, "posts": 3, "people": 6, "replies": 2}
        run = simulate(Norms(workers=3, days=2), model="scripted:uniform", seed=1, workspace=self.place)
        fork = run.fork(2, seed=2)
        forum = simulate(Forum(design=small), model="scripted:cast", seed=1, workspace=self.place)
        self.run, self.fork, self.forum = run.name, fork.name, forum.name
        settings: dict[str, Any] = {
            "name": "study", "scenario": "norms", "factors": {"initial_share": [0.2, 0.8]},
            "parameters": {"workers": 3, "days": 1}, "model": "scripted:uniform", "replicates": 2,
            "outcomes": ["share_blue"],
        }  # fmt: skip
        self.experiment = Experiment(**settings).run(workspace=self.place, workers=1, check=False).name
        files = home / "files"
        files.mkdir()
        lines = [f"{name}: {json.dumps(value)}" for name, value in settings.items()]
        (files / "study.yaml").write_text("\n".join(lines))
        (files / "hives.yaml").write_text("\n".join(f"{name}: {json.dumps(value)}" for name, value in small.items()))
        posts = [
            {"author": "a", "text": "Where do you keep your bees?"},
            {"author": "b", "text": "On the roof.", "parent": 0},
        ]
        (files / "real.jsonl").write_text(json.dumps({"community": "Hives", "title": "Bees", "posts": posts}) + "\n")
        submission = {"id": "s1", "subreddit": "Hives", "author": "a", "title": "Bees", "selftext": "Where?"}
        (files / "submissions.jsonl").write_text(json.dumps(submission) + "\n")
        comment = {
            "id": "c1",
            "link_id": "t3_s1",
            "parent_id": "t3_s1",
            "author": "b",
            "body": "There.",
            "created_utc": 1,
        }
        (files / "comments.jsonl").write_text(json.dumps(comment) + "\n")
        (files / "real.csv").write_text(
            "community,thread,post,parent,author,text,title\nr/Hives,1,1,,a,Where?,Bees\nr/Hives,1,2,1,b,There.,\n"
        )
        (files / "questionnaire.yaml").write_text(QUESTIONNAIRE)
        (files / "people.csv").write_text("id,sex,age\n1,female,30\n2,male,41\n3,female,55\n")
        (files / "margins.yaml").write_text("sex: {female: 0.51, male: 0.49}\n")
        moves = [
            {"kind": "announce", "at": 1, "text": "Wear green."},
            {"kind": "swap", "at": 2, "model": "scripted:first"},
        ]
        (files / "moves.json").write_text(json.dumps(moves))
        (files / "goods.csv").write_text("name,category,price,rating\nGreen Tea,tea,5,4.5\nTea Pot,pots,20,4\n")
        sessions = generate_sessions(6, shops=2, visits=2, seed=1)
        sessions.write(files / "log.csv")
        sessions.write(files / "log.jsonl")
        write_studies(files, SMOLLM2.sha256, self.run)
        (files / "words.txt").write_text("# Words\nbee\nhive\n")
        (files / "shares.csv").write_text("answer,share\nblue,0.5\ngreen,0.5\n")
        self.write_judgements(files)
        self.files = files
        self.before = self.state()
        self.original = home.parent / f"{home.name}-original"
        shutil.copytree(self.place, self.original)

    def write_judgements(self, files: Path) -> None:
        """Let scripts judge posts, pairs of threads and interviews, so that there are files of judgements."""
        feedback, queue = FeedbackStore(self.place), Queue.of(Workspace(self.place), [self.run], "decision", 4)
        for number, item in enumerate(queue.draw(Workspace(self.place), 0).items):
            for rater in ("ada", "ben"):
                feedback.score(item, rater, number % 5 + 1)
        ratings = ("--model", "scripted:uniform", "--answers", str(files / "ratings.jsonl"))
        for words in (
            ("judge", self.forum, "--model", "scripted:cast", "--ask", "civil"),
            ("discern", self.forum, "--real", str(files / "real.jsonl"), *ratings),
            ("discern", self.forum, "--real", str(files / "real.jsonl"), "--study", "pairs"),
            ("discern", "--study", "pairs", "--model", "scripted:uniform"),
            (
                "believability",
                self.forum,
                "--model",
                "scripted:uniform",
                "--judge",
                "scripted:first",
                "--resident",
                "0",
            ),
        ):
            end = outcome([*words, "--workspace", str(self.place)])
            assert end == "done", (words, end)

    def targets(self) -> list[tuple[list[Path], list[tuple[str, ...]], dict[str, str]]]:
        """What is changed, with the commands that read it."""
        runs = self.place / "runs"
        folders = {
            name: sorted(p for p in (runs / name).rglob("*") if p.is_file())
            for name in (self.run, self.fork, self.forum)
        }
        experiment = sorted(p for p in (self.place / "experiments").rglob("*") if p.is_file())
        judged = sorted(p for p in (self.place / "believability").rglob("*") if p.is_file())
        loose: list[Any] = [
            ([self.files / name], commands, {"FILE": str(self.files / name)})
            for name, commands in FILE_COMMANDS.items()
        ]
        return [
            (folders[self.run], [*NORMS_COMMANDS, ROBUST], {"RUN": self.run, "OTHER": self.fork}),
            (folders[self.run], NORMS_COMMANDS, {"RUN": self.fork, "OTHER": self.run}),
            (folders[self.fork], NORMS_COMMANDS, {"RUN": self.fork, "OTHER": self.run}),
            (folders[self.forum], [*RUN_COMMANDS, *FORUM_COMMANDS], {"RUN": self.forum, "OTHER": self.run}),
            (experiment, EXPERIMENT_COMMANDS, {"EXPERIMENT": self.experiment}),
            (judged, BELIEVABILITY_COMMANDS, {}),
            (sorted((self.place / "feedback").iterdir()), RATING_COMMANDS, {}),
            (sorted((self.place / "discern" / "pairs").iterdir()), DISCERN_COMMANDS, {}),
            *loose,
        ]

    def state(self) -> dict[str, bytes]:
        """Everything beside the workspace and the files."""
        own = {"workspace", "out", "files", "__pycache__"}
        return {
            str(path.relative_to(self.home)): path.read_bytes() if path.is_file() else b""
            for entry in self.home.iterdir() if entry.name not in own
            for path in [entry, *entry.rglob("*")]
        }  # fmt: skip

    def remove_output(self) -> Path:
        """Remove what a command wrote; returns the place for what the next one writes."""
        out = self.home / "out"
        if out.is_dir():
            shutil.rmtree(out)
        out.unlink(missing_ok=True)
        return out

    def restore_workspace(self, command: tuple[str, ...]) -> None:
        """Put the workspace back as it was, after a command that writes into it."""
        if command[0] in WRITING:
            shutil.rmtree(self.place)
            shutil.copytree(self.original, self.place)

    def words(self, command: tuple[str, ...], names: dict[str, str], out: Path) -> list[str]:
        known = {
            "OUT": str(out), "FORUM": self.forum, "NORMS": self.run, "REAL": str(self.files / "real.jsonl"),
            "PEOPLE": str(self.files / "people.csv"), "QUESTIONNAIRE": str(self.files / "questionnaire.yaml"),
            "SUBMISSIONS": str(self.files / "submissions.jsonl"), "COMMENTS": str(self.files / "comments.jsonl"),
            **study_names(self.files), **names,
        }  # fmt: skip
        return [*(known.get(word, word) for word in command), "--workspace", str(self.place)]


def outcome(words: list[str], most_s: float = BLOCKED_SECONDS) -> str:
    """How a command ends: `done`, the code of its error, or what must not happen.

    Args:
        words: The command.
        most_s: How many seconds it may wait.
    """

    def too_long(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, most_s)
    start = time.process_time()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            cli.main(words, standalone_mode=False)
    except PopulaceError as error:
        return error.code
    except click.exceptions.Exit as leaving:
        return f"exit {leaving.exit_code}"
    except click.ClickException:
        return "usage"
    except Hang:
        return "HANG"
    except BaseException:  # noqa: BLE001 - also a panic of polars, which is no Exception
        return f"P000 {traceback.format_exc(limit=-4)}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return "done" if time.process_time() - start < SECONDS else "HANG"
