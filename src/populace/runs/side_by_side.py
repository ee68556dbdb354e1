"""Several runs side by side: which belong together, their metrics, where they differ, what cannot be compared."""

import difflib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.base.errors import PopulaceError
from populace.base.formatting import plural
from populace.runs.compare import DecisionDifference, first_decision_difference
from populace.runs.reader import RunReader
from populace.runs.settings_text import settings_of
from populace.statistics.intervals import mean_band

MOST = 24
"""The most runs that are put side by side."""
_LONGEST_DIFF = 400
_LONGEST_TEXT = 20_000


@dataclass(frozen=True)
class MissingRun:
    """A run that cannot be shown, with why and what to do."""

    name: str
    what: str
    hint: str


@dataclass(frozen=True)
class SeedGroup:
    """Runs that share everything but their seed; a run of its own kind is a group of one.

    Attributes:
        label: How the group is called in charts.
        runs: The runs.
    """

    label: str
    runs: tuple[RunReader, ...]

    @property
    def distinct(self) -> dict[tuple[int, ...], RunReader]:
        """One run for each seed, by its seeds: the same run made twice tells nothing more."""
        return {tuple(regime.seed for regime in run.manifest.regimes): run for run in reversed(self.runs)}


@dataclass(frozen=True)
class ForkRelation:
    """A run that is a fork: of which run, from which step on, and whether that run is on the page too."""

    child: str
    parent: str
    at: int
    here: bool


@dataclass(frozen=True)
class RunDifference:
    """Where a run first differs from the reference; without a difference `note` says why there is none."""

    run: str
    difference: DecisionDifference | None
    note: str = ""


@dataclass(frozen=True)
class Overlay:
    """A metric of all runs over the steps.

    Attributes:
        table: A column `step`, a column for each line, and two for each band.
        lines: The columns that are lines.
        bands: For a line that is a mean: the columns of its interval.
        note: What the bands are.
    """

    table: pl.DataFrame
    lines: list[str]
    bands: dict[str, tuple[str, str]]
    note: str = ""


@dataclass(frozen=True)
class SideBySide:
    """Runs side by side, with what was read of them once.

    Attributes:
        runs: The runs that can be read.
        missing: Those that cannot.
        metrics: The metrics of each run, by its name.
        groups: The runs by what they share.
    """

    runs: tuple[RunReader, ...]
    missing: tuple[MissingRun, ...]
    metrics: dict[str, pl.DataFrame]
    groups: tuple[SeedGroup, ...]

    def run(self, name: str) -> RunReader:
        """A run by its name; the first where there is none of that name."""
        return next((run for run in self.runs if run.name == name), self.runs[0])

    def numeric(self, run: RunReader) -> list[str]:
        """The metrics of a run that are numbers."""
        schema = self.metrics[run.name].schema
        return [name for name, dtype in schema.items() if name != "step" and dtype.is_numeric()]


def side_by_side(names: Iterable[str], open_run: Callable[[str], RunReader]) -> SideBySide:
    """Runs by name, each once; those that cannot be read are listed apart and do not keep others from being shown.

    Args:
        names: The names.
        open_run: How a run is opened.
    """
    runs: list[RunReader] = []
    missing: list[MissingRun] = []
    metrics: dict[str, pl.DataFrame] = {}
    for name in dict.fromkeys(names):
        if len(runs) >= MOST:
            missing.append(MissingRun(name, f"At most {MOST} runs are shown at once.", "Take some away."))
            continue
        try:
            run = open_run(name)
            table = run.metrics
            metrics[run.name] = table if table.width else pl.DataFrame(schema={"step": pl.Int64})
            runs.append(run)
        except PopulaceError as error:
            missing.append(MissingRun(name, error.what, error.hint or ""))
    return SideBySide(tuple(runs), tuple(missing), metrics, tuple(seed_groups(runs)))


def seed_groups(runs: Sequence[RunReader]) -> list[SeedGroup]:
    """Runs by what they share, in the order in which they were given."""
    kinds: dict[str, list[RunReader]] = {}
    for run in runs:
        kinds.setdefault(_but_seed(run), []).append(run)
    several = len(kinds) > 1
    labels = [_label(members, [m[0] for m in kinds.values()], several) for members in kinds.values()]
    twice = {label for label in labels if labels.count(label) > 1}
    return [
        SeedGroup(f"{label} ({members[0].name})" if label in twice else label, tuple(members))
        for label, members in zip(labels, kinds.values(), strict=True)
    ]


def common_metrics(side: SideBySide) -> list[str]:
    """The numeric metrics that two or more runs have, or that the only run has."""
    counts = Counter(name for run in side.runs for name in side.numeric(run))
    return [name for name, count in counts.items() if count >= min(2, len(side.runs))]


