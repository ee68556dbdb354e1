"""A fork as a form has it: the parent at a step, the changes, and the command that starts it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from populace.base.errors import InterventionError, UnknownNameError, UsageError
from populace.base.randomness import stream
from populace.journal import ChangeParameters, Regime, RunSettings, read_interventions
from populace.people import People
from populace.runs.biography import has_memories
from populace.runs.reader import RunReader
from populace.studio.pages.fork.selection import columns_of
from populace.studio.widgets.form_values import command_options, format_value, input_error, input_errors
from populace.tools.describe import Parameter, fields_of


@dataclass(frozen=True)
class ForkPoint:
    """The parent as it is before the first step of the fork.

    Attributes:
        at: The first step that differs.
        last: The last step at which the parent can be forked.
        people: The number of people.
        columns: The columns of the population.
        metrics: The metrics after the step before, by name.
        parameters: The parameters of the scenario.
        regime: The model, seed and temperature, among others.
    """

    at: int
    last: int
    people: int
    columns: list[Parameter]
    metrics: dict[str, float | str | None]
    parameters: dict[str, Any]
    regime: Regime


def fork_point(run: RunReader, at: int | None = None) -> ForkPoint:
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
    row = metrics.drop("step", strict=False).row(0, named=True) if metrics is not None and metrics.height else {}
    manifest = run.manifest
    parameters = {
        name: value for each in manifest.regimes if each.since < at for name, value in each.parameters.items()
    }
    for change in manifest.interventions:
        if isinstance(change, ChangeParameters) and change.at < at:
            parameters |= change.parameters
    return ForkPoint(at, last, len(people), columns_of(people), row, parameters, manifest.regime_at(at - 1))


SETTINGS = tuple(
    replace(each, default=None, optional=True, required=False, help=f"{each.help.rstrip('.')}; as before by default.")
    for each in fields_of(RunSettings)
    if each.name in ("seed", "temperature", "play")
)
"""The settings that a fork may have of its own."""


@dataclass
class Fork:
    """A fork that is being prepared.

    Attributes:
        run: The parent's name.
        at: The first step that differs.
        changes: Interventions, as plain data.
        settings: Texts for another seed or temperature; an empty one keeps the parent's.
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
            raise InterventionError("the changes in the address are not a list.")
        read_interventions(changes)
        return cls(run, at, changes, {each.name: query[each.name] for each in SETTINGS if each.name in query})

    def query(self) -> dict[str, str | None]:
        """The parts of the address; None for one that is left out."""
        changes = json.dumps(self.changes, ensure_ascii=False, separators=(",", ":")) if self.changes else None
        settings = {each.name: self.settings.get(each.name, "").strip() or None for each in SETTINGS}
        return {"at": str(self.at), "changes": changes, **settings}

    def move(self, at: int) -> None:
        """Fork at another step; changes at the old one move with it."""
        for change in self.changes:
            if change["at"] == self.at or change["at"] < at:
                change["at"] = at
        self.at = at

    def input_errors(self) -> dict[str, str]:
        """The errors in the settings, by name."""
        return input_errors(SETTINGS, self.settings)

    def command(self) -> list[str]:
        """The command that starts it, without `populace`.

        A parameter, or a model for everybody, that changes with the first step is a setting of the fork; everything
        else is an intervention.
        """
        arguments, later = ["fork", self.run, "--at", str(self.at)], []
        for change in self.changes:
            first = change["at"] == self.at
            if first and change["kind"] == "change":
                for name, value in change["parameters"].items():
                    arguments += ["--set", f"{name}={format_value(value)}"]
            elif first and change["kind"] == "swap" and change.get("to") is None:
                arguments += ["--model", change["model"]]
            else:
                later.append(change)
        arguments += command_options(SETTINGS, self.settings)
        for change in later:
            arguments += ["--intervention", json.dumps(change, ensure_ascii=False)]
        return arguments


def check_changes(run: RunReader, fork: Fork, parameters: Sequence[Parameter]) -> list[str]:
    """Every change as a sentence, after trying it on the people as they are at the fork.

    Raises:
        PopulaceError: A change that cannot be read, or that would fail when the fork runs.
    """
    trial = _Trial(run.people(fork.at - 1), parameters, has_memories(run))
    sentences = []
    for number, change in enumerate(read_interventions([dict(change) for change in fork.changes])):
        if change.at < fork.at:
            raise InterventionError(f"a change at step {change.at} lies before the fork at {fork.at}.")
        # Who a random share falls on is drawn anew in the fork; how many they are is the same.
        sentences.append(change.check(trial, stream(0, f"studio/{number}")))
    return sentences


@dataclass
class _Trial:
    """A society to try changes on: the people at the fork, and the parameters of the scenario."""

    people: People
    parameters: Sequence[Parameter]
    has_memory: bool

    def remember(self, people: People, text: str, *, kind: str, importance: float) -> None:
        """Nothing to try: whether there is a memory was checked before."""

    def change_thing(self, place: str, state: str) -> None:
        """Nothing to try: whether the world has such a thing, the command finds out."""

    def check_thing(self, place: str) -> None:
        """Nothing to try: whether the world has such a thing, the command finds out."""

    def change(self, parameters: Mapping[str, Any]) -> None:
        by_name = {each.name: each for each in self.parameters}
        for name, value in parameters.items():
            if name not in by_name:
                raise UnknownNameError("parameter", name, by_name)
            error = input_error(by_name[name], format_value(value))
            if error:
                raise InterventionError(f"{name}: {error}.")

    def use_model(self, spec: str) -> None:
        """Nothing to try: whether a model is there, the command finds out."""
