"""How a run is started is described once: a setting that is added there is found at every door."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import populace
import populace as pc
from populace.base.errors import ParameterError, UnknownNameError
from populace.journal import Journal, RunSettings
from populace.scenarios.norms import Norms

NEW_LINE = '    mood: str = pydantic.Field(default="calm", description="The mood of the run.")\n'

DOORS = """
import inspect, json, sys
import populace as pc
from click.testing import CliRunner
from populace.cli import cli
from populace.experiments import Experiment
from populace.scenarios.norms import Norms
from populace.studio.pages.new_run.data import SETTINGS

run = pc.simulate(Norms(workers=3, days=2), decider="rule", mood="merry")
fork = run.fork(2, mood="grim")
experiment = Experiment(
    name="moods", scenario="norms", factors={"mood": ["calm", "wild"]}, parameters={"workers": 3, "days": 1},
    decider="rule", replicates=2, outcomes=["share_blue"], keep="run",
)
print(json.dumps({
    "simulate": str(inspect.signature(pc.simulate).parameters["mood"]),
    "documented": "mood: The mood of the run." in pc.simulate.__doc__,
    "fork": str(inspect.signature(pc.Run.fork).parameters["mood"]),
    "help": "--mood" in CliRunner().invoke(cli, ["run", "norms", "--help"]).output,
    "command": CliRunner().invoke(cli, ["run", "norms", "--workers", "3", "--days", "1", "--decider", "rule",
                                        "--mood", "dry", "--no-chart", "--json"]).exit_code,
    "form": [each.help for each in SETTINGS if each.name == "mood"],
    "manifest": json.loads((run.folder / "manifest.json").read_text())["regimes"][0]["mood"],
    "fork's manifest": [regime.mood for regime in fork.manifest.regimes],
    "inherited": run.fork(2).manifest.regime.mood,
    "arms": [arm.mood for arm in experiment.arms()],
}))
"""


def test_a_setting_is_one_line_and_is_found_at_every_door(tmp_path: Path) -> None:
    source = Path(populace.__file__).parent
    shutil.copytree(source, tmp_path / "src" / "populace", ignore=shutil.ignore_patterns("__pycache__"))
    settings = tmp_path / "src" / "populace" / "journal" / "settings.py"
    text = settings.read_text()
    before = "    seed: int = "
    assert before in text
    settings.write_text(text.replace(before, NEW_LINE + before, 1))
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(
        [sys.executable, "-c", DOORS], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "simulate": "mood: str = 'calm'",
        "documented": True,
        "fork": "mood: str = None",
        "help": True,
        "command": 0,
        "form": ["The mood of the run."],
        "manifest": "merry",
        "fork's manifest": ["merry", "grim"],
        "inherited": "merry",
        "arms": ["calm", "wild"],
    }


def test_every_setting_is_a_parameter_an_option_and_part_of_the_manifest() -> None:
    parameters = inspect.signature(pc.simulate).parameters
    for settings in (RunSettings, pc.CallSettings):
        for name, field in settings.model_fields.items():
            assert parameters[name].default == field.get_default(call_default_factory=True)
            assert field.description in (pc.simulate.__doc__ or "")
    run = pc.simulate(Norms(workers=3, days=1), decider="rule", keep="nothing")
    assert set(RunSettings.model_fields) <= set(type(run.manifest.regime).model_fields)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"temperature": -1}, ParameterError, "temperature = -1"),
        ({"temperature": float("nan")}, ParameterError, "temperature = nan"),
        ({"concurrency": 0}, ParameterError, "concurrency = 0"),
        ({"max_calls": 0}, ParameterError, "max_calls = 0"),
        ({"seed": "x"}, ParameterError, "seed = 'x'"),
        ({"decider": "orcale"}, UnknownNameError, "oracle|rule"),
        ({"temprature": 1}, UnknownNameError, "Did you mean 'temperature'"),
        ({"variation": {"wordings": "polite"}}, UnknownNameError, "Did you mean 'wording'"),
    ],
)
def test_a_wrong_setting_is_refused_by_name_before_anything_runs(
    settings: dict[str, object], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        pc.simulate(Norms(workers=3, days=1), model="scripted:uniform", workspace=tmp_path, **settings)
    assert not (tmp_path / "runs").exists()


def test_why_a_run_stopped_is_recorded_as_data(tmp_path: Path) -> None:
    with pytest.raises(pc.PopulaceError):
        pc.simulate(Norms(workers=6, days=3), model="scripted:uniform", max_calls=2, workspace=tmp_path)
    run = pc.open_run("last", tmp_path)
    stop = run.manifest.status.stop
    assert stop is not None
    assert (stop.kind, stop.limit, stop.allowed, stop.spent) == ("budget", "calls", 2, 2)
    assert pc.overview(run).limit == "calls"
    run.resume()
    assert Journal(run.folder).manifest.status.stop == type(stop)(kind="done")


def test_the_fields_behind_a_prompt_are_recorded() -> None:
    run = pc.simulate(Norms(workers=4, days=1), model="scripted:uniform", seed=2, keep="nothing")
    step = run.record
    asks, prompts = step.table(1, "asks"), step.table(1, "prompts")
    assert asks is not None
    assert prompts is not None
    constants = json.loads(asks["fields"][0])
    for row in prompts.iter_rows(named=True):
        fields = json.loads(row["fields"])
        assert fields["name"] in row["system"]
        assert fields["worn"] in row["user"]
        assert str(constants["firsts"]) in row["user"]
