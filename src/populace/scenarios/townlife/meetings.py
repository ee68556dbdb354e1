"""How residents meet: who starts a conversation, the conversations themselves, and what comes of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from populace.minds import Action, Talk
from populace.people import Id
from populace.questions import Choice, Text
from populace.scenarios.townlife import words

if TYPE_CHECKING:
    from populace.scenarios.townlife.life import TownLife

DAY, TICK = 86_400, 600
TALKED = "you have talked before"


async def meet(life: "TownLife", pairs: Sequence[tuple[Id, Id]], now: int) -> None:
    """Let pairs who meet talk if the first is willing; everybody is in one conversation at most."""
    ready = [pair for pair in pairs if now - life.last_meeting.get(pair, -DAY) >= life.cooldown * 60]
    taken: set[Id] = set()
    meeting: list[tuple[Id, Id]] = []
    for place in life.rng.permutation(len(ready)).tolist():
        a, b = ready[place]
        if a not in taken and b not in taken:
            taken |= {a, b}
            meeting.append((a, b) if life.rng.random() < 0.5 else (b, a))
    if not meeting:
        return
    meeting.sort(key=lambda pair: life.row[pair[0]])
    for a, b in meeting:
        life.last_meeting[(a, b) if life.row[a] < life.row[b] else (b, a)] = now
    willing = await life.willing(meeting, now)
    talking = [pair for pair, yes in zip(meeting, willing, strict=True) if yes]
    if not talking:
        return
    await _recall_relations(life, talking, now)
    talks = await life.talk(talking, now)
    for talk in talks:
        life.record_talk(talk, now)
    await life.react(_hearings(life, talks), now)


async def ask_willing(life: "TownLife", pairs: Sequence[tuple[Id, Id]], now: int) -> list[bool]:
    """Ask the first of each pair whether they start a conversation with the second."""
    ids = [a for a, _ in pairs]
    answers = await life.ask(
        life.people.take(ids),
        Choice("Do you start a conversation with {other} now?", options=("yes", "no")),
        given=f"{words.HERE} {words.MEETING}",
        purpose="whether to talk",
        about=[life.names[b] for _, b in pairs],
        other=[life.names[b] for _, b in pairs],
        acquaintance=[life.acquaintance(a, b) for a, b in pairs],
        others_doing=[life.doing(b) for _, b in pairs],
        **life.situation(ids, now),
    )
    return [value == "yes" for value in answers.values]


async def hold_talks(life: "TownLife", pairs: Sequence[tuple[Id, Id]], now: int) -> list[Talk]:
    """Hold the conversations of pairs, all at the same time."""
    if life.mind.dialogue is None:
        return []
    ids = [who for pair in pairs for who in pair]
    partner = dict(pairs) | {b: a for a, b in pairs}
    fields = life.situation(ids, now)
    everybody = dict(zip(ids, life.people.take(ids), strict=True))
    return await life.mind.dialogue.hold(
        life,
        [[everybody[who] for who in pair] for pair in pairs],
        given=words.TALKING,
        now=now,
        memory=life.mind.memory,
        present=lambda who: not life.asleep[life.row[who]],
        time=dict.fromkeys(ids, fields["time"]),
        date=dict.fromkeys(ids, fields["date"]),
        where=dict(zip(ids, fields["where"], strict=True)),
        acquaintance={who: life.acquaintance(who, partner[who]) for who in ids},
    )


async def _recall_relations(life: "TownLife", pairs: Sequence[tuple[Id, Id]], now: int) -> None:
    """Let people who have talked before say in a sentence what is between them, which enters the conversation."""
    if life.mind.memory is None:
        return
    both = [pair for a, b in pairs for pair in ((a, b), (b, a))]
    again = [(a, b) for a, b in both if life.relations.get((a, b)) == TALKED]
    if not again:
        return
    names = [life.names[b] for _, b in again]
    answers = await life.ask(
        life.people.take([a for a, _ in again]),
        Text("In one short sentence: what do you know of {other}, and what is between you?", max_words=25),
        given=words.HERE,
        purpose="relationship",
        about=names,
        other=names,
        **life.situation([a for a, _ in again], now),
    )
    for pair, text in zip(again, answers.values, strict=True):
        if text is not None:
            life.relations[pair] = " ".join(text.split()).rstrip(".")


def record_talk(life: "TownLife", talk: Talk, now: int) -> None:
    """Record a conversation; people who talked know each other and the places that were named from then on."""
    life.conversation_count += 1
    for line in talk.lines:
        hearers = [who for who in talk.people if who != line.speaker]
        life.event("said", line.speaker, to=hearers, text=line.text, at=now)
        life.utterances_now.append(f"{line.name}: {line.text}")
        for who in hearers:
            life.learn_places(who, [line.text])
    if talk.lines:
        a, b = sorted(talk.people, key=lambda who: life.row[who])[:2]
        life.acquainted.add((a, b))
        life.relations.setdefault((a, b), TALKED)
        life.relations.setdefault((b, a), TALKED)
    for who in talk.people:
        others = " and ".join(life.names[other] for other in talk.people if other != who)
        life.agenda.interrupt(who, Action(now, now + TICK, "", f"{words.TALKING_WITH} {others}"))
    life.event("talked", talk.people[0], others=list(talk.people[1:]), lines=len(talk.lines), ended=talk.ended)


def _hearings(life: "TownLife", talks: Sequence[Talk]) -> dict[Id, str]:
    """What each person was told in a conversation that matters."""
    events: dict[Id, str] = {}
    for talk in talks:
        if talk.importance >= life.matters:
            for who in talk.people:
                lines = [f'{line.name} told you: "{line.text}"' for line in talk.lines if line.speaker != who]
                if lines:
                    events[who] = " ".join(lines)
    return events
