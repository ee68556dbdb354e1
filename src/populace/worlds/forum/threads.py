"""Threads as columns: one row for each that is planned, whether it is open, and how far it has come."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from populace.worlds.forum.chances import Numbers, chances


class Threads:
    """The threads of a forum, in the order in which they are planned.

    Args:
        count: How many there will be.
        most: How many replies each takes at most.

    Attributes:
        opener: The number of the post that opened each; 0 before.
        open: Whether a reply may still come.
        locked: Whether a moderator closed it.
        turns: How many replies were tried; one that could not be read counts as tried.
        limit: How many may be tried.
        draw: Which of several ways to go on it follows.

    Example:
        >>> threads = Threads(2, most=8)
        >>> threads.mark_open(np.array([0]), np.array([1]))
        >>> threads.growing().tolist()
        [0]
    """

    def __init__(self, count: int, most: int) -> None:
        self.opener: Numbers = np.zeros(count, np.int64)
        self.open: npt.NDArray[np.bool_] = np.zeros(count, bool)
        self.locked: npt.NDArray[np.bool_] = np.zeros(count, bool)
        self.turns: Numbers = np.zeros(count, np.int64)
        self.limit: Numbers = np.full(count, most, np.int64)
        self.draw: Numbers = np.zeros(count, np.int64)

    def __len__(self) -> int:
        return len(self.open)

    def mark_open(self, which: Numbers, posts: Numbers) -> None:
        """Threads are opened by these posts."""
        self.opener[which] = posts
        self.open[which] = True

    def growing(self) -> Numbers:
        """The threads that may take one more reply."""
        return np.flatnonzero(self.open & ~self.locked & (self.turns < self.limit))

    def go_on(self, seed: int, chance: float, surely: int = -1) -> Numbers:
        """Draw which growing threads take one more reply now, one of them surely; the others come to rest."""
        growing = self.growing()
        more = chances(seed, "reply", growing, self.turns[growing], self.draw[growing]) < chance
        more |= growing == surely
        self.open[:] = False
        self.open[growing[more]] = True
        return growing[more]

    def reopen(self, thread: int, draw: int, most: int) -> None:
        """A thread goes on from where it stands, in another way, with room for as many replies as a new one."""
        self.open[thread], self.locked[thread], self.draw[thread] = True, False, draw
        self.limit[thread] = self.turns[thread] + most
