"""The rumour rule, the twin of the models: chance decides who talks, who passes the news on, and who goes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from populace.base.randomness import path_key, person_keys, uniforms
from populace.minds import Line, Talk
from populace.people import Id

GREETING = "Good day to you."


@dataclass(frozen=True)
class RumourRule:
    """How people talk and decide where no model is asked.

    Attributes:
        talk: The chance that two who meet talk.
        pass_on: The chance that somebody who knows a piece of news passes it on in a conversation.
        attend: The chance that somebody who knows of an event goes there.
    """

    talk: float
    pass_on: float
    attend: float

    def willing(self, count: int, rng: np.random.Generator) -> list[bool]:
        """Which of the pairs who meet talk."""
        return [bool(draw < self.talk) for draw in rng.random(count)]

    def talks(
        self,
        pairs: Sequence[tuple[Id, Id]],
        news: Mapping[str, Callable[[Id], bool]],
        names: Mapping[Id, str],
        rng: np.random.Generator,
    ) -> list[Talk]:
        """What pairs say to each other: each passes on what they know with a chance, or greets.

        Args:
            pairs: Who talks with whom.
            news: The news as it is passed on, each with a function that says who knows it.
            names: The names of the people by id.
            rng: Random numbers.
        """
        passes = (rng.random((len(pairs), 2, len(news))) < self.pass_on).tolist()
        talks = []
        for pair, lucky in zip(pairs, passes, strict=True):
            lines = []
            for who, luck in zip(pair, lucky, strict=True):
                passed = [text for (text, knows), yes in zip(news.items(), luck, strict=True) if yes and knows(who)]
                lines.append(Line(who, names[who], " ".join(passed) or GREETING))
            talks.append(Talk(pair, lines))
        return talks

    def goes(self, who: Sequence[Id], event: str, seed: int) -> list[bool]:
        """Which of the people go to an event; everybody decides once."""
        draws = uniforms(path_key(seed, f"attend/{event}"), person_keys(pl.Series(list(who))))
        return [bool(draw < self.attend) for draw in draws]
