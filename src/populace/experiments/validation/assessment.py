"""From a run or an experiment to its card."""

from __future__ import annotations

from populace.experiments.results import Results
from populace.experiments.validation import checks
from populace.experiments.validation.card import Check, ValidityCard
from populace.experiments.validation.case import Case, case_of
from populace.experiments.validation.external_checks import Reference, model_agreement_check, reference_check
from populace.experiments.validation.position_probe import probe_position_bias
from populace.models import ModelKind, model_kind
from populace.runs.reader import RunReader


def validity(subject: RunReader | Results, *, reference: Reference | None = None, probe: bool = False) -> ValidityCard:
    """What a run or an experiment is worth: checks that pass, fail or inform, and warnings.

    Everything is read from what the runs left behind; only `probe` asks a model.

    Args:
        subject: A run, or the results of an experiment.
        reference: Target shares of answers, such as those of a survey: a mapping from answers to shares, a table
            with columns answer, share and perhaps question, or a CSV file of such. It is held against the first arm.
        probe: Where options were always shown in one order, ask the first question again in every order. It costs
            a few calls: one for each distinct prompt and order.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=6, days=2), model="scripted:uniform", seed=1, keep="nothing")
        >>> validity(run)["invalid answers"].verdict
        'pass'
    """
    case = case_of(subject)
    position = checks.position_check(case)
    if probe and position.verdict == "not measured" and "model" in case.deciders:
        position = probe_position_bias(subject)
    agreed = model_agreement_check(subject) if isinstance(subject, Results) else None
    made: list[Check] = [
        *checks.answer_checks(case),
        checks.mass_check(case),
        position,
        checks.label_check(case),
        checks.entropy_check(case),
        reference_check(case, reference),
        checks.persona_check(case),
        checks.homogeneity_check(case),
        checks.drift_check(case),
        *([agreed] if agreed else []),
        *checks.size_checks(case),
    ]
    return ValidityCard(case.title, tuple(made), tuple(_warnings(case)))


def _warnings(case: Case) -> list[str]:
    """In which respects the result lies outside what was validated."""
    found = []
    if case.unfinished:
        found.append(f"it is not complete: {case.unfinished}.")
    if any(model_kind(model, ModelKind()).fills_machine for model in case.models):
        found.append(
            "the embedded 135M model is there so that everything runs anywhere; what it answers says nothing of people."
        )
    scripted = [model for model in case.models if model_kind(model, ModelKind()).scripted]
    if scripted:
        found.append(f"{', '.join(scripted)} is a script, not a language model: this tests the machinery, not a claim.")
    if case.deciders == {"rule"}:
        found.append("rules decided everything; no language model was asked.")
    if 0.0 in case.temperatures and "model" in case.deciders:
        found.append("at temperature 0 the likeliest option is always taken: spread between people and seeds is lost.")
    if case.facts["sampled"]:
        found.append(f"{case.facts['sampled']:,} answers are single samples, not draws from a known distribution.")
    if case.replicates is not None and case.replicates < checks.REPLICATES:
        found.append(f"there are {case.replicates} replicates; fewer than {checks.REPLICATES} are for looking around.")
    if len(case.models) == 1 and not scripted:
        found.append("one model was asked: another may answer otherwise.")
    blind = next((seen["failed"] for _, seen in case.witnesses if "failed" in seen), None)
    if blind:
        found.append(f"the answers of some runs could not be looked into: {blind}")
    elif not case.witnesses:
        found.append("these runs were made before answers were looked into; most checks could not be made.")
    return found
