"""A model in a process on a node of a cluster."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from populace.base import trust
from populace.base.errors import UntrustedCodeError
from populace.cluster import Origin
from populace.models.base import Failure, Request
from populace.models.code import model_code
from populace.models.embedded import EmbeddedModel
from populace.models.registry import open_model

T = TypeVar("T")


class ModelPart:
    """Loads a model and answers requests.

    Args:
        setup: The model string, how many threads it may use, and the code that is trusted, as JSON.
        origin: Not used: a model sends nothing on its own.
    """

    def __init__(self, setup: bytes, origin: Origin) -> None:
        data = json.loads(setup)
        codes = model_code(data["spec"])
        for code in codes:
            if code.digest not in data["trusted"]:
                raise UntrustedCodeError(
                    f"on a node of the cluster, {code.describe()}: that is not the code that was trusted.",
                    "Put the same files at the same place on every node.",
                )
        trust.allow(codes)
        self._model = open_model(data["spec"])
        if isinstance(self._model, EmbeddedModel) and "threads=" not in data["spec"]:
            self._model.threads = data["threads"]
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def load(self, content: bytes) -> bytes:
        """Load the model; returns what it is and can."""
        self._finish(self._model.start())
        model = self._model
        capabilities = dataclasses.asdict(model.capabilities)
        facts = {"fingerprint": model.fingerprint, "capabilities": capabilities, "notes": list(model.notes)}
        return json.dumps(facts).encode()

    def replies(self, content: bytes) -> bytes:
        """The result of each request, in their order."""
        return self._finish(self._replies([_request(fields) for fields in json.loads(content)]))

    def first_tokens(self, content: bytes) -> bytes:
        """The first token of each text."""
        return json.dumps(self._model.first_tokens(json.loads(content))).encode()

    def count_tokens(self, content: bytes) -> bytes:
        """The number of tokens of each text."""
        counts = self._model.count_tokens(json.loads(content))
        return json.dumps(None if counts is None else [int(count) for count in counts]).encode()

    async def _replies(self, requests: list[Request]) -> bytes:
        missing = json.dumps({"failure": Failure("unanswered", "the model gave no result")}).encode()
        outcomes = [missing] * len(requests)
        async for lot in self._model.replies(requests):
            for index, outcome in lot:
                failed = isinstance(outcome, Failure)
                outcomes[index] = json.dumps({"failure": outcome}).encode() if failed else outcome.to_json()  # type: ignore[union-attr]
        return b"[" + b",".join(outcomes) + b"]"

    def _finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


def _request(fields: list[Any]) -> Request:
    messages, *rest, options = fields
    return Request._make((tuple((role, text) for role, text in messages), *rest, tuple(options)))
