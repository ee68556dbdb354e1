"""A model on PyTorch: a folder in the format of transformers, or a GGUF file, on a GPU or on the processor.

Many prompts are computed at once, and the beginning that all of them share is computed once. Sampling draws its random
numbers from the seed of each request, so a reply depends on what else is in the batch only through rounding.
"""

import asyncio
import importlib
import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from populace.base.errors import ModelError, ModelFileError
from populace.models.adapter_bases import read_base, weights_sha256
from populace.models.adapter_names import adapter_hub_file, open_adapter
from populace.models.artifacts import Progress
from populace.models.base import Capabilities, Failure, Model, ModelTraits, Reply, ReplyOrFailure, Request
from populace.models.pytorch.network import Network
from populace.models.pytorch.tokens import ChatTokenizer
from populace.models.pytorch.weights import read_weights
from populace.models.pytorch.writing import MIN_P, TOP_K, TOP_P, Draft, Writer

_TOP_TOKENS = 200
_FEWEST_TOKENS, _MASS = 20, 0.9999
"""A distribution ends with the token at which it holds this mass, but not before this many tokens."""
_TOKENS_AT_ONCE = {"cuda": 131_072, "cpu": 4_096}
"""How many tokens of prompts are computed in one batch at most, those that are shared counted once."""
_NUMBERS_AT_ONCE = 600_000_000
"""How many numbers the widest step of a batch has at most; it keeps several processes on one GPU within its memory."""
_ROWS_AT_ONCE = {"cuda": (32, 256), "cpu": (16, 16)}
"""How many replies are written in one batch, where few and where many are wanted."""
_MANY = 96
_VERSION = 1
"""The version of the computation; it changes whenever replies could."""


@dataclass(frozen=True)
class _Prompt:
    """A prompt as tokens, with the place of its request."""

    index: int
    tokens: list[int]


