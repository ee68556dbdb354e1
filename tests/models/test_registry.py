from __future__ import annotations

import asyncio

import pytest

from populace.base.errors import ModelError, PopulaceError, UnknownNameError
from populace.models import (
    MODEL_FORMS,
    SMOLLM2,
    EmbeddedModel,
    Model,
    ModelTraits,
    OpenAICompatible,
    Scripted,
    model_traits,
    open_model,
)
from support.fake_server import FakeServer


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("embedded", EmbeddedModel),
        ("embedded:models/any.gguf", EmbeddedModel),
        ("embedded:models/any.gguf?context=512&threads=2", EmbeddedModel),
        ("openai:gpt-4o-mini", OpenAICompatible),
        ("http://127.0.0.1:8000/v1#llama", OpenAICompatible),
        ("https://example.org/v1", OpenAICompatible),
        ("scripted:uniform", Scripted),
    ],
)
def test_a_model_keeps_the_name_by_which_it_can_be_opened_again(spec, kind):
    model = open_model(spec)
    assert isinstance(model, kind)
    assert model.spec == spec
    assert model.traits == model_traits(spec)


def test_every_form_that_the_help_lists_can_be_opened():
    for form in MODEL_FORMS:
        spec = form.replace("PATH", "x.gguf").replace("scripted:NAME", "scripted:first")
        assert open_model(spec.replace("NAME", "x").replace("HOST:PORT", "127.0.0.1:1"))


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("embedded", ModelTraits(local=True, artifact=SMOLLM2)),
        ("embedded?threads=2", ModelTraits(local=True, artifact=SMOLLM2)),
        ("embedded:?threads=2", ModelTraits(local=True, artifact=SMOLLM2)),
        ("embedded:x.gguf?threads=2", ModelTraits(local=True)),
        ("scripted:missing:function", ModelTraits(local=True, scripted=True)),
        ("openai:gpt-4o-mini", ModelTraits()),
        ("https://example.org/v1#embedded", ModelTraits()),
    ],
)
def test_what_is_known_of_a_model_is_known_before_it_is_opened(spec, kind):
    assert model_traits(spec) == kind


def test_the_kind_of_a_model_string_of_unknown_form_is_an_error_or_the_default():
    with pytest.raises(UnknownNameError, match="there is no kind of model named 'parrot'"):
        model_traits("parrot")
    assert model_traits("parrot", ModelTraits()) == Model.traits


def test_an_address_holds_the_model_behind_its_hash():
    model = open_model("http://127.0.0.1:8000/v1/#meta-llama/Llama-3", concurrency=3, timeout_s=7.0)
    assert (model.base_url, model.name) == ("http://127.0.0.1:8000/v1", "meta-llama/Llama-3")
    assert (model.concurrency, model.timeout_s) == (3, 7.0)
    assert open_model("http://127.0.0.1:8000/v1#").name is None


@pytest.mark.parametrize("base", [None, "", "http://127.0.0.1:1/v1"])
def test_openai_may_be_pointed_at_another_address(base, monkeypatch):
    if base is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", base)
    assert open_model("openai:gpt-x").base_url == (base or "https://api.openai.com/v1")


def test_a_key_for_one_service_is_not_sent_to_another(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai")

    async def start(model: Model) -> None:
        await model.start()
        await model.close()

    with FakeServer() as server:
        asyncio.run(start(open_model(server.url)))
    assert "sk-for-openai" not in server.keys


@pytest.mark.parametrize(("spec", "nearest"), [("embeded", "embedded"), ("scripted-uniform", "scripted:NAME")])
def test_a_misspelled_kind_of_model_is_answered_with_the_nearest(spec, nearest):
    with pytest.raises(UnknownNameError) as caught:
        open_model(spec)
    assert caught.value.nearest == nearest


@pytest.mark.parametrize("spec", ["", ":", "gpt-4", "ftp://127.0.0.1/v1#x", "openai", "openai:"])
def test_what_names_no_model_is_refused(spec):
    with pytest.raises(PopulaceError):
        open_model(spec)


@pytest.mark.parametrize(
    "spec", ["http://[::1/v1#x", "http:///v1#x", "http://127.0.0.1:99999/v1#x", "http://127.0.0.1:port/v1#x"]
)
def test_an_address_that_is_none_is_refused_in_words(spec):
    with pytest.raises(PopulaceError):
        asyncio.run(open_model(spec, timeout_s=1.0).start())


def test_an_embedded_model_takes_threads_and_context():
    model = open_model("embedded:?threads=2&context=512")
    assert (model.path, model.threads, model.capabilities.context) == (None, 2, 512)


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", ""])
def test_options_of_an_embedded_model_are_whole_numbers_above_zero(value):
    with pytest.raises(ModelError, match=r"threads takes a whole number"):
        open_model(f"embedded:x.gguf?threads={value}")


def test_an_unknown_option_of_an_embedded_model_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="threads"):
        open_model("embedded:x.gguf?thread=2")
