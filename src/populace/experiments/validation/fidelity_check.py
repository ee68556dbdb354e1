"""What fidelity reports in the workspace say of the models of a run."""

from populace.base.errors import PopulaceError
from populace.engine.workspace import Workspace
from populace.experiments.results import Results
from populace.experiments.validation.basis import ValidityBasis
from populace.experiments.validation.card import Check
from populace.runs.fidelity_figures import fidelity_sentences
from populace.runs.reader import RunReader

_REASON = "In other tasks and for other people it may differ."


def fidelity_checks(subject: RunReader | Results, basis: ValidityBasis) -> list[Check]:
    """A check for each fidelity report about a model of the run; none where the workspace has none."""
    if not isinstance(subject, RunReader) or not basis.models:
        return []
    try:
        folder = Workspace.of(subject.journal).folder
    except PopulaceError:
        return []  # A run that is not on disk lies in no workspace.
    sentences = fidelity_sentences(folder, basis.models)
    return [Check("likeness to people", "inform", sentence, _REASON) for sentence in sentences]
