"""Structure or training data: does a finding come from the structure of a society, or from one model and its wording?

A scenario is run with several levels of its structure parameters, under several models and several ways of asking; its
rule twin is run too. The variance of the outcome is then attributed to each of them.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from populace.base.errors import UnknownNameError, UsageError
from populace.base.formatting import plural
from populace.experiments.execution import ExperimentObserver
from populace.experiments.results import Results
from populace.experiments.structure_design import StructureDesign, StructureSettings, design_structure
from populace.experiments.verdict import (
    TWIN,
    StructureVerdict,
    asking_shifts,
    model_differences,
    orderings,
    structure_verdict,
)
from populace.statistics import Decomposition, decompose

_FEW_CELLS = 256


@dataclass(frozen=True)
class StructureFinding:
    """How much of one outcome is due to structure, models, the way of asking, and chance.

    Assumes what its parts assume: `Decomposition` for the shares (over the levels that were run, each as important as
    the others), paired comparisons over seeds for orderings and levels. Intervals are over seeds: they say what other
    seeds would have given, and nothing about models or words that were not run.

    Attributes:
        outcome: The name of the outcome.
        means: The mean in each structure arm under each model, and under the rule twin.
        decomposition: Shares of variance: structure, model, wording, order and labels, interactions, chance.
        orderings: Every pair of structure arms compared within each model and within the rule twin.
        levels: Every pair of models compared in each structure arm.
        shifts: How far each way of asking moves the outcome.
        verdict: The conclusion in words.
    """

    outcome: str
    means: pl.DataFrame
    decomposition: Decomposition
    orderings: pl.DataFrame
    levels: pl.DataFrame
    shifts: pl.DataFrame
    verdict: StructureVerdict

    def table(self) -> pl.DataFrame:
        """The shares of variance."""
        return self.decomposition.table()

    def __str__(self) -> str:
        return f"{self.outcome}\n{self.verdict}\nShares of its variance:\n{self.decomposition}"


@dataclass(frozen=True)
class StructureStudy:
    """A structure-or-data study with its results.

    Attributes:
        design: What was run.
        results: The runs of the models.
        twin: The runs of the rule twin, where there is one.
        findings: A finding for each outcome.
        notes: What was left out, and what failed.
    """

    design: StructureDesign
    results: Results
    twin: Results | None
    findings: dict[str, StructureFinding]
    notes: tuple[str, ...] = ()

    def __getitem__(self, outcome: str) -> StructureFinding:
        if outcome not in self.findings:
            raise UnknownNameError("outcome", outcome, self.findings)
        return self.findings[outcome]

    @property
    def finding(self) -> StructureFinding:
        """The finding on the primary outcome."""
        return self.findings[self.design.experiment.primary.name]

    @property
    def verdict(self) -> StructureVerdict:
        """The verdict on the primary outcome."""
        return self.finding.verdict

    def table(self) -> pl.DataFrame:
        """The shares of variance of every outcome."""
        return pl.concat([pl.select(outcome=pl.lit(n)).join(f.table(), how="cross") for n, f in self.findings.items()])

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self.findings.values()), *(("\n".join(self.notes),) if self.notes else ())])


def structure_or_data(
    study: StructureSettings | StructureDesign,
    *,
    margin: float | None = None,
    level: float = 0.95,
    workspace: str | Path | None = None,
    workers: int | None = None,
    observer: ExperimentObserver | None = None,
) -> StructureStudy:
    """Run a scenario under several models and ways of asking, and say how much of its outcome is due to each.

    Runs that ended before are not run again.

    Args:
        study: What to compare, or the design of it by `design_structure`, which says how large the study is.
        margin: The largest difference between models that does not matter; without it agreement cannot be shown.
        level: The confidence level.
        workspace: Where experiments and the call store are.
        workers: The number of processes.
        observer: Receives the progress.
    """
    design = design_structure(study) if isinstance(study, StructureSettings) else study
    results = design.experiment.run(workspace=workspace, workers=workers, observer=observer)
    twin, notes = None, list(design.notes)
    if design.twin is not None:
        twin = design.twin.run(workspace=workspace, workers=workers, observer=observer, check=False)
        if twin.failures.height == twin.runs.height:
            notes.append(f"The rule twin could not be run: {twin.failures['failure'][0]}")
            twin = None
    for part in (results, twin):
        if part is not None and part.failures.height:
            notes.append(
                f"{part.failures.height} of {plural(part.runs.height, 'run')} of {part.name} failed and are left out."
            )
    if results.state != "complete":
        notes.append(f"The study is not complete: {results.reason}.")
    findings = {
        outcome.name: _finding(design, results, twin, outcome.name, margin, level)
        for outcome in design.experiment.outcomes
    }
    return StructureStudy(design, results, twin, findings, tuple(notes))


def _finding(
    design: StructureDesign, results: Results, twin: Results | None, outcome: str, margin: float | None, level: float
) -> StructureFinding:
    frame = _runs(design, results, outcome)
    arms, models = frame["arm"].unique(maintain_order=True).to_list(), design.models
    twin_frames = [] if twin is None else [_runs(design, twin, outcome, TWIN)]
    with_twin = pl.concat([frame, *twin_frames], how="diagonal_relaxed")
    ordering_table = orderings(with_twin, outcome, "mind", arms, level)
    asking = {}
    for part, names in design.asking.items():
        # With the factor in front: "as written" of the order is another way than "as written" of the labels.
        ways = [frame.with_columns(way=pl.format(f"{name}={{}}", name)) for name in names]
        asking[part] = pl.concat([orderings(way, outcome, "way", arms, level) for way in ways])
    differences = model_differences(frame, outcome, models, arms, margin, level)
    shifts = asking_shifts(frame, outcome, design.asking, level)
    groups = {"structure": list(design.structure)} | {part: list(names) for part, names in design.asking.items()}
    factors = [*design.experiment.factors]
    order = None if math.prod(frame[factor].n_unique() for factor in factors) <= _FEW_CELLS else 2
    seed = design.experiment.seed
    parts = decompose(frame, outcome, factors, groups=groups, cluster="seed", order=order, level=level, seed=seed)
    means = with_twin.group_by("mind", "arm", maintain_order=True).agg(
        mean=pl.col(outcome).mean(), sd=pl.col(outcome).std(), n=pl.col(outcome).count()
    )
    verdict = structure_verdict(outcome, design.structure, arms, ordering_table, asking, differences, shifts, margin)
    return StructureFinding(outcome, means, parts, ordering_table, differences, shifts, verdict)


def _runs(design: StructureDesign, results: Results, outcome: str, mind: str | None = None) -> pl.DataFrame:
    """The runs that have the outcome: `arm` by structure alone, and `mind`, the model or the rule twin."""
    runs = results.runs
    if runs[outcome].dtype == pl.String:
        raise UsageError(f"the outcome {outcome!r} is a text, which has no variance.", "Use one that is a number.")
    arm_parts = [pl.format(f"{name}={{}}", name) for name in design.structure]
    mind_column = pl.lit(mind or design.models[0]) if mind or "model" not in runs.columns else pl.col("model")
    labelled = runs.with_columns(arm=pl.concat_str(arm_parts, separator=", "), mind=mind_column.cast(pl.String))
    complete = labelled.filter(pl.col(outcome).is_not_null())
    if not complete.height:
        raise UsageError(f"no run produced the outcome {outcome!r}.{results.failure_note}")
    return complete
