"""Opening a run, an experiment or a design that somebody sent imports nothing; `--trust` does, and is remembered."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from populace import open_run
from populace.base.errors import UntrustedCodeError
from populace.engine import discovery
from populace.experiments import Experiment
from populace.tools.scaffold import scenario_file
from support.commands import forget_code, populace


@pytest.fixture(autouse=True)
def _forget() -> None:
    forget_code()


class Gift:
    """A run that somebody made with a scenario of their own, received in another workspace."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran = tmp_path / "ran"
        self.file = tmp_path / "theirs" / "town.py"
        self.file.parent.mkdir()
        self.file.write_text(scenario_file("town"))
        self.place = tmp_path / "received"
        with monkeypatch.context() as patch:
            patch.setenv("XDG_CONFIG_HOME", str(tmp_path / "their config"))
            done = populace("run", str(self.file), "--model", "scripted:uniform", "--workspace", str(self.place))
            assert done.returncode == 0, done.stderr
        (self.run,) = [path.name for path in (self.place / "runs").iterdir()]
        self.write_canary()
        forget_code()

    def write_canary(self) -> None:
        """From now on, importing the file leaves a trace."""
        self.file.write_text(scenario_file("town") + f"\nimport pathlib; pathlib.Path({str(self.ran)!r}).touch()\n")

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return populace(words[0], self.run, *words[1:], "--workspace", str(self.place))


@pytest.fixture
def gift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gift:
    return Gift(tmp_path, monkeypatch)


NEED = [
    ("resume",), ("replay",), ("fork", "--at", "1"), ("interview", "How are you?"), ("robust", "--dry-run"),
    ("ask-again", "--step", "1", "--person", "0"),
]  # fmt: skip
READ = [
    ("show",), ("show", "--json"), ("show", "--step", "1"), ("show", "--person", "0"), ("report",), ("feedback",),
    ("why", "--step", "1", "--person", "0"),
]  # fmt: skip


def test_reading_a_received_run_shows_what_needs_no_code(gift: Gift) -> None:
    for words in READ:
        done = gift.call(*words)
        assert done.returncode == 0, done.stderr
        assert not gift.ran.exists(), words


def test_what_needs_the_code_says_what_would_be_imported_and_the_command(gift: Gift) -> None:
    path = gift.place / "runs" / gift.run / "manifest.json"
    data = json.loads(path.read_text())
    data["status"] |= {"state": "stopped", "end": None}
    path.write_text(json.dumps(data))
    for words in NEED:
        done = gift.call(*words)
        assert done.returncode == 2 and "UntrustedCodeError" in done.stderr, done.stderr
        assert str(gift.file) in done.stderr and "SHA-256" in done.stderr
        command = done.stderr.split("remember that: ")[1].strip()
        assert command.startswith(f"populace {words[0]} {gift.run}") and command.endswith("--trust")
        assert not gift.ran.exists()


def test_show_names_what_it_leaves_out_and_trust_shows_it_from_then_on(gift: Gift) -> None:
    shown = gift.call("show")
    assert "are not shown" in " ".join(shown.stdout.split()) and "--trust" in shown.stdout
    assert gift.call("show", "--trust").returncode == 0
    assert gift.ran.exists()
    forget_code()
    assert "are not shown" not in gift.call("show").stdout
    gift.file.write_text(gift.file.read_text() + "\n# changed\n")
    forget_code()
    assert "--trust" in gift.call("show").stdout


def test_a_file_that_the_user_names_is_trusted_by_that_act(tmp_path: Path) -> None:
    assert populace("new", "mine").returncode == 0
    assert populace("run", "mine.py", "--model", "scripted:uniform").returncode == 0
    forget_code()
    assert "are not shown" not in populace("show", "last").stdout
    assert populace("replay", "last").returncode == 0


def test_bytecode_beside_a_file_is_not_run_in_its_place(tmp_path: Path) -> None:
    import importlib.util
    import py_compile

    ran, file, evil = tmp_path / "ran", tmp_path / "mine.py", tmp_path / "evil.py"
    file.write_text(scenario_file("mine"))
    evil.write_text(f"import pathlib; pathlib.Path({str(ran)!r}).touch()\n" + scenario_file("mine"))
    os.utime(evil, (1, 1))
    os.utime(file, (1, 1))
    data = bytearray(Path(str(py_compile.compile(str(evil), doraise=True))).read_bytes())
    data[12:16] = file.stat().st_size.to_bytes(4, "little")
    cached = Path(importlib.util.cache_from_source(str(file)))
    cached.parent.mkdir(exist_ok=True)
    cached.write_bytes(data)
    assert discovery.find_scenario(str(file)).__name__ == "Mine"
    assert not ran.exists()


@pytest.mark.parametrize("model", ["scripted:their_code:f", "http://192.0.2.1/v1#x", "embedded:hf:a/b/c.gguf"])
def test_a_model_that_a_received_run_names_is_neither_imported_nor_called(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "their_code.py").write_text(
        f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()\ndef f(request): return 'x'\n"
    )
    assert populace("run", "norms", "--workers", "3", "--days", "2", "--model", "scripted:uniform").returncode == 0
    path = open_run().folder / "manifest.json"
    text = path.read_text().replace("scripted:uniform", model).replace('"state": "complete"', '"state": "stopped"')
    data = json.loads(text)
    data["status"]["end"] = None
    path.write_text(json.dumps(data))
    for words in (("show",), ("resume",), ("fork", "--at", "1"), ("interview", "Who?"), ("report",)):
        done = populace(words[0], "last", *words[1:])
        assert done.returncode == (0 if words[0] in ("show", "report") else 2), done.stderr
    assert not (tmp_path / "ran").exists()
    with pytest.raises(UntrustedCodeError, match="trust()"):
        open_run().fork(1)
    if model.startswith("scripted"):
        assert open_run().trust().fork(1).manifest.status.state == "complete"


