"""One run as JSON, with its people and their decisions."""

from dataclasses import asdict
from typing import Any

from populace.base.errors import JournalError, UsageError
from populace.base.formatting import json_data
from populace.runs import step_answers, step_events, step_people
from populace.runs import usage as run_usage
from populace.runs.biography import biography, biography_document, decisions_of, memory_stream, person_id
from populace.runs.decision_details import decision_details, details_document
from populace.runs.overview import overview
from populace.runs.reader import RunReader
from populace.runs.settings_text import origin_rows, settings_rows
from populace.studio.shell.parameters import PageNumber, PageSize, StepNumber
from populace.studio.studio import Studio


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
    step: StepNumber = None,
    page: PageNumber = 1,
    size: PageSize = 25,
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
    step: StepNumber = None,
    until: bool = False,
    kind: str = "",
    person: str = "",
    search: str = "",
    page: PageNumber = 1,
    size: PageSize = 25,
) -> dict[str, Any]:
    """A page of the events at a step, or with `until` up to it, newest first."""
    run = studio.library.run(name)
    at = step_of(run, step)
    rows = step_events.event_page(run, at, until=until, kind=kind, person=person, search=search, page=page, size=size)
    return {"step": at, "count": rows.total, "events": rows.table.to_dicts()}


def get_answers(studio: Studio, name: str, step: StepNumber = None) -> dict[str, Any]:
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


def get_usage(studio: Studio, name: str, step: StepNumber = None) -> dict[str, Any]:
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


def get_person(studio: Studio, name: str, who: str, step: StepNumber = None) -> dict[str, Any]:
    """One person, at a step or at the last in which they are there."""
    run = studio.library.run(name)
    person = biography(run, who)
    at = person.steps[-1] if step is None else step
    return json_data(biography_document(person, at, memory_stream(run, person, at)))  # type: ignore[no-any-return]


def get_decisions(studio: Studio, name: str, person: str, step: StepNumber = None) -> list[dict[str, Any]]:
    """The decisions of a person in a step with all details; without a step, a list of all their decisions."""
    run = studio.library.run(name)
    who = person_id(run, person)
    if step is None:
        return json_data(decisions_of(run, who))  # type: ignore[no-any-return]
    paths = [decision.path for decision in run.decisions(step, who)]
    details = [decision_details(run, step, who, path, calls=studio.workspace.calls_file) for path in paths]
    return [json_data(details_document(each)) for each in details if each is not None]


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
    "/runs/{name}/people/{who:path}": get_person,
    "/runs/{name}/events": get_events,
    "/runs/{name}/answers": get_answers,
    "/runs/{name}/usage": get_usage,
    "/runs/{name}/decisions": get_decisions,
}
