"""The forms of a model string: what each means, what is known of such a model, and how it is opened.

One table holds every form; the help, `model_traits` and `open_model` are made from it.
"""

import os
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qsl, urldefrag, urlsplit

from populace.base.errors import ModelError, UnknownNameError
from populace.models.artifacts import Progress
from populace.models.base import Model, ModelTraits
from populace.models.embedded import PINNED, EmbeddedModel
from populace.models.openai_compatible import OpenAICompatible
from populace.models.scripted import Scripted, open_script


def open_model(
    spec: str, *, concurrency: int = 16, timeout_s: float = 120.0, retries: int = 4, progress: Progress | None = None
) -> Model:
    """Make the model that a string names; it is not started yet.

    Args:
        spec: A model string of one of `MODEL_FORMS`.
        concurrency: How many requests may be under way at once, where a server or a script answers.
        timeout_s: How long one attempt to get a reply from a server may take.
        retries: How many times an attempt that failed is repeated.
        progress: Called while the file of the embedded model is downloaded.

    Example:
        >>> open_model("scripted:uniform").spec
        'scripted:uniform'
    """
    return _form(spec).open(spec, _Settings(concurrency, timeout_s, retries, progress))


def model_traits(spec: str, default: ModelTraits | None = None) -> ModelTraits:
    """What is known of a model from the string that names it, before it is opened.

    Args:
        spec: A model string.
        default: The traits for a string of unknown form, such as the name of a user's own `Model` that a journal
            records; without one, such a string raises UnknownNameError.

    Example:
        >>> model_traits("embedded:qwen.gguf").local, model_traits("openai:gpt-4o").local
        (True, False)
    """
    try:
        return _form(spec).traits
    except UnknownNameError:
        if default is None:
            raise
        return default


class _Settings(NamedTuple):
    concurrency: int
    timeout_s: float
    retries: int
    progress: Progress | None


def _open_embedded(spec: str, settings: _Settings) -> Model:
    path, _, query = spec.removeprefix("embedded").removeprefix(":").partition("?")
    return EmbeddedModel(path or None, progress=settings.progress, spec=spec, **_options(query))


def _open_openai(spec: str, settings: _Settings) -> Model:
    name = spec.partition(":")[2]
    if not name:
        raise ModelError("'openai:' names no model.", "Write openai:NAME.")
    return OpenAICompatible(
        os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1",
        name,
        spec=spec,
        key_variables=("OPENAI_API_KEY",),
        concurrency=settings.concurrency,
        timeout_s=settings.timeout_s,
        retries=settings.retries,
    )


def _open_address(spec: str, settings: _Settings) -> Model:
    try:
        base_url, name = urldefrag(spec)
        _ = urlsplit(base_url).port
    except ValueError as error:
        raise ModelError(f"{spec!r} is not a valid address: {error}.") from error
    return OpenAICompatible(
        base_url,
        name or None,
        spec=spec,
        concurrency=settings.concurrency,
        timeout_s=settings.timeout_s,
        retries=settings.retries,
    )


def _open_scripted(spec: str, settings: _Settings) -> Model:
    model = open_script(spec.partition(":")[2] or "uniform")
    model.concurrency = settings.concurrency
    return model


class _Form(NamedTuple):
    help: str
    traits: ModelTraits
    open: Callable[[str, _Settings], Model]


_FORMS = {
    "embedded": _Form(
        "SmolLM2-135M-Instruct, fetched once and run on this machine (the default)", PINNED, _open_embedded
    ),
    "embedded:PATH": _Form("any GGUF file, run on this machine", EmbeddedModel.traits, _open_embedded),
    "openai:NAME": _Form(
        "a model of the OpenAI API; the key comes from OPENAI_API_KEY", OpenAICompatible.traits, _open_openai
    ),
    "http://HOST:PORT/v1#NAME": _Form(
        "any OpenAI-compatible server; a key, where it wants one, comes from POPULACE_API_KEY",
        OpenAICompatible.traits,
        _open_address,
    ),
    "scripted:NAME": _Form(
        "a function in place of a model: `uniform`, `first`, `slow`, or `module:function`",
        Scripted.traits,
        _open_scripted,
    ),
}
MODEL_FORMS = {pattern: form.help for pattern, form in _FORMS.items()}
"""Every form of a model string, with what it means."""
_PATTERNS = {pattern.partition(":")[0]: pattern for pattern in _FORMS}
_PATTERNS["https"] = _PATTERNS["http"]


def _form(spec: str) -> _Form:
    scheme, _, argument = spec.partition(":")
    if scheme.partition("?")[0] == "embedded":  # The one scheme with options, and with an argument that may be missing.
        return _FORMS["embedded:PATH" if argument.partition("?")[0] else "embedded"]
    if scheme not in _PATTERNS:
        raise UnknownNameError("kind of model", spec, _FORMS)
    return _FORMS[_PATTERNS[scheme]]


def _options(query: str) -> dict[str, int]:
    known = {"threads", "context"}
    options = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in known:
            raise UnknownNameError("option of an embedded model", name, known)
        if not value.isdecimal() or not int(value):
            raise ModelError(f"{name} takes a whole number above 0, not {value!r}.")
        options[name] = int(value)
    return options
