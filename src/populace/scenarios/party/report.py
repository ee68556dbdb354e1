"""The tables of a party's report: who was told, who came, who invited whom, and who got to know whom."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from populace.base.formatting import plural, time_of_day
from populace.base.randomness import stream
from populace.engine.scenario import ReportTable
from populace.people import Id
from populace.runs.reader import RunReader
from populace.scenarios.party.attendance import (
    attendance_effect,
    attendance_pairs,
    read_attendance,
    read_occasions,
    recorded_party,
)
from populace.scenarios.party.diffusion import Diffusion
from populace.scenarios.party.occasion import Occasion
from populace.scenarios.townlife import BEGINS, DAY, TICK
from populace.worlds.town import Town

if TYPE_CHECKING:
    from populace.scenarios.party.party import Party

_MOST_PEOPLE = 1000
_SETUP = "0/rng"


class SpokenLine(NamedTuple):
    """Something that was said: by whom, to whom, what and when."""

    speaker: Id
    hearers: list[Id]
    text: str
    time: int


def diffusion_of(events: pl.DataFrame, occasion: Occasion, names: dict[Id, str] | None = None) -> Diffusion:
    """The diffusion of the news of an event in the recorded events of a run.

    Args:
        events: The events of the run, in order.
        occasion: The event that the news is about.
        names: The names of the people, by which narration is recognised.
    """
    news = occasion.follow(names or {})
    for kind, person, data in events.select("kind", "person", "data").iter_rows():
        if kind not in ("told", "said"):
            continue
        details = json.loads(data)
        if kind == "told" and details.get("event", occasion.name) == occasion.name:
            news.tell(person, details["at"], details.get("text"))
        elif kind == "said":
            news.add_utterance(person, details["to"], details["text"], details["at"])
    return news


@dataclass(frozen=True)
class PartyRecord:
    """What is known of a run after its end.

    Attributes:
        run: The run.
        town: Its town.
        events: Its recorded events.
        names: The names of all people who ever lived there.
        occasions: Its events with places, times and hosts, each with the diffusion of its news and who knew and came.
    """

    run: RunReader
    town: Town
    events: pl.DataFrame
    names: dict[Id, str]
    occasions: list[tuple[Occasion, Diffusion, set[Id]]]

    def utterances(self) -> list[SpokenLine]:
        """Everything that was said, in order."""
        said = self.events.filter(pl.col("kind") == "said").select("person", "data").rows()
        parsed = [(person, json.loads(data)) for person, data in said]
        return [SpokenLine(person, data["to"], data["text"], data["at"]) for person, data in parsed]


def read_outcome(run: RunReader, scenario: "type[Party]") -> PartyRecord:
    """Read a run for its report."""
    events = run.events
    names: dict[Id, str] = {}
    for people in (run.people(0), run.people()):
        names |= dict(zip(people.ids.to_list(), people["name"].to_list(), strict=True))
    moved = events.filter(pl.col("kind").is_in(["joined", "left"]))
    names |= dict(zip(moved["person"], moved["data"].str.json_path_match("$.name"), strict=True))
    town, occasions = read_occasions(run, scenario)
    came = events.filter(pl.col("kind") == "came").with_columns(event=pl.col("data").str.json_path_match("$.event"))
    found = []
    for occasion in occasions:
        mine = came.filter(pl.col("event").fill_null(occasions[0].name) == occasion.name)
        found.append((occasion, diffusion_of(events, occasion, names), set(mine["person"].to_list())))
    return PartyRecord(run, town, events, names, found)


def party_report(run: RunReader, scenario: "type[Party]") -> list[ReportTable]:
    """All tables of a run."""
    outcome = read_outcome(run, scenario)
    tables: list[ReportTable] = []
    for occasion, news, came in outcome.occasions:
        tables.append(_told_table(outcome, occasion, news, came))
        tables += _attendance_tables(outcome, scenario, occasion, came)
        tables += _invitation_tables(outcome, occasion, news, came)
    return [*tables, *_acquaintance_tables(outcome, scenario)]


def clock_text(time: int) -> str:
    """A simulated time in words, such as `day 1, 12:10`."""
    return f"day {time // DAY + 1}, {time_of_day(time)}"


def _told_table(outcome: PartyRecord, occasion: Occasion, news: Diffusion, came: set[Id]) -> ReportTable:
    table = news.table(outcome.names)
    told = (pl.col("name") == outcome.names[occasion.host]) & pl.col("from").is_null()
    table = table.with_columns(words=pl.when(told).then(pl.lit(occasion.message())).otherwise("words"))
    at = pl.Series([clock_text(time) for time in table["time"]], dtype=pl.String)
    guests = [outcome.names[who] for who in came]
    # The host is no guest.
    is_guest = (pl.col("name") != outcome.names[occasion.host]) & pl.lit(_has_begun(outcome, occasion))
    reached = table.with_columns(at=at).select(
        "name", "knows", "at", "from", "chain", came=pl.when(is_guest).then(pl.col("name").is_in(guests)), words="words"
    )
    parts = " and ".join(sorted(news.reader.parts)) or "nothing more"
    meaning = (
        f"Full: told in direct speech what is happening and {' or '.join(sorted(news.reader.parts))}."
        if news.reader.parts
        else "Full: told in direct speech what is happening."
    )
    note = (
        f"{meaning} Partial: told that it happens, and not {parts}. Wrong: told another time or place. "
        f"{plural(len(news.claims), 'utterance')} spoke of it without evidence."
        if news.reader.parts
        else f"{meaning} {plural(len(news.claims), 'utterance')} spoke of it without evidence."
    )
    return ReportTable(f"Who was told of the {occasion.event.what}, by whom", reached, note)


def _has_begun(outcome: PartyRecord, occasion: Occasion) -> bool:
    """Whether people could be at an event in this run, which may have ended before."""
    steps, run = occasion.steps(BEGINS, TICK), outcome.run
    return bool(occasion.can_be_attended and steps and run.steps and run.steps[-1] >= steps[0])


def _attendance_tables(
    outcome: PartyRecord, scenario: "type[Party]", occasion: Occasion, came: set[Id]
) -> list[ReportTable]:
    attendance = read_attendance(outcome.run, outcome.town, occasion)
    if attendance is None:
        return []
    rows: list[tuple[str, int, int | None]] = []
    note = ""
    if attendance.before is not None:
        rows.append(("the day before", len(attendance.before), None))
        anyway = len(came & attendance.before)
        note = f"Of the {len(came)} who knew and were there, {anyway} had been there at the same hours the day before. "
    rows.append(("during it", len(attendance.there), len(came)))
    pairs = attendance_pairs(outcome.run)
    seed = outcome.run.manifest.regimes[0].seed
    twin = next((untold for told, untold in pairs if told.manifest.regimes[0].seed == seed), None)
    if outcome.run.manifest.regimes[0].parameters.get("told", True):
        other = read_attendance(twin, outcome.town, occasion) if twin is not None else None
        if twin is None or other is None:
            note += (
                "To compare, run the same command with --no-told as well, so that nobody is told; then `populace show`"
                " of this run has another row. `populace attendance` runs such pairs over several seeds."
            )
        else:
            rows.append((f"the same day with nobody told ({twin.name})", len(other.there), 0))
            note += f"{len(came & other.there)} of them were there as well when nobody was told. "
            if len(pairs) > 1:
                effect = attendance_effect(pairs, scenario, event=occasion.name)
                note += f"Over {len(pairs)} pairs of runs: {effect.estimate} more people because of the news."
            else:
                note += "An interval needs pairs of runs with other seeds: `populace attendance`."
    schema = {"when": pl.String, "people there": pl.Int64, "of them knew": pl.Int64}
    event = occasion.event
    title = f"Who was at {occasion.address} from {event.begins} to {event.ends}, without the host"
    return [ReportTable(title, pl.DataFrame(rows, schema=schema, orient="row"), note.strip())]


def _invitation_tables(outcome: PartyRecord, occasion: Occasion, news: Diffusion, came: set[Id]) -> list[ReportTable]:
    if not news.invitations:
        return []
    utterances, begun = outcome.utterances(), _has_begun(outcome, occasion)
    rows = []
    for guest, invitation in news.invitations.items():
        answer = _answer(utterances, invitation.utterance, guest)
        rows.append(
            (
                outcome.names[guest],
                outcome.names[invitation.host],
                clock_text(invitation.time),
                invitation.text,
                answer,
                guest in came if begun else None,
            )
        )
    schema = {
        "guest": pl.String, "invited by": pl.String, "at": pl.String, "words": pl.String, "answer": pl.String,
        "came": pl.Boolean,
    }  # fmt: skip
    of_them = sum(guest in came for guest in news.invitations)
    arrivals = f"Of {plural(len(rows), 'guest')} {of_them} came." if begun else "The run ended before the event."
    if not occasion.can_be_attended:
        arrivals = "The event has no place or no time, so that nobody can be there."
    note = f"{arrivals} The answer is the next thing that the guest said."
    title = f"Who was invited to the {occasion.event.what}"
    return [ReportTable(title, pl.DataFrame(rows, schema=schema, orient="row"), note)]


def _answer(utterances: Sequence[SpokenLine], number: int, guest: Id) -> str | None:
    """What a guest said next in the conversation in which they were invited."""
    invitation = utterances[number]
    people = {invitation.speaker, *invitation.hearers}
    for each in utterances[number + 1 :]:
        if each.time != invitation.time or {each.speaker, *each.hearers} != people:
            return None
        if each.speaker == guest:
            return each.text
    return None


def _acquaintance_tables(outcome: PartyRecord, scenario: "type[Party]") -> list[ReportTable]:
    """How many pairs knew each other before and after, and in which words the new ones met."""
    run = outcome.run
    if len(outcome.names) > _MOST_PEOPLE or "acquaintance_density" not in run.metrics.columns:
        return []
    party = recorded_party(run, scenario)
    rng = stream(run.manifest.regimes[0].seed, _SETUP)
    _, ties, _ = party.make_people(party.make_town(rng), rng)
    known = {frozenset(pair) for pair in ties.select("a", "b").iter_rows()}
    rows = []
    for utterance in outcome.utterances():
        for hearer in utterance.hearers:
            pair = frozenset([utterance.speaker, hearer])
            if len(pair) == 2 and pair not in known:
                known.add(pair)
                names = outcome.names[utterance.speaker], outcome.names[hearer]
                rows.append((*names, clock_text(utterance.time), utterance.text))
    schema = {"one": pl.String, "other": pl.String, "at": pl.String, "first words": pl.String}
    density = run.metrics["acquaintance_density"]
    note = (
        f"The density of acquaintance, the share of pairs who know each other, was {density[0]:.3f} at the beginning "
        f"and {density[-1]:.3f} at the end. Two people know each other once one of them has spoken to the other."
    )
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return [ReportTable(f"Who got to know whom: {plural(len(rows), 'pair')}", table, note)]