def metrics_with_values(side: SideBySide) -> list[str]:
    """The shared metrics that have a value somewhere; days until something that never came have none."""
    tables = side.metrics.values()
    return [
        name
        for name in common_metrics(side)
        if any(name in table.columns and table[name].null_count() < table.height for table in tables)
    ]


def overlay(side: SideBySide, metric: str, *, bands: bool = True) -> Overlay:
    """A metric of all runs: a line for each run, or for each group with the interval of its mean.

    Args:
        side: The runs.
        metric: The metric.
        bands: Whether runs that differ in their seed only become one line with a band.
    """
    tables: list[pl.DataFrame] = []
    lines: list[str] = []
    intervals: dict[str, tuple[str, str]] = {}
    notes: list[str] = []
    for group in side.groups:
        measured = [run for run in group.runs if metric in side.numeric(run)]
        distinct = [run for run in group.distinct.values() if run in measured]
        if bands and len(distinct) > 1:
            try:
                table = mean_band([_path(side, run, metric) for run in distinct])
            except PopulaceError as error:
                notes.append(f"{group.label}: no band. {error}")
            else:
                low, high = f"{group.label} low", f"{group.label} high"
                names = {group.label: "mean", low: "low", high: "high"}
                tables.append(
                    table.select("step", **{name: pl.col(old).cast(pl.Float64) for name, old in names.items()})
                )
                lines.append(group.label)
                intervals[group.label] = (low, high)
                continue
        for run in measured:
            tables.append(side.metrics[run.name].select("step", pl.col(metric).cast(pl.Float64).alias(run.name)))
            lines.append(run.name)
    if intervals:
        notes.insert(0, "Bands are 95 % t intervals of the mean over seeds, step by step.")
    return Overlay(joined_lines(tables), lines, intervals, " ".join(notes))


def metric_differences(side: SideBySide, reference: str, step: int) -> pl.DataFrame:
    """Every shared metric at a step: each group's mean, and how far it lies from the group of the reference.

    Where both have two or more runs, the difference has its interval: paired where they have the same seeds.
    """
    base = next(group for group in side.groups if side.run(reference) in group.runs)
    rows: list[dict[str, Any]] = []
    for metric in common_metrics(side):
        ours = _values(side, base, metric, step)
        for group in side.groups:
            theirs = _values(side, group, metric, step)
            mean = _mean(theirs)
            row: dict[str, Any] = {"metric": metric, "runs": group.label, "n": len(theirs), "value": mean}
            row["reference"] = group is base
            row |= dict.fromkeys(("difference", "low", "high"))
            if group is not base and mean is not None and ours:
                row["difference"] = mean - (_mean(ours) or 0.0)
                row |= _interval(theirs, ours)
            rows.append(row)
    numbers = dict.fromkeys(("value", "difference", "low", "high"), pl.Float64())
    known = {"metric": pl.String(), "runs": pl.String(), "reference": pl.Boolean(), "n": pl.Int64()}
    return pl.DataFrame(rows, schema={**known, **numbers})


def settings_table(runs: Sequence[RunReader]) -> pl.DataFrame:
    """A row for each setting and parameter, a column for each run, and whether all runs have it alike."""
    each = {run.name: settings_of(run) for run in runs}
    names = list(dict.fromkeys(name for settings in each.values() for name in settings))
    columns = {run: [_setting_text(settings.get(name)) for name in names] for run, settings in each.items()}
    table = pl.DataFrame({"setting": names} | columns, schema=dict.fromkeys(["setting", *columns], pl.String()))
    differs = pl.Series([len(set(values)) > 1 for values in zip(*columns.values(), strict=True)], dtype=pl.Boolean)
    return table.with_columns(differs=differs).sort("differs", descending=True, maintain_order=True)


def fork_relations(runs: Sequence[RunReader]) -> list[ForkRelation]:
    """Which runs are forks, and of what."""
    names = {run.name for run in runs}
    parents = [(run.name, run.manifest.parent) for run in runs]
    return [ForkRelation(name, parent.run, parent.at, parent.run in names) for name, parent in parents if parent]


def differences_from(reference: RunReader, others: Sequence[RunReader]) -> list[RunDifference]:
    """The first decision in which each run differs from the reference."""
    return [_difference_from(reference, run) for run in others]


def _difference_from(reference: RunReader, run: RunReader) -> RunDifference:
    if run.manifest.scenario != reference.manifest.scenario:
        return RunDifference(run.name, None, "Another scenario asks other questions; decisions cannot be compared.")
    try:
        difference = first_decision_difference(reference, run)
    except PopulaceError as error:
        return RunDifference(run.name, None, f"The runs cannot be compared: {error.what}")
    shared = max(0, len(set(reference.steps) & set(run.steps)) - 1)
    note = "" if difference else f"Every recorded decision of the {shared} shared steps is equal."
    return RunDifference(run.name, difference, note)


