"""Requests that are being bought, and what the model replied so far."""

from __future__ import annotations

import collections
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from populace.base.errors import ModelError
from populace.broker.batch_storage import BatchUnderWay
from populace.journal import OnFailure
from populace.models import Failure, Model, Reply, ReplyOrFailure, Request

Batch = list[tuple[int, ReplyOrFailure]]
"""Results with the numbers of their requests, as a model gives them."""
_INDEX = operator.itemgetter(0)
_NO_RESULT = Failure("unanswered", "the model gave no result")
_ABANDONED = Failure("unanswered", "the call was abandoned")


@dataclass
class Purchase:
    """Requests that are not in the store, and their results.

    Attributes:
        model: Who is asked.
        keys: The key of each request.
        requests: What is asked.
        purpose: What the calls are counted under.
        on_failure: What happens where the service fails.
        outcomes: The result of each request that others may use; None for the others.
        outcome_count: How many there are.
        arrived_count: How many there are with those that are being stored.
        storing: Batches that are on their way to the store.
    """

    model: Model
    keys: Sequence[str]
    requests: Sequence[Request]
    purpose: str
    on_failure: OnFailure
    outcomes: list[ReplyOrFailure | None] = field(init=False)
    outcome_count: int = 0
    arrived_count: int = 0
    storing: collections.deque[BatchUnderWay] = field(default_factory=collections.deque)

    def __post_init__(self) -> None:
        self.outcomes = [None] * len(self.keys)
        self._arrived = bytearray(len(self.keys))

    @cached_property
    def _places(self) -> dict[str, int]:
        return dict(zip(self.keys, range(len(self.keys)), strict=True))

    def outcome(self, key: str) -> ReplyOrFailure:
        """The result of a request, once all have ended."""
        return self.outcomes[self._places[key]] or _ABANDONED

    def results(self) -> list[ReplyOrFailure]:
        """The result of each request, once all have ended; a failure where the model gave none."""
        if self.outcome_count < len(self.keys):
            self.outcomes = [_NO_RESULT if each is None else each for each in self.outcomes]
        return cast(list[ReplyOrFailure], self.outcomes)

    def take(self, batch: Batch) -> tuple[Sequence[int], Batch]:
        """The first outcome of each request in a batch of the model; a second one of the same request is dropped.

        Returns:
            The numbers of the requests, a range where they follow each other, and the batch.
        """
        indices: Sequence[int] = list(map(_INDEX, batch))
        first, end = (indices[0], indices[0] + len(indices)) if indices else (0, 0)
        in_turn = first >= 0 and end <= len(self.keys) and indices == list(range(first, end))
        if in_turn and self._arrived.find(1, first, end) < 0:
            self._arrived[first:end] = b"\1" * len(indices)
            self.arrived_count += len(indices)
            return range(first, end), batch
        if not (min(indices) >= 0 and max(indices) < len(self.keys)):
            raise ModelError(f"{self.model.spec} replied to a request that it did not get, number {max(indices)}.")
        new: Batch = []
        for pair in batch:
            if not self._arrived[pair[0]]:
                self._arrived[pair[0]] = 1
                new.append(pair)
        self.arrived_count += len(new)
        return (indices, batch) if len(new) == len(batch) else (list(map(_INDEX, new)), new)

    def keys_of(self, indices: Sequence[int]) -> list[str]:
        """The keys of requests, by their numbers."""
        if isinstance(indices, range):
            return list(self.keys[indices.start : indices.stop])
        return list(map(self.keys.__getitem__, indices))

    def keep(self, indices: Sequence[int], outcomes: Sequence[ReplyOrFailure], earlier: Mapping[str, Reply]) -> None:
        """Let others use the results of requests that have none yet.

        Args:
            indices: The numbers of the requests.
            outcomes: Their results.
            earlier: The replies that another process had stored first, and which count in place of these.
        """
        if isinstance(indices, range):
            self.outcomes[indices.start : indices.stop] = outcomes
        else:
            for index, outcome in zip(indices, outcomes, strict=True):
                self.outcomes[index] = outcome
        for key, reply in earlier.items():
            self.outcomes[self._places[key]] = reply
        self.outcome_count += len(indices)
