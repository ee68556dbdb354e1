"""Who was at the café during the party, beside who would have been there anyway.

Somebody who knows of a party may be at the café for another reason. Two figures help to judge it: who was there at the
same hours on the day before, and who was there in the same town on the same day when nobody was told.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from populace.base.errors import PopulaceError
from populace.base.randomness import stream
from populace.engine.scenario import ReportTable
from populace.engine.workspace import Workspace
from populace.journal import Journal, Regime
from populace.people import Id
from populace.runs.reader import RunReader
from populace.scenarios.townlife import BEGINS, DAY, HOUR, TICK

if TYPE_CHECKING:
    from populace.scenarios.party.party import Party

HOURS = (17 * HOUR, 19 * HOUR)
"""When the party begins and ends, in seconds of the day."""
_PARTY_DAY = 1
_NEWEST = 200
_SETUP = "0/rng"


@dataclass(frozen=True)
class Attendance:
    """The people at the café from 17:00 to 19:00 without the host, on the day before the party and on its day.

    Attributes:
        café: The name of the café.
        before: Their ids on the day before.
        party: Their ids on the day of the party.
    """

    café: str
    before: frozenset[Id]
    party: frozenset[Id]


def read_attendance(run: RunReader, scenario: "type[Party]") -> Attendance | None:
    """Read from the recorded positions who was at the café; None where the run ended before the party."""
    last_of_party = (_PARTY_DAY * DAY + HOURS[1] - BEGINS) // TICK - 1
    if not run.steps or run.steps[-1] < last_of_party:
        return None
    regime = run.manifest.regimes[0]
    town = scenario(**regime.parameters).make_town(stream(regime.seed, _SETUP))
    café = int(np.flatnonzero((town.places.kind == "café").fill_null(False).to_numpy())[0])
    inside = pl.Series([café, *town.inside(café).tolist()])
    people = run.people(0)
    first_people, works = people.ids, people["workplace_place"].fill_null(0).to_numpy()
    staff = first_people.filter(pl.Series(town.places.building[works] == café))
    host = staff[0] if staff.len() else first_people[0]
    days: list[frozenset[Id]] = []
    for day in (0, _PARTY_DAY):
        first, end = ((day * DAY + hour - BEGINS) // TICK for hour in HOURS)
        there: set[Id] = set()
        for step in range(max(first, 1), end):
            table = run.table("positions", step)
            ids = table["person"] if "person" in table.columns else first_people
            there |= set(ids.filter(table["place"].is_in(inside.implode())).to_list())
        days.append(frozenset(there - {host}))
    return Attendance(town.address(café), *days)


def attendance_report(run: RunReader, scenario: "type[Party]", came: set[Id]) -> list[ReportTable]:
    """How many were at the café during the party, and the figures to compare it with."""
    attendance = read_attendance(run, scenario)
    if attendance is None:
        return []
    rows = [
        ("the day before", len(attendance.before), None),
        ("the day of the party", len(attendance.party), len(came)),
    ]
    anyway = len(came & attendance.before)
    note = f"Of the {len(came)} who knew and were there, {anyway} had been there at the same hours on the day before."
    if run.manifest.regimes[0].parameters.get("told", True):
        twin = untold_twin(run)
        other = read_attendance(twin, scenario) if twin is not None else None
        if twin is None or other is None:
            note += (
                " To compare, run the same command with --no-told as well, so that nobody is told of the party;"
                " then `populace show` of this run has a third row."
            )
        else:
            rows.append((f"the same day with nobody told ({twin.name})", len(other.party), 0))
            note += f" {len(came & other.party)} of them were there as well when nobody was told."
    schema = {"when": pl.String, "people there": pl.Int64, "of them knew": pl.Int64}
    title = f"Who was at {attendance.café} from 17:00 to 19:00, without the host"
    return [ReportTable(title, pl.DataFrame(rows, schema=schema, orient="row"), note)]


def untold_twin(run: RunReader) -> RunReader | None:
    """The newest run of the same town, seed and model in which nobody was told; None where there is none."""
    if not isinstance(run.record, Journal):
        return None
    workspace, mine = Workspace.of(run.record), _likeness(run)
    folders = sorted((workspace.runs / name for name in workspace.names()), key=lambda folder: -folder.stat().st_mtime)
    for folder in folders[:_NEWEST]:
        try:
            other = RunReader.open(folder)
            is_twin = other.manifest.regimes[0].parameters.get("told") is False and _likeness(other) == mine
        except PopulaceError:
            # A run that cannot be read is reported where runs are listed.
            continue
        if is_twin:
            return other
    return None


def _likeness(run: RunReader) -> tuple[object, ...]:
    first: Regime = run.manifest.regimes[0]
    parameters = {name: value for name, value in first.parameters.items() if name != "told"}
    return run.manifest.scenario, parameters, first.seed, first.model, first.decider, len(run.manifest.regimes)
