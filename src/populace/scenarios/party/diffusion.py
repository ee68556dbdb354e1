"""The diffusion of a piece of news, measured from utterances, never by asking people.

A person knows the news from the time at which somebody who knew it said it to them. A person who speaks of it
without having heard it makes a claim without evidence, through which nobody comes to know.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from populace.base.foreign import for_figure
from populace.people import Id
from populace.runs.charts import PALETTE, save

HOUR = 3600


class NewsSource(NamedTuple):
    """How a person came to know: when, from whom (None for the world), and in which utterance."""

    time: int
    source: Id | None
    utterance: int | None


@dataclass
class Diffusion:
    """Follows a piece of news through all utterances.

    Attributes:
        pattern: Matches an utterance that speaks of the news.
        knows: How each person who knows came to know.
        claims: Utterances that spoke of it without evidence: speaker, time and text.

    Example:
        >>> news = Diffusion(re.compile("party"))
        >>> news.tell("ann", 0)
        >>> news.add_utterance("ann", ["bo"], "Come to my party!", 60)
        >>> news.add_utterance("cy", ["di"], "I heard of a party.", 60)
        >>> news.knows["bo"].source, news.chain("bo"), len(news.claims)
        ('ann', ['ann', 'bo'], 1)
    """

    pattern: re.Pattern[str]
    knows: dict[Id, NewsSource] = field(default_factory=dict)
    claims: list[tuple[Id, int, str]] = field(default_factory=list)
    _utterances: int = 0

    def tell(self, who: Id, time: int) -> None:
        """Record that the world told a person the news."""
        self.knows.setdefault(who, NewsSource(time, None, None))

    def add_utterance(self, speaker: Id, hearers: Sequence[Id], text: str, time: int) -> None:
        """Record an utterance: who hears the news from somebody who knows it comes to know."""
        number = self._utterances
        self._utterances += 1
        if not self.pattern.search(text):
            return
        if speaker not in self.knows:
            self.claims.append((speaker, time, text))
            return
        for hearer in hearers:
            self.knows.setdefault(hearer, NewsSource(time, speaker, number))

    def chain(self, who: Id) -> list[Id]:
        """The people through whom the news came to a person, from its origin on."""
        path = [who]
        while (source := self.knows[path[0]].source) is not None:
            path.insert(0, source)
        return path

    def by_branch(self) -> list[Id]:
        """The people who know as a tree, branch by branch: everybody follows the person who told them."""
        hearers: dict[Id | None, list[Id]] = {}
        for who, origin in sorted(self.knows.items(), key=lambda item: item[1].time):
            hearers.setdefault(origin.source, []).append(who)
        order: list[Id] = []
        waiting = list(reversed(hearers.get(None, [])))
        while waiting:
            who = waiting.pop()
            order.append(who)
            waiting += reversed(hearers.get(who, []))
        return order

    def table(self, names: dict[Id, str]) -> pl.DataFrame:
        """Everybody who knows: since when, from whom, and through which chain."""
        rows = [
            (names[who], origin.time, names[origin.source] if origin.source is not None else None, origin.utterance,
             " → ".join(names[link] for link in self.chain(who)))
            for who, origin in self.knows.items()
        ]  # fmt: skip
        schema = {"name": pl.String, "time": pl.Int64, "from": pl.String, "utterance": pl.Int64, "chain": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row").sort("time", "name")


def draw_diffusion(news: Diffusion, names: dict[Id, str], came: set[Id], path: Path, *, title: str, end: int) -> Path:
    """Draw the tree and the timeline into one picture.

    Args:
        news: How everybody who knows came to know.
        names: The names of the people by id.
        came: The ids of the people who came to the party.
        path: The file to write; its suffix says in which format.
        title: The title.
        end: The end of the timeline in simulated seconds.
    """
    from matplotlib.figure import Figure

    order = news.by_branch()
    height = max(3.0, 0.26 * len(order) + 1.6)
    figure = Figure(figsize=(10, height + 2.2), layout="constrained")
    tree, line = figure.subplots(2, 1, height_ratios=[height, 2.0], sharex=True)
    rows = {who: row for row, who in enumerate(order)}
    for who in order:
        origin = news.knows[who]
        at = origin.time / HOUR
        if origin.source is not None:
            x = [news.knows[origin.source].time / HOUR, at, at]
            tree.plot(x, [rows[origin.source], rows[origin.source], rows[who]], color="#999999", linewidth=1, zorder=1)
        colour = PALETTE[2] if who in came else PALETTE[0]
        tree.scatter([at], [rows[who]], color=colour, s=28, zorder=2)
        tree.annotate(for_figure(names[who]), (at, rows[who]), xytext=(6, 3), textcoords="offset points", fontsize=8)
    tree.set_yticks([])
    tree.invert_yaxis()
    tree.set_title(f"{for_figure(title)}\nWho heard of it from whom; green came to the party", loc="left", fontsize=10)
    times = sorted(origin.time / HOUR for origin in news.knows.values())
    line.step([*times, end / HOUR], [*range(1, len(times) + 1), len(times)], where="post", color=PALETTE[1])
    line.set_ylabel("people who know")
    line.set_ylim(0, len(names) + 1)
    line.axhline(len(names), color="#bbbbbb", linewidth=0.8, linestyle="--")
    ticks: Any = range(0, end // HOUR + 1, 6)
    line.set_xticks(ticks, [f"day {t // 24 + 1}\n{t % 24:02d}:00" for t in ticks])
    line.set_xlim(min(times, default=0) - 0.5, end / HOUR + 4)
    line.grid(alpha=0.3)
    tree.grid(alpha=0.2, axis="x")
    return save(figure, path)
