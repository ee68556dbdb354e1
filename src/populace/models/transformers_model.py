"""A model on PyTorch: a folder in the format of transformers, or a GGUF file, on a GPU or on the processor.

Many prompts are computed at once, and the beginning that all of them share is computed once. Sampling draws its random
numbers from the seed of each request, so a reply depends on what else is in the batch only through rounding.

On a GPU, distributions are computed from one thread, that of the caller: two busy threads would hand the interpreter to
each other at every one of the thousand operations of a batch.
"""

import asyncio
import contextlib
import importlib
import json
import operator
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from populace.base.errors import ModelError, ModelFileError
from populace.models.adapter_bases import read_base, weights_sha256
from populace.models.adapter_names import adapter_hub_file, check_adapter, open_adapter
from populace.models.artifacts import Progress
from populace.models.base import Capabilities, Failure, Model, ModelTraits, Reply, ReplyOrFailure, Request
from populace.models.pytorch.batches import Batch, scored_batches
from populace.models.pytorch.network import Network, load_network
from populace.models.pytorch.option_tokens import OptionTokens
from populace.models.pytorch.pipeline import SECONDS_BETWEEN_LOOKS, BegunBatch, Pipeline
from populace.models.pytorch.scoring import Distributions, Scorer
from populace.models.pytorch.token_rows import Indices, TokenRows
from populace.models.pytorch.tokens import ChatTokenizer
from populace.models.pytorch.writing import MIN_P, TOP_K, TOP_P, Draft, Writer
from populace.models.scored_replies import ScoredReplies, TokenTexts

_TOP_TOKENS = 200
_TOKENS_AT_ONCE = {"cuda": 245_760, "cpu": 4_096}
"""How many tokens of prompts are computed in one batch at most, those that are shared counted once."""
_TOKENS_A_LAUNCH = {"cuda": 16_384, "cpu": 256}
"""How many tokens are computed in about the time that the processor needs to begin a batch."""
_NUMBERS_AT_ONCE = 600_000_000
"""How many numbers the widest step of a batch has at most; it keeps several processes on one GPU within its memory."""
_ROWS_AT_ONCE = {"cuda": (32, 256), "cpu": (16, 16)}
"""How many replies are written in one batch, where few and where many are wanted."""
_MANY = 96
_BATCHES_UNDER_WAY = 2
"""How many batches are begun and not yet computed: one is computed, and one waits. CUDA takes about a thousand
operations in advance, and a batch has 400."""
_PROMPTS_READ_AT_ONCE = 16_384
"""How many prompts are turned into tokens and put in order at once, while those before them are computed."""
_VERSIONS = {"cuda": 4, "cpu": 3}
"""The version of the computation on a device; it changes whenever replies could."""
_TRIAL = Request((("user", "You are 30 years old. How are you today?\n1. Well\n2. Not well"),), "Answer:")
_NO_MEMORY = "the memory of the GPU does not suffice for this prompt"
_NO_NUMBERS = "the device returned something that is no number for this prompt, twice"
_COMPUTED_AGAIN = "The device returned something that is no number for some prompts; these were computed again."
_MAX_TOKENS, _TOP, _OPTIONS = map(operator.itemgetter, (2, 3, 7))
_T = TypeVar("_T")


@dataclass(frozen=True)
class _Parts:
    """What a loaded model consists of."""

    network: Network
    tokenizer: ChatTokenizer
    scorer: Scorer
    writer: Writer
    option_tokens: OptionTokens
    texts: TokenTexts


