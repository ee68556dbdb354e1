"""The design of a structure-or-data study: which runs, how many, and how many calls they take."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from populace.base.errors import PopulaceError, UsageError
from populace.base.formatting import plural
from populace.broker import price_of
from populace.engine.discovery import find_scenario, reference
from populace.engine.scenario import Scenario
from populace.experiments.experiment import Experiment
from populace.experiments.factors import Factor
from populace.experiments.plan import StoppingRule
from populace.experiments.wordings import AS_WRITTEN, Bundle, changes_prompts, read_wordings
from populace.tools.estimate import Range, estimate

WORDING, ORDER, LABELS = "asked wording", "asked order", "asked labels"
"""Factors of the way of asking, named so that they meet no parameter of a scenario."""

_REVERSED: Bundle = {"variation": {"order": "reversed"}}
_EXCHANGED: Bundle = {"variation": {"labels": True}}


@dataclass(frozen=True)
class StructureSettings:
    """What a structure-or-data study compares.

    Attributes:
        scenario: By name, file, class, or an instance with its parameters.
        outcomes: The outcomes to compare; see `Outcome`.
        structure: The parameters that make the structure, each with its levels.
        models: The models, or a mapping from names to models.
        wordings: Paraphrases beside the wording as it is: names of those made by rule (`polite`, `headed`,
            `asked first`, `role`), or named changes such as `{"short": {"variation": {"phrases": {…}}}}`; changes may
            also name parameters of the scenario.
        swaps: Whether to exchange the names of options; or the parameters with which the scenario does so itself.
        orders: Whether to reverse options; or the parameters with which the scenario does so itself.
        twin: Whether to run the rule twin beside the models.
        replicates: Runs of each structure arm under each model, spread over the ways of asking (two of each at least).
        parameters: Parameters that stay the same.
        temperature: Applied to the distributions.
        seed: The seed from which all other seeds are derived.
        name: The name of the experiment.
        question: The question that the study answers.
        calls: Stop after this number of calls to models.

    Example:
        >>> settings = StructureSettings(
        ...     "norms", outcomes=["share_blue"], structure={"initial_share": [0.2, 0.8]}, models=["scripted:uniform"],
        ...     parameters={"workers": 4, "days": 1}, wordings=["polite"], replicates=16,
        ... )
        >>> design_structure(settings).runs
        32
    """

    scenario: Scenario | type[Scenario] | str
    outcomes: Sequence[Any] | str
    structure: Mapping[str, Any]
    models: Sequence[str] | Mapping[str, str] = ("embedded",)
    wordings: Sequence[str] | Mapping[str, Any] | None = ("polite", "headed")
    swaps: bool | Mapping[str, Any] = True
    orders: bool | Mapping[str, Any] = True
    twin: bool = True
    replicates: int = 20
    parameters: Mapping[str, Any] | None = None
    temperature: float = 1.0
    seed: int = 0
    name: str = "structure"
    question: str = ""
    calls: int | None = None

    @property
    def scenario_class(self) -> type[Scenario]:
        """The class of the scenario."""
        if isinstance(self.scenario, Scenario):
            return type(self.scenario)
        return find_scenario(self.scenario) if isinstance(self.scenario, str) else self.scenario

    @property
    def fixed_parameters(self) -> dict[str, Any]:
        """The parameters that stay the same in all arms."""
        own = self.scenario.parameters if isinstance(self.scenario, Scenario) else {}
        return {name: value for name, value in {**own, **(self.parameters or {})}.items() if name not in self.structure}


@dataclass(frozen=True)
class StructureDesign:
    """What a structure-or-data study will run.

    Every structure arm is run under every model, with the same seeds. The replicates of an arm are spread over all
    combinations of the ways of asking, each with seeds of its own and at least two of them: a factorial with few
    replicates of a cell estimates the effect of each factor as well as many replicates of few cells.

    Attributes:
        experiment: Models, structure and ways of asking.
        twin: The rule twin under the same structure; None without one.
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
        """Calls to models, from a trial run of the first arm on stand-in answers; None if that fails."""
        arm = self.experiment.arms()[0]
        try:
            calls = estimate(arm.build(), model=arm.model, price=price_of(arm.model), seeds=1).calls
        except PopulaceError:
            return None
        # Runs of one arm share prompts, so that the calls of one run are the fewest and those of all runs the most.
        return Range(calls.low, calls.high * self.runs)

    def __str__(self) -> str:
        sizes = {name: factor.count or 0 for name, factor in self.experiment.factors.items()}
        arms = math.prod(sizes[name] for name in self.structure)
        ways = math.prod(sizes[name] for names in self.asking.values() for name in names)
        text = (
            f"{plural(arms, 'structure arm')} × {plural(len(self.models), 'model')} × "
            f"{plural(ways, 'way')} of asking × {plural(self.experiment.replicates, 'seed')} each = "
            f"{plural(self.runs, 'run')}"
        )
        twin = f", and {len(self.twin.arms()) * self.twin.replicates:,} of the rule twin" if self.twin else ""
        return "\n".join([f"{text}{twin}.", *self.notes])


