"""Calibration: adjust knobs of a scenario until it meets a table of targets, and check the fit on held-out data.

The search runs the scenario at points spread over the bounds, then ever closer around the best ones, always with the
same seeds, so that points differ by their knobs and not by chance. The fit is then checked on other seeds, and on
held-out targets.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import UsageError
from populace.base.randomness import path_key, stream
from populace.engine.discovery import find_scenario, reference
from populace.engine.scenario import Scenario
from populace.experiments.calibration_inputs import CONDITION, HELD_OUT, OUTCOME, SCALE, VALUE, Knob, Targets
from populace.experiments.designs import Design, design_points
from populace.experiments.execution import ExperimentObserver
from populace.experiments.experiment import Experiment
from populace.experiments.plan import StoppingRule
from populace.statistics import Estimate, cautions, mean

AS_IT_IS = "as it is"
SETTING = "knob setting"
"""A factor of a search, named so that it meets no parameter of a scenario."""

_RESAMPLES = 2000
_FIRST_SPREAD = 0.15
_EDGE = 0.02

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """The result of a calibration: fitted knobs, and how far the targets are met.

    Distances are root mean squares of (mean over seeds − target) / scale, over targets; chance adds to them, so
    that even a perfect model is at a small distance. Intervals are over the fresh seeds of the check (bootstrap). A
    target is reached where the interval of the fitted mean (t, over seeds) holds it, or it lies within the
    tolerance. That a fit is good on fitted targets says little; look at the held-out ones. Other settings may fit
    as well: `plausible` is the range of each knob among the points whose distance does not differ from the best by more
    than chance.

    Attributes:
        scenario: The title of the scenario.
        fitted: The knobs and their fitted values.
        plausible: For each knob, the lowest and highest value among points that fit as well.
        before: Distance without the fitted values, for `fitted` and `held out` targets, on fresh seeds.
        after: Distance with the fitted values, likewise.
        targets: One row for each target: before, after with its interval, reached or not, and the nearest value
            that any point gave.
        points: Every point of the search with its distance.
        runs: The number of runs of the search and the check.
        seeds: The number of seeds of the search, and of the check.
        warnings: What a reader must know.
    """

    scenario: str
    fitted: dict[str, float]
    plausible: dict[str, tuple[float, float]]
    before: dict[str, Estimate]
    after: dict[str, Estimate]
    targets: pl.DataFrame
    points: pl.DataFrame
    runs: int
    seeds: tuple[int, int]
    warnings: tuple[str, ...] = ()

    @property
    def reached(self) -> bool:
        """Whether every fitted target is reached on fresh seeds."""
        return bool(self.targets.filter(~pl.col(HELD_OUT))["reached"].all())

    def table(self) -> pl.DataFrame:
        """The targets with their results."""
        return self.targets

    def __str__(self) -> str:
        lines = [f"Fitted {self.scenario} to {self.targets.filter(~pl.col(HELD_OUT)).height} targets:"]
        for name, value in self.fitted.items():
            low, high = self.plausible[name]
            lines.append(f"  {name} = {value:.4g} ({low:.3g} to {high:.3g} fit as well)")
        for part, before in self.before.items():
            lines.append(f"  distance to {part} targets: {before} before; {self.after[part]} after")
        return "\n".join([*lines, *self.warnings])


def calibrate(
    scenario: Scenario | type[Scenario] | str,
    *,
    knobs: Mapping[str, tuple[float, float]],
    targets: pl.DataFrame | Sequence[Mapping[str, Any]] | Mapping[str, float],
    model: str = "embedded",
    parameters: Mapping[str, Any] | None = None,
    held_out: float | None = None,
    seeds: int = 8,
    check_seeds: int = 20,
    points: int = 16,
    rounds: int = 4,
    tolerance: float = 0.0,
    seed: int = 0,
    name: str = "calibration",
    calls: int | None = None,
    workspace: str | Path | None = None,
    workers: int | None = None,
    observer: ExperimentObserver | None = None,
) -> Calibration:
    """Fit knobs to targets by running the scenario; at most `rounds` × `points` settings are tried.

    Runs that ended before are not run again: call it in the same way to continue an interrupted search.

    Args:
        scenario: By name, file, class, or an instance with its parameters.
        knobs: What to adjust, with bounds: numeric parameters, `temperature`, `rule_share` (the share of people whose
            decisions follow the rule), or `share(column=value)` (the share of people of one persona).
        targets: A table with `outcome` and `value`; optional columns are `scale` (what counts as one unit of
            distance; 1 by default), `held_out` (true for targets to check only), and parameters of the scenario, which
            make the conditions that targets belong to. Or a mapping from outcomes to values.
        model: The model that decides.
        parameters: Parameters that stay the same.
        held_out: The share of targets to hold out, sampled by the seed, if the table does not say which.
        seeds: Seeds of the search, the same for every point.
        check_seeds: Fresh seeds for the check.
        points: Settings tried in each round.
        rounds: Rounds: the first over the whole bounds, the others around the best.
        tolerance: How far from its target a mean may lie and still count as there.
        seed: The seed of the search and of all runs.
        name: The first part of the names of its experiments.
        calls: The most calls to models in each round.
        workspace: Where experiments and the call store are.
        workers: The number of processes.
        observer: Receives the progress.
    """
    if isinstance(scenario, Scenario):
        parameters, scenario = {**scenario.parameters, **(parameters or {})}, type(scenario)
    scenario_class = find_scenario(scenario) if isinstance(scenario, str) else scenario
    if not knobs:
        raise UsageError("a calibration needs at least one knob.")
    if points < 2 or rounds < 1:
        raise UsageError(f"there are {points} points in {rounds} rounds.", "Use two points or more, and a round.")
    knob_list = tuple(Knob.read(knob, bounds, scenario_class, parameters or {}) for knob, bounds in knobs.items())
    table = Targets.read(targets, scenario_class, [knob.name for knob in knob_list], held_out, seed)
    fixed = {key: value for key, value in (parameters or {}).items() if key not in table.conditions}
    run_options = {"workspace": workspace, "workers": workers, "observer": observer}
    lab = _Lab(scenario_class, knob_list, table, fixed, model, StoppingRule(max_calls=calls), name, run_options)
    search = _Search(lab, points, rounds, seeds, seed)
    best = search.best.values
    fresh = path_key(seed, "calibration/check") >> 12
    check_outcomes = lab.measure({AS_IT_IS: None, "fitted": best}, check_seeds, fresh, "check")
    return _report(lab, search, check_outcomes, (seeds, check_seeds), tolerance, seed)


@dataclass
class _Lab:
    """Runs the scenario with settings of the knobs."""

    scenario: type[Scenario]
    knobs: tuple[Knob, ...]
    targets: Targets
    parameters: dict[str, Any]
    model: str
    stop: StoppingRule
    name: str
    how: dict[str, Any]
    runs: int = 0

    def measure(
        self, settings: Mapping[str, Mapping[str, float] | None], seeds: int, seed: int, title: str
    ) -> dict[str, Numbers]:
        """For each setting, the outcome of each target under each seed; NaN where a run failed."""
        levels = {key: Knob.settings(self.knobs, values) if values else {} for key, values in settings.items()}
        factors: dict[str, Any] = {SETTING: levels}
        conditions, parameters = self.targets.bundles(), dict(self.parameters)
        if len(conditions) > 1:
            factors[CONDITION] = conditions
        else:
            parameters |= next(iter(conditions.values()))
        experiment = Experiment(
            name=f"{self.name}-{title}",
            scenario=reference(self.scenario),
            factors=factors,
            parameters=parameters,
            model=self.model,
            replicates=seeds,
            seed=seed,
            outcomes=list(dict.fromkeys(self.targets.table[OUTCOME])),
            stop=self.stop,
            question=f"Which {', '.join(sorted(knob.name for knob in self.knobs))} meets the targets?",
        )
        results = experiment.run(check=False, **self.how)
        self.runs += results.runs.height
        if results.failures.height == results.runs.height:
            raise UsageError(f"every run failed. The first: {results.failures['failure'][0]}")
        if results.state != "complete":
            raise UsageError(f"the search broke off: {results.reason}.", "Raise the limit and call it again.")
        return {key: self._outcomes(results.runs.filter(pl.col(SETTING) == key), seeds) for key in settings}

    def _outcomes(self, runs: pl.DataFrame, seeds: int) -> Numbers:
        outcomes = np.full((self.targets.table.height, seeds), np.nan)
        for row, target in enumerate(self.targets.table.iter_rows(named=True)):
            mine = runs.filter(pl.col(CONDITION) == target[CONDITION]) if CONDITION in runs.columns else runs
            outcomes[row, mine["replicate"].to_numpy()] = mine[target[OUTCOME]].cast(pl.Float64).to_numpy()
        return outcomes

    def distance(self, outcomes: Numbers, rows: npt.NDArray[np.bool_]) -> float:
        """Root mean square of the differences between means and targets; infinite if an outcome is missing."""
        if not rows.any():
            return float("nan")
        left = ((_means(outcomes) - self.targets.column(VALUE)) / self.targets.column(SCALE))[rows]
        return float("inf") if np.isnan(left).any() else float(np.sqrt((left**2).mean()))


@dataclass(frozen=True)
class _Point:
    """A setting of the knobs that was tried, and the place of each knob within its bounds."""

    round: int
    place: Numbers
    values: dict[str, float]
    outcomes: Numbers
    distance: float


class _Search:
    """Points over the bounds, then around the best: a cross-entropy search with common random numbers."""

    def __init__(self, lab: _Lab, points: int, rounds: int, seeds: int, seed: int) -> None:
        self.lab, self.fit_rows = lab, ~lab.targets.column(HELD_OUT)
        self.points: list[_Point] = []
        for number in range(rounds):
            places = self._points_around_best(points, number, seed) if number else self._spread_points(points, seed)
            self._try(places, number, seeds, seed)
        self.best = min(self.points, key=lambda point: point.distance)
        if not np.isfinite(self.best.distance):
            raise UsageError(
                "no setting of the knobs gave every target an outcome.", "Look at the failures of its runs."
            )

    def _spread_points(self, points: int, seed: int) -> Numbers:
        design = Design(kind="latin-hypercube", points=points)
        return np.array(design_points(design, [None] * len(self.lab.knobs), seed), dtype=np.float64)

    def _points_around_best(self, points: int, number: int, seed: int) -> Numbers:
        rng = stream(seed, f"calibration/round/{number}")
        best = sorted(self.points, key=lambda point: point.distance)[: max(2, points // 4)]
        elite = np.array([point.place for point in best])
        spread = np.maximum(elite.std(axis=0), _FIRST_SPREAD * 0.5 ** (number - 1))
        centres = np.where(np.arange(points)[:, None] % 2 == 0, elite[0], elite.mean(axis=0))
        places = centres + spread * rng.standard_normal(centres.shape)
        return np.asarray(places.clip(0.0, 1.0), dtype=np.float64)

    def _try(self, places: Numbers, number: int, seeds: int, seed: int) -> None:
        new: dict[str, tuple[Numbers, dict[str, float]]] = {}
        for place in places:
            values = {knob.name: knob.at(float(at)) for knob, at in zip(self.lab.knobs, place, strict=True)}
            if values not in [point.values for point in self.points] + [known for _, known in new.values()]:
                new[f"{number + 1}.{len(new) + 1}"] = (place, values)
        if not new:
            return
        settings: dict[str, Mapping[str, float] | None] = {key: values for key, (_, values) in new.items()}
        if len(settings) == 1:
            settings[AS_IT_IS] = None  # An experiment needs something to compare with.
        measured = self.lab.measure(settings, seeds, seed, f"round-{number + 1}")
        for key, (place, values) in new.items():
            distance = self.lab.distance(measured[key], self.fit_rows)
            self.points.append(_Point(number + 1, place, values, measured[key], distance))

    def table(self) -> pl.DataFrame:
        """Every point tried."""
        return pl.DataFrame([{"round": p.round, **p.values, "distance": p.distance} for p in self.points])

    def plausible(self, seed: int) -> dict[str, tuple[float, float]]:
        """The range of each knob among points within the confidence interval of the best distance."""
        interval = _interval(self.lab, self.best.outcomes, self.fit_rows, seed)
        most = max(interval.high, interval.value) if math.isfinite(interval.high) else interval.value
        near = [point.values for point in self.points if point.distance <= most] or [self.best.values]
        return {name: (min(v[name] for v in near), max(v[name] for v in near)) for name in self.best.values}


def _means(outcomes: Numbers) -> Numbers:
    """The mean of each row over the seeds that have a value; NaN where none has."""
    count = (~np.isnan(outcomes)).sum(axis=1)
    empty = np.full(len(count), np.nan)
    means: Numbers = np.divide(np.nansum(outcomes, axis=1), count, out=empty, where=count > 0)
    return means


def _interval(lab: _Lab, outcomes: Numbers, rows: npt.NDArray[np.bool_], seed: int) -> Estimate:
    """The distance with its interval over seeds."""
    n = outcomes.shape[1]
    rng = stream(seed, "calibration/bootstrap")
    distances = [lab.distance(outcomes[:, rng.integers(n, size=n)], rows) for _ in range(_RESAMPLES)]
    value = lab.distance(outcomes, rows)
    if min(distances) == max(distances):  # Equal runs show no precision.
        return Estimate(value, math.nan, math.nan, n, method="bootstrap of seeds")
    low, high = np.quantile(distances, [0.025, 0.975])
    return Estimate(value, min(float(low), value), max(float(high), value), n, method="bootstrap of seeds")


def _report(
    lab: _Lab, search: _Search, outcomes: Mapping[str, Numbers], seeds: tuple[int, int], tolerance: float, seed: int
) -> Calibration:
    held_out = lab.targets.column(HELD_OUT)
    parts = {"fitted": ~held_out} | ({"held out": held_out} if held_out.any() else {})
    before, after = (
        {part: _interval(lab, outcomes[setting], rows, seed) for part, rows in parts.items()}
        for setting in (AS_IT_IS, "fitted")
    )
    point_means = np.array([_means(point.outcomes) for point in search.points])
    before_means = _means(outcomes[AS_IT_IS])
    rows = []
    for number, target in enumerate(lab.targets.table.iter_rows(named=True)):
        tried = np.array([point.outcomes[number] for point in search.points])
        estimate = mean(outcomes["fitted"][number], shares=cautions.binary(tried[~np.isnan(tried)]))
        reached = bool(estimate.contains(target[VALUE]) or abs(estimate.value - target[VALUE]) <= tolerance)
        gaps = np.nan_to_num(np.abs(point_means[:, number] - target[VALUE]), nan=np.inf)
        nearest = float(point_means[np.argmin(gaps), number])
        fields = {name: value for name, value in target.items() if name not in (CONDITION, SCALE)}
        fields |= {"before": float(before_means[number]), "after": estimate.value}
        fields |= {"low": estimate.low, "high": estimate.high, "n": estimate.n}
        rows.append(fields | {"reached": reached, "nearest": nearest})
    targets, best, plausible = pl.DataFrame(rows), search.best.values, search.plausible(seed)
    warnings = tuple(_warnings(lab, best, targets, before, after))
    title, points = lab.scenario.title(), search.table()
    return Calibration(title, best, plausible, before, after, targets, points, lab.runs, seeds, warnings)


Distances = Mapping[str, Estimate]


def _warnings(
    lab: _Lab, best: Mapping[str, float], targets: pl.DataFrame, before: Distances, after: Distances
) -> list[str]:
    warnings = []
    unreached = targets.filter(~pl.col(HELD_OUT) & ~pl.col("reached"))
    for row in unreached.iter_rows(named=True):
        known = row["low"] is not None and math.isfinite(row["low"])
        ends = f"[{row['low']:.4g}, {row['high']:.4g}]" if known else "in every run"
        warnings.append(
            f"Not reached: {row[OUTCOME]} = {row[VALUE]:.4g}; the fit is at {row['after']:.4g} {ends}, "
            f"and the nearest that any setting came is {row['nearest']:.4g}."
        )
    for knob in lab.knobs:
        place = (best[knob.name] - knob.low) / (knob.high - knob.low)
        if not _EDGE <= place <= 1 - _EDGE:
            warnings.append(f"{knob.name} is at the end of its bounds; the best value may lie beyond.")
    if "held out" not in after:
        warnings.append("No target was held out: the fit is checked on fresh seeds only.")
    elif after["held out"].value > before["held out"].value:
        warnings.append("The fit does not carry over: held-out targets are further away than before.")
    return warnings
