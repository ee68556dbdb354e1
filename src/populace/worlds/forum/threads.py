"""Threads as columns: a row for each planned thread, with its state."""

import numpy as np
import numpy.typing as npt

from populace.base.randomness import Uniforms, path_key, uniforms

Numbers = npt.NDArray[np.int64]


class Threads:
    """The threads of a forum, in the order in which they are planned.

    Args:
        count: The number of threads.
        most: The most replies to each.

    Attributes:
        opener: The number of the opening post of each thread; 0 before it is opened.
        open: Whether a reply may still come.
        locked: Whether a moderator closed the thread.
        turns: How many replies were tried, with those that could not be read.
        limit: How many replies may be tried.
        draw: The number of the random continuation that the thread follows.

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

    def mark_open(self, threads: Numbers, posts: Numbers) -> None:
        """Mark threads as opened by these posts."""
        self.opener[threads] = posts
        self.open[threads] = True

    def growing(self) -> Numbers:
        """The threads that may get one more reply."""
        return np.flatnonzero(self.open & ~self.locked & (self.turns < self.limit))

    def draw_growing(self, seed: int, chance: float, certain: int = -1) -> Numbers:
        """Draw which growing threads get one more reply now, and close the others.

        Args:
            seed: The seed of the run.
            chance: The chance that a thread grows.
            certain: A thread that gets a reply in any case; -1 for none.
        """
        growing = self.growing()
        more = chances(seed, "reply", growing, self.turns[growing], self.draw[growing]) < chance
        more |= growing == certain
        self.open[:] = False
        self.open[growing[more]] = True
        return growing[more]

    def reopen(self, thread: int, draw: int, most: int) -> None:
        """Open a thread again with another random continuation, and allow as many replies as to a new thread."""
        self.open[thread], self.locked[thread], self.draw[thread] = True, False, draw
        self.limit[thread] = self.turns[thread] + most


def chances(seed: int, what: str, threads: Numbers, turns: Numbers, draws: Numbers) -> Uniforms:
    """A uniform random number in [0, 1) for each thread at its turn.

    Args:
        seed: The seed of the run.
        what: What the number decides; different words give independent numbers.
        threads: The threads, by their position in the plan.
        turns: The turn of each thread: how many replies were tried before.
        draws: The number of the random continuation of each thread; 0 is the first.

    Example:
        >>> one, two = np.array([4]), np.array([4, 9])
        >>> zeros = np.zeros(2, np.int64)
        >>> first = chances(1, "reply", one, zeros[:1], zeros[:1])
        >>> bool(first[0] == chances(1, "reply", two, zeros, zeros)[0])
        True
    """
    keys = threads.astype(np.uint64) << np.uint64(32) | draws.astype(np.uint64) << np.uint64(16)
    keys = np.bitwise_or(keys, turns.astype(np.uint64))
    return uniforms(path_key(seed, f"forum/{what}"), keys)
