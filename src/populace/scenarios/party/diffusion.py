"""The diffusion of a piece of news, measured from utterances, never by asking people.

To come to know is to be told in direct speech what is happening and when or where, by somebody who was told so
themselves. Who was told less has heard of it in part; who was told another time or place has heard a wrong version.
A person who speaks of it without having heard it makes a claim without evidence, through which nobody comes to know.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import polars as pl

from populace.people import Id
from populace.scenarios.party.telling import Facet, Telling, TellingReader

Status = Literal["full", "partial", "wrong"]
_TOPIC = 2
"""A conversation is about the news for this many utterances after one that named it."""


class NewsSource(NamedTuple):
    """How a person came to know: when, from whom (None for the world), and in which utterance."""

    time: int
    source: Id | None
    utterance: int | None


class Hearing(NamedTuple):
    """One time that a person was told something of the news that they had not been told before.

    Attributes:
        time: When, in simulated seconds.
        source: Who told them; None for the world.
        utterance: The number of the utterance; None for what the world told.
        text: What was said.
        status: What the person knows from then on.
    """

    time: int
    source: Id | None
    utterance: int | None
    text: str
    status: Status


class Claim(NamedTuple):
    """An utterance that spoke of the news without evidence."""

    speaker: Id
    time: int
    text: str


class Invitation(NamedTuple):
    """An utterance that invited somebody."""

    guest: Id
    host: Id
    time: int
    text: str
    utterance: int


@dataclass
class Diffusion:
    """Follows a piece of news through all utterances.

    Attributes:
        reader: Reads what an utterance tells of the news.
        names: The names of the people by id.
        hosts: The people whose event it is; nobody can invite them.
        hearings: For each person who heard of it, what they were told, in order.
        claims: Utterances that spoke of it without evidence.
        invitations: The first invitation of each person.

    Example:
        >>> from datetime import date
        >>> reader = TellingReader(("party",), ("café",), (), 147_600, 154_800, date(2026, 2, 13))
        >>> news = Diffusion(reader)
        >>> _ = news.tell("ann", 0)
        >>> news.add_utterance("ann", ["bo"], "Come to my party at the café!", 60)
        >>> news.add_utterance("bo", ["cy"], "Ann is giving a party.", 120)
        >>> news.add_utterance("eve", ["di"], "I heard of a party.", 120)
        >>> news.knows["bo"].source, news.chain("bo"), news.status("cy"), len(news.claims)
        ('ann', ['ann', 'bo'], 'partial', 1)
    """

    reader: TellingReader
    names: dict[Id, str] = field(default_factory=dict)
    hosts: frozenset[Id] = frozenset()
    hearings: dict[Id, list[Hearing]] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    invitations: dict[Id, Invitation] = field(default_factory=dict)
    _facets: dict[Id, dict[Facet, bool]] = field(default_factory=dict)
    _utterances: int = 0
    _conversations: dict[frozenset[Id], tuple[int, list[tuple[Id, str]], int]] = field(default_factory=dict)

    @property
    def knows(self) -> dict[Id, NewsSource]:
        """How each person who knows came to know, in the order in which they did."""
        sources = {
            who: next(NewsSource(*each[:3]) for each in hearings if each.status == "full")
            for who, hearings in self.hearings.items()
            if hearings[-1].status == "full"
        }
        return dict(sorted(sources.items(), key=lambda item: _order(item[1])))

    def status(self, who: Id) -> Status | None:
        """What a person knows of the news; None for somebody who has not heard of it."""
        return self.hearings[who][-1].status if who in self.hearings else None

    def count(self, status: Status) -> int:
        """How many people know the news fully, in part, or wrongly."""
        return sum(hearings[-1].status == status for hearings in self.hearings.values())

    def tell(self, who: Id, time: int, text: str | None = None) -> bool:
        """Record that the world told a person the news, or with a text as much as the text says.

        Returns:
            Whether it was anything new to the person.
        """
        facets: dict[Facet, bool] = {"what": True}
        facets.update(dict.fromkeys(self.reader.parts, True))
        if text is not None:
            facets = self.reader.read(text, time).facets
        return "what" in facets and self._learn(who, facets, Hearing(time, None, None, text or "", "full"))

    def add_utterance(self, speaker: Id, hearers: Sequence[Id], text: str, time: int) -> None:
        """Record an utterance: who is told the news by somebody who was told it comes to know."""
        number = self._utterances
        self._utterances += 1
        group = frozenset([speaker, *hearers])
        at, lines, named = self._conversations.get(group, (time, [], -_TOPIC - 1))
        if at != time:
            lines, named = [], -_TOPIC - 1
        said = [line for who, line in lines if who != speaker]
        on_topic = len(lines) - named <= _TOPIC
        telling = self.reader.read(text, time, speaker=self.names.get(speaker, ""), heard=said, on_topic=on_topic)
        if self.reader.names_it(text):
            named = len(lines)
        self._conversations[group] = time, [*lines, (speaker, text)], named
        if telling:
            self._take_in(speaker, hearers, text, time, number, telling)

    def _take_in(self, speaker: Id, hearers: Sequence[Id], text: str, time: int, number: int, telling: Telling) -> None:
        evidence = self._facets.get(speaker, {})
        if "what" not in evidence:
            if "what" in telling.facets:
                self.claims.append(Claim(speaker, time, text))
            return
        evident: dict[Facet, bool] = {
            facet: right for facet, right in telling.facets.items() if not right or evidence.get(facet) is True
        }
        if evident != telling.facets:
            # The speaker says something that they were never told, by chance rightly.
            self.claims.append(Claim(speaker, time, text))
        for hearer in hearers:
            if "what" in evident or "what" in self._facets.get(hearer, {}):
                self._learn(hearer, evident, Hearing(time, speaker, number, text, "full"))
            if telling.invites and "what" in telling.facets and hearer not in self.hosts:
                self.invitations.setdefault(hearer, Invitation(hearer, speaker, time, text, number))

    def _learn(self, who: Id, facets: dict[Facet, bool], hearing: Hearing) -> bool:
        """Add what a person was told to what they know: what is right replaces what is wrong, never the reverse."""
        known = self._facets.setdefault(who, {})
        before = dict(known)
        for facet, right in facets.items():
            known[facet] = known.get(facet, False) or right
        if known == before:
            return False
        parts = [known[facet] for facet in ("when", "where") if facet in known]
        status: Status = "wrong" if not all(parts) else "full" if parts or not self.reader.parts else "partial"
        hearings = self.hearings.setdefault(who, [])
        if hearings and hearings[-1].status == "full":
            status = "full"  # Another version of what one knows rightly is not believed.
        if not hearings or hearings[-1].status != status:
            hearings.append(hearing._replace(status=status))
        return True

    def chain(self, who: Id) -> list[Id]:
        """The people through whom the news came to a person, from its origin on."""
        path, before = [who], (sys.maxsize, 0)
        while True:
            hearings = [each for each in self.hearings[path[0]] if _order(each) < before]
            # Somebody who knows was told by the one who made it complete, not by the first who spoke of it.
            hearing = next((each for each in hearings if each.status == "full"), hearings[-1])
            if hearing.source is None:
                return path
            path.insert(0, hearing.source)
            before = _order(hearing)

    def parents(self) -> dict[Id, Id | None]:
        """From whom each person who knows has it; where that person does not know all, from whom they have it."""
        knows = self.knows
        return {
            who: next(
                (
                    link
                    for link in reversed(self.chain(who)[:-1])
                    if link in knows and _order(knows[link]) < _order(knows[who])
                ),
                None,
            )
            for who in knows
        }

    def by_branch(self) -> list[Id]:
        """The people who know as a tree, branch by branch: everybody follows the person who told them."""
        hearers: dict[Id | None, list[Id]] = {}
        for who, parent in self.parents().items():
            hearers.setdefault(parent, []).append(who)
        order: list[Id] = []
        waiting = list(reversed(hearers.get(None, [])))
        while waiting:
            who = waiting.pop()
            order.append(who)
            waiting += reversed(hearers.get(who, []))
        return order

    def table(self, names: dict[Id, str]) -> pl.DataFrame:
        """Everybody who heard of it: what they know, since when, from whom, through which chain, and the words."""
        rows = []
        for who, hearings in self.hearings.items():
            last = hearings[-1]
            source = None if last.source is None else names[last.source]
            chain = " → ".join(names[link] for link in self.chain(who))
            rows.append((names[who], last.status, last.time, source, last.utterance, chain, last.text))
        schema = {
            "name": pl.String, "knows": pl.String, "time": pl.Int64, "from": pl.String, "utterance": pl.Int64,
            "chain": pl.String, "words": pl.String,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema, orient="row").sort("time", "utterance", "name", nulls_last=False)


def _order(source: Hearing | NewsSource) -> tuple[int, int]:
    return source.time, -1 if source.utterance is None else source.utterance
