"""A model in this process: a GGUF file on llama.cpp, through xllamacpp.

A reply must depend on its prompt alone, bit for bit, and not on earlier or simultaneous requests. That holds with one
slot and no prompt cache. For the pinned file, its weights unpacked to 16 bits, it also holds with a cache: with plain
attention, prompts computed in one batch, and as long as a prompt never continues text that was computed token by token
(docs/design/embedded-model.md has the measurements). Requests are sorted by their text, so that neighbours share the
longest prefixes.
"""

import asyncio
import json
import os
import re
import secrets
import urllib.request
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from populace.base.control_tokens import neutralise_tokens, token_pattern
from populace.base.errors import ModelFileError, nearest
from populace.models.adapter_bases import read_base
from populace.models.adapter_merging import merge_adapter
from populace.models.adapter_names import adapter_hub_file, open_adapter
from populace.models.artifacts import SMOLLM2, Progress, sha256
from populace.models.base import Capabilities, Failure, Model, ModelTraits, ReplyOrFailure, Request
from populace.models.dequantisation import dequantise
from populace.models.hub_file import HubFile
from populace.models.reply_checks import read_completion
from populace.models.vocabulary import special_tokens

_SAMPLING = {"top_k": 40, "top_p": 0.95, "min_p": 0.05}
_TOP_TOKENS = 200
_CACHE_MIB = 2048
_AHEAD = 2
_FIRST_REQUEST = Request((("user", "Hello"),), max_tokens=1)
PINNED = ModelTraits(local=True, artifact=SMOLLM2)
"""The traits of the embedded model without a path."""


