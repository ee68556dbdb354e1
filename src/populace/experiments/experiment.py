"""An experiment that can be run: its plan, and the command that executes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from populace.experiments.execution import ExperimentObserver, run_experiment
from populace.experiments.plan import ExperimentPlan
from populace.experiments.results import Results


class Experiment(ExperimentPlan):
    """An experiment that can be run; see `ExperimentPlan` for its fields.

    Example:
        >>> experiment = Experiment(
        ...     name="conformity", question="Do traits slow a norm down?", scenario="norms",
        ...     factors={"personas": ["none", "graded"]}, parameters={"workers": 6, "days": 2},
        ...     model="scripted:uniform", replicates=4, outcomes=["share_blue"],
        ... )
        >>> [arm.name for arm in experiment.arms()]
        ['personas=none', 'personas=graded']
    """

    # Declared again so that type checkers accept data that validation converts.
    def __init__(self, **data: Any) -> None:
        super().__init__(**data)

    def run(
        self,
        *,
        workspace: str | Path | None = None,
        workers: int | None = None,
        retry: bool = False,
        check: bool = True,
        observer: ExperimentObserver | None = None,
    ) -> Results:
        """Run the remaining runs, and return the results.

        Args:
            workspace: Where `experiments/` and the call store are; the current one by default.
            workers: Processes; two at most by default, and one for a model that this machine runs itself.
            retry: Run failed runs again.
            check: Rehearse the arms on stand-in answers first, to find arms with equal prompts.
            observer: Receives the progress.
        """
        return run_experiment(self, workspace=workspace, workers=workers, retry=retry, check=check, observer=observer)
