"""A model behind an OpenAI-compatible server: vLLM, SGLang, Ollama, llama.cpp, a cloud.

What a server can do is found out once, with a small request, and kept in the call store. No key is ever held in an
attribute that is printed, logged, hashed or written.
"""

from __future__ import annotations

import asyncio
import functools
import json
import math
import random
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from populace.base.errors import ModelError
from populace.models.base import Capabilities, Failure, Model, Reply, ReplyOrFailure, Request
from populace.models.providers import Provider
from populace.models.reply_checks import first_token_alternatives, read_completion, reply_object
from populace.models.server_access import base_address, check_address, check_key, read_key, rejected_key_error
from populace.models.server_probe import REJECTED, Server, list_models, number_tokens, probe

if TYPE_CHECKING:
    import openai

_LONGEST_WAIT_S = 120.0
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum context|(?:prompt|input|request) (?:is|has) too (?:long|many tokens)",
    re.IGNORECASE,
)
"""What servers say of a prompt that is longer than the model can read."""

_Reader = Callable[[dict[str, Any]], Reply]


class OpenAICompatible(Model):
    """A model on an OpenAI-compatible server.

    Args:
        base_url: The address, up to and including `/v1`.
        name: The model's name on the server; without one, the only model that it serves.
        spec: The model string.
        key_variables: The environment variables in which a key is looked for, if there is no provider.
        provider: The service behind the address, where it is known by name.
        concurrency: How many requests may be under way at once.
        timeout_s: How long one attempt may take from beginning to end.
        retries: How many times a failed attempt is repeated.

    Example:
        >>> OpenAICompatible("http://127.0.0.1:8000/v1/", "llama", spec="http://127.0.0.1:8000/v1#llama").base_url
        'http://127.0.0.1:8000/v1'
    """

    def __init__(
        self,
        base_url: str,
        name: str | None,
        *,
        spec: str,
        key_variables: Sequence[str] = ("POPULACE_API_KEY",),
        provider: Provider | None = None,
        concurrency: int = 16,
        timeout_s: float = 120.0,
        retries: int = 4,
    ) -> None:
        key_variables = provider.key_variables if provider is not None else key_variables
        check_address(base_url, next(iter(key_variables), "POPULACE_API_KEY"))
        self.spec = spec
        self.base_url = base_address(base_url)
        self.name = name
        self.provider = provider
        self.concurrency = concurrency
        self.timeout_s = timeout_s
        self.retries = retries
        self.capabilities = Capabilities()
        self._key_variables = key_variables
        self._server = Server(self.base_url, provider, key_variables, {})
        self._client: openai.AsyncOpenAI | None = None
        self._limit_field = "max_tokens"
        self._lead_fields: dict[str, Any] = {}
        self._spare_tokens = 0
        # Only the spacing of retries depends on this, never a result.
        self._jitter = random.Random()

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        """Reach the server, determine the model's name and find out what it can do."""
        check_key(self.spec, self.provider)
        import openai

        from populace.models.bounded_http import MAX_REPLY_BYTES, PLAIN, async_client

        self._client = openai.AsyncOpenAI(
            api_key=read_key(self._key_variables),
            base_url=self.base_url,
            max_retries=0,
            timeout=self.timeout_s,
            default_headers={"Connection": "keep-alive", **PLAIN},
            http_client=async_client(MAX_REPLY_BYTES),
        )
        self._gate = asyncio.Semaphore(self.concurrency)
        self._server = await list_models(self._client, self._server, self.timeout_s)
        self.base_url = self._server.base_url
        self.name = self.name or self._server.only_model()
        self.fingerprint = f"{self.base_url}#{self.name}"
        known = dict(facts or {})
        if known.get("name") != self.name or known.get("address", self.base_url) != self.base_url:
            known = await probe(self._ask_for_tokens, self._server, self.name)
            known["number_tokens"] = await number_tokens(self._client, self._server, self.name, self.timeout_s)
        self.facts = known
        lacks = self.provider.lacks if self.provider is not None else ()
        self.capabilities = Capabilities(
            top_tokens=known["top_tokens"],
            lead=known["lead"],
            schema=known["schema"] and "schema" not in lacks,
            seed=known.get("seed", True) and "seed" not in lacks,
        )
        self._limit_field = known["limit_field"]
        self._lead_fields = known["lead_fields"]
        self._spare_tokens = known.get("spare_tokens", 0)
        if not self.capabilities.top_tokens:
            self.notes = (
                f"{self.name} gives no log-probabilities: every answer is a sample of one, not a distribution.",
            )
        if self._spare_tokens:
            tokens = f"up to {self._spare_tokens:,} tokens more than its answer needs"
            self.notes = (*self.notes, f"{self.name} reasons before it answers: a call may write {tokens}.")
        if self._server.listed and self.name not in self._server.listed:
            served = ", ".join(sorted(self._server.listed)[:3])
            self.notes = (
                *self.notes,
                f"the server does not list {self.name}, but answers to it: this may be an alias, or simply {served}.",
            )

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    @property
    def client(self) -> openai.AsyncOpenAI:
        """The client, once the model is started."""
        if self._client is None:
            raise ModelError(f"{self.spec} was not started.")
        return self._client

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        """The first token of each point of a scale to 10, where the server reports it; None for other texts."""
        tokens = self.facts.get("number_tokens")
        if tokens is None or "10" not in texts or not all(text.isdecimal() and int(text) <= 10 for text in texts):
            return None
        return [tokens[int(text)] for text in texts]

    async def _ask_for_tokens(self, body: dict[str, Any]) -> ReplyOrFailure:
        return await self._request_with_retries(body, _read_probe)

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        """Answer with at most `concurrency` requests under way, in the order in which replies arrive."""
        waiting = iter(enumerate(requests))
        results: asyncio.Queue[tuple[int, ReplyOrFailure] | None] = asyncio.Queue()
        errors: list[ModelError] = []

        async def worker() -> None:
            try:
                for index, request in waiting:
                    async with self._gate:
                        if self.halted or errors:
                            break
                        parse = functools.partial(self._read, request=request)
                        results.put_nowait((index, await self._request_with_retries(self._body(request), parse)))
            except ModelError as error:
                errors.append(error)
            finally:
                results.put_nowait(None)

        workers = [asyncio.create_task(worker()) for _ in range(min(self.concurrency, len(requests)))]
        try:
            running = len(workers)
            while running:
                batch, item = [], await results.get()
                while True:
                    if item is None:
                        running -= 1
                    else:
                        batch.append(item)
                    if results.empty():
                        break
                    item = results.get_nowait()
                if batch:
                    yield batch
            if errors:
                raise errors[0]
        finally:
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _request_with_retries(self, body: dict[str, Any], parse: _Reader) -> ReplyOrFailure:
        """Send one request, and repeat it with growing pauses while another attempt may succeed."""
        failure = Failure("unanswered", "not tried")
        for attempt in range(self.retries + 1):
            outcome, wait_s = await self._attempt(body, parse)
            if isinstance(outcome, Reply) or wait_s is None:
                return outcome
            failure = outcome
            if attempt < self.retries:
                if wait_s > _LONGEST_WAIT_S:
                    return Failure(
                        failure.status, f"{failure.detail}; asked to wait {wait_s:.0f} s, longer than this run waits"
                    )
                self.retry_count += 1
                left_s = max(wait_s, min(30.0, 0.25 * 2**attempt) * (0.5 + self._jitter.random()))
                while left_s > 0 and not self.halted:
                    await asyncio.sleep(min(left_s, 0.2))
                    left_s -= 0.2
                if self.halted:
                    break
        return failure

    async def _attempt(self, body: dict[str, Any], parse: _Reader) -> tuple[ReplyOrFailure, float | None]:
        """Send one request once: the result and, if another attempt may help, how long the server asks to wait."""
        import openai

        from populace.models.bounded_http import redirect_error, response_problem

        try:
            async with asyncio.timeout(self.timeout_s):
                response = await self.client.chat.completions.with_raw_response.create(**body)
            return parse(reply_object(response.content)), None
        except (TimeoutError, openai.APITimeoutError):
            return Failure("timeout", f"no reply within {self.timeout_s:g} s"), 0.0
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            # A key that is refused is not repeated; a key that may not use this model is explained by the server.
            detail = self._without_key(error.message) if isinstance(error, openai.PermissionDeniedError) else ""
            raise rejected_key_error(self.base_url, self._key_variables, self.provider, detail) from None
        except openai.NotFoundError as error:
            raise self._server.unknown_model(str(self.name), self._without_key(error.message)) from None
        except openai.RateLimitError as error:
            if error.code == "insufficient_quota":
                raise ModelError(f"the account at {self.base_url} has no credit left.") from None
            return Failure("unanswered", "the server limits the rate"), _retry_after(error)
        except openai.APIStatusError as error:
            return self._error_outcome(error)
        except openai.APIConnectionError as error:
            if redirect := redirect_error(self.base_url, error):
                raise redirect from None
            return Failure("unanswered", str(response_problem(error) or "the connection broke")), 0.0
        except ValueError as error:
            return Failure("unanswered", f"the server's reply is malformed: {self._without_key(str(error))}"), 0.0

    def _error_outcome(self, error: openai.APIStatusError) -> tuple[ReplyOrFailure, float | None]:
        """What a response with an error status means, and how long to wait where another attempt may help."""
        if error.status_code not in (400, 413, 422):
            return Failure("unanswered", f"the server answered {error.status_code}"), _retry_after(error)
        if error.code == "content_filter":
            return Reply("", (), "refusal"), None
        text = self._without_key(error.message)
        too_long = error.status_code == 413 or _TOO_LONG.search(text)
        return Failure("rejected" if too_long else "unanswered", f"{REJECTED}: {text}"), None

    def _read(self, data: dict[str, Any], request: Request) -> Reply:
        answered_by = data.get("model")
        if answered_by != self.name and answered_by in self._server.listed:
            raise ValueError(f"another model answered, {answered_by!r}")
        return read_completion(data, request)

    def _without_key(self, text: object) -> str:
        """Words of the server without the key, which some servers repeat."""
        return " ".join(str(text).split()).replace(self.client.api_key, "[key]")[:300]

    def _body(self, request: Request) -> dict[str, Any]:
        messages = [{"role": role, "content": text} for role, text in request.messages]
        limit = request.max_tokens + self._spare_tokens
        body: dict[str, Any] = {"model": self.name, "messages": messages, self._limit_field: limit}
        if request.lead:
            messages.append({"role": "assistant", "content": request.lead})
            if self._lead_fields:
                body["extra_body"] = self._lead_fields
        if request.top:
            body |= {self._limit_field: 1, "logprobs": True, "top_logprobs": request.top, "temperature": 1.0}
        else:
            body["temperature"] = request.temperature
            if request.seed is not None and self.capabilities.seed:
                body["seed"] = request.seed
        if request.schema:
            shape = {"name": "answer", "schema": json.loads(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        return body


def _read_probe(data: dict[str, Any]) -> Reply:
    """What the reply to a probe says about log-probabilities; its text does not matter."""
    choices = data.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise ValueError("it does not hold one choice")
    return Reply("", first_token_alternatives(choices[0]))


def _retry_after(error: openai.APIStatusError) -> float:
    try:
        wait_s = float(error.response.headers.get("retry-after", 0))
        if math.isnan(wait_s):
            raise ValueError
        return wait_s
    except ValueError:
        return 1.0  # The header holds a date: try again soon, because the server repeats it if it still applies.
