"""Planning in three levels: a day in broad strokes, hours, and a few minutes at a time.

The result is actions with a start and an end, so that nobody has to be asked in every step what to do. A plan of a
model must cover the time from now to bedtime. One that does not is asked for once more with the reason; what is still
wrong then is counted under its name, and the person has no plan.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import pydantic

from populace.base.english import gerund
from populace.base.errors import ParameterError
from populace.base.formatting import time_of_day
from populace.minds.agenda import DAY, HOUR, Action
from populace.minds.parts import Asker, PlanningPart
from populace.people import Id, People
from populace.questions import Form

Level = Literal["hours", "minutes"]


class _PieceLength(NamedTuple):
    """How long the pieces of a level are, in minutes, how far ahead they are planned, and how this is asked."""

    least: int
    most: int
    ahead: int
    question: str


_LEVELS: dict[Level, _PieceLength] = {
    "hours": _PieceLength(30, 120, 6 * HOUR, "How do you divide this time, in pieces of half an hour to two hours?"),
    "minutes": _PieceLength(
        5, 15, HOUR, "What exactly do you do in the next hour, one thing after the other, for 5 to 15 minutes each?"
    ),
}
_ACTIVITY = '"doing": "<what you do, in a few words>"'


def _check_own_words(doing: str) -> str:
    """Refuse an activity that is copied from the sketch of the form."""
    if "<" in doing or "in a few words" in doing.casefold():
        raise ValueError("it is copied from the form")
    return doing


# A pattern in the schema would say the same, but engines that check what they wrote against it fail on some.
_Activity = Annotated[str, pydantic.Field(min_length=2, max_length=80), pydantic.AfterValidator(_check_own_words)]


# The names of these classes are part of the recorded questions; another name would make a recording unreplayable.
class _Finer(pydantic.BaseModel):
    minutes: int = pydantic.Field(ge=1, le=240)
    doing: _Activity


class _Finely(pydantic.BaseModel):
    actions: list[_Finer] = pydantic.Field(min_length=1, max_length=12)


@dataclass
class Planning(PlanningPart):
    """How people plan.

    Attributes:
        places: The names of places that may stand in a plan.
        strokes: The fewest and the most strokes of a whole day; the rest of a day may have fewer.
        late: How many seconds after now a plan may begin at most.
        longest: The longest stroke of a plan in seconds; a longer one is a hole.
        counts: How many plans and rows were refused or repaired, by the reason, such as `begins late`, `hole`,
            `in the past`, `place not known`, `no plan`, `no finer plan` and `cut short`.

    Example:
        >>> planning = Planning(places=("home", "café"))
        >>> rows = [("08:00", "home", "eat breakfast"), ("09:00", "café", "work")]
        >>> planning.to_actions(rows, now=8 * 3600, until=12 * 3600)
        [Action(start=28800, end=32400, where='home', doing='eating breakfast'), \
Action(start=32400, end=43200, where='café', doing='working')]
        >>> planning.fault(planning.to_actions(rows[1:], now=6 * 3600, until=12 * 3600), now=6 * 3600, until=12 * 3600)
        'begins late'
    """

    places: Sequence[str]
    strokes: tuple[int, int] = (5, 9)
    late: int = HOUR
    longest: int = 6 * HOUR
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if not self.places or len(set(self.places)) < len(self.places):
            raise ParameterError("a plan needs the names of places, each once.")
        stroke = pydantic.create_model(
            "Stroke",
            at=(str, pydantic.Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")),
            where=(str, pydantic.Field(min_length=2, max_length=80)),
            doing=(_Activity, ...),
        )
        self._day: type[pydantic.BaseModel] = pydantic.create_model(
            "Day",
            plan=(list[stroke], pydantic.Field(min_length=1, max_length=self.strokes[1] + 3)),  # type: ignore[valid-type]
        )

    async def plan_day(
        self,
        asker: Asker,
        people: People,
        *,
        given: str,
        now: int,
        until: Mapping[Id, int],
        known: Mapping[Id, Sequence[str]] | None = None,
        about: str = "",
        **fields: Any,
    ) -> dict[Id, list[Action]]:
        """Ask people for the rest of their day, all at once.

        Args:
            asker: Puts the question; a scenario.
            people: The people who plan.
            given: What they are told before the question.
            now: The simulated time in seconds since midnight of the first day.
            until: When each person goes to bed, in the same seconds.
            known: The places that each person knows; all places if left out.
            about: What they think of; what they are told and asked if left out.
            **fields: Values for the fields of `given`.

        Returns:
            The actions of each person from now to bedtime, in order and without gaps; none where there is no valid
            plan.
        """
        plans: dict[Id, list[Action]] = {who: [] for who in people.ids.to_list()}
        faults: dict[Id, str] = dict.fromkeys(plans, "")
        for attempt in range(2):
            rows = [row for row, who in enumerate(plans) if not plans[who]]
            if not rows:
                break
            ids = [who for who in plans if not plans[who]]
            here: dict[str, Any] = {name: _for_rows(value, rows, len(plans)) for name, value in fields.items()}
            here |= {"fault": [faults[who] for who in ids]} if attempt else {}
            answers = await asker.ask(
                people.take(ids),
                self._question(now),
                given=given + ("\n{fault}" if attempt else ""),
                purpose="planning: day" + (" again" if attempt else ""),
                about=about,
                bedtime=[time_of_day(until[who]) for who in ids],
                places=["; ".join(self._known(who, known)) for who in ids],
                things=[self._strokes_in_words(until[who] - now) for who in ids],
                **here,
            )
            for who, value in zip(ids, answers.values, strict=True):
                plan = json.loads(value)["plan"] if value else []
                places = self._known(who, known)
                actions = self.to_actions(
                    [(row["at"], row["where"], row["doing"]) for row in plan], now=now, until=until[who], places=places
                )
                fault = self.fault(actions, now=now, until=until[who])
                self.counts[fault or "plans"] += 1
                faults[who] = _FAULTS.get(fault or "", "").format(now=time_of_day(now), bedtime=time_of_day(until[who]))
                plans[who] = [] if fault else actions
        self.counts["no plan"] += sum(not actions for actions in plans.values())
        return plans

    def _known(self, who: Id, known: Mapping[Id, Sequence[str]] | None) -> Sequence[str]:
        return self.places if known is None else [place for place in self.places if place in known[who]]

    def _question(self, now: int) -> Form:
        begin = time_of_day(now)
        return Form(
            f"Plan your day from now, {begin}, until you go to bed at {{bedtime}}. Give {{things}} in order: the first "
            f"begins at {begin}, and each lasts until the next begins. Say what you yourself would do, and where. "
            "Places that you know: {places}.",
            model=self._day,
            shape=f'{{"plan": [{{"at": "{begin}", "where": "<place>", {_ACTIVITY}}}, '
            f'{{"at": "<HH:MM>", "where": "<place>", {_ACTIVITY}}}, …]}}',
            room=56 * self.strokes[1],
        )

    def _fewest(self, time: int) -> int:
        """The fewest strokes of a plan for so many seconds."""
        return min(self.strokes[0], max(1, time // (3 * HOUR)))

    def _strokes_in_words(self, time: int) -> str:
        few = self._fewest(time)
        many = min(self.strokes[1], max(few + 1, time // HOUR))
        return f"{few} to {many} things"

    def to_actions(
        self, plan_rows: Sequence[tuple[str, str, str]], *, now: int, until: int, places: Sequence[str] | None = None
    ) -> list[Action]:
        """A plan as actions that follow each other until bedtime; every repair is counted.

        Rows that begin in the past or after bedtime are dropped; of two at the same time the first is taken; the first
        begins now where it is not too late for that; each action ends where the next begins.

        Args:
            plan_rows: Time, place and activity of each part of the plan.
            now: The simulated time in seconds.
            until: When the person goes to bed.
            places: The places that the person knows; all places if left out.
        """
        midnight = now - now % DAY
        among = self.places if places is None else places
        starts: dict[int, tuple[str, str]] = {}
        last = -1
        for at, where, doing in plan_rows:
            hours, minutes = at.split(":")
            start = midnight + int(hours) * HOUR + int(minutes) * 60
            # After midnight, for those who go to bed late.
            start += DAY if start + DAY < until else 0
            place = _place_in(where, among)
            if place is None:
                self.counts["place not known"] += 1
            elif start < now and starts:
                self.counts["in the past"] += 1
            elif start >= until:
                self.counts["after bedtime"] += 1
            elif max(start, now) in starts:
                self.counts["overlapping"] += 1
            else:
                self.counts["out of order"] += start < last
                starts[max(start, now)] = (place, gerund(doing))
                last = start
        ordered = sorted(starts)
        if ordered and 0 < ordered[0] - now <= self.late:
            starts[now] = starts.pop(ordered[0])
            ordered[0] = now
        ends = [*ordered[1:], until][: len(ordered)]
        return [Action(start, end, *starts[start]) for start, end in zip(ordered, ends, strict=True)]

    def fault(self, actions: Sequence[Action], *, now: int, until: int) -> str | None:
        """Why a plan is not one: `no rows`, `begins late`, `hole`, `too few`, or None."""
        if not actions:
            return "no rows"
        if actions[0].start > now:
            return "begins late"
        if any(action.end - action.start > self.longest for action in actions):
            return "hole"
        return "too few" if len(actions) < self._fewest(until - now) else None

    async def refine(
        self,
        asker: Asker,
        people: People,
        strokes: Sequence[Action],
        *,
        given: str,
        level: Level = "minutes",
        **fields: Any,
    ) -> list[list[Action]]:
        """Ask people what they do in detail in the stroke that begins now."""
        pieces = _LEVELS[level]
        answers = await asker.ask(
            people,
            Form(
                pieces.question,
                model=_Finely,
                shape=f'{{"actions": [{{"minutes": <number>, {_ACTIVITY}}}, …]}}',
                room=200,
            ),
            given=given,
            purpose=f"planning: {level}",
            **fields,
        )
        return [
            self._fit(stroke, json.loads(value)["actions"] if value else [], pieces)
            for stroke, value in zip(strokes, answers.values, strict=True)
        ]

    def _fit(self, stroke: Action, rows: Sequence[Mapping[str, Any]], pieces: _PieceLength) -> list[Action]:
        """The detailed actions fitted into a stroke; the rest of the stroke follows as one action."""
        if not rows:
            self.counts["no finer plan"] += 1
            return [stroke]
        end = min(stroke.end, stroke.start + pieces.ahead)
        actions: list[Action] = []
        at = stroke.start
        for row in rows:
            if at >= end:
                self.counts["cut short"] += 1
                break
            stop = min(at + min(max(row["minutes"], pieces.least), pieces.most) * 60, end)
            actions.append(Action(at, stop, stroke.where, gerund(row["doing"])))
            at = stop
        return [*actions, Action(at, stroke.end, stroke.where, stroke.doing)] if at < stroke.end else actions


_FAULTS = {
    "no rows": "Your last plan could not be used: it named no time and place that fit.",
    "begins late": "Your last plan could not be used: it did not begin at {now}.",
    "hole": "Your last plan could not be used: it left many hours empty before {bedtime}.",
    "too few": "Your last plan could not be used: it had too few things for the time until {bedtime}.",
}


def _place_in(where: str, places: Sequence[str]) -> str | None:
    """The place that a row of a plan means: its name, or the longest name in what it says."""
    text = where.casefold()
    return max((place for place in places if place.casefold() in text), key=len, default=None)


def _for_rows(value: Any, rows: Sequence[int], count: int) -> Any:
    """The values of some of the people, where there is one for each."""
    if isinstance(value, list) and len(value) == count:
        return [value[row] for row in rows]
    return value
