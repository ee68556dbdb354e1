"""From the string that a user gives with `--model` to a model."""

from __future__ import annotations

import os
from urllib.parse import parse_qsl, urldefrag, urlsplit

from populace.base.errors import ModelError, UnknownNameError
from populace.models.artifacts import Progress
from populace.models.base import Model
from populace.models.embedded import EmbeddedModel
from populace.models.openai_compatible import OpenAICompatible
from populace.models.scripted import open_script

MODEL_FORMS = {
    "embedded": "SmolLM2-135M-Instruct, fetched once and run on this machine (the default)",
    "embedded:PATH": "any GGUF file, run on this machine",
    "openai:NAME": "a model of the OpenAI API; the key comes from OPENAI_API_KEY",
    "http://HOST:PORT/v1#NAME": "any OpenAI-compatible server; a key, where it wants one, comes from POPULACE_API_KEY",
    "scripted:NAME": "a function in place of a model: `uniform`, `first`, `slow`, or `module:function`",
}


def open_model(
    spec: str, *, concurrency: int = 16, timeout_s: float = 120.0, progress: Progress | None = None
) -> Model:
    """The model that a string names; it is started by whoever uses it.

    Example:
        >>> open_model("scripted:uniform").spec
        'scripted:uniform'
    """
    kind, _, rest = spec.partition(":")
    if kind.partition("?")[0] == "embedded":
        path, _, query = spec.removeprefix("embedded").removeprefix(":").partition("?")
        return EmbeddedModel(path or None, progress=progress, spec=spec, **_options(query))
    if kind in ("http", "https"):
        try:
            base_url, name = urldefrag(spec)
            _ = urlsplit(base_url).port
        except ValueError as error:
            raise ModelError(f"{spec!r} is no address: {error}.") from error
        return OpenAICompatible(base_url, name or None, spec=spec, concurrency=concurrency, timeout_s=timeout_s)
    if kind == "openai":
        if not rest:
            raise ModelError("'openai:' names no model.", "Write openai:NAME.")
        base_url = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        keys = ("OPENAI_API_KEY",)
        return OpenAICompatible(
            base_url, rest, spec=spec, key_variables=keys, concurrency=concurrency, timeout_s=timeout_s
        )
    if kind == "scripted":
        model = open_script(rest or "uniform")
        model.concurrency = concurrency
        return model
    raise UnknownNameError(
        "kind of model", spec, ["embedded", "embedded:PATH", "openai:NAME", "http://…", "scripted:NAME"]
    )


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
