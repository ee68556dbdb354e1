"""A model in this process: a GGUF file on llama.cpp.

The pinned file is computed by one engine for each processor, each with a thread of its own: no thread ever waits for
another (docs/design/embedded-model.md has the measurements). Any other file has one engine with all threads, because
llama.cpp may keep a private copy of packed weights for each engine.
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from populace.base.errors import ModelFileError, nearest
from populace.models.adapter_bases import read_base
from populace.models.adapter_merging import merge_adapter
from populace.models.adapter_names import adapter_hub_file, check_adapter, open_adapter
from populace.models.artifacts import SMOLLM2, Progress, sha256
from populace.models.base import Capabilities, Model, ModelTraits, ReplyOrFailure, Request
from populace.models.dequantisation import dequantise
from populace.models.embedded_engine import SAMPLING, EmbeddedEngine
from populace.models.embedded_shares import Shares
from populace.models.hub_file import HubFile
from populace.models.vocabulary import SpecialTokens

_TOP_TOKENS = 200
_LEAST_CACHE_MIB, _MOST_CACHE_MIB = 2048, 8192
_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")
_MOST_ENGINES = 8
_AHEAD = 2
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
        self._progress, self._context = progress, context
        self._engines: list[EmbeddedEngine] = []
        self._undivided: list[EmbeddedEngine] = []
        self._pool = ThreadPoolExecutor(_AHEAD * (_MOST_ENGINES + 1), thread_name_prefix="embedded-model")

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        """Fetch and verify the file where needed, and load it."""
        if not self._engines:
            await asyncio.get_running_loop().run_in_executor(self._pool, self._load)

    async def close(self) -> None:
        """Unload the file once the requests under way have ended."""
        engines, self._engines = [*self._engines, *self._undivided], []
        if under_way := set[asyncio.Future[ReplyOrFailure]]().union(*(engine.under_way for engine in engines)):
            await asyncio.wait(under_way)
        for engine in engines:
            await asyncio.get_running_loop().run_in_executor(self._pool, engine.unload)

    def _load(self) -> None:
        check_adapter(self.adapter)
        path, digest = self._find_file()
        engine = f"xllamacpp {version('xllamacpp')}"
        uses_cache = digest == SMOLLM2.sha256
        # The fingerprint is part of the address of every stored reply, so its words never change.
        weights = "widened, plain attention" if uses_cache else "as they are, fused attention"
        sampling = json.dumps(SAMPLING, sort_keys=True)
        content = f"gguf:{digest[:32]}"
        if self.adapter is not None:
            base = read_base(path, digest)
            adapter = open_adapter(self.adapter, base, self._progress)
            content = f"{content}+lora:{adapter.sha256[:32]}"
            self.notes = (*self.notes, *adapter.card.notes(self.spec))
        self.fingerprint = f"{content}/{engine}/{weights}/{sampling}"
        if uses_cache:
            path = dequantise(path)
        if self.adapter is not None:
            path = merge_adapter(path, base, adapter)
        count = min(self.threads, _MOST_ENGINES) if uses_cache else 1
        sizes = [self.threads // count] * count + [self.threads] * (count > 1)
        cache_mib = _cache_mib() // len(sizes) if uses_cache else 0
        context, special = self._context, SpecialTokens(path)
        engines = [
            EmbeddedEngine(path, threads=size, context=context, cache_mib=cache_mib, special=special) for size in sizes
        ]
        engines[0].load()
        self._engines, self._undivided = engines[:count], engines[count:]

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
        """Answer the requests, each engine one after the other.

        An engine is handed its next request while it computes one, so that it never waits.
        """
        loop = asyncio.get_running_loop()
        engines = self._engines_for(len(requests))
        shares = Shares(requests, engines)
        pending: dict[asyncio.Future[ReplyOrFailure], tuple[int, EmbeddedEngine]] = {}
        while True:
            busy = [engine for _, engine in pending.values()]
            waiting: set[asyncio.Future[ReplyOrFailure]] = set()
            for ahead, place in product(range(_AHEAD), () if self.halted else range(len(engines))):
                engine, index = engines[place], shares.next_of(place)
                if index is None or busy.count(engine) > ahead:
                    continue
                if engine.must_wait(requests[index]):
                    waiting |= engine.under_way
                    continue
                shares.take(place)
                cached = engine.may_use_cache(requests[index])
                engine.remember(requests[index])
                future = loop.run_in_executor(self._pool, engine.reply, requests[index], cached)
                engine.under_way.add(future)
                future.add_done_callback(engine.under_way.discard)
                pending[future] = index, engine
                busy.append(engine)
            if not pending and not waiting:
                return
            done, _ = await asyncio.wait(waiting.union(pending), return_when=asyncio.FIRST_COMPLETED)
            if finished := [future for future in pending if future in done]:
                yield [(pending.pop(future)[0], future.result()) for future in finished]

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        """The first token of each text according to the engine's tokeniser, as it is written after a lead."""
        return [self._engines[0].tokenise(f" {text}")[0] for text in texts]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text according to the engine's tokeniser."""
        return [len(self._engines[0].tokenise(text)) for text in texts]

    def _engines_for(self, count: int) -> list[EmbeddedEngine]:
        """The engines for so many requests: a single one gets all threads, if nothing else is computed."""
        if count == 1 and not any(engine.under_way for engine in self._engines):
            return self._undivided or self._engines
        return self._engines


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


def _cache_mib() -> int:
    """How much memory the prompt caches may take together: a quarter of what this process may use, within bounds."""
    if not hasattr(os, "sysconf"):
        return _LEAST_CACHE_MIB
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = _MEMORY_LIMIT.read_text(encoding="ascii").strip() if _MEMORY_LIMIT.is_file() else ""
    if limit.isdecimal():
        memory = min(memory, int(limit))
    return min(max(memory // 4 // 2**20, _LEAST_CACHE_MIB), _MOST_CACHE_MIB)
