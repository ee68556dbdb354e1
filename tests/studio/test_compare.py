"""Compare puts runs side by side, follows them, and says what cannot be compared."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

from populace import Run, simulate
from populace.engine.run import Run as Opened
from populace.models import Scripted
from populace.scenarios.norms import Norms
from support.models import varied
from support.scenarios import Shirts, Talk
from support.studio import Visit, visiting


def made(tmp_path: Path, scenario: Any = None, seed: int = 1, **options: Any) -> Run:
    model = Scripted(varied, spec="scripted:support.models:varied")
    return simulate(scenario or Shirts(), model=model, seed=seed, workspace=tmp_path, **options)


def test_a_parent_and_its_fork_are_shown_with_the_step_where_they_part(tmp_path: Path) -> None:
    parent = made(tmp_path)
    fork = parent.fork(3, seed=9)

    async def story(visit: Visit) -> None:
        await visit.open(f"/compare?runs={parent.name},{fork.name}")
        await visit.sees(f"{fork.name} is a fork of {parent.name}, its own from step 3 on.")
        await visit.sees("share blue")
        await visit.sees("the answer differs")
        await visit.sees("step 3 ·")
        links = [visit.one(f"decision-{run.name}")._props["href"] for run in (parent, fork)]
        assert links[1].startswith(f"/run/{fork.name}/decision?step=3&person=")
        assert visit.one("settings").rows[0]["setting"] == "seed"
        await visit.sees(f"populace compare {parent.name} {fork.name}")

    visiting(tmp_path, story)


def test_runs_of_several_seeds_are_one_line_with_a_band_until_told_otherwise(tmp_path: Path) -> None:
    names = [made(tmp_path, seed=seed).name for seed in (1, 2, 3)]

    async def story(visit: Visit) -> None:
        await visit.open(f"/compare?runs={','.join(names)}")
        await visit.sees("95 % t intervals of the mean over seeds")
        await visit.sees("n")
        assert visit.one("differences").rows[0]["n"] == "3"
        visit.enter("bands", False)
        await visit.until(lambda: "95 % t intervals of the mean" not in visit.texts())

    visiting(tmp_path, story)


def test_the_slider_moves_the_differences_and_the_link_brings_it_back(tmp_path: Path) -> None:
    one, two = made(tmp_path), made(tmp_path, Shirts(groups=2))

    async def story(visit: Visit) -> None:
        await visit.open(f"/compare?runs={one.name},{two.name}&at=0")
        assert visit.one("at").value == 0
        assert visit.one("differences").rows[1]["difference"] == "+0"
        visit.enter("at", 4)
        gap = two.metrics["share_blue"][4] - one.metrics["share_blue"][4]
        await visit.until(lambda: visit.one("differences").rows[1]["difference"] == f"{gap:+.4g}")

    visiting(tmp_path, story)


def test_runs_of_other_scenarios_and_missing_ones_are_told(tmp_path: Path) -> None:
    one, two, gone = made(tmp_path), made(tmp_path, Talk()), made(tmp_path, seed=2)
    shutil.rmtree(gone.folder)

    async def story(visit: Visit) -> None:
        await visit.open(f"/compare?runs={one.name},{two.name},{gone.name},..%2F..%2Fetc")
        await visit.sees("2 scenarios")
        await visit.sees("Another scenario asks other questions")
        await visit.sees_marked(f"missing-{gone.name}")
        await visit.sees("is not the name of a run")
        await visit.sees_marked(f"compared-{one.name}")

    visiting(tmp_path, story)


def test_without_runs_the_page_says_what_to_do(tmp_path: Path) -> None:
    run = made(tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open("/compare")
        await visit.sees("Choose two or more runs")
        assert visit.one("add-run").options == [run.name]
        await visit.open(f"/compare?runs={run.name}")
        await visit.sees("Add another run to compare it with.")

    visiting(tmp_path, story)


def test_a_fork_is_followed_while_it_runs_and_when_it_goes_away(tmp_path: Path) -> None:
    parent = made(tmp_path)
    fork = parent.fork(3, seed=9)
    hidden = tmp_path / "hidden"
    (fork.folder / "steps" / "00004").rename(hidden)

    async def story(visit: Visit) -> None:
        await visit.open(f"/compare?runs={parent.name},{fork.name}")
        assert visit.one("at").value == 3
        hidden.rename(fork.folder / "steps" / "00004")
        fork.manifest.write(fork.folder)
        await visit.until(lambda: visit.one("at").value == 4)
        shutil.rmtree(fork.folder)
        await visit.sees_marked(f"missing-{fork.name}")
        await visit.sees_marked(f"compared-{parent.name}")

    visiting(tmp_path, story)


def test_a_run_that_has_only_begun_is_shown_beside_others(tmp_path: Path) -> None:
    begun, one, two = (made(tmp_path, seed=seed) for seed in (1, 2, 3))
    shutil.rmtree(begun.folder / "steps")
    (begun.folder / "steps").mkdir()

    async def story(visit: Visit) -> None:
        await visit.open(f"/compare?runs={begun.name},{one.name},{two.name}")
        await visit.sees("They have 0 to 4 steps")
        await visit.sees("Every recorded decision of the 0 shared steps is equal.")
        await visit.open(f"/compare?runs={begun.name}")
        await visit.sees("These runs have no numeric metric in common.")

    visiting(tmp_path, story)


def test_the_same_comes_as_json(tmp_path: Path) -> None:
    parent = simulate(Norms(workers=6, days=3), model="scripted:uniform", seed=1, workspace=tmp_path)
    fork = Opened.open(parent.folder).fork(2, seed=4)

    async def story(visit: Visit) -> None:
        said = await visit.user.http_client.get(f"/api/compare?runs={parent.name},{fork.name},nothing")
        found = json.loads(said.text)
        assert found["runs"] == [parent.name, fork.name] and found["missing"][0]["name"] == "nothing"
        assert found["partings"][0]["parting"]["step"] >= 2
        assert found["at"] == 3 and len(found["metrics"]["share_blue"]["table"]["step"]) == 4

    visiting(tmp_path, story)


def test_the_name_of_a_folder_never_becomes_an_attribute(tmp_path: Path) -> None:
    run = made(tmp_path)
    evil = 'x" onmouseover=evil y="'
    shutil.copytree(run.folder, tmp_path / "runs" / evil)

    async def story(visit: Visit) -> None:
        for address in ("/", f"/compare?runs={run.name},{quote(evil)}"):
            client = await visit.open(address)
            await visit.until(lambda: evil in visit.texts())
            props = {name for element in client.elements.values() for name in element._props}
            assert not {name for name in props if name.startswith("on")}

    visiting(tmp_path, story)
