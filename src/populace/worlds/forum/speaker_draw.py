"""Draws who speaks next in a thread: somebody new to it or an earlier participant, never the last speaker.

People are whole numbers from 0 here. Where a draw falls on a person who may not speak, it is
repeated, so that one person more or less changes only the threads that drew that person.
"""

import numpy as np
import numpy.typing as npt

from populace.worlds.forum.threads import Numbers, chances

_TRIES = 40
"""After this many unsuccessful draws, one is made among the people who may speak."""


class SpeakerDraw:
    """Knows who has spoken in which thread, and draws who opens threads and who replies.

    Args:
        threads: The number of threads.

    Attributes:
        pool: The people among whom draws are made; everybody where it is empty. It excludes guests, since one more
            person in it would change every draw.
        last: The last speaker of each thread; -1 before anybody has spoken.
    """

    def __init__(self, threads: int) -> None:
        self.pool: Numbers = np.zeros(0, np.int64)
        self.last: Numbers = np.full(threads, -1, np.int64)
        self._participants: Numbers = np.full((threads, 4), -1, np.int64)
        self._count: Numbers = np.zeros(threads, np.int64)

    def record(self, threads: Numbers, people: Numbers) -> None:
        """Record that these people spoke in these threads, one in each."""
        self.last[threads] = people
        is_new = ~(self._participants[threads] == people[:, None]).any(axis=1)
        threads, people = threads[is_new], people[is_new]
        if len(threads) and self._count[threads].max() == self._participants.shape[1]:
            self._participants = np.hstack([self._participants, np.full_like(self._participants, -1)])
        self._participants[threads, self._count[threads]] = people
        self._count[threads] += 1

    def openers(self, seed: int, threads: Numbers, may: npt.NDArray[np.bool_]) -> Numbers:
        """Who opens each thread, all different; -1 where nobody is left who may."""
        openers = np.full(len(threads), -1, np.int64)
        free, remaining, zeros = may.copy(), np.arange(len(threads)), np.zeros(len(threads), np.int64)
        for attempt in range(_TRIES):
            if not len(remaining) or not free.any():
                return openers
            luck = chances(seed, f"opener {attempt}", threads[remaining], zeros[remaining], zeros[remaining])
            people = self._pool(may)[(luck * len(self._pool(may))).astype(np.int64)]
            is_first = np.zeros(len(remaining), bool)
            is_first[np.unique(people, return_index=True)[1]] = True
            valid = is_first & free[people]
            openers[remaining[valid]], free[people[valid]] = people[valid], False
            remaining = remaining[~valid]
        others = np.flatnonzero(free)[: len(remaining)]
        openers[remaining[: len(others)]] = others
        return openers

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

        With `new_chance` it is a person who has not spoken there, otherwise one of the earlier participants except the
        last speaker, each with the same chance. Where there is nobody of one kind, it is one of the other.

        Args:
            seed: The seed of the run.
            threads: The threads.
            turns: How many replies were tried in each before.
            draws: The number of the random continuation of each thread.
            join: For each person, whether they may enter a thread.
            speak: For each person, whether they may speak again in a thread that they are in.
            new_chance: The chance of a person who has not spoken there.
        """
        participants = self._participants[threads]
        eligible = (participants >= 0) & (participants != self.last[threads][:, None]) & speak[participants]
        old = _pick(participants, eligible, chances(seed, "who again", threads, turns, draws))
        prefer_new = (chances(seed, "new", threads, turns, draws) < new_chance) | (old < 0)
        new = np.full(len(threads), -1, np.int64)
        keys = (threads[prefer_new], turns[prefer_new], draws[prefer_new])
        new[prefer_new] = _draw_new(seed, *keys, join, self._pool(join), participants[prefer_new])
        return np.where(prefer_new & (new >= 0), new, old)

    def _pool(self, may: npt.NDArray[np.bool_]) -> Numbers:
        return self.pool if len(self.pool) else np.arange(len(may))


def _pick(people: Numbers, eligible: npt.NDArray[np.bool_], luck: npt.NDArray[np.float64]) -> Numbers:
    """One of the eligible people of each row, chosen by a number in [0, 1); -1 where there is none."""
    count = eligible.sum(axis=1)
    rank = np.cumsum(eligible, axis=1) - 1
    target = np.minimum((luck * count).astype(np.int64), count - 1)
    is_target = eligible & (rank == target[:, None])
    return np.where(count > 0, people[np.arange(len(people)), is_target.argmax(axis=1)], -1)


def _draw_new(
    seed: int,
    threads: Numbers,
    turns: Numbers,
    draws: Numbers,
    may: npt.NDArray[np.bool_],
    pool: Numbers,
    without: Numbers,
) -> Numbers:
    """For each thread a person who may enter it, except those in its row of `without`, all with the same chance."""
    people = np.full(len(threads), -1, np.int64)
    if not may.any():
        return people
    remaining = np.arange(len(threads))
    for attempt in range(_TRIES):
        if not len(remaining):
            return people
        luck = chances(seed, f"who new {attempt}", threads[remaining], turns[remaining], draws[remaining])
        candidates = pool[(luck * len(pool)).astype(np.int64)]
        valid = may[candidates] & ~(without[remaining] == candidates[:, None]).any(axis=1)
        people[remaining[valid]] = candidates[valid]
        remaining = remaining[~valid]
    luck = chances(seed, f"who new {_TRIES}", threads[remaining], turns[remaining], draws[remaining])
    for row, number in zip(remaining.tolist(), luck.tolist(), strict=True):
        others = np.setdiff1d(np.flatnonzero(may), without[row])
        people[row] = others[int(number * len(others))] if len(others) else -1
    return people
