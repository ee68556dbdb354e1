"""One run as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Query

from populace.base.errors import JournalError, UsageError
from populace.runs import step_answers, step_events, step_people
from populace.runs import usage as run_usage
from populace.runs.overview import overview
from populace.runs.reader import RunReader
from populace.runs.settings_text import origin_rows, settings_rows
from populace.studio.studio import Studio

Page = Annotated[int, Query(ge=1)]
Size = Annotated[int, Query(ge=1, le=500)]


def get_overview(studio: Studio, name: str) -> dict[str, Any]:
    """A run in a few facts, and everything that was set."""
    run = studio.library.run(name)
    facts = overview(run)
    settings = [*settings_rows(run), *origin_rows(run)]
    return {**asdict(facts), "tables": sorted(facts.tables), "progress": facts.progress, "settings": settings}


def get_metrics(studio: Studio, name: str) -> list[dict[str, Any]]:
    """All metrics, a row for each step."""
    return studio.library.run(name).metrics.to_dicts()


def get_people(
    studio: Studio,
    name: str,
    step: int | None = None,
    page: Page = 1,
    size: Size = 25,
    sort: str = "",
    search: str = "",
    where: str = "",
) -> dict[str, Any]:
    """A page of the people at a step; `sort=-age` puts the largest first."""
    run = studio.library.run(name)
    at = step_of(run, step)
    rows = step_people.people_page(
        run, at, search=search, where=where, sort=sort.lstrip("-"), descending=sort[:1] == "-", page=page, size=size
    )
    return {"step": at, "count": rows.total, "people": rows.table.to_dicts()}


def get_events(
    studio: Studio,
    name: str,
    step: int | None = None,
    until: bool = False,
    kind: str = "",
    person: str = "",
    search: str = "",
    page: Page = 1,
    size: Size = 25,
) -> dict[str, Any]:
    """A page of the events at a step, or with `until` up to it, newest first."""
    run = studio.library.run(name)
    at = step_of(run, step)
    rows = step_events.event_page(run, at, until=until, kind=kind, person=person, search=search, page=page, size=size)
    return {"step": at, "count": rows.total, "events": rows.table.to_dicts()}


def get_answers(studio: Studio, name: str, step: int | None = None) -> dict[str, Any]:
    """The answers at a step by question, and the invalid ones."""
    run = studio.library.run(name)
    at = step_of(run, step)
    questions = [
        {
            **{name: value for name, value in vars(each).items() if name not in ("values", "mean")},
            "values": each.values.to_dicts(),
            "mean": asdict(each.mean) if each.mean else None,
        }
        for each in step_answers.question_summaries(run, at)
    ]
    invalid = step_answers.invalid_by_question(run, at).to_dicts()
    return {"step": at, "questions": questions, "invalid": invalid}


def get_usage(studio: Studio, name: str, step: int | None = None) -> dict[str, Any]:
    """Calls, tokens and cost up to a step, by purpose and by step."""
    run = studio.library.run(name)
    usage = run_usage.usage_until(run, step_of(run, step))
    return {
        "until": usage.until,
        "total": usage.total.to_json(),
        "seconds": usage.seconds,
        "purposes": usage.purposes.to_dicts(),
        "steps": usage.steps.to_dicts(),
    }


def step_of(run: RunReader, step: int | None) -> int:
    """A step that the run has; the last one by default."""
    steps = run.steps
    if not steps:
        raise JournalError(f"{run.name} has no committed step yet.", "Wait for its first step.")
    if step is None:
        return steps[-1]
    if not 0 <= step <= steps[-1]:
        raise UsageError(f"{run.name} has no step {step}; it has 0 to {steps[-1]}.")
    return step


ROUTES = {
    "/runs/{name}/overview": get_overview,
    "/runs/{name}/metrics": get_metrics,
    "/runs/{name}/people": get_people,
    "/runs/{name}/events": get_events,
    "/runs/{name}/answers": get_answers,
    "/runs/{name}/usage": get_usage,
}
"""The functions behind the paths below `/api`."""
