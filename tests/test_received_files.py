"""Changes of run folders, experiments, designs and dumps: reading them runs nothing and breaks nothing.

`make test` gives each of 300 changes to one of the commands that read what was changed, in turn. `make audit` gives
each of 2,000 to all of them, and writes how they end to `build/audit/received-files.md`.
"""

from __future__ import annotations

import datetime
import os
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from populace.runs import charts
from support.audit import IN_FULL
from support.mutations import mutate
from support.received import FILE_COMMANDS, Received, outcome

COUNT = 300
AUDIT_SEEDS = range(*map(int, os.environ.get("POPULACE_AUDIT_SEEDS", "0:2000").split(":")))
"""The changes of an audit; a part of them may be named."""
WEIGHTS = [4, 2, 3, 4, 3, 2, 2, 2, *[1] * len(FILE_COMMANDS)]
TABLE = Path(__file__).parents[1] / "build" / "audit" / "received-files.md"


@pytest.fixture(scope="module")
def received(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Received]:
    home = tmp_path_factory.mktemp("received")
    with (
        mock.patch.dict(os.environ, {"XDG_CONFIG_HOME": str(home / "config")}),
        mock.patch("sys.path", [*sys.path, str(home)]),
    ):
        charts.new_figure(1)  # The first picture of a process imports matplotlib, which may take seconds.
        yield Received(home)


def test_every_command_reads_the_files_as_they_are(received: Received) -> None:
    done = set[tuple[str, ...]]()
    for _, commands, names in received.targets():
        for command in commands:
            words = received.words(command, names, received.remove_output())
            if tuple(words) in done:
                continue
            done.add(tuple(words))
            # The plans of training and correction name a base that is not there, so that nothing is computed.
            assert outcome(words) in ("done", "exit 0", "exit 6", "P200", "P140"), words
            received.restore_workspace(command)
    received.remove_output()


def test_no_change_of_a_received_file_runs_code_writes_elsewhere_hangs_or_is_called_a_bug(received: Received) -> None:
    targets = received.targets()
    ends: Counter[str] = Counter()
    bad: list[str] = []
    for seed in range(COUNT):
        rng = random.Random(seed)
        files, commands, names = rng.choices(targets, WEIGHTS)[0]
        undo = mutate(files, rng, received.canaries, received.outside)
        try:
            command = commands[seed % len(commands)]
            if command[0] == "report" and len(commands) > 1 and seed % 8:
                command = commands[1]  # Pictures take longer than all else together.
            words = received.words(command, names, received.remove_output())
            end = outcome(words)
        finally:
            undo()
        received.restore_workspace(command)
        received.remove_output()
        ends[end.partition("\n")[0]] += 1
        if end.startswith(("P000", "HANG")):
            bad.append(f"{seed} {' '.join(words)}: {end}")
        if received.ran.exists() or received.state() != received.before:
            pytest.fail(f"{seed}: {words} ran code or wrote elsewhere: {sorted(received.state())}")
    assert not bad, f"{len(bad)} of {COUNT}\n" + "\n".join(bad[:12])
    assert ends["P504"] > COUNT / 10, ends


def test_no_command_waits_for_a_pipe_in_place_of_a_file(received: Received) -> None:
    """Files that are named, and those of a study; what a study writes again is a file to write."""
    waiting = []
    for files, commands, names in received.targets()[5:]:
        for file in files:
            file.rename(aside := file.with_name("aside"))
            os.mkfifo(file)
            words = received.words(commands[0], names, received.remove_output())
            end = outcome(words, most_s=15)
            if end.startswith(("HANG", "P000")):
                waiting.append(f"{file.name}: {end}")
            file.unlink()
            aside.rename(file)
            received.restore_workspace(commands[0])
    assert not waiting, waiting


@pytest.mark.parametrize("place", ["runs/RUN/RUN-figures/metric-share_blue.svg", "runs/RUN/judgements/a.parquet",
                                   "believability/FORUM/skills.csv", "believability/FORUM/answers/a.parquet"])  # fmt: skip
def test_nothing_is_written_through_a_link_in_a_received_folder(received: Received, place: str) -> None:
    link = received.place / place.replace("RUN", received.run).replace("FORUM", received.forum)
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(received.outside / "target")
    words = ["believability", received.forum] if "FORUM" in place else ["report", received.run]
    try:
        assert outcome([*words, "--workspace", str(received.place)]) == "P504"
        assert received.state() == received.before
    finally:
        received.restore_workspace(("believability",))


@pytest.mark.audit
@pytest.mark.skipif(not IN_FULL, reason="an audit takes about an hour: make audit")
def test_every_change_is_given_to_every_command_that_reads_what_was_changed(received: Received) -> None:
    start, targets = time.process_time(), received.targets()
    ends: dict[str, Counter[str]] = defaultdict(Counter)
    bad: list[str] = []
    for seed in AUDIT_SEEDS:
        rng = random.Random(seed)
        files, commands, names = rng.choices(targets, WEIGHTS)[0]
        change = rng.getstate()
        for command in commands:
            rng.setstate(change)  # Each command reads the same change.
            undo = mutate(files, rng, received.canaries, received.outside)
            try:
                words = received.words(command, names, received.remove_output())
                end = outcome(words)
            finally:
                undo()
            received.restore_workspace(command)
            received.remove_output()
            elsewhere = received.ran.exists() or received.state() != received.before
            if elsewhere or end.startswith(("P000", "HANG")):
                bad.append(f"{seed} {' '.join(words)}: {'ran code or wrote elsewhere' if elsewhere else end}")
            ends[" ".join(command)]["elsewhere" if elsewhere else end.split()[0]] += 1
            write_table(ends, bad, time.process_time() - start)
            assert not elsewhere, bad
    assert not bad, f"{len(bad)}\n" + "\n".join(bad[:12])


def write_table(ends: dict[str, Counter[str]], bad: list[str], seconds: float) -> None:
    """Write how often each command ended in which way."""
    kinds = sorted({kind for each in ends.values() for kind in each})
    lines = [
        f"# {sum(sum(each.values()) for each in ends.values()):,} readings of changed files",
        "",
        f"{datetime.date.today()}, seeds {AUDIT_SEEDS.start} to {AUDIT_SEEDS.stop - 1}, {seconds:,.0f} s of processor time.",
        "",
        f"| command | {' | '.join(kinds)} |",
        f"|---|{'---:|' * len(kinds)}",
        *(f"| `{name}` | {' | '.join(str(each[kind]) for kind in kinds)} |" for name, each in sorted(ends.items())),
        *(["", "## Wrong", "", *(f"* {each}" for each in bad)] if bad else []),
    ]
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
