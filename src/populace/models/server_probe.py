"""What a server serves and what it can do, found out with small requests before the first question."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from populace.base.errors import ModelError, ModelUnreachableError
from populace.models.base import Reply, ReplyOrFailure
from populace.models.providers import Provider
from populace.models.server_access import rejected_key_error, unknown_model_error, unreachable_error, versioned_address

if TYPE_CHECKING:
    from populace.models.bounded_http import HttpClient

REJECTED = "the server rejected the request"
"""How the detail of a failure begins if the server understood the request and refused it."""
_MOST_TOKENS = 20
_LISTING_S = 20.0
_NUMBERS = tuple([str(number) for number in range(11)])
_SPACES = " ▁Ġ"
_SPARE_TOKENS = 2048
"""How many tokens a model that reasons before it answers gets for that."""


class Server(NamedTuple):
    """A server to be probed.

    Attributes:
        base_url: Its address.
        provider: The service, where it is known by name.
        key_variables: The environment variables in which its key is looked for.
        listed: The models that it lists, with their owners; empty if it lists none.
    """

    base_url: str
    provider: Provider | None
    key_variables: Sequence[str]
    listed: dict[str, str]

    def owner(self, name: str) -> str:
        """Who is said to own a model; empty if it is not listed."""
        return self.listed.get(name) or self.listed.get(f"{name}:latest") or ""

    def only_model(self) -> str:
        """The only model that is served; raises ModelError if there are none or several."""
        if len(self.listed) == 1:
            return next(iter(self.listed))
        names = f", with one of: {', '.join(sorted(self.listed)[:20])}." if self.listed else "."
        before = f"{self.provider.name}:" if self.provider is not None else f"{self.base_url}#"
        raise ModelError(
            f"{self.base_url} serves {len(self.listed)} models, so one must be named.", f"Write {before}NAME{names}"
        )

    def unknown_model(self, name: str, detail: str) -> ModelError:
        """The error to raise if the server does not know a model."""
        return unknown_model_error(name, self.base_url, self.listed, self.provider, detail)


async def list_models(client: HttpClient, server: Server, timeout_s: float) -> Server:
    """The server with the models that it lists; without any where it has no list or does not show it.

    Where the address lacks `/v1` and has no list, the address with it is tried, and used if it has one.

    Args:
        client: The client.
        server: The server.
        timeout_s: How long one attempt may take.
    """
    from populace.models.http_connection import FailedExchangeError

    if server.provider is not None and not server.provider.lists:
        return server
    for address in filter(None, (server.base_url, versioned_address(server.base_url))):
        try:
            response = await client.get(f"{address}/models", min(timeout_s, _LISTING_S))
        except (FailedExchangeError, TimeoutError) as error:
            raise unreachable_error(address, server.provider) from error
        if response.status == 401:
            raise rejected_key_error(address, server.key_variables, server.provider)
        if response.status < 400:
            with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError, RecursionError):
                return server._replace(base_url=address, listed=_parse_models(json.loads(response.content)))
    return server  # Some servers have no list of models, and some keys may not read it.


async def number_tokens(client: HttpClient, server: Server, name: str, timeout_s: float) -> list[str] | None:
    """The first token of each number from 0 to 10 as it is written after a lead; None where that cannot be used.

    llama.cpp and vLLM tokenise texts on request. llama.cpp lets a reply go on after a space, so that its next token is
    a digit. vLLM may drop that space, so there each number must be one token.

    Args:
        client: The client.
        server: The server.
        name: The model's name on the server.
        timeout_s: How long the request may take.
    """
    owner = server.owner(name)
    if owner not in ("llamacpp", "vllm"):
        return None
    text = "".join([f" {number}" for number in _NUMBERS])
    body = {"content": text, "add_special": False, "with_pieces": True}
    if owner == "vllm":
        body = {"model": name, "prompt": text, "add_special_tokens": False, "return_token_strs": True}
    document = await ask_aside(client, server, "/tokenize", body, timeout_s)
    try:
        return _first_of_each(document, owner == "llamacpp")
    except (AttributeError, KeyError, TypeError, ValueError):
        return None  # Without this knowledge a scale to 10 is shown with letters.


async def ask_aside(
    client: HttpClient, server: Server, path: str, body: dict[str, Any] | None, timeout_s: float
) -> Any:
    """What a server says beside its protocol, at an address without `/v1`; None where it says nothing of use.

    Args:
        client: The client.
        server: The server.
        path: What follows its address.
        body: The request; None to ask without one.
        timeout_s: How long the request may take.
    """
    from populace.models.http_connection import FailedExchangeError

    address, timeout_s = server.base_url.removesuffix("/v1") + path, min(timeout_s, _LISTING_S)
    try:
        asked = client.get(address, timeout_s) if body is None else client.post(address, body, timeout_s)
        response = await asked
        return json.loads(response.content) if response.status < 400 else None
    except (FailedExchangeError, TimeoutError, ModelError, ValueError, RecursionError):
        return None


def _first_of_each(document: Any, spaced: bool) -> list[str] | None:
    """The first token of each number, from the tokens of all of them in a row."""
    rows = document["tokens"] if spaced else document["token_strs"]
    pieces = [str(row["piece"] if spaced else row)[:8] for row in rows[: 4 * len(_NUMBERS)]]
    starts = [at for at, piece in enumerate(pieces) if piece.startswith(tuple(_SPACES))]
    numbers = ["".join(pieces[a:b]).strip(_SPACES) for a, b in zip(starts, [*starts[1:], len(pieces)], strict=True)]
    firsts = [pieces[at] for at in starts]
    if numbers != [*_NUMBERS]:
        return None
    whole = [first.strip(_SPACES) for first in firsts] == numbers
    return firsts if whole or (spaced and not any(first.strip(_SPACES) for first in firsts)) else None


async def probe(
    ask: Callable[[dict[str, Any]], Awaitable[ReplyOrFailure]], server: Server, name: str
) -> dict[str, Any]:
    """Send small requests with fewer and fewer demands until the server accepts one; returns what it can do.

    A name that is not listed may still be known, as an alias or behind a proxy: only the server's answer decides.

    Args:
        ask: Sends the body of a request; the reply holds the alternatives of its first token.
        server: The server.
        name: The model's name on the server.
    """
    facts: dict[str, Any] = {"schema": True, "lead": False, "lead_fields": {}, "name": name}
    facts["address"] = server.base_url
    owner = server.owner(name)
    if owner == "llamacpp":
        facts["lead"] = True
    elif owner == "vllm":
        facts |= {"lead": True, "lead_fields": {"add_generation_prompt": False, "continue_final_message": True}}
    seeded = server.provider is None or "seed" not in server.provider.lacks
    detail = ""
    for limit_field, top in itertools.product(("max_tokens", "max_completion_tokens"), (_MOST_TOKENS, 5, 0)):
        outcome = await ask(_body(name, limit_field, top, seeded))
        if seeded and not isinstance(outcome, Reply) and "seed" in outcome.detail.casefold():
            seeded = False
            outcome = await ask(_body(name, limit_field, top, seeded))
        if isinstance(outcome, Reply):
            top_tokens = top if outcome.tokens else 0
            return facts | {"limit_field": limit_field, "top_tokens": top_tokens, "seed": seeded}
        detail = outcome.detail
        if "api key" in detail.casefold():  # Some services answer 400 to a wrong key.
            raise rejected_key_error(server.base_url, server.key_variables, server.provider, detail)
        if not detail.startswith(REJECTED):
            raise ModelUnreachableError(f"{server.base_url} does not answer: {detail}.", "Try again later.")
    if server.listed and name not in server.listed:
        raise server.unknown_model(name, detail)
    # A model that reasons first cannot answer within one token, which some services treat as a bad request.
    outcome = await ask(_body(name, "max_completion_tokens", 0, seeded, _SPARE_TOKENS))
    if isinstance(outcome, Reply):
        able = {"limit_field": "max_completion_tokens", "top_tokens": 0, "seed": seeded}
        return facts | able | {"spare_tokens": _SPARE_TOKENS}
    raise ModelError(f"{server.base_url} answers no request: {detail}.")


def _body(name: str, limit_field: str, top: int, seeded: bool, limit: int = 1) -> dict[str, Any]:
    body: dict[str, Any] = {"model": name, "messages": [{"role": "user", "content": "Answer yes or no."}]}
    body |= {limit_field: limit}
    body |= {"logprobs": True, "top_logprobs": top} if top else {}
    return body | ({"seed": 1} if seeded else {})


def _parse_models(document: Any) -> dict[str, str]:
    """The names and owners in a list of models; some servers leave out the envelope."""
    rows = document if isinstance(document, list) else document["data"]
    return {str(row["id"]): str(row.get("owned_by", "")) for row in rows if row.get("id")}
