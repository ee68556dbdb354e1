"""The call store of another machine: a worker on a cluster asks for replies and hands in new ones.

The machine that started the worker holds the one file. A reply is in that file before `put` returns, so a worker that
is lost afterwards loses nothing that was paid for.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pydantic_core

from populace.base.errors import UsageError
from populace.broker.store import CallStore
from populace.models import Reply


class Requests(Protocol):
    """Sends requests to the machine that holds the store."""

    def ask(self, name: str, content: bytes = b"") -> bytes:
        """Send a request and wait for the answer."""


class RemoteCallStore(CallStore):
    """A call store that is reached by requests.

    Args:
        requests: Sends them; `serve_store` answers them on the other side.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def close(self) -> None:
        """Nothing to close: the file belongs to the other machine."""

    def get(self, keys: Sequence[str]) -> dict[str, Reply]:
        """The replies that are known among these keys."""
        return _replies(self._ask("get", list(keys)))

    def put(self, model: str, calls: Sequence[tuple[str, Reply]], seconds: float = 0.0) -> dict[str, Reply]:
        """Keep new replies; returns those that another process had kept first."""
        replies = b",".join(json.dumps(key).encode() + b":" + reply.to_json() for key, reply in calls)
        head = json.dumps([model, seconds]).encode()
        return _replies(json.loads(self._requests.ask("store.put", b"[" + head + b",{" + replies + b"}]")))

    def remove(self, keys: Sequence[str]) -> None:
        """Remove replies that cannot be used."""
        self._ask("remove", list(keys))

    def recall(self, model: str) -> dict[str, Any] | None:
        """What was learned about a model before."""
        facts: dict[str, Any] | None = self._ask("recall", model)
        return facts

    def learn(self, model: str, facts: Mapping[str, Any]) -> None:
        """Remember what was found out about a model."""
        self._ask("learn", [model, dict(facts)])

    def pace(self, model: str) -> float | None:
        """How many seconds a call of this model took of late."""
        pace: float | None = self._ask("pace", model)
        return pace

    def open_call(self, key: str) -> dict[str, Any] | None:
        """One call with its reply and time."""
        call: dict[str, Any] | None = self._ask("open_call", key)
        return call

    def __len__(self) -> int:
        return int(self._ask("len", None))

    def _ask(self, name: str, value: Any) -> Any:
        return json.loads(self._requests.ask(f"store.{name}", json.dumps(value).encode()))


def serve_store(store: CallStore, name: str, content: bytes) -> bytes:
    """Answer a request of a `RemoteCallStore`.

    Args:
        store: The store.
        name: What is wanted of it.
        content: The values.
    """
    value = pydantic_core.from_json(content)
    match name:
        case "get":
            return _as_json(store.get(value))
        case "put":
            (model, seconds), replies = value
            return _as_json(store.put(model, list(_replies(replies).items()), seconds))
        case "remove":
            store.remove(value)
            return b"null"
        case "recall":
            return json.dumps(store.recall(value)).encode()
        case "learn":
            store.learn(*value)
            return b"null"
        case "pace":
            return json.dumps(store.pace(value)).encode()
        case "open_call":
            return json.dumps(store.open_call(value)).encode()
        case "len":
            return json.dumps(len(store)).encode()
    raise UsageError(f"a call store knows no request {name!r}.")


def _replies(fields: Mapping[str, list[Any]]) -> dict[str, Reply]:
    return {key: Reply.from_json(reply) for key, reply in fields.items()}


def _as_json(replies: Mapping[str, Reply]) -> bytes:
    return b"{" + b",".join(json.dumps(key).encode() + b":" + reply.to_json() for key, reply in replies.items()) + b"}"
