"""How requests are shared out among several engines of one file, so that each engine computes as little as it can."""

from collections import deque
from collections.abc import Sequence

from populace.models.base import Request
from populace.models.embedded_engine import EmbeddedEngine


class Shares:
    """A queue of requests for each engine.

    Requests are sorted by their text, so that neighbours share the longest beginning. A request goes to the engine that
    has computed most of its first messages before. Requests that no engine knows better than another are divided into
    runs of neighbours of about equal length. An engine without work takes the last request of the longest queue. It
    leaves a single request to an engine that has computed its beginning, which takes about half of the work there.

    Args:
        requests: The requests.
        engines: The engines that are to answer them.
    """

    def __init__(self, requests: Sequence[Request], engines: Sequence[EmbeddedEngine]) -> None:
        order = sorted(range(len(requests)), key=lambda index: requests[index].messages)
        places: dict[int, int] = {}
        lengths = [0] * len(engines)
        unknown = []
        for index in order:
            known = [engine.known_messages(requests[index]) for engine in engines]
            place = known.index(max(known))
            if min(known) == max(known):
                unknown.append(index)
            else:
                places[index] = place
                lengths[place] += _length(requests[index], known[place])
        remaining = sum(_length(requests[index], 0) for index in unknown)
        place = 0
        for index in unknown:
            length = _length(requests[index], 0)
            fair = (sum(lengths[place:]) + remaining) / (len(engines) - place)
            if place < len(engines) - 1 and lengths[place] + length / 2 > fair:
                place += 1
            places[index] = place
            lengths[place] += length
            remaining -= length
        self._requests, self._engines = requests, engines
        self._queues: list[deque[int]] = [deque() for _ in engines]
        for index in order:
            self._queues[places[index]].append(index)

    def next_of(self, place: int) -> int | None:
        """The request that the engine at this place takes next; None: there is none for it."""
        if self._queues[place]:
            return self._queues[place][0]
        owner = self._longest()
        queue = self._queues[owner]
        if not queue or (len(queue) == 1 and self._knows_more(owner, place, queue[-1])):
            return None
        return queue[-1]

    def take(self, place: int) -> None:
        """Remove the request that `next_of` gives."""
        if self._queues[place]:
            self._queues[place].popleft()
        else:
            self._queues[self._longest()].pop()

    def _knows_more(self, one: int, other: int, index: int) -> bool:
        known, less = (self._engines[place].known_messages(self._requests[index]) for place in (one, other))
        return known > less

    def _longest(self) -> int:
        return max(range(len(self._queues)), key=lambda place: len(self._queues[place]))


def _length(request: Request, known: int) -> int:
    return 1 + sum(len(text) for _, text in request.messages[known:])
