"""Sources of answers to judge: runs, runs kept by an experiment, and interviews of believability studies."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from populace.base.errors import RunNotFoundError, UnknownNameError, UsageError
from populace.engine.workspace import Workspace
from populace.evaluation.believability import believability_names
from populace.evaluation.believability.study import FOLDER
from populace.experiments import Results
from populace.experiments.folder import experiment_names
from populace.journal import Journal
from populace.runs.reader import RunReader


@dataclass(frozen=True)
class Source:
    """A run to sample from.

    Attributes:
        run: Its name.
        until: Its last step when it was selected.
        experiment: The experiment that kept it; empty for a run of the workspace.
        arm: Its arm there.
        study: In place of a run: a believability study.

    Example:
        >>> Source("norms-1a2b", until=7).experiment
        ''
    """

    run: str
    until: int
    experiment: str = ""
    arm: str = ""
    study: str = ""

    def data(self) -> dict[str, Any]:
        """The source as plain data; a queue of runs has the same as in earlier versions."""
        return {name: value for name, value in asdict(self).items() if name != "study" or value}

    def open(self, workspace: Workspace) -> RunReader:
        """A reader of the run."""
        place = workspace
        if self.experiment:
            if self.experiment not in experiment_names(workspace):
                raise RunNotFoundError("an experiment whose runs were to be judged is not there any more.")
            place = Workspace(workspace.experiments / self.experiment)
        if self.run not in place.names():
            raise RunNotFoundError("a run whose answers were to be judged is not there any more.")
        return RunReader(Journal(place.runs / self.run))


def read_sources(workspace: Workspace, names: Sequence[str]) -> tuple[Source, ...]:
    """Sources by name; the name of an experiment stands for all runs that it kept.

    Args:
        workspace: The workspace.
        names: Names of runs, of experiments and of believability studies; a study that has the name of its run is
            named as `believability/NAME`.
    """
    if not names:
        raise UsageError("no run was chosen.", "Name one or more runs, or an experiment that keeps its runs.")
    sources: list[Source] = []
    runs, experiments = workspace.names(), experiment_names(workspace)
    studies = {f"{FOLDER}/{name}": name for name in believability_names(workspace)}
    studies |= {name: name for name in studies.values() if name not in (*runs, *experiments)}
    for name in dict.fromkeys(names):
        if name in runs:
            steps = RunReader(Journal(workspace.runs / name)).steps
            sources.append(Source(name, steps[-1] if steps else 0))
        elif name in experiments:
            sources += _experiment_sources(workspace, name)
        elif name in studies:
            sources.append(Source("", 0, study=studies[name]))
        else:
            raise UnknownNameError("run, experiment or study", name, [*runs, *experiments, *studies])
    return tuple(sources)


def _experiment_sources(workspace: Workspace, experiment: str) -> list[Source]:
    results = Results.open(workspace.experiments / experiment)
    runs = results.runs.filter(results.runs["run"] != "").select("run", "arm", "steps")
    if not runs.height:
        raise UsageError(
            f"{experiment} kept none of its runs, so their answers are gone.",
            "Write `keep: run` into its file and run it again; runs on the call store cost nothing.",
        )
    return [Source(run, steps, experiment, arm) for run, arm, steps in runs.iter_rows()]
