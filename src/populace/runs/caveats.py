"""What a reader of a run's results must know before believing them."""

from __future__ import annotations

from populace.base.formatting import percent
from populace.models import ModelKind, model_kind
from populace.questions import STATUSES
from populace.runs.reader import RunReader


def caveats(run: RunReader) -> list[str]:
    """Everything about a run that weakens what it seems to show, as sentences.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> caveats(simulate(Norms(workers=3, days=1), decider="rule", keep="nothing"))
        []
    """
    found = list(run.manifest.status.notes)
    scored, low = run.count("scored"), run.count("low_mass")
    if low:
        found.append(
            f"in {low:,} of {scored:,} scored answers less than half of the probability fell on any option: "
            "the model was hardly answering the question."
        )
    if run.count("sampled"):
        found.append(
            f"{run.count('sampled'):,} answers are single samples rather than draws from a known distribution."
        )
    counts = run.statuses
    if run.invalid_share:
        bad = ", ".join(f"{counts[status]:,} {status}" for status in STATUSES[2:] if counts[status])
        found.append(f"{percent(run.invalid_share)} of the answers are invalid ({bad}); they changed nothing.")
    regime = run.manifest.regime
    if regime.decider == "model" and model_kind(regime.model, ModelKind()).artifact is not None:
        found.append(
            "the embedded 135M model is there so that everything runs anywhere; it hardly reacts to a persona."
        )
    return found
