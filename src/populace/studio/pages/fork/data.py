"""A fork as a form has it: the parent at a step, the changes that were added, and the command that starts it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from populace.base.errors import InterventionError, UnknownNameError, UsageError
from populace.base.randomness import stream
from populace.engine.interventions import (
    AddPeople,
    Announce,
    ChangeParameters,
    Intervention,
    RemovePeople,
    SetColumns,
    SwapModel,
    announced,
    joined,
    read_interventions,
    set_columns,
)
from populace.models import model_kind
from populace.people import People
from populace.runs.reader import RunReader
from populace.studio.pages.fork.selection import Column, columns_of, plain, whom
from populace.studio.widgets.form_values import command_options, format_value, input_error, input_errors
from populace.tools.describe import Parameter


@dataclass(frozen=True)
class Beginning:
    """The parent, as the fork would leave it.

    Attributes:
        at: The first step that differs.
        last: The last step at which the parent can be left.
        people: How many there are.
        columns: What is known of them.
        metrics: The metrics after the step before, by name.
        parameters: The parameters that hold then.
        model: Who decides then.
        seed: The seed that holds then.
        temperature: The temperature that holds then.
    """

    at: int
    last: int
    people: int
    columns: tuple[Column, ...]
    metrics: dict[str, float | str | None]
    parameters: dict[str, Any]
    model: str
    seed: int
    temperature: float


def beginning(run: RunReader, at: int | None = None) -> Beginning:
    """The parent at the step before a fork; without a step, at its last one.

    Raises:
        UsageError: The run has no step yet, or cannot be forked there.
    """
    steps = run.steps
    if not steps:
        raise UsageError(f"{run.name} has no committed step yet.", "It can be forked as soon as it has one.")
    last = steps[-1] + 1
    at = max(1, steps[-1]) if at is None else at
    if not 1 <= at <= last:
        raise UsageError(f"{run.name} cannot be forked at step {at}.", f"It can be forked at 1 to {last}.")
    people = run.people(at - 1)
    metrics = run.record.table(at - 1, "metrics")
    row = metrics.row(0, named=True) if metrics is not None and metrics.height else {}
    regimes = [each for each in run.manifest.regimes if each.since < at]
    parameters = {name: value for each in regimes for name, value in each.parameters.items()}
    for each in read_interventions(list(run.manifest.interventions)):
        if isinstance(each, ChangeParameters) and each.at < at:
            parameters |= each.parameters
    now = regimes[-1]
    return Beginning(
        at,
        last,
        len(people),
        tuple(columns_of(people)),
        {name: value for name, value in row.items() if name != "step"},
        parameters,
        now.model,
        now.seed,
        now.temperature,
    )


SETTINGS = (
    Parameter("seed", "int", None, optional=True, help="Another seed from this step on."),
    Parameter("temperature", "number", None, optional=True, ge=0, help="Another temperature from this step on."),
)
"""What a fork may have of its own beside changes."""


@dataclass
class Fork:
    """A fork as it was put together.

    Attributes:
        run: The parent's name.
        at: The first step that differs.
        changes: Interventions, as plain data.
        settings: What was typed for another seed or temperature; nothing keeps the parent's.
    """

    run: str
    at: int
    changes: list[dict[str, Any]] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, run: str, at: int, query: Mapping[str, str]) -> Fork:
        """The fork that an address describes."""
        try:
            changes = json.loads(query.get("changes", "[]"))
        except ValueError as error:
            raise InterventionError(f"the changes in the address are not JSON: {error}.") from error
        if not isinstance(changes, list):
            raise InterventionError("the changes in the address are no list.")
        read_interventions(changes)
        return cls(run, at, changes, {each.name: query[each.name] for each in SETTINGS if each.name in query})

    def query(self) -> dict[str, str | None]:
        """What the address holds; None for what is left out."""
        changes = json.dumps(self.changes, ensure_ascii=False, separators=(",", ":")) if self.changes else None
        settings = {each.name: self.settings.get(each.name, "").strip() or None for each in SETTINGS}
        return {"at": str(self.at), "changes": changes, **settings}

    def move(self, at: int) -> None:
        """Fork at another step; what was to happen at the fork goes with it."""
        for change in self.changes:
            if change["at"] == self.at or change["at"] < at:
                change["at"] = at
        self.at = at

    def input_errors(self) -> dict[str, str]:
        """Settings that will not do."""
        return input_errors(SETTINGS, self.settings)

    def command(self) -> list[str]:
        """The command that starts it, without `populace`.

        A parameter or a model for everybody that changes with the first step is a setting of the fork, which also
        decides whether there is more to do; all else is an intervention.
        """
        made, later = ["fork", self.run, "--at", str(self.at)], []
        for change in self.changes:
            begins = change["at"] == self.at
            if begins and change["kind"] == "change":
                for name, value in change["parameters"].items():
                    made += ["--set", f"{name}={format_value(value)}"]
            elif begins and change["kind"] == "swap" and change.get("to") is None:
                made += ["--model", change["model"]]
            else:
                later.append(change)
        made += command_options(SETTINGS, self.settings)
        for change in later:
            made += ["--intervention", json.dumps(change, ensure_ascii=False)]
        return made


def checked(run: RunReader, fork: Fork, parameters: Sequence[Parameter]) -> list[str]:
    """Every change as a sentence, after trying it on the people as they are at the fork.

    Raises:
        PopulaceError: A change that cannot be read, or that would fail when the fork runs.
    """
    people = run.people(fork.at - 1)
    said = []
    for number, each in enumerate(read_interventions([dict(change) for change in fork.changes])):
        if each.at < fork.at:
            raise InterventionError(f"a change at step {each.at} lies before the fork at {fork.at}.")
        meant = _meant(each, people, number)
        _try(each, people, meant, parameters)
        said.append(sentence(each, len(meant) if meant is not None else None, len(people)))
    return said


def _meant(intervention: Intervention, people: People, number: int) -> People | None:
    selection = intervention.to if isinstance(intervention, RemovePeople) else getattr(intervention, "to", None)
    if selection is None:
        return None
    # Who a random share falls on is drawn anew in the fork; how many they are is the same.
    meant: People = selection.of(people, stream(0, f"studio/{number}"))
    if not len(meant):
        raise InterventionError("nobody is meant.", "No person fits the conditions at this step.")
    return meant


def _try(intervention: Intervention, people: People, meant: People | None, parameters: Sequence[Parameter]) -> None:
    """Do it to the people at hand."""
    match intervention:
        case Announce() if meant is not None:
            announced(people, intervention, meant)
        case SetColumns() if meant is not None:
            unknown = [name for name in intervention.values if name not in (*people.columns, "decider", "model")]
            if unknown:
                raise UnknownNameError("column", unknown[0], people.columns)
            set_columns(people, intervention, meant)
        case AddPeople():
            joined(people, intervention)
        case RemovePeople() if meant is not None:
            if len(meant) == len(people):
                raise InterventionError("nobody would be left.", "Choose fewer people.")
            people.remove(meant)
        case ChangeParameters():
            _check_parameters(intervention.parameters, parameters)
        case SwapModel():
            model_kind(intervention.model)  # Raises where the string has no known form.


def _check_parameters(given: Mapping[str, Any], parameters: Iterable[Parameter]) -> None:
    known = {each.name: each for each in parameters}
    for name, value in given.items():
        if name not in known:
            raise UnknownNameError("parameter", name, known)
        said = input_error(known[name], format_value(value))
        if said:
            raise InterventionError(f"{name}: {said}.")


def sentence(intervention: Intervention, meant: int | None, people: int) -> str:
    """An intervention in words.

    Example:
        >>> sentence(Announce(at=3, text="Wear green.", steps=2), 20, 20)
        'At step 3, tell everybody: “Wear green.”, for 2 steps'
    """
    at = f"At step {intervention.at},"
    match intervention:
        case Announce():
            long = f", for {_count(intervention.steps, 'step', 'steps')}" if intervention.steps else ""
            return f"{at} tell {whom(intervention.to, meant, people)}: “{intervention.text}”{long}"
        case SetColumns():
            values = ", ".join(
                f"{name} to {format_value(plain(v)) or 'nothing'}" for name, v in intervention.values.items()
            )
            return f"{at} set {values} for {whom(intervention.to, meant, people)}"
        case AddPeople():
            names = [str(row["name"]) for row in intervention.people if row.get("name")]
            joiners = _count(len(intervention.people), "person joins", "people join")
            return f"{at} {joiners}" + (f": {', '.join(names[:5])}{', …' if len(names) > 5 else ''}" if names else "")
        case RemovePeople():
            return f"{at} {whom(intervention.to, meant, people)} leave"
        case ChangeParameters():
            values = ", ".join(
                f"{name} becomes {format_value(value)}" for name, value in intervention.parameters.items()
            )
            return f"{at} {values}"
        case SwapModel():
            all_or_some = "everybody" if intervention.to is None else whom(intervention.to, meant, people)
            return f"{at} {intervention.model} decides for {all_or_some}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
