"""An experiment that can be run: its plan, and the command that executes it."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from populace.base.errors import InterruptedRunError, UsageError
from populace.cluster import Cluster, ClusterAddress
from populace.engine.discovery import source_code
from populace.engine.session import refuse_in_loading
from populace.engine.workspace import Workspace
from populace.experiments.analysis_plan import PlanRecord
from populace.experiments.arms import Arm
from populace.experiments.cluster_workers import ClusterWorkers
from populace.experiments.code import plan_code
from populace.experiments.execution import (
    Ending,
    ExperimentObserver,
    ReplicateRounds,
    default_keep,
    default_workers,
    fills_machine,
)
from populace.experiments.folder import ExperimentFolder
from populace.experiments.plan import ExperimentPlan
from populace.experiments.pool import WorkerPool
from populace.experiments.rehearsal import check_experiment
from populace.experiments.results import Results
from populace.models import PROVIDERS


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
        on: str | None = None,
    ) -> Results:
        """Run the remaining runs, and return the results.

        Args:
            workspace: Where `experiments/` and the call store are; the current one by default.
            workers: Processes; two at most by default, and one for a model that this machine runs itself.
            retry: Run failed runs again.
            check: Rehearse the arms on stand-in answers first, to find arms with equal prompts.
            observer: Receives the progress.
            on: A Ray cluster on which the runs are executed: `ray` starts one on this machine, `ray://HOST:PORT` or
                `HOST:PORT` reaches one that runs; the processes of this machine by default.
        """
        refuse_in_loading("runs an experiment")
        arms, place = self.arms(), Workspace(workspace)
        with contextlib.ExitStack() as stack:
            # A cluster that does not answer leaves no trace of an experiment.
            cluster = None if on is None else stack.enter_context(self._connect(on, arms, workers))
            existing = ExperimentFolder.find_existing(self, place)
            if existing is None:
                check_experiment(self, arms, rehearse=check)
            folder = existing or ExperimentFolder.make(self, arms, place)
            place.trusted.remember([*source_code(self.scenario), *plan_code(self.data())])
            stack.enter_context(folder.locked())
            # The arms of a folder that was there before are written anew: workers run what they read there.
            data = [arm.model_dump(mode="json") for arm in arms]
            folder.write(state="running", reason="", stop=None, experiment=self.data(), arms=data)
            folder.freeze(self)
            progress = observer or ExperimentObserver()
            ending = self._execute(folder, place, arms, workers, retry, cluster, progress)
            folder.write(state=ending.state, reason=ending.reason, stop=ending.kind)
        return Results(folder)

    def _connect(self, on: str, arms: Sequence[Arm], workers: int | None) -> Cluster:
        """A connection to a cluster that can execute the runs of these arms."""
        address = ClusterAddress.parse(on)
        if workers is not None and workers < 1:
            raise UsageError(f"workers is {workers}; at least one is needed.")
        if self.scenario.startswith("__main__:"):
            raise UsageError("a scenario that was typed at a prompt cannot run on a cluster.", "Put it into a file.")
        nested = next((arm.model for arm in arms if arm.decider == "model" and arm.model.startswith("ray:")), None)
        if nested is not None:
            model = nested.removeprefix("ray:").rpartition("*")[0]
            raise UsageError(
                f"runs on a cluster cannot ask {nested}, which starts processes on a cluster itself.",
                f"Name the model {model}: every node loads its own. Or leave --on out.",
            )
        server = next((embedder for arm in arms if (embedder := _embedding_server(arm))), None)
        if server is not None:
            raise UsageError(
                f"runs on a cluster do not share the vectors of {server}, so that each would buy them again.",
                "Use the embedder minilm, or leave --on out.",
            )
        return Cluster(address, cpus=workers)

    def _execute(
        self,
        folder: ExperimentFolder,
        place: Workspace,
        arms: Sequence[Arm],
        workers: int | None,
        retry: bool,
        cluster: Cluster | None,
        observer: ExperimentObserver,
    ) -> Ending:
        """Run the remaining runs, in processes of this machine or on a cluster."""
        keep = default_keep(self, arms)
        if cluster is None:
            pool = WorkerPool.of_processes(folder, place.folder, keep, workers or default_workers(self, arms))
        else:
            one_a_node = fills_machine(arms)
            executor = ClusterWorkers(cluster, folder, place.folder, keep, workers=workers, one_a_node=one_a_node)
            pool = WorkerPool(folder, place.folder, keep, executor)
            observer.on_cluster(len(cluster.nodes), executor.planned, cluster.dashboard)
        try:
            return ReplicateRounds(self, arms, folder, pool, retry, observer).to_the_end()
        except (KeyboardInterrupt, InterruptedRunError):
            pool.halt()
            folder.write(state="stopped", reason="interrupted", stop="interrupted")
            raise InterruptedRunError(
                f"the experiment {folder.path.name} was interrupted.",
                "Runs that ended are kept; start it again in the same way and it goes on.",
            ) from None
        finally:
            pool.close()
            observer.on_end()

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


def _embedding_server(arm: Arm) -> str | None:
    """The embedder of an arm, where it is a service that is paid."""
    for name, value in arm.parameters.items():
        provider = PROVIDERS.get(str(value).partition(":")[0]) if "embedder" in name else None
        if provider is not None and not provider.local:
            return str(value)
    return None
