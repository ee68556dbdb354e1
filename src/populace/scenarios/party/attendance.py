"""Who was at the place of an event while it went on, beside who would have been there anyway.

Somebody who knows of a party may be at the café for another reason. So a town is run twice with the same seed, once
with the host told and once with nobody told; who is there in both runs does not count. Several such pairs, of different
seeds, give the effect of the news on attendance with an interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from populace.base.errors import PopulaceError, UnknownNameError, UsageError
from populace.base.formatting import plural
from populace.base.randomness import stream
from populace.engine.run import simulate
from populace.engine.workspace import Workspace
from populace.journal import Journal, Regime, RunSettings
from populace.people import Id
from populace.runs.reader import RunReader
from populace.scenarios.party.occasion import Occasion, find_occasions
from populace.scenarios.townlife import BEGINS, DAY, TICK
from populace.statistics import Estimate, difference
from populace.statistics.intervals import t_quantile
from populace.worlds.town import Town

if TYPE_CHECKING:
    from populace.scenarios.party.party import Party

_NEWEST = 400
_SETUP = "0/rng"


@dataclass(frozen=True)
class Attendance:
    """The people at the place of an event while it went on, without its host.

    Attributes:
        occasion: The event.
        before: The ids of those who were there at the same hours on the day before; None where there was no such day.
        there: The ids of those who were there during the event.
    """

    occasion: Occasion
    before: frozenset[Id] | None
    there: frozenset[Id]


def recorded_party(run: RunReader, scenario: "type[Party]") -> "Party":
    """The scenario of a run as it began; parameters that it does not have any more are left out."""
    known = scenario.parameter_model().model_fields
    parameters = run.manifest.regimes[0].parameters
    return scenario(**{name: value for name, value in parameters.items() if name in known})


def read_occasions(run: RunReader, scenario: "type[Party]") -> tuple[Town, list[Occasion]]:
    """The town of a run, and its events with their places, times and hosts."""
    party = recorded_party(run, scenario)
    town = party.make_town(stream(run.manifest.regimes[0].seed, _SETUP))
    return town, find_occasions(
        party.declared_events, town, run.people(0), first_day=party.start.date(), starts=BEGINS, days=party.days
    )


def read_attendance(run: RunReader, town: Town, occasion: Occasion) -> Attendance | None:
    """Read from the recorded positions who was there; None where the run ended before the event was over."""
    steps = occasion.steps(BEGINS, TICK)
    if not occasion.can_be_attended or not steps or not run.steps or run.steps[-1] < steps[-1]:
        return None
    day = DAY // TICK
    earlier = [step - day for step in steps if step > day]
    there = _people_there(run, town, occasion, steps)
    return Attendance(occasion, _people_there(run, town, occasion, earlier) if earlier else None, there)


def _people_there(run: RunReader, town: Town, occasion: Occasion, steps: Sequence[int]) -> frozenset[Id]:
    inside = pl.Series(occasion.places(town)).implode()
    positions = run.rows("tables/positions", pl.col("place").is_in(inside), since=steps[0], until=steps[-1])
    if not positions.height:
        return frozenset()
    ids = run.people(0).ids
    rows = positions["row"].to_numpy()
    # Rows are those of the first population until somebody joins or leaves; from then on ids are recorded.
    first = ids.gather(np.minimum(rows, len(ids) - 1))
    people = positions["person"].fill_null(first) if "person" in positions.columns else first
    return frozenset(people.to_list()) - {occasion.host}


@dataclass(frozen=True)
class AttendanceEffect:
    """How many more people came to an event because one person was told of it.

    The pairs of runs share a seed each. The interval is that of Student's t over the differences of the pairs. Where
    all pairs differ by the same number, but not in the same people, the spread is taken from the people; where they
    differ in the same people, nothing varies, and there is no interval.

    Attributes:
        event: The name of the event.
        place: The address of its place.
        seeds: The seeds of the pairs.
        with_news: How many were there, without the host, in each run in which the host was told.
        without_news: How many were there in each run in which nobody was told.
        estimate: The mean difference with its interval.
        people: For each person who was ever there: in how many runs, with the host told and with nobody told.
    """

    event: str
    place: str
    seeds: tuple[int, ...]
    with_news: tuple[int, ...]
    without_news: tuple[int, ...]
    estimate: Estimate
    people: pl.DataFrame

    def table(self) -> pl.DataFrame:
        """The pairs as rows: seed, how many were there with the host told and with nobody told, and the difference."""
        columns = {"seed": self.seeds, "told": self.with_news, "nobody told": self.without_news}
        return pl.DataFrame(columns).with_columns(difference=pl.col("told") - pl.col("nobody told"))

    def __str__(self) -> str:
        return f"{self.event} at {self.place}: {self.estimate} more people because of the news"


def attendance_effect(
    pairs: Sequence[tuple[RunReader, RunReader]], scenario: "type[Party]", *, event: str | None = None
) -> AttendanceEffect:
    """The effect of the news on who came, from pairs of runs.

    Args:
        pairs: Two runs of the same town and seed: one in which the host was told, one in which nobody was.
        scenario: The scenario of the runs.
        event: The name of the event; the first by default.

    Raises:
        UsageError: There are fewer than two pairs, or a run ended before the event was over.
    """
    if len(pairs) < 2:
        raise UsageError(
            f"an effect on attendance with an interval needs two pairs of runs or more; there {_are(len(pairs))}.",
            "Run the town with other seeds, each with the host told and with --no-told; "
            "`populace attendance RUN --seeds 10` does so.",
        )
    names: dict[Id, str] = {}
    there: list[tuple[frozenset[Id], frozenset[Id]]] = []
    occasion: Occasion | None = None
    for told, untold in pairs:
        if told.manifest.regimes[0].seed != untold.manifest.regimes[0].seed:
            raise UsageError(f"{told.name} and {untold.name} have different seeds, so they are no pair.")
        pair: list[frozenset[Id]] = []
        for run in (told, untold):
            town, occasions = read_occasions(run, scenario)
            occasion = find_occasion(occasions, event)
            found = read_attendance(run, town, occasion)
            if found is None:
                raise UsageError(
                    f"{run.name} has no attendance of {occasion.name!r}: {_why_not(occasion)}.",
                    "Choose another event, or resume the run.",
                )
            pair.append(found.there)
            names |= dict(zip(run.people(0).ids.to_list(), run.people(0)["name"].to_list(), strict=True))
        there.append((pair[0], pair[1]))
    assert occasion is not None
    seeds = tuple(told.manifest.regimes[0].seed for told, _ in pairs)
    counts = [tuple(len(pair[which]) for pair in there) for which in (0, 1)]
    people = sorted({who for pair in there for ids in pair for who in ids}, key=str)
    table = pl.DataFrame(
        {
            "name": [names.get(who, str(who)) for who in people],
            "told": [sum(who in told for told, _ in there) for who in people],
            "nobody told": [sum(who in untold for _, untold in there) for who in people],
        },
        schema={"name": pl.String, "told": pl.Int64, "nobody told": pl.Int64},
    ).with_columns(because=pl.col("told") - pl.col("nobody told"))
    return AttendanceEffect(
        occasion.name,
        occasion.address,
        seeds,
        counts[0],
        counts[1],
        effect_estimate(there),
        table.sort("because", "told", "name", descending=[True, True, False]),
    )


def effect_estimate(pairs: Sequence[tuple[frozenset[Id], frozenset[Id]]]) -> Estimate:
    """How many more people were there in the first of each pair than in the second, with its interval.

    Example:
        >>> pairs = [({1, 2, 3}, {1}), ({2, 3}, {2}), ({1, 4}, set())]
        >>> print(effect_estimate([(frozenset(a), frozenset(b)) for a, b in pairs]))
        1.7 [0.2, 3.1], n = 3
    """
    counts = [len(a) for a, _ in pairs], [len(b) for _, b in pairs]
    # Counts of 0 and 1 only are no shares.
    estimate = difference(*counts, paired=True, share=False).estimate
    if math.isfinite(estimate.low):
        return estimate
    people = sorted({who for pair in pairs for ids in pair for who in ids}, key=str)
    gaps = np.array([[(who in a) - (who in b) for who in people] for a, b in pairs], dtype=float)
    n = len(pairs)
    spread = math.sqrt(gaps.var(axis=0, ddof=1).sum() / n) if people else 0.0
    if not spread:
        return estimate
    half = t_quantile(estimate.level, n - 1) * spread
    return Estimate(estimate.value, estimate.value - half, estimate.value + half, n, estimate.level, "t over people")


def attendance_pairs(run: RunReader) -> list[tuple[RunReader, RunReader]]:
    """The pairs of runs in the workspace of a run that differ from it in seed and in who was told alone, by seed.

    Of several runs of one kind the newest is taken; runs that did not come to their end are left out.
    """
    runs = _runs_alike(run)
    seeds = sorted({seed for seed, _ in runs})
    return [(runs[seed, True], runs[seed, False]) for seed in seeds if (seed, True) in runs and (seed, False) in runs]


def _runs_alike(run: RunReader) -> dict[tuple[int, bool], RunReader]:
    """The complete runs in the workspace of a run that differ from it in seed and in who was told alone."""
    if not isinstance(run.record, Journal):
        return {}
    workspace, mine = Workspace.of(run.record), _likeness(run)
    folders = sorted((workspace.runs / name for name in workspace.names()), key=lambda folder: -folder.stat().st_mtime)
    runs: dict[tuple[int, bool], RunReader] = {}
    for folder in folders[:_NEWEST]:
        try:
            other = RunReader.open(folder)
            if other.manifest.status.state != "complete" or _likeness(other) != mine:
                continue
        except PopulaceError:
            # A run that cannot be read is reported where runs are listed.
            continue
        runs.setdefault((other.manifest.regimes[0].seed, _was_told(other)), other)
    return runs


def missing_runs(run: RunReader, seeds: int) -> list[tuple[int, bool]]:
    """The runs that are missing for pairs of so many seeds, from the seed of a run on: the seed, and who is told."""
    first = run.manifest.regimes[0].seed
    found = _runs_alike(run)
    return [(seed, told) for seed in range(first, first + seeds) for told in (True, False) if (seed, told) not in found]


def run_missing(run: RunReader, scenario: "type[Party]", seed: int, told: bool, **options: Any) -> RunReader:
    """Run a town like that of a run, with another seed or with nobody told.

    Args:
        run: The run; the new one lies beside it.
        scenario: Its scenario.
        seed: The seed.
        told: Whether hosts are told of their events.
        **options: Passed on to `simulate`.
    """
    if not isinstance(run.record, Journal):
        raise UsageError(f"{run.name} has no folder, so there is no place for other runs beside it.")
    first = run.manifest.regimes[0]
    party = recorded_party(run, scenario)
    party.change({"told": told})
    settings = {name: getattr(first, name) for name in RunSettings.model_fields} | {"seed": seed}
    interventions = list(run.manifest.interventions)
    return simulate(party, interventions=interventions, workspace=Workspace.of(run.record), **settings, **options)


def _was_told(run: RunReader) -> bool:
    return run.manifest.regimes[0].parameters.get("told", True) is not False


def _likeness(run: RunReader) -> tuple[object, ...]:
    """What two runs of a pair have in common, beside the seed."""
    first: Regime = run.manifest.regimes[0]
    parameters = {name: value for name, value in first.parameters.items() if name != "told"}
    settings = (first.model if first.decider == "model" else "", first.decider, first.temperature, first.variation)
    forked, changed = run.manifest.parent is not None, [each.model_dump() for each in run.manifest.interventions]
    return run.manifest.scenario, parameters, settings, len(run.manifest.regimes), forked, changed


def find_occasion(occasions: Sequence[Occasion], event: str | None) -> Occasion:
    """The event of a name; the first where no name is given."""
    if event is None:
        return occasions[0]
    for occasion in occasions:
        if occasion.name == event:
            return occasion
    raise UnknownNameError("event", event, [occasion.name for occasion in occasions])


def _why_not(occasion: Occasion) -> str:
    return "the run ended before it was over" if occasion.can_be_attended else "it has no place or no time"


def _are(count: int) -> str:
    return f"is {plural(count, 'pair')}" if count == 1 else f"are {plural(count, 'pair')}"