@dataclass(frozen=True)
class _Prompt:
    """A prompt whose reply is to be written, with the place of its request."""

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
    lot = 12_288

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
        self.capabilities = Capabilities(top_tokens=_TOP_TOKENS, lead=True, seed=True, options=True)
        self._progress = progress
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="transformers-model")
        self._wanted_device = device
        self._device = "cpu"
        self._parts: _Parts | None = None
        self._in_thread_count = 0
        self._pipeline = Pipeline(_BATCHES_UNDER_WAY)
        self._scale = 1.0

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        """Load weights and tokenizer."""
        if self._parts is None:
            await self._in_thread(self._load)

    async def close(self) -> None:
        """Let go of the weights."""
        self._parts = None

    def _load(self) -> None:
        if not (self.path.is_file() or self.path.is_dir()):
            raise ModelFileError(f"there is no model at {self.path}.", "Name a folder of weights, or a GGUF file.")
        if self.path.is_file():
            with self.path.open("rb") as file:
                if file.read(4) != b"GGUF":
                    raise ModelFileError(f"{self.path} is not a GGUF file.", "Name a GGUF file or a folder of weights.")
        check_adapter(self.adapter)
        torch = _torch(self.spec)
        gpu = torch.cuda.is_available()
        if self._wanted_device == "cuda" and not gpu:
            raise ModelError(
                f"{self.spec} asks for a GPU, and PyTorch {torch.__version__} finds none here.",
                "Leave the device out to compute on the processor, or install a PyTorch with CUDA and its driver.",
            )
        self._device = self._wanted_device or ("cuda" if gpu else "cpu")
        number_types = (torch.float16, torch.bfloat16) if self._device == "cuda" else (torch.float32,)
        content, adapter = weights_sha256(self.path), None
        if self.adapter is not None:
            adapter = open_adapter(self.adapter, read_base(self.path, content), self._progress)
            self.notes = (*self.notes, *adapter.card.notes(self.spec))
        tokenizer = ChatTokenizer(self.path)
        # Sums of products are kept in 32 bits throughout; the sums of parts depend on the size of a batch.
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        with torch.inference_mode():
            network = load_network(self.path, self._device, number_types, adapter, tokenizer.prompts([_TRIAL])[0])
            writer = Writer(network, tokenizer.ends)
        self.notes = (*self.notes, *network.notes)
        scorer = Scorer(network, len(tokenizer.texts))
        texts = tokenizer.texts
        self._parts = _Parts(network, tokenizer, scorer, writer, OptionTokens(texts), TokenTexts(texts))
        device = torch.cuda.get_device_name() if self._device == "cuda" else "cpu"
        sampling = json.dumps({"min_p": MIN_P, "top_k": TOP_K, "top_p": TOP_P})
        parts = (
            f"weights:{content[:32]}" + (f"+lora:{adapter.sha256[:32]}" if adapter else ""),
            f"pytorch {torch.__version__}, version {_VERSIONS[self._device]}"
            + (", attention in one pass" if network.has_one_pass else "")
            + (", gates in one product" if network.has_one_product else ""),
            f"{str(network.number_type).removeprefix('torch.')} on {device}",
            sampling,
        )
        self.fingerprint = "/".join(parts)
        self.capabilities = replace(self.capabilities, context=network.shape.context)

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        """Answer in batches of prompts of about the same length: distributions first, then written replies."""
        written: list[_Prompt] = []
        with contextlib.closing(self._pipeline.lane()) as lane:
            for first in range(0, len(requests), _PROMPTS_READ_AT_ONCE):
                if self.halted:
                    break
                part = requests[first : first + _PROMPTS_READ_AT_ONCE]
                rows = await self._started(self._token_rows, part)
                await asyncio.sleep(0)  # Another call may have a batch to begin.
                tops = np.fromiter(map(_TOP, part), np.int64, len(part))
                fits, rejected = self._fitting(rows, tops, part, first)
                if rejected:
                    yield rejected
                written += [_Prompt(first + row, rows.row(row)) for row in fits[tops[fits] == 0].tolist()]
                options = list(map(_OPTIONS, part))
                limits = self._tokens_at_once(), _TOKENS_A_LAUNCH[self._device]
                for batch in scored_batches(rows, fits[tops[fits] > 0], tops, options, first, *limits):
                    # The next batches are computed while the caller works with the results of this one.
                    while not lane.has_room:
                        if lane.has_result:
                            yield await self._collected(await lane.popleft())
                        else:
                            await lane.wait()
                    if self.halted:
                        break
                    lane.append(self._started(self._begin, batch))
            while lane:
                if lane.has_result:
                    yield await self._collected(await lane.popleft())
                else:
                    await lane.wait(to_begin=False)
        async for results in self._written(written, requests):
            yield results

    async def _written(
        self, prompts: list[_Prompt], requests: Sequence[Request]
    ) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        under_way = None
        for batch in self._written_batches(prompts, requests):
            if self.halted:
                break
            following = self._in_thread(self._write, batch, requests)
            if under_way is not None:
                yield await under_way
            under_way = following
        if under_way is not None:
            yield await under_way

    def _started(self, function: Callable[..., _T], *arguments: Any) -> asyncio.Future[_T]:
        """Call a function that takes little time where a GPU computes: then here, unless the thread uses the GPU."""
        if self._device == "cpu" or self._in_thread_count:
            return self._in_thread(function, *arguments)
        future: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        future.set_result(function(*arguments))
        return future

    def _in_thread(self, function: Callable[..., _T], *arguments: Any) -> asyncio.Future[_T]:
        future = asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)
        self._in_thread_count += 1
        future.add_done_callback(self._count_down)
        return future

    def _count_down(self, _: object) -> None:
        self._in_thread_count -= 1

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        """The first token of each text as it is written after a lead."""
        tokenizer = self._loaded().tokenizer
        return [tokenizer.texts[tokenizer.encode(f" {text}")[0]] for text in texts]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        return [len(self._loaded().tokenizer.encode(text)) for text in texts]

    def _loaded(self) -> _Parts:
        if self._parts is None:
            raise ModelError(f"{self.spec} is not started.", "Await `start` first.")
        return self._parts

    def _tokens_at_once(self) -> int:
        most = min(_TOKENS_AT_ONCE[self._device], _NUMBERS_AT_ONCE // self._loaded().network.inner_width)
        return int(most * self._scale)

    def _token_rows(self, requests: Sequence[Request]) -> TokenRows:
        return self._loaded().tokenizer.rows(requests)

    def _fitting(
        self, rows: TokenRows, tops: Indices, requests: Sequence[Request], first: int
    ) -> tuple[Indices, list[tuple[int, ReplyOrFailure]]]:
        """The rows that the model can read, and failures for the others."""
        context = self._loaded().network.shape.context
        written = np.fromiter(map(_MAX_TOKENS, requests), np.int64, len(requests))
        needed = rows.lengths + np.where(tops > 0, 0, written)
        failures: list[tuple[int, ReplyOrFailure]] = []
        for row in np.flatnonzero(needed > context).tolist():
            detail = f"the prompt and its reply need {needed[row]} tokens; the model reads {context}"
            failures.append((first + row, Failure("rejected", detail)))
        return np.flatnonzero(needed <= context), failures

    def _begin(self, batch: Batch) -> BegunBatch:
        """Begin to compute a batch; where the memory of the GPU does not suffice, in halves, and those after it too."""
        import torch

        parts, most = self._loaded(), int(batch.tops[batch.which].max())
        options = parts.option_tokens.table([batch.options[row] for row in batch.which.tolist()])
        try:
            with torch.inference_mode():
                return [(batch, parts.scorer.begin(batch.rows, batch.which, batch.shared, most, options))]
        except torch.OutOfMemoryError:
            pass  # Handled below, where the traceback no longer holds the tensors of the batch.
        self._free_memory()
        if len(batch.which) == 1:
            return [(batch, None)]
        return [each for half in batch.halves() for each in self._begin(half)]

    def _free_memory(self) -> None:
        import torch

        parts = self._loaded()
        parts.writer.forget()
        parts.scorer.forget()
        if self._device == "cuda":
            torch.cuda.empty_cache()
        self._scale /= 2
        self._note("The memory of the GPU did not suffice for a batch: batches were halved.")

    def _note(self, note: str) -> None:
        self.notes = (*self.notes, note) if note not in self.notes else self.notes

    async def _collected(self, parts: BegunBatch, *, again: bool = True) -> list[tuple[int, ReplyOrFailure]]:
        """The replies of batches, as soon as they are computed; `again` computes one more time what is no number."""
        results: list[tuple[int, ReplyOrFailure]] = []
        for batch, distributions in parts:
            if distributions is None:
                results.append((batch.numbers[0], Failure("unanswered", _NO_MEMORY)))
                continue
            while not distributions.are_ready:
                await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            if again and not distributions.are_finite.all():
                self._note(_COMPUTED_AGAIN)
                self._loaded().scorer.forget()
                begun = await self._started(self._begin, batch)
                results += await self._collected(begun, again=False)
            else:
                replies = self._replies(batch, distributions)
                if len(parts) == 1:
                    return replies
                results += replies
        return results

    def _replies(self, batch: Batch, distributions: Distributions) -> list[tuple[int, ReplyOrFailure]]:
        parts, which = self._loaded(), batch.which
        tokens, logprobs, counts = distributions.columns(batch.tops[which])
        numbers, lengths = batch.numbers, batch.rows.lengths[which]
        replies = ScoredReplies.of(numbers, parts.texts, tokens, logprobs, counts, lengths)
        if distributions.are_finite.all():
            return replies
        results = list(replies)  # Without the columns, which know no failures.
        for row in np.flatnonzero(~distributions.are_finite).tolist():
            results[row] = numbers[row], Failure("unanswered", _NO_NUMBERS)
        return results

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

    def _write(self, batch: list[_Prompt], requests: Sequence[Request]) -> list[tuple[int, ReplyOrFailure]]:
        """Replies written token by token, all of the batch side by side; in halves where memory does not suffice."""
        import torch

        parts = self._loaded()
        drafts = [_draft(prompt, requests) for prompt in batch]
        few = _ROWS_AT_ONCE[self._device][0]
        rows = len(batch) if self._device == "cpu" or self._scale < 1.0 else max(few, len(batch))
        try:
            with torch.inference_mode():
                written = parts.writer.write(drafts, rows)
                if any(reply is None for reply in written):
                    self._note(_COMPUTED_AGAIN)
                    parts.writer.forget()
                    written = parts.writer.write(drafts, rows)
        except torch.OutOfMemoryError:
            written = None
        if written is None:  # Handled here, where the traceback no longer holds the tensors of the batch.
            self._free_memory()
            if len(batch) == 1:
                return [(batch[0].index, Failure("unanswered", _NO_MEMORY))]
            halves = (batch[: len(batch) // 2], batch[len(batch) // 2 :])
            return [result for half in halves for result in self._write(half, requests)]
        results: list[tuple[int, ReplyOrFailure]] = []
        for prompt, reply in zip(batch, written, strict=True):
            if reply is None:
                results.append((prompt.index, Failure("unanswered", _NO_NUMBERS)))
                continue
            text, finish = parts.tokenizer.decode(reply.tokens), "stop" if reply.ended else "length"
            count = len(reply.tokens) + reply.ended
            results.append((prompt.index, Reply(text, (), finish, len(prompt.tokens), count)))  # type: ignore[arg-type]
        return results


def _draft(prompt: _Prompt, requests: Sequence[Request]) -> Draft:
    request = requests[prompt.index]
    return Draft(prompt.tokens, request.max_tokens, request.temperature, request.seed or 0)


def _torch(spec: str) -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise ModelError(f"{spec} needs PyTorch.", "Install it with: pip install 'populace[gpu]'") from None
