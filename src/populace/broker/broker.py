"""The broker: the only part of the platform that calls a model.

A request is first looked up in the call store, then among the requests under way; only then, and within the budget, is
it sent to the model. A reply is checked and must be in the store before anything else may use it, so that no reply is
paid for twice and no impossible one is ever used.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence

from populace.base.errors import (
    BudgetError,
    InterruptedRunError,
    ModelError,
    PopulaceError,
    ServiceError,
    UsageError,
)
from populace.broker.batch_storage import BatchUnderWay, store_batch
from populace.broker.call_settings import CallSettings
from populace.broker.known_replies import KnownReplies
from populace.broker.prices import FREE, Price, price_of
from populace.broker.purchase import Batch, Purchase
from populace.broker.store import CallStore
from populace.broker.usage import Usage
from populace.journal import OnFailure
from populace.models import Failure, Model, Reply, ReplyOrFailure, Request, open_model
from populace.models.base import request_keys
from populace.models.reply_checks import estimate_usage, verify_replies, without_usage
from populace.models.scored_replies import ScoredReplies

_MANY = 64
"""From how many replies on a batch is stored in another thread."""
_BATCHES_BEHIND = 3
"""How many batches may be under way to the store while the model goes on."""
FAILURES_IN_A_ROW = 20
"""Where failures are recorded, a model is taken to be down after so many calls without a single reply."""


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
        self.under_way = 0
        self._rejection = ""
        self.on_replies: Callable[[], None] = lambda: None
        self._opener = opener
        self._models: dict[str, Model] = {}
        self._prices: dict[str, Price] = {}
        self._pending: dict[str, asyncio.Future[Purchase]] = {}
        self._known = KnownReplies(store)
        self._failure_streak = 0
        self._retry_counts: dict[str, int] = {}
        self._stop: PopulaceError | None = None
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
        price = self.price(model)
        try:
            await model.start(self.store.recall(name))
        except BaseException:
            await model.close()
            raise
        if model.facts:
            self.store.learn(name, model.facts)
        model.halted = self._stop is not None
        self._models[name], self._prices[name] = model, price

    def price(self, model: Model | str) -> Price:
        """The price of a model or embedder; UsageError if a budget in money cannot be kept because none is known."""
        price = price_of(model)
        if price is None and self.settings.max_money is not None:
            raise UsageError(
                f"the budget is in money, and no price is known for {model if isinstance(model, str) else model.spec}.",
                "Add it to the price table (`populace models` prints where that is), or limit calls or tokens.",
            )
        return price or FREE

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
        self, model: Model, requests: Sequence[Request], purpose: str, *, on_failure: OnFailure = "stop"
    ) -> tuple[list[str], list[ReplyOrFailure]]:
        """The key of each request and its reply; equal requests are asked once.

        Args:
            model: Who is asked.
            requests: What is asked.
            purpose: What the calls are counted under.
            on_failure: Whether a failure of the service stops everything, with ServiceError once the calls under way
                have ended, or is returned. A prompt that the model rejects is always returned as a failure.
        """
        keys = request_keys(requests, model.fingerprint, with_options=model.capabilities.options)
        places = dict(zip(keys, range(len(keys)), strict=True))
        distinct = keys if len(places) == len(keys) else list(places)
        known = await self._known.among(distinct, at_once=not self._pending)
        # Until new requests are among those under way, nothing is waited for: nobody else can buy the same meanwhile.
        self.usage.reused += len(known)
        missing = [key for key in distinct if key not in known] if known else distinct
        shared = {key: self._pending[key] for key in missing if key in self._pending} if self._pending else {}
        new = [key for key in missing if key not in shared] if shared else missing
        if new and len(new) == len(keys):
            results = await self._buy(Purchase(model, keys, requests, purpose, on_failure))
        else:
            outcomes: dict[str, ReplyOrFailure] = dict(known)
            if new:
                wanted = [requests[places[key]] for key in new]
                bought = await self._buy(Purchase(model, new, wanted, purpose, on_failure))
                outcomes |= zip(new, bought, strict=True)
            for key, pending in shared.items():
                # The buyer and all others who wait go on where one of them is cancelled.
                outcomes[key] = (await asyncio.shield(pending)).outcome(key)
                self.usage.reused += 1
            results = [outcomes[key] for key in keys]
        if on_failure == "stop" and (error := _service_error(model, results)):
            self._halt(error)
            raise self._stop or error
        return keys, results

    def rejection_error(self, count: int) -> ServiceError:
        """The error to stop with if a model rejects all of so many prompts."""
        return ServiceError(
            f"the model rejected every prompt ({count}): {self._rejection}.",
            "Use a model with a larger context, or shorter prompts.",
        )

    def count_embedding(self, tokens: int, *, estimated: bool = False, price: Price = FREE) -> None:
        """Count one request to an embedding server."""
        reply = Reply("", prompt_tokens=tokens, estimated=estimated)
        self.usage.add_calls([reply], price.of([reply]), "embedding")

    def check_limits(self) -> None:
        """Raise BudgetError where tokens, money or seconds have reached their limit."""
        self._check_budget(calls=False)

    async def _buy(self, purchase: Purchase) -> list[ReplyOrFailure]:
        """Ask the model, within the budget; every reply is stored as it arrives."""
        keys = purchase.keys
        pending: asyncio.Future[Purchase] = asyncio.get_running_loop().create_future()
        calls_left = self.settings.calls_left(self.usage)
        allowed = len(keys) if calls_left is None else min(max(0, calls_left - self.under_way), len(keys))
        allowed_keys = keys[:allowed]
        self._pending |= dict.fromkeys(allowed_keys, pending)
        self.under_way += allowed
        try:
            if self._stop is not None:
                raise self._stop
            self._check_budget()
            if allowed:
                await self._drain(purchase, allowed)
            if allowed < len(keys):
                raise BudgetError("calls", self.settings.max_calls or 0, self.usage.calls)
        finally:
            self.under_way -= allowed - purchase.outcome_count
            for key in allowed_keys:
                del self._pending[key]
            self._known.note_bought(allowed_keys)
            pending.set_result(purchase)
        return purchase.results()

    async def _drain(self, purchase: Purchase, allowed: int) -> None:
        model, start = purchase.model, time.monotonic()
        left_s = None if self.settings.max_seconds is None else self.settings.max_seconds - (start - self._start_time)
        self._retry_counts.setdefault(model.spec, model.retry_count)
        try:
            async with (
                self._stored(purchase),
                asyncio.timeout(left_s),
                contextlib.aclosing(model.replies(purchase.requests[:allowed])) as batches,
            ):
                async for batch in batches:
                    now = time.monotonic()
                    self._keep(purchase, batch, now - start)  # First of all: what follows may be cancelled.
                    await self._finish_storing(purchase, _BATCHES_BEHIND)
                    start = now
                    self.usage.retried += model.retry_count - self._retry_counts[model.spec]
                    self._retry_counts[model.spec] = model.retry_count
                    self.on_replies()
                    if purchase.arrived_count < allowed:
                        self._halt_at_limit()
        except ModelError as error:
            self._halt(error)
            raise
        except OSError as error:  # A TimeoutError is one too.
            self._check_budget(calls=False)
            self._halt(ServiceError(f"the service of {model.spec} failed: {type(error).__name__}: {error}."))
        if self._stop is not None:
            raise self._stop
        if model.halted:
            raise InterruptedRunError("interrupted; the step under way was abandoned.")

    def _halt(self, stop: PopulaceError) -> None:
        """Let the calls under way end and begin no more; everybody who waits for one gets the error."""
        self._stop = self._stop or stop
        self.halt()

    def _halt_at_limit(self) -> None:
        try:
            self._check_budget(calls=False)
        except BudgetError as error:
            self._halt(error)

    def _keep(self, purchase: Purchase, batch: Batch, seconds: float) -> None:
        """Check a batch of replies, store it and count it; only then may others use it.

        A large batch of a model in this process is stored in another thread while the model goes on; `_finish_storing`
        does the rest. Replies of a service are not: they were paid for, and a process that is killed must not lose any.
        Where tokens or money are limited, no model may go on before the batch is counted.
        """
        model, (indices, batch) = purchase.model, purchase.take(batch)
        keys = purchase.keys_of(indices)
        outcomes = [outcome for _, outcome in batch]
        columns = batch if isinstance(batch, ScoredReplies) else None
        if columns is None:  # Replies in columns were checked when they were made.
            outcomes = verify_replies(outcomes)
        for place, reply in without_usage(outcomes):
            outcomes[place], columns = (
                estimate_usage(reply, purchase.requests[batch[place][0]], model.count_tokens),
                None,
            )
        may_wait = model.traits.local and self.store.path is not None and not self.settings.limits_spending
        if may_wait and len(batch) >= _MANY:
            arguments = (self.store, model.spec, keys, columns or outcomes, seconds / len(batch))
            future = asyncio.get_running_loop().run_in_executor(None, store_batch, *arguments)
            purchase.storing.append(BatchUnderWay(indices, outcomes, future))
            return
        replies = {key: each for key, each in zip(keys, outcomes, strict=True) if isinstance(each, Reply)}
        earlier = self.store.put(model.spec, list(replies.items()), seconds / len(batch)) if replies else {}
        self._count(purchase, indices, outcomes, earlier)

    @contextlib.asynccontextmanager
    async def _stored(self, purchase: Purchase) -> AsyncIterator[None]:
        """Whatever happens inside, and however often it is cancelled, what other threads store is counted."""
        try:
            yield
        finally:
            problems: list[BaseException] = []
            while purchase.storing:
                try:
                    await self._finish_storing(purchase)
                    self.on_replies()
                except (Exception, asyncio.CancelledError) as problem:  # noqa: BLE001 - the first is raised below.
                    problems.append(problem)
            if problems:
                raise problems[0]

    async def _finish_storing(self, purchase: Purchase, most: int = 0) -> None:
        """Count batches that are stored by now, and wait until at most so many are not."""
        while purchase.storing and (len(purchase.storing) > most or purchase.storing[0].future.done()):
            first = purchase.storing[0]
            await asyncio.wait([first.future])  # It goes on where this is cancelled.
            purchase.storing.popleft()
            self._count(purchase, first.indices, first.outcomes, first.future.result())

    def _count(
        self,
        purchase: Purchase,
        indices: Sequence[int],
        outcomes: list[ReplyOrFailure],
        earlier: dict[str, Reply],
    ) -> None:
        """Count a batch that is stored, and let others use it."""
        model = purchase.model
        self.under_way -= len(indices)
        purchase.keep(indices, outcomes, earlier)
        replies = [each for each in outcomes if isinstance(each, Reply)]
        if replies:
            price = self._prices.get(model.spec, FREE)
            self.usage.add_calls(replies, price.of(replies) if price != FREE else 0.0, purchase.purpose)
        if len(replies) == len(outcomes):
            self._failure_streak = 0
        elif not model.halted:
            if purchase.on_failure == "stop" and (error := _service_error(model, outcomes)):
                self._halt(error)
            self._count_failures(outcomes, model)

    def _count_failures(self, outcomes: list[ReplyOrFailure], model: Model) -> None:
        """Count failures; where they are recorded, stop after too many in a row."""
        for outcome in outcomes:
            if isinstance(outcome, Reply):
                self._failure_streak = 0
            else:
                self.usage.failures += 1
                self._rejection = self._rejection if outcome.of_service else outcome.detail
                self._failure_streak += outcome.of_service
                if self._failure_streak == FAILURES_IN_A_ROW:
                    self._halt(
                        ServiceError(f"{FAILURES_IN_A_ROW} calls to {model.spec} failed in a row ({outcome.detail}).")
                    )

    def _check_budget(self, *, calls: bool = True) -> None:
        self.settings.check(self.usage, time.monotonic() - self._start_time, calls=calls)


def _service_error(model: Model, outcomes: Sequence[ReplyOrFailure]) -> ServiceError | None:
    """The error to stop with if a service failed; a prompt that was rejected stops nothing."""
    if Failure not in set(map(type, outcomes)):
        return None
    failure = next((each for each in outcomes if isinstance(each, Failure) and each.of_service), None)
    return failure and ServiceError(f"the service of {model.spec} failed: {failure.detail}.")
