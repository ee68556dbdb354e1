"""What fidelity reports in the workspace say of the models of a run or an experiment."""

from pathlib import Path

from populace.base.errors import PopulaceError
from populace.engine.workspace import Workspace
from populace.experiments.results import Results
from populace.experiments.validation.basis import ValidityBasis
from populace.experiments.validation.card import Check
from populace.runs.fidelity_figures import fidelity_sentences
from populace.runs.reader import RunReader

_REASON = "In other tasks and for other people it may differ."


def fidelity_checks(subject: RunReader | Results, basis: ValidityBasis) -> list[Check]:
    """A check for each fidelity report about a model of the run or experiment; none where the workspace has none."""
    home = _workspace_folder(subject)
    if home is None or not basis.models:
        return []
    sentences = fidelity_sentences(home, basis.models)
    return [Check("likeness to people", "inform", sentence, _REASON) for sentence in sentences]


def _workspace_folder(subject: RunReader | Results) -> Path | None:
    """The folder of the workspace; None where the subject lies in none."""
    if isinstance(subject, Results):
        path = subject.folder.path.absolute()
        workspace = path.parent.parent
        return workspace if path.parent == Workspace(workspace).experiments else None
    try:
        return Workspace.of(subject.journal).home
    except PopulaceError:
        return None  # A run that is not on disk lies in no workspace.
