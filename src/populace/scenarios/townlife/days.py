"""How the day of a resident goes: getting up, planning, beginning one action after the other, and going to bed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from populace.base.english import gerund
from populace.base.formatting import time_of_day
from populace.minds import Action, PlanningPart
from populace.people import Id
from populace.scenarios.townlife import words
from populace.scenarios.townlife.noticing import IN_USE, Notice

if TYPE_CHECKING:
    from populace.scenarios.townlife.life import TownLife

DAY, HOUR, TICK = 86_400, 3600, 600
_DEED_PLANS = 3.0
"""The importance of a plan as a memory; what becomes of it is rated."""


async def rise(life: "TownLife", now: int) -> None:
    """Let people get up and plan, and go to bed."""
    of_day = now % DAY
    up = (life.wakes <= of_day) & (of_day < life.sleeps) | (of_day + DAY < life.sleeps)
    rising = [who for who in life.ids if life.asleep[life.row[who]] and up[life.row[who]]]
    retiring = [who for who in life.ids if not life.asleep[life.row[who]] and not up[life.row[who]]]
    life.asleep = ~up
    if retiring:
        await remember_deeds(life, [(who, life.agenda.doing[who]) for who in retiring], now)
        rows = [life.row[who] for who in retiring]
        life.presence.send(rows, life.beds[rows], now)
        for who in retiring:
            _turn_away(life, who, now)
            life.agenda.set(who, [])
            life.agenda.begin(who, Action(now, now + DAY, "home", words.SLEEPING))
    if rising:
        for who in rising:
            life.agenda.begin(who, Action(now, now + TICK, "home", "getting up"))
        await life.plan(rising, now)


async def plan(life: "TownLife", ids: Sequence[Id], now: int, because: Mapping[Id, str] | None) -> None:
    """Let people plan the rest of the day; without a valid plan a person follows the routine."""
    plans: dict[Id, list[Action]] = {}
    if life.mind.planning is not None:
        happened = f"\n{words.HAPPENED}\n{{before}}" if because else ""
        reasons = {
            "event": [because[who] for who in ids],
            "before": [f"Before that: {life.plan_text(who)}" for who in ids],
        } if because else {}  # fmt: skip
        plans = await life.mind.planning.plan_day(
            life,
            life.people.take(ids),
            given=f"{words.HERE}\n{words.ROUTINE}{happened}",
            now=now,
            until={who: life.bedtime(who, now) for who in ids},
            known={who: sorted(life.known[who]) for who in ids},
            about=f"your plans for {life.date}",
            routine=[_own_routine(life, who) for who in ids],
            **reasons,
            **life.situation(ids, now),
        )
    for who in ids:
        actions = plans.get(who) or by_routine(life, who, now)
        life.agenda.set(who, actions)
        life.strokes.pop(who, None)
        first = actions[0].start if actions else life.bedtime(who, now)
        current = life.agenda.doing[who]
        if first <= now:
            # What is under way ends here, and the plan begins.
            life.agenda.begin(who, (current or Action(now, now, "", words.FALLBACKS[0]))._replace(end=now))
        else:
            life.agenda.begin(who, Action(now, first, "", words.FALLBACKS[0]))
        life.event(
            "planned",
            who,
            plan="; ".join(f"{time_of_day(a.start)} {a.doing} ({a.where})" for a in actions),
            by="plan" if plans.get(who) else "routine",
            at=now,
            begins=first,
            ends=actions[-1].end if actions else now,
            bedtime=life.bedtime(who, now),
        )
    if life.mind.memory is not None and life.mind.planning is not None:
        texts = [life.plan_text(who) for who in ids]
        life.mind.memory.store(ids, texts, kind="plan", now=now, importance=_DEED_PLANS)


def _own_routine(life: "TownLife", who: Id) -> str:
    """The ordinary day of a person in words, with their own home called so."""
    home = life.town.address(int(life.town.places.building[life.homes[life.row[who]]]))
    return str(life.people.person(who)["routine"]).replace(f"({home})", "(home)")


def by_routine(life: "TownLife", who: Id, now: int) -> list[Action]:
    """The rest of an ordinary day; what is under way in it now goes on."""
    midnight, until = life.day_start(who, now), life.bedtime(who, now)
    past_midnight = int(life.sleeps[life.row[who]]) - DAY
    times = [midnight + time + (DAY if time < past_midnight else 0) for time, _, _ in life.routine[who]]
    rows = [(start, place, what) for start, (_, place, what) in zip(times, life.routine[who], strict=True)]
    rows.sort(key=lambda row: row[0])
    begun = [row for row in rows if row[0] <= now]
    later = [row for row in rows if row[0] > now]
    rows = [(now, *begun[-1][1:]), *later] if begun else later
    ends = [*(row[0] for row in rows[1:]), until][: len(rows)]
    return [
        Action(start, end, life.town.address(place), gerund(what))
        for (start, place, what), end in zip(rows, ends, strict=True)
        if start < until
    ]


async def begin_actions(life: "TownLife", now: int) -> None:
    """Let people whose action has ended begin the next one, and walk to its place."""
    due = [who for who in life.agenda.due(now) if not life.asleep[life.row[who]]]
    await remember_deeds(life, [(who, life.agenda.doing[who]) for who in due], now)
    began: list[tuple[Id, Action]] = []
    for who in due:
        _turn_away(life, who, now)
        action = life.agenda.next(who, now)
        if action is None:
            action = Action(now, max(now + TICK, life.bedtime(who, now)), "home", words.FALLBACKS[2])
            life.agenda.begin(who, action)
        if who not in life.strokes or action.start >= life.strokes[who].end:
            life.strokes[who] = action
        began.append((who, action))
    if life.mind.planning is not None:
        for level, wanted in (("hours", life.hours), ("minutes", life.finer)):
            if wanted:
                began = await _refine(life, life.mind.planning, began, now, level)
    going: list[tuple[int, int]] = []
    for who, action in began:
        place = place_of(life, who, action.where)
        if place is not None:
            going.append((life.row[who], place))
    if going:
        rows, goals = (np.array(column) for column in zip(*going, strict=True))
        arrivals = life.presence.send(rows, goals, now)
        for row, goal, arrival in zip(rows.tolist(), goals.tolist(), arrivals.tolist(), strict=True):
            _arrive(life, life.ids[row], goal, int(arrival), now)


def _arrive(life: "TownLife", who: Id, place: int, arrival: int, now: int) -> None:
    """What a person meets on arrival: a place that they know from now on, a thing to use, or a closed door."""
    building = int(life.town.places.building[place])
    row = life.row[who]
    own = {int(life.town.places.building[life.homes[row]])}
    own |= {int(life.town.places.building[int(life.work[row])])} if life.work[row] >= 0 else set()
    if building not in own and not bool(life.town.open(building, arrival)[0]):
        life.presence.send([row], [building], now)
        life.closed[who] = (arrival, f"{life.town.address(building)} was closed when you came.")
        return
    if life.town.address(building) in life.public:
        life.known[who].add(life.town.address(building))
    thing = life.things.fitting(place, life.doing(who))
    if thing is not None and life.objects.state(thing) == life.usual_states[thing]:
        life.using[who] = thing
        life.set_state(thing, IN_USE, by=who)


def put_down(life: "TownLife", who: Id) -> None:
    """Let a person stop using a thing, which is as usual then."""
    thing = life.using.pop(who, None)
    if thing is not None and life.objects.state(thing) == IN_USE:
        life.set_state(thing, life.usual_states[thing], by=who)


def _turn_away(life: "TownLife", who: Id, now: int) -> None:
    """Let a person stop what they do there: they put a thing down, and do not reach a closed door any more."""
    put_down(life, who)
    if who in life.closed and life.closed[who][0] > now:
        del life.closed[who]


def notice_closed(life: "TownLife", now: int) -> list[Notice]:
    """What people notice who stand before a closed door."""
    return [
        Notice(who, text, text) for who, (arrival, text) in life.closed.items() if now >= arrival and who in life.row
    ]


async def remember_deeds(life: "TownLife", ended: Sequence[tuple[Id, Action | None]], now: int) -> None:
    """Let people remember what they have just done, unless it was nothing or is remembered as what they said.

    A piece of a finer plan is rated as the action that it is a part of, so that finer plans take no more ratings.
    """
    ids: list[Id] = []
    texts: list[str] = []
    rated_as: list[str] = []
    place = life.presence.at(now).place
    for who, action in ended:
        if action is None or not words.is_deed(action.doing) or action.end - action.start < TICK:
            continue
        ids.append(who)
        texts.append(words.deed(action, life.where(int(place[life.row[who]]), who)))
        rated_as.append(f"You were {life.stroke(who)}.")
        life.event("did", who, doing=action.doing, since=action.start, at=now)
    if ids and life.mind.memory is not None:
        await life.mind.memory.remember(life, ids, texts, kind="deed", now=now, rated_as=rated_as)


def place_of(life: "TownLife", who: Id, where: str) -> int | None:
    """The place of an action for a person; None where it has none."""
    row = life.row[who]
    if where == "home":
        return int(life.homes[row])
    if where == "work":
        return int(life.work[row] if life.work[row] >= 0 else life.homes[row])
    if where in life.public:
        return life.public[where]
    return life.town.place(where) if where else None


async def _refine(
    life: "TownLife", planning: PlanningPart, began: list[tuple[Id, Action]], now: int, level: str
) -> list[tuple[Id, Action]]:
    """Divide the actions that begin now into smaller ones, where they are long enough for the level."""
    least = 2 * HOUR if level == "hours" else HOUR // 2
    long = [(who, a) for who, a in began if a.where and a.end - a.start > least and a.doing not in words.FALLBACKS]
    if not long:
        return began
    ids = [who for who, _ in long]
    refined = await planning.refine(
        life,
        life.people.take(ids),
        [action for _, action in long],
        given=f"{words.AT}\n{words.STROKE}",
        level=level,  # type: ignore[arg-type]
        stroke=[f"{a.doing}, at {a.where}, until {time_of_day(a.end)}" for _, a in long],
        **life.situation(ids, now),
    )
    finer = {who: actions for (who, _), actions in zip(long, refined, strict=True)}
    for who, actions in finer.items():
        life.agenda.put_first(who, actions[1:])
        life.agenda.begin(who, actions[0])
    return [(who, finer[who][0] if who in finer else action) for who, action in began]
