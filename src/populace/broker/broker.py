"""The broker: the only part of the platform that calls a model.

A request is first looked up in the call store, then among the requests under way; only then, and within the budget, is
it sent to the model. A reply must be in the store before anything else may use it, so that no reply is paid for twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from populace.base.errors import BudgetError, InterruptedRunError, TooManyFailuresError, UsageError
from populace.broker.call_settings import CallSettings
from populace.broker.prices import FREE, Price, price_of
from populace.broker.store import CallStore
from populace.broker.usage import Usage
from populace.models import Failure, Model, Reply, ReplyOrFailure, Request, open_model

_ABANDONED = Failure("unanswered", "the call was abandoned")

FAILURES_IN_A_ROW = 20
"""After so many calls without a single reply, the model is taken to be down."""


class Broker:
    """Replies to requests, each bought at most once.

    Args:
        store: Where replies are kept.
        settings: How models are called, and what may be spent.
        opener: Opens the model that a string names; `Session` gives one that knows the settings.
    """

    def __init__(
        self,
        store: CallStore,
        *,
        settings: CallSettings | None = None,
        opener: Callable[[str], Model] = open_model,
    ) -> None:
        self.store = store
        self.settings = settings or CallSettings()
        self.usage = Usage()
        self.failing: str | None = None
        self.under_way = 0
        self._opener = opener
        self.on_replies: Callable[[], None] = lambda: None
        self._models: dict[str, Model] = {}
        self._prices: dict[str, Price] = {}
        self._pending: dict[str, asyncio.Future[dict[str, ReplyOrFailure]]] = {}
        self._failure_streak = 0
        self._retry_counts: dict[str, int] = {}
        self._starting = asyncio.Lock()
        self._start_time = time.monotonic()

    async def model(self, spec: str | Model) -> Model:
        """The model of this name, started on first use."""
        name = spec if isinstance(spec, str) else spec.spec
        async with self._starting:
            if name not in self._models:
                await self._start(spec, name)
        return self._models[name]

    async def _start(self, spec: str | Model, name: str) -> None:
        model = self._opener(spec) if isinstance(spec, str) else spec
        price = price_of(model)
        if price is None and self.settings.max_money is not None:
            raise UsageError(
                f"the budget is in money, and no price is known for {name}.",
                "Add it to the price table (`populace models` prints where that is), or limit calls or tokens.",
            )
        try:
            await model.start(self.store.recall(name))
        except BaseException:
            await model.close()
            raise
        if model.facts:
            self.store.learn(name, model.facts)
        model.halted = False
        self._models[name], self._prices[name] = model, price or FREE

    @property
    def models(self) -> list[Model]:
        """The models in use."""
        return list(self._models.values())

    def halt(self) -> None:
        """Let the calls under way end, store their replies, and begin no more."""
        for model in self._models.values():
            model.halted = True

    async def close(self) -> None:
        """Close models and store."""
        try:
            for model in self._models.values():
                await model.close()
        finally:
            self._models.clear()
            self.store.close()

    async def fetch(
        self, model: Model, requests: Sequence[Request], purpose: str
    ) -> tuple[list[str], list[ReplyOrFailure]]:
        """The key of each request and its reply, or the failure to get one; equal requests are asked once."""
        fingerprint = model.fingerprint
        keys = [request.key(fingerprint) for request in requests]
        places = dict(zip(keys, range(len(keys)), strict=True))
        outcomes: dict[str, ReplyOrFailure] = dict(self.store.get(list(places)))
        self.usage.reused += len(outcomes)
        missing = [key for key in places if key not in outcomes] if len(outcomes) < len(places) else []
        shared = {key: self._pending[key] for key in missing if key in self._pending}
        new = [key for key in missing if key not in shared] if shared else missing
        if new:
            outcomes |= await self._buy(_Purchase(model, new, [requests[places[key]] for key in new], purpose))
        for key, pending in shared.items():
            outcomes[key] = (await pending).get(key, _ABANDONED)
            self.usage.reused += 1
        return keys, [outcomes[key] for key in keys]

    def count_embedding(self, tokens: int) -> None:
        """Count one request to an embedding server, and stop where a limit is reached."""
        self.usage.calls += 1
        self.usage.prompt_tokens += tokens
        self.usage.purposes["embedding"] += 1
        self._check_budget(calls=False)

    async def _buy(self, purchase: _Purchase) -> dict[str, ReplyOrFailure]:
        """Ask the model, within the budget; every reply is stored as it arrives."""
        keys, outcomes = purchase.keys, purchase.outcomes
        pending: asyncio.Future[dict[str, ReplyOrFailure]] = asyncio.get_running_loop().create_future()
        calls_left = self.settings.calls_left(self.usage)
        allowed = len(keys) if calls_left is None else min(max(0, calls_left - self.under_way), len(keys))
        self._pending |= dict.fromkeys(keys[:allowed], pending)
        self.under_way += allowed
        try:
            self._check_budget()
            if allowed:
                await self._drain(purchase, allowed)
            if allowed < len(keys):
                raise BudgetError("calls", self.settings.max_calls or 0, self.usage.calls)
        finally:
            self.under_way -= allowed - purchase.outcome_count
            for key in keys[:allowed]:
                del self._pending[key]
            pending.set_result(outcomes)
        return outcomes

    async def _drain(self, purchase: _Purchase, allowed: int) -> None:
        model, start, stop = purchase.model, time.monotonic(), None
        left_s = None if self.settings.max_seconds is None else self.settings.max_seconds - (start - self._start_time)
        self._retry_counts.setdefault(model.spec, model.retry_count)
        try:
            async with (
                asyncio.timeout(left_s),
                contextlib.aclosing(model.replies(purchase.requests[:allowed])) as batches,
            ):
                async for batch in batches:
                    now = time.monotonic()
                    self.under_way -= len(batch)
                    purchase.outcome_count += len(batch)
                    self._keep(purchase, batch, now - start)
                    start = now
                    self.usage.retried += model.retry_count - self._retry_counts[model.spec]
                    self._retry_counts[model.spec] = model.retry_count
                    self.on_replies()
                    if stop is None and len(purchase.outcomes) < allowed:
                        try:
                            self._check_budget(calls=False)
                        except BudgetError as error:
                            stop, model.halted = error, True
        except TimeoutError:
            self._check_budget(calls=False)
            raise
        if stop:
            raise stop
        if model.halted:
            raise InterruptedRunError("interrupted; the step under way was abandoned.")

    def _keep(self, purchase: _Purchase, batch: list[tuple[int, ReplyOrFailure]], seconds: float) -> None:
        """Store a batch of replies and count it; only then may others use it."""
        model, keys = purchase.model, purchase.keys
        replies = [(keys[i], outcome) for i, outcome in batch if isinstance(outcome, Reply)]
        earlier = self.store.put(model.spec, replies, seconds / len(batch)) if replies else {}
        purchase.outcomes |= {keys[i]: outcome for i, outcome in batch}
        purchase.outcomes |= earlier
        if replies:
            new_replies = [reply for _, reply in replies]
            price = self._prices.get(model.spec, FREE)
            self.usage.add_calls(new_replies, price.of(new_replies) if price != FREE else 0.0, purchase.purpose)
            self._failure_streak = 0
        if len(replies) < len(batch) and not model.halted:
            self._count_failures([outcome for _, outcome in batch], model)

    def _count_failures(self, outcomes: list[ReplyOrFailure], model: Model) -> None:
        """Count failures, and stop the run after too many in a row."""
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                self.usage.failures += 1
                self._failure_streak += 1
                self.failing = outcome.detail
            else:
                self._failure_streak = 0
        if self._failure_streak >= FAILURES_IN_A_ROW:
            raise TooManyFailuresError(
                f"{self._failure_streak} calls to {model.spec} failed one after the other ({self.failing}); "
                "the run stopped rather than record failures as answers."
            )

    def _check_budget(self, *, calls: bool = True) -> None:
        self.settings.check(self.usage, time.monotonic() - self._start_time, calls=calls)


@dataclass
class _Purchase:
    """Requests that are not in the store, and what the model replied so far."""

    model: Model
    keys: list[str]
    requests: list[Request]
    purpose: str
    outcomes: dict[str, ReplyOrFailure] = field(default_factory=dict)
    outcome_count: int = 0
