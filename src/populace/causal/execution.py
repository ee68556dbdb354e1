"""Asking a causal study: a run for each design, and those that the diagnostics need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from populace.base.errors import CausalStudyError, UnknownNameError
from populace.broker import CallSettings
from populace.causal.diagnostics import MIN_RANGE, Focalism, RangeEffect, drifts, focalism, range_effect, range_halves
from populace.causal.responses import Responses
from populace.causal.results import CausalResults
from populace.causal.scenario import CausalScenario
from populace.causal.study import CausalStudy
from populace.causal.wording import DESIGNS, SHOWS_RANGE, CausalDesign, stated_covariates
from populace.engine.observer import Observer
from populace.engine.run import Keep, Run, simulate
from populace.engine.signature import read_settings, refuse_unknown, takes_settings
from populace.engine.workspace import Workspace
from populace.journal import RunSettings
from populace.runs.reader import RunReader
from populace.runs.settings_text import parameters_of_run

RANGE_NAMES = ("lower", "upper")

Asker = Callable[[CausalStudy, CausalDesign, str], Responses]
"""Asks a study in a design; the text is the name of the run."""


@takes_settings(RunSettings, CallSettings)
def ask_causal_study(
    study: CausalStudy | str | Path,
    *,
    designs: Sequence[CausalDesign] = DESIGNS,
    diagnostics: bool = True,
    workspace: str | Path | Workspace | None = None,
    keep: Keep = "run",
    observer: Observer | None = None,
    progress: Callable[[str], None] | None = None,
    **settings: Any,
) -> CausalResults:
    """Ask a study in several designs, and estimate.

    Every design is a run of its own, which can be opened like any other. Limits on calls, tokens and money hold for all
    of them together; if one is reached, the same call goes on where it stopped, without paying for anything twice.

    Args:
        study: The declaration, or its file.
        designs: The designs.
        diagnostics: Whether to ask for unstated covariates and in two ranges too.
        workspace: The folder that holds runs; the current one by default.
        keep: What outlives the process: the `run` folders and the call store, only the `calls`, or `nothing`.
        observer: Receives the progress of each run.
        progress: Receives the name of each run before it starts.
        **settings: See `RunSettings` and `CallSettings`.

    Example:
        >>> study = CausalStudy.read({
        ...     "treatment": {"name": "price", "levels": [1, 2, 3], "statement": "It costs {price} dollars."},
        ...     "setting": "You see apples.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes",
        ...     "personas": [{"age": age} for age in range(20, 40)]})
        >>> results = ask_causal_study(study, designs=("blind",), model="scripted:uniform", keep="nothing")
        >>> results["blind"].response
        'does not respond'
    """
    declared = CausalStudy.read(study)
    if not designs or isinstance(designs, str):
        raise CausalStudyError(f"designs is {designs!r}.", 'Name one or more of them: designs=("blind", "unblinded").')
    unknown = next((name for name in designs if name not in DESIGNS), None)
    if unknown is not None:
        raise UnknownNameError("design", str(unknown), DESIGNS)
    calls = read_settings(CallSettings, settings)
    known = {name: settings.pop(name) for name in RunSettings.model_fields if name in settings}
    refuse_unknown(settings, ask_causal_study)
    spent = {"max_calls": 0.0, "max_tokens": 0.0, "max_money": 0.0}
    runs: dict[str, str] = {}

    def run(name: str, scenario: CausalScenario) -> Run:
        if progress is not None:
            progress(name)
        limits = remaining_limits(calls, spent)
        done = simulate(scenario, workspace=workspace, keep=keep, observer=observer, **known, **limits)
        usage = done.usage()
        for limit, used in (("max_calls", usage.calls), ("max_tokens", usage.tokens), ("max_money", usage.cost)):
            spent[limit] += used
        runs[name] = done.name
        return done

    def ask(part: CausalStudy, design: CausalDesign, name: str, *, drift: bool = False) -> Responses:
        return Responses.read(part, design, run(name, CausalScenario(study=part, design=design, drift=drift)))

    # Without a covariate to state, the second design would be the first.
    chosen = [each for each in DESIGNS if each in designs and (each != "covariates" or stated_covariates(declared))]
    responses = {design: ask(declared, design, design) for design in chosen}
    stated = responses.get("covariates")
    elicited = None
    if diagnostics and any(covariate.question for covariate in declared.covariates):
        elicited = ask(declared, "blind", "drift", drift=True)
    return CausalResults(
        declared,
        responses,
        () if elicited is None else tuple(drifts(elicited, stated)),
        _steps(stated),
        _ranges(declared, [design for design in responses if design in SHOWS_RANGE], ask) if diagnostics else (),
        runs,
    )


def has_all_steps(run: RunReader) -> bool:
    """Whether a run of a causal study has asked all that it was to ask."""
    return run.steps[-1] >= CausalScenario(**parameters_of_run(run)).length()


def recorded_causal_results(runs: Sequence[RunReader]) -> CausalResults:
    """The results of a study whose designs were run before, without asking anybody.

    Args:
        runs: Runs of `CausalScenario` with one declaration: at most one of each design, one that asked for unstated
            covariates where there is one, and those of the lower and the upper range where they are there.

    Raises:
        CausalStudyError: If a run is no design of a causal study or not finished, or runs are of different studies.
    """
    parts: dict[str, Responses] = {}
    for run in runs:
        if not has_all_steps(run):
            raise CausalStudyError(f"{run.name} did not reach its end.", f"Run `populace resume {run.name}`.")
        parts[run.name] = Responses.of(run)
    if all(part.elicited for part in parts.values()):
        raise CausalStudyError("there is no run of a causal study.", "Start one with `populace causal FILE`.")
    study = max((part.study for part in parts.values()), key=lambda each: len(each.treatment.values))
    names = _labels(study, parts)
    responses = {design: parts[names[design]] for design in DESIGNS if design in names}
    if not responses:
        raise CausalStudyError("there is no run with all levels of the study.", "Name the run of a design too.")
    stated = responses.get("covariates")
    elicited = parts[names["drift"]] if "drift" in names else None
    ranges = [
        range_effect(*(parts[names[run_label(design, name)]] for name in RANGE_NAMES))
        for design in SHOWS_RANGE
        if all(run_label(design, name) in names for name in RANGE_NAMES)
    ]
    found = () if elicited is None else tuple(drifts(elicited, stated))
    return CausalResults(study, responses, found, _steps(stated), tuple(ranges), names)


def _labels(study: CausalStudy, parts: Mapping[str, Responses]) -> dict[str, str]:
    """The name of each run by what it holds: a design, the drift of covariates, or a design in half of the range."""
    halves = {half.digest: name for name, half in _halves(study).items()}
    names: dict[str, str] = {}
    for name, part in parts.items():
        if part.study.digest not in (study.digest, *halves):
            raise CausalStudyError(f"{name} is of another study than the other runs.", "Name runs of one study.")
        label = "drift" if part.elicited else run_label(part.design, halves.get(part.study.digest, ""))
        if label in names:
            raise CausalStudyError(f"two runs are of the design {label!r}.", "Name one run of each design.")
        names[label] = name
    return names


def remaining_limits(calls: CallSettings, spent: Mapping[str, float]) -> dict[str, Any]:
    """The settings of calls, with what is left of their limits."""
    limits = calls.model_dump()
    for name, used in spent.items():
        if limits[name] is not None:
            # A limit must be above 0: where nothing is left, the smallest one stops the run at its first call.
            limits[name] = max(limits[name] - used, 1 if name != "max_money" else 1e-9)
    return limits


def _steps(stated: Responses | None) -> tuple[Focalism, ...]:
    """Focalism at every covariate where it can be seen."""
    if stated is None:
        return ()
    found = []
    for covariate in stated.study.covariates:
        z = stated.covariates.get(covariate.name)
        if covariate.comparable and z is not None:
            above = (stated.x[None, None, :] > z[:, :, None] + 1e-9).sum(axis=2)
            if len(np.unique(above)) > 1:
                found.append(focalism(stated, covariate.name))
    return tuple(found)


def run_label(design: CausalDesign, part: str = "") -> str:
    """What a run of a design is called: the design, and the part of the range that it holds."""
    return f"{design}, {part} range" if part else design


def _halves(study: CausalStudy) -> dict[str, CausalStudy]:
    """The two halves of the range of a study by their names; none where a treatment has no range."""
    if not study.treatment.numeric or len(study.treatment.values) < MIN_RANGE:
        return {}
    return dict(zip(RANGE_NAMES, range_halves(study), strict=True))


def _ranges(study: CausalStudy, designs: Sequence[CausalDesign], ask: Asker) -> tuple[RangeEffect, ...]:
    """The effect of the range in every design that tells it; nothing where a treatment has no range."""
    halves = _halves(study)
    if not halves:
        return ()
    return tuple(
        range_effect(*(ask(half, design, run_label(design, name)) for name, half in halves.items()))
        for design in designs
    )
