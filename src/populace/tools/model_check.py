"""Checks what a model can do with a few small calls, and says what each missing ability means for a run."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from populace.broker import CallStore, currency, price_of
from populace.engine.session import run_to_end
from populace.models import Model, OpenAICompatible, Reply, ReplyOrFailure, Request, open_model
from populace.models.server_access import has_key

_SCHEMA = '{"properties":{"number":{"type":"integer"}},"required":["number"],"type":"object"}'
_FORM = Request((("user", "Choose a whole number."),), max_tokens=40, seed=1, schema=_SCHEMA)
_WORDS = Request((("user", "Write three words that nobody expects."),), max_tokens=12, seed=7)


@dataclass(frozen=True)
class AbilityCheck:
    """One thing that was checked about a model.

    Attributes:
        name: What was checked.
        state: Whether the model has it: `yes`, `no` or `unknown`.
        result: What was seen.
        meaning: What it means for runs that the model does not have it; empty if it has it.
    """

    name: str
    state: Literal["yes", "no", "unknown"]
    result: str
    meaning: str = ""


def check_abilities(spec: str, store: CallStore | None = None) -> list[AbilityCheck]:
    """Start a model, make at most four small calls, and say what it can do.

    Args:
        spec: The model string.
        store: Where what is found out is kept: a run does not ask a server for a schema that it does not follow.

    Example:
        >>> {check.name: check.state for check in check_abilities("scripted:uniform")}["log-probabilities"]
        'yes'
    """
    return run_to_end(_check(open_model(spec), store))


async def _check(model: Model, store: CallStore | None) -> list[AbilityCheck]:
    try:
        await model.start()
        schema = await _schema(model)
        if schema.state == "no" and model.facts and store is not None:
            store.learn(model.spec, {**model.facts, "schema": False})
        return [*_access(model), _log_probabilities(model), schema, await _seed(model), _lead(model), *_limits(model)]
    finally:
        await model.close()


def _access(model: Model) -> list[AbilityCheck]:
    if not isinstance(model, OpenAICompatible):
        return [AbilityCheck("model", "yes", model.spec if model.traits.scripted else model.fingerprint)]
    variables = model.provider.key_variables if model.provider is not None else ("POPULACE_API_KEY",)
    names = " or ".join(variables)
    key = f"from {names}" if has_key(variables) else "none is set, and the server wants none"
    return [AbilityCheck("address", "yes", model.base_url), AbilityCheck("key", "yes", key)]


def _log_probabilities(model: Model) -> AbilityCheck:
    count = model.capabilities.top_tokens
    if count:
        return AbilityCheck("log-probabilities", "yes", f"of the {count} likeliest first tokens")
    meaning = (
        "an answer to a question with fixed options is one sample, not a distribution. It takes a call for each person "
        "instead of one for each distinct prompt, and more people or seeds for the same precision."
    )
    return AbilityCheck("log-probabilities", "no", "not given", meaning)


async def _schema(model: Model) -> AbilityCheck:
    meaning = "forms are read from free text; more of them may be invalid."
    if not model.capabilities.schema:
        return AbilityCheck("JSON schema", "no", "not offered", meaning)
    if model.traits.scripted:
        return AbilityCheck("JSON schema", "unknown", "a script answers as it was written")
    outcome = await _ask(model, _FORM)
    if not isinstance(outcome, Reply):
        return AbilityCheck("JSON schema", "no", f"refused ({outcome.detail})", meaning)
    if outcome.finish == "length":
        return AbilityCheck("JSON schema", "unknown", f"no whole reply within {_FORM.max_tokens} tokens")
    try:
        follows = isinstance(json.loads(outcome.text)["number"], int)
    except (ValueError, KeyError, TypeError):
        follows = False
    if follows:
        return AbilityCheck("JSON schema", "yes", "followed")
    return AbilityCheck("JSON schema", "no", "ignored", meaning)


async def _seed(model: Model) -> AbilityCheck:
    meaning = (
        "the same call may give another reply. A run still repeats from its journal and from the call store, but not "
        "where calls are made anew."
    )
    if not model.capabilities.seed:
        return AbilityCheck("seed", "no", "not offered", meaning)
    if model.traits.scripted:
        return AbilityCheck("seed", "unknown", "a script answers as it was written")
    outcomes = [await _ask(model, _WORDS), await _ask(model, _WORDS)]
    texts = [outcome.text for outcome in outcomes if isinstance(outcome, Reply)]
    if len(texts) < 2:
        return AbilityCheck("seed", "unknown", "a call failed", meaning)
    if not any(texts):
        return AbilityCheck("seed", "unknown", f"the replies are empty; {_WORDS.max_tokens} tokens were allowed")
    if texts[0] == texts[1]:
        return AbilityCheck("seed", "yes", "the same reply twice")
    return AbilityCheck("seed", "no", "two replies to one call differ", meaning)


def _lead(model: Model) -> AbilityCheck:
    if model.capabilities.lead:
        return AbilityCheck("first words", "yes", "the model continues a reply whose first words Populace wrote")
    meaning = "a reply cannot be made to begin with `Answer:`; more of the probability may fall on no option."
    return AbilityCheck("first words", "no", "not known of this server", meaning)


def _limits(model: Model) -> list[AbilityCheck]:
    context, price = model.capabilities.context, price_of(model)
    room = AbilityCheck("context", "yes", f"{context or 0:,} tokens for a prompt and its reply")
    if context is None:
        meaning = "a prompt that is too long is only found out when it is sent."
        room = AbilityCheck("context", "unknown", "not said by the model", meaning)
    if price is None:
        meaning = "a limit of money cannot be kept; limit calls or tokens, or add it to the price table."
        return [room, AbilityCheck("price", "unknown", "not in the price table", meaning)]
    per_token = f"{price.prompt:g} and {price.completion:g} {currency() or '(currency not named)'} for a million tokens"
    free = not price.prompt and not price.completion
    return [room, AbilityCheck("price", "yes", "none" if free else f"{per_token} read and written")]


async def _ask(model: Model, request: Request) -> ReplyOrFailure:
    outcomes: list[Sequence[tuple[int, ReplyOrFailure]]] = [batch async for batch in model.replies([request])]
    return outcomes[0][0][1]
