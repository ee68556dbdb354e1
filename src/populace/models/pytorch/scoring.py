"""The distributions of the first token after many prompts.

A computation is begun and collected later: while a GPU computes a batch, the processor reads the next prompts and works
with the results of the batch before.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from populace.models.pytorch.kernels import log_sums
from populace.models.pytorch.network import Caches, Network
from populace.models.pytorch.option_tokens import OptionTable
from populace.models.pytorch.token_rows import Indices, TokenRows
from populace.models.scored_replies import DECIMALS

_MOST_LIKELY, _LIKELY = 10, 0.001
"""So many of the most likely tokens belong to a distribution, as far as they have this probability."""
_POSSIBLE = 1e-6
"""All tokens belong to it from this probability on, where options are not known."""
_SMALL, _SMALL_SHARE = 1e-4, 1e-3
"""A token that can begin an option is left out if its probability is below the first, and below this share of the most
likely such token: all that are left out move a distribution over options by less than half a hundredth."""
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

    @property
    def are_ready(self) -> bool:
        """Whether the device has computed them."""
        return self._event is None or bool(self._event.query())

    @property
    def are_finite(self) -> npt.NDArray[np.bool_]:
        """Whether each distribution consists of numbers; what a device computes from damaged memory often does not."""
        are_finite: npt.NDArray[np.bool_] = np.isfinite(self._parts[0][:, 0].numpy())
        return are_finite

    def columns(self, most: Indices) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], Indices]:
        """The tokens, their log-probabilities and how many there are for each prompt, one prompt after the other.

        Args:
            most: How many tokens each prompt may have.
        """
        values, places, counts = (part.numpy() for part in self._parts)
        counts = np.minimum(counts, most)
        wanted = np.arange(values.shape[1]) < counts[:, None]
        return places[wanted], values[wanted].astype(np.float64).round(DECIMALS), counts


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

    def begin(self, rows: TokenRows, which: Indices, shared: int, most: int, options: OptionTable) -> Distributions:
        """Begin to compute a batch.

        Args:
            rows: Prompts.
            which: Which of them are computed.
            shared: How many tokens they begin with in common; these are computed once, and kept for the next batch.
            most: How many tokens are wanted for a prompt at most.
            options: The tokens with which the options of these prompts can begin.
        """
        import torch

        network = self._network
        caches = self._shared_caches(rows, int(which[0]), shared) if shared else None
        tokens, last = rows.table(which, shared), rows.lengths[which] - shared - 1
        states, _ = network.read(self._on_device(tokens), shared=caches, last=self._on_device(last))
        numbers, table = self._on_device(options.numbers), self._on_device(options.tokens)
        most = min(most, self._token_count)
        likely = min(most, _MOST_LIKELY) if options.are_known else most
        size = max(1, _SCORES_AT_ONCE // network.head.shape[0])
        parts = [
            self._best(states[begin : begin + size], likely, most, table[numbers[begin : begin + size]])
            for begin in range(0, len(which), size)
        ]
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

    def _best(self, states: Any, likely: int, most: int, options: Any) -> tuple[Any, Any, Any]:
        """The tokens of each distribution with their log-probabilities, in falling order, and how many they are.

        Args:
            states: The state after each prompt.
            likely: How many of the most likely tokens are looked at.
            most: How many tokens there may be.
            options: The tokens with which options can begin, in a row for each prompt, filled up with -1; a row without
                any stands for options that are not known.
        """
        import torch

        # The scores stay as short as they are: half as many bytes are searched for the largest.
        logits = self._network.logits(states)
        sums = log_sums(logits)
        is_known = (options >= 0).any(-1, keepdim=True)
        values, places = logits[:, : self._token_count].topk(likely, -1)
        values = values.float() - sums
        rank = torch.arange(values.shape[1], device=values.device)
        least = torch.where(is_known, math.log(_LIKELY), math.log(_POSSIBLE))
        belongs = (rank == 0) | (values >= least) & (~is_known | (rank < _MOST_LIKELY))
        values = values.masked_fill(~belongs, -torch.inf)
        if options.shape[1]:
            chosen = (logits.gather(-1, options.clamp(min=0)).float() - sums).masked_fill(options < 0, -torch.inf)
            least = (chosen.amax(-1, keepdim=True) + math.log(_SMALL_SHARE)).clamp(max=math.log(_SMALL))
            is_in = ((options[:, :, None] == places[:, None, :]) & belongs[:, None, :]).any(-1)
            values = torch.cat([values, chosen.masked_fill(is_in | (chosen < least), -torch.inf)], -1)
            values, order = values.sort(dim=-1, descending=True, stable=True)
            places = torch.cat([places, options], -1).gather(-1, order)
        counts = (values > -torch.inf).sum(-1).clamp(min=1, max=most)
        return values[:, :most], places[:, :most].to(torch.int32), counts
