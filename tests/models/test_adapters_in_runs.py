"""Adapters in runs: never mixed up in the call store, side by side in one population, and named in every report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import populace as pc
from populace import Choice, Field, People, RunReader, Scenario, metric, simulate, validity
from populace.base.errors import ModelFileError
from populace.experiments.evidence import run_evidence
from populace.experiments.validation import basis as validation_basis
from populace.models import adapter_names
from populace.runs.caveats import basis_caveats, caveats, run_basis
from support.commands import populace
from support.tiny_models import tiny_adapter, tiny_folder, tiny_gguf

CALIBRATED: dict[str, Any] = {
    "kind": "calibrated",
    "data": [{"name": "votes of 12 towns", "sha256": "ab" * 32, "licence": "CC-BY-4.0"}],
    "assumptions": ["People follow k of n others (Asch 1955)."],
    "figures": {"accuracy": 0.6321, "log-loss": 0.9},
    "limits": ["It was not tried on children."],
}


class Lunch(Scenario):
    """What people eat, some of them answered by a model of their own."""

    models: str = Field("")

    def setup(self) -> People:
        people = People({"name": [f"Person {number}" for number in range(4)]})
        return people.with_columns(model=json.loads(self.models)) if self.models else people

    def length(self) -> int:
        return 1

    async def step(self) -> None:
        await self.ask(self.people, Choice("What do you eat today?", options=["soup", "bread", "rice"]))

    @metric
    def crowd(self) -> int:
        return len(self.people)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tiny")
    base = tiny_gguf(place / "base.gguf", tiny_folder(place / "base", seed=3))
    tiny_adapter(place / "one.gguf", base, seed=1)
    tiny_adapter(place / "two.gguf", base, seed=2, manifest=CALIBRATED)
    return place


@pytest.fixture(autouse=True)
def own_cache(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPULACE_CACHE", str(tiny / "cache"))


def spec(tiny: Path, adapter: str = "") -> str:
    plus = f"+{tiny / adapter}.gguf" if adapter else ""
    return f"embedded:{tiny / 'base.gguf'}{plus}?threads=1&context=1024"


def distributions(run: RunReader) -> list[list[float]]:
    """The distribution of each person's answer."""
    answers, prompts = (run.record.table(1, name) for name in ("answers", "prompts"))
    assert answers is not None and prompts is not None
    return answers.join(prompts, on=["ask", "prompt"], maintain_order="left")["probabilities"].to_list()


def test_replies_of_two_adapters_are_never_mixed_up_in_one_call_store(tiny: Path, tmp_path: Path) -> None:
    specs = [spec(tiny), spec(tiny, "one"), spec(tiny, "two")]
    first = [distributions(simulate(Lunch(), model=each, seed=1, workspace=tmp_path)) for each in specs]
    assert len({json.dumps(each) for each in first}) == 3
    again = [simulate(Lunch(), model=each, seed=1, workspace=tmp_path) for each in reversed(specs)]
    assert [distributions(run) for run in reversed(again)] == first
    assert sum(run.usage().calls for run in again) == 0, "every reply was in the store"
    assert [run.manifest.models[each] for run, each in zip(again, reversed(specs), strict=True)] == list(
        dict.fromkeys(run.manifest.models[run.manifest.regime.model] for run in again)
    )


