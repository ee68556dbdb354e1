"""Without a browser: norms is started, watched, opened, forked and compared.

The same on the embedded model is among the tests in a browser.
The town that plays, what-if on a post and five scores have simulated users of their own, in the tests of their pages.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from populace import Run
from populace.engine.workspace import Workspace
from support.studio import Visit, visiting


@pytest.mark.slow
def test_norms_from_the_form_to_a_comparison(tmp_path: Path) -> None:
    def names() -> list[str]:
        return Workspace(tmp_path).names()

    async def story(visit: Visit) -> None:
        await visit.open("/new?scenario=norms")
        visit.enter("model", "scripted:uniform")
        visit.enter("parameter-workers", "3")
        visit.enter("parameter-days", "2")
        visit.press("start-run")
        await visit.until(lambda: visit.user.back_history[-1].startswith("/run/"), seconds=120)
        (first,) = names()
        await visit.until(lambda: visit.one("state").text == "complete", seconds=120)

        person = Run(Workspace(tmp_path).open(first)).people().ids[0]
        await visit.open(f"/run/{first}/decision?step=1&person={person}")
        await visit.sees("Exact prompt")
        await visit.sees("You work in an office with 2 other people.")
        await visit.sees("The random number")

        await visit.open(f"/run/{first}/fork?at=2")
        visit.enter("change-kind", "announce")
        visit.enter("announce-text", "From today everybody wears green.")
        visit.press("change-add")
        await visit.sees_marked("change-0")
        visit.press("fork-start")
        await visit.until(lambda: visit.user.back_history[-1].startswith("/compare?"), seconds=120)
        (fork,) = set(names()) - {first}
        await visit.sees(f"{fork} is a fork of {first}, its own from step 2 on.", seconds=60)
        await visit.sees("From today everybody wears green.", seconds=60)

    visiting(tmp_path, story)