class EmbeddedModel(Model):
    """A GGUF file run on this machine's processor.

    Args:
        path: The file; without one, the pinned SmolLM2-135M-Instruct, fetched into the cache.
        hub_file: A file on the Hugging Face hub in place of a path, fetched into the cache.
        adapter: The adapter that is merged into its weights: a name, a file or a folder (docs/concepts/adapters.md).
        threads: How many threads to compute with; by default, one for each processor that this process may use.
        context: How many tokens a prompt and its reply may have together.
        progress: Called while a file is downloaded.
        spec: The model string; without one, it is made from the path.

    Example:
        >>> EmbeddedModel(threads=1).capabilities.top_tokens > 0
        True
    """

    traits = ModelTraits(local=True)

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        hub_file: HubFile | None = None,
        adapter: str | Path | None = None,
        threads: int | None = None,
        context: int = 4096,
        progress: Progress | None = None,
        spec: str | None = None,
    ) -> None:
        name = f"hf:{hub_file.name}" if hub_file else path
        plus = f"+{adapter}" if adapter else ""
        self.spec = spec or (f"embedded:{name}{plus}" if name else f"embedded{plus}")
        self.path = Path(os.path.expanduser(path)) if path else None
        self.hub_file = hub_file
        self.adapter = str(adapter) if adapter else None
        traits = ModelTraits(local=True, hub_file=hub_file) if name else PINNED
        self.traits = replace(traits, adapter=self.adapter or "", adapter_file=adapter_hub_file(self.adapter))
        self.threads = threads or _processor_count()
        self.capabilities = Capabilities(top_tokens=_TOP_TOKENS, lead=True, schema=True, seed=True, context=context)
        self._progress = progress
        self._server: Any = None
        self._secret = secrets.token_hex(16)
        self._prefixes: set[int] = set()
        self._conversations: set[int] = set()
        self._uses_cache = False
        self._has_answered = False
        self._tokens: re.Pattern[str] | None = None
        self._pool = ThreadPoolExecutor(_AHEAD, thread_name_prefix="embedded-model")
        self._under_way: set[asyncio.Future[ReplyOrFailure]] = set()

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        """Fetch and verify the file where needed, and load it."""
        if self._server is None:
            await asyncio.get_running_loop().run_in_executor(self._pool, self._load)

    async def close(self) -> None:
        """Unload the file once the requests under way have ended."""
        if self._under_way:
            await asyncio.wait(self._under_way)
        if self._server is not None and not self._has_answered:
            # The engine never ends if it is told to before its loop runs, which it does once it has answered something.
            await asyncio.get_running_loop().run_in_executor(self._pool, self._reply, _FIRST_REQUEST, False)
        self._server = None

    def _load(self) -> None:
        path, digest = self._find_file()
        engine = f"xllamacpp {version('xllamacpp')}"
        self._uses_cache = digest == SMOLLM2.sha256
        # The fingerprint is part of the address of every stored reply, so its words never change.
        weights = "widened, plain attention" if self._uses_cache else "as they are, fused attention"
        sampling = json.dumps(_SAMPLING, sort_keys=True)
        content = f"gguf:{digest[:32]}"
        if self.adapter is not None:
            base = read_base(path, digest)
            adapter = open_adapter(self.adapter, base, self._progress)
            content = f"{content}+lora:{adapter.sha256[:32]}"
            self.notes = (*self.notes, *adapter.card.notes(self.spec))
        self.fingerprint = f"{content}/{engine}/{weights}/{sampling}"
        if self._uses_cache:
            path = dequantise(path)
        if self.adapter is not None:
            path = merge_adapter(path, base, adapter)
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = self.capabilities.context
        params.n_parallel = 1
        params.verbosity = -1
        params.n_batch = params.n_ubatch = self.capabilities.context
        params.cache_ram_mib = _CACHE_MIB if self._uses_cache else 0
        params.cpuparams.n_threads = self.threads
        params.cpuparams_batch.n_threads = self.threads
        attention = xllamacpp.llama_flash_attn_type
        fused, plain = attention.LLAMA_FLASH_ATTN_TYPE_ENABLED, attention.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.flash_attn_type = plain if self._uses_cache else fused
        params.api_keys = [self._secret]
        try:
            self._server, self._has_answered = xllamacpp.Server(params), False
        except RuntimeError as error:
            raise ModelFileError(
                f"{path} could not be loaded as a model: {error}",
                "The file may be cut short, or of a kind that this version of llama.cpp does not know.",
            ) from error
        self._tokens = token_pattern(special_tokens(path))

    def _find_file(self) -> tuple[Path, str]:
        """The file, fetched where needed, and its SHA-256."""
        if self.hub_file is not None:
            path = self.hub_file.fetch(self._progress)
            _check_file(path)
            digest, record = sha256(path), self.hub_file.record or {}
            if digest != record.get("sha256"):
                raise ModelFileError(
                    f"{path} was changed after it was fetched.", "Remove it; it is then fetched again."
                )
            if not self.hub_file.pinned:
                pin = f"embedded:hf:{replace(self.hub_file, revision=record['commit']).name}"
                self.notes = (f"{self.spec} names no fixed revision; this is {pin}, SHA-256 {digest}.",)
            return path, digest
        path = self.path if self.path is not None else SMOLLM2.fetch(self._progress)
        _check_file(path)
        return path, SMOLLM2.sha256 if self.path is None else sha256(path)

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        """Answer one request after the other, sorted by text.

        The next request is queued while one is computed, so that the engine never waits.
        """
        loop = asyncio.get_running_loop()
        queued: deque[tuple[int, asyncio.Future[ReplyOrFailure]]] = deque()
        for index in sorted(range(len(requests)), key=lambda i: requests[i].messages):
            if self.halted:
                break
            cached = self._uses_cache and self._may_use_cache(requests[index])
            if self._uses_cache and not cached and self._under_way:
                await asyncio.wait(self._under_way)
            future = loop.run_in_executor(self._pool, self._reply, requests[index], cached)
            self._under_way.add(future)
            future.add_done_callback(self._under_way.discard)
            queued.append((index, future))
            if len(queued) == _AHEAD:
                first, outcome = queued.popleft()
                yield [(first, await outcome)]
        while queued:
            first, outcome = queued.popleft()
            yield [(first, await outcome)]

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        """The first token of each text according to the engine's tokeniser, as it is written after a lead."""
        return [self._tokenise(f" {text}")[0] for text in texts]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text according to the engine's tokeniser."""
        return [len(self._tokenise(text)) for text in texts]

    def _may_use_cache(self, request: Request) -> bool:
        """Whether the prompt may reuse the cached computation of earlier prompts.

        It may not if it is a prefix of an earlier conversation: only a single token would be left to compute. Nor if an
        earlier conversation is a prefix of it: the model's own words would be reused as they were computed one by one.
        Both give slightly different numbers than computing the whole prompt at once.
        """
        prefixes = [hash(request.messages[:count]) for count in range(1, len(request.messages) + 1)]
        safe = prefixes[-1] not in self._prefixes and self._conversations.isdisjoint(prefixes)
        self._prefixes.update(prefixes)
        self._conversations.add(prefixes[-1])
        return safe

    def _tokenise(self, text: str) -> list[str]:
        request = urllib.request.Request(
            f"{self._server.listening_address}/tokenize",
            json.dumps({"content": text, "with_pieces": True}).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {self._secret}"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            tokens = json.load(response)["tokens"]
        pieces = [token["piece"] if isinstance(token["piece"], str) else bytes(token["piece"]) for token in tokens]
        return [piece if isinstance(piece, str) else piece.decode(errors="replace") for piece in pieces]

    def _neutral(self, text: str) -> str:
        """The text without special tokens that only this file knows; those of known forms are gone already."""
        return text if self._tokens is None else neutralise_tokens(text, self._tokens)

    def _reply(self, request: Request, cached: bool) -> ReplyOrFailure:
        body: dict[str, Any] = {
            "messages": [{"role": role, "content": self._neutral(text)} for role, text in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "cache_prompt": cached,
        }
        if request.lead:
            body["messages"].append({"role": "assistant", "content": request.lead})
        if request.top:
            body |= {"max_tokens": 1, "temperature": 0.0, "logprobs": True, "top_logprobs": request.top}
        else:
            body |= {"seed": request.seed or 0, **_SAMPLING}
        if request.schema:
            shape = {"name": "answer", "schema": json.loads(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        try:
            completion = self._server.handle_chat_completions(body)
            self._has_answered = True
        except ValueError as error:
            return Failure("unanswered", f"the engine rejects the request: {error}")
        except RuntimeError:
            if not request.schema:
                raise
            # The engine checks what it wrote under a schema once more, and fails on some that its own grammar allowed.
            return self._reply(request._replace(schema=None), cached)
        problem = completion.get("error")
        if isinstance(problem, dict):
            too_long = problem.get("type") == "exceed_context_size_error"
            return Failure("rejected" if too_long else "unanswered", str(problem.get("message", problem)))
        try:
            return read_completion(completion, request)
        except ValueError as error:
            return Failure("unanswered", f"the engine's reply is malformed: {error}")


def _check_file(path: Path) -> None:
    """Raise ModelFileError if a file is missing or not a GGUF file, before the engine opens it."""
    if not path.is_file():
        others = sorted(path.parent.glob("*.gguf")) if path.parent.is_dir() else []
        guess = nearest(path.name, [each.name for each in others])
        hint = (
            f"Did you mean embedded:{path.with_name(guess)}?" if guess else "Name a GGUF file, or use --model embedded."
        )
        raise ModelFileError(f"there is no model file {path}.", hint)
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ModelFileError(f"{path} is not a GGUF file.", "Convert the model to GGUF, or name another file.")


def _processor_count() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