class TransformersModel(Model):
    """A language model computed by PyTorch on a GPU, or on the processor where there is none.

    Args:
        path: A folder with weights and tokenizer as transformers saves it, or a GGUF file; of the llama or qwen2
            family.
        adapter: The adapter that is merged into its weights: a name, a file or a folder (docs/concepts/adapters.md).
        device: `cuda` or `cpu`; by default, a GPU where there is one.
        spec: The model string; without one, it is made from the path.

    Example:
        >>> TransformersModel("models/qwen").spec
        'transformers:models/qwen'
    """

    traits = ModelTraits(local=True)
    fuse_from: int | None = None
    """From how many prompts at once the steps between products of matrices are compiled on a GPU; None for never."""

    def __init__(
        self,
        path: str | Path,
        *,
        adapter: str | Path | None = None,
        device: str | None = None,
        progress: Progress | None = None,
        spec: str | None = None,
    ) -> None:
        self.path = Path(path).expanduser()
        self.adapter = str(adapter) if adapter else None
        plus = f"+{adapter}" if adapter else ""
        self.spec = spec or f"transformers:{path}{plus}" + (f"?device={device}" if device else "")
        self.traits = ModelTraits(local=True, adapter=self.adapter or "", adapter_file=adapter_hub_file(self.adapter))
        self.capabilities = Capabilities(top_tokens=_TOP_TOKENS, lead=True, seed=True)
        self._progress = progress
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="transformers-model")
        self._wanted_device = device
        self._device = "cpu"
        self._network: Network | None = None
        self._tokenizer: ChatTokenizer | None = None
        self._writer: Writer | None = None
        self._scale = 1.0

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        """Load weights and tokenizer."""
        if self._network is None:
            await asyncio.get_running_loop().run_in_executor(self._pool, self._load)

    async def close(self) -> None:
        """Let go of the weights."""
        self._network = self._tokenizer = self._writer = None

    def _load(self) -> None:
        if not self.path.exists():
            raise ModelFileError(f"there is no model at {self.path}.", "Name a folder of weights, or a GGUF file.")
        if self.path.is_file():
            with self.path.open("rb") as file:
                if file.read(4) != b"GGUF":
                    raise ModelFileError(
                        f"{self.path} is not a GGUF file.", "Name a GGUF file, or a folder of weights."
                    )
        torch = _torch(self.spec)
        gpu = torch.cuda.is_available()
        if self._wanted_device == "cuda" and not gpu:
            raise ModelError(
                f"{self.spec} asks for a GPU, and PyTorch {torch.__version__} finds none here.",
                "Leave the device out to compute on the processor, or install a PyTorch with CUDA and its driver.",
            )
        self._device = self._wanted_device or ("cuda" if gpu else "cpu")
        number_type = torch.bfloat16 if self._device == "cuda" else torch.float32
        content, adapter = weights_sha256(self.path), None
        if self.adapter is not None:
            adapter = open_adapter(self.adapter, read_base(self.path, content), self._progress)
            self.notes = (*self.notes, *adapter.card.notes(self.spec))
        tokenizer = ChatTokenizer(self.path)
        with torch.inference_mode():
            network = Network(read_weights(self.path, self._device, number_type, adapter))
            self._writer = Writer(network, tokenizer.ends)
        self._network, self._tokenizer = network, tokenizer
        device = torch.cuda.get_device_name() if self._device == "cuda" else "cpu"
        sampling = json.dumps({"min_p": MIN_P, "top_k": TOP_K, "top_p": TOP_P})
        parts = (
            f"weights:{content[:32]}" + (f"+lora:{adapter.sha256[:32]}" if adapter else ""),
            f"pytorch {torch.__version__}, version {_VERSION}",
            f"{str(number_type).removeprefix('torch.')} on {device}",
            sampling,
        )
        self.fingerprint = "/".join(parts)
        self.capabilities = Capabilities(top_tokens=_TOP_TOKENS, lead=True, seed=True, context=network.shape.context)

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        """Answer in batches of prompts of about the same length: distributions first, then written replies."""
        loop = asyncio.get_running_loop()
        prompts, rejected = await loop.run_in_executor(self._pool, self._prompts, requests)
        if rejected:
            yield rejected
        scored = [prompt for prompt in prompts if requests[prompt.index].top]
        if self._device == "cuda" and self.fuse_from is not None and len(scored) >= self.fuse_from:
            self._loaded()[0].fuse()
        written = [prompt for prompt in prompts if not requests[prompt.index].top]
        for batches, answer in (
            (self._scored_batches(scored), self._score),
            (self._written_batches(written, requests), self._write),
        ):
            under_way = None
            for batch in batches:
                if self.halted:
                    break
                # The next batch is computed while the caller works with the results of this one.
                following = loop.run_in_executor(self._pool, self._within_memory, answer, batch, requests)
                if under_way is not None:
                    yield await under_way
                under_way = following
            if under_way is not None:
                yield await under_way

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        """The first token of each text as it is written after a lead."""
        tokenizer = self._loaded()[1]
        return [tokenizer.texts[tokenizer.encode(f" {text}")[0]] for text in texts]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        return [len(self._loaded()[1].encode(text)) for text in texts]

    def _loaded(self) -> tuple[Network, ChatTokenizer, Writer]:
        if self._network is None or self._tokenizer is None or self._writer is None:
            raise ModelError(f"{self.spec} is not started.", "Await `start` first.")
        return self._network, self._tokenizer, self._writer

    def _prompts(self, requests: Sequence[Request]) -> tuple[list[_Prompt], list[tuple[int, ReplyOrFailure]]]:
        network, tokenizer, _ = self._loaded()
        prompts, rejected = [], []
        for index, tokens in enumerate(tokenizer.prompts(requests)):
            needed = len(tokens) + (0 if requests[index].top else requests[index].max_tokens)
            if needed > network.shape.context:
                detail = f"the prompt and its reply need {needed} tokens; the model reads {network.shape.context}"
                rejected.append((index, Failure("rejected", detail)))
            else:
                prompts.append(_Prompt(index, tokens))
        # The order is that of the texts, so it does not depend on the order of the requests.
        return sorted(prompts, key=lambda prompt: (len(prompt.tokens), prompt.tokens)), list(rejected)

    def _scored_batches(self, prompts: Sequence[_Prompt]) -> Iterator[list[_Prompt]]:
        shared = _common_prefix([prompt.tokens for prompt in prompts]) if len(prompts) > 1 else 0
        most = min(_TOKENS_AT_ONCE[self._device], _NUMBERS_AT_ONCE // self._loaded()[0].inner_width)
        batch: list[_Prompt] = []
        for prompt in prompts:
            limit = most * self._scale
            if batch and (len(batch) + 1) * (len(prompt.tokens) - shared) > limit:
                yield batch
                batch = []
            batch.append(prompt)
        if batch:
            yield batch

    def _written_batches(self, prompts: Sequence[_Prompt], requests: Sequence[Request]) -> Iterator[list[_Prompt]]:
        groups: dict[int, list[_Prompt]] = {}
        for prompt in prompts:
            groups.setdefault(_draft(prompt, requests).capacity, []).append(prompt)
        for _, group in sorted(groups.items()):
            begin = 0
            while begin < len(group):
                size = self._rows(len(group))
                yield group[begin : begin + size]
                begin += size

    def _rows(self, wanted: int) -> int:
        few, many = _ROWS_AT_ONCE[self._device]
        return max(1, int((many if wanted > _MANY else few) * self._scale))

    def _within_memory(
        self, answer: Any, batch: list[_Prompt], requests: Sequence[Request]
    ) -> list[tuple[int, ReplyOrFailure]]:
        """Answer a batch; where the memory of the GPU does not suffice, in halves, and in smaller batches from then."""
        import torch

        try:
            with torch.inference_mode():
                results: list[tuple[int, ReplyOrFailure]] = answer(batch, requests)
            return results
        except torch.OutOfMemoryError:
            pass  # Handled below, where the traceback no longer holds the tensors of the batch.
        self._loaded()[2].forget()
        if self._device == "cuda":
            torch.cuda.empty_cache()
        if len(batch) == 1:
            return [(batch[0].index, Failure("unanswered", "the memory of the GPU does not suffice for this prompt"))]
        self._scale /= 2
        note = "The memory of the GPU did not suffice for a batch: batches were halved."
        self.notes = (*self.notes, note) if note not in self.notes else self.notes
        middle = len(batch) // 2
        halves = (batch[:middle], batch[middle:])
        return [result for half in halves for result in self._within_memory(answer, half, requests)]

    def _score(self, batch: list[_Prompt], requests: Sequence[Request]) -> list[tuple[int, ReplyOrFailure]]:
        """The most likely first tokens of each prompt."""
        import torch

        network, tokenizer, _ = self._loaded()
        shared = _common_prefix([prompt.tokens for prompt in batch]) if len(batch) > 1 else 0
        width = max(len(prompt.tokens) for prompt in batch) - shared
        tokens = torch.from_numpy(_filled([prompt.tokens[shared:] for prompt in batch], width))
        caches = None
        if shared:
            beginning = torch.tensor([batch[0].tokens[:shared]], device=network.device)
            _, caches = network.read(beginning, caches=True)
        found, _ = network.read(tokens.to(network.device), shared=caches)
        last = torch.tensor([len(prompt.tokens) - shared - 1 for prompt in batch], device=network.device)
        logits = network.logits(found[torch.arange(len(batch), device=network.device), last])
        most = min(max(requests[prompt.index].top for prompt in batch), logits.shape[-1], len(tokenizer.texts))
        values, places = logits.topk(most, -1)
        values = values - logits.logsumexp(-1, keepdim=True)
        counts = (values.exp().cumsum(-1) < _MASS).sum(-1).add(1).clamp(min=_FEWEST_TOKENS).tolist()
        values, places = values.cpu().numpy(), places.cpu().numpy()
        results: list[tuple[int, ReplyOrFailure]] = []
        texts = tokenizer.texts
        for row, (prompt, count) in enumerate(zip(batch, counts, strict=True)):
            count = min(count, requests[prompt.index].top)
            words = [texts[token] for token in places[row, :count].tolist()]
            pairs = tuple(zip(words, values[row, :count].tolist(), strict=True))
            results.append((prompt.index, Reply(words[0], pairs, "stop", len(prompt.tokens), 1)))
        return results

    def _write(self, batch: list[_Prompt], requests: Sequence[Request]) -> list[tuple[int, ReplyOrFailure]]:
        """Replies written token by token, all of the batch side by side."""
        _, tokenizer, writer = self._loaded()
        drafts = [_draft(prompt, requests) for prompt in batch]
        few = _ROWS_AT_ONCE[self._device][0]
        rows = len(batch) if self._device == "cpu" else max(few, len(batch)) if self._scale == 1.0 else len(batch)
        results: list[tuple[int, ReplyOrFailure]] = []
        for prompt, reply in zip(batch, writer.write(drafts, rows), strict=True):
            text = tokenizer.decode(reply.tokens)
            finish = "stop" if reply.ended else "length"
            count = len(reply.tokens) + reply.ended
            results.append((prompt.index, Reply(text, (), finish, len(prompt.tokens), count)))  # type: ignore[arg-type]
        return results


def _draft(prompt: _Prompt, requests: Sequence[Request]) -> Draft:
    request = requests[prompt.index]
    return Draft(prompt.tokens, request.max_tokens, request.temperature, request.seed or 0)


def _filled(rows: Sequence[list[int]], width: int) -> npt.NDArray[np.int64]:
    """Rows of one width; those that are shorter are filled up at their end."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    table = np.zeros((len(rows), width), np.int64)
    table[np.arange(width) < lengths[:, None]] = np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum()))
    return table


def _common_prefix(prompts: Sequence[list[int]]) -> int:
    """How many tokens all prompts begin with; at least one token of each is left."""
    first, last = min(prompts), max(prompts)
    most = min(len(prompt) for prompt in prompts) - 1
    same = next((place for place in range(min(len(first), len(last))) if first[place] != last[place]), len(first))
    return max(0, min(same, most))


def _torch(spec: str) -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise ModelError(f"{spec} needs PyTorch.", "Install it with: pip install 'populace[gpu]'") from None
