"""Models that are functions: for tests, for teaching, and for measuring the platform without a language model.

A script takes a request and returns a distribution over first words, a text, or a Failure. Latency, failures, refusals
and nonsense can be added. Which requests they affect depends on the request alone, so a scripted run is repeatable.
"""

import asyncio
import functools
import hashlib
import inspect
import json
import math
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from populace.base.errors import ModelError, nearest, own_lines
from populace.base.modules import import_file, import_module, split_reference
from populace.models.base import Capabilities, Failure, Model, ModelTraits, Reply, ReplyOrFailure, Request
from populace.models.cast import Cast
from populace.models.expected_reply import ExpectedReply, request_chance
from populace.models.json_values import FORMATS_DIGEST, Chance, JsonValues, Words

Script = Callable[[Request], Mapping[str, float] | str | ReplyOrFailure]

REFUSAL = "I'm sorry, but I can't answer that."
GARBAGE = "lorem ipsum 7 } dolor {"
_FLOOR = 1e-12


class Scripted(Model):
    """A model whose replies come from a function.

    Args:
        script: Returns a distribution such as `{"blue": 0.7, "green": 0.3}`, a text, or a Failure for a request.
        spec: The model string in manifests; without one, it is made from the name of the function.
        latency_s: How long each reply takes, in seconds.
        failures: The share of requests that get no reply.
        refusals: The share of requests that are refused.
        garbage: The share of requests that get a nonsense reply.
        concurrency: How many replies may be under way at once if there is latency.
        capabilities: What the model claims to be able to do.

    Example:
        >>> model = Scripted(lambda request: {"yes": 0.9, "no": 0.1})
        >>> model.capabilities.top_tokens > 0
        True
    """

    traits = ModelTraits(local=True, scripted=True)

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
        self._thresholds = (failures, failures + refusals, failures + refusals + garbage)
        self.capabilities = capabilities or Capabilities(top_tokens=100, lead=True, schema=True, seed=True)
        self.spec = spec or f"scripted:{_name(script)}"
        self.fingerprint = f"{self.spec}@{_source_hash(script)}/{self._thresholds}"
        self.request_count = 0

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        """Numbers as they are, since a script names each by itself; nothing is known of other texts."""
        return list(texts) if all(text.isdecimal() for text in texts) else None

    async def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        """Answer at once, or after the latency with at most `concurrency` requests under way."""
        self.request_count += len(requests)
        if not self.latency_s:
            yield [(index, self._reply(request)) for index, request in enumerate(requests)]
            return
        gate = asyncio.Semaphore(self.concurrency)

        async def delayed_reply(index: int, request: Request) -> tuple[int, ReplyOrFailure]:
            async with gate:
                if self.halted:
                    return index, Failure("unanswered", "halted")
                await asyncio.sleep(self.latency_s)
                return index, self._reply(request)

        for reply in asyncio.as_completed([delayed_reply(i, r) for i, r in enumerate(requests)]):
            yield [await reply]

    def _reply(self, request: Request) -> ReplyOrFailure:
        if self._thresholds[2]:
            position = int(request.key(self.spec)[:8], 16) / 2**32
            if position < self._thresholds[0]:
                return Failure("unanswered", "the script failed on purpose")
            if position < self._thresholds[1]:
                return _text_reply(REFUSAL, request)
            if position < self._thresholds[2]:
                return _text_reply(GARBAGE, request)
        result = self.script(request)
        if isinstance(result, Reply | Failure):
            return result
        if isinstance(result, str):
            return _text_reply(result, request)
        if request.top:
            total = max(1.0, sum(result.values()))  # Weights may add up to more than 1.
            tokens = tuple([(word, math.log(max(p / total, _FLOOR))) for word, p in result.items()])
            return Reply(max(result, key=result.__getitem__), tokens, "length", _prompt_tokens(request), 1)
        words, weights = list(result), np.array(list(result.values()), dtype=float)
        rng = np.random.default_rng(request.seed or 0)
        return _text_reply(words[int(rng.choice(len(words), p=weights / weights.sum()))], request)


