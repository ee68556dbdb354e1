"""The servers behind one name: which of them gets the next request, and which is left out for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from populace.base.errors import ModelError

_FIRST_REST_S = 1.0
_LONGEST_REST_S = 30.0
_FAULTS_IN_A_ROW = 3


class Endpoint:
    """One server.

    Attributes:
        address: Its address, up to and including `/v1`.
        under_way: How many prompts it is answering.
        answered: How many it has answered.
        admitted: Whether it is known to serve the model; one that failed must be asked again.
        in_question: Whether it is being asked.
        refusal: Why it must not be used, where it said so when it was last asked: its key, its model or its credit.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.under_way = 0
        self.answered = 0
        self.admitted = False
        self.in_question = False
        self.refusal: ModelError | None = None
        self._rest_until = 0.0
        self._rest_s = _FIRST_REST_S
        self._faults = 0

    def __repr__(self) -> str:
        return f"Endpoint({self.address!r})"


class Endpoints:
    """Servers that answer alike. The least busy one gets the next request; one that fails rests, then is tried again.

    Args:
        addresses: The addresses.
        clock: Seconds since any moment.

    Example:
        >>> endpoints = Endpoints(["http://a/v1", "http://b/v1"])
        >>> first = endpoints.pick()
        >>> first.under_way += 1
        >>> endpoints.pick().address
        'http://b/v1'
    """

    def __init__(self, addresses: Sequence[str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.all = [Endpoint(address) for address in addresses]
        self._clock = clock

    def __len__(self) -> int:
        return len(self.all)

    def pick(self, avoid: Endpoint | None = None, *, without: Collection[Endpoint] = ()) -> Endpoint:
        """The least busy server that does not rest; where all rest, the one whose rest ends first.

        Args:
            avoid: The server that has just failed; it is only asked again where no other can be.
            without: Servers that must not be asked; not all of them.
        """
        if len(self.all) == 1:
            return self.all[0]
        now = self._clock()
        able = [each for each in self.all if each not in without]
        awake = [each for each in able if each._rest_until <= now and not each.in_question]
        if awake:
            return min(awake, key=lambda each: (each is avoid, each.under_way, each.answered))
        return min(able, key=lambda each: (each is avoid, each._rest_until))

    def other_than(self, *endpoints: Endpoint) -> bool:
        """Whether another server than these is in use and does not rest."""
        now = self._clock()
        return any(each.admitted and each._rest_until <= now for each in self.all if each not in endpoints)

    def rest_s(self, *, without: Collection[Endpoint]) -> float:
        """In how many seconds the first server except these may be asked; 0 where there is no other."""
        ends = [each._rest_until for each in self.all if each not in without]
        return max(0.0, min(ends, default=0.0) - self._clock())

    @property
    def all_refuse(self) -> bool:
        """Whether every server said, when it was last asked, that it must not be used."""
        return all(each.refusal is not None for each in self.all)

    @property
    def last_refusal(self) -> ModelError | None:
        """Why a server must not be used, where none is in use; None where one is, or where none said so."""
        if any(each.admitted for each in self.all):
            return None
        return next((each.refusal for each in self.all if each.refusal is not None), None)

    def admit(self, endpoint: Endpoint) -> None:
        """A server is known to serve the model from now on, and may be asked at once."""
        endpoint.admitted, endpoint.refusal = True, None
        endpoint._rest_until = 0.0

    def refuse(self, endpoint: Endpoint, refusal: ModelError) -> None:
        """A server said that it must not be used: it rests, and is asked again whether it can be before it is used."""
        self.fail(endpoint, dead=True)
        endpoint.admitted, endpoint.refusal = False, refusal

    def succeed(self, endpoint: Endpoint) -> None:
        """A server answered."""
        endpoint.answered += 1
        endpoint.refusal = None
        endpoint._faults, endpoint._rest_s = 0, _FIRST_REST_S

    def rest(self, endpoint: Endpoint, seconds: float) -> None:
        """A server asks to be left alone for a while."""
        endpoint._rest_until = max(endpoint._rest_until, self._clock() + seconds)

    def fail(self, endpoint: Endpoint, *, dead: bool) -> None:
        """A server failed: it rests at once where its connection broke, else after several failures in a row.

        Each rest without a reply in between is twice as long as the one before.
        """
        endpoint._faults += 1
        if (dead or endpoint._faults >= _FAULTS_IN_A_ROW) and endpoint._rest_until <= self._clock():
            endpoint.admitted = False
            self.rest(endpoint, endpoint._rest_s)
            endpoint._rest_s = min(_LONGEST_REST_S, 2 * endpoint._rest_s)
