"""A model behind an OpenAI-compatible server: vLLM, SGLang, Ollama, llama.cpp, a cloud.

What a server can do is found out once, with a small request, and kept in the call store. No key is ever held in an
attribute that is printed, logged, hashed or written.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from populace.base.errors import ModelError, ModelUnreachableError
from populace.models.base import Capabilities, Model, Reply, ReplyOrFailure, Request
from populace.models.endpoints import Endpoint, Endpoints
from populace.models.providers import Provider
from populace.models.reply_checks import first_token_alternatives, read_completion
from populace.models.server_access import (
    account_headers,
    check_address,
    check_key,
    joint_address,
    read_key,
    server_addresses,
    with_path_of,
)
from populace.models.server_calls import ContentFilterError, ServerCalls
from populace.models.server_probe import Server, list_models, number_tokens, probe

if TYPE_CHECKING:
    from populace.models.bounded_http import HttpClient


class OpenAICompatible(Model):
    """A model on an OpenAI-compatible server.

    Args:
        base_url: The address, up to and including `/v1`; several hosts, with commas between them, are servers alike.
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
        self._endpoints = Endpoints(server_addresses(base_url))
        self.base_url = joint_address([each.address for each in self._endpoints.all])
        self.name = name
        self.provider = provider
        self.concurrency = concurrency
        self.timeout_s = timeout_s
        self.retries = retries
        self.capabilities = Capabilities()
        self._key_variables = key_variables
        self._server = Server(self.base_url, provider, key_variables, {})
        self._client: HttpClient | None = None
        self._limit_field = "max_tokens"
        self._lead_fields: dict[str, Any] = {}
        self._spare_tokens = 0

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        """Reach the server, determine the model's name and find out what it can do."""
        check_key(self.spec, self.provider)
        from populace.models.bounded_http import MAX_REPLY_BYTES, HttpClient

        self._client = HttpClient(
            read_key(self._key_variables),
            MAX_REPLY_BYTES,
            headers=account_headers(self.provider),
        )
        self._gate = asyncio.Semaphore(self.concurrency)
        servers = await self._reachable()
        self._server = next(iter(servers.values()))
        self.base_url = joint_address([each.address for each in self._endpoints.all])
        self.name = self.name or self._server.only_model()
        self.fingerprint = f"{self.base_url}#{self.name}"
        self._calls = ServerCalls(
            self,
            self.name,
            self._client,
            self._endpoints,
            self._server,
            self._readmit,
            timeout_s=self.timeout_s,
            retries=self.retries,
        )
        known = dict(facts or {})
        believed = known.get("name") == self.name and known.get("address", self.base_url) == self.base_url
        self.facts = known if believed else {}
        for endpoint, server in servers.items():
            await self._admit(endpoint, server, probed=believed)
        self._use_facts()

    async def _reachable(self) -> dict[Endpoint, Server]:
        """The servers that answer, with the models that they list; those that do not are left out for now."""
        listings = [
            list_models(self.client, self._server._replace(base_url=each.address), self.timeout_s)
            for each in self._endpoints.all
        ]
        results = await asyncio.gather(*listings, return_exceptions=True)
        servers: dict[Endpoint, Server] = {}
        for endpoint, result in zip(self._endpoints.all, results, strict=True):
            if isinstance(result, Server):
                servers[endpoint] = result
                endpoint.address = result.base_url
            elif not isinstance(result, ModelUnreachableError):
                raise result
            else:
                self._endpoints.fail(endpoint, dead=True)
        if not servers:
            raise next(result for result in results if isinstance(result, ModelUnreachableError))
        for endpoint in self._endpoints.all:
            if endpoint not in servers:
                endpoint.address = with_path_of(next(iter(servers)).address, endpoint.address)
                self.notes = (
                    *self.notes,
                    f"no server answered at {endpoint.address} when the run began; it is used once it answers.",
                )
        return servers

    async def _readmit(self, endpoint: Endpoint) -> None:
        """Ask a server that was away whether it still serves the model, and can do what the others can."""
        server = self._server._replace(base_url=endpoint.address, listed={})
        await self._admit(endpoint, await list_models(self.client, server, self.timeout_s))

    async def _admit(self, endpoint: Endpoint, server: Server, *, probed: bool = False) -> None:
        """Begin to use a server; ModelError if it does not serve the model as the others do."""
        name = str(self.name)
        if len(self._endpoints) > 1 and server.listed and name not in server.listed:
            raise server.unknown_model(name, "")
        if not probed:

            async def ask(body: dict[str, Any]) -> ReplyOrFailure:
                return await self._chat(body, _read_probe, endpoint)

            facts = await probe(ask, server, name) | {"address": self.base_url}
            facts["number_tokens"] = await number_tokens(self.client, server, name, self.timeout_s)
            if self.facts and (difference := sorted(key for key in facts if facts[key] != self.facts.get(key))):
                raise ModelError(
                    f"{endpoint.address} cannot do the same as the servers beside it ({', '.join(difference)} differ).",
                    "Name servers of one kind that serve one model.",
                )
            self.facts = facts
        self._endpoints.admit(endpoint)

    def _use_facts(self) -> None:
        known = self.facts
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
                *self.notes,
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
    def client(self) -> HttpClient:
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
                        results.put_nowait((index, await self._answer(request)))
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

    async def _answer(self, request: Request) -> ReplyOrFailure:
        return await self._chat(self._body(request), functools.partial(self._read, request=request))

    async def _chat(
        self, body: dict[str, Any], read: Callable[[dict[str, Any]], Reply], endpoint: Endpoint | None = None
    ) -> ReplyOrFailure:
        try:
            return await self._calls.post("/chat/completions", body, read, endpoint=endpoint)
        except ContentFilterError:
            return Reply("", (), "refusal")

    def _read(self, data: dict[str, Any], request: Request) -> Reply:
        answered_by = data.get("model")
        if answered_by != self.name and answered_by in self._server.listed:
            raise ValueError(f"another model answered, {answered_by!r}")
        return read_completion(data, request)

    def _body(self, request: Request) -> dict[str, Any]:
        messages = [{"role": role, "content": text} for role, text in request.messages]
        limit = request.max_tokens + self._spare_tokens
        body: dict[str, Any] = {"model": self.name, "messages": messages, self._limit_field: limit}
        if request.lead:
            messages.append({"role": "assistant", "content": request.lead})
            body |= self._lead_fields
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
