"""Human decisions as a plan uses them: what may be learned from, what is looked at, and what is scored on."""

from __future__ import annotations

from populace.base.errors import TrainingError
from populace.evaluation.human_decisions import HumanDecisions


def check_licences(decisions: HumanDecisions, allowed: tuple[str, ...]) -> None:
    """Refuse decisions under a licence that a plan does not name.

    Args:
        decisions: The decisions.
        allowed: The licences that the plan names.
    """
    others = {licence: tasks for licence, tasks in decisions.licences.items() if licence not in allowed}
    if others:
        licence, tasks = next(iter(others.items()))
        raise TrainingError(
            f"{sum(len(each) for each in others.values())} tasks are under a licence that the plan does not name: "
            f"{licence!r} (such as {tasks[0]}).",
            "Add the licence under `licences:` if it allows this use, or leave these tasks out of the folder.",
        )