def test_the_same_file_changed_is_another_model(tiny: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "mine.gguf"
    shutil.copyfile(tiny / "one.gguf", adapter)
    name = f"embedded:{tiny / 'base.gguf'}+{adapter}?threads=1&context=1024"
    before = simulate(Lunch(), model=name, seed=1, workspace=tmp_path)
    shutil.copyfile(tiny / "two.gguf", adapter)
    after = simulate(Lunch(), model=name, seed=1, workspace=tmp_path)
    assert distributions(before) != distributions(after)
    assert after.usage().calls > 0


def test_people_with_different_adapters_live_in_one_population(tiny: Path) -> None:
    names = [spec(tiny), spec(tiny, "one"), spec(tiny, "two"), spec(tiny, "one")]
    mixed = simulate(Lunch(models=json.dumps(names)), model="scripted:uniform", seed=1, keep="nothing")
    alone = [simulate(Lunch(), model=each, seed=1, keep="nothing") for each in names]
    assert distributions(mixed) == [distributions(run)[person] for person, run in enumerate(alone)]
    assert any("put in by assumption" in text for text in caveats(mixed)), "also where only some have it"


def test_a_model_is_swapped_for_one_with_an_adapter_without_a_restart(tiny: Path) -> None:
    swap = pc.SwapModel(at=1, model=spec(tiny, "one"))
    run = simulate(Lunch(), model=spec(tiny), seed=1, keep="nothing", interventions=[swap])
    assert distributions(run) == distributions(simulate(Lunch(), model=spec(tiny, "one"), seed=1, keep="nothing"))


def test_every_summary_card_and_report_says_that_it_was_put_in_by_assumption(tiny: Path, tmp_path: Path) -> None:
    calibrated, human = spec(tiny, "two"), spec(tiny, "one")
    run = simulate(Lunch(), model=calibrated, seed=1, workspace=tmp_path)
    text = "was put in by assumption"
    assert sum(text in each for each in caveats(run)) == 1
    assert text in str(validity(run))
    assert text in pc.report(run).html
    shown = populace("show", run.name, "--workspace", str(tmp_path))
    assert text in " ".join((shown.stdout + shown.stderr).split())
    row = run_evidence(run, [], witness=False)
    assert sum(text in note for note in row["notes"]) == 1, "runs of an experiment carry it to its card"
    full = {"arm": 0, "status": "complete"} | row
    folder = SimpleNamespace(arms=[SimpleNamespace(number=0, name="a", **vars(run.manifest.regime))])
    results: Any = SimpleNamespace(rows=[full, full], folder=folder, name="e", state="complete", reason="")
    assert sum(text in each.text for each in basis_caveats(validation_basis._experiment_basis(results))) == 1
    plain = simulate(Lunch(), model=human, seed=1, keep="nothing")
    assert not any(text in each for each in caveats(plain))
    assert "adapter" in {caveat.id for caveat in basis_caveats(run_basis(plain))}


def test_models_lists_adapters_with_what_they_were_trained_on(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped, workspace = tmp_path / "shipped", tmp_path / "here"
    monkeypatch.setattr(adapter_names, "_SHIPPED", shipped)
    shipped.mkdir()
    (workspace / "adapters").mkdir(parents=True)
    shutil.copyfile(tiny / "two.gguf", shipped / "people.gguf")
    shutil.copyfile(tiny / "one.gguf", workspace / "adapters" / "mine.gguf")
    (workspace / "adapters" / "broken.gguf").write_bytes(b"GGUF")
    done = populace("models", "--workspace", str(workspace))
    assert done.returncode == 0
    for part in ("calibrated: decisions of people", "votes of 12 towns (CC-BY-4.0)", "accuracy 0.632", "mine.gguf"):
        assert part.replace(" ", "") in "".join(done.stdout.split()), part  # A long path is divided over lines.
    assert "broken.gguf" in "".join((done.stdout + done.stderr).split())
    listed = json.loads(populace("models", "--workspace", str(workspace), "--json").stdout)
    listed = listed.get("data", listed)["adapters"]
    assert [(each["place"], "problem" in each) for each in listed] == [
        ("package", False),
        ("workspace", True),
        ("workspace", False),
    ]
    card = populace("models", "--describe", "people").stdout
    for part in ("Asch 1955", "not tried on children", "licence CC-BY-4.0", "log-loss 0.9"):
        assert part in card, part
    assert populace("models", "--describe", "nobody").returncode == 2


def test_a_wrong_base_stops_a_run_before_it_begins(tiny: Path, tmp_path: Path) -> None:
    other = tiny_gguf(tmp_path / "other.gguf", tiny_folder(tmp_path / "other", seed=8))
    with pytest.raises(ModelFileError, match="is another model"):
        simulate(Lunch(), model=f"embedded:{other}+{tiny / 'one.gguf'}", workspace=tmp_path)
    assert not (tmp_path / "runs").exists()
