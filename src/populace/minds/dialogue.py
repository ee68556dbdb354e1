"""Dialogue: people speak in turn until one of them ends it, and each remembers what was said.

A conversation is a transcript that the speaker continues with one line. Who begins the first one of a day with somebody
may be asked what they want of them, which they then put into words. Whether a person answers at all is a question with
two options, so that a model that gives log-probabilities is asked for no text to end a conversation.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from populace.minds.parts import Asker, DialoguePart, Line, MemoryPart, Talk
from populace.people import Id, Person
from populace.questions import Choice, Question, Speech, Text

_DAY = 86_400
Turns = Callable[[Sequence[Person], Sequence[Line]], Person | None]
"""Chooses who speaks next, from the people still present and the lines so far; None ends the conversation."""
ANSWERS = ("answer", "end it")
"""The options of somebody whose turn it is."""
AIM = Text(
    'Before you speak: what do you want {partners} to know, or to do? Begin with "I want {partners} to".', max_words=40
)
"""What somebody is asked who is about to begin a conversation."""


def next_in_turn(present: Sequence[Person], lines: Sequence[Line]) -> Person | None:
    """The person who has been silent for longest; of those who have not spoken, the first in the group."""
    spoke = {line.speaker: place for place, line in enumerate(lines)}
    return min(present, key=lambda person: spoke.get(person.id, -1)) if present else None


@dataclass(frozen=True)
class _Turn:
    """Whose turn it is in which conversation, and who is there."""

    place: int
    speaker: Person
    present: list[Person]

    @property
    def others(self) -> str:
        return " and ".join(str(person.name) for person in self.present if person.id != self.speaker.id)


@dataclass
class Dialogue(DialoguePart):
    """How people talk.

    Attributes:
        limit: The most utterances of a conversation.
        question: What is asked for a line; `{transcript}` is what was said so far.
        aim: What somebody is asked who begins the first conversation of a day with others, such as `AIM`; the answer
            stands in the prompt of their first line. None asks nothing.
        turns: Chooses who speaks next.
        counts: How many conversations ended in which way, and how many utterances were invalid.
    """

    limit: int = 8
    question: Question = field(default_factory=lambda: Speech("{transcript}"))
    aim: Question | None = None
    turns: Turns = next_in_turn
    counts: Counter[str] = field(default_factory=Counter)
    _aim_days: dict[tuple[Id, str], int] = field(default_factory=dict, init=False, repr=False)

    async def hold(
        self,
        asker: Asker,
        groups: Sequence[Sequence[Person]],
        *,
        given: str,
        now: int,
        memory: MemoryPart | None = None,
        present: Callable[[Id], bool] = lambda _: True,
        **fields: Mapping[Id, Any],
    ) -> list[Talk]:
        """Let groups of people talk, all groups at the same time; the first of each group begins.

        In each round every conversation grows by one utterance, and all speakers of the round are asked together.

        Args:
            asker: Puts the questions; a scenario.
            groups: Who talks with whom, two or more people each; nobody is in two groups.
            given: What a speaker is told; the field `{partners}` is filled in here.
            now: The simulated time in seconds.
            memory: Where what is said is stored; without one nothing is.
            present: Whether a person is still there.
            **fields: A value for each person, for other fields of `given`.
        """
        talks = [Talk(tuple(person.id for person in group)) for group in groups]
        going = list(range(len(groups)))
        for _ in range(self.limit):
            turns = self._next_turns(going, groups, talks, present)
            turns = await self._who_answer(asker, turns, talks, given, fields)
            if not turns:
                break
            aims = await self._aims(asker, turns, talks, now // _DAY, given, fields)
            utterances = await self._utterances(asker, turns, talks, aims, given, fields)
            going = []
            for turn, utterance in zip(turns, utterances, strict=True):
                if utterance is None:
                    talks[turn.place].ended = "invalid"
                    continue
                going.append(turn.place)
                talks[turn.place].lines.append(Line(turn.speaker.id, str(turn.speaker.name), utterance))
        self.counts.update(talk.ended for talk in talks)
        if memory is not None:
            await self._remember(asker, groups, talks, memory, now)
        return talks

    def _next_turns(
        self,
        going: Sequence[int],
        groups: Sequence[Sequence[Person]],
        talks: Sequence[Talk],
        present: Callable[[Id], bool],
    ) -> list[_Turn]:
        turns = []
        for place in going:
            staying = [person for person in groups[place] if person.id not in talks[place].left]
            there = [person for person in staying if present(person.id)]
            if len(there) < len(staying):
                talks[place].ended = "gone"
            speaker = self.turns(there, talks[place].lines) if len(there) > 1 else None
            if speaker is not None:
                turns.append(_Turn(place, speaker, there))
        return turns

    async def _who_answer(
        self,
        asker: Asker,
        turns: list[_Turn],
        talks: Sequence[Talk],
        given: str,
        fields: Mapping[str, Mapping[Id, Any]],
    ) -> list[_Turn]:
        """The turns of those who go on; everybody speaks once before somebody may end a conversation.

        Of three or more the one who has said everything leaves, and the others go on.
        """
        free = [turn for turn in turns if len(talks[turn.place].lines) >= len(talks[turn.place].people)]
        if not free:
            return turns
        answers = await asker.ask(
            asker.people.take([turn.speaker.id for turn in free]),
            Choice("Do you answer {partners}, or is everything said?", options=ANSWERS),
            given=given + "\n{transcript}",
            purpose="dialogue: whether to answer",
            about=None,
            **self._fields(free, talks, fields),
        )
        ending = {turn.place: turn for turn, value in zip(free, answers.values, strict=True) if value == ANSWERS[1]}
        going = [turn for turn in turns if turn.place not in ending]
        remaining = []
        for place, turn in ending.items():
            talks[place].left.add(turn.speaker.id)
            there = [person for person in turn.present if person.id != turn.speaker.id]
            speaker = self.turns(there, talks[place].lines) if len(there) > 1 else None
            if speaker is None:
                talks[place].ended = "left"
            else:
                remaining.append(_Turn(place, speaker, there))
        return [*going, *(await self._who_answer(asker, remaining, talks, given, fields) if remaining else [])]

    async def _utterances(
        self,
        asker: Asker,
        turns: Sequence[_Turn],
        talks: Sequence[Talk],
        aims: Mapping[int, str],
        given: str,
        fields: Mapping[str, Mapping[Id, Any]],
    ) -> list[str | None]:
        """One utterance of each speaker; None where it is invalid, which is counted."""
        about = []
        for turn in turns:
            lines = talks[turn.place].lines
            about.append(f"{turn.others} {lines[-1].text if lines else ''}".strip())
        prompts = self._fields(turns, talks, fields)
        prompts["transcript"] = [
            text + aims.get(turn.place, "") for text, turn in zip(prompts["transcript"], turns, strict=True)
        ]
        answers = await asker.ask(
            asker.people.take([turn.speaker.id for turn in turns]),
            self.question,
            given=given,
            purpose="dialogue",
            about=about,
            **prompts,
        )
        self.counts["utterances"] += len(turns)
        self.counts["invalid utterance"] += answers.values.null_count()
        return list(answers.values)

    async def _aims(
        self,
        asker: Asker,
        turns: Sequence[_Turn],
        talks: Sequence[Talk],
        day: int,
        given: str,
        fields: Mapping[str, Mapping[Id, Any]],
    ) -> dict[int, str]:
        """What those who begin want of the others, as it stands in the prompt of the first line of a conversation."""
        if self.aim is None:
            return {}
        beginning = [turn for turn in turns if not talks[turn.place].lines]
        new = [turn for turn in beginning if self._aim_days.get((turn.speaker.id, turn.others)) != day]
        if not new:
            return {}
        self._aim_days |= {(turn.speaker.id, turn.others): day for turn in new}
        answers = await asker.ask(
            asker.people.take([turn.speaker.id for turn in new]),
            self.aim,
            given=given + "\n{transcript}",
            purpose="dialogue: aim",
            about=[turn.others for turn in new],
            **self._fields(new, talks, fields),
        )
        return {
            turn.place: f'\nYou think, "{_thought(text)}" Now say it to {turn.others}.'
            for turn, text in zip(new, answers.values, strict=True)
            if text is not None
        }

    def _fields(
        self, turns: Sequence[_Turn], talks: Sequence[Talk], fields: Mapping[str, Mapping[Id, Any]]
    ) -> dict[str, Any]:
        return {
            "partners": [turn.others for turn in turns],
            "transcript": [_transcript(talks[turn.place].lines) for turn in turns],
            **{name: [values[turn.speaker.id] for turn in turns] for name, values in fields.items()},
        }

    async def _remember(
        self, asker: Asker, groups: Sequence[Sequence[Person]], talks: Sequence[Talk], memory: MemoryPart, now: int
    ) -> None:
        """Let everybody remember what they were told, and what they said after it; a conversation is rated once."""
        hearings: dict[tuple[int, Id], list[tuple[int, int]]] = defaultdict(list)
        for kind in ("hearing", "speech"):
            ids: list[Id] = []
            texts: list[str] = []
            rated_as: list[str] = []
            evidence: list[list[int]] = []
            places: list[tuple[int, int]] = []
            for place, (group, talk) in enumerate(zip(groups, talks, strict=True)):
                whole = _transcript(talk.lines)
                names = {person.id: str(person.name) for person in group}
                for number, line in enumerate(talk.lines):
                    for who in names:
                        if (who == line.speaker) != (kind == "speech"):
                            continue
                        others = " and ".join(name for other, name in names.items() if other != who)
                        own = f'You told {others}: "{line.text}"'
                        ids.append(who)
                        texts.append(own if kind == "speech" else f'{line.name} told you: "{line.text}"')
                        rated_as.append(whole)
                        evidence.append([memory_id for at, memory_id in hearings[place, who] if at < number])
                        places.append((place, number))
            if not ids:
                continue
            stored = await memory.remember(asker, ids, texts, kind=kind, now=now, evidence=evidence, rated_as=rated_as)
            numbers = stored.tolist()
            rated = np.nan_to_num(memory.importance_of(numbers)).tolist()
            for who, (place, number), memory_id, importance in zip(ids, places, numbers, rated, strict=True):
                hearings[place, who].append((number, memory_id))
                talks[place].importance = importance


def _thought(text: str) -> str:
    """A thought on one line, without the quotation marks and colons that would make it a part of the transcript."""
    return " ".join(text.replace(": ", ", ").replace('"', "'").split()).strip("' ")


def _transcript(lines: Sequence[Line]) -> str:
    """What was said so far, a line for each utterance."""
    if not lines:
        return "Nobody has spoken yet; you speak first."
    return "The conversation so far:\n" + "\n".join(f"{line.name}: {line.text}" for line in lines)
