"""The forms of a model string: what each means, what is known of such a model, and how it is opened.

One table holds every form; the help, `model_traits` and `open_model` are made from it.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import parse_qsl

from populace.base.errors import ModelError, UnknownNameError
from populace.models.adapter_names import adapter_hub_file, split_adapter
from populace.models.artifacts import Progress
from populace.models.base import Model, ModelTraits
from populace.models.cluster_model import ClusterModel, ClusterSpec
from populace.models.embedded import PINNED, EmbeddedModel
from populace.models.hub_file import HubFile
from populace.models.openai_compatible import OpenAICompatible
from populace.models.providers import PROVIDERS, Provider
from populace.models.scripted import BUILT_IN, Scripted, open_script
from populace.models.server_access import check_address
from populace.models.suggestions import model_of_page, suggest_model
from populace.models.transformers_model import TransformersModel


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


def check_model(spec: str) -> None:
    """Raise an error if a string names no model; no file or module is read, and nothing is fetched or started.

    Args:
        spec: A model string.

    Example:
        >>> check_model("openai:gpt-4o")
        >>> check_model("gpt-4o")
        Traceback (most recent call last):
        populace.base.errors.UnknownNameError: there is no model named 'gpt-4o'. Did you mean openai:gpt-4o?
    """
    if spec.startswith("scripted:") and spec.count(":") > 1:
        return  # Whether the function exists is only known once its module is imported, which runs it.
    open_model(spec)


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
    except (UnknownNameError, ModelError):
        if default is None:
            raise
        return default


class _Settings(NamedTuple):
    concurrency: int
    timeout_s: float
    retries: int
    progress: Progress | None


def _open_embedded(spec: str, settings: _Settings) -> Model:
    path, adapter, query = _parts(spec, "embedded")
    hub_file = _hub_file(path)
    return EmbeddedModel(
        None if hub_file else path or None,
        hub_file=hub_file,
        adapter=adapter,
        progress=settings.progress,
        spec=spec,
        **_options(query),
    )


def _parts(spec: str, scheme: str) -> tuple[str, str | None, str]:
    """The base, the adapter and the options of a model that runs here."""
    text, _, query = spec.removeprefix(scheme).removeprefix(":").partition("?")
    path, adapter = split_adapter(text)
    if adapter == "":
        raise ModelError(f"{spec!r} names no adapter after its plus sign.", "Write embedded+NAME or embedded:FILE+FILE")
    return path, adapter, query


def _hub_file(path: str) -> HubFile | None:
    return HubFile.parse(path.removeprefix("hf:")) if path.startswith("hf:") else None


def _open_provider(provider: Provider, spec: str, settings: _Settings) -> Model:
    name = spec.partition(":")[2].strip()
    if not name and not provider.local:
        example = f"{provider.name}:{provider.models[0]}…" if provider.models else f"{provider.name}:NAME"
        raise ModelError(f"{spec!r} names no model of {provider.title}.", f"Write {example}")
    return OpenAICompatible(
        provider.base_url(),
        name or None,
        spec=spec,
        provider=provider,
        concurrency=settings.concurrency,
        timeout_s=settings.timeout_s,
        retries=settings.retries,
    )


def _open_address(spec: str, settings: _Settings) -> Model:
    base_url, _, name = spec.partition("#")
    check_address(base_url, "POPULACE_API_KEY")
    if page := model_of_page(spec):
        raise UnknownNameError("model", spec, (), suggestion=page)
    return OpenAICompatible(
        base_url,
        name or None,
        spec=spec,
        concurrency=settings.concurrency,
        timeout_s=settings.timeout_s,
        retries=settings.retries,
    )


def _open_transformers(spec: str, settings: _Settings) -> Model:
    path, adapter, query = _parts(spec, "transformers")
    if not path:
        raise ModelError(f"{spec!r} names no weights.", "Write transformers:FOLDER or transformers:FILE.gguf")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if name != "device":
            raise UnknownNameError("option of a model on PyTorch", name, {"device"})
    device = options.get("device")
    if device not in (None, "cuda", "cpu"):
        raise UnknownNameError("device", device, ("cuda", "cpu"))
    return TransformersModel(path, adapter=adapter, device=device, progress=settings.progress, spec=spec)


def _open_on_cluster(spec: str, settings: _Settings) -> Model:
    inner = ClusterSpec.parse(spec).model
    open_model(inner)  # What is wrong with it is said here, and not by a node.
    return ClusterModel(spec, model_traits(inner))


def _open_scripted(spec: str, settings: _Settings) -> Model:
    model = open_script(spec.partition(":")[2] or "uniform")
    # Runs are recorded under the string that opened the model, and recorded prompts are compared by it.
    model.spec = spec
    model.concurrency = settings.concurrency
    return model


class _Form(NamedTuple):
    help: str
    traits: ModelTraits
    open: Callable[[str, _Settings], Model]


_HUB_FORM = "embedded:hf:OWNER/REPO/FILE.gguf"
_ADAPTER_FORM = "embedded+ADAPTER"
_FORMS = {
    "embedded": _Form(
        "SmolLM2-135M-Instruct, fetched once and run on this machine (the default)", PINNED, _open_embedded
    ),
    "embedded:PATH": _Form("any GGUF file, run on this machine", EmbeddedModel.traits, _open_embedded),
    _HUB_FORM: _Form(
        "a GGUF file on the Hugging Face hub, fetched once and run on this machine; @REVISION at the end pins it",
        EmbeddedModel.traits,
        _open_embedded,
    ),
    _ADAPTER_FORM: _Form(
        "any model that runs on this machine, changed by an adapter: one that `populace models` lists, an adapter "
        "file, a folder of peft, or hf:OWNER/REPO/FILE.gguf",
        PINNED,
        _open_embedded,
    ),
    "transformers:PATH": _Form(
        "a folder in the format of transformers or a GGUF file, of the llama or qwen2 family, on PyTorch: on a GPU, "
        "where there is one; ?device=cpu or ?device=cuda at the end chooses",
        TransformersModel.traits,
        _open_transformers,
    ),
    **{
        f"{each.name}:NAME": _Form(each.meaning, OpenAICompatible.traits, functools.partial(_open_provider, each))
        for each in PROVIDERS.values()
    },
    "http://HOST:PORT/v1#NAME": _Form(
        "any OpenAI-compatible server; a key, where it wants one, comes from POPULACE_API_KEY; "
        "several servers alike are http://HOST:PORT,HOST:PORT/v1#NAME",
        OpenAICompatible.traits,
        _open_address,
    ),
    "ray:MODEL*N": _Form(
        "N copies of a model that this machine could run, in processes on a Ray cluster: that of RAY_ADDRESS, else one "
        "on this machine; a GPU each, where there are some",
        ModelTraits(local=True),
        _open_on_cluster,
    ),
    "scripted:NAME": _Form(
        "a function in place of a model: `cast` (writes like people), `uniform`, `first`, `slow`, or `module:function`",
        Scripted.traits,
        _open_scripted,
    ),
}
MODEL_FORMS = {pattern: form.help for pattern, form in _FORMS.items()}
"""Every form of a model string, with what it means."""
MODEL_SUMMARY = (
    f"embedded, embedded:PATH, {_HUB_FORM}, {_ADAPTER_FORM}, transformers:PATH, "
    f"{', '.join(f'{name}:NAME' for name in PROVIDERS)}, http://HOST:PORT/v1#NAME or scripted:NAME; "
    "`populace models` explains them"
)
"""Every form of a model string in one line, for the help of an option."""
_PATTERNS = {pattern.partition(":")[0]: pattern for pattern in _FORMS if pattern != _ADAPTER_FORM}
_PATTERNS["https"] = _PATTERNS["http"]


def _form(spec: str) -> _Form:
    scheme, _, argument = spec.partition(":")
    if re.match(r"embedded(?=[:?+]|$)", spec):  # Its argument may be missing, so that options or an adapter follow.
        path, adapter, _ = _parts(spec, "embedded")
        form = _FORMS[_HUB_FORM if path.startswith("hf:") else "embedded:PATH" if path else "embedded"]
        return _with_adapter(form._replace(traits=replace(form.traits, hub_file=_hub_file(path))), adapter)
    if scheme == "ray":
        return _FORMS["ray:MODEL*N"]._replace(traits=_form(ClusterSpec.parse(spec).model).traits)
    if scheme == "transformers":
        return _with_adapter(_FORMS["transformers:PATH"], _parts(spec, scheme)[1])
    if scheme not in _PATTERNS or (scheme in ("http", "https") and not argument.startswith("//")):
        suggestion = suggest_model(spec, _PATTERNS, BUILT_IN)
        hint = None if suggestion else "`populace models` explains them."
        raise UnknownNameError("model", spec, _FORMS, hint, suggestion=suggestion)
    return _FORMS[_PATTERNS[scheme]]


def _with_adapter(form: _Form, adapter: str | None) -> _Form:
    if adapter is None:
        return form
    traits = replace(form.traits, adapter=adapter, adapter_file=adapter_hub_file(adapter))
    return form._replace(traits=traits)


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
