"""The events of a run, newest first, with their details in words."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from populace.people import Id
from populace.runs.reader import RunReader
from populace.studio import step_cache
from populace.studio.pages.run.people_data import TablePage

_EMPTY = {"step": pl.Int64, "kind": pl.String, "person": pl.Int64, "name": pl.String, "details": pl.String}


def event_rows(
    run: RunReader,
    step: int,
    *,
    until: bool = False,
    kind: str = "",
    person: str = "",
    search: str = "",
    page: int = 1,
    size: int = 25,
) -> TablePage:
    """A page of events, newest first: step, kind, person, name and details in words.

    Args:
        run: The run.
        step: The step.
        until: Whether events of all earlier steps count too.
        kind: Only events of this kind.
        person: Only those of the person with this id or name.
        search: Text that the details must contain, in any case of letters.
        page: The number of the page, from 1.
        size: How many rows a page has.
    """
    ids = _ids(run, step, person.strip()) if person.strip() else None
    skip, left, total, tables = max(page - 1, 0) * size, size, 0, []
    for at in range(step, -1 if until else step - 1, -1):
        count, rows = _matching(run, at, kind, ids, search.strip())
        total += count
        if count > skip and left:
            table = _page(run, at, rows, count, skip, left)
            tables.append(table)
            left -= table.height
        skip = max(0, skip - count)
    if not tables:
        return TablePage(pl.DataFrame(schema=_EMPTY), total)
    table = pl.concat(tables, how="vertical_relaxed")
    names = step_cache.names_of(run, step, table["person"])
    details = pl.Series("details", [detail_text(data) for data in table["data"]], pl.String)
    return TablePage(table.with_columns(names, details).select(list(_EMPTY)), total)


def kind_counts(run: RunReader, step: int, *, until: bool = False) -> pl.DataFrame:
    """The kinds of events at a step, or up to it, and how many there were of each."""
    counts = [_kinds(run, at) for at in (range(step + 1) if until else [step])]
    counts = [each for each in counts if each.height]
    if not counts:
        return pl.DataFrame(schema={"kind": pl.String, "events": pl.UInt32})
    return pl.concat(counts).group_by("kind").agg(pl.sum("events")).sort("events", "kind", descending=[True, False])


def detail_text(data: str | None) -> str:
    """The details of an event in words.

    Example:
        >>> detail_text('{"posts":[5,4],"by":"rule"}')
        'posts: 5, 4 · by: rule'
    """
    try:
        details = json.loads(data or "{}")
    except ValueError:
        return data or ""
    if not isinstance(details, dict):
        return _value_text(details)
    return " · ".join(f"{name.replace('_', ' ')}: {_value_text(value)}" for name, value in details.items())


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value_text, value))
    if isinstance(value, dict):
        return "; ".join(f"{name} {_value_text(part)}" for name, part in value.items())
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@step_cache.cached_per_step
def _kinds(run: RunReader, step: int) -> pl.DataFrame:
    table = step_cache.columns(run, step, "events", ["kind"])
    if table is None:
        return pl.DataFrame(schema={"kind": pl.String, "events": pl.UInt32})
    return table.group_by("kind").len("events")


def _matching(run: RunReader, step: int, kind: str, ids: list[Id] | None, search: str) -> tuple[int, pl.Series | None]:
    """How many events of a step match, and their rows; None for all rows."""
    counts = _kinds(run, step)
    if kind:
        counts = counts.filter(pl.col("kind") == kind)
    most = int(counts["events"].sum())
    if not most or (ids is None and not search and counts.height == _kinds(run, step).height):
        return most, None
    names = ["kind", *(["person"] if ids is not None else []), *(["data"] if search else [])]
    table = step_cache.columns(run, step, "events", names)
    if table is None:
        return 0, None
    matches = pl.lit(True) if not kind else pl.col("kind") == kind
    if ids is not None:
        matches = matches & pl.col("person").is_in(ids)
    if search:
        matches = matches & pl.col("data").str.to_lowercase().str.contains(search.lower(), literal=True)
    rows = (
        table.select(matches.fill_null(False).arg_true()).to_series()
        if table.height
        else pl.Series([], dtype=pl.UInt32)
    )
    return rows.len(), rows


def _page(run: RunReader, step: int, rows: pl.Series | None, count: int, skip: int, left: int) -> pl.DataFrame:
    """Some events of a step, the last one first."""
    table = step_cache.columns(run, step, "events", ["kind", "person", "data"])
    matching = pl.int_range(count, eager=True, dtype=pl.UInt32) if rows is None else rows
    page = matching.reverse().slice(skip, left)
    return (pl.DataFrame() if table is None else table[page]).insert_column(
        0, pl.Series("step", [step], pl.Int64).new_from_index(0, page.len())
    )


def _ids(run: RunReader, step: int, person: str) -> list[Id]:
    """The ids of the people with an id or a name; empty where there is nobody."""
    names = [name for name in ("id", "name") if name in run.record.people_columns(step)]
    table = step_cache.people_table(run, step, names)
    matches = pl.any_horizontal(pl.col(name).cast(pl.String).str.to_lowercase() == person.lower() for name in names)
    return table.filter(matches)["id"].to_list()
