"""The distributions of the first token after many prompts.

A computation is begun and collected later: while a GPU computes a batch, the processor reads the next prompts and works
with the results of the batch before.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from populace.models.pytorch.network import Caches, Network
from populace.models.pytorch.token_rows import Indices, TokenRows

_FEWEST_TOKENS, _MASS = 10, 0.9999
"""So many of the most likely tokens always belong to a distribution. Of the others those do that can begin an answer,
up to the token at which all tokens so far hold this mass."""
_DECIMALS = 5
"""Of log-probabilities: more would be noise, and take as much room again in the call store."""
_SCORES_AT_ONCE = 200_000_000
"""How many scores of tokens are in memory at once."""


class Distributions:
    """The most likely tokens after each prompt of a batch, which may still be under way.

    Args:
        values: Their log-probabilities, in falling order.
        places: The tokens.
        counts: How many of them matter.
        event: What says that they have been copied; None where they have.
    """

    def __init__(self, values: Any, places: Any, counts: Any, event: Any) -> None:
        self._parts, self._event = (values, places, counts), event

    def wait(self) -> None:
        """Wait until the device has computed them."""
        if self._event is not None:
            self._event.synchronize()

    @property
    def are_finite(self) -> npt.NDArray[np.bool_]:
        """Whether each distribution consists of numbers; what a device computes from damaged memory often does not."""
        are_finite: npt.NDArray[np.bool_] = np.isfinite(self._parts[0][:, 0].numpy())
        return are_finite

    def pairs(
        self, texts: Sequence[str], most: Indices, can_begin: Callable[[npt.NDArray[np.int32]], npt.NDArray[np.bool_]]
    ) -> tuple[list[tuple[str, float]], list[int]]:
        """The texts of tokens with their log-probabilities, for one prompt after the other, and where each ends.

        Args:
            texts: The text of every token.
            most: How many tokens each prompt may have.
            can_begin: Says which of less likely tokens, in a row for each prompt, can begin an answer.
        """
        values, places, counts = (part.numpy() for part in self._parts)
        wanted = np.arange(values.shape[1]) < np.minimum(counts, most)[:, None]
        wanted[:, _FEWEST_TOKENS:] &= can_begin(places[:, _FEWEST_TOKENS:])
        tokens = map(texts.__getitem__, places[wanted].tolist())
        numbers = values[wanted].astype(np.float64).round(_DECIMALS)
        return list(zip(tokens, numbers.tolist(), strict=True)), np.cumsum(wanted.sum(1)).tolist()


class Scorer:
    """Computes distributions with a network.

    Args:
        network: The network.
        token_count: How many tokens have a text; the network may have scores for more.
    """

    def __init__(self, network: Network, token_count: int) -> None:
        self._network, self._token_count = network, token_count
        self._beginning: tuple[bytes, Caches] | None = None

    def forget(self) -> None:
        """Let go of the beginning of the last batch."""
        self._beginning = None

    def begin(self, rows: TokenRows, which: Indices, shared: int, most: int) -> Distributions:
        """Begin to compute a batch.

        Args:
            rows: Prompts.
            which: Which of them are computed.
            shared: How many tokens they begin with in common; these are computed once, and kept for the next batch.
            most: How many tokens are wanted for a prompt at most.
        """
        import torch

        network = self._network
        caches = self._shared_caches(rows, int(which[0]), shared) if shared else None
        tokens, last = rows.table(which, shared), rows.lengths[which] - shared - 1
        found, _ = network.read(self._on_device(tokens), shared=caches)
        states = found[torch.arange(len(which), device=network.device), self._on_device(last)]
        del found
        most = min(most, self._token_count)
        size = max(1, _SCORES_AT_ONCE // network.head.shape[0])
        parts = [self._best(states[begin : begin + size], most) for begin in range(0, len(which), size)]
        values, places, counts = (torch.cat(each) for each in zip(*parts, strict=True))
        event = None
        if network.device.type == "cuda":
            # The memory on this side is page-locked, and nobody reads it before the event.
            values, places, counts = (part.to("cpu", non_blocking=True) for part in (values, places, counts))
            event = torch.cuda.Event()
            event.record()
        return Distributions(values, places, counts, event)

    def _shared_caches(self, rows: TokenRows, first: int, shared: int) -> Caches:
        tokens = np.array(rows.row(first)[:shared], np.int32)
        key = tokens.tobytes()
        if self._beginning is None or self._beginning[0] != key:
            self._beginning = None
            _, caches = self._network.read(self._on_device(tokens[None]), caches=True)
            self._beginning = key, caches
        return self._beginning[1]

    def _on_device(self, numbers: npt.NDArray[Any]) -> Any:
        import torch

        tensor = torch.from_numpy(numbers)
        if self._network.device.type != "cuda":
            return tensor
        # A copy from page-locked memory does not wait for the batch before; the memory is used again only after it.
        return tensor.pin_memory().to(self._network.device, non_blocking=True)

    def _best(self, states: Any, most: int) -> tuple[Any, Any, Any]:
        import torch

        logits = self._network.logits(states)
        values, places = logits[:, : self._token_count].topk(most, -1)
        values = values - logits.logsumexp(-1, keepdim=True)
        counts = (values.exp().cumsum(-1) < _MASS).sum(-1).add(1).clamp(min=_FEWEST_TOKENS, max=most)
        return values, places.to(torch.int32), counts
