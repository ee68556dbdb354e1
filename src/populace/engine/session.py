"""A session gives access to models: it holds the call store, the limits and the open models.

A run, an interview, a probe, an estimate, a question asked again, a judge and an embedder all reach
models through a session, so each of them pays once, keeps replies and respects limits.
"""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

from populace.base import trust
from populace.base.errors import ScenarioError
from populace.base.modules import file_in_loading
from populace.broker import FREE, Broker, CallSettings, CallStore, MemoryCallStore, Usage
from populace.deciders import Desk, InquiryResult, decide, rejected_prompts
from populace.engine.workspace import trusted_for
from populace.journal import Record
from populace.models import (
    PROVIDERS,
    CachedEmbedder,
    Embedder,
    Model,
    OpenAIEmbedder,
    check_model,
    model_code,
    open_embedder,
    open_model,
)
from populace.models.openai_embedder import BATCH_SIZE
from populace.prompting import Inquiry

EMBEDDINGS = "embeddings"
"""The folder beside the call store in which vectors of embedding servers are kept."""

T = TypeVar("T")
P = ParamSpec("P")


def refuse_in_loading(what: str) -> None:
    """Raise ScenarioError where this is asked by a file that Populace loads at this moment for what it defines.

    Args:
        what: What the file does, such as "asks a model".
    """
    if file := file_in_loading():
        raise ScenarioError(
            f"{Path(file).name} {what} while Populace loads it for what it defines.",
            'Put the lines that start something below: if __name__ == "__main__":',
        )


class Session:
    """Access to models, for as long as it is open.

    Args:
        store: Where replies are kept; in memory by default. It is closed with the session.
        calls: How models are called, and what may be spent.
        model: A model given as an object, used wherever its string is named.
        stand_in: A model that answers in the place of every other, as in a rehearsal.
        run: A recorded run, whose models are opened only if their code or server is trusted.
        embeddings: The folder in which vectors of embedding servers are kept; beside the call store by default.
        desk: Where somebody answers in the place of people; nobody does if left out.

    Example:
        >>> from populace.models import Scripted
        >>> Session(model=Scripted(lambda request: "yes", spec="scripted:yes")).usage.calls
        0
    """

    def __init__(
        self,
        store: CallStore | None = None,
        *,
        calls: CallSettings | None = None,
        model: str | Model | None = None,
        stand_in: Model | None = None,
        run: Record | None = None,
        embeddings: Path | None = None,
        desk: Desk | None = None,
    ) -> None:
        refuse_in_loading("asks a model")
        self._run = run
        self.desk = desk
        path = None if store is None else store.path
        self._embeddings = embeddings or (path and path.with_name(EMBEDDINGS))
        if isinstance(model, str):
            check_model(model)
            trust.allow(model_code(model))
        self.calls = calls or CallSettings()
        self._models = {model.spec: model} if isinstance(model, Model) else {}
        self._stand_in = stand_in
        self._embedders: dict[str, Embedder] = {}
        # An empty store is false, so it must be compared with None.
        self.broker = Broker(MemoryCallStore() if store is None else store, settings=self.calls, opener=self._open)

    @property
    def usage(self) -> Usage:
        """What was asked and spent so far."""
        return self.broker.usage

    async def model(self, spec: str) -> Model:
        """The model of this string, started on first use."""
        return await self.broker.model(spec)

    def check_prices(self, specs: Iterable[str]) -> None:
        """Raise UsageError if a budget in money cannot be kept because a model that will be asked has no price."""
        for spec in specs:
            self.broker.price(spec)

    def embedder(self, spec: str) -> Embedder:
        """The embedder that a string names.

        Calls to a server are counted with the purpose `embedding`, and its vectors are stored before they are used.
        """
        if spec not in self._embedders:
            self._embedders[spec] = self._open_embedder(spec)
        return self._embedders[spec]

    def _open_embedder(self, spec: str) -> Embedder:
        provider = PROVIDERS.get(spec.partition(":")[0])
        price = self.broker.price(spec) if provider and not provider.local else FREE
        embedder = open_embedder(
            spec,
            timeout_s=self.calls.timeout_s,
            retries=self.calls.retries,
            on_tokens=lambda tokens, estimated: self.broker.count_embedding(tokens, estimated=estimated, price=price),
        )
        if not isinstance(embedder, OpenAIEmbedder):
            return embedder
        return CachedEmbedder(
            embedder,
            self._embeddings and self._embeddings / embedder.cache_name,
            batch_size=BATCH_SIZE,
            on_stored=self.broker.check_limits,
        )

    async def decide(self, inquiry: Inquiry) -> InquiryResult:
        """The answers to an inquiry outside a run; ServiceError if a service fails or rejects every prompt."""
        result = await decide(inquiry, self.broker)
        rejected = rejected_prompts(result)
        if rejected and rejected == result.prompt_rows.height:
            raise self.broker.rejection_error(rejected)
        return result

    def finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine that uses the session to its end, and close the session."""

        async def closing() -> T:
            try:
                return await coroutine
            finally:
                await self.close()

        return run_to_end(closing())

    async def close(self) -> None:
        """Close models, embedders and the call store."""
        for embedder in self._embedders.values():
            close: Callable[[], None] | None = getattr(embedder, "close", None)
            if close is not None:
                close()
        await self.broker.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _open(self, spec: str) -> Model:
        model = self._stand_in or self._models.get(spec)
        if model is None and self._run is not None:
            trusted_for(self._run).require(model_code(spec), self._run.name)
        return model or open_model(
            spec, concurrency=self.calls.concurrency, timeout_s=self.calls.timeout_s, retries=self.calls.retries
        )


def run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also from code that runs inside an event loop, such as a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, asyncio.run, coroutine).result()


async def in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Await any function of Populace from asynchronous code; the event loop goes on meanwhile.

    Example:
        >>> import populace as pc
        >>> from populace.scenarios.norms import Norms
        >>> async def two_days():
        ...     return await pc.in_thread(pc.simulate, Norms(workers=3, days=2), decider="rule", keep="nothing")
        >>> asyncio.run(two_days()).metrics.height
        3
    """
    return await asyncio.to_thread(function, *args, **kwargs)
