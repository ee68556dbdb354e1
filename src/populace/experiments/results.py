"""The results of an experiment, read from its folder."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import polars as pl

from populace.base.errors import UnknownNameError, UsageError
from populace.base.foreign import for_html, for_line
from populace.base.formatting import plural
from populace.engine.workspace import Workspace
from populace.experiments.analysis_plan import PlanRecord
from populace.experiments.arms import Arm
from populace.experiments.comparisons import (
    ComparisonSettings,
    effects_table,
    factor_effects_table,
    paired_blocks,
    with_plan,
)
from populace.experiments.folder import ExperimentFolder, RunRow, find_experiment
from populace.experiments.plan import ExperimentPlan
from populace.experiments.survival import restricted_times, survival_table
from populace.experiments.tables import (
    arm_means,
    arms_table,
    precision_table,
    probabilities_table,
    runs_table,
    sample_description,
)
from populace.statistics import (
    Fluctuation,
    PathDependence,
    Sensitivity,
    fluctuation,
    path_dependence,
    sobol_indices,
    sobol_sample,
)


class Results:
    """The runs of an experiment, with tables of effects and probabilities.

    Every table shows its number of runs (n), their seeds, and the share of runs that failed and so are not in it.
    Intervals are over seeds: they say what another set of seeds would have given, with the same model and words.
    In all methods `outcome` is the primary outcome by default, and `level` is the confidence level.

    Args:
        folder: The experiment's folder.

    Example:
        >>> import tempfile
        >>> from populace.experiments import Experiment
        >>> experiment = Experiment(
        ...     name="start",
        ...     scenario="norms",
        ...     factors={"initial_share": [0.2, 0.8]},
        ...     parameters={"workers": 4, "days": 2},
        ...     decider="rule", replicates=3, outcomes=["share_blue"],
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     results = experiment.run(workspace=folder, workers=1)
        ...     results.runs.height, results.effects("share_blue").height
        (6, 1)
    """

    def __init__(self, folder: ExperimentFolder) -> None:
        self.folder = folder

    @classmethod
    def open(cls, name: str | Path, workspace: str | Path | None = None) -> Self:
        """Results by the name of the experiment, the beginning of its name, or its path."""
        return cls(find_experiment(name, Workspace(workspace)))

    def __repr__(self) -> str:
        size = f"{plural(self.runs.height, 'run')} of {plural(len(self._arms), 'arm')}"
        return for_line(f"<experiment {self.name}: {self.state}, {size}>")

    def _repr_html_(self) -> str:
        return f"<p>{for_html(repr(self))}</p>{self.arms._repr_html_()}"

    @property
    def name(self) -> str:
        """The name of the experiment's folder."""
        return self.folder.path.name

    @property
    def state(self) -> str:
        """Whether the experiment is running, complete or stopped."""
        return self.folder.manifest.state

    @property
    def reason(self) -> str:
        """Why it ended."""
        return self.folder.manifest.reason

    @cached_property
    def experiment(self) -> ExperimentPlan:
        """The experiment."""
        return self.folder.experiment

    @cached_property
    def rows(self) -> list[RunRow]:
        """The row of every run, ordered by arm and replicate."""
        most = self.folder.manifest.replicates or self.experiment.replicates
        return [row for _, row in sorted(self.folder.rows().items()) if row["replicate"] < most]

    @cached_property
    def runs(self) -> pl.DataFrame:
        """Every run, by arm and replicate: levels, seed, status, outcomes, answers by status, calls, tokens, cost."""
        return runs_table(self.rows, self._arms, self.experiment)

    @cached_property
    def arms(self) -> pl.DataFrame:
        """Every arm with its levels, runs, failures and cost."""
        return arms_table(self.runs, self._arms, self.experiment)

    @property
    def looks(self) -> pl.DataFrame:
        """Every time that the experiment came to its end or was judged by its precision: replicates, and why."""
        schema = {"replicates": pl.Int64, "reason": pl.String, "widest": pl.Float64}
        return pl.DataFrame([look.model_dump() for look in self.folder.manifest.looks], schema=schema)

    @property
    def failures(self) -> pl.DataFrame:
        """The runs that failed, with why."""
        return self.runs.filter(pl.col("status") == "failed").select("arm", "replicate", "seed", "failure")

    @property
    def failure_note(self) -> str:
        """A sentence with the first failure, to follow another one; empty where no run failed."""
        return f" The first failure: {self.failures['failure'][0]}" if self.failures.height else ""

    @property
    def failure_rate(self) -> float:
        """The share of runs that failed."""
        return float(sample_description(self.runs)["failed"])

    @property
    def digest(self) -> str:
        """One hash for the table of runs without what they spent: equal experiments have equal digests.

        Which of several runs pays for a reply that they share depends on the order in which they ask.
        """
        results = self.runs.drop("calls", "reused", "tokens", "cost", "currency", "run")
        return hashlib.blake2b(results.write_json().encode(), digest_size=16).hexdigest()

    def outcome(self, name: str | None = None, *, level: float = 0.95) -> pl.DataFrame:
        """An outcome in every arm: mean with its interval, spread, n, seeds, share of failed runs.

        The interval is that of Student's t, and of a share Wilson's with the effective number of trials, which stays
        between 0 and 1 (see `mean_share`). An outcome is a share if it is declared as one, and otherwise if all its
        values lie between 0 and 1. Assumes that replicates are independent of each other.
        """
        name = self._outcome(name)
        return arm_means(self._numeric(name), name, [arm.name for arm in self._arms], level, self.is_share(name))

    def is_share(self, name: str | None = None) -> bool:
        """Whether an outcome is a share: as declared, or else because all its values lie between 0 and 1."""
        name = self._outcome(name)
        declared = self.experiment.outcome(name).is_share
        inside = self.runs[name].dtype != pl.String and bool(self.runs[name].drop_nulls().is_between(0, 1).all())
        return inside and declared is not False

    def effects(
        self,
        outcome: str | None = None,
        baseline: str | int | Mapping[str, Any] | None = None,
        *,
        factor: str | None = None,
        correction: str | None = None,
        method: str | None = None,
        level: float | None = None,
    ) -> pl.DataFrame:
        """How far every other arm lies from the baseline, with intervals and adjusted p values.

        Runs are compared replicate by replicate where they share their seeds, and as independent groups otherwise.
        Assumes that replicates are independent of each other. Replicates that failed in one of two arms are left out
        of that comparison; `missing` counts the runs without a value, and `bound_low` and `bound_high` are the effects
        if all of these had had the smallest or largest possible value. `low_all` and `high_all` are the ends of
        intervals that hold for all comparisons together (Bonferroni). `warning` says where an interval may be worse
        than it says.

        Args:
            baseline: The arm to compare with: its name, number or levels; the first by default. With `factor`, a level.
            factor: Compare the levels of this factor instead, each averaged over the levels of the others in the
                additive model, from the replicates in which all arms ended (see `marginal_weights`).
            correction: For the number of comparisons: `holm`, `bh` or `bonferroni`; the plan's by default, else `holm`.
            method: `t`, `bootstrap`, `bootstrap-t` or `permutation`; the plan's by default, else `t`.
            level: The confidence level; by default the plan's, which spends alpha over planned looks, else 0.95.

        Where there is an analysis plan, `planned` says of each comparison whether it was planned before there were
        data, was added after data, or was not planned.
        """
        name = self._outcome(outcome)
        runs, order = self._numeric(name), [arm.name for arm in self._arms]
        plans, how = self.folder.manifest.plans, self.comparison(name, correction, method, level)
        if factor is None:
            table = effects_table(runs, name, order, self.arm(baseline).name, how)
            return with_plan(table, plans, name, None, order[0])
        runs = runs.with_columns(pl.col(self._factor(factor)).cast(pl.String))
        levels = runs[factor].unique(maintain_order=True).to_list()
        chosen = (
            levels[0] if baseline is None else str(baseline).lower() if isinstance(baseline, bool) else str(baseline)
        )
        if chosen not in levels:
            raise UnknownNameError(f"level of {factor}", chosen, levels)
        full = self.experiment.design.kind == "full"
        table = factor_effects_table(runs, name, factor, list(self.experiment.factors), chosen, full, how)
        return with_plan(table, plans, name, factor, levels[0])

    def comparison(
        self,
        outcome: str | None = None,
        correction: str | None = None,
        method: str | None = None,
        level: float | None = None,
    ) -> ComparisonSettings:
        """How arms are compared: as asked for, else as planned, else by t at 95 %, corrected by Holm's method."""
        settings = ComparisonSettings.of(self.folder.manifest, self.experiment.paired, correction, method, level)
        return replace(settings, share=self.is_share(outcome))

    def values(self, outcome: str | None = None) -> pl.DataFrame:
        """The runs with the outcome as it is compared: times until the last common step, excluded runs as missing."""
        return self._numeric(self._outcome(outcome))

    @property
    def analysis_plan(self) -> PlanRecord | None:
        """The analysis plan that holds: the last that was frozen before there were data, else the first."""
        return self.folder.manifest.plan

    def probabilities(
        self, outcome: str | None = None, *, above: float | None = None, below: float | None = None, level: float = 0.95
    ) -> pl.DataFrame:
        """The probability of each value over seeds in every arm, with an exact interval (mid-P).

        Args:
            above: Count runs above this value, rather than each value.
            below: Count runs below this value.
        """
        name = self._outcome(outcome)
        return probabilities_table(self.runs, name, [arm.name for arm in self._arms], above, below, level)

    def survival(
        self,
        outcome: str | None = None,
        baseline: str | int | Mapping[str, Any] | None = None,
        *,
        correction: str = "holm",
        level: float = 0.95,
    ) -> pl.DataFrame:
        """The time of an event in every arm, where runs in which it had not happened are censored, not dropped.

        For each arm: events, censored runs, the median time (Kaplan and Meier; none where fewer than half of the runs
        had the event) with its interval, the mean time within the steps that all runs have (restricted mean) with its
        interval, the share of runs without the event by then, and p of the log-rank test against the baseline.
        Assumes independent replicates, and that a run is censored only because its steps were over.

        Args:
            outcome: A time, declared as `time(METRIC)`; the first one by default.
            correction: Of p for the number of comparisons.
        """
        times = [each.name for each in self.experiment.outcomes if each.time]
        name = self._outcome(outcome or next(iter(times), None))
        if not self.experiment.outcome(name).time:
            raise UsageError(f"{name} is not declared as a time.", f"Declare the outcome time({name}).")
        order = [arm.name for arm in self._arms]
        return survival_table(self.runs, name, order, self.arm(baseline).name, correction, level)

    def precision(
        self,
        outcome: str | None = None,
        *,
        effect: float | None = None,
        width: float | None = None,
        power: float = 0.8,
        baseline: str | int | Mapping[str, Any] | None = None,
    ) -> pl.DataFrame:
        """The number of replicates that each comparison needs, given the spread so far.

        Args:
            effect: The smallest effect to detect; the observed one by default, which few runs often make too large.
            width: In place of an effect: the width of the interval to reach.
            power: The probability with which an effect of that size should be detected.
            baseline: The arm to compare with.
        """
        name = self._outcome(outcome)
        names, first = [arm.name for arm in self._arms], self.arm(baseline).name
        return precision_table(self._numeric(name), name, names, first, self.experiment.paired, effect, width, power)

    def sensitivity(self, outcome: str | None = None) -> Sensitivity:
        """How much of the variance of an outcome each factor of a `sobol` design accounts for, alone and in all.

        Replicates of a point are averaged first, so the part of chance shrinks with their number; intervals are over
        points and over replicates.
        """
        name, experiment = self._outcome(outcome), self.experiment
        if experiment.design.kind != "sobol":
            raise UsageError(
                f"the design is {experiment.design.kind}, and sensitivity needs design sobol.",
                "Give the factors as {low, high}.",
            )
        bounds = dict.fromkeys(experiment.factors, (0.0, 1.0))
        points = sobol_sample(bounds, experiment.design.points, experiment.seed)
        points = points.with_columns(pl.Series("arm", [arm.name for arm in self._arms]))
        runs = points.join(self._numeric(name).select("arm", "replicate", name), on="arm", how="left").drop("arm")
        return sobol_indices(runs, name, seed=experiment.seed, replicate="replicate")

    def fluctuation(self, agents: str, outcome: str | None = None, *, level: float = 0.95) -> Fluctuation:
        """How the spread of an outcome between seeds falls with the number of agents.

        Args:
            agents: The factor that is the number of agents.
        """
        name = self._outcome(outcome)
        plan = self.experiment
        runs, cluster = paired_blocks(self._numeric(name), plan.factors, self._factor(agents), plan.paired)
        return fluctuation(runs, name, agents, seed=self.experiment.seed, cluster=cluster, level=level)

    def path_dependence(self, start: str, outcome: str | None = None, *, level: float = 0.95) -> PathDependence:
        """How far an outcome depends on where runs start; the outcome may be a number or a text.

        Args:
            start: The factor that sets the start.
        """
        name = self._outcome(outcome)
        plan = self.experiment
        runs, cluster = paired_blocks(self.runs, plan.factors, self._factor(start), plan.paired)
        return path_dependence(runs, start, name, seed=self.experiment.seed, cluster=cluster, level=level)

    def analyses(self, *, level: float = 0.95) -> dict[str, pl.DataFrame]:
        """The analyses that the experiment asks for, by name: a row for each combination of the other factors."""
        plan = self.experiment
        return {
            analysis.name: analysis.of(self.runs, plan.factors, seed=plan.seed, paired=plan.paired, level=level)
            for analysis in plan.analyses
        }

    def arm(self, key: str | int | Mapping[str, Any] | None = None) -> Arm:
        """An arm by name, number or levels; the first by default."""
        if key is None:
            return self._arms[0]
        if isinstance(key, int):
            if not 0 <= key < len(self._arms):
                raise UsageError(f"there is no arm {key}; there are 0 to {len(self._arms) - 1}.")
            return self._arms[key]
        if isinstance(key, Mapping):
            levels = {self._factor(name): level for name, level in key.items()}
            fitting = [arm for arm in self._arms if arm.levels | levels == arm.levels]
            if len(fitting) != 1:
                raise UsageError(f"{len(fitting)} arms have {dict(key)}.", "Give a level for every factor.")
            return fitting[0]
        match = next((arm for arm in self._arms if arm.name == key), None)
        if match is None:
            raise UnknownNameError("arm", key, [arm.name for arm in self._arms])
        return match

    @cached_property
    def _arms(self) -> list[Arm]:
        return self.folder.arms

    def _outcome(self, name: str | None) -> str:
        known = [outcome.name for outcome in self.experiment.outcomes]
        if name is not None and name not in known:
            raise UnknownNameError("outcome", name, known, "Outcomes are declared before an experiment runs.")
        outcome = name or self.experiment.primary.name
        times = self.experiment.outcome(outcome).time
        if self.runs.height and not times and self.runs[outcome].null_count() == self.runs.height:
            what = f"no run produced the outcome {outcome!r}.{self.failure_note}"
            raise UsageError(what, "Declare one that runs end with.")
        return outcome

    def _factor(self, name: str) -> str:
        if name not in self.experiment.factors:
            raise UnknownNameError("factor", name, self.experiment.factors)
        return name

    def _numeric(self, name: str) -> pl.DataFrame:
        if self.runs[name].dtype == pl.String:
            raise UsageError(
                f"the outcome {name!r} is a text, which has no mean.", f"See results.probabilities({name!r})."
            )
        infinite = int(self.runs[name].is_infinite().sum())
        if infinite:
            raise UsageError(
                f"the outcome {name!r} is infinite in {infinite} of {self.runs.height} runs, so it has no mean.",
                "Measure something finite, or let the metric be None where there is nothing to measure.",
            )
        runs = restricted_times(self.runs, name) if self.experiment.outcome(name).time else self.runs
        plan = self.analysis_plan
        for exclusion in plan.plan.exclusions if plan is not None else ():
            runs = runs.with_columns(pl.when(~exclusion.applies(runs.columns)).then(pl.col(name)).alias(name))
        return runs
