"""What the runs of an experiment spend, written while they go on, so that neither a stop nor a kill loses it.

Every process has a file with one record of fixed length for each run that it began. The record of the run under way is
overwritten as replies arrive. It is blanked once the row of the run is written, and stays if the run was abandoned.
"""

import contextlib
import itertools
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from populace.broker import Usage

_FOLDER = "spending"
_LENGTH = 160
_MONEY_DIGITS = 10

RunKey = tuple[int, int]
"""The numbers of the arm and of the replicate of a run."""


class Spending(NamedTuple):
    """Calls, tokens and money."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    @classmethod
    def of(cls, usage: Usage) -> "Spending":
        """What was used of a broker."""
        return cls(usage.calls, usage.tokens, usage.cost)

    def plus(self, other: "Spending") -> "Spending":
        """The sum; money is rounded, so that it does not depend on the order of the terms."""
        cost = round(self.cost + other.cost, _MONEY_DIGITS)
        return Spending(self.calls + other.calls, self.tokens + other.tokens, cost)

    def minus(self, other: "Spending") -> "Spending":
        """The difference."""
        return self.plus(Spending(-other.calls, -other.tokens, -other.cost))


class SpendingWriter:
    """Writes what the runs of one process spend.

    Args:
        folder: The experiment's folder.
    """

    def __init__(self, folder: Path) -> None:
        place = folder / _FOLDER
        place.mkdir(exist_ok=True)
        self._offset = 0
        self._key: RunKey = (0, 0)
        for number in itertools.count():
            with contextlib.suppress(FileExistsError):
                self._file = os.open(place / f"{os.getpid()}-{number}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                return

    def begin(self, key: RunKey) -> None:
        """Begin the record of a run."""
        self._key = key

    def count(self, spending: Spending) -> None:
        """Write what the run under way has spent so far."""
        fields = {"arm": self._key[0], "replicate": self._key[1], **spending._asdict()}
        self._write(json.dumps(fields))

    def settle(self) -> None:
        """Blank the record: the row of its run says what it spent."""
        self._write("")

    def abandon(self) -> None:
        """Leave the record as it is: its run ended without a row that says what it spent."""
        self._offset += _LENGTH

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _write(self, text: str) -> None:
        os.pwrite(self._file, text.ljust(_LENGTH - 1).encode() + b"\n", self._offset)


def abandoned_spending(folder: Path) -> dict[RunKey, Spending]:
    """What runs spent that have no row yet, or had to be begun again; runs under way are among them."""
    totals: dict[RunKey, Spending] = {}
    for file in sorted((folder / _FOLDER).glob("*")):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                record = json.loads(line) if line.strip() else None
                if record is not None:
                    key = (int(record["arm"]), int(record["replicate"]))
                    spending = Spending(int(record["calls"]), int(record["tokens"]), float(record["cost"]))
                    totals[key] = totals.get(key, Spending()).plus(spending)
    return totals


def total_spending(
    rows: Mapping[RunKey, Mapping[str, Any]], abandoned: Mapping[RunKey, Spending], leave_out: Iterable[RunKey] = ()
) -> Spending:
    """What an experiment has spent so far, abandoned runs included.

    Args:
        rows: The row of each run that ended.
        abandoned: From `abandoned_spending`.
        leave_out: Runs under way, whose spending is not counted.
    """
    total, skip = Spending(), set(leave_out)
    for row in rows.values():
        if row["status"] == "complete":
            total = total.plus(Spending(row.get("calls", 0), row.get("tokens", 0), row.get("cost", 0.0)))
    for key, spending in abandoned.items():
        # A row says what earlier attempts spent too, where their replies were kept.
        if key not in skip and not rows.get(key, {}).get("earlier_calls"):
            total = total.plus(spending)
    return total
