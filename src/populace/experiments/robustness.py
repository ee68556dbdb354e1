"""Does a conclusion survive when the same is asked in another way?

A finished study is repeated with the same seeds under one variation at a time, and every conclusion is checked again:
for an experiment the direction of its effects, for a run the final values of its metrics.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from populace.base.errors import PopulaceError, StoppedError, UsageError
from populace.base.formatting import plural
from populace.engine.replay import scenario_class
from populace.engine.workspace import Workspace, trusted_for
from populace.experiments.code import require_trust
from populace.experiments.execution import ExperimentObserver
from populace.experiments.experiment import Experiment
from populace.experiments.plan import StoppingRule
from populace.experiments.results import Results
from populace.experiments.wordings import AS_WRITTEN, STANDARD, changes_prompts
from populace.models import model_code
from populace.prompting.variation import Variation
from populace.runs.reader import RunReader
from populace.statistics import difference, equivalence

Survival = Literal["yes", "no", "undecided"]


@dataclass(frozen=True)
class Robustness:
    """Which conclusions of a study survive other ways of asking.

    Assumes that replicates are independent of each other; the same seeds are used under every variation, and
    differences between variations are judged seed by seed (paired t). Each row is judged at the confidence level on
    its own; with many conclusions and variations a few will be lost by chance.

    Attributes:
        study: The run or experiment.
        kind: `run` or `experiment`.
        conclusions: One row for each conclusion and variation: the original result, the result under the variation, and
            whether it survives.
        spread: For a run, one row for each metric: its spread over seeds and over variations.
        variations: The variations that were run, as data.
        left_out: Variations that change no prompt.
        seeds: Replicates of each variation.
        level: The confidence level.
    """

    study: str
    kind: Literal["run", "experiment"]
    conclusions: pl.DataFrame
    spread: pl.DataFrame
    variations: dict[str, dict[str, Any]]
    left_out: tuple[str, ...]
    seeds: int
    level: float

    def table(self) -> pl.DataFrame:
        """One row for each conclusion: as written, under each variation, and whether it survives them all."""
        rows = []
        for (conclusion,), part in self.conclusions.group_by("conclusion", maintain_order=True):
            row = {"conclusion": conclusion, AS_WRITTEN: part["original"][0]}
            variations = part.select("variation", "found", "survives").iter_rows()
            results = {name: f"{result} ({survives})" for name, result, survives in variations}
            overall = next((word for word in ("no", "undecided") if word in part["survives"]), "yes")
            rows.append(row | {name: results.get(name) for name in self.variations} | {"survives": overall})
        return pl.DataFrame(rows)

    @property
    def survival(self) -> dict[str, Survival]:
        """For each conclusion, whether it survives every variation."""
        return {row["conclusion"]: row["survives"] for row in self.table().iter_rows(named=True)}

    def __str__(self) -> str:
        verdicts = list(self.survival.values())
        counts = {word: verdicts.count(word) for word in ("yes", "no", "undecided")}
        count = len(self.variations)
        lines = [
            f"Of {plural(len(verdicts), 'conclusion')} of {self.study}, {plural(counts['yes'], 'survives', 'survive')} "
            f"{'the only variation' if count == 1 else f'all of {count} variations'}, "
            f"{plural(counts['no'], 'does not', 'do not')}, "
            f"{plural(counts['undecided'], 'is undecided', 'are undecided')} ({plural(self.seeds, 'seed')})."
        ]
        nothing = sum(f" {_DIRECTIONS[0]} " in conclusion for conclusion in self.survival)
        if nothing:
            lines.append(f"{nothing} of them say only that no difference was found, which few seeds make survive.")
        if self.kind == "experiment":
            lines.append("All variations use the same seeds: what is due to these seeds survives too.")
        for conclusion, survives in self.survival.items():
            losses = self.conclusions.filter((pl.col("conclusion") == conclusion) & (pl.col("survives") == "no"))
            under = f": lost under {', '.join(losses['variation'])}" if losses.height else ""
            lines.append(f"  {survives:<9}  {conclusion}{under}")
        if self.left_out:
            lines.append(f"Not tried, for nobody is asked anything else: {', '.join(self.left_out)}.")
        return "\n".join(lines)


def check_robustness(
    study: Results | RunReader,
    *,
    variations: Mapping[str, Variation | Mapping[str, Any]] | None = None,
    seeds: int = 12,
    calls: int | None = None,
    level: float = 0.95,
    workspace: str | Path | None = None,
    workers: int | None = None,
    observer: ExperimentObserver | None = None,
) -> Robustness:
    """Repeat a finished study under other ways of asking, and say which of its conclusions survive.

    For an experiment, a conclusion is the direction of each effect on each outcome, or that there is none. A direction
    survives if the effect is again significant in the same direction. It does not survive if the effect is significant
    in the other direction, or if it is lost and differs from the original by more than chance; otherwise it is
    undecided. The conclusion that there is no effect survives if again there is none, and does not if one appears that
    differs from the original by more than chance.

    For a run, a conclusion is the final value of a metric. The run is repeated over seeds, as it is and under each
    variation. A metric survives if its shift lies within one standard deviation over seeds (by two one-sided tests),
    and does not if it lies beyond.

    Args:
        study: The results of an experiment, or a run.
        variations: By name; the standard ones by default: labels, order, paraphrases, white space, names.
        seeds: For a run, how many seeds; an experiment keeps its own.
        calls: The most calls to models for each variation.
        level: The confidence level.
        workspace: Where experiments and the call store are.
        workers: The number of processes.
        observer: Receives the progress.
    """
    variation_map = STANDARD if variations is None else variations
    variation_data = {name: Variation.read(each).data() for name, each in variation_map.items()}
    run_options: dict[str, Any] = {"workspace": workspace, "workers": workers, "observer": observer}
    stop = StoppingRule(max_calls=calls)
    if isinstance(study, Results):
        return _robust_experiment(study, variation_data, stop, level, run_options)
    return _robust_run(study, variation_data, seeds, stop, level, run_options)


def repetition(study: Results | RunReader, *, seeds: int = 12) -> Experiment:
    """The experiment that is repeated under each variation: an experiment itself, or a run over seeds."""
    if isinstance(study, Results):
        experiment = study.experiment
        if experiment.design.sampled:
            raise UsageError(f"the design of {study.name} is {experiment.design.kind}, which declares no effects.")
        require_trust(experiment.data(), Workspace(study.folder.path.parent.parent).trusted, study.name)
        return Experiment(
            **(experiment.data() | {"replicates": study.folder.manifest.replicates or experiment.replicates})
        )
    manifest = study.manifest
    if len(manifest.regimes) > 1:
        raise UsageError(
            f"{study.name} is a fork, whose settings change on the way.", "Check the run that it was forked from."
        )
    regime = manifest.regime
    if regime.decider != "model":
        raise UsageError(
            f"nobody was asked anything in {study.name}: its decider is {regime.decider}.",
            "A rule reads columns, not words; there is nothing to vary.",
        )
    scenario_class(study)
    trusted_for(study.record).require(model_code(regime.model), study.name)
    metrics = study.metrics
    numeric = [name for name in metrics.columns if name != "step" and metrics[name].dtype.is_numeric()]
    if not numeric:
        raise UsageError(f"{study.name} has no metric that is a number.")
    return Experiment(
        name=f"robust-{study.name}",
        scenario=manifest.scenario,
        factors={"variation": {AS_WRITTEN: regime.variation, "options reversed": {"order": "reversed"}}},
        parameters=regime.parameters,
        model=regime.model,
        temperature=regime.temperature,
        interventions=manifest.interventions,
        replicates=seeds,
        seed=regime.seed,
        outcomes=numeric,
    )


def _effective_variations(
    experiment: Experiment, variations: Mapping[str, dict[str, Any]]
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The variations that change a prompt, and the names of the others."""
    parameters = experiment.arms()[0].parameters
    effective = {
        name: data
        for name, data in variations.items()
        if changes_prompts(experiment.scenario, parameters, {"variation": data}, seed=experiment.seed)
    }
    if not effective:
        raise UsageError("under none of the variations is anybody asked anything else.", "Give variations of your own.")
    return effective, [name for name in variations if name not in effective]


