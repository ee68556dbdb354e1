"""The tables of a step do not depend on whether they were made from plain values or from columns."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from populace import Choice, People, Scenario, Scripted, Text, simulate
from populace.deciders import decision
from populace.engine import step_tables
from populace.engine.run import Run
from populace.scenarios.norms import Norms


class Diary(Scenario):
    """People write, one at a time and together, and some replies need a repair."""

    days: int = 2

    def setup(self) -> People:
        return People.named(5, seed=self.rng)

    async def step(self) -> None:
        async def alone(person: People) -> None:
            await self.ask(person, Choice("Tea?", options=("yes", "no"), order="rotate"), given="It rains.")

        await self.ask(self.people, Text("What did you do?"))
        await self.each(self.people, alone)

    def length(self) -> int:
        return self.days


def _norms(**parameters: Any) -> Run:
    model = Scripted(
        lambda request: {"blue": 0.6, "green": 0.3}, spec="scripted:x", failures=0.2, refusals=0.2, garbage=0.2
    )
    scenario = Norms(workers=12, days=2, **parameters)
    return simulate(scenario, model=model, seed=3, keep="nothing", on_failure="record")


def _diary() -> Run:
    model = Scripted(
        lambda request: {"yes": 0.6, "no": 0.1} if request.top else "I walked.", spec="scripted:y", refusals=0.2
    )
    return simulate(Diary(), model=model, seed=3, keep="nothing")


def _table(run: Run, step: int, name: str) -> pl.DataFrame:
    table = run.record.table(step, name)
    assert table is not None
    if name != "prompts":
        return table
    # Python and polars put other spaces between the parts of an object.
    texts = [text and json.dumps(json.loads(text)) for text in table["fields"]]
    return table.with_columns(pl.Series("fields", texts, dtype=pl.String))


@pytest.mark.parametrize(
    "start",
    [_norms, lambda: _norms(order="rotate"), lambda: _norms(order="random", reason=True), _diary],
    ids=["failures", "all orders", "thinking aloud", "texts"],
)
def test_a_step_records_the_same_tables_for_few_people_as_for_many(
    start: Callable[[], Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = start()
    for module in (decision, step_tables):
        monkeypatch.setattr(module, "FEW", 0)
    many = start()
    for step in few.record.steps():
        assert few.record.facts(step) == many.record.facts(step)
        names = few.record.table_names(step)
        assert names == many.record.table_names(step)
        for name in names:
            one, other = (_table(run, step, name) for run in (few, many))
            assert one.schema == other.schema
            assert one.equals(other, null_equal=True)
