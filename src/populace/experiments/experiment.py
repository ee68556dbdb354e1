"""An experiment that can be run: its plan, and the command that executes it."""

from pathlib import Path
from typing import Any

from populace.base.errors import InterruptedRunError, UsageError
from populace.engine.discovery import source_code
from populace.engine.workspace import Workspace
from populace.experiments.analysis_plan import PlanRecord
from populace.experiments.code import plan_code
from populace.experiments.execution import ExperimentObserver, ReplicateRounds, default_keep, default_workers
from populace.experiments.folder import ExperimentFolder
from populace.experiments.plan import ExperimentPlan
from populace.experiments.pool import WorkerPool
from populace.experiments.rehearsal import check_experiment
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
        arms, place = self.arms(), Workspace(workspace)
        existing = ExperimentFolder.find_existing(self, place)
        if existing is None:
            check_experiment(self, arms, rehearse=check)
        folder = existing or ExperimentFolder.make(self, arms, place)
        place.trusted.remember([*source_code(self.scenario), *plan_code(self.data())])
        with folder.locked():
            # The arms of a folder that was there before are written anew: workers run what they read there.
            data = [arm.model_dump(mode="json") for arm in arms]
            folder.write(state="running", reason="", stop=None, experiment=self.data(), arms=data)
            folder.freeze(self)
            pool = WorkerPool(folder, place.folder, default_keep(self, arms), workers or default_workers(self, arms))
            progress = observer or ExperimentObserver()
            try:
                ending = ReplicateRounds(self, arms, folder, pool, retry, progress).to_the_end()
            except (KeyboardInterrupt, InterruptedRunError):
                pool.halt()
                folder.write(state="stopped", reason="interrupted", stop="interrupted")
                raise InterruptedRunError(
                    f"the experiment {folder.path.name} was interrupted.",
                    "Runs that ended are kept; start it again in the same way and it goes on.",
                ) from None
            finally:
                pool.close()
                progress.on_end()
            folder.write(state=ending.state, reason=ending.reason, stop=ending.kind)
        return Results(folder)

    def freeze(self, *, workspace: str | Path | None = None) -> PlanRecord:
        """Record the analysis plan before anything runs: its hash, and the time by this machine's clock.

        `run` does the same when it begins; a plan that is changed later is recorded beside the first.

        Returns:
            The plan as it stands in the folder of the experiment.
        """
        if self.analysis_plan is None:
            raise UsageError("the experiment has no analysis plan.", "Add the key analysis_plan, with contrasts.")
        place = Workspace(workspace)
        folder = ExperimentFolder.find_existing(self, place) or ExperimentFolder.make(self, self.arms(), place)
        with folder.locked():
            folder.freeze(self)
        return folder.manifest.plans[-1]
