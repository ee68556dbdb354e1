"""Who speaks next in a thread: somebody new to it or an earlier participant, and never the last speaker.

People are whole numbers from 0 here. A person who may not speak is drawn anew, which leaves every
thread alone that did not draw that person.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from populace.worlds.forum.chances import Numbers, chances

_TRIES = 40
"""After so many draws in vain, one is made among those who are left, counted one by one."""


class SpeakerDraw:
    """Who has spoken in which thread, in the order of their first words there.

    Args:
        threads: How many threads there are.

    Attributes:
        pool: Whom a draw can fall on; everybody where it is empty. Guests are kept out of it, since one more person
            in it would change every draw.
        last: The last speaker of each thread; -1 before anybody spoke.
    """

    def __init__(self, threads: int) -> None:
        self.pool: Numbers = np.zeros(0, np.int64)
        self.last: Numbers = np.full(threads, -1, np.int64)
        self._spoke: Numbers = np.full((threads, 4), -1, np.int64)
        self._count: Numbers = np.zeros(threads, np.int64)

    def record(self, threads: Numbers, people: Numbers) -> None:
        """These people said something in these threads, one in each."""
        self.last[threads] = people
        fresh = ~(self._spoke[threads] == people[:, None]).any(axis=1)
        threads, people = threads[fresh], people[fresh]
        if len(threads) and self._count[threads].max() == self._spoke.shape[1]:
            self._spoke = np.hstack([self._spoke, np.full_like(self._spoke, -1)])
        self._spoke[threads, self._count[threads]] = people
        self._count[threads] += 1

    def openers(self, seed: int, threads: Numbers, may: npt.NDArray[np.bool_]) -> Numbers:
        """Who opens each thread, all different; -1 where nobody is left who may."""
        found = np.full(len(threads), -1, np.int64)
        free, left, zeros = may.copy(), np.arange(len(threads)), np.zeros(len(threads), np.int64)
        for attempt in range(_TRIES):
            if not len(left) or not free.any():
                return found
            luck = chances(seed, f"opener {attempt}", threads[left], zeros[left], zeros[left])
            drawn = self._pool(may)[(luck * len(self._pool(may))).astype(np.int64)]
            first = np.zeros(len(left), bool)
            first[np.unique(drawn, return_index=True)[1]] = True
            good = first & free[drawn]
            found[left[good]], free[drawn[good]] = drawn[good], False
            left = left[~good]
        others = np.flatnonzero(free)[: len(left)]
        found[left[: len(others)]] = others
        return found

    def responders(
        self,
        seed: int,
        threads: Numbers,
        turns: Numbers,
        draws: Numbers,
        join: npt.NDArray[np.bool_],
        speak: npt.NDArray[np.bool_],
        new_chance: float,
    ) -> Numbers:
        """Who replies in each thread; -1 where nobody can.

        With the chance given it is somebody who has not spoken there, otherwise one of the earlier participants but
        the last speaker, each with the same chance. Where there is none of the one kind, it is one of the other.

        Args:
            seed: Of the run.
            threads: The threads.
            turns: How many replies were tried in each before.
            draws: Which of several ways to go on each follows.
            join: For each person, whether they may enter a thread.
            speak: For each person, whether they may speak again in a thread that they are in.
            new_chance: The chance of somebody new.
        """
        spoke = self._spoke[threads]
        again = (spoke >= 0) & (spoke != self.last[threads][:, None]) & speak[spoke]
        old = _nth(spoke, again, chances(seed, "who again", threads, turns, draws))
        wants_new = chances(seed, "new", threads, turns, draws) < new_chance
        ask_new = wants_new | (old < 0)
        new = np.full(len(threads), -1, np.int64)
        pool = self._pool(join)
        new[ask_new] = _drawn(
            seed, "who new", threads[ask_new], turns[ask_new], draws[ask_new], join, pool, spoke[ask_new]
        )
        return np.where(ask_new & (new >= 0), new, old)

    def _pool(self, may: npt.NDArray[np.bool_]) -> Numbers:
        return self.pool if len(self.pool) else np.arange(len(may))


def _nth(people: Numbers, eligible: npt.NDArray[np.bool_], luck: npt.NDArray[np.float64]) -> Numbers:
    """In each row one of the eligible people, chosen by a number in [0, 1); -1 where there is none."""
    count = eligible.sum(axis=1)
    rank = np.cumsum(eligible, axis=1) - 1
    wanted = np.minimum((luck * count).astype(np.int64), count - 1)
    chosen = eligible & (rank == wanted[:, None])
    found = people[np.arange(len(people)), chosen.argmax(axis=1)]
    return np.where(count > 0, found, -1)


def _drawn(
    seed: int,
    what: str,
    threads: Numbers,
    turns: Numbers,
    draws: Numbers,
    may: npt.NDArray[np.bool_],
    pool: Numbers,
    without: Numbers,
) -> Numbers:
    """One of those who may for each thread, except those in its row of `without`, all with the same chance."""
    found = np.full(len(threads), -1, np.int64)
    if not may.any():
        return found
    left = np.arange(len(threads))
    for attempt in range(_TRIES):
        if not len(left):
            return found
        luck = chances(seed, f"{what} {attempt}", threads[left], turns[left], draws[left])
        drawn = pool[(luck * len(pool)).astype(np.int64)]
        good = may[drawn] & ~(without[left] == drawn[:, None]).any(axis=1)
        found[left[good]] = drawn[good]
        left = left[~good]
    luck = chances(seed, f"{what} {_TRIES}", threads[left], turns[left], draws[left])
    for row, number in zip(left.tolist(), luck.tolist(), strict=True):
        others = np.setdiff1d(np.flatnonzero(may), without[row])
        found[row] = others[int(number * len(others))] if len(others) else -1
    return found
