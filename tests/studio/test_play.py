"""Taking part in Studio: questions appear, are answered, and what was typed survives a closed page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from populace import Run, simulate
from populace.base.errors import InterruptedRunError
from populace.engine.folder_desk import FolderDesk
from populace.engine.workspace import Workspace
from populace.models import Scripted
from support.scenarios import Shirts, Talk
from support.studio import Visit, another, visiting


@contextmanager
def running(workspace: Path, scenario: object, **settings: object) -> Iterator[list[Run]]:
    """A run in a thread that asks at the desk in its folder."""
    ended: list[Run] = []
    options = {"model": Scripted(lambda _: "I see.", spec="scripted:see"), "desk": FolderDesk()} | settings
    thread = threading.Thread(target=lambda: ended.append(simulate(scenario, workspace=workspace, **options)))  # type: ignore[call-overload]
    thread.start()
    yield ended
    thread.join(120)


def name_of(workspace: Path) -> str:
    return next((workspace / "runs").iterdir()).name


async def opened(visit: Visit, workspace: Path) -> str:
    await visit.until(
        lambda: any((workspace / "runs").glob("*/desk/*.json")) if (workspace / "runs").is_dir() else False
    )
    name = name_of(workspace)
    await visit.open(f"/run/{name}/play")
    await visit.sees_marked("question")
    return name


def test_options_are_buttons_and_the_run_goes_on(tmp_path: Path) -> None:
    scenario = Shirts(people_count=2, days=2)
    with running(tmp_path, scenario, decider="rule", play="1") as ended:

        async def story(visit: Visit) -> None:
            await opened(visit, tmp_path)
            seen = visit.texts()
            assert "You belong to group 1." in seen and "Yesterday 0 wore blue." in seen and "Which shirt?" in seen
            visit.press("option-0")
            await visit.sees("question 2/0", seconds=20)
            visit.press("option-1")
            await visit.sees("This run is complete", seconds=20)

        visiting(tmp_path, story)
    assert [ended[0].people(step)["shirt"][1] for step in (1, 2)] == ["blue", "green"]


def test_a_page_that_is_closed_in_mid_answer_loses_nothing_and_the_answer_stays_open(tmp_path: Path) -> None:
    with running(tmp_path, Talk(people_count=1, days=1), decider="human", play_timeout_s=4.0) as ended:

        async def story(visit: Visit) -> None:
            await opened(visit, tmp_path)
            visit.press("option-0")
            await visit.sees_marked("answer", seconds=20)
            visit.enter("answer", "I was about to s")
            later = another(visit)
            await later.open(f"/run/{name_of(tmp_path)}/play")
            await later.sees_marked("answer")
            assert later.one("answer").value == "I was about to s"
            await later.sees("This run is complete", seconds=30)

        visiting(tmp_path, story)
    run = ended[0]
    assert dict(run.statuses) == {"ok": 1, "unanswered": 1} and run.replay(verify=True).steps == run.steps


def test_an_answer_that_is_no_answer_is_asked_for_again(tmp_path: Path) -> None:
    with running(tmp_path, Talk(people_count=1, days=1), decider="human"):

        async def story(visit: Visit) -> None:
            await opened(visit, tmp_path)
            visit.press("option-2")
            await visit.sees_marked("answer", seconds=20)
            visit.press("send")
            await visit.sees("The answer is empty.", seconds=20)
            visit.enter("answer", "<b>Good</b> day")
            visit.press("send")
            await visit.sees("This run is complete", seconds=20)

        visiting(tmp_path, story)
    run = Run(Workspace(tmp_path).open("last"))
    assert "<b>Good</b> day" in run.events.filter(kind="said")["data"][0]


def test_a_run_that_is_not_under_way_says_so(tmp_path: Path) -> None:
    with suppress(InterruptedRunError):
        simulate(Shirts(people_count=2), decider="rule", play="1", workspace=tmp_path)

    name = name_of(tmp_path)

    async def story(visit: Visit) -> None:
        await visit.open(f"/run/{name}/play")
        await visit.sees("not under way")
        visit.studio.library.remove(name)
        await visit.sees("there is no run")
        visit.studio.workspace.restore(name)
        await visit.sees("not under way")
        await visit.open(f"/run/{name}")
        await visit.sees_marked("take-part")
        await visit.open("/run/nothing/play")
        await visit.sees("there is no run 'nothing'")

    visiting(tmp_path, story)
