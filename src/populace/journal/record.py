"""The record of a run, step by step: what readers and the simulation rely on, on disk or in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from populace.base.own_memory import with_own_memory
from populace.base.plain_tables import Table, to_polars
from populace.journal.manifest import Manifest
from populace.journal.table_rows import joined_rows


class Record:
    """The record of a run, step by step, on disk or in memory."""

    manifest: Manifest

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.manifest.run

    def steps(self) -> list[int]:
        """The numbers of all committed steps, from 0, the beginning."""
        raise NotImplementedError

    def facts(self, step: int) -> dict[str, Any]:
        """What was noted with a step, without opening a table."""
        raise NotImplementedError

    def table(self, step: int, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame | None:
        """One table of a step, or some of its columns; None where the step has no such table."""
        raise NotImplementedError

    def scan(self, step: int, name: str) -> pl.LazyFrame | None:
        """One table of a step to be read in part, or None where the step has none."""
        table = self.table(step, name)
        return None if table is None else table.lazy()

    def rows(self, name: str, steps: Sequence[int], *where: pl.Expr, columns: Sequence[str] = ()) -> pl.DataFrame:
        """The rows of a table at some steps that meet every condition: the step, then its columns, or some of them."""
        tables = {step: table for step in steps if (table := self.table(step, name)) is not None and table.width}
        return joined_rows(tables, where, columns)

    def table_names(self, step: int) -> list[str]:
        """The names of the tables of a step."""
        raise NotImplementedError

    def commit(
        self, step: int, tables: Mapping[str, Table], facts: Mapping[str, Any], usage: Mapping[str, Any]
    ) -> None:
        """Write a step and make it part of the run."""
        raise NotImplementedError

    def usage(self) -> list[dict[str, Any]]:
        """What each of this run's own steps used."""
        raise NotImplementedError

    def paused(self, *, waits: bool = True) -> bool:
        """Whether somebody asked the run to wait between two steps.

        Args:
            waits: The run waits from now on if so; otherwise it has something to finish before.
        """
        return False

    def set_status(self, **changes: Any) -> None:
        """Change the status in the manifest, the only thing in it that changes."""
        self.manifest.status = self.manifest.status.model_copy(update=changes)

    def people(self, step: int) -> pl.DataFrame:
        """The population after a step, put together from the columns that each step changed."""
        steps = self.people_columns(step)
        tables = {earlier: self.table(earlier, "people") for earlier in set(steps.values())}
        parts = {name: table for name, earlier in steps.items() if (table := tables[earlier]) is not None}
        return pl.DataFrame([parts[name][name] for name in steps])

    def people_columns(self, step: int) -> dict[str, int]:
        """The columns of the population after a step, each with the step that wrote it last."""
        columns: list[str] = self.facts(step)["people"]["columns"]
        steps: dict[str, int] = {}
        for earlier in range(step, -1, -1):
            facts = self.facts(earlier)["people"]
            steps |= {name: earlier for name in facts["written"] if name in columns and name not in steps}
            if facts["rows"] or len(steps) == len(columns):
                break
        return {name: steps[name] for name in columns}


class MemoryRecord(Record):
    """A record that is kept for as long as the process lives."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._steps: list[tuple[dict[str, Table], dict[str, Any], dict[str, Any]]] = []

    def steps(self) -> list[int]:
        """The numbers of all steps so far."""
        return list(range(len(self._steps)))

    def facts(self, step: int) -> dict[str, Any]:
        """What was noted with a step."""
        return self._steps[step][1]

    def table(self, step: int, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame | None:
        """One table of a step, or some of its columns."""
        recorded = self._steps[step][0].get(name)
        table = None if recorded is None else to_polars(recorded)
        return table if table is None or columns is None else table.select(columns)

    def table_names(self, step: int) -> list[str]:
        """The names of the tables of a step."""
        return list(self._steps[step][0])

    def commit(
        self, step: int, tables: Mapping[str, Table], facts: Mapping[str, Any], usage: Mapping[str, Any]
    ) -> None:
        """Keep a step; what a scenario changes later in an array that it gave must not change it."""
        own = {name: with_own_memory(table) for name, table in tables.items()}
        self._steps.append((own, dict(facts), {"step": step, **usage}))

    def usage(self) -> list[dict[str, Any]]:
        """What each step used."""
        return [usage for _, _, usage in self._steps]
