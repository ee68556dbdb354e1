"""Dialogue: people take turns to speak until one of them leaves, and each remembers the conversation."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from populace.minds.parts import Asker, DialoguePart, Line, MemoryPart, Talk
from populace.minds.recollection import Recollection
from populace.people import Id, Person
from populace.questions import Choice, Form, Text

Turns = Callable[[Sequence[Person], Sequence[Line]], Person | None]
"""Chooses who speaks next, from the people still present and the lines so far; None ends the conversation."""


def next_in_turn(present: Sequence[Person], lines: Sequence[Line]) -> Person | None:
    """The person who has been silent for longest; of those who have not spoken, the first in the group."""
    spoke = {line.speaker: place for place, line in enumerate(lines)}
    return min(present, key=lambda person: spoke.get(person.id, -1)) if present else None


@dataclass
class Dialogue(DialoguePart):
    """How people talk.

    Attributes:
        limit: The most utterances of a conversation.
        recalled: How many memories a speaker is shown before each utterance.
        words: The most words of an utterance, as the question says it.
        turns: Chooses who speaks next.
        counts: How many conversations ended in which way, and how many utterances were invalid.
    """

    limit: int = 8
    recalled: int = 5
    words: int = 30
    turns: Turns = next_in_turn
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def question(self) -> Form:
        """What is asked before each utterance."""
        return Form(
            "What do you say to {others} now, and do you end the conversation with it?",
            questions={
                "say": Text("Your words.", max_words=self.words),
                "end": Choice("Whether this ends it.", options=("no", "yes")),
            },
        )

    async def hold(
        self,
        asker: Asker,
        groups: Sequence[Sequence[Person]],
        *,
        given: str,
        now: int,
        memory: MemoryPart | None = None,
        present: Callable[[Id], bool] = lambda _: True,
        **fields: Sequence[Any],
    ) -> list[Talk]:
        """Let groups of people talk, all groups at the same time; the first of each group begins.

        In each round every conversation grows by one utterance, and all speakers of the round are asked together.

        Args:
            asker: Puts the questions; a scenario.
            groups: Who talks with whom, two or more people each; nobody is in two groups.
            given: What a speaker is told; the fields `{partners}`, `{memories}` and `{said}` are filled in here.
            now: The simulated time in seconds.
            memory: Their memory; without one nothing is recalled and nothing is stored.
            present: Whether a person is still there.
            **fields: A value for each group, for other fields of `given`.
        """
        talks = [Talk(tuple(person.id for person in group)) for group in groups]
        leaving: list[set[Id]] = [set() for _ in groups]
        going = list(range(len(groups)))
        for _ in range(self.limit):
            speakers: list[tuple[int, Person, list[Person]]] = []
            for place in going:
                there = [p for p in groups[place] if p.id not in leaving[place] and present(p.id)]
                if len(there) + len(leaving[place]) < len(groups[place]):
                    talks[place].ended = "gone"
                speaker = self.turns(there, talks[place].lines) if len(there) > 1 else None
                if speaker is not None:
                    speakers.append((place, speaker, there))
            if not speakers:
                break
            utterances = await self._utterances(asker, speakers, talks, given, now, memory, fields)
            going = []
            for (place, speaker, _), utterance in zip(speakers, utterances, strict=True):
                if utterance is None:
                    talks[place].ended = "invalid"
                    continue
                going.append(place)
                talks[place].lines.append(Line(speaker.id, str(speaker.name), utterance["say"]))
                if utterance["end"] == "yes":
                    talks[place].ended = "left"
                    leaving[place].add(speaker.id)
        self.counts.update(talk.ended for talk in talks)
        if memory is not None:
            await self._remember(asker, groups, talks, memory, now)
        return talks

    async def _utterances(
        self,
        asker: Asker,
        speakers: Sequence[tuple[int, Person, list[Person]]],
        talks: Sequence[Talk],
        given: str,
        now: int,
        memory: MemoryPart | None,
        fields: Mapping[str, Sequence[Any]],
    ) -> list[dict[str, str] | None]:
        """One utterance of each speaker; None where it is invalid, which is counted."""
        ids = [speaker.id for _, speaker, _ in speakers]
        others = [" and ".join(str(p.name) for p in there if p.id != who.id) for _, who, there in speakers]
        memories = Recollection.nothing(len(ids))
        if memory is not None:
            last = [talks[place].lines[-1].text if talks[place].lines else "" for place, _, _ in speakers]
            about = [f"{name} {text}".strip() for name, text in zip(others, last, strict=True)]
            memories = memory.recollect(ids, about, now=now, purpose="dialogue", top=self.recalled)
        answers = await asker.ask(
            asker.people.take(ids),
            self.question,
            given=given,
            purpose="dialogue",
            others=others,
            partners=others,
            memories=memories,
            said=[_lines_text(talks[place].lines, who.id) for place, who, _ in speakers],
            **{name: [values[place] for place, _, _ in speakers] for name, values in fields.items()},
        )
        self.counts["invalid utterance"] += answers.values.null_count()
        return [None if value is None else json.loads(value) for value in answers.values]

    async def _remember(
        self, asker: Asker, groups: Sequence[Sequence[Person]], talks: Sequence[Talk], memory: MemoryPart, now: int
    ) -> None:
        hearings = [
            (hearer.id, f'{line.name} told me: "{line.text}"')
            for group, talk in zip(groups, talks, strict=True)
            for line in talk.lines
            for hearer in group
            if hearer.id != line.speaker
        ]
        if not hearings:
            return
        who, texts = zip(*hearings, strict=True)
        stored = await memory.remember(asker, who, texts, kind="dialogue", now=now)
        basis: dict[Id, list[int]] = defaultdict(list)
        for hearer, number in zip(who, stored.tolist(), strict=True):
            basis[hearer].append(number)
        ids: list[Id] = []
        about: list[str] = []
        for group, talk in zip(groups, talks, strict=True):
            for person in group if talk.lines else ():
                others = " and ".join(str(other.name) for other in group if other.id != person.id)
                mine = [line.text for line in talk.lines if line.speaker == person.id]
                ids.append(person.id)
                about.append(f"I talked with {others}." + (f' I said: "{mine[-1]}"' if mine else ""))
        await memory.remember(
            asker, ids, about, kind="dialogue", now=now, evidence=[basis.get(person, []) for person in ids]
        )


def _lines_text(lines: Sequence[Line], speaker: Id) -> str:
    """The lines so far, with `I` for the lines of the speaker."""
    text = "\n".join(f"{'I' if line.speaker == speaker else line.name}: {line.text}" for line in lines)
    return text or "(nobody has spoken yet)"