EXPERIMENT = """
name: gift
scenario: {scenario}
factors: {{{factor}}}
outcomes: [{outcome}]
model: {model}
replicates: 2
"""


@pytest.mark.parametrize(
    "changes",
    [
        {"scenario": "town.py:Town", "factor": "seats: [1, 2]"},
        {"scenario": "their_code:Town"},
        {"model": "scripted:their_code:f"},
        {"factor": "model: [scripted:their_code:f, scripted:uniform]"},
        {"factor": "team: {a: {model: scripted:their_code:f}, b: {model: embedded}}"},
        {"outcome": "their_code:f"},
        {"outcome": "{measure: 'their_code:f'}"},
        {"model": "http://192.0.2.1/v1"},
    ],
)
def test_a_received_experiment_imports_nothing_unless_it_is_trusted(
    tmp_path: Path, changes: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    ran, folder = tmp_path / "ran", tmp_path / "theirs"
    folder.mkdir()
    for path in (tmp_path / "their_code.py", folder / "town.py"):
        path.write_text(f"import pathlib; pathlib.Path({str(ran)!r}).touch()\n" + scenario_file("town"))
    plain = {
        "scenario": "norms",
        "factor": "initial_share: [0.2, 0.8]",
        "outcome": "share_blue",
        "model": "scripted:uniform",
    }
    (folder / "gift.yaml").write_text(EXPERIMENT.format(**plain | changes))
    done = populace("experiment", str(folder / "gift.yaml"), "--dry-run")
    assert done.returncode == 2 and "UntrustedCodeError" in done.stderr, done.stderr
    assert "--dry-run --trust" in done.stderr
    with pytest.raises(UntrustedCodeError):
        Experiment.read(folder / "gift.yaml")
    assert not ran.exists()


def test_a_received_experiment_folder_is_read_without_its_code(tmp_path: Path) -> None:
    assert populace("new", "town").returncode == 0
    forget_code()
    experiment = Experiment(
        name="gift", scenario=str(tmp_path / "town.py"), factors={"decider": ["model", "rule"]}, replicates=2,
        model="scripted:uniform", outcomes=[next(iter(discovery.find_scenario("town.py").metrics()))],
    )  # fmt: skip
    name = experiment.run(workers=1, check=False).name
    ran = tmp_path / "ran"
    (tmp_path / "town.py").write_text(
        f"import pathlib; pathlib.Path({str(ran)!r}).touch()\n" + (tmp_path / "town.py").read_text()
    )
    forget_code()
    assert name in populace("experiment", "--list").stdout
    assert populace("report", name).returncode == 0
    assert not ran.exists()
    assert populace("robust", name, "--dry-run").returncode == 2


@pytest.mark.parametrize(
    "intervention",
    [
        {"kind": "swap", "at": 2, "model": "scripted:their_code:f"},
        {"kind": "set", "at": 2, "values": {"model": "scripted:their_code:f"}},
    ],
    ids=["swap", "set"],
)
def test_a_model_that_a_file_of_interventions_names_needs_trust_and_one_in_the_command_does_not(
    tmp_path: Path, intervention: dict[str, object]
) -> None:
    (tmp_path / "their_code.py").write_text(
        f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()\ndef f(request): return 'blue'\n"
    )
    swap = json.dumps(intervention)
    (tmp_path / "swap.json").write_text(swap)
    run = ("run", "norms", "--workers", "2", "--days", "2", "--model", "scripted:uniform", "--intervention")
    refused = populace(*run, "swap.json")
    assert refused.returncode == 2 and "swap.json names code that this workspace does not trust" in refused.stderr
    assert "--intervention swap.json --trust" in refused.stderr
    assert not (tmp_path / "ran").exists() and not (tmp_path / "runs").exists()
    assert populace(*run, "swap.json", "--trust").returncode == 0
    assert (tmp_path / "ran").exists()
    (tmp_path / "ran").unlink()
    forget_code()
    assert populace(*run, "swap.json").returncode == 0, "it is remembered"
    (tmp_path / "trust.json").unlink()
    forget_code()
    assert populace(*run, swap).returncode == 0, "the user wrote its name"
    forget_code()
    assert populace("fork", "last", "--at", "2").returncode == 0, "and that is remembered too"


def test_a_user_at_a_terminal_is_asked_once(gift: Gift) -> None:
    assert ask_at_a_terminal(gift, "n\n").returncode == 2
    assert not gift.ran.exists()
    answered = ask_at_a_terminal(gift, "y\n")
    assert answered.returncode == 0, answered.stdout
    assert "Do you trust it, from now on?" in answered.stdout and str(gift.file) in answered.stdout
    assert gift.call("replay").returncode == 0


def ask_at_a_terminal(gift: Gift, answer: str) -> subprocess.CompletedProcess[str]:
    """`populace fork` in a process whose input and output are a terminal."""
    ours, theirs = pty.openpty()
    words = ["fork", gift.run, "--at", "1", "--no-chart", "--workspace", str(gift.place)]
    code = f"import sys; sys.argv[1:] = {words!r}; from populace.cli import main; main()"
    variables = os.environ | {"TERM": "dumb", "COLUMNS": "500"}
    process = subprocess.Popen([sys.executable, "-c", code], stdin=theirs, stdout=theirs, stderr=theirs, env=variables)
    os.close(theirs)
    os.write(ours, answer.encode())
    output = b""
    while True:
        try:
            part = os.read(ours, 10_000)
        except OSError:
            break
        if not part:
            break
        output += part
    os.close(ours)
    return subprocess.CompletedProcess(words, process.wait(), output.decode())
