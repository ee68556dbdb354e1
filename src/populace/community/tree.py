"""The reading order of the posts of a thread, and the depth of each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def reading_order(post: Numbers, parent: Numbers) -> tuple[Numbers, Numbers]:
    """The position of every post when each is followed by its replies, and its depth.

    Threads come in the order of their first posts, and replies to one post in the order of their numbers.

    Args:
        post: The numbers of the posts, ascending.
        parent: The number of the post to which each replies; 0 or an unknown number where a post opens a thread.

    Returns:
        For each post its position and its depth, both from 0.

    Example:
        >>> place, depth = reading_order(np.array([1, 2, 3, 4]), np.array([0, 0, 1, 3]))
        >>> place.tolist(), depth.tolist()
        ([0, 3, 1, 2], [0, 0, 1, 2])
    """
    count = len(post)
    above = np.searchsorted(post, parent)
    above = np.where((above < count) & (post[np.minimum(above, count - 1)] == parent), above, -1) if count else above
    depth = np.zeros(count, np.int64)
    level, levels = np.flatnonzero(above < 0), []
    reached = np.zeros(count, bool)
    reached[level] = True
    while level.size:
        levels.append(level)
        # All posts of the next level are those whose parent has been reached.
        level = np.flatnonzero(~reached & (above >= 0) & reached[above])
        depth[level], reached[level] = len(levels), True
    size = np.ones(count, np.int64)
    for level in reversed(levels[1:]):
        np.add.at(size, above[level], size[level])
    place = np.zeros(count, np.int64)
    for number, level in enumerate(levels):
        ordered = level[np.argsort(above[level], kind="stable")] if number else level
        before = np.cumsum(size[ordered]) - size[ordered]
        if number:
            parents = above[ordered]
            first = np.searchsorted(parents, parents)
            place[ordered] = place[parents] + 1 + before - before[first]
        else:
            place[ordered] = before
    return place, depth