def _robust_experiment(
    study: Results,
    variations: Mapping[str, dict[str, Any]],
    stop: StoppingRule,
    level: float,
    run_options: dict[str, Any],
) -> Robustness:
    experiment = repetition(study)
    effective, left_out = _effective_variations(experiment, variations)
    rows: list[dict[str, Any]] = []
    effects = {outcome.name: _effects(study, outcome.name, level) for outcome in experiment.outcomes}
    for name, data in effective.items():
        changes = {
            "name": re.sub(r"[^\w.-]+", "-", f"{experiment.name}-{name}")[:80],
            "variation": {**experiment.variation, **data},
            "stop": stop.model_dump(),
        }
        results = _complete(Experiment(**(experiment.data() | changes)), run_options)
        for outcome, before in effects.items():
            rows += _conclusion_rows(study, results, outcome, before, name, level)
    if not rows:
        raise UsageError(f"{study.name} has no effect that could be checked.", "It needs an outcome that is a number.")
    replicates = int(study.runs["replicate"].n_unique())
    conclusions, empty = pl.DataFrame(rows, infer_schema_length=None), pl.DataFrame()
    return Robustness(study.name, "experiment", conclusions, empty, effective, tuple(left_out), replicates, level)


def _complete(experiment: Experiment, run_options: dict[str, Any]) -> Results:
    """Run an experiment to its end or its limit of calls; nothing is concluded from one whose service failed."""
    results = experiment.run(check=False, **run_options)
    manifest = results.folder.manifest
    if manifest.state == "stopped" and manifest.stop not in (None, "budget"):
        raise StoppedError(
            f"{results.name} stopped before its end: {manifest.reason}.",
            "Nothing that was paid for is lost. Give the same command again to go on.",
        )
    return results


