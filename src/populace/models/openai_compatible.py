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
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from populace.base.errors import ModelError, ModelKeyError, ModelUnreachableError, UnknownNameError
from populace.models.base import Capabilities, Failure, Model, Reply, ReplyOrFailure, Request

if TYPE_CHECKING:
    import openai

_LONGEST_WAIT_S = 120.0
_MOST_TOKENS = 20
_REJECTED = "the server rejected the request"


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
        # Only the spacing of retries depends on this, never a result.
        self._jitter = random.Random()

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        """Reach the server, determine the model's name and find out what it can do."""
        import openai

        self._client = openai.AsyncOpenAI(
            api_key=read_key(self._key_variables),
            base_url=self.base_url,
            max_retries=0,
            timeout=self.timeout_s,
            default_headers={"Connection": "keep-alive"},
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
        except (openai.APIConnectionError, TimeoutError) as error:
            raise unreachable_error(self.base_url) from error
        except (openai.APIError, AttributeError, TypeError, ValueError):
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
                outcome = await self._request_with_retries(body, lambda reply: Reply("", tuple(_tokens(reply))))
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
                        parse = functools.partial(_parse_completion, request=request)
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

    async def _request_with_retries(self, body: dict[str, Any], parse: Callable[[Any], Reply]) -> ReplyOrFailure:
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

    async def _attempt(
        self, body: dict[str, Any], parse: Callable[[Any], Reply]
    ) -> tuple[ReplyOrFailure, float | None]:
        """Send one request once: the result and, if another attempt may help, how long the server asks to wait."""
        import openai

        try:
            async with asyncio.timeout(self.timeout_s):
                completion = await self.client.chat.completions.create(**body)
            return parse(completion), None
        except (TimeoutError, openai.APITimeoutError):
            return Failure("timeout", f"no reply within {self.timeout_s:g} s"), 0.0
        except (openai.AuthenticationError, openai.PermissionDeniedError):
            raise rejected_key_error(self.base_url, self._key_variables) from None
        except openai.NotFoundError as error:
            raise ModelError(
                f"{self.base_url} does not know the model {self.name!r}: {self._error_text(error)}."
            ) from None
        except openai.RateLimitError as error:
            if error.code == "insufficient_quota":
                raise ModelError(f"the account at {self.base_url} has no credit left.") from error
            return Failure("unanswered", "the server limits the rate"), _retry_after(error)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if error.code == "content_filter":
                return Reply("", (), "refusal"), None
            return Failure("unanswered", f"{_REJECTED}: {self._error_text(error)}"), None
        except openai.APIStatusError as error:
            return Failure("unanswered", f"the server answered {error.status_code}"), _retry_after(error)
        except openai.APIConnectionError:
            return Failure("unanswered", "the connection broke"), 0.0
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            return Failure("unanswered", f"the server's reply is malformed ({type(error).__name__})"), 0.0

    def _error_text(self, error: openai.APIStatusError) -> str:
        """The server's error message without the key, which some servers repeat."""
        message = " ".join(str(error.message).split())
        return message.replace(self.client.api_key, "[key]")[:300]

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


def _parse_completion(completion: Any, request: Request) -> Reply:
    choice, usage = completion.choices[0], completion.usage
    refusal = getattr(choice.message, "refusal", None)
    if refusal or choice.finish_reason == "content_filter":
        return Reply(str(refusal or ""), (), "refusal", *_token_counts(usage))
    tokens = tuple(_tokens(completion)) if request.top else ()
    if request.top and not tokens:
        raise ValueError("no log-probabilities in the reply")
    text = choice.message.content or ""
    if not isinstance(text, str):
        raise ValueError("the content is not text")
    return Reply(
        _without_surrogates(text).removeprefix(request.lead),
        tokens,
        "length" if choice.finish_reason == "length" else "stop",
        *_token_counts(usage),
    )


def _tokens(completion: Any) -> list[tuple[str, float]]:
    logprobs = completion.choices[0].logprobs
    content = getattr(logprobs, "content", None) or []
    tokens = (
        [(_without_surrogates(entry.token), float(entry.logprob)) for entry in content[0].top_logprobs]
        if content
        else []
    )
    if any(math.isnan(logprob) for _, logprob in tokens):
        raise ValueError("a log-probability is no number")
    return tokens


def _without_surrogates(text: str) -> str:
    """Text that can be encoded: half of a surrogate pair is replaced."""
    return text.encode(errors="replace").decode()


def _token_counts(usage: Any) -> tuple[int, int]:
    return (int(usage.prompt_tokens), int(usage.completion_tokens)) if usage else (0, 0)


def _retry_after(error: openai.APIStatusError) -> float:
    try:
        wait_s = float(error.response.headers.get("retry-after", 0))
        if math.isnan(wait_s):
            raise ValueError
        return wait_s
    except ValueError:
        return 1.0  # The header holds a date: try again soon, because the server repeats it if it still applies.
