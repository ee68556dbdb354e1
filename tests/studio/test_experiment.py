"""The page of an experiment follows its folder and shows what was found and what it is worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from populace.experiments import Experiment, Results
from support.studio import Visit, visiting


def made(tmp_path: Path, **changes: Any) -> Results:
    plan: dict[str, Any] = {
        "name": "shirts", "question": "Do <b>groups</b> matter?", "scenario": "support.scenarios:Shirts",
        "factors": {"groups": [1, 3]}, "model": "scripted:support.models:varied", "replicates": 4,
        "outcomes": ["share_blue", "mean(share_blue)"],
    }  # fmt: skip
    return Experiment(**(plan | changes)).run(workers=1, workspace=tmp_path)


def test_effects_arms_and_validity_are_on_the_page(tmp_path: Path) -> None:
    results = made(tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open(f"/experiment/{results.name}")
        await visit.sees("Do <b>groups</b> matter?")
        await visit.sees("8 of 8")
        await visit.sees("each arm minus groups=1, 95 % intervals, paired by replicate")
        (row,) = visit.one("effects-table").rows
        effect = results.effects().row(0, named=True)
        assert row["effect"] == f"{effect['effect']:+.4g}" and row["interval"].startswith(f"[{effect['low']:.4g}")
        await visit.sees("share blue over the steps")
        await visit.sees("a script, not a language model")
        assert [arm["arm"] for arm in visit.one("arms").rows] == ["groups=1", "groups=3"]
        await visit.sees("None of the 8 runs failed.")
        await visit.sees(f"populace report {results.name}")

    visiting(tmp_path, story)


def test_another_reference_and_outcome_can_be_chosen_and_linked_to(tmp_path: Path) -> None:
    results = made(tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open(f"/experiment/{results.name}?reference=groups%3D3")
        await visit.sees("each arm minus groups=3")
        visit.enter("outcome", "mean(share_blue)")
        await visit.sees("Effects on mean(share_blue): each arm minus groups=3")
        visit.enter("reference", "groups=1")
        await visit.sees("each arm minus groups=1")

    visiting(tmp_path, story)


def test_it_grows_as_runs_end(tmp_path: Path) -> None:
    results = made(tmp_path)
    rows = next((results.folder.path / "rows").glob("*.jsonl"))
    lines = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join(lines[:4]))
    results.folder.write(state="running", reason="")

    async def story(visit: Visit) -> None:
        await visit.open(f"/experiment/{results.name}")
        await visit.sees("4 of 8")
        await visit.sees("Its process ended without recording an end")
        rows.write_text("".join(lines))
        results.folder.write(state="complete", reason="all done")
        await visit.sees("8 of 8")
        await visit.until(lambda: "Its process ended without recording an end" not in visit.texts())

    visiting(tmp_path, story)


@pytest.mark.slow
def test_one_that_stopped_goes_on_by_the_command_on_the_page(tmp_path: Path) -> None:
    results = made(tmp_path, scenario="norms", factors={"personas": ["none", "graded"]},
                   parameters={"workers": 4, "days": 2}, model="scripted:uniform")  # fmt: skip
    rows = next((results.folder.path / "rows").glob("*.jsonl"))
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[:3]))
    results.folder.write(state="stopped", reason="interrupted")

    async def story(visit: Visit) -> None:
        await visit.open(f"/experiment/{results.name}")
        await visit.sees("3 of 8")
        await visit.sees(f"populace experiment .studio/{results.name}.yaml")
        visit.press("go-on")
        await visit.sees("8 of 8", seconds=40)
        await visit.sees("complete")

    visiting(tmp_path, story)


def test_failed_runs_are_told_with_their_reasons(tmp_path: Path) -> None:
    results = made(tmp_path, scenario="support.scenarios:Fragile", factors={"mood": ["calm", "broken"]}, replicates=2)

    async def story(visit: Visit) -> None:
        await visit.open(f"/experiment/{results.name}")
        await visit.sees("Effects cannot be computed")
        assert "planned" in visit.one("failures").rows[0]["failure"]
        await visit.sees("--retry")

    visiting(tmp_path, story)


def test_words_as_outcomes_are_counted(tmp_path: Path) -> None:
    results = made(tmp_path, outcomes=[{"name": "norm", "measure": "studio.test_experiment:colour"}])

    async def story(visit: Visit) -> None:
        await visit.open(f"/experiment/{results.name}")
        await visit.sees("How often each norm occurred, by arm")
        assert visit.one("ends-table").rows[0]["n"] == 4

    visiting(tmp_path, story)


def colour(run: Any) -> str:
    return "blue" if run.metrics["share_blue"][-1] > 0.5 else "green"


def test_a_sampled_design_is_shown_as_points(tmp_path: Path) -> None:
    results = made(tmp_path, scenario="norms", factors={"workers": {"low": 4, "high": 8}}, parameters={"days": 2},
                   model="scripted:uniform", design={"kind": "latin-hypercube", "points": 4}, replicates=1,
                   outcomes=["share_blue"])  # fmt: skip

    async def story(visit: Visit) -> None:
        await visit.open(f"/experiment/{results.name}")
        await visit.sees("share_blue against workers: a dot is a run, n = 4")

    visiting(tmp_path, story)


def test_kept_runs_lead_to_their_commands_and_to_blind_judging(tmp_path: Path) -> None:
    results = made(tmp_path, keep="run", replicates=2)

    async def story(visit: Visit) -> None:
        await visit.open(f"/experiment/{results.name}")
        assert len(visit.one("kept").rows) == 4
        assert visit.one("judge")._props["href"] == f"/feedback?run={results.name}"

    visiting(tmp_path, story)


def test_an_experiment_that_is_not_there_or_damaged_is_told(tmp_path: Path) -> None:
    results = made(tmp_path)
    broken = results.folder.path.parent / "broken"
    broken.mkdir()
    (broken / "manifest.json").write_text("{")

    async def story(visit: Visit) -> None:
        await visit.open("/experiment/shirt")
        await visit.sees("there is no experiment 'shirt'")
        await visit.open("/experiment/broken")
        await visit.sees("cannot be read")

    visiting(tmp_path, story)


def test_the_same_comes_as_json_and_the_report_as_a_still_page(tmp_path: Path) -> None:
    results = made(tmp_path)

    async def story(visit: Visit) -> None:
        client = visit.user.http_client
        found = json.loads((await client.get(f"/api/experiments/{results.name}")).text)
        assert found["done"] == 8 and len(found["effects"]["share_blue"]["table"]) == 1
        assert found["validity"]["checks"]
        assert (await client.get("/api/experiments/nothing")).status_code == 404
        assert (await client.get(f"/api/experiments/{results.name}/report")).status_code == 404
        (results.folder.path / f"{results.name}.html").write_text("<p>Report</p>")
        report = await client.get(f"/api/experiments/{results.name}/report")
        assert "sandbox" in report.headers["content-security-policy"]

    visiting(tmp_path, story)


def test_runs_that_end_change_the_page_in_place(tmp_path: Path) -> None:
    """What is drawn again loses the focus, the open part and the place of the reader."""
    results = made(tmp_path)
    rows = next((results.folder.path / "rows").glob("*.jsonl"))
    lines = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join(lines[:6]))
    results.folder.write(state="running", reason="")

    async def story(visit: Visit) -> None:
        await visit.open(f"/experiment/{results.name}")
        await visit.sees("6 of 8")
        names = ("state", "arms", "effects-table", "power", "save-effects", "save-distribution", "precision-table")
        before = {name: visit.one(name) for name in names}
        effects = list(before["effects-table"].rows)
        rows.write_text("".join(lines))
        results.folder.write(state="complete", reason="all done")
        await visit.sees("8 of 8")
        await visit.until(lambda: visit.one("effects-table").rows != effects)
        assert {name: visit.one(name) for name in names} == before
        assert visit.one("state").text == "complete"

    visiting(tmp_path, story)


def test_an_experiment_that_is_moved_while_open_is_one_line_on_the_page(tmp_path: Path) -> None:
    results = made(tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open(f"/experiment/{results.name}")
        await visit.sees_marked("arms")
        results.folder.path.rename(tmp_path / "elsewhere")
        await visit.sees("This experiment was deleted or moved while it was open.")
        (tmp_path / "elsewhere").rename(results.folder.path)
        await visit.sees_marked("arms")

    visiting(tmp_path, story)
