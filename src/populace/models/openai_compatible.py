"""A model behind an OpenAI-compatible server: vLLM, SGLang, Ollama, llama.cpp, a cloud.

What a server can do is found out once, with a small request, and kept in the call store. No key is ever held in an
attribute that is printed, logged, hashed or written.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from populace.base.errors import ModelError, ModelKeyError, ModelUnreachableError
from populace.models.base import Capabilities, Failure, Model, Reply, ReplyOrFailure, Request
from populace.models.chat_lists import LISTS_AT_ONCE, ChatLists
from populace.models.endpoints import Endpoint, Endpoints
from populace.models.prompt_lists import read_prompt_list
from populace.models.providers import Provider
from populace.models.reply_checks import first_token_alternatives, read_completion, reply_object
from populace.models.server_access import (
    account_headers,
    check_address,
    check_key,
    joint_address,
    read_key,
    server_addresses,
    with_path_of,
)
from populace.models.server_calls import MALFORMED, ContentFilterError, ServerCalls
from populace.models.server_probe import REJECTED, Server, list_models, number_tokens, probe

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
        self._list_gate = asyncio.Semaphore(LISTS_AT_ONCE * len(self._endpoints))
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
        await self._admit_reachable(servers, probed=believed)
        self._server = next(servers[endpoint] for endpoint in servers if endpoint.admitted)
        self._use_facts()
        self._lists = ChatLists(self._client, self._server, self.name, self.timeout_s)

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
            elif isinstance(result, ModelKeyError):
                self._endpoints.refuse(endpoint, result)
            elif isinstance(result, ModelUnreachableError):
                self._endpoints.fail(endpoint, dead=True)
            else:
                raise result
        if not servers:
            errors = [result for result in results if isinstance(result, ModelError)]
            raise next((error for error in errors if isinstance(error, ModelKeyError)), errors[0])
        for endpoint in self._endpoints.all:
            if endpoint not in servers:
                endpoint.address = with_path_of(next(iter(servers)).address, endpoint.address)
                self._note_left_out(endpoint)
        return servers

    async def _admit_reachable(self, servers: Mapping[Endpoint, Server], *, probed: bool) -> None:
        """Begin to use the servers that answer; those that must not be used are left out for now."""
        errors: list[ModelError] = []
        for endpoint, server in servers.items():
            try:
                await self._admit(endpoint, server, probed=probed)
            except ModelError as error:
                if isinstance(error, ModelUnreachableError):
                    self._endpoints.fail(endpoint, dead=True)
                elif isinstance(error, ModelKeyError):
                    self._endpoints.refuse(endpoint, error)
                elif endpoint.refusal is None:  # Another model, or one that cannot do the same.
                    raise
                errors.append(error)
                self._note_left_out(endpoint)
        if len(errors) == len(servers):
            raise errors[0]

    def _note_left_out(self, endpoint: Endpoint) -> None:
        why = f"no server answered at {endpoint.address} when the run began; it is used once it answers."
        if endpoint.refusal is not None:
            why = f"left out when the run began, and used once it answers: {endpoint.refusal.what}"
        self.notes = (*self.notes, why)

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
        await self._lists.learn(requests, self._ask_sample)
        waiting = iter(self._lists.lots(requests, self.concurrency // len(self._endpoints)))
        results: asyncio.Queue[list[tuple[int, ReplyOrFailure]] | None] = asyncio.Queue()
        errors: list[ModelError] = []

        async def worker() -> None:
            try:
                for lot in waiting:
                    async with self._list_gate if len(lot) > 1 else contextlib.nullcontext(), self._gate:
                        if self.halted or errors:
                            break
                        results.put_nowait(await self._answer_lot(lot, requests))
                        # The place is free only once the reply was taken and stored: no more replies than places can
                        # be lost, and paid again, if the process is killed here.
                        await asyncio.sleep(0)
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
                        batch += item
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

    async def _answer_lot(self, lot: list[int], requests: Sequence[Request]) -> list[tuple[int, ReplyOrFailure]]:
        if len(lot) > 1:
            outcomes = await self._answer_list([requests[number] for number in lot])
            if outcomes is not None:
                return list(zip(lot, outcomes, strict=True))
        answers = [self._chat(self._body(requests[number]), self._reader(requests[number])) for number in lot]
        # One request is awaited directly: a task for each would cost time.
        outcomes = [await answers[0]] if len(lot) == 1 else await asyncio.gather(*answers)
        return list(zip(lot, outcomes, strict=True))

    async def _answer_list(self, requests: Sequence[Request]) -> Sequence[ReplyOrFailure] | None:
        """Ask several requests at once; None if one of them may be at fault, and each must be asked alone."""
        prompts = [str(self._lists.prompt(request)) for request in requests]
        outcome = await self._ask_prompts(prompts, requests[0].top)
        if not isinstance(outcome, Failure):
            return outcome
        if outcome.status == "rejected" or outcome.detail.startswith((REJECTED, MALFORMED)):
            return None
        return [outcome] * len(requests)

    async def _ask_prompts(
        self, prompts: Sequence[str], top: int, *, retries: int | None = None
    ) -> list[Reply] | Failure:
        try:
            return await self._calls.post(
                self._lists.path,
                self._lists.body(prompts, top),
                lambda content: read_prompt_list(content, prompts, top, self._check_author),
                weight=len(prompts),
                retries=retries,
            )
        except ContentFilterError:
            return Failure("rejected", f"{REJECTED}: it was filtered")

    async def _ask_sample(self, request: Request, prompt: str | None) -> ReplyOrFailure:
        """The reply to a conversation, or to its prompt in a list of two; a failure says that lists cannot be used."""
        if prompt is None:
            return await self._chat(self._body(request), self._reader(request))
        try:
            outcome = await self._ask_prompts([prompt, prompt], request.top, retries=0)
        except ModelError as error:
            return Failure("unanswered", str(error))
        return outcome if isinstance(outcome, Failure) else outcome[1]

    def _reader(self, request: Request) -> Callable[[bytes], Reply]:
        return functools.partial(self._read, request=request)

    async def _chat(
        self, body: dict[str, Any], read: Callable[[bytes], Reply], endpoint: Endpoint | None = None
    ) -> ReplyOrFailure:
        try:
            return await self._calls.post("/chat/completions", body, read, endpoint=endpoint)
        except ContentFilterError:
            return Reply("", (), "refusal")

    def _read(self, content: bytes, request: Request) -> Reply:
        data = reply_object(content)
        self._check_author(data.get("model"))
        return read_completion(data, request)

    def _check_author(self, name: Any) -> None:
        if name != self.name and isinstance(name, str) and name in self._server.listed:
            raise ValueError(f"another model answered, {name!r}")

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


def _read_probe(content: bytes) -> Reply:
    """What the reply to a probe says about log-probabilities; its text does not matter."""
    choices = reply_object(content).get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise ValueError("it does not hold one choice")
    return Reply("", first_token_alternatives(choices[0]))
