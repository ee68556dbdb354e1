"""One llama.cpp engine for a GGUF file, through xllamacpp: one slot, so that it computes one request at a time.

A reply must depend on its prompt alone, bit for bit, and not on earlier or simultaneous requests. That holds with one
slot and no prompt cache. For the pinned file, its weights unpacked to 16 bits, it also holds with a cache: with plain
attention, prompts computed in one batch, and as long as a prompt never continues text that was computed token by token
(docs/design/embedded-model.md has the measurements).
"""

import asyncio
import json
import re
import secrets
import threading
import urllib.request
from pathlib import Path
from typing import Any

from populace.base.control_tokens import neutralise_tokens
from populace.base.errors import ModelFileError
from populace.models.base import Failure, ReplyOrFailure, Request
from populace.models.reply_checks import read_completion
from populace.models.vocabulary import SpecialTokens

SAMPLING = {"top_k": 40, "top_p": 0.95, "min_p": 0.05}
"""How words are drawn from the model's distribution when it writes a text."""

_FIRST_REQUEST = {"prompt": "Hello", "max_tokens": 1}
"""What an engine is asked if it is to end and was asked nothing."""


class EmbeddedEngine:
    """A GGUF file that is loaded when it is first needed.

    Args:
        path: The file.
        threads: How many threads to compute with. A reply does not depend on them.
        context: How many tokens a prompt and its reply may have together.
        cache_mib: How much memory the prompt cache may take; 0: every prompt is computed whole.
        special: The special tokens of the file; given where several engines load the same file.
    """

    def __init__(
        self, path: Path, *, threads: int, context: int, cache_mib: int, special: SpecialTokens | None = None
    ) -> None:
        self.path, self.threads, self.context, self.cache_mib = path, threads, context, cache_mib
        self.under_way: set[asyncio.Future[ReplyOrFailure]] = set()
        self._server: Any = None
        self._loading = threading.Lock()
        self._secret = secrets.token_hex(16)
        self._prefixes: set[int] = set()
        self._conversations: set[int] = set()
        self._has_answered = False
        self._special = special or SpecialTokens(path)
        self._tokens: re.Pattern[str] | None = None

    def load(self) -> None:
        """Load the file, unless it is loaded."""
        with self._loading:
            if self._server is None:
                self._server = self._new_server()
                self._tokens = self._special.pattern

    def unload(self) -> None:
        """Unload the file; nothing may be under way."""
        if self._server is not None and not self._has_answered:
            # The engine never ends if it is told to before its loop runs, which it does once it has answered something.
            self._server.handle_completions(_FIRST_REQUEST)
        self._server = None

    def known_messages(self, request: Request) -> int:
        """How many of the request's first messages began an earlier prompt of this engine."""
        prefixes = _prefix_hashes(request)
        return next((count for count in range(len(prefixes), 0, -1) if prefixes[count - 1] in self._prefixes), 0)

    def may_use_cache(self, request: Request) -> bool:
        """Whether the prompt may reuse the cached computation of earlier prompts.

        It may not if it is a prefix of an earlier conversation: only a single token would be left to compute. Nor if an
        earlier conversation is a prefix of it: the model's own words would be reused as they were computed one by one.
        Both give slightly different numbers than computing the whole prompt at once.
        """
        prefixes = _prefix_hashes(request)
        return self.cache_mib > 0 and prefixes[-1] not in self._prefixes and self._conversations.isdisjoint(prefixes)

    def must_wait(self, request: Request) -> bool:
        """Whether what is under way must end before the request is handed over.

        Requests that are handed over together may be computed in either order. That is safe if each may use the cache.
        """
        return bool(self.cache_mib and self.under_way) and not self.may_use_cache(request)

    def remember(self, request: Request) -> None:
        """Note that the request is handed over, for the rules of the cache."""
        if self.cache_mib:
            prefixes = _prefix_hashes(request)
            self._prefixes.update(prefixes)
            self._conversations.add(prefixes[-1])

    def tokenise(self, text: str) -> list[str]:
        """The tokens of a text, as text."""
        request = urllib.request.Request(
            f"{self._server.listening_address}/tokenize",
            json.dumps({"content": text, "with_pieces": True}).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {self._secret}"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            tokens = json.load(response)["tokens"]
        pieces = [token["piece"] if isinstance(token["piece"], str) else bytes(token["piece"]) for token in tokens]
        return [piece if isinstance(piece, str) else piece.decode(errors="replace") for piece in pieces]

    def reply(self, request: Request, cached: bool) -> ReplyOrFailure:
        """The reply to one request; blocks until it is computed.

        Args:
            request: The request.
            cached: Whether it may reuse the computation of earlier prompts.
        """
        self.load()
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
            body |= {"seed": request.seed or 0, **SAMPLING}
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
            return self.reply(request._replace(schema=None), cached)
        problem = completion.get("error")
        if isinstance(problem, dict):
            too_long = problem.get("type") == "exceed_context_size_error"
            return Failure("rejected" if too_long else "unanswered", str(problem.get("message", problem)))
        try:
            return read_completion(completion, request)
        except ValueError as error:
            return Failure("unanswered", f"the engine's reply is malformed: {error}")

    def _new_server(self) -> Any:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self.path)
        params.n_ctx = self.context
        params.n_parallel = 1
        params.verbosity = -1
        params.n_batch = params.n_ubatch = self.context
        params.cache_ram_mib = self.cache_mib
        params.cpuparams.n_threads = self.threads
        params.cpuparams_batch.n_threads = self.threads
        # All sizes are set here: nothing has to be fitted to the memory of a device, which would read the file twice.
        params.fit_params = False
        # The first prompt brings the weights into memory as well as a trial run of the engine would.
        params.warmup = False
        attention = xllamacpp.llama_flash_attn_type
        fused, plain = attention.LLAMA_FLASH_ATTN_TYPE_ENABLED, attention.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.flash_attn_type = plain if self.cache_mib else fused
        params.api_keys = [self._secret]
        try:
            server = xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelFileError(
                f"{self.path} could not be loaded as a model: {error}",
                "The file may be cut short, or of a kind that this version of llama.cpp does not know.",
            ) from error
        self._has_answered = False
        return server

    def _neutral(self, text: str) -> str:
        """The text without special tokens that only this file knows; those of known forms are gone already."""
        return text if self._tokens is None else neutralise_tokens(text, self._tokens)


def _prefix_hashes(request: Request) -> list[int]:
    return [hash(request.messages[:count]) for count in range(1, len(request.messages) + 1)]
