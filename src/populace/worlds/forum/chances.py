"""Random numbers of a forum, keyed by thread and turn, so that no thread depends on another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from populace.base.randomness import Uniforms, path_key, uniforms

Numbers = npt.NDArray[np.int64]


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
