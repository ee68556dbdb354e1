"""The budget of an experiment, shared by its processes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from populace.base.formatting import plural
from populace.broker import CallSettings, money_text
from populace.experiments.folder import RunRow
from populace.experiments.plan import StoppingRule
from populace.experiments.spending import RunKey, Spending, abandoned_spending, total_spending

_ROOM = 2
"""A run may take so many times what the dearest run took; one that takes more goes on alone with all that is left."""


class Lease(NamedTuple):
    """The part of the budget that some runs may spend.

    Attributes:
        runs: The runs.
        limits: What they may spend together.
        whole: Whether that is all that is left.
    """

    runs: Collection[RunKey]
    limits: CallSettings
    whole: bool = True


class ExperimentBudget:
    """Divides what an experiment may spend among its processes, so that together they never spend more.

    A run that goes on holds a lease; leases and what was spent never exceed the limit. Before anything is known about
    the size of a run, the first one has the whole budget and runs alone.

    Args:
        stop: The limits.
        folder: The experiment's folder.
    """

    def __init__(self, stop: StoppingRule, folder: Path) -> None:
        self._stop, self._folder = stop, folder
        self._rows: dict[RunKey, RunRow] = {}
        self.limited = stop.max_calls is not None or stop.max_money is not None

    def count(self, rows: Iterable[RunRow]) -> None:
        """Count runs that ended."""
        for row in rows:
            key = row["arm"], row["replicate"]
            if self._rows.get(key, {}).get("status") != "complete":
                self._rows[key] = row

    def reason(self) -> str:
        """Which limit is reached, in words; empty while there is something left."""
        stop, spent = self._stop, self._spent()
        if stop.max_calls is not None and spent.calls >= stop.max_calls:
            return f"the budget of {plural(stop.max_calls, 'call')} is reached"
        if stop.max_money is not None and spent.cost >= stop.max_money:
            return f"the budget of {money_text(stop.max_money, 2)} is reached"
        return ""

    def lease(self, runs: Collection[RunKey], others: Sequence[Lease], *, alone: bool = False) -> Lease | None:
        """A part of the budget for some runs; None where nothing is left, or not enough while others go on.

        Args:
            runs: The runs.
            others: The leases of the runs that go on now.
            alone: Whether they should have all that is left.
        """
        if not self.limited:
            return Lease(runs, CallSettings())
        calls, money = self._left(others)
        if (calls is not None and calls < 1) or (money is not None and money <= 0):
            return None
        calls_needed, money_needed = self._needed()
        known = calls_needed > 0 and (money is None or money_needed > 0)
        room = known and (calls is None or calls >= calls_needed) and (money is None or money >= money_needed)
        if others and (alone or not room):
            return None
        if alone or not room:
            return Lease(runs, CallSettings(max_calls=calls, max_money=money))
        part = CallSettings(
            max_calls=None if calls is None else calls_needed, max_money=None if money is None else money_needed
        )
        return Lease(runs, part, whole=False)

    def _left(self, others: Sequence[Lease]) -> tuple[int | None, float | None]:
        """The calls and the money that are neither spent nor lent."""
        spent = self._spent([key for each in others for key in each.runs])
        calls, money = self._stop.max_calls, self._stop.max_money
        if calls is not None:
            calls -= spent.calls + sum(each.limits.max_calls or 0 for each in others)
        if money is not None:
            money -= spent.cost + sum(each.limits.max_money or 0.0 for each in others)
        return calls, money

    def _needed(self) -> tuple[int, float]:
        """What a run may take, judged by the runs that ended; 0 where none did."""
        complete = [row for row in self._rows.values() if row["status"] == "complete"]
        calls = max((row["calls"] + row["reused"] for row in complete), default=0)
        return _ROOM * calls, _ROOM * max((row["cost"] for row in complete), default=0.0)

    def _spent(self, leave_out: Iterable[RunKey] = ()) -> Spending:
        return total_spending(self._rows, abandoned_spending(self._folder), leave_out)
