"""A model that this machine runs, shared by the runs of one process."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from populace.models import Model, ReplyOrFailure, Request


class SharedModel(Model):
    """An embedded model that many runs of one process share; closing it after a run leaves it loaded.

    Args:
        model: The model, not started yet.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.spec, self.traits = model.spec, model.traits
        self.capabilities = model.capabilities

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        """Load the model, the first time only."""
        await self._model.start(facts)
        self.fingerprint = self._model.fingerprint
        self.capabilities = self._model.capabilities
        self.notes, self.facts = self._model.notes, self._model.facts

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        """The replies of the model."""
        self._model.halted = self.halted
        async for lot in self._model.replies(requests):
            self._model.halted = self.halted
            yield lot

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        """The first token of each text, by the model's tokeniser."""
        return self._model.first_tokens(texts)

    def count_tokens(self, texts: Sequence[str]) -> Sequence[int] | None:
        """The number of tokens of each text, by the model's tokeniser."""
        return self._model.count_tokens(texts)
