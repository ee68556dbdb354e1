"""Dialogue: people take turns until one of them leaves, and each remembers it afterwards."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from populace.minds.remembering import Asks, Memory
from populace.people import Id, Person
from populace.questions import Choice, Form, Text

Turns = Callable[[Sequence[Person], Sequence["Line"]], Person | None]
"""Who speaks next, given those who are still there and what was said; None ends it."""


class Line(NamedTuple):
    """Something that was said."""

    speaker: Id
    name: str
    text: str


@dataclass
class Talk:
    """A conversation that is over.

    Attributes:
        people: Who took part.
        lines: What was said.
        ended: Why it ended: `left` by somebody, `limit`, `gone` when a partner was no longer there, `invalid` when
            an utterance could not be read.
    """

    people: tuple[Id, ...]
    lines: list[Line] = field(default_factory=list)
    ended: str = "limit"


def alternate(present: Sequence[Person], lines: Sequence[Line]) -> Person | None:
    """Take turns: whoever has been silent for longest, in the order in which they came."""
    spoke = {line.speaker: place for place, line in enumerate(lines)}
    return min(present, key=lambda person: spoke.get(person.id, -1)) if present else None


@dataclass
class Dialogue:
    """How people talk.

    Attributes:
        limit: How many utterances at most.
        recalled: How many memories come to mind before each.
        words: About how long an utterance may be.
        turns: Who speaks next.
        counts: How conversations ended, and how many utterances were `invalid`.
    """

    limit: int = 8
    recalled: int = 5
    words: int = 30
    turns: Turns = alternate
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
        asks: Asks,
        people: Sequence[Person],
        *,
        given: str,
        now: int,
        memory: Memory | None = None,
        present: Callable[[Id], bool] = lambda _: True,
        **fields: Any,
    ) -> Talk:
        """Let people talk; the first of them begins.

        Args:
            asks: Whoever puts the questions.
            people: Who talks, two or more.
            given: What each is told, with `{partners}`, `{memories}` and `{said}` filled in here.
            now: The simulated time in seconds.
            memory: What they remember; without it nothing comes to mind and nothing is kept.
            present: Whether somebody is still there.
            **fields: Values for other fields of `given`.
        """
        talk = Talk(tuple(person.id for person in people))
        leaving: set[Id] = set()
        while len(talk.lines) < self.limit:
            there = [person for person in people if person.id not in leaving and present(person.id)]
            if len(there) + len(leaving) < len(people):
                talk.ended = "gone"
            speaker = self.turns(there, talk.lines) if len(there) > 1 else None
            if speaker is None:
                break
            said = await self._utterance(asks, speaker, there, talk, given, now, memory, fields)
            if said is None:
                talk.ended = "invalid"
                break
            talk.lines.append(Line(speaker.id, str(speaker.name), said["say"]))
            if said["end"] == "yes":
                talk.ended = "left"
                leaving.add(speaker.id)
        self.counts[talk.ended] += 1
        if memory is not None and talk.lines:
            await self._remember(asks, people, talk, memory, now)
        return talk

    async def _utterance(
        self,
        asks: Asks,
        speaker: Person,
        there: Sequence[Person],
        talk: Talk,
        given: str,
        now: int,
        memory: Memory | None,
        fields: dict[str, Any],
    ) -> dict[str, str] | None:
        others = " and ".join(str(person.name) for person in there if person.id != speaker.id)
        last = talk.lines[-1].text if talk.lines else ""
        about = [f"{others} {last}".strip()]
        mind = "- nothing"
        if memory is not None:
            mind = memory.lines([speaker.id], about, now=now, purpose="dialogue", top=self.recalled)[0]
        said = "\n".join(f"{'I' if line.speaker == speaker.id else line.name}: {line.text}" for line in talk.lines)
        answers = await asks.ask(
            speaker,
            self.question,
            given=given,
            purpose="dialogue",
            others=others,
            partners=others,
            memories=mind,
            said=said or "(nobody has spoken yet)",
            **fields,
        )
        if answers.one is None:
            self.counts["invalid utterance"] += 1
            return None
        spoken: dict[str, str] = json.loads(answers.one)
        return spoken

    async def _remember(self, asks: Asks, people: Sequence[Person], talk: Talk, memory: Memory, now: int) -> None:
        """Everybody keeps what the others said, and that there was a conversation."""
        names = {person.id: str(person.name) for person in people}
        who: list[Id] = []
        texts: list[str] = []
        for line in talk.lines:
            for hearer in people:
                if hearer.id != line.speaker:
                    who.append(hearer.id)
                    texts.append(f'{line.name} told me: "{line.text}"')
        heard = await memory.remember(asks, who, texts, kind="dialogue", now=now)
        about: list[str] = []
        evidence: list[list[int]] = []
        for person in people:
            others = " and ".join(name for other, name in names.items() if other != person.id)
            mine = [line.text for line in talk.lines if line.speaker == person.id]
            about.append(f"I talked with {others}." + (f' I said: "{mine[-1]}"' if mine else ""))
            evidence.append([int(number) for number, owner in zip(heard, who, strict=True) if owner == person.id])
        await memory.remember(asks, [p.id for p in people], about, kind="dialogue", now=now, evidence=evidence)
