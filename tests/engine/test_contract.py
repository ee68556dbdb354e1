"""Slips of the pen in a scenario that would change what it does without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from populace import simulate
from populace.base.errors import ScenarioError
from populace.engine.discovery import find_scenario

GARDEN = '''
from functools import cached_property

import populace as pc


class Garden(pc.Scenario):
    """Neighbours help or do not."""

    def setup(self):
        return pc.People.named(2, seed=self.rng).with_columns(helped="no")

    def profile(self):
        return "You are {name}."

    def length(self):
        return 1

    async def step(self):
        self.people["helped"] = await self.ask(self.people, pc.Choice("Do you help?", options=("yes", "no")))

    @pc.metric
    def share_helping(self):
        return self.people.share(helped="yes")
'''


def run(folder: Path, text: str) -> None:
    file = folder / "garden.py"
    file.write_text(text)
    simulate(find_scenario(str(file))(), model="scripted:uniform", keep="nothing")


@pytest.mark.parametrize(
    ("right", "wrong"), [("profile", "profil"), ("profile", "porfile"), ("length", "lenght"), ("length", "lenth")]
)
def test_a_misspelt_method_that_would_be_ignored_is_named(tmp_path: Path, right: str, wrong: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        run(tmp_path, GARDEN.replace(f"def {right}", f"def {wrong}"))
    assert str(raised.value) == (
        f"Garden defines '{wrong}', which nothing calls. Did you mean '{right}'? If not, give the method another name."
    )


@pytest.mark.parametrize(
    "method",
    [
        "def profiles(self):\n        return []",
        "def shop(self):\n        return 1",
        "def stopp(self, person):\n        return 1",
        "def stopp(self):\n        return 1\n\n    def use(self):\n        return self.stopp()",
        "def stopp(self):\n        return 1\n\n    def use(self):\n        return getattr(self, 'stopp')()",
        "@pc.metric\n    def stopp(self):\n        return 1",
        "def lenght(self):\n        return 1",  # The method itself is there too.
    ],
)
def test_a_method_of_the_user_that_only_looks_like_a_slip_is_left_alone(tmp_path: Path, method: str) -> None:
    run(tmp_path, GARDEN.replace("    def length", f"    {method}\n\n    def length"))


@pytest.mark.parametrize("decorator", ["property", "cached_property", "staticmethod"])
def test_a_metric_under_another_decorator_is_refused(tmp_path: Path, decorator: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        run(tmp_path, GARDEN.replace("@pc.metric", f"@{decorator}\n    @pc.metric"))
    assert str(raised.value) == (
        f"Garden.share_helping is a {decorator}, so that it is not recorded as a metric. "
        f"Write @pc.metric alone on the line above the method, without @{decorator}."
    )


@pytest.mark.parametrize(
    "body",
    [
        'self.people.share(helped="yes")',
        'share = self.people.share(helped="yes")\n        if not share:\n            return',
        "def inner():\n            return 1\n        inner()",
    ],
)
def test_a_metric_that_forgets_to_return_is_refused(tmp_path: Path, body: str) -> None:
    with pytest.raises(
        ScenarioError, match=r"the metric Garden.share_helping returns nothing. End it with .* return …"
    ):
        run(tmp_path, GARDEN.replace('return self.people.share(helped="yes")', body))


@pytest.mark.parametrize(
    "body",
    [
        "return None",
        "if self.t > 5:\n            return 1",
        "raise NotImplementedError\n\n    def share_helping(self): return 1",
    ],
)
def test_a_metric_may_have_no_value_at_a_step(tmp_path: Path, body: str) -> None:
    run(tmp_path, GARDEN.replace('return self.people.share(helped="yes")', body))
