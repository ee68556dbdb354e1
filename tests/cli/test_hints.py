"""Commands in hints work as they are printed, and an error inside a step is no bad input."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import populace as populace_package
from populace.cli import COMMANDS
from populace.tools.scaffold import scenario_file
from support.commands import forget_code, populace

SMALL = ["--workers", "4", "--days", "3", "--model", "scripted:uniform", "--no-chart"]


def commands_in(text: str) -> list[list[str]]:
    """Every command that a text names, as words."""
    found = re.findall(r"(populace (?:resume|show|why|fork|report|experiment|run|export) [^`\n]*?)(?:   |`|$|\n)", text)
    return [shlex.split(each)[1:] for each in found]


def assert_hints_work(text: str, count: int) -> None:
    commands = commands_in(text)
    assert len(commands) >= count, text
    for words in commands:
        done = populace(*words)
        assert done.returncode in (0, 5), f"{words}: {done.stderr}"


def test_what_a_run_proposes_works_in_another_workspace(tmp_path: Path) -> None:
    done = populace("run", "norms", *SMALL, "--workspace", str(tmp_path / "other place"))
    assert_hints_work(done.stdout, 1)
    (name,) = [path.name for path in (tmp_path / "other place" / "runs").iterdir()]
    shown = populace("show", name, "--person", "0", "--workspace", str(tmp_path / "other place"))
    assert_hints_work(shown.stdout, 1)


def test_a_run_that_stopped_names_the_command_that_resumes_it(tmp_path: Path) -> None:
    done = populace("run", "norms", *SMALL, "--max-calls", "5", "--workspace", str(tmp_path / "other place"))
    assert done.returncode == 5
    (words,) = commands_in(done.stderr)
    assert populace(*words).returncode == 0


SMALL_GARDEN = '''
import populace as pc


class Garden(pc.Scenario):
    """Neighbours help or do not."""

    weeks: int = 1

    def setup(self):
        people = pc.People.named(2, seed=self.rng).with_columns(helped="no")
        return people

    def length(self):
        return self.weeks

    async def step(self):
        self.people["helped"] = await self.ask(self.people, pc.Choice("Do you help?", options=("yes", "no")))

    @pc.metric
    def share_helping(self):
        return self.people.share(helped="yes")
'''

FAILING = scenario_file("mine").replace(
    "async def step(self) -> None:", "async def step(self) -> None:\n        if self.t == 2: FAIL"
)


@pytest.mark.parametrize("fault", ["1 / 0", "raise pc.PeopleError('wrong')", "pc.Choice('x', options=())"])
def test_an_error_inside_a_step_is_no_bad_input_and_can_be_resumed_once_it_is_mended(
    tmp_path: Path, fault: str
) -> None:
    file = tmp_path / "mine.py"
    text = FAILING if "import populace as pc" in FAILING else "import populace as pc\n" + FAILING
    file.write_text(
        text.replace("FAIL", fault).replace(
            "pc.PeopleError", "__import__('populace.base.errors').base.errors.PeopleError"
        )
    )
    place = str(tmp_path / "other place")
    done = populace("run", str(file), "--model", "scripted:uniform", "--no-chart", "--workspace", place)
    assert done.returncode == 1, done.stderr
    assert "P000" not in done.stderr
    (words,) = [words for words in commands_in(done.stderr) if words[0] == "resume"]
    (manifest,) = Path(place).glob("runs/*/manifest.json")
    assert json.loads(manifest.read_text())["status"]["state"] == "failed"
    # What to do stands on a line of its own, also where the advice before it ends with code.
    assert "\n  Nothing that was paid for is lost. " in done.stderr
    assert populace(*words).returncode == 1
    file.write_text(scenario_file("mine"))
    forget_code()
    assert populace(*[word for word in words if word != "--trust"]).returncode == 2
    resumed = populace(*words)
    assert resumed.returncode == 0, resumed.stderr


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("return people", "people"),
        ("return self.weeks", "return self.week"),
        ("share(helped=", "share(help="),
        ('helped="no")', 'helped=pc.Series(["no"]))'),
    ],
)
def test_a_run_that_failed_before_its_first_step_names_no_run_to_resume(tmp_path: Path, line: str, fault: str) -> None:
    assert line in SMALL_GARDEN
    (tmp_path / "garden.py").write_text(SMALL_GARDEN.replace(line, fault))
    done = populace("run", str(tmp_path / "garden.py"), "--model", "scripted:uniform", "--no-chart")
    assert done.returncode == 1, done.stderr
    assert "resume" not in done.stderr and "P000" not in done.stderr
    assert not list(tmp_path.glob("runs/*"))


def test_an_error_before_a_run_starts_is_bad_input() -> None:
    assert populace("run", "norms", "--workers", "-1").returncode == 2
    assert populace("run", "nothing").returncode == 2


def test_a_replay_that_differs_proposes_commands_that_work(tmp_path: Path) -> None:
    file, place = tmp_path / "mine.py", str(tmp_path / "other place")
    file.write_text(scenario_file("mine"))
    assert populace("run", str(file), "--model", "scripted:uniform", "--no-chart", "--workspace", place).returncode == 0
    (manifest,) = Path(place).glob("runs/*/manifest.json")
    data = json.loads(manifest.read_text())
    data["regimes"][0]["seed"] = 77
    data["status"]["end"] = None
    manifest.write_text(json.dumps(data))
    done = populace("replay", manifest.parent.name, "--verify", "--workspace", place)
    assert done.returncode == 6, done.stderr
    assert_hints_work(done.stderr, 2)


def test_every_command_that_a_message_names_exists() -> None:
    named = re.compile(r"(?<!import )(?<!from )(?<![\w./-])populace ([a-z][a-z-]+)")
    source = Path(populace_package.__file__).parent
    files = [*source.rglob("*.py"), *source.rglob("*.md"), *source.rglob("*.yaml"), *source.rglob("*.toml")]
    unknown = {(file.name, word) for file in files for word in named.findall(file.read_text("utf-8"))}
    assert {(name, word) for name, word in unknown if word not in COMMANDS} == set()


TWINS = '''
import populace as pc


class Twins(pc.Scenario):
    """Two people have one name."""

    def setup(self):
        return pc.People({"name": ["Ann", "Ann"]})

    def length(self):
        return 1

    async def step(self):
        await self.ask(self.people, pc.Choice("Tea?", options=("yes", "no")))
'''


def test_the_decision_that_a_summary_offers_is_found_where_two_people_have_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("twins.py").write_text(TWINS)
    done = populace("run", "twins.py", "--model", "scripted:uniform", "--no-chart")
    assert "--person 0" in done.stdout
    assert_hints_work(done.stdout, 1)
