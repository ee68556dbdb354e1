"""The design of a structure-or-data study: which runs, how many, and what they will take, before any is made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from populace.base.errors import PopulaceError, UsageError
from populace.broker import price_of
from populace.engine.discovery import find_scenario, reference
from populace.engine.event_loop import finish
from populace.engine.scenario import Scenario
from populace.experiments.experiment import Experiment
from populace.experiments.factors import Factor
from populace.experiments.plan import Stop
from populace.experiments.wordings import AS_WRITTEN, Bundle, changes_prompts, read_wordings
from populace.tools.estimate import Range, estimate

WORDING, ORDER, LABELS = "asked wording", "asked order", "asked labels"
"""Factors of the way of asking, named so that they meet no parameter of a scenario."""

_REVERSED: Bundle = {"variation": {"order": "reversed"}}
_EXCHANGED: Bundle = {"variation": {"labels": True}}


@dataclass(frozen=True)
class StructureDesign:
    """What a structure-or-data study will run.

    Every structure arm is run under every model, with the same seeds. The replicates of an arm are spread over all
    combinations of the ways of asking, each with seeds of its own and at least two of them: a factorial with few
    replicates of a cell tells the effect of each factor as well as many replicates of few cells.

    Attributes:
        experiment: Models, structure and ways of asking.
        twin: The rule twin under the same structure; None where it is not asked for.
        structure: The parameters that make the structure arms.
        asking: The factors of the way of asking, by the part that they belong to.
        notes: What was left out, and why.
    """

    experiment: Experiment
    twin: Experiment | None
    structure: tuple[str, ...]
    asking: dict[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()

    @property
    def models(self) -> list[str]:
        """The models, as tables name them."""
        factor = self.experiment.factors.get("model")
        return [str(name) for name in factor.names] if factor else [self.experiment.model]

    @property
    def runs(self) -> int:
        """Runs of models."""
        return len(self.experiment.arms()) * self.experiment.replicates

    def calls(self) -> Range | None:
        """Calls to models, from a trial run of the first arm on stand-in answers; None where it cannot be tried."""
        arm = self.experiment.arms()[0]
        try:
            found = finish(estimate(arm.build(), model=arm.model, price=price_of(arm.model), seeds=1))
        except PopulaceError:
            return None
        # Runs of one arm share prompts, so that the calls of one run are the fewest and those of all runs the most.
        return Range(found.calls.low, found.calls.high * self.runs)

    def __str__(self) -> str:
        sizes = {name: factor.count or 0 for name, factor in self.experiment.factors.items()}
        arms = math.prod(sizes[name] for name in self.structure)
        asked = math.prod(sizes[name] for names in self.asking.values() for name in names)
        text = (
            f"{arms} structure arms × {len(self.models)} models × {asked} ways of asking × "
            f"{self.experiment.replicates} seeds each = {self.runs:,} runs"
        )
        twin = f", and {len(self.twin.arms()) * self.twin.replicates:,} of the rule twin" if self.twin else ""
        return "\n".join([f"{text}{twin}.", *self.notes])


def design_structure(
    scenario: Scenario | type[Scenario] | str,
    *,
    outcomes: Sequence[Any] | str,
    structure: Mapping[str, Any],
    models: Sequence[str] | Mapping[str, str] = ("embedded",),
    wordings: Sequence[str] | Mapping[str, Any] | None = ("polite", "headed"),
    swaps: bool | Mapping[str, Any] = True,
    orders: bool | Mapping[str, Any] = True,
    twin: bool = True,
    replicates: int = 20,
    parameters: Mapping[str, Any] | None = None,
    temperature: float = 1.0,
    seed: int = 0,
    name: str = "structure",
    question: str = "",
    calls: int | None = None,
) -> StructureDesign:
    """The design of a study, with its size; nothing is run. See `structure_or_data` for the arguments."""
    found, fixed = _scenario(scenario, parameters)
    written = reference(found)
    clash = next((each for each in structure if each in (WORDING, ORDER, LABELS, "model")), None)
    if clash is not None:
        raise UsageError(f"{clash!r} cannot be a structure parameter.", "It has a place of its own.")
    base = {key: value for key, value in fixed.items() if key not in structure}
    asked = {
        "wording": {WORDING: read_wordings(wordings, found)},
        "order and labels": {
            ORDER: _one("reversed", orders, _REVERSED, found),
            LABELS: _one("exchanged", swaps, _EXCHANGED, found),
        },
    }
    factors: dict[str, Any] = dict(structure)
    shared = [*structure]
    if len(models) > 1:
        factors["model"] = dict(models) if isinstance(models, Mapping) else list(models)
        shared.append("model")
    elif not models:
        raise UsageError("a study needs at least one model.")
    known = found.parameter_model().model_fields
    trial = base | {key: Factor.read(key, given).level(0)[1] for key, given in structure.items() if key in known}
    notes: list[str] = []
    asking: dict[str, tuple[str, ...]] = {}
    for part, by_factor in asked.items():
        for factor, options in by_factor.items():
            kept = {}
            for title, changes in options.items():
                if changes_prompts(written, trial, changes, seed=seed):
                    kept[title] = changes
                else:
                    notes.append(f"{factor} = {title} changes nothing that anybody is asked, and is left out.")
            if kept:
                factors[factor] = {AS_WRITTEN: {"variation": {}}} | kept
                asking[part] = (*asking.get(part, ()), factor)
    combinations = math.prod(len(factors[factor]) for names in asking.values() for factor in names)
    each = max(2, math.ceil(replicates / combinations))
    common: dict[str, Any] = {
        "scenario": written,
        "parameters": base,
        "temperature": temperature,
        "outcomes": outcomes,
        "seed": seed,
        "question": question,
    }
    only = next(iter(models.values() if isinstance(models, Mapping) else models))
    experiment = Experiment(
        name=name,
        factors=factors,
        model=only,
        replicates=each,
        pairing=shared if asking else True,
        stop=Stop(calls=calls),
        **common,
    )
    twins = None
    if twin:
        named = f"{name}-twin"
        twins = Experiment(
            name=named, factors=dict(structure), decider="rule", model=only, replicates=each * combinations, **common
        )
    return StructureDesign(experiment, twins, tuple(structure), asking, tuple(notes))


def _scenario(
    scenario: Scenario | type[Scenario] | str, parameters: Mapping[str, Any] | None
) -> tuple[type[Scenario], dict[str, Any]]:
    if isinstance(scenario, Scenario):
        return type(scenario), {**scenario.parameters, **(parameters or {})}
    return find_scenario(scenario) if isinstance(scenario, str) else scenario, dict(parameters or {})


def _one(title: str, given: bool | Mapping[str, Any], usual: Bundle, scenario: type[Scenario]) -> dict[str, Bundle]:
    """One other level of a factor of the way of asking, or none."""
    if isinstance(given, Mapping):
        return read_wordings({title: given}, scenario)
    return {title: usual} if given else {}
