"""The events of a run up to a step, newest first, with their details in words."""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from populace.base.formatting import time_of_day
from populace.people import Id
from populace.runs import step_cache
from populace.runs.reader import RunReader
from populace.runs.settings_text import value_text
from populace.runs.step_people import TablePage

_EMPTY = {"step": pl.Int64, "kind": pl.String, "person": pl.Int64, "name": pl.String, "details": pl.String}
_KINDS = {"kind": pl.String, "events": pl.UInt32}
_PEOPLE = ("others", "source")
"""Details of events that are ids of people."""
_TIMES = ("at", "since", "begins", "ends", "bedtime")
"""Details of events that are simulated seconds since the first midnight."""


def event_page(
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
        until: Take those of all earlier steps as well.
        kind: Only events of this kind.
        person: Only those of the person with this id or name.
        search: Words that must stand in the details, in any case of letters.
        page: Which page, from 1.
        size: How many rows a page has.
    """
    ids = _ids(run, step, person.strip()) if person.strip() else None
    skip, left, total = max(page - 1, 0) * size, size, 0
    parts: list[pl.DataFrame] = []
    for at in range(step, -1 if until else step - 1, -1):
        count, rows = _matching(run, at, kind, ids, search.strip())
        total += count
        if count > skip and left:
            part = _page(run, at, rows, count, skip, left)
            parts.append(part)
            left -= part.height
        skip = max(0, skip - count)
    if not parts:
        return TablePage(pl.DataFrame(schema=_EMPTY), total)
    table = pl.concat(parts, how="vertical_relaxed")
    names = step_cache.names(run, step, table["person"])
    details = pl.Series("details", [event_text(data) for data in table["data"]], pl.String)
    return TablePage(table.with_columns(names, details).select(list(_EMPTY)), total)


def event_kinds(run: RunReader, step: int, *, until: bool = False) -> pl.DataFrame:
    """The kinds of events at a step, or up to it, and how many there were of each."""
    parts = (_kinds(run, at) for at in (range(step + 1) if until else [step]))
    return step_cache.totals(parts, _KINDS).sort("events", "kind", descending=[True, False])


def event_text(data: str | None, names: Mapping[Id, str] | None = None) -> str:
    """The details of an event in words.

    Args:
        data: The details as JSON.
        names: The names of people by id, for details that name people.

    Example:
        >>> event_text('{"posts": [5, 4], "by": "rule"}'), event_text('{"others": [2], "lines": 4}', {2: "Bo"})
        ('posts: 5, 4 · by: rule', 'others: Bo · lines: 4')
        >>> event_text('{"doing": "cooking", "since": 151200, "at": 153000}')
        'doing: cooking · since: 18:00 · at: 18:30'
    """
    try:
        details = json.loads(data or "{}")
    except ValueError:
        return data or ""
    if not isinstance(details, dict):
        return _value_text(details)
    for key in _PEOPLE:
        if names and key in details:
            people = details[key] if isinstance(details[key], list) else [details[key]]
            details[key] = " and ".join(names.get(person, str(person)) for person in people)
    for key in _TIMES:
        if isinstance(details.get(key), int):
            details[key] = time_of_day(details[key])
    return " · ".join(f"{name.replace('_', ' ')}: {_value_text(value)}" for name, value in details.items())


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value_text, value))
    if isinstance(value, dict):
        return "; ".join(f"{name} {_value_text(part)}" for name, part in value.items())
    return f"{value:.4g}" if isinstance(value, float) else value_text(value)


@step_cache.cached_per_step
def _kinds(run: RunReader, step: int) -> pl.DataFrame:
    table = step_cache.columns(run, step, "events", ["kind"])
    if table is None:
        return pl.DataFrame(schema=_KINDS)
    return table.group_by("kind").len("events")


def _matching(run: RunReader, step: int, kind: str, ids: list[Id] | None, search: str) -> tuple[int, pl.Series | None]:
    """How many events of a step fit, and which rows they are; None stands for all."""
    known = _kinds(run, step)
    if kind:
        known = known.filter(pl.col("kind") == kind)
    most = int(known["events"].sum())
    if not most or (ids is None and not search and known.height == _kinds(run, step).height):
        return most, None
    names = ["kind", *(["person"] if ids is not None else []), *(["data"] if search else [])]
    table = step_cache.columns(run, step, "events", names)
    if table is None:
        return 0, None
    rows = table.lazy().with_row_index("row")
    if kind:
        rows = rows.filter(pl.col("kind") == kind)
    if ids is not None:
        rows = rows.filter(pl.col("person").is_in(ids))
    if search:
        rows = rows.filter(pl.col("data").str.to_lowercase().str.contains(search.lower(), literal=True))
    places = rows.select("row").collect().to_series()
    return places.len(), places


def _page(run: RunReader, step: int, rows: pl.Series | None, count: int, skip: int, left: int) -> pl.DataFrame:
    """Some events of a step, the last one first."""
    table = step_cache.columns(run, step, "events", ["kind", "person", "data"])
    chosen = pl.int_range(count, eager=True, dtype=pl.UInt32) if rows is None else rows
    page = chosen.reverse().slice(skip, left)
    return (pl.DataFrame() if table is None else table[page]).insert_column(
        0, pl.Series("step", [step], pl.Int64).new_from_index(0, page.len())
    )


def _ids(run: RunReader, step: int, person: str) -> list[Id]:
    """Who is meant by an id or a name; nobody where there is none."""
    names = [name for name in ("id", "name") if name in run.record.people_columns(step)]
    table = step_cache.people(run, step, names)
    fits = pl.any_horizontal(pl.col(name).cast(pl.String).str.to_lowercase() == person.lower() for name in names)
    return table.filter(fits)["id"].to_list()
