"""How far a piece of news got, measured from what was said and heard, never by asking.

Somebody knows the news from the moment at which somebody who knew it said it to them. Who speaks of
it without ever having heard it makes a claim without evidence, and nobody comes to know through that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from populace.people import Id


class NewsSource(NamedTuple):
    """How somebody came to know: when, from whom, and in which utterance."""

    time: int
    source: Id | None
    utterance: int | None


@dataclass
class Diffusion:
    """Follows a piece of news through everything that is said.

    Attributes:
        pattern: What counts as speaking of it.
        knows: How each person who knows came to know.
        claims: Utterances that spoke of it without evidence: speaker, time and text.

    Example:
        >>> news = Diffusion(re.compile("party"))
        >>> news.told("ann", 0)
        >>> news.said("ann", ["bo"], "Come to my party!", 60)
        >>> news.said("cy", ["di"], "I heard of a party.", 60)
        >>> news.knows["bo"].source, news.chain("bo"), len(news.claims)
        ('ann', ['ann', 'bo'], 1)
    """

    pattern: re.Pattern[str]
    knows: dict[Id, NewsSource] = field(default_factory=dict)
    claims: list[tuple[Id, int, str]] = field(default_factory=list)
    mentions: int = 0
    _utterances: int = 0

    def told(self, who: Id, time: int) -> None:
        """The world tells somebody."""
        self.knows.setdefault(who, NewsSource(time, None, None))

    def said(self, speaker: Id, hearers: Sequence[Id], text: str, time: int) -> None:
        """Somebody says something to others."""
        number = self._utterances
        self._utterances += 1
        if not self.pattern.search(text):
            return
        self.mentions += 1
        if speaker not in self.knows:
            self.claims.append((speaker, time, text))
            return
        for hearer in hearers:
            self.knows.setdefault(hearer, NewsSource(time, speaker, number))

    def chain(self, who: Id) -> list[Id]:
        """Through whom the news came, from its origin to a person."""
        path = [who]
        while (source := self.knows[path[0]].source) is not None:
            path.insert(0, source)
        return path

    def by_branch(self) -> list[Id]:
        """People so that everybody stands below whoever told them, branch by branch, the earliest first."""
        heard_from: dict[Id | None, list[Id]] = {}
        for who, heard in sorted(self.knows.items(), key=lambda item: item[1].time):
            heard_from.setdefault(heard.source, []).append(who)
        order: list[Id] = []
        waiting = list(reversed(heard_from.get(None, [])))
        while waiting:
            who = waiting.pop()
            order.append(who)
            waiting += reversed(heard_from.get(who, []))
        return order

    def table(self, names: dict[Id, str]) -> pl.DataFrame:
        """Everybody who knows: since when, from whom, and through which chain."""
        rows = [
            (names[who], heard.time, names[heard.source] if heard.source is not None else None, heard.utterance,
             " → ".join(names[link] for link in self.chain(who)))
            for who, heard in self.knows.items()
        ]  # fmt: skip
        schema = {"name": pl.String, "time": pl.Int64, "from": pl.String, "utterance": pl.Int64, "chain": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row").sort("time", "name")
