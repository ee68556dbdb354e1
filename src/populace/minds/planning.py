"""Planning: a day in a few broad strokes, which are made finer only when they begin.

The result is actions with a start and an end, so that nobody has to be asked in every step what to do. A plan of a
model is checked against the time and the known places; every repair is counted under its name.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pydantic

from populace.base.errors import ParameterError
from populace.base.formatting import time_of_day
from populace.minds.agenda import DAY, HOUR, Action
from populace.minds.parts import Asker, PlanningPart
from populace.people import Id, People
from populace.questions import Form

_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)")


# The names of these classes are part of the recorded questions; another name would make a recording unreplayable.
class _Finer(pydantic.BaseModel):
    minutes: int = pydantic.Field(ge=1, le=240)
    doing: str = pydantic.Field(max_length=80)


class _Finely(pydantic.BaseModel):
    actions: list[_Finer] = pydantic.Field(min_length=1, max_length=4)


@dataclass
class Planning(PlanningPart):
    """How people plan.

    Attributes:
        places: The names of places that may stand in a plan.
        strokes: The fewest and the most strokes of a day.
        ahead: How many seconds of a stroke are made finer; 0 for all of it.
        counts: How many repairs of each kind there were, such as `in the past`, `overlapping`, `no plan`,
            `no finer plan` and `cut short`.

    Example:
        >>> planning = Planning(places=("home", "café"))
        >>> planning.to_actions([("09:00", "café", "work"), ("07:00", "home", "sleep")], now=8 * 3600, until=12 * 3600)
        [Action(start=32400, end=43200, where='café', doing='work')]
        >>> dict(planning.counts)
        {'in the past': 1}
    """

    places: Sequence[str]
    strokes: tuple[int, int] = (4, 7)
    ahead: int = 2 * HOUR
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if not self.places or len(set(self.places)) < len(self.places):
            raise ParameterError("a plan needs the names of places, each once.")
        stroke = pydantic.create_model(
            "Stroke",
            at=(str, pydantic.Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")),
            where=(Literal[tuple(self.places)], ...),  # type: ignore[arg-type]
            doing=(str, pydantic.Field(max_length=80)),
        )
        few, many = self.strokes
        self._day: type[pydantic.BaseModel] = pydantic.create_model(
            "Day",
            plan=(list[stroke], pydantic.Field(min_length=few, max_length=many)),  # type: ignore[valid-type]
        )

    async def plan_day(
        self, asker: Asker, people: People, *, given: str, now: int, until: Mapping[Id, int], **fields: Any
    ) -> dict[Id, list[Action]]:
        """Ask people for the rest of their day, all at once.

        Args:
            asker: Puts the question; a scenario.
            people: The people who plan.
            given: What they are told before the question.
            now: The simulated time in seconds since midnight of the first day.
            until: When each person goes to bed, in the same seconds.
            **fields: Values for the fields of `given`.

        Returns:
            The actions of each person, in order and without gaps; none where the plan is invalid.
        """
        few, many = self.strokes
        answers = await asker.ask(
            people,
            Form(
                f"It is {time_of_day(now)}. How do you spend the rest of the day? Give {few} to {many} things in "
                f"order, each with the time at which it begins, the place and what you do. "
                f"Places: {', '.join(self.places)}.",
                model=self._day,
                example=self._example(),
                room=48 * many,
            ),
            given=given,
            purpose="planning: day",
            **fields,
        )
        plans: dict[Id, list[Action]] = {}
        for who, value in zip(people.ids.to_list(), answers.values, strict=True):
            rows = json.loads(value)["plan"] if value else []
            self.counts["no plan"] += value is None
            plans[who] = self.to_actions([(r["at"], r["where"], r["doing"]) for r in rows], now=now, until=until[who])
        return plans

    def _example(self) -> str:
        """An example of a day. Its places and actions vary, since small models copy the example."""
        doings = ("have breakfast", "get to work", "eat lunch", "finish what is left", "meet somebody", "read", "cook")
        rows = [
            {"at": f"{8 + 2 * turn:02d}:00", "where": self.places[turn % len(self.places)], "doing": doings[turn % 7]}
            for turn in range(self.strokes[0])
        ]
        return json.dumps({"plan": rows}, ensure_ascii=False)

    def to_actions(self, plan_rows: Sequence[tuple[str, str, str]], *, now: int, until: int) -> list[Action]:
        """A plan as actions that follow each other; every repair is counted.

        Rows that begin in the past or after bedtime are dropped; of two at the same time the first is taken; each
        action ends where the next begins.

        Args:
            plan_rows: Time, place and action of each part of the plan.
            now: The simulated time in seconds.
            until: When the person goes to bed.
        """
        midnight = now - now % DAY
        starts: dict[int, tuple[str, str]] = {}
        last = -1
        for at, where, doing in plan_rows:
            match = _CLOCK.fullmatch(at.strip())
            if match is None or where not in self.places or not doing.strip():
                self.counts["not an action"] += 1
                continue
            start = midnight + int(match[1]) * HOUR + int(match[2]) * 60
            if start < now:
                self.counts["in the past"] += 1
            elif start >= until:
                self.counts["after bedtime"] += 1
            elif start in starts:
                self.counts["overlapping"] += 1
            else:
                if start < last:
                    self.counts["out of order"] += 1
                starts[start] = (where, doing.strip())
                last = start
        ordered = sorted(starts)
        ends = [*ordered[1:], until][: len(ordered)]
        return [Action(start, end, *starts[start]) for start, end in zip(ordered, ends, strict=True)]

    async def refine(
        self, asker: Asker, people: People, strokes: Sequence[Action], *, given: str, **fields: Any
    ) -> list[list[Action]]:
        """Ask people what they do in detail in the stroke that begins now, as far as `ahead` says."""
        answers = await asker.ask(
            people,
            Form(
                "What exactly do you do there, one thing after the other, and for how many minutes each?",
                model=_Finely,
                example='{"actions": [{"minutes": 20, "doing": "set the table"}, {"minutes": 40, "doing": "eat"}]}',
                room=140,
            ),
            given=given,
            purpose="planning: finer",
            **fields,
        )
        return [
            self._fit(stroke, json.loads(value)["actions"] if value else [])
            for stroke, value in zip(strokes, answers.values, strict=True)
        ]

    def _fit(self, stroke: Action, rows: Sequence[Mapping[str, Any]]) -> list[Action]:
        """The detailed actions fitted into a stroke; the rest of the stroke follows as one action."""
        if not rows:
            self.counts["no finer plan"] += 1
            return [stroke]
        end = min(stroke.end, stroke.start + self.ahead) if self.ahead else stroke.end
        actions: list[Action] = []
        at = stroke.start
        for row in rows:
            if at >= end:
                self.counts["cut short"] += 1
                break
            stop = min(at + row["minutes"] * 60, end)
            actions.append(Action(at, stop, stroke.where, row["doing"].strip() or stroke.doing))
            at = stop
        return [*actions, Action(at, stroke.end, stroke.where, stroke.doing)] if at < stroke.end else actions
