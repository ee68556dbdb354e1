"""A model behind an OpenAI-compatible server: vLLM, SGLang, Ollama, llama.cpp, a cloud.

What a server can do is found out once, with a small request, and kept in the call store. No key is ever held in an
attribute that is printed, logged, hashed or written.
"""

from __future__ import annotations

import asyncio
import functools
import json
import math
import os
import random
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from populace.base.errors import ModelError, ModelKeyError, ModelUnreachableError, UnknownNameError
from populace.models.base import Capabilities, Failure, Model, Reply, ReplyOrFailure, Request
from populace.models.reply_checks import first_token_alternatives, read_completion, read_json

if TYPE_CHECKING:
    import openai

_LONGEST_WAIT_S = 120.0
_MOST_TOKENS = 20
_REJECTED = "the server rejected the request"
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
        key_variables: The environment variables in which a key is looked for.
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
        concurrency: int = 16,
        timeout_s: float = 120.0,
        retries: int = 4,
    ) -> None:
        check_address(base_url, key_variables[0])
        self.spec = spec
        self.base_url = base_url.rstrip("/")
        self.name = name
        self.concurrency = concurrency
        self.timeout_s = timeout_s
        self.retries = retries
        self.capabilities = Capabilities()
        self._key_variables = key_variables
        self._client: openai.AsyncOpenAI | None = None
        self._limit_field = "max_tokens"
        self._lead_fields: dict[str, Any] = {}
        self._served: frozenset[str] = frozenset()
        # Only the spacing of retries depends on this, never a result.
        self._jitter = random.Random()

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        """Reach the server, determine the model's name and find out what it can do."""
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
        owner = await self._find_model()
        self.fingerprint = f"{self.base_url}#{self.name}"
        known = dict(facts or {})
        if known.get("name") != self.name:
            known = await self._probe(owner) | {"name": self.name}
        self.facts = known
        self.capabilities = Capabilities(
            top_tokens=known["top_tokens"], lead=known["lead"], schema=known["schema"], seed=True
        )
        self._limit_field = known["limit_field"]
        self._lead_fields = known["lead_fields"]
        if not self.capabilities.top_tokens:
            self.notes = (
                f"{self.name} gives no log-probabilities: every answer is a sample of one, not a distribution.",
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

    async def _find_model(self) -> str:
        """Check that the server is reachable and serves the model; returns the owner that it reports."""
        import openai

        try:
            async with asyncio.timeout(min(self.timeout_s, 20.0)):
                models = {model.id: model for model in (await self.client.models.list()).data if model.id}
        except (openai.AuthenticationError, openai.PermissionDeniedError):
            raise rejected_key_error(self.base_url, self._key_variables) from None
        except openai.APIConnectionError as error:
            raise self._refused(error) or unreachable_error(self.base_url) from error
        except TimeoutError as error:
            raise unreachable_error(self.base_url) from error
        except (openai.APIError, AttributeError, TypeError, ValueError, RecursionError):
            models = {}  # Some servers have no list of models; the name is then taken on trust.
        if self.name is None:
            if len(models) != 1:
                raise ModelError(
                    f"{self.base_url} serves {len(models)} models, so one must be named.",
                    f"Write {self.base_url}#NAME" + (f", with one of: {', '.join(sorted(models))}." if models else "."),
                )
            self.name = next(iter(models))
        elif models and self.name not in models:
            raise UnknownNameError("model", self.name, models, f"Asked of {self.base_url}.")
        self._served = frozenset(models)
        return str(getattr(models.get(self.name), "owned_by", ""))

    async def _probe(self, owner: str) -> dict[str, Any]:
        """Send small requests with fewer and fewer demands until the server accepts one; returns what it can do."""
        facts: dict[str, Any] = {
            "top_tokens": 0,
            "schema": True,
            "lead": False,
            "limit_field": "max_tokens",
            "lead_fields": {},
        }
        if owner == "llamacpp":
            facts["lead"] = True
        elif owner == "vllm":
            facts |= {"lead": True, "lead_fields": {"add_generation_prompt": False, "continue_final_message": True}}
        messages = [{"role": "user", "content": "Answer yes or no."}]
        detail = ""
        for limit_field in ("max_tokens", "max_completion_tokens"):
            for top in (_MOST_TOKENS, 5, 0):
                body: dict[str, Any] = {"model": self.name, "messages": messages, limit_field: 1}
                body |= {"logprobs": True, "top_logprobs": top} if top else {}
                outcome = await self._request_with_retries(body, _read_probe)
                if isinstance(outcome, Reply):
                    return facts | {"limit_field": limit_field, "top_tokens": top if outcome.tokens else 0}
                detail = outcome.detail
                if not detail.startswith(_REJECTED):
                    raise ModelUnreachableError(f"{self.base_url} does not answer: {detail}.", "Try again later.")
        raise ModelError(f"{self.base_url} answers no request: {detail}.")

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

        try:
            async with asyncio.timeout(self.timeout_s):
                response = await self.client.chat.completions.with_raw_response.create(**body)
            return parse(read_json(response.content)), None
        except (TimeoutError, openai.APITimeoutError):
            return Failure("timeout", f"no reply within {self.timeout_s:g} s"), 0.0
        except (openai.AuthenticationError, openai.PermissionDeniedError):
            raise rejected_key_error(self.base_url, self._key_variables) from None
        except openai.NotFoundError as error:
            raise ModelError(
                f"{self.base_url} does not know the model {self.name!r}: {self._without_key(error.message)}."
            ) from None
        except openai.RateLimitError as error:
            if error.code == "insufficient_quota":
                raise ModelError(f"the account at {self.base_url} has no credit left.") from None
            return Failure("unanswered", "the server limits the rate"), _retry_after(error)
        except openai.APIStatusError as error:
            return self._error_outcome(error)
        except openai.APIConnectionError as error:
            if refused := self._refused(error):
                raise refused from None
            return Failure("unanswered", _connection_detail(error)), 0.0
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
        return Failure("rejected" if too_long else "unanswered", f"{_REJECTED}: {text}"), None

    def _refused(self, error: openai.APIConnectionError) -> ModelError | None:
        """The error to raise where the server wants requests to go elsewhere."""
        from populace.models.bounded_http import RefusedRedirectError, refusal

        cause = refusal(error)
        return ModelError(f"{self.base_url}: {cause}.") if isinstance(cause, RefusedRedirectError) else None

    def _read(self, data: dict[str, Any], request: Request) -> Reply:
        answered_by = data.get("model")
        if answered_by != self.name and answered_by in self._served:
            raise ValueError(f"another model answered, {answered_by!r}")
        return read_completion(data, request)

    def _without_key(self, text: object) -> str:
        """Words of the server without the key, which some servers repeat."""
        return " ".join(str(text).split()).replace(self.client.api_key, "[key]")[:300]

    def _body(self, request: Request) -> dict[str, Any]:
        messages = [{"role": role, "content": text} for role, text in request.messages]
        body: dict[str, Any] = {"model": self.name, "messages": messages, self._limit_field: request.max_tokens}
        if request.lead:
            messages.append({"role": "assistant", "content": request.lead})
            if self._lead_fields:
                body["extra_body"] = self._lead_fields
        if request.top:
            body |= {self._limit_field: 1, "logprobs": True, "top_logprobs": request.top, "temperature": 1.0}
        else:
            body["temperature"] = request.temperature
            if request.seed is not None:
                body["seed"] = request.seed
        if request.schema:
            shape = {"name": "answer", "schema": json.loads(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        return body


def check_address(base_url: str, key_variable: str) -> None:
    """Raise ModelKeyError if an address holds a user name or password, which would then be recorded with it."""
    parts = urlsplit(base_url)
    if parts.username or parts.password:
        raise ModelKeyError(
            f"the address of {parts.hostname} holds a user name or password.",
            f"Leave it out of the address and set {key_variable}.",
        )


def read_key(variables: Sequence[str]) -> str:
    """The key from the first environment variable that is set; `none` if none is, which local servers accept."""
    name = next((name for name in variables if os.environ.get(name)), None)
    key = (os.environ[name].strip() if name else "") or "none"
    if not key.isascii() or not key.isprintable():
        raise ModelKeyError(f"the key in {name} holds characters that cannot be sent.", f"Set {name} anew.")
    return key


def rejected_key_error(base_url: str, variables: Sequence[str]) -> ModelKeyError:
    """The error to raise when a server refuses the key, or the lack of one."""
    is_set = any(os.environ.get(name) for name in variables)
    problem = "refuses the key" if is_set else "wants a key and none is set"
    return ModelKeyError(
        f"{base_url} {problem}.", f"Set {' or '.join(variables)} to a valid key; it is never written down."
    )


def unreachable_error(base_url: str) -> ModelUnreachableError:
    """The error to raise when no server answers at an address."""
    return ModelUnreachableError(f"no server answers at {base_url}.", "Check the address and that the server is up.")


def _read_probe(data: dict[str, Any]) -> Reply:
    """What the reply to a probe says about log-probabilities; its text does not matter."""
    choices = data.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise ValueError("it does not hold one choice")
    return Reply("", first_token_alternatives(choices[0]))


def _connection_detail(error: openai.APIConnectionError) -> str:
    from populace.models.bounded_http import refusal

    return str(refusal(error) or "the connection broke")


def _retry_after(error: openai.APIStatusError) -> float:
    try:
        wait_s = float(error.response.headers.get("retry-after", 0))
        if math.isnan(wait_s):
            raise ValueError
        return wait_s
    except ValueError:
        return 1.0  # The header holds a date: try again soon, because the server repeats it if it still applies.