def _text_reply(text: str, request: Request) -> Reply:
    tokens = ((text.split(" ")[0], 0.0),) if request.top else ()
    return Reply(text, tokens, "stop", _prompt_tokens(request), max(1, len(text) // 4))


def _prompt_tokens(request: Request) -> int:
    return sum([len(text) for _, text in request.messages]) // 4


def _name(script: Any) -> str:
    return f"{getattr(script, '__module__', '?')}:{getattr(script, '__qualname__', type(script).__qualname__)}"


_SOURCES: WeakKeyDictionary[FunctionType, str] = WeakKeyDictionary()
"""The source of functions that were scripts before: finding it in its file takes longer than a step of a small run."""


def _source_hash(script: Any) -> str:
    """A hash of a script's source and state: a changed script is another model, which must not reuse old replies."""
    target = script if inspect.isroutine(script) else type(script)
    source = _SOURCES.get(target) if isinstance(target, FunctionType) else None
    if source is None:
        try:
            source = inspect.getsource(target)
        except (OSError, TypeError):
            source = _name(script)
        if isinstance(target, FunctionType):
            _SOURCES[target] = source
    return hashlib.blake2b((source + _state(script)).encode(), digest_size=6).hexdigest()


def _state(script: Any) -> str:
    """What a script holds besides its source, as text: its closure, the arguments of a partial, attributes."""
    if isinstance(script, functools.partial):
        return _source_hash(script.func) + _stable_text([*script.args, *sorted(script.keywords.items())])
    attributes = [] if inspect.isroutine(script) else sorted(getattr(script, "__dict__", {}).items())
    return _stable_text([cell.cell_contents for cell in getattr(script, "__closure__", None) or ()] + attributes)


def _stable_text(values: list[Any]) -> str:
    """Values as text that is equal in every process: functions by their source, other values without their address."""
    texts = [_source_hash(value) if inspect.isroutine(value) else repr(value) for value in values]
    return "".join(re.sub(r" at 0x[0-9a-f]+", "", text) for text in texts)


_WEATHER = (
    "I would rather talk about the weather.",
    "It looks like rain before the evening.",
    "The wind has turned to the north since noon.",
    "Last year it was much warmer at this time.",
    "There was fog over the fields early on.",
    "Somebody said that it will clear up soon.",
    "A little sun would do us all good.",
    "My grandmother could smell snow two days ahead.",
    "The clouds are low and hardly move at all.",
    "It thundered twice and then nothing came of it.",
    "One should not trust a forecast for more than a day.",
    "Tomorrow is said to be dry and rather cold.",
    "The puddles froze over during the night again.",
    "I left my umbrella on the train, of course.",
)


@dataclass(frozen=True)
class Uniform:
    """A script for which every option is equally likely, as is every number within its bounds.

    Forms are filled in with values that fit. Words are about the weather: the same sentence for everybody, and another
    one where the prompt holds it already, since a post that repeats the thread is invalid.

    Example:
        >>> Uniform()(Request((("user", "Tea or coffee?"),), options=("tea", "coffee")))
        {'tea': 0.5, 'coffee': 0.5}
    """

    sentences: tuple[str, ...] = _WEATHER
    formats: str = FORMATS_DIGEST

    def __call__(self, request: Request) -> Mapping[str, float] | str:
        """Reply to a request."""
        if request.options:
            return {option: 1 / len(request.options) for option in request.options}
        chance = functools.partial(request_chance, request)
        return _fitting_text(request, chance, lambda place: self._sentence(request, place))

    def _sentence(self, request: Request, place: str = "") -> str:
        prompt = "\n".join(text for _, text in request.messages)
        fresh = [sentence for sentence in self.sentences if sentence not in prompt]
        if not fresh:
            return self.sentences[int(request_chance(request, place) * len(self.sentences))]
        return fresh[0] if fresh[0] == self.sentences[0] else fresh[int(request_chance(request, place) * len(fresh))]


@dataclass(frozen=True)
class FirstOption:
    """A script that always takes the option shown first, the purest position bias, and the lowest number.

    Example:
        >>> FirstOption()(Request((("user", "Tea or coffee?"),), options=("tea", "coffee")))
        {'tea': 1.0, 'coffee': 0.0}
    """

    sentence: str = "The first one."
    formats: str = FORMATS_DIGEST

    def __call__(self, request: Request) -> Mapping[str, float] | str:
        """Reply to a request."""
        if request.options:
            return {option: float(index == 0) for index, option in enumerate(request.options)}
        return _fitting_text(request, lambda place: 0.0, lambda place: self.sentence)


def _fitting_text(request: Request, chance: Chance, words: Words) -> str:
    """A reply of the kind that the request expects: a number, a form, or words."""
    expected = ExpectedReply.of(request)
    if expected.kind == "object":
        values = JsonValues(expected.schema, chance, words, expected.fields, expected.total)
        return json.dumps(values.value(), ensure_ascii=False)
    return str(expected.bounds.at(chance("number"))) if expected.kind == "number" else words("")


uniform: Script = Uniform()
first_option: Script = FirstOption()

BUILT_IN: dict[str, Script] = {"uniform": uniform, "first": first_option, "cast": Cast(), "slow": uniform}
"""The scripts that come with the package. `cast` writes like people; `slow` is `uniform`, a millisecond later."""


def open_script(name: str) -> Scripted:
    """Make a scripted model by name: `cast`, `uniform`, `first`, `slow`, or `module:function` for one of the user."""
    if name in BUILT_IN:
        return Scripted(BUILT_IN[name], spec=f"scripted:{name}", latency_s=0.001 if name == "slow" else 0.0)
    where, function = split_reference(name)
    if not function:
        guess = nearest(name, BUILT_IN)
        raise ModelError(
            f"'scripted:{name}' names no function.",
            (f"Did you mean scripted:{guess}? " if guess else "")
            + "Write scripted:module:function or scripted:file.py:function, or one of: "
            f"{', '.join(f'scripted:{known}' for known in BUILT_IN)}.",
        )
    try:
        module = import_file(Path(where)) if where.endswith(".py") else import_module(where)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise ModelError(
            f"'scripted:{name}' could not be loaded: {error}.",
            "Modules are looked for where Python looks, in the current folder and in that of the workspace.",
        ) from error
    except Exception as error:
        line = (own_lines(error) or [""])[-1]
        raise ModelError(
            f"'scripted:{name}' could not be loaded: {type(error).__name__}: {error}.", line or None
        ) from error
    script = getattr(module, function, None)
    if script is None:
        functions = [each for each, value in vars(module).items() if callable(value) and not each.startswith("_")]
        guess = nearest(function, functions)
        raise ModelError(
            f"'scripted:{name}' could not be loaded: {where} has no function {function!r}.",
            f"Did you mean {guess!r}?" if guess else None,
        )
    if not isinstance(script, Scripted) and not callable(script):
        raise ModelError(f"'scripted:{name}' is not a function.", "Name a function that takes a request.")
    return script if isinstance(script, Scripted) else Scripted(script, spec=f"scripted:{name}")
