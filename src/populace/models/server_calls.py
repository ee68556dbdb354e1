"""Calls to the servers behind a model: attempts, pauses between them, and what an error of a server means."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

from populace.base.errors import ModelError, ModelUnreachableError
from populace.models.base import Failure, Model
from populace.models.endpoints import Endpoint, Endpoints
from populace.models.server_access import rejected_key_error
from populace.models.server_probe import REJECTED, Server

if TYPE_CHECKING:
    from populace.models.bounded_http import HttpClient
    from populace.models.http_connection import Response

T = TypeVar("T")
_LONGEST_WAIT_S = 120.0
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum context|(?:prompt|input|request) (?:is|has) too (?:long|many tokens)",
    re.IGNORECASE,
)
"""What servers say of a prompt that is longer than the model can read."""


MALFORMED = "the server's reply is malformed"
"""How the detail of a failure begins if what the server sent is no reply."""


class ContentFilterError(Exception):
    """A service declined to read a prompt."""


class ServerCalls:
    """Sends requests to the least busy server, and repeats them while another attempt may succeed.

    Args:
        model: Whose requests these are: its `halted` is respected, and its `retry_count` is increased.
        name: The model's name on the servers.
        client: Sends one request.
        endpoints: The servers.
        server: What is known of them; they answer alike.
        admit: Asks a server that was away, and raises ModelError if it must not be used.
        timeout_s: How long one attempt may take.
        retries: How many times a failed attempt is repeated.
    """

    def __init__(
        self,
        model: Model,
        name: str,
        client: HttpClient,
        endpoints: Endpoints,
        server: Server,
        admit: Callable[[Endpoint], Awaitable[None]],
        *,
        timeout_s: float,
        retries: int,
    ) -> None:
        self._model, self._name, self._client = model, name, client
        self._endpoints, self._server = endpoints, server
        self._admit, self._timeout_s, self._retries = admit, timeout_s, retries
        # Only the spacing of retries depends on this, never a result.
        self._jitter = random.Random()

    async def post(
        self,
        path: str,
        body: dict[str, Any],
        read: Callable[[bytes], T],
        *,
        weight: int = 1,
        endpoint: Endpoint | None = None,
        retries: int | None = None,
    ) -> T | Failure:
        """Send a request, and repeat it with growing pauses while another attempt may succeed.

        Where another server can be asked, it is asked at once, once for each, and beyond the number of retries. A
        prompt is rejected only if every server rejects it, and a server that must not be used is left out as long as
        there is another.

        Args:
            path: What follows the address of a server; where it begins with `..`, the address without `/v1`.
            body: The request.
            read: Makes a result of what the server sent; raises ValueError if it is malformed.
            weight: How many prompts the request holds; several are asked one by one where a server rejects them.
            endpoint: The server to ask; the least busy one by default.
            retries: How many times a failed attempt is repeated; as many as always by default.

        Raises:
            ModelError: No further request can succeed.
            ContentFilterError: The service declined to read the prompt.
        """
        attempt, changes = 0, len(self._endpoints) - 1 if endpoint is None else 0
        target: Endpoint | None = None
        rejections: dict[Endpoint, Failure] = {}
        while True:
            out = set(rejections)  # The servers of which nothing is to be had now.
            target = endpoint or await self._reach(avoid=target, without=rejections)
            if target is None:
                failure, wait_s = Failure("unanswered", "no server answers"), 0.0
            else:
                target.under_way += weight
                try:
                    outcome, pause_s = await self._attempt(target, path, body, read, listed=weight > 1)
                except ModelError as error:
                    self._endpoints.refuse(target, error)
                    if endpoint is not None or self._endpoints.all_refuse:
                        raise
                    out.add(target)
                    outcome, pause_s = Failure("unanswered", str(error)), 0.0
                finally:
                    target.under_way -= weight
                if not isinstance(outcome, Failure):
                    return outcome
                if pause_s is None:
                    rejections[target] = outcome
                    out.add(target)
                    if endpoint is not None or weight > 1 or len(rejections) == len(self._endpoints):
                        return self._joint_rejection(rejections)
                    outcome = Failure("unanswered", f"{outcome.detail}; no other server answers")
                failure, wait_s = outcome, pause_s or 0.0
            another = target is not None and self._endpoints.other_than(target, *out) and not self._model.halted
            if another and (changes or target in out):
                changes -= target not in out
                self._model.retry_count += 1
                continue
            if attempt == (self._retries if retries is None else retries):
                if endpoint is None and (last_refusal := self._endpoints.last_refusal):
                    raise last_refusal
                return failure
            if out:
                wait_s = max(wait_s, self._endpoints.rest_s(without=out))
            if wait_s > _LONGEST_WAIT_S:
                detail = f"{failure.detail}; asked to wait {wait_s:.0f} s, longer than this run waits"
                return Failure(failure.status, detail)
            self._model.retry_count += 1
            await self._pause(max(wait_s, min(30.0, 0.25 * 2**attempt) * (0.5 + self._jitter.random())))
            if self._model.halted:
                return failure
            attempt += 1

    def _joint_rejection(self, rejections: dict[Endpoint, Failure]) -> Failure:
        """The same failure in whatever order the servers rejected a request; a failure of the service if one is."""
        outcomes = [rejections[each] for each in self._endpoints.all if each in rejections]
        return next((each for each in outcomes if each.of_service), outcomes[0])

    async def _pause(self, seconds: float) -> None:
        while seconds > 0 and not self._model.halted:
            await asyncio.sleep(min(seconds, 0.2))
            seconds -= 0.2

    async def _reach(self, avoid: Endpoint | None, without: Collection[Endpoint]) -> Endpoint | None:
        """The server for the next request; one that was away is asked first whether it serves the model."""
        endpoint = self._endpoints.pick(avoid, without=without)
        if endpoint.admitted or len(self._endpoints) == 1:
            return endpoint
        if endpoint.in_question:
            return None
        endpoint.in_question = True
        try:
            await self._admit(endpoint)
            self._endpoints.admit(endpoint)
            return endpoint
        except ModelUnreachableError:
            self._endpoints.fail(endpoint, dead=True)
        except ModelError as error:
            self._endpoints.refuse(endpoint, error)
        finally:
            endpoint.in_question = False
        other = self._endpoints.pick(avoid=endpoint, without=without)
        return other if other.admitted else None

    async def _attempt(
        self, endpoint: Endpoint, path: str, body: dict[str, Any], read: Callable[[bytes], T], *, listed: bool
    ) -> tuple[T | Failure, float | None]:
        """Send one request once: the result and, if another attempt may help, how long the server asks to wait.

        Raises ModelError if this server must not be used.
        """
        from populace.models.http_connection import FailedExchangeError

        try:
            response = await self._client.post(_address(endpoint, path), body, self._timeout_s)
            if response.status >= 400:
                return self._failure(endpoint, response, listed=listed)
            result = read(response.content)
            self._endpoints.succeed(endpoint)
            return result, None
        except TimeoutError:
            self._endpoints.fail(endpoint, dead=False)
            return Failure("timeout", f"no reply within {self._timeout_s:g} s"), 0.0
        except FailedExchangeError as error:
            self._endpoints.fail(endpoint, dead=error.broken)
            return Failure("unanswered", str(error)), 0.0
        except ValueError as error:
            self._endpoints.fail(endpoint, dead=False)
            return Failure("unanswered", f"{MALFORMED}: {self._client.without_key(error)}"), 0.0

    def _failure(self, endpoint: Endpoint, response: Response, *, listed: bool) -> tuple[Failure, float | None]:
        """What a response with an error status means, and how long to wait where the server may answer yet."""
        message, code = _read_error(response.content)
        words, status, server = self._client.without_key(message), response.status, self._server
        if status in (401, 403):
            # A key that is refused is not repeated; a key that may not use this model is explained by the server.
            detail = words if status == 403 else ""
            raise rejected_key_error(endpoint.address, server.key_variables, server.provider, detail)
        if status == 404 and listed:  # Servers alike may still differ in what they take: conversations are the rule.
            return Failure("unanswered", f"{REJECTED}: {words}"), None
        if status == 404:
            raise server._replace(base_url=endpoint.address).unknown_model(self._name, words)
        if status == 429:
            if code == "insufficient_quota":
                raise ModelError(f"the account at {endpoint.address} has no credit left.")
            wait_s = _seconds(response.retry_after)
            self._endpoints.rest(endpoint, max(wait_s, 1.0))
            return Failure("unanswered", "the server limits the rate"), wait_s
        if status not in (400, 413, 422):
            self._endpoints.fail(endpoint, dead=False)
            return Failure("unanswered", f"the server answered {status}"), _seconds(response.retry_after)
        if code == "content_filter":
            raise ContentFilterError
        too_long = status == 413 or _TOO_LONG.search(words)
        return Failure("rejected" if too_long else "unanswered", f"{REJECTED}: {words}"), None


def _address(endpoint: Endpoint, path: str) -> str:
    if path.startswith(".."):
        return endpoint.address.removesuffix("/v1") + path.removeprefix("..")
    return endpoint.address + path


def _read_error(content: bytes) -> tuple[str, str]:
    """The message and the code in the body of an error; servers write them in several ways."""
    try:
        data = json.loads(content)
        error = data.get("error", data) if isinstance(data, dict) else data
        if not isinstance(error, dict):
            return str(error)[:1000], ""
        message = error.get("message")
        return str(message if isinstance(message, str) else error)[:1000], str(error.get("code"))[:100]
    except (ValueError, RecursionError):
        return content[:1000].decode(errors="replace"), ""


def _seconds(retry_after: str) -> float:
    """The wait that a server asks for, in seconds."""
    try:
        wait_s = float(retry_after or 0)
        if math.isnan(wait_s):
            raise ValueError
        return wait_s
    except ValueError:
        return 1.0  # The header holds a date: try again soon, because the server repeats it if it still applies.
