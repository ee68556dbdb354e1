"""Replies written token by token, many side by side.

The caches of keys and values have a fixed size, and on a GPU one step of all rows is recorded once as a CUDA graph and
then replayed: launching its hundreds of kernels one by one would take several times as long as computing them.

On a GPU, the shapes of all computations for a prompt depend on the prompt alone: rows are filled up to a fixed number,
and lengths to steps. So the libraries choose the same kernels whatever else is written at the same time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from populace.models.pytorch.network import Network

TOP_K, TOP_P, MIN_P = 40, 0.95, 0.05
_CAPACITY_STEP = 512
_WIDTH_STEP = 256
_PROMPTS_AT_ONCE = 4
_STEPS_BETWEEN_CHECKS = 8
_MOST_PLANS = 3


@dataclass(frozen=True)
class WrittenReply:
    """The tokens of a reply, and whether it ended of itself."""

    tokens: tuple[int, ...]
    ended: bool


@dataclass(frozen=True)
class Draft:
    """A reply to be written.

    Attributes:
        prompt: The tokens of the prompt.
        most: How many tokens the reply may have.
        temperature: The temperature of sampling.
        seed: The seed of its random numbers.
    """

    prompt: Sequence[int]
    most: int
    temperature: float
    seed: int

    @property
    def capacity(self) -> int:
        """How many tokens the caches must hold for it, in steps."""
        return -(-(len(self.prompt) + self.most) // _CAPACITY_STEP) * _CAPACITY_STEP


class Writer:
    """Writes replies with a network.

    Args:
        network: The network.
        ends: The tokens that end a reply.
    """

    def __init__(self, network: Network, ends: Sequence[int]) -> None:
        import torch

        self._network = network
        self._ends = torch.tensor(list(ends), device=network.device)
        self._plans: dict[tuple[int, int, int], _Plan] = {}

    def write(self, drafts: Sequence[Draft], rows: int) -> list[WrittenReply | None]:
        """Write replies side by side; None in place of one for which the device returned something that is no number.

        Args:
            drafts: The replies to be written, all of the same capacity, and at most as many as there are rows.
            rows: How many rows are computed; on a GPU those that are left over are computed as well.
        """
        longest = -(-max(draft.most for draft in drafts) // 128) * 128
        plan = self._plan(rows, drafts[0].capacity, longest)
        states = plan.fill(drafts)
        plan.choose(states)
        for step in range(1, max(draft.most for draft in drafts)):
            if step % _STEPS_BETWEEN_CHECKS == 0 and bool(plan.finished[: len(drafts)].all()):
                break
            plan.step()
        written = plan.written[: len(drafts)].cpu().numpy()
        ends, are_finite = set(self._ends.tolist()), plan.are_finite[: len(drafts)].tolist()
        return [
            _reply(row, draft.most, ends) if is_finite else None
            for row, draft, is_finite in zip(written.tolist(), drafts, are_finite, strict=True)
        ]

    def forget(self) -> None:
        """Let go of all caches and graphs."""
        self._plans.clear()

    def _plan(self, rows: int, capacity: int, longest: int) -> "_Plan":
        key = (rows, capacity, longest)
        plan = self._plans.pop(key, None)
        if plan is None:
            while len(self._plans) >= _MOST_PLANS:
                self._plans.pop(next(iter(self._plans)))
            plan = _Plan(self._network, self._ends, rows, capacity, longest)
        self._plans[key] = plan
        return plan


class _Plan:
    """Caches and buffers for a number of rows, and on a GPU the graph of one step."""

    def __init__(self, network: Network, ends: Any, rows: int, capacity: int, longest: int) -> None:
        import torch

        device, shape = network.device, network.shape
        self.network, self.ends, self.rows, self.longest = network, ends, rows, longest
        size = (shape.layers, rows, shape.kv_heads, capacity, shape.head_width)
        self.keys, self.values = (torch.zeros(size, device=device, dtype=network.number_type) for _ in range(2))
        self.lengths = torch.ones(rows, device=device, dtype=torch.long)
        self.count = torch.zeros(1, device=device, dtype=torch.long)
        self.limits = torch.ones(rows, device=device, dtype=torch.long)
        self.tokens = torch.zeros(rows, device=device, dtype=torch.long)
        self.finished = torch.zeros(rows, device=device, dtype=torch.bool)
        self.are_finite = torch.ones(rows, device=device, dtype=torch.bool)
        self.temperatures = torch.ones((rows, 1), device=device)
        self.draws = torch.zeros((rows, longest), device=device)
        self.written = torch.zeros((rows, longest), device=device, dtype=torch.long)
        self._graph: Any = None

    def fill(self, drafts: Sequence[Draft]) -> Any:
        """Read the prompts into the caches; returns the state after the last token of each row."""
        import torch

        device = self.network.device
        count = len(drafts)
        draws = np.zeros((self.rows, self.longest), np.float32)
        for row, draft in enumerate(drafts):
            draws[row, : draft.most] = np.random.Generator(np.random.Philox(key=draft.seed)).random(draft.most)
        self.draws.copy_(torch.from_numpy(draws))
        for buffer, rest, values in (
            (self.lengths, 1, [len(draft.prompt) for draft in drafts]),
            (self.limits, 1, [draft.most for draft in drafts]),
            (self.temperatures[:, 0], 1.0, [draft.temperature for draft in drafts]),
        ):
            buffer.fill_(rest)
            buffer[:count] = torch.tensor(values, device=device, dtype=buffer.dtype)
        self.count.zero_()
        self.are_finite.fill_(True)
        self.finished.fill_(True)
        self.finished[:count] = False
        states = torch.zeros((self.rows, self.network.embeddings.shape[1]), device=device, dtype=self.keys.dtype)
        widths: dict[int, list[int]] = {}
        for row, draft in enumerate(drafts):
            widths.setdefault(self._width(len(draft.prompt)), []).append(row)
        for width, which in sorted(widths.items()):
            for begin in range(0, len(which), _PROMPTS_AT_ONCE):
                self._read(drafts, which[begin : begin + _PROMPTS_AT_ONCE], width, states)
        return states

    def _width(self, length: int) -> int:
        step = _WIDTH_STEP if self.network.device.type == "cuda" else 16
        return min(-(-length // step) * step, int(self.keys.shape[3]))

    def _read(self, drafts: Sequence[Draft], which: list[int], width: int, states: Any) -> None:
        import torch

        height = _PROMPTS_AT_ONCE if self.network.device.type == "cuda" else len(which)
        tokens = np.zeros((height, width), np.int64)
        for place, row in enumerate(which):
            tokens[place, : len(drafts[row].prompt)] = drafts[row].prompt
        rows = torch.tensor(which, device=self.network.device)
        last = torch.zeros(height, device=self.network.device, dtype=torch.long)
        last[: len(which)] = self.lengths[rows] - 1
        ends, caches = self.network.read(torch.from_numpy(tokens).to(self.network.device), caches=True, last=last)
        for layer, (keys, values) in enumerate(caches):
            self.keys[layer, rows, :, :width] = keys[: len(which)]
            self.values[layer, rows, :, :width] = values[: len(which)]
        states[rows] = ends[: len(which)]

    def choose(self, states: Any) -> None:
        """Draw the next token of each row and enter it."""
        uniform = self.draws.index_select(1, self.count)[:, 0]
        logits = self.network.logits(states).float()
        self.are_finite &= self.finished | logits.sum(-1).isfinite()
        self.tokens.copy_(draw(logits, self.temperatures, uniform))
        self.written.index_copy_(1, self.count, self.tokens[:, None])
        ended = (self.tokens[:, None] == self.ends).any(-1)
        self.finished |= ended | (self.count + 1 >= self.limits)

    def step(self) -> None:
        """Write one more token in each row."""
        if self.network.device.type == "cuda":
            if self._graph is None:
                self._graph = self._recorded()
            self._graph.replay()
        else:
            self._advance()

    def _advance(self) -> None:
        places = (self.lengths + self.count).clamp(max=self.keys.shape[3] - 1)
        states = self.network.advance(self.tokens, places, self.keys, self.values)
        self.count += 1
        self.choose(states)

    def _recorded(self) -> Any:
        """The graph of one step. The step is computed once before, so that libraries prepare themselves."""
        import torch

        before = [each.clone() for each in (self.count, self.tokens, self.finished, self.written)]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._advance()
        torch.cuda.current_stream().wait_stream(stream)
        for buffer, value in zip((self.count, self.tokens, self.finished, self.written), before, strict=True):
            buffer.copy_(value)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._advance()
        return graph


def draw(logits: Any, temperatures: Any, uniform: Any) -> Any:
    """A token for each row: the most likely one at temperature 0, else drawn from the likely ones.

    Args:
        logits: The score of every token, by row.
        temperatures: The temperature of each row, as a column.
        uniform: A random number between 0 and 1 for each row.
    """
    import torch

    best, tokens = logits.topk(min(TOP_K, logits.shape[-1]), -1)
    cold = temperatures <= 0
    chances = torch.softmax(best, -1)
    # Which tokens are likely enough is decided before the temperature, as llama.cpp does it.
    likely = (chances.cumsum(-1) - chances < TOP_P) & (chances >= MIN_P * chances[:, :1])
    warm = torch.softmax(best / torch.where(cold, torch.ones_like(temperatures), temperatures), -1)
    bounds = torch.where(likely, warm, torch.zeros_like(warm)).cumsum(-1)
    place = (bounds <= uniform[:, None] * bounds[:, -1:]).sum(-1, keepdim=True)
    place = torch.minimum(place, likely.sum(-1, keepdim=True) - 1)
    return tokens.gather(-1, torch.where(cold, torch.zeros_like(place), place))[:, 0]


def _reply(tokens: list[int], most: int, ends: set[int]) -> WrittenReply:
    for place, token in enumerate(tokens[:most]):
        if token in ends:
            return WrittenReply(tuple(tokens[:place]), ended=True)
    return WrittenReply(tuple(tokens[:most]), ended=False)