def design_structure(settings: StructureSettings) -> StructureDesign:
    """The design of a study, with its size; nothing is run."""
    reserved = next((name for name in settings.structure if name in (WORDING, ORDER, LABELS, "model")), None)
    if reserved is not None:
        raise UsageError(f"{reserved!r} cannot be a structure parameter.", "It is a factor of every study.")
    if not settings.models:
        raise UsageError("a study needs at least one model.")
    asking, asking_factors, notes = _ways_of_asking(settings)
    factors: dict[str, Any] = dict(settings.structure)
    models = settings.models
    if len(models) > 1:
        factors["model"] = dict(models) if isinstance(models, Mapping) else list(models)
    shared = list(factors)
    combinations = math.prod(map(len, asking_factors.values()))
    replicates = max(2, math.ceil(settings.replicates / combinations))
    common: dict[str, Any] = {
        "scenario": reference(settings.scenario_class),
        "parameters": settings.fixed_parameters,
        "temperature": settings.temperature,
        "outcomes": settings.outcomes,
        "seed": settings.seed,
        "question": settings.question,
        "model": next(iter(models.values() if isinstance(models, Mapping) else models)),
    }
    experiment = Experiment(
        name=settings.name,
        factors=factors | asking_factors,
        replicates=replicates,
        pairing=shared if asking else True,
        stop=StoppingRule(max_calls=settings.calls),
        **common,
    )
    twin = None
    if settings.twin:
        twin = Experiment(
            name=f"{settings.name}-twin",
            factors=dict(settings.structure),
            decider="rule",
            replicates=replicates * combinations,
            **common,
        )
    return StructureDesign(experiment, twin, tuple(settings.structure), asking, tuple(notes))


def _ways_of_asking(settings: StructureSettings) -> tuple[dict[str, tuple[str, ...]], dict[str, Any], list[str]]:
    """The factors of the way of asking by part, their levels, and a note for each level that changes no prompt."""
    scenario = settings.scenario_class
    parts = {
        "wording": {WORDING: read_wordings(settings.wordings, scenario)},
        "order and labels": {
            ORDER: _other_level("reversed", settings.orders, _REVERSED, scenario),
            LABELS: _other_level("exchanged", settings.swaps, _EXCHANGED, scenario),
        },
    }
    parameters, known = settings.fixed_parameters, scenario.parameter_model().model_fields
    for name, levels in settings.structure.items():
        if name in known:
            parameters[name] = Factor.read(name, levels).level(0)[1]
    asking: dict[str, tuple[str, ...]] = {}
    factors: dict[str, Any] = {}
    notes: list[str] = []
    for part, by_factor in parts.items():
        for factor, options in by_factor.items():
            effective = {}
            for title, changes in options.items():
                if changes_prompts(reference(scenario), parameters, changes, seed=settings.seed):
                    effective[title] = changes
                else:
                    notes.append(f"{factor} = {title} changes nothing that anybody is asked, and is left out.")
            if effective:
                factors[factor] = {AS_WRITTEN: {"variation": {}}} | effective
                asking[part] = (*asking.get(part, ()), factor)
    return asking, factors, notes


def _other_level(
    title: str, setting: bool | Mapping[str, Any], default: Bundle, scenario: type[Scenario]
) -> dict[str, Bundle]:
    """The level of a factor of the way of asking beside `as written`; empty where the setting is False."""
    if isinstance(setting, Mapping):
        return read_wordings({title: setting}, scenario)
    return {title: default} if setting else {}
