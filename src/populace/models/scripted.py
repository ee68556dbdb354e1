"""Models that are functions: for tests, for teaching, and for measuring the platform without a model.

A script is given a request and returns a distribution over first words, a text, or a Failure.
Latency, failures, refusals and garbage can be mixed in; which requests they strike depends on
the request alone, so a scripted run repeats like any other.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib
import inspect
import math
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

import numpy as np

from populace.base.errors import ModelError
from populace.models.base import Capabilities, Failure, Model, ModelKind, Reply, ReplyOrFailure, Request

Script = Callable[[Request], Mapping[str, float] | str | ReplyOrFailure]

REFUSAL = "I'm sorry, but I can't answer that."
GARBAGE = "lorem ipsum 7 } dolor {"
_FLOOR = 1e-12


class Scripted(Model):
    """A model whose replies come from a function.

    Args:
        script: From a request to a distribution such as `{"blue": 0.7, "green": 0.3}`, a text, or a Failure.
        spec: How it is named in manifests.
        latency_s: Seconds that each reply takes.
        failures: The share of requests that get no reply.
        refusals: The share that is refused.
        garbage: The share that gets words without sense.
        concurrency: How many replies may be under way at once when there is latency.
        capabilities: What it pretends to be able to do.

    Example:
        >>> model = Scripted(lambda request: {"yes": 0.9, "no": 0.1})
        >>> model.capabilities.top_tokens > 0
        True
    """

    kind = ModelKind(local=True, scripted=True)

    def __init__(
        self,
        script: Script,
        *,
        spec: str | None = None,
        latency_s: float = 0.0,
        failures: float = 0.0,
        refusals: float = 0.0,
        garbage: float = 0.0,
        concurrency: int = 64,
        capabilities: Capabilities | None = None,
    ) -> None:
        self.script = script
        self.latency_s = latency_s
        self.concurrency = concurrency
        self.troubles = (failures, failures + refusals, failures + refusals + garbage)
        self.capabilities = capabilities or Capabilities(top_tokens=100, lead=True, schema=True, seed=True)
        self.spec = spec or f"scripted:{_name(script)}"
        self.fingerprint = f"{self.spec}@{_source_hash(script)}/{self.troubles}"
        self.served = 0

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        """Answer at once, or after the latency with at most `concurrency` under way."""
        self.served += len(requests)
        if not self.latency_s:
            yield [(index, self._reply(request)) for index, request in enumerate(requests)]
            return
        gate = asyncio.Semaphore(self.concurrency)

        async def later(index: int, request: Request) -> tuple[int, ReplyOrFailure]:
            async with gate:
                if self.halted:
                    return index, Failure("unanswered", "halted")
                await asyncio.sleep(self.latency_s)
                return index, self._reply(request)

        for done in asyncio.as_completed([later(i, r) for i, r in enumerate(requests)]):
            yield [await done]

    def _reply(self, request: Request) -> ReplyOrFailure:
        if self.troubles[2]:
            luck = int(request.key(self.spec)[:8], 16) / 2**32
            if luck < self.troubles[0]:
                return Failure("unanswered", "the script failed on purpose")
            if luck < self.troubles[1]:
                return _text(REFUSAL, request)
            if luck < self.troubles[2]:
                return _text(GARBAGE, request)
        made = self.script(request)
        if isinstance(made, Reply | Failure):
            return made
        if isinstance(made, str):
            return _text(made, request)
        if request.top:
            tokens = tuple([(word, math.log(max(p, _FLOOR))) for word, p in made.items()])
            return Reply(max(made, key=made.__getitem__), tokens, "length", _length(request), 1)
        words, weights = list(made), np.array(list(made.values()), dtype=float)
        rng = np.random.default_rng(request.seed or 0)
        return _text(words[int(rng.choice(len(words), p=weights / weights.sum()))], request)


def _text(text: str, request: Request) -> Reply:
    tokens = ((text.split(" ")[0], 0.0),) if request.top else ()
    return Reply(text, tokens, "stop", _length(request), max(1, len(text) // 4))


def _length(request: Request) -> int:
    return sum([len(text) for _, text in request.messages]) // 4


def _name(script: Any) -> str:
    return f"{getattr(script, '__module__', '?')}:{getattr(script, '__qualname__', type(script).__qualname__)}"


def _source_hash(script: Any) -> str:
    """A changed script is another model: its old replies must not be taken for its own."""
    try:
        source = inspect.getsource(script if inspect.isroutine(script) else type(script))
    except (OSError, TypeError):
        source = _name(script)
    return hashlib.blake2b((source + _values(script)).encode(), digest_size=6).hexdigest()


def _values(script: Any) -> str:
    """What a script remembers besides its source: a closure, the arguments of a partial, the state of an object."""
    if isinstance(script, functools.partial):
        return _source_hash(script.func) + _shown([*script.args, *sorted(script.keywords.items())])
    state = [] if inspect.isroutine(script) else sorted(getattr(script, "__dict__", {}).items())
    return _shown([cell.cell_contents for cell in getattr(script, "__closure__", None) or ()] + state)


def _shown(values: list[Any]) -> str:
    """Values as text that is the same in every process: functions by their source, others without their address."""
    texts = [_source_hash(value) if inspect.isroutine(value) else repr(value) for value in values]
    return "".join(re.sub(r" at 0x[0-9a-f]+", "", text) for text in texts)


def uniform(request: Request) -> Mapping[str, float] | str:
    """Every option equally likely; a fixed sentence where words are asked for."""
    if request.options:
        return {option: 1 / len(request.options) for option in request.options}
    return "I would rather talk about the weather."


def first_option(request: Request) -> Mapping[str, float] | str:
    """Always the option shown first: the purest position bias."""
    if request.options:
        return {option: float(index == 0) for index, option in enumerate(request.options)}
    return "The first one."


BUILT_IN: dict[str, Script] = {"uniform": uniform, "first": first_option, "slow": uniform}
"""Scripts that ship; `slow` is `uniform` with a millisecond before each reply."""


def open_script(name: str) -> Scripted:
    """A scripted model by name: one that ships (`uniform`, `first`, `slow`) or `module:function`."""
    if name in BUILT_IN:
        return Scripted(BUILT_IN[name], spec=f"scripted:{name}", latency_s=0.001 if name == "slow" else 0.0)
    module_name, _, function = name.partition(":")
    if not function:
        raise ModelError(
            f"'scripted:{name}' names no function.",
            f"Write scripted:module:function, or one of: {', '.join(f'scripted:{known}' for known in BUILT_IN)}.",
        )
    try:
        found = getattr(importlib.import_module(module_name), function)
    except Exception as error:
        raise ModelError(f"'scripted:{name}' could not be loaded: {error}.") from error
    if not isinstance(found, Scripted) and not callable(found):
        raise ModelError(f"'scripted:{name}' is no function.")
    return found if isinstance(found, Scripted) else Scripted(found, spec=f"scripted:{name}")