def _effects(results: Results, outcome: str, level: float) -> pl.DataFrame | None:
    try:
        return results.effects(outcome, level=level)
    except PopulaceError:
        return None  # A text, or an outcome that no run has: it declares no effect.


def _conclusion_rows(
    study: Results, results: Results, outcome: str, before: pl.DataFrame | None, variation: str, level: float
) -> list[dict[str, Any]]:
    if before is None:
        return []
    after, rows = _effects(results, outcome, level), []
    most = int(study.runs["replicate"].max() or 0) + 1  # type: ignore[arg-type]
    gaps, gaps_again = _wide(study, outcome, most), _wide(results, outcome, most)
    for row in before.filter(pl.col("effect").is_not_null()).iter_rows(named=True):
        arm, baseline, way = row["arm"], row["baseline"], _direction(row, level)
        conclusion = f"{outcome}: {arm} {_DIRECTIONS[way]} {baseline}"
        fields: dict[str, Any] = {"conclusion": conclusion, "variation": variation, "outcome": outcome}
        fields |= {"arm": arm, "baseline": baseline, "original": _effect_text(row)} | _NO_RESULT
        repeated_row = None if after is None else after.filter(pl.col("arm") == arm).row(0, named=True)
        if repeated_row is not None:
            again, was = (wide[arm] - wide[baseline] for wide in (gaps_again, gaps))
            if (again.is_not_null() & was.is_not_null()).sum() >= 2:
                change = difference(again, was, paired=True, level=level)
                differs = change.p < 1 - level
                fields |= {"effect": row["effect"], "effect_again": repeated_row["effect"]}
                fields |= {"low": repeated_row["low"], "high": repeated_row["high"], "change": change.estimate.value}
                fields |= {"change_low": _end(change.estimate.low), "change_high": _end(change.estimate.high)}
                fields |= {"n": change.n}
                survives = _survives(way, _direction(repeated_row, level), differs)
                fields |= {"found": _effect_text(repeated_row), "survives": survives}
        rows.append(fields)
    return rows


_DIRECTIONS = {1: "is above", -1: "is below", 0: "is not told from"}
_NUMBERS = ("effect", "effect_again", "low", "high", "change", "change_low", "change_high")
_NO_RESULT = dict.fromkeys(_NUMBERS) | {"found": "no result", "n": None, "survives": "undecided"}


def _wide(results: Results, outcome: str, most: int) -> pl.DataFrame:
    """A column for each arm and a row for each replicate of the study, empty where there is no run."""
    wide = results.runs.with_columns(pl.col(outcome).cast(pl.Float64)).pivot(
        on="arm", index="replicate", values=outcome
    )
    return pl.DataFrame({"replicate": range(most)}).join(wide, on="replicate", how="left", maintain_order="left")


