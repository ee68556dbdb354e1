"""The validity card: how far a result can be trusted, on one page."""

from populace.base.formatting import plural
from populace.experiments.results import Results
from populace.experiments.validation import checks
from populace.experiments.validation.basis import ValidityBasis, validity_basis
from populace.experiments.validation.card import Check, ValidityCard
from populace.experiments.validation.external_checks import Reference, model_agreement_check, reference_check
from populace.experiments.validation.fidelity_check import fidelity_checks
from populace.experiments.validation.position_probe import probe_position_bias
from populace.runs.caveats import basis_caveats
from populace.runs.reader import RunReader

__all__ = ["Check", "ValidityCard", "validity"]


def validity(subject: RunReader | Results, *, reference: Reference | None = None, probe: bool = False) -> ValidityCard:
    """The validity card of a run or an experiment: checks that pass, fail or inform, and warnings.

    Everything is read from what the runs stored; only `probe` calls a model.

    Args:
        subject: A run, or the results of an experiment.
        reference: Target shares of answers, such as those of a survey: a mapping from answers to shares, a table
            with columns answer, share and perhaps question, or a CSV file of such. It is compared with the first arm.
        probe: If options were always shown in one order, ask the first question again in every order. It costs
            a few calls: one for each distinct prompt and order.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=6, days=2), model="scripted:uniform", seed=1, keep="nothing")
        >>> validity(run)["invalid answers"].verdict
        'pass'
    """
    basis = validity_basis(subject)
    position = checks.position_check(basis)
    if probe and position.verdict == "not measured" and "model" in basis.deciders:
        position = probe_position_bias(subject)
    agreement = model_agreement_check(subject) if isinstance(subject, Results) else None
    card_checks: list[Check] = [
        *checks.answer_checks(basis),
        checks.mass_check(basis),
        position,
        checks.label_check(basis),
        checks.entropy_check(basis),
        reference_check(basis, reference),
        *fidelity_checks(subject, basis),
        checks.persona_check(basis),
        checks.homogeneity_check(basis),
        checks.drift_check(basis),
        *([agreement] if agreement else []),
        *checks.size_checks(basis),
    ]
    return ValidityCard(basis.title, tuple(card_checks), tuple(_warnings(basis)))


_HAS_CHECK = ("low-mass", "invalid-answers")
"""Caveats that the card measures by a check of its own."""


def _warnings(basis: ValidityBasis) -> list[str]:
    """The caveats of the runs, and what the experiment itself lacks."""
    warnings = [caveat.text for caveat in basis_caveats(basis) if caveat.id not in _HAS_CHECK]
    if basis.replicates is not None and basis.replicates < checks.REPLICATES:
        warnings.append(
            f"the smallest arm has {plural(basis.replicates, 'replicate')}; "
            f"fewer than {checks.REPLICATES} are for looking around."
        )
    failure = next((evidence["failed"] for _, evidence in basis.witnesses if "failed" in evidence), None)
    if failure:
        warnings.append(f"the answers of some runs could not be examined: {failure}")
    elif not basis.witnesses:
        warnings.append("these runs were made before answers were examined; most checks could not be made.")
    return warnings
