"""Batches that a device computes while the processor does something else.

Several calls may use one model at the same time. They share a limit on the batches under way: a GPU takes a bounded
number of operations in advance, and whoever launches one more waits, and all work on the processor with it.
"""

import asyncio
import collections
import itertools

from populace.models.pytorch.batches import Batch
from populace.models.pytorch.scoring import Distributions

BegunBatch = list[tuple[Batch, Distributions | None]]
"""A batch with its distributions, which may still be under way, in parts where the memory did not suffice for the
whole; None where it does not suffice for a single prompt."""
SECONDS_BETWEEN_LOOKS = 0.001
"""How long to wait until the next look whether a GPU has computed a batch, which takes a hundred times as long."""


class Pipeline:
    """The batches that a model has under way.

    Args:
        most: How many there may be: enough that the device never waits for the processor, few enough that the
            processor never waits while it launches one.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.calls: list[Lane] = []
        self._numbers = itertools.count()

    def lane(self) -> "Lane":
        """The part of one call, which has to be closed; earlier calls go first."""
        lane = Lane(self, next(self._numbers))
        self.calls.append(lane)
        return lane

    @property
    def futures(self) -> list[asyncio.Future[BegunBatch]]:
        """The batches of all calls which were begun, and are not computed yet."""
        # Copies, since another thread may use the same model with a loop of its own.
        return [batch for lane in tuple(self.calls) for batch in tuple(lane.batches) if not is_computed(batch)]


class Lane:
    """The batches of one call, in their order."""

    def __init__(self, pipeline: Pipeline, number: int) -> None:
        self.batches: collections.deque[asyncio.Future[BegunBatch]] = collections.deque()
        self.number, self.is_waiting = number, False
        self._pipeline = pipeline

    def __len__(self) -> int:
        return len(self.batches)

    def close(self) -> None:
        """Leave the room to others."""
        self._pipeline.calls.remove(self)

    def append(self, batch: asyncio.Future[BegunBatch]) -> None:
        """Add a batch that was begun."""
        self.batches.append(batch)

    def popleft(self) -> asyncio.Future[BegunBatch]:
        """Take out the first batch."""
        return self.batches.popleft()

    @property
    def has_room(self) -> bool:
        """Whether a batch may be begun now."""
        pipeline = self._pipeline
        is_first = not any(lane.is_waiting and lane.number < self.number for lane in tuple(pipeline.calls))
        return is_first and len(pipeline.futures) < pipeline.most

    @property
    def has_result(self) -> bool:
        """Whether the first batch is computed."""
        return bool(self.batches) and is_computed(self.batches[0])

    async def wait(self, *, to_begin: bool = True) -> None:
        """Wait until there may be a result, or room where a batch is to be begun."""
        self.is_waiting = to_begin
        try:
            loop = asyncio.get_running_loop()
            in_thread = [each for each in self._pipeline.futures if not each.done() and each.get_loop() is loop]
            if in_thread:
                await asyncio.wait(in_thread, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
        finally:
            self.is_waiting = False


def is_computed(batch: asyncio.Future[BegunBatch]) -> bool:
    """Whether a batch that was begun is computed, or has failed."""
    if not batch.done() or batch.cancelled() or batch.exception():
        return batch.done()
    return all(distributions is None or distributions.are_ready for _, distributions in batch.result())