def remarks(side: SideBySide) -> list[str]:
    """What cannot be compared, and what to mind."""
    remarks, runs = [], side.runs
    scenarios = dict.fromkeys(run.manifest.scenario for run in runs)
    if len(scenarios) > 1:
        remarks.append(
            f"These runs are of {len(scenarios)} scenarios ({', '.join(scenarios)}). Parameters and first differences "
            "cannot be compared between them; metrics only where they have the same name, which need not be the "
            "same thing."
        )
        shared = set(common_metrics(side))
        for run in runs:
            own = [name for name in side.numeric(run) if name not in shared]
            if own:
                remarks.append(f"Only {run.name} has {', '.join(own)}.")
    elif len({run.manifest.scenario_hash for run in runs}) > 1:
        remarks.append("The code of the scenario changed between these runs; what differs may be due to that.")
    lengths = {max(1, len(run.steps)) for run in runs}
    if len(lengths) > 1 and len(runs) > 1:
        remarks.append(f"They have {min(lengths) - 1} to {max(lengths) - 1} steps; lines end where runs do.")
    return remarks


def last_common_step(runs: Sequence[RunReader]) -> int:
    """The last step that all runs have."""
    return max(0, min((run.steps[-1] for run in runs if run.steps), default=0))


def line_diff(first: str, second: str) -> list[tuple[str, str]]:
    """Two texts line by line: marked with `-` and `+` where they differ, and with a blank where not."""
    one, two = (text[:_LONGEST_TEXT].splitlines()[:_LONGEST_DIFF] for text in (first, second))
    return [(line[0], line[2:]) for line in difflib.ndiff(one, two) if line[0] in "+- "]


def _but_seed(run: RunReader) -> str:
    """Everything that makes a run what it is, without its seeds and its name."""
    manifest = run.manifest
    regimes = [regime.model_dump(mode="json", exclude={"seed"}) for regime in manifest.regimes]
    at = manifest.parent.at if manifest.parent else None
    same = manifest.model_dump(mode="json", include={"scenario", "scenario_hash", "interventions", "recording"})
    return json.dumps({**same, "regimes": regimes, "at": at}, sort_keys=True)


def _label(members: Sequence[RunReader], kinds: Sequence[RunReader], several: bool) -> str:
    if len(members) == 1:
        return members[0].name
    seeds = plural(len(members), "seed")
    if not several:
        return f"mean of {seeds}"
    each = [settings_of(run) for run in kinds]
    mine = settings_of(members[0])
    apart = [n for n in mine if n not in ("seed", "fork of") and len({_setting_text(s.get(n)) for s in each}) > 1]
    text = ", ".join(f"{name}={_setting_text(mine[name])[:40]}" for name in apart[:3])
    return f"{text or members[0].name}: {seeds}"


def _setting_text(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _path(side: SideBySide, run: RunReader, metric: str) -> list[list[float | None]]:
    metrics = side.metrics[run.name]
    return [metrics["step"].to_list(), metrics[metric].cast(pl.Float64).to_list()]


def joined_lines(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Lines over the same steps as one table; a line that is shorter has nothing at its end."""
    empty = pl.DataFrame(schema={"step": pl.Int64})
    return pl.concat([empty, *(table.cast({"step": pl.Int64}) for table in tables)], how="align_full")


def _values(side: SideBySide, group: SeedGroup, metric: str, step: int) -> dict[tuple[int, ...], float]:
    """The metric at a step in every run of a group, by seed."""
    values = {}
    for seeds, run in group.distinct.items():
        rows = side.metrics[run.name].filter(pl.col("step") == step)
        if metric in side.numeric(run) and rows.height and rows[metric][0] is not None:
            values[seeds] = float(rows[metric][0])
    return values


def _mean(values: dict[tuple[int, ...], float]) -> float | None:
    return sum(values.values()) / len(values) if values else None


def _interval(theirs: dict[tuple[int, ...], float], ours: dict[tuple[int, ...], float]) -> dict[str, float]:
    """The interval of a difference, where both sides have several runs and the extra `analysis` is there."""
    if min(len(theirs), len(ours)) < 2:
        return {}
    from populace.statistics import difference

    # A fork has the seed of its parent in front, so runs are paired by their first seed where that tells them apart.
    first = [{seeds[0]: value for seeds, value in sorted(side.items())} for side in (theirs, ours)]
    paired = list(first[0]) == list(first[1]) and [*map(len, first)] == [len(theirs), len(ours)]
    one, two = (list(side.values()) for side in (first if paired else (theirs, ours)))
    try:
        effect = difference(one, two, paired=paired)
    except PopulaceError:
        return {}  # without scipy, and where nothing varies, the difference stands without an interval
    return {"low": effect.estimate.low, "high": effect.estimate.high}