def _direction(row: Mapping[str, Any], level: float) -> int:
    """+1 or -1 for a significant effect, else 0."""
    p = row["p_adjusted"]
    certain = row["effect"] is not None and row["effect"] != 0 and p is not None and p < 1 - level
    return int(math.copysign(1, row["effect"])) if certain else 0


def _effect_text(row: Mapping[str, Any]) -> str:
    if row["effect"] is None:
        return "no result"
    ends = "no interval" if row["low"] is None else f"{row['low']:+.2g}, {row['high']:+.2g}"
    return f"{row['effect']:+.2g} [{ends}]"


def _survives(before: int, after: int, differs: bool) -> Survival:
    if before == after:
        return "yes"
    return "no" if differs or (before and after) else "undecided"


def _robust_run(
    run: RunReader,
    variations: Mapping[str, dict[str, Any]],
    seeds: int,
    stop: StoppingRule,
    level: float,
    run_options: dict[str, Any],
) -> Robustness:
    base, experiment = run.manifest.regime.variation, repetition(run, seeds=seeds)
    changing = {name: data for name, data in variations.items() if base | data != base}
    effective, left_out = _effective_variations(experiment, changing)
    data = experiment.data()
    data["factors"] = {"variation": {AS_WRITTEN: base} | {name: {**base, **each} for name, each in effective.items()}}
    results = _complete(Experiment(**(data | {"stop": stop.model_dump()})), run_options)
    ends = run.metrics.tail(1)
    rows: list[dict[str, Any]] = []
    spread: list[dict[str, Any]] = []
    for outcome in (each.name for each in results.experiment.outcomes):
        if results.runs[outcome].null_count() == results.runs.height:
            continue
        wide = results.runs.pivot(on="variation", index="replicate", values=outcome).sort("replicate")
        first = wide[AS_WRITTEN].drop_nulls()
        if first.len() < 2:
            continue
        chance, centre = _number(first.std()), _number(first.mean())
        means = [centre]
        for name in effective:
            fields = {"conclusion": f"{outcome} ends at {centre:.3g} ± {chance:.2g}", "variation": name}
            fields |= {"outcome": outcome, "original": f"{centre:.3g}"}
            result = _shift_fields(wide[name], wide[AS_WRITTEN], chance, level)
            means += [] if result["mean"] is None else [result["mean"]]
            rows.append(fields | result)
        spread.append(
            {
                "metric": outcome,
                "run": ends[outcome][0],
                "mean": centre,
                "sd_over_seeds": chance,
                "sd_over_variations": _number(pl.Series(means).std()) if len(means) > 1 else None,
                "lowest": min(means),
                "highest": max(means),
                "seeds": first.len(),
            }
        )
    if not rows:
        raise UsageError(f"no metric of {run.name} has a number at the end.{results.failure_note}")
    conclusions = pl.DataFrame(rows, infer_schema_length=None)
    return Robustness(run.name, "run", conclusions, pl.DataFrame(spread), effective, tuple(left_out), seeds, level)


def _end(x: float) -> float | None:
    return None if math.isnan(x) else x


def _number(statistic: Any) -> float:
    return float(statistic or 0.0)


def _shift_fields(varied: pl.Series, original: pl.Series, chance: float, level: float) -> dict[str, Any]:
    """The shift of a metric, and whether it is smaller than the spread over seeds."""
    if (varied.is_not_null() & original.is_not_null()).sum() < 2:
        nothing: dict[str, Any] = dict.fromkeys(("mean", "shift", "low", "high"))
        return nothing | {"n": 0, "found": "no result", "survives": "undecided"}
    effect = difference(varied, original, paired=True, level=level)
    shift = effect.estimate
    if chance == 0:
        # Every seed ends alike, so there is no spread to compare a shift with: it is there in every seed, or in none.
        survives = "yes" if bool((varied == original).all()) else "no" if effect.p < 1 - level else "undecided"
    else:
        verdict = equivalence(varied, original, chance, paired=True, alpha=1 - level).verdict
        survives = {"equivalent": "yes", "different": "no", "undecided": "undecided"}[verdict]
    fields: dict[str, Any] = {"mean": effect.mean_a, "shift": shift.value, "n": effect.n}
    fields |= {"low": _end(shift.low), "high": _end(shift.high)}
    return fields | {"found": f"{effect.mean_a:.3g} ({shift.value:+.2g})", "survives": survives}
